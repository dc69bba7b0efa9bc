//! The engine under random events: every read is answered, with the blocks it asked for; invariants
//! hold after every event; nothing is fetched that is there or under way; the same events give the
//! same actions.

use std::collections::{BTreeMap, BTreeSet};

use forebay_core::device::DeviceCost;
use forebay_core::index::Hashed;
use forebay_core::presets::{PREFETCHERS, REPLACEMENTS};
use forebay_core::{
    Action, Actions, BlockKey, CALLED_OFF, ContextId, Core, DeviceId, Event, EventKind, Extent, FileId, HandlerId,
    Instant, IoId, Policy, ReadId, Referenced, Setup,
};
use forebay_core::{Hint, Pattern, Rhythm};
use proptest::prelude::*;

const BLOCK: u32 = 4096;

#[derive(Clone, Copy, Debug)]
enum Step {
    Read {
        file: u8,
        block: u16,
        len: u8,
        handler: u8,
    },
    Sequential {
        stream: u8,
        len: u8,
    },
    /// The label of the next read: some blocks from some place on, perhaps far beside it, and how
    /// many were read before.
    Label {
        skip: u8,
        len: u8,
        hits: u8,
        astray: bool,
    },
    /// A hint of a handler's context, where contexts have partitions.
    Hint {
        handler: u8,
        pattern: Pattern,
        size: u8,
        time: u8,
    },
    /// A device turns out to be a store of this kind.
    Measured {
        device: u8,
        milliseconds: u8,
        channels: u8,
    },
    Ran {
        handler: u8,
    },
    Exited {
        handler: u8,
    },
    Handles {
        file: u8,
        handles: u8,
    },
    Wait {
        seconds: u8,
    },
    Complete {
        which: u8,
    },
    Fail {
        which: u8,
        valid: u8,
    },
    Finish {
        which: u8,
    },
    Close {
        file: u8,
    },
    CallOff {
        which: u8,
    },
    Forget {
        file: u8,
    },
}

const PATTERNS: [Pattern; 4] = [Pattern::Looping, Pattern::Looping, Pattern::OneShot, Pattern::Clustered];

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (0..3u8, 0..60u16, 1..20u8, 3..6u8)
            .prop_map(|(file, block, len, handler)| Step::Read { file, block, len, handler }),
        2 => (3..6u8, proptest::sample::select(&PATTERNS[..]), 0..90u8, 0..90u8)
            .prop_map(|(handler, pattern, size, time)| Step::Hint { handler, pattern, size, time }),
        1 => (0..3u8, 0..90u8, 0..40u8)
            .prop_map(|(device, milliseconds, channels)| Step::Measured { device, milliseconds, channels }),
        1 => (0..6u8).prop_map(|handler| Step::Ran { handler }),
        1 => (0..6u8).prop_map(|handler| Step::Exited { handler }),
        1 => (0..3u8, 0..9u8).prop_map(|(file, handles)| Step::Handles { file, handles }),
        1 => (1..150u8).prop_map(|seconds| Step::Wait { seconds }),
        5 => (0..3u8, 1..20u8).prop_map(|(stream, len)| Step::Sequential { stream, len }),
        2 => (0..20u8, 0..20u8, 0..9u8, proptest::bool::weighted(0.1))
            .prop_map(|(skip, len, hits, astray)| Step::Label { skip, len, hits, astray }),
        6 => any::<u8>().prop_map(|which| Step::Complete { which }),
        1 => (any::<u8>(), 0..20u8).prop_map(|(which, valid)| Step::Fail { which, valid }),
        6 => any::<u8>().prop_map(|which| Step::Finish { which }),
        1 => (0..3u8).prop_map(|file| Step::Close { file }),
        2 => any::<u8>().prop_map(|which| Step::CallOff { which }),
        1 => (0..3u8).prop_map(|file| Step::Forget { file }),
    ];
    proptest::collection::vec(step, 1..250)
}

/// A driver that believes nothing: it keeps its own account of what is resident and under way.
struct Driver {
    core: Box<dyn Core>,
    referenced: Referenced,
    at: u64,
    events: Vec<Event>,
    actions: Actions,
    under_way: BTreeMap<u32, Extent>,
    /// Those of them that no reader needs. They are called off later, or never.
    unneeded: BTreeMap<u32, Extent>,
    failures: u64,
    resident: BTreeSet<BlockKey>,
    waiting: BTreeMap<u32, Extent>,
    ready: BTreeMap<u32, Extent>,
    free_reads: Vec<u32>,
    numbers: u32,
    files: [Option<u32>; 3],
    free_files: Vec<u32>,
    /// Which of the three a number names.
    homes: BTreeMap<u32, usize>,
    positions: [u32; 3],
    label: Option<[u32; 3]>,
    frames: BTreeMap<u32, BlockKey>,
}

const BLOCKS: u32 = 60;
/// The last of the three files is striped over both devices, in units of this many blocks.
const STRIPED: usize = 2;
const UNIT: u32 = 3;
/// This many events open the three files.
const OPENING: usize = 7;

impl Driver {
    fn new(policy: &str, frames: u32, referenced: Referenced) -> Driver {
        let policy: Policy = policy.parse().unwrap();
        let cost = DeviceCost {
            seek: vec![(0, 1_000_000), (1 << 30, 8_000_000)],
            half_revolution: 3_000_000,
            zones: vec![(0, 50_000_000)],
            capacity: 1 << 30,
            channels: 1,
        };
        let setup = Setup {
            frames,
            block_bytes: BLOCK,
            streams: 4,
            devices: vec![cost, DeviceCost::flat(1_000_000, 40_000_000, 4)],
            referenced,
        };
        let mut driver = Driver {
            core: policy.build::<Hashed>(setup),
            referenced,
            at: 0,
            events: Vec::new(),
            actions: Vec::new(),
            under_way: BTreeMap::new(),
            unneeded: BTreeMap::new(),
            failures: 0,
            resident: BTreeSet::new(),
            waiting: BTreeMap::new(),
            ready: BTreeMap::new(),
            free_reads: Vec::new(),
            numbers: 0,
            files: [None; 3],
            free_files: (0..32).rev().collect(),
            homes: BTreeMap::new(),
            positions: [0; 3],
            label: None,
            frames: BTreeMap::new(),
        };
        for file in 0..3 {
            driver.open(file);
        }
        driver
    }

    fn open(&mut self, which: usize) {
        let Some(file) = self.free_files.pop() else { return };
        self.files[which] = Some(file);
        self.homes.insert(file, which);
        self.positions[which] = 0;
        let file = FileId(file);
        let bytes = u64::from(BLOCKS * BLOCK) - 100;
        self.tell(EventKind::Open { file, device: DeviceId(which as u16 % 2), bytes });
        let mut extent = Extent { file, start: 0, len: BLOCKS };
        if which == STRIPED {
            self.tell(EventKind::Striped { file, unit: UNIT, devices: 2 });
            extent.len = BLOCKS / 2;
        }
        self.tell(EventKind::Placed { extent, at_byte: which as u64 * 100_000_000 });
    }

    /// Where a block lies, said naively.
    fn device(&self, file: FileId, block: u32) -> DeviceId {
        let which = self.homes.get(&file.0).copied().expect("the file was opened");
        let device = if which == STRIPED { (block / UNIT) % 2 } else { which as u32 % 2 };
        DeviceId(device as u16)
    }

    fn tell(&mut self, kind: EventKind) {
        self.at += 1_000_000;
        let event = Event { at: Instant(self.at), kind };
        self.events.push(event);
        let before = self.actions.len();
        self.core.handle(&[event], &mut self.actions);
        self.core.check();
        let new: Vec<Action> = self.actions[before..].to_vec();
        new.into_iter().for_each(|action| self.book(action));
    }

    fn book(&mut self, action: Action) {
        match action {
            Action::Fetch { io, extent, demand, device, .. } => {
                for block in extent.start..extent.end() {
                    assert_eq!(device, self.device(extent.file, block), "{extent:?} spans two devices");
                }
                assert!(!extent.is_empty(), "an empty fetch");
                assert!(extent.end() <= BLOCKS, "a fetch beyond the end of its file");
                assert!(demand.is_empty() || (demand.start >= extent.start && demand.end() <= extent.end()));
                for key in extent.keys() {
                    assert!(!self.resident.contains(&key), "{key:?} is fetched although it is there");
                    assert!(
                        !self.under_way.values().any(|other| other.keys().any(|k| k == key)),
                        "{key:?} is fetched twice at a time"
                    );
                    let frame = self.core.frame(key).expect("a frame for a block that is fetched");
                    self.frames.insert(frame.0, key);
                }
                assert!(self.under_way.insert(io.0, extent).is_none(), "a fetch number in use");
            }
            Action::CallOff { io } => {
                let extent = *self.under_way.get(&io.0).expect("what is called off is under way");
                assert!(self.unneeded.insert(io.0, extent).is_none(), "called off twice");
                assert!(
                    matches!(self.events.last(), Some(Event { kind: EventKind::Close { file }, .. }) if *file == extent.file),
                    "called off, though the file is open"
                );
            }
            Action::Ready { read } => {
                let extent = self.waiting.remove(&read.0).expect("ready, though nobody asked");
                for key in extent.keys() {
                    assert!(self.resident.contains(&key), "{key:?} is ready, but was never brought");
                    let frame = self.core.frame(key).expect("a frame for a block that is read");
                    assert_eq!(self.frames.get(&frame.0), Some(&key), "the frame was filled with another block");
                }
                self.ready.insert(read.0, extent);
            }
            Action::Error { read, error } => {
                assert_ne!(error, CALLED_OFF, "a reader pays for what was called off");
                self.waiting.remove(&read.0).expect("an error, though nobody asked");
                self.free_reads.push(read.0);
            }
            Action::Evict { frame, .. } => {
                let key = self.frames.remove(&frame.0).expect("an empty frame is evicted");
                self.resident.remove(&key);
                assert!(
                    !self.ready.values().any(|held| held.keys().any(|k| k == key)),
                    "{key:?} is evicted while read"
                );
            }
            Action::Emptied { file } => {
                assert!(!self.resident.iter().any(|key| key.file() == file), "blocks of an empty file");
            }
            Action::Forgotten { file } => {
                assert!(!self.resident.iter().any(|key| key.file() == file), "blocks of a forgotten file");
                self.free_files.push(file.0);
            }
        }
    }

    fn read(&mut self, handler: u8, file: FileId, block: u32, len: u32) {
        let len = len.min(self.core.max_read()).min(BLOCKS.saturating_sub(block));
        let number = self.free_reads.pop().unwrap_or_else(|| {
            self.numbers += 1;
            self.numbers - 1
        });
        self.waiting.insert(number, Extent { file, start: block, len });
        if let Some([skip, len, hits]) = self.label.take() {
            let demand = Extent { file, start: block.wrapping_add(skip), len };
            let hits = Extent { file, start: block.wrapping_sub(hits), len: hits };
            self.tell(EventKind::Labelled { read: ReadId(number), demand, hits });
        }
        self.tell(EventKind::Read {
            read: ReadId(number),
            handler: HandlerId(handler.into()),
            context: ContextId(handler.into()),
            file,
            offset: u64::from(block * BLOCK),
            len: len * BLOCK,
        });
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Read { file, block, len, handler } => {
                if let Some(file) = self.files[usize::from(file)] {
                    self.read(handler, FileId(file), u32::from(block), u32::from(len));
                }
            }
            Step::Sequential { stream, len } => {
                let which = usize::from(stream);
                if let Some(file) = self.files[which] {
                    let position = self.positions[which] % BLOCKS;
                    self.positions[which] = position + u32::from(len);
                    self.read(stream, FileId(file), position, u32::from(len));
                }
            }
            Step::Label { skip, len, hits, astray } => {
                let far = if astray { u32::MAX / 3 * 2 } else { 0 };
                self.label = Some([skip, len, hits].map(|blocks| u32::from(blocks) + far));
            }
            Step::Measured { device, milliseconds, channels } => self.tell(EventKind::Measured {
                device: DeviceId(device.into()),
                first_byte: u64::from(milliseconds) * 1_000_000,
                rate: u64::from(channels) * 5_000_000,
                channels: channels.into(),
            }),
            Step::Hint { handler, pattern, size, time } => {
                let rhythm = Rhythm { size: size.into(), time: time.into(), deviation: u64::from(time) / 5 };
                let (context, hint) = (ContextId(handler.into()), Hint::of(pattern, rhythm));
                self.tell(EventKind::Hinted { context, hint });
            }
            Step::Ran { handler } => self.tell(EventKind::Ran { handler: HandlerId(handler.into()) }),
            Step::Exited { handler } => self.tell(EventKind::Exited { handler: HandlerId(handler.into()) }),
            Step::Handles { file, handles } => {
                if let Some(file) = self.files[usize::from(file)] {
                    self.tell(EventKind::Handles { file: FileId(file), handles: handles.into() });
                }
            }
            Step::Wait { seconds } => self.at += u64::from(seconds) * 1_000_000_000,
            Step::Finish { which } => {
                if let Some(read) = nth(&self.ready, which) {
                    self.finish(read);
                    self.free_reads.push(read);
                }
            }
            Step::Close { file } => {
                if let Some(file) = self.files[usize::from(file)] {
                    self.tell(EventKind::Close { file: FileId(file) });
                }
            }
            Step::Forget { file } => {
                if let Some(file) = self.files[usize::from(file)].take() {
                    self.tell(EventKind::Forget { file: FileId(file) });
                }
                self.open(usize::from(file));
            }
            of_fetch => self.step_of_fetch(of_fetch),
        }
    }

    /// The steps that end fetches.
    fn step_of_fetch(&mut self, step: Step) {
        match step {
            Step::Complete { which } => {
                if let Some(io) = nth(&self.under_way, which) {
                    let extent = self.over(io);
                    self.resident.extend(extent.keys());
                    self.tell(EventKind::Arrived { io: IoId(io) });
                }
            }
            Step::Fail { which, valid } => {
                if let Some(io) = nth(&self.under_way, which) {
                    let extent = self.over(io);
                    self.failures += 1;
                    let valid = u32::from(valid).min(extent.len - 1);
                    self.resident.extend(extent.keys().take(valid as usize));
                    self.tell(EventKind::Failed { io: IoId(io), valid, error: 5 });
                }
            }
            Step::CallOff { which } => {
                if let Some(io) = nth(&self.unneeded, which) {
                    self.over(io);
                    self.tell(EventKind::Failed { io: IoId(io), valid: 0, error: CALLED_OFF });
                }
            }
            _ => {}
        }
    }

    /// A reader is done. Its blocks that no other read wants are gone, if readers keep the blocks
    /// that they are given.
    fn finish(&mut self, read: u32) {
        let extent = self.ready.remove(&read).expect("it is ready");
        self.tell(EventKind::Done { read: ReadId(read) });
        let others: Vec<Extent> = self.ready.values().chain(self.waiting.values()).copied().collect();
        let wanted = |key| others.iter().any(|other| other.keys().any(|k| k == key));
        if self.referenced == Referenced::HandedOn {
            let kept = extent.keys().find(|&key| self.resident.contains(&key) && !wanted(key));
            // A queued read that is admitted now may have it prefetched again.
            assert!(kept.is_none_or(|key| self.core.frame(key).is_none()), "{kept:?} was handed on and is kept");
        }
    }

    fn over(&mut self, io: u32) -> Extent {
        self.unneeded.remove(&io);
        self.under_way.remove(&io).expect("it is under way")
    }

    /// Completes everything: every read must come to its end.
    fn drain(&mut self) {
        for _ in 0..100_000 {
            if let Some(read) = nth(&self.ready, 0) {
                self.finish(read);
            } else if !self.under_way.is_empty() {
                self.step(Step::Complete { which: 0 });
            } else {
                break;
            }
        }
        assert!(self.waiting.is_empty(), "reads that nobody answers: {:?}", self.waiting);
    }
}

fn nth(map: &BTreeMap<u32, Extent>, which: u8) -> Option<u32> {
    map.keys().nth(usize::from(which) % map.len().max(1)).copied()
}

fn policies() -> impl Strategy<Value = String> {
    let options = [
        "competitive:shares=off",
        "auto:without=duel",
        "auto:without=habits/near",
        "auto:without=lengths/rent/contexts,epoch=1",
        "competitive-em:epoch=1",
        "competitive-em:start=90,epoch=0,opportunity=1",
        "sarc:threshold=1,degree=3,distance=9",
        "sarc:degree=4294967295,distance=4294967295",
    ];
    let names = PREFETCHERS.iter().map(|entry| entry.name).chain(options);
    let prefetch = proptest::sample::select(names.collect::<Vec<_>>());
    let replacement = proptest::sample::select(REPLACEMENTS.iter().map(|entry| entry.name).collect::<Vec<_>>());
    let partition = proptest::sample::select(vec![
        "",
        "",
        "static:weights=3/1+",
        "static+",
        "eager:window=3,increment=100,threshold=0+",
        "lazy:window=3,increment=100,threshold=0+",
        "lazy:window=2,weights=1/7+",
        "worth+",
    ]);
    let contexts = proptest::sample::select(vec![
        "",
        "",
        "amp:review=4294967295+",
        "amp:review=20,sampling=off,mean=1/4,partitions=1+",
        "dear:review=20,by=file+",
        "pcc:review=9,seed=7+",
        "amp-duel:review=50+",
    ]);
    (prefetch, partition, contexts, replacement)
        .prop_map(|(prefetch, partition, context, replacement)| format!("{prefetch}+{partition}{context}{replacement}"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn every_read_is_answered_and_invariants_hold(
        policy in policies(),
        frames in 1..80u32,
        handed_on in any::<bool>(),
        steps in steps(),
    ) {
        let referenced = if handed_on { Referenced::HandedOn } else { Referenced::Kept };
        let mut driver = Driver::new(&policy, frames, referenced);
        for step in &steps {
            driver.step(*step);
        }
        driver.drain();
        let counters = driver.core.counters();
        let ended = counters.used + counters.late + counters.wasted + counters.called_off;
        prop_assert!(ended <= counters.prefetched);
        if handed_on {
            let (all, free) = driver.core.frames();
            prop_assert_eq!(u64::from(all - free), counters.prefetched - ended, "frames hold what is unread, no more");
        }
        prop_assert_eq!(counters.failures, driver.failures, "what was called off has not failed");
        // The same events give the same actions, to the bit.
        let mut again = Driver::new(&policy, frames, referenced);
        again.actions.clear();
        let mut core = Driver::new(&policy, frames, referenced).core;
        let mut actions = Actions::new();
        for event in &driver.events[OPENING..] {
            core.handle(&[*event], &mut actions);
        }
        prop_assert_eq!(actions, driver.actions);
    }
}
