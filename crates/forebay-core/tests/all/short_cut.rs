//! A hit by the short cut is a `Read`, `Ready` and `Done` at one moment: two cores that differ only
//! in taking it decide alike and count alike, for ever after.

use forebay_core::presets::{PREFETCHERS, REPLACEMENTS};
use forebay_core::{
    BlockKey, Caller, ContextId, DeviceCost, DeviceId, EventKind, FileId, FrameId, HandlerId, Hint, Pattern, Rhythm,
    Setup,
};
use proptest::prelude::*;

use crate::bench::{Bench, MS, Pace, setup};

const BLOCKS: u64 = 200;

struct Driver {
    bench: Bench,
    short_cut: bool,
    taken: u32,
}

impl Driver {
    fn new(policy: &str, frames: u32, short_cut: bool) -> Driver {
        let setup = Setup { streams: 4, ..setup(frames, vec![DeviceCost::flat(MS, 40_000_000, 2)]) };
        let pace = Pace { event: 0, read: 0, fetch: None };
        Driver { bench: Bench::on(policy, setup, pace).with_files(1, BLOCKS), short_cut, taken: 0 }
    }

    /// The patterns of contexts 1 and 2 are known from an earlier run.
    fn hints(mut self) -> Driver {
        let rhythm = Rhythm { size: 90, time: 200, deviation: 20 };
        for (context, pattern) in [(1, Pattern::Looping), (2, Pattern::OneShot)] {
            self.bench.tell(EventKind::Hinted { context: ContextId(context), hint: Hint::of(pattern, rhythm) });
        }
        self
    }

    /// Reads one block; `pinned` holds the frame of a short cut for a moment, as a lease does.
    fn read(&mut self, block: u64, pinned: bool) {
        self.read_by(ContextId(0), block, pinned);
    }

    fn read_by(&mut self, context: ContextId, block: u64, pinned: bool) {
        let handler = HandlerId(1);
        self.bench.at += MS;
        if self.short_cut {
            let key = BlockKey::new(FileId(0), block as u32);
            if let Some(frame) = self.bench.core.hit(key, DeviceId(0), Caller { handler, context }) {
                assert_eq!(self.bench.core.frame(key), Some(frame));
                if pinned {
                    assert!(self.bench.core.pin(frame));
                    assert!(!self.bench.core.unpin(frame), "nobody waits");
                }
                self.taken += 1;
                // The short cut does not tell that its reader runs; a driver of a prefetch cache
                // does.
                if self.bench.core.prefetch_cache().is_some() {
                    self.bench.tell(EventKind::Ran { handler });
                }
                return;
            }
        }
        self.bench.context = context;
        self.bench.read(0, block, 1);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_short_cut_changes_nothing(
        prefetch in 0..PREFETCHERS.len(),
        replacement in 0..REPLACEMENTS.len(),
        contexts in proptest::sample::select(&["", "amp+", "amp:review=9,sampling=off+", "dear:review=9+"][..]),
        frames in 2..60u32,
        blocks in proptest::collection::vec((0..BLOCKS, 1..12u64, any::<bool>(), 0..4u32), 1..120),
    ) {
        let policy = format!("{}+{contexts}{}", PREFETCHERS[prefetch].name, REPLACEMENTS[replacement].name);
        let mut long = Driver::new(&policy, frames, false).hints();
        let mut short = Driver::new(&policy, frames, true).hints();
        for (start, len, pinned, context) in blocks {
            for block in start..(start + len).min(BLOCKS) {
                long.read_by(ContextId(context), block, pinned);
                short.read_by(ContextId(context), block, pinned);
                short.bench.core.check();
            }
            prop_assert_eq!(&short.bench.fetches, &long.bench.fetches);
            prop_assert_eq!(short.bench.core.counters(), long.bench.core.counters());
        }
    }
}

#[test]
fn the_short_cut_is_taken_for_what_tells_nothing() {
    let mut driver = Driver::new("competitive", 60, true);
    driver.read(0, false);
    assert_eq!(driver.taken, 0, "a miss");
    driver.read(1, false);
    assert_eq!(driver.taken, 0, "the first reference of a prefetched block");
    driver.read(0, false);
    driver.read(1, true);
    assert_eq!(driver.taken, 2);
    driver.bench.core.no_short_cut();
    driver.read(0, false);
    assert_eq!(driver.taken, 2, "while a flight is recorded");
    assert_eq!(driver.bench.core.hit(BlockKey::new(FileId(7), 0), DeviceId(0), Caller::default()), None::<FrameId>);
}
