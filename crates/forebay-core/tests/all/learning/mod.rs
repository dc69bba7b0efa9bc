//! A core whose fetches arrive at once, unless they are held, for the policies that learn from what
//! becomes of them.

use std::ops::Range;

use forebay_core::index::Hashed;
use forebay_core::{
    Action, Actions, ContextId, Core, DeviceCost, DeviceId, Event, EventKind, Extent, FileId, HandlerId, Instant, IoId,
    Policy, ReadId, Referenced, Setup,
};

pub(crate) const PAGE: u64 = 4096;
const MILLI: u64 = 1_000_000;
/// The files that there are, by number; an odd one is on the second device, if there is one.
const FILES: u32 = 40;

pub(crate) struct Bench {
    pub(crate) core: Box<dyn Core>,
    pub(crate) at: u64,
    pub(crate) fetches: Vec<Extent>,
    pub(crate) under_way: Vec<IoId>,
    /// Whether fetches wait for [`arrive`](Self::arrive).
    pub(crate) held: bool,
    block_bytes: u64,
    reads: u32,
}

impl Bench {
    pub(crate) fn new(policy: &str, frames: u32) -> Bench {
        Bench::of(policy, frames, PAGE as u32, false, &[DeviceCost::flat(1_000_000, 50_000_000, 1)])
    }

    pub(crate) fn of(policy: &str, frames: u32, block_bytes: u32, handed_on: bool, devices: &[DeviceCost]) -> Bench {
        let policy: Policy = policy.parse().unwrap();
        Bench::around(
            policy.build::<Hashed>(setup(frames, block_bytes, handed_on, devices)),
            block_bytes,
            devices.len(),
        )
    }

    /// Around a core of so many devices.
    pub(crate) fn around(core: Box<dyn Core>, block_bytes: u32, devices: usize) -> Bench {
        let (fetches, under_way) = (vec![], vec![]);
        let mut bench =
            Bench { core, at: 0, fetches, under_way, held: false, block_bytes: block_bytes.into(), reads: 0 };
        for file in 0..FILES {
            let device = DeviceId((file % devices as u32) as u16);
            bench.tell(EventKind::Open { file: FileId(file), device, bytes: 1_000_000 * u64::from(block_bytes) });
        }
        bench
    }

    pub(crate) fn tell(&mut self, kind: EventKind) {
        let mut actions = Actions::new();
        self.core.handle(&[Event { at: Instant(self.at), kind }], &mut actions);
        for action in actions {
            match action {
                Action::Fetch { io, extent, .. } => {
                    self.fetches.push(extent);
                    self.under_way.push(io);
                }
                Action::Ready { read } => self.tell(EventKind::Done { read }),
                _ => {}
            }
        }
        if !self.held {
            self.arrive();
        }
    }

    /// What is under way arrives, in order.
    pub(crate) fn arrive(&mut self) {
        while !self.under_way.is_empty() {
            let io = self.under_way.remove(0);
            self.tell(EventKind::Arrived { io });
        }
    }

    /// Reads blocks of file 0.
    pub(crate) fn read(&mut self, block: u64, blocks: u64) {
        self.read_in(0, block, blocks);
    }

    /// Reads blocks of a file, a tenth of a millisecond after whatever was before.
    pub(crate) fn read_in(&mut self, file: u32, block: u64, blocks: u64) {
        self.read_of(file, block, blocks, None);
    }

    /// A level above reads blocks of file 0, of which readers want `demand`, if it says: first
    /// block and number.
    pub(crate) fn read_labelled(&mut self, block: u64, blocks: u64, demand: Option<(u64, u64)>) {
        self.read_of(0, block, blocks, demand);
    }

    fn read_of(&mut self, file: u32, block: u64, blocks: u64, demand: Option<(u64, u64)>) {
        self.at += MILLI / 10;
        self.reads += 1;
        let (read, file) = (ReadId(self.reads % 64), FileId(file));
        if let Some((start, len)) = demand {
            let (demand, hits) = (Extent { file, start: start as u32, len: len as u32 }, Extent::default());
            self.tell(EventKind::Labelled { read, demand, hits });
        }
        let (handler, context) = (HandlerId(1), ContextId(0));
        let (offset, len) = (block * self.block_bytes, (blocks * self.block_bytes) as u32);
        self.tell(EventKind::Read { read, handler, context, file, offset, len });
        if self.reads.is_multiple_of(997) {
            self.core.check();
        }
    }

    /// Reads pages of file 0, one after the other: which page had which fetches issued, by first
    /// block and number.
    pub(crate) fn issued(&mut self, pages: Range<u64>) -> Vec<(u64, (u32, u32))> {
        let mut issued = vec![];
        for page in pages {
            let before = self.fetches.len();
            self.read(page, 1);
            issued.extend(self.fetches[before..].iter().map(|fetch| (page, (fetch.start, fetch.len))));
        }
        issued
    }
}

/// A setup without a policy.
pub(crate) fn setup(frames: u32, block_bytes: u32, handed_on: bool, devices: &[DeviceCost]) -> Setup {
    Setup {
        frames,
        block_bytes,
        streams: 100,
        devices: devices.to_vec(),
        referenced: if handed_on { Referenced::HandedOn } else { Referenced::Kept },
    }
}
