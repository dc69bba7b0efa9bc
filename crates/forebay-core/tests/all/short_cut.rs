//! A hit by the short cut is a `Read`, `Ready` and `Done` at one moment: two cores that differ only
//! in taking it decide alike and count alike, for ever after.

use forebay_core::index::Hashed;
use forebay_core::presets::{PREFETCHERS, REPLACEMENTS};
use forebay_core::{
    Action, Actions, BlockKey, Caller, ContextId, Core, DeviceCost, DeviceId, Event, EventKind, FileId, FrameId,
    HandlerId, Instant, Policy, ReadId, Setup,
};
use forebay_core::{Hint, Pattern, Rhythm};
use proptest::prelude::*;

const BLOCK: u64 = 4096;
const BLOCKS: u64 = 200;

struct Driver {
    core: Box<dyn Core>,
    short_cut: bool,
    taken: u32,
    at: u64,
    /// Everything decided, but for who is ready.
    decided: Actions,
}

impl Driver {
    fn new(policy: &str, frames: u32, short_cut: bool) -> Driver {
        let policy: Policy = policy.parse().unwrap();
        let setup = Setup {
            frames,
            block_bytes: BLOCK as u32,
            streams: 4,
            devices: vec![DeviceCost::flat(1_000_000, 40_000_000, 2)],
            referenced: Default::default(),
        };
        let core = policy.build::<Hashed>(setup);
        let mut driver = Driver { core, short_cut, taken: 0, at: 0, decided: Vec::new() };
        driver.tell(EventKind::Open { file: FileId(0), device: DeviceId(0), bytes: BLOCKS * BLOCK });
        driver
    }

    fn tell(&mut self, kind: EventKind) {
        let mut actions = Actions::new();
        self.core.handle(&[Event { at: Instant(self.at), kind }], &mut actions);
        for action in actions {
            match action {
                Action::Fetch { io, .. } => {
                    self.decided.push(action);
                    self.tell(EventKind::Arrived { io });
                }
                Action::Ready { read } => self.tell(EventKind::Done { read }),
                other => self.decided.push(other),
            }
        }
    }

    /// What contexts 1 and 2 do is known from an earlier run.
    fn hints(mut self) -> Driver {
        let rhythm = Rhythm { size: 90, time: 200, deviation: 20 };
        for (context, pattern) in [(1, Pattern::Looping), (2, Pattern::OneShot)] {
            self.tell(EventKind::Hinted { context: ContextId(context), hint: Hint::of(pattern, rhythm) });
        }
        self
    }

    /// Reads one block; `pinned` holds the frame of a short cut for a moment, as a lease does.
    fn read(&mut self, block: u64, pinned: bool) {
        self.read_by(ContextId(0), block, pinned);
    }

    fn read_by(&mut self, context: ContextId, block: u64, pinned: bool) {
        let handler = HandlerId(1);
        self.at += 1_000_000;
        if self.short_cut {
            let key = BlockKey::new(FileId(0), block as u32);
            if let Some(frame) = self.core.hit(key, DeviceId(0), Caller { handler, context }) {
                assert_eq!(self.core.frame(key), Some(frame));
                if pinned {
                    assert!(self.core.pin(frame));
                    assert!(!self.core.unpin(frame), "nobody waits");
                }
                self.taken += 1;
                // That its reader runs the short cut doesn't tell; a driver of a prefetch cache
                // does.
                if self.core.prefetch_cache().is_some() {
                    self.tell(EventKind::Ran { handler });
                }
                return;
            }
        }
        let file = FileId(0);
        let (read, offset, len) = (ReadId(0), block * BLOCK, BLOCK as u32);
        self.tell(EventKind::Read { read, handler, context, file, offset, len });
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_short_cut_changes_nothing(
        prefetch in 0..PREFETCHERS.len(),
        replacement in 0..REPLACEMENTS.len(),
        program in proptest::sample::select(&["", "amp+", "amp:review=9,sampling=off+", "dear:review=9+"][..]),
        frames in 2..60u32,
        blocks in proptest::collection::vec((0..BLOCKS, 1..12u64, any::<bool>(), 0..4u32), 1..120),
    ) {
        let policy = format!("{}+{program}{}", PREFETCHERS[prefetch].name, REPLACEMENTS[replacement].name);
        let mut long = Driver::new(&policy, frames, false).hints();
        let mut short = Driver::new(&policy, frames, true).hints();
        for (start, len, pinned, context) in blocks {
            for block in start..(start + len).min(BLOCKS) {
                long.read_by(ContextId(context), block, pinned);
                short.read_by(ContextId(context), block, pinned);
                short.core.check();
            }
            prop_assert_eq!(&short.decided, &long.decided);
            prop_assert_eq!(short.core.counters(), long.core.counters());
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
    driver.core.no_short_cut();
    driver.read(0, false);
    assert_eq!(driver.taken, 2, "while a flight is recorded");
    assert_eq!(driver.core.hit(BlockKey::new(FileId(7), 0), DeviceId(0), Caller::default()), None::<FrameId>);
}
