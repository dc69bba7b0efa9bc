//! Lists as logs against linked lists: with any policy the same hits, and after every step the same
//! blocks in the same order.

use crate::cycle::{Cycle, key};
use forebay_core::directory::{Directory, Layout};
use forebay_core::frames::{FETCHING, FIRST_POLICY_LIST, ListId};
use forebay_core::index::Dense;
use forebay_core::logs::{Logged, Logs};
use forebay_core::presets::{self, Build};
use forebay_core::replacement::{Arc, Lru, Replacement, TwoQ};
use forebay_core::slab::Slab;
use proptest::prelude::*;

/// A cache whose lists are logs, of so many entries or as many as usual.
pub(crate) fn logged<R: Replacement>(capacity: u32, entries: Option<u32>) -> Cycle<R, Logged> {
    let (lists, ghosts, bits) = (FIRST_POLICY_LIST + R::LISTS, R::ghosts(capacity), R::LOGGED.unwrap_or(4));
    let logs = match entries {
        None => Logs::new(lists, capacity, ghosts, bits),
        Some(entries) => Logs::with_entries(lists, capacity, ghosts, bits, entries),
    };
    Cycle::over(Directory::logged(logs.expect("a small cache has room")), capacity)
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Read(u32),
    Forget(u32),
    Resize(u32),
}

/// Capacity, entries of the log, and steps over somewhat more blocks than frames, lower ones more
/// often.
fn workload() -> impl Strategy<Value = (u32, u32, Vec<Step>)> {
    (1u32..=40, 0u32..400).prop_flat_map(|(capacity, entries)| {
        let block = (0..capacity * 3 + 2, 0..capacity * 3 + 2).prop_map(|(a, b)| a.min(b));
        let step = (block, 0u32..100, 1..=capacity).prop_map(|(block, dice, size)| match dice {
            0..95 => Step::Read(block),
            95..99 => Step::Forget(block),
            _ => Step::Resize(size),
        });
        (Just(capacity), Just(entries), proptest::collection::vec(step, 0..600))
    })
}

/// The policy's lists, front to back, with their blocks' counts and notes.
fn lists<R: Replacement, I: Layout>(cycle: &Cycle<R, I>) -> Vec<Vec<(u32, u8, u64)>> {
    let frames = &cycle.directory.frames;
    let block = |slot| (frames.key(slot).block(), frames.count(slot), frames.note(slot));
    let list = |list| cycle.list(list).into_iter().map(block).collect();
    (FIRST_POLICY_LIST..FIRST_POLICY_LIST + R::LISTS).map(|number| list(ListId(number))).collect()
}

/// Runs one policy over both.
fn agree<R: Replacement>(capacity: u32, entries: u32, steps: &[Step]) {
    let mut linked = Cycle::<R, Dense>::new(capacity);
    let mut logged = logged::<R>(capacity, Some(entries));
    for (at, &step) in steps.iter().enumerate() {
        match step {
            Step::Read(block) => assert_eq!(logged.read(key(block)), linked.read(key(block)), "step {at}, {step:?}"),
            Step::Forget(block) => {
                forget(&mut linked, block);
                forget(&mut logged, block);
            }
            Step::Resize(size) => {
                linked.policy.resize(size);
                logged.policy.resize(size);
            }
        }
        assert_eq!(lists(&logged), lists(&linked), "step {at}, {step:?}");
        let ends = (FIRST_POLICY_LIST..FIRST_POLICY_LIST + R::LISTS).map(ListId);
        for list in ends {
            let frames = &logged.directory.frames;
            let backwards = std::iter::successors(frames.back(list), |&slot| frames.towards_front(slot));
            assert!(logged.list(list).into_iter().rev().eq(backwards), "{list:?} reads the same from both ends");
        }
        logged.directory.frames.check();
    }
}

fn forget<R: Replacement, I: Layout>(cycle: &mut Cycle<R, I>, block: u32) {
    if let Some(slot) = cycle.resident(key(block)) {
        cycle.policy.remove(&mut cycle.directory, slot);
        cycle.directory.release(slot);
    }
}

/// [`agree`] for any policy.
struct Agree<'a>(u32, u32, &'a [Step]);

impl Build for Agree<'_> {
    type Output = ();

    fn with<R: Replacement + Send + 'static>(self) {
        agree::<R>(self.0, self.1, self.2);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Logs of hardly more entries than slots close ranks often.
    #[test]
    fn logs_are_linked_lists((capacity, entries, steps) in workload()) {
        for policy in presets::Replacement::ALL {
            policy.build(Agree(capacity, entries, &steps));
        }
    }
}

/// Without words, which every block of the trace has: less than 20 bytes for a slot of the slab.
#[test]
fn logs_take_less_than_linked_lists() {
    fn bytes<R: Replacement>() -> f64 {
        const FRAMES: u32 = 64_000;
        logged::<R>(FRAMES, None).directory.frames.footprint() as f64 / f64::from(FRAMES)
    }
    assert_eq!([bytes::<Lru>(), bytes::<TwoQ>(), bytes::<Arc>()], [16.5, 26.25, 36.0]);
}

/// A word has four bits for the list, those of the count, and a position.
#[test]
fn what_has_no_room_in_a_word_is_refused() {
    let lru = |frames| Logs::new(FIRST_POLICY_LIST + Lru::LISTS, frames, 0, 0).is_some();
    assert!(lru(1 << 20) && !lru((1 << 26) + 1) && !lru(u32::MAX));
    assert!(Logs::new(17, 1, 0, 0).is_none(), "a list too many");
    assert!(Logs::new(7, 1, 0, 28).is_none(), "no room for a position");
    assert!(Logs::new(7, u32::MAX, u32::MAX, 0).is_none());
}

/// Blocks come in any order, and one that never came may be looked for.
#[test]
fn the_first_block_need_not_have_the_first_number() {
    let mut cache = logged::<Lru>(2, None);
    assert_eq!(cache.directory.find(key(u32::MAX)), None);
    for block in [70_000, 3, 70_000, 9] {
        cache.read(key(block));
    }
    let held = [70_000, 9, 3].map(|block| cache.directory.find(key(block)).is_some());
    assert_eq!(held, [true, true, false]);
    assert!(cache.directory.assign(key(5), FETCHING).is_none(), "no frame is free");
    assert_eq!(cache.directory.find(key(5)), None);
}
