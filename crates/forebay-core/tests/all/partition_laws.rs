//! Laws of a cache divided among devices, under random events: frames are conserved, every read
//! comes to its end, and with one device it is the replacement policy alone.

use crate::divided;
use forebay_core::presets::{Entry, PREFETCHERS, REPLACEMENTS};
use forebay_core::{Action, Actions, ContextId, Core, Event, EventKind, FileId, HandlerId, Instant, IoId, ReadId};
use proptest::prelude::*;

use divided::{BLOCK, conserved, core};

#[derive(Clone, Copy, Debug)]
enum Step {
    Read { block: u32, len: u32, handler: u32 },
    Complete(usize),
    Fail(usize),
    Finish(usize),
    Ran(u32),
    Close,
    Wait(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        8 => (0..200u32, 0..200u32, 1..8u32, 0..4u32)
            .prop_map(|(a, b, len, handler)| Step::Read { block: a.min(b), len, handler }),
        8 => any::<usize>().prop_map(Step::Complete),
        1 => any::<usize>().prop_map(Step::Fail),
        8 => any::<usize>().prop_map(Step::Finish),
        1 => (0..4u32).prop_map(Step::Ran),
        1 => Just(Step::Close),
        1 => (1..9_000u64).prop_map(Step::Wait),
    ];
    proptest::collection::vec(step, 1..250)
}

/// Drives one core and notes what it does.
struct Driver {
    core: Box<dyn Core>,
    at: u64,
    log: Vec<Action>,
    under_way: Vec<(IoId, u32)>,
    ready: Vec<u32>,
    free: Vec<u32>,
    devices: u32,
}

impl Driver {
    fn new(policy: &str, frames: u32, devices: u32) -> Driver {
        let core = core(policy, frames, devices);
        let free = (0..400).rev().collect();
        Driver { core, at: 0, log: Vec::new(), under_way: Vec::new(), ready: Vec::new(), free, devices }
    }

    fn tell(&mut self, kind: EventKind) {
        self.at += 500_000;
        let mut actions = Actions::new();
        self.core.handle(&[Event { at: Instant(self.at), kind }], &mut actions);
        conserved(&*self.core);
        for &action in &actions {
            match action {
                Action::Fetch { io, extent, .. } => self.under_way.push((io, extent.len)),
                Action::Ready { read } => self.ready.push(read.0),
                Action::Error { read, .. } => self.free.push(read.0),
                _ => {}
            }
        }
        self.log.extend(actions);
    }

    fn step(&mut self, step: Step) {
        let of = |which: usize, len: usize| (len > 0).then(|| which % len);
        match step {
            Step::Read { block, len, handler } => {
                let Some(read) = self.free.pop() else { return };
                let len = len.min(self.core.max_read());
                let (read, handler, file) = (ReadId(read), HandlerId(handler), FileId(handler % self.devices));
                let (offset, len) = (u64::from(block) * u64::from(BLOCK), len * BLOCK);
                self.tell(EventKind::Read { read, handler, context: ContextId(0), file, offset, len });
            }
            Step::Complete(which) => {
                if let Some(at) = of(which, self.under_way.len()) {
                    let (io, _) = self.under_way.remove(at);
                    self.tell(EventKind::Arrived { io });
                }
            }
            Step::Fail(which) => {
                if let Some(at) = of(which, self.under_way.len()) {
                    let (io, len) = self.under_way.remove(at);
                    self.tell(EventKind::Failed { io, valid: which as u32 % len, error: 5 });
                }
            }
            Step::Finish(which) => {
                if let Some(at) = of(which, self.ready.len()) {
                    let read = self.ready.remove(at);
                    self.free.push(read);
                    self.tell(EventKind::Done { read: ReadId(read) });
                }
            }
            Step::Ran(handler) => self.tell(EventKind::Ran { handler: HandlerId(handler) }),
            Step::Close => self.tell(EventKind::Close { file: FileId(0) }),
            Step::Wait(ms) => self.at += ms * 1_000_000,
        }
    }
}

fn names(entries: &'static [Entry]) -> impl Strategy<Value = &'static str> {
    proptest::sample::select(entries.iter().map(|entry| entry.name).collect::<Vec<_>>())
}

const SCHEMES: [&str; 7] = [
    "static",
    "eager:window=3",
    "lazy:window=3",
    "lazy:window=1,threshold=0",
    "eager:window=2,increment=500",
    "lazy:window=2,weights=1/3/9,seed=5",
    "worth",
];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(500) })]

    /// One device, and nothing is different: the same actions for the same events, whatever the
    /// scheme, to the last one.
    #[test]
    fn one_device_is_not_divided(
        prefetch in names(PREFETCHERS),
        scheme in proptest::sample::select(&SCHEMES[..]),
        replacement in names(REPLACEMENTS),
        frames in 1..60u32,
        steps in steps(),
    ) {
        let mut whole = Driver::new(&format!("{prefetch}+{replacement}"), frames, 1);
        let mut divided = Driver::new(&format!("{prefetch}+{scheme}+{replacement}"), frames, 1);
        for step in steps {
            whole.step(step);
            divided.step(step);
            prop_assert_eq!(&whole.log, &divided.log, "{:?}", step);
            whole.log.clear();
            divided.log.clear();
        }
    }

    /// Pages are conserved after every event, whatever is under way, held or failed, among up to
    /// five devices.
    #[test]
    fn frames_are_conserved(
        prefetch in names(PREFETCHERS),
        scheme in proptest::sample::select(&SCHEMES[..]),
        replacement in names(REPLACEMENTS),
        frames in 1..60u32,
        devices in 1..6u32,
        steps in steps(),
    ) {
        let mut driver = Driver::new(&format!("{prefetch}+{scheme}+{replacement}"), frames, devices);
        steps.into_iter().for_each(|step| driver.step(step));
        while let Some(step) = [(!driver.ready.is_empty()).then_some(Step::Finish(0)),
            (!driver.under_way.is_empty()).then_some(Step::Complete(0))].into_iter().flatten().next() {
            driver.step(step);
        }
        prop_assert_eq!(driver.free.len(), 400, "every read came to its end");
    }
}
