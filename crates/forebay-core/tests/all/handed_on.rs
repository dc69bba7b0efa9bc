//! Blocks that are handed on once they are read: frames hold the blocks ahead of the readers, and
//! no more.

use std::collections::BTreeSet;

use forebay_core::{BlockKey, Caller, DeviceCost, DeviceId, EventKind, FileId, Referenced, Setup};

use crate::bench::{Bench, MS, Pace, setup};

/// Sixteen open files of this many blocks.
struct Driver {
    bench: Bench,
    /// Frames that were ever filled.
    touched: BTreeSet<u32>,
}

impl Driver {
    fn new(policy: &str, frames: u32, blocks: u64, referenced: Referenced) -> Driver {
        let setup = setup(frames, vec![DeviceCost::flat(8 * MS, 50_000_000, 1)]);
        let pace = Pace { event: 0, read: MS, fetch: None };
        let mut bench = Bench::on(policy, Setup { referenced, ..setup }, pace).with_files(16, blocks);
        bench.handler = None;
        (0..16).for_each(|file| drop(bench.tell(EventKind::Handles { file: FileId(file), handles: 1 })));
        Driver { bench, touched: BTreeSet::new() }
    }

    fn read(&mut self, file: u32, block: u64, blocks: u64) {
        self.bench.held = true;
        self.bench.read(file, block, blocks);
        let keys = self.bench.fetches.iter().flat_map(|fetch| fetch.extent.keys());
        self.touched.extend(keys.filter_map(|key| self.bench.core.frame(key)).map(|frame| frame.0));
        self.bench.arrive();
        self.bench.held = false;
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
            assert_eq!(driver.bench.core.counters().hits + driver.bench.core.counters().misses, 8 * 1500, "{policy}");
            driver.bench.runs()
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
    let counters = driver.bench.core.counters();
    assert_eq!((counters.wasted, counters.thrashed), (0, 0));
    assert_eq!(counters.fetched, 30_000, "each block once");
    // Two pieces of the depth (8 ms at 50 MB/s: 98 blocks), and the blocks being read.
    assert!(driver.bench.most <= 2 * 98 + 16, "{}", driver.bench.most);
    assert_eq!(driver.touched.len() as u32, driver.bench.most, "what is free is used again first");
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
        let counters = driver.bench.core.counters();
        assert_eq!((counters.wasted, counters.fetched), (0, 16 * 2000), "{policy}");
        assert!(driver.bench.most > 300, "{policy}: {} frames of 600 were used", driver.bench.most);
    }
}

/// The frames that a read frees are a row of neighbours again, so that a fetch into them is one
/// piece of memory.
#[test]
fn frames_are_used_again_side_by_side() {
    let mut driver = Driver::new("none", 4000, 1000, Referenced::HandedOn);
    driver.read(0, 0, 200);
    driver.bench.held = true;
    driver.bench.read(1, 0, 100);
    let file = FileId(1);
    let frames: Vec<u32> =
        (0..100).map(|block| driver.bench.core.frame(BlockKey::new(file, block)).unwrap().0).collect();
    assert!(frames.windows(2).all(|pair| pair[1] == pair[0] + 1), "{frames:?}");
}

/// The reader's side has dropped a block that it asks for again: a miss, by the short cut too.
#[test]
fn what_was_handed_on_is_missed_when_it_is_asked_for_again() {
    let mut driver = Driver::new("arc", 100, 100, Referenced::HandedOn);
    for round in 1..=3 {
        driver.read(0, 5, 2);
        let counters = driver.bench.core.counters();
        assert_eq!((counters.misses, counters.hits), (2 * round, 0));
        assert_eq!(driver.bench.core.hit(BlockKey::new(FileId(0), 5), DeviceId(0), Caller::default()), None);
        assert_eq!(driver.bench.core.frames(), (100, 100));
    }
}
