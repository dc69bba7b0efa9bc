//! Blocks that are handed on once they are read: frames hold what is ahead of the readers, and no
//! more.

use forebay_core::index::Hashed;
use forebay_core::{
    Action, Actions, BlockKey, Caller, ContextId, Core, DeviceCost, DeviceId, Event, EventKind, Extent, FileId,
    HandlerId, Instant, Policy, ReadId, Referenced, Setup,
};

const BLOCK: u64 = 4096;

/// A core whose fetches arrive at once and whose reads are done at once.
struct Driver {
    core: Box<dyn Core>,
    at: u64,
    fetched: Vec<Extent>,
    told: u32,
    /// The most frames that were in use after an event.
    most: u32,
    /// Frames that were ever filled.
    touched: std::collections::BTreeSet<u32>,
}

impl Driver {
    fn new(policy: &str, frames: u32, blocks: u64, referenced: Referenced) -> Driver {
        let policy: Policy = policy.parse().unwrap();
        let setup = Setup {
            frames,
            block_bytes: BLOCK as u32,
            streams: 64,
            devices: vec![DeviceCost::flat(8_000_000, 50_000_000, 1)],
            referenced,
        };
        let core = policy.build::<Hashed>(setup);
        let mut driver = Driver { core, at: 0, fetched: Vec::new(), told: 0, most: 0, touched: Default::default() };
        for file in 0..16 {
            driver.tell(EventKind::Open { file: FileId(file), device: DeviceId(0), bytes: blocks * BLOCK });
            driver.tell(EventKind::Handles { file: FileId(file), handles: 1 });
        }
        driver
    }

    fn tell(&mut self, kind: EventKind) {
        let mut actions = Actions::new();
        self.core.handle(&[Event { at: Instant(self.at), kind }], &mut actions);
        // It walks over all frames: not every time where there are many.
        self.told += 1;
        if self.told.is_multiple_of(50) {
            self.core.check();
        }
        let (all, free) = self.core.frames();
        self.most = self.most.max(all - free);
        for action in actions {
            match action {
                Action::Fetch { io, extent, .. } => {
                    self.fetched.push(extent);
                    self.touched.extend(extent.keys().filter_map(|key| self.core.frame(key)).map(|frame| frame.0));
                    self.tell(EventKind::Arrived { io });
                }
                Action::Ready { read } => self.tell(EventKind::Done { read }),
                _ => {}
            }
        }
    }

    fn read(&mut self, file: u32, block: u64, blocks: u64) {
        self.at += 1_000_000;
        self.tell(EventKind::Read {
            read: ReadId(0),
            handler: HandlerId(file + 1),
            context: ContextId(0),
            file: FileId(file),
            offset: block * BLOCK,
            len: (blocks * BLOCK) as u32,
        });
    }
}

/// The prefetcher sees the same: pieces, slow start and triggers are those of a cache that keeps
/// everything.
#[test]
fn streams_go_on_as_if_everything_were_kept() {
    for policy in ["competitive", "competitive-em:start=90,epoch=0", "linux", "aggressive", "fixed", "one-block"] {
        let fetched = [Referenced::Kept, Referenced::HandedOn].map(|referenced| {
            let mut driver = Driver::new(policy, 20_000, 1500, referenced);
            // Turn by turn, as concurrent readers do.
            for block in (0..1500).step_by(32) {
                (0..8).for_each(|file| driver.read(file, block, 32));
            }
            assert_eq!(driver.core.counters().hits + driver.core.counters().misses, 8 * 1500, "{policy}");
            driver.fetched
        });
        assert_eq!(fetched[0], fetched[1], "{policy}");
    }
}

/// A file of many times the memory passes through without waste, and a frame is touched only if the
/// stream needed it.
#[test]
fn memory_holds_what_is_ahead() {
    let mut driver = Driver::new("competitive", 2000, 30_000, Referenced::HandedOn);
    (0..30_000).step_by(16).for_each(|block| driver.read(0, block, 16));
    let counters = driver.core.counters();
    assert_eq!((counters.wasted, counters.thrashed), (0, 0));
    assert_eq!(counters.fetched, 30_000, "each block once");
    // Two pieces of the depth (8 ms at 50 MB/s: 98 blocks), and what is being read.
    assert!(driver.most <= 2 * 98 + 16, "{}", driver.most);
    assert_eq!(driver.touched.len() as u32, driver.most, "what is free is used again first");
}

/// Many streams in little memory: together they have all of it but a tenth to look ahead in, and
/// nothing is thrown out unread.
#[test]
fn memory_short_of_every_depth_is_shared_without_waste() {
    for policy in ["competitive", "competitive-em", "competitive-em+arc"] {
        let mut driver = Driver::new(policy, 600, 2000, Referenced::HandedOn);
        for block in (0..2000).step_by(8) {
            (0..16).for_each(|file| driver.read(file, block, 8));
        }
        let counters = driver.core.counters();
        assert_eq!((counters.wasted, counters.fetched), (0, 16 * 2000), "{policy}");
        assert!(driver.most > 300, "{policy}: {} frames of 600 were used", driver.most);
    }
}

/// What a read frees is a row of neighbours again, so that a fetch into it is one piece of memory.
#[test]
fn frames_are_used_again_side_by_side() {
    let mut driver = Driver::new("none", 4000, 1000, Referenced::HandedOn);
    driver.read(0, 0, 200);
    let (read, file) = (ReadId(7), FileId(1));
    let (handler, context) = (HandlerId(1), ContextId(0));
    let mut actions = Actions::new();
    let kind = EventKind::Read { read, handler, context, file, offset: 0, len: 100 * BLOCK as u32 };
    driver.core.handle(&[Event { at: Instant(driver.at), kind }], &mut actions);
    let frames: Vec<u32> = (0..100).map(|block| driver.core.frame(BlockKey::new(file, block)).unwrap().0).collect();
    assert!(frames.windows(2).all(|pair| pair[1] == pair[0] + 1), "{frames:?}");
}

/// The reader's side has dropped what it asks for again: a miss, by the short cut too.
#[test]
fn what_was_handed_on_is_missed_when_it_is_asked_for_again() {
    let mut driver = Driver::new("arc", 100, 100, Referenced::HandedOn);
    for round in 1..=3 {
        driver.read(0, 5, 2);
        let counters = driver.core.counters();
        assert_eq!((counters.misses, counters.hits), (2 * round, 0));
        assert_eq!(driver.core.hit(BlockKey::new(FileId(0), 5), DeviceId(0), Caller::default()), None);
        assert_eq!(driver.core.frames(), (100, 100));
    }
}
