//! Laws of partitions of contexts, with any default policy: only its own partition where nothing is
//! detected; blocks that move; a default partition that starves and comes back; loops that end;
//! prefetched blocks.

use crate::script;
use forebay_core::Rhythm;
use forebay_core::directory::Directory;
use forebay_core::frames::{FETCHING, FIRST_POLICY_LIST, FREE, flag};
use forebay_core::index::Hashed;
use forebay_core::papers::amp::Settings;
use forebay_core::presets::{Build, Replacement as Named};
use forebay_core::replacement::{Arc, Lru, Replacement};
use forebay_core::seams::{Access, Place};
use proptest::prelude::*;

use script::{Script, key};

/// A policy alone.
struct Alone<R> {
    directory: Directory<Hashed>,
    policy: R,
}

impl<R: Replacement> Alone<R> {
    fn new(frames: u32) -> Alone<R> {
        let directory = Directory::new(FIRST_POLICY_LIST + R::LISTS, frames, R::ghosts(frames));
        Alone { directory, policy: R::new(FIRST_POLICY_LIST, frames) }
    }

    fn read(&mut self, block: u32) -> bool {
        let (directory, policy) = (&mut self.directory, &mut self.policy);
        let ghost = match directory.find(key(block)) {
            Some(slot) if !directory.frames.is_ghost(slot) => {
                policy.hit(directory, slot);
                return true;
            }
            ghost => ghost,
        };
        let class = policy.miss(directory, ghost);
        if let Some(ghost) = ghost {
            policy.remove(directory, ghost);
            directory.release(ghost);
        }
        if directory.frames.len(FREE) == 0 {
            policy.victim(directory, class);
        }
        let slot = directory.assign(key(block), FETCHING).expect("nobody holds a frame");
        directory.frames.clear(slot, flag::ABSENT);
        policy.insert(directory, slot, class);
        false
    }
}

/// Reads by both, of which one knows contexts, all of them default ones.
struct Both<'a>(u32, &'a [u32]);

impl Build for Both<'_> {
    type Output = ();

    fn with<R: Replacement + Send + 'static>(self) {
        let Both(frames, blocks) = self;
        let (mut alone, mut amp) = (Alone::<R>::new(frames), Script::<R>::new(frames, Settings::AMP));
        for (now, &block) in (1..).zip(blocks) {
            let hit = alone.read(block);
            assert_eq!(amp.read(block, Access { now, ..Access::default() }), hit, "read {now}");
            amp.check();
        }
        let held = |block: &u32| alone.directory.find(key(*block)).filter(|&s| !alone.directory.frames.is_ghost(s));
        let residents: Vec<u32> = (0..200).filter(|block| held(block).is_some()).collect();
        assert!(amp.parts()[0].iter().copied().eq(residents));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(500) })]

    #[test]
    fn without_loops_it_is_the_default_policy_to_the_last_eviction(
        policy in proptest::sample::select(Named::ALL),
        frames in 1..50u32,
        blocks in proptest::collection::vec((0..200u32, 0..200u32).prop_map(|(a, b)| a.min(b)), 0..500),
    ) {
        policy.build(Both(frames, &blocks));
    }

    /// With any reads, prefetches and holds of any contexts: each frame is somewhere, and no held
    /// frame goes.
    #[test]
    fn frames_are_conserved(
        policy in proptest::sample::select(Named::ALL),
        frames in 1..30u32,
        steps in proptest::collection::vec((0..60u32, 0..6u8, 0..10u8), 0..400),
    ) {
        policy.build(Anything(frames, &steps));
    }
}

struct Anything<'a>(u32, &'a [(u32, u8, u8)]);

impl Build for Anything<'_> {
    type Output = ();

    fn with<R: Replacement + Send + 'static>(self) {
        let Anything(frames, steps) = self;
        let mut script = Script::<R>::new(frames, Settings { partitions: 3, ..Settings::AMP });
        let mut held = Vec::new();
        for &(block, whose, what) in steps {
            let place = match whose {
                0 | 1 => Place::Default,
                2 => Place::Dropped,
                number => Place::Loop(number - 3),
            };
            let rhythm = Rhythm { size: 20, time: u64::from(whose) * 9, deviation: 2 };
            let access = Access { place, rhythm, now: script.now + 1 };
            match what {
                0..6 => drop(script.read(block, access)),
                6 | 7 if script.resident(block).is_none() => drop(script.prefetch(block, access)),
                8 if !script.is_unread(block) && script.hold(block) => held.push(block),
                9 => held.pop().into_iter().for_each(|block| script.let_go(block)),
                _ => {}
            }
            script.check();
            assert!(held.iter().all(|&block| script.resident(block).is_some()));
        }
    }
}

fn looping(number: u8, size: u32, time: u64, now: u64) -> Access {
    Access { place: Place::Loop(number), rhythm: Rhythm { size, time, deviation: 0 }, now }
}

fn sizes<R: Replacement + Send + 'static>(script: &Script<R>) -> Vec<usize> {
    script.parts().iter().map(std::collections::BTreeSet::len).collect()
}

/// "They are simply moved among the partitions and the partition sizes adjusted accordingly"
/// (§3.2).
#[test]
fn blocks_go_to_whoever_uses_them() {
    let mut script = Script::<Arc>::new(4, Settings::AMP);
    for block in 0..4 {
        script.read(block, Access { now: script.now + 1, ..Access::default() });
    }
    assert_eq!(sizes(&script)[..4], [4, 0, 0, 0]);
    assert!(script.read(1, looping(1, 9, 100, 5)));
    assert!(script.read(2, looping(0, 9, 100, 6)));
    assert_eq!(sizes(&script)[..4], [2, 0, 1, 1]);
    assert!(script.read(2, looping(1, 9, 100, 7)));
    assert_eq!(sizes(&script)[..4], [2, 0, 0, 2]);
    assert!(script.read(2, Access { now: 8, ..Access::default() }));
    assert_eq!(sizes(&script)[..4], [3, 0, 0, 1]);
    // It has been used before: to ARC, too, that is a hit, and the block one of T2. The others were
    // read once.
    assert_eq!((script.list(FIRST_POLICY_LIST), script.list(FIRST_POLICY_LIST + 1)), (vec![3, 0], vec![2]));
    // A one-shot context takes nothing from others.
    for block in [1, 2] {
        assert!(script.read(block, Access { place: Place::Dropped, now: script.now + 1, ..Access::default() }));
    }
    assert_eq!(sizes(&script)[..4], [3, 0, 0, 1]);
}

/// One-shot blocks have the frames that were free, and after that the one that they drop; they cost
/// no other partition more.
#[test]
fn what_is_read_once_goes_first() {
    let mut script = Script::<Lru>::new(10, Settings::AMP);
    let once = |now| Access { place: Place::Dropped, now, ..Access::default() };
    for block in 0..8 {
        script.read(block, Access { now: script.now + 1, ..Access::default() });
    }
    for block in 100..200 {
        script.read(block, once(script.now + 1));
        assert_eq!(sizes(&script)[0], 8);
    }
    // A context that needs frames has those first.
    for block in 8..10 {
        script.read(block, Access { now: script.now + 1, ..Access::default() });
    }
    assert_eq!(sizes(&script)[..2], [10, 0]);
}

/// A loop may drive the default partition out altogether. Its ghosts bring it back when its blocks
/// are wanted again.
#[test]
fn a_starved_default_partition_comes_back() {
    fn starve<R: Replacement + Send + 'static>() {
        let mut script = Script::<R>::new(100, Settings::AMP);
        for block in 0..150 {
            script.read(block, Access { now: script.now + 1, ..Access::default() });
        }
        for nth in 0..20_000 {
            script.read(1000 + nth % 110, looping(0, 110, 110, script.now + 1));
        }
        let starved = sizes(&script)[0];
        assert!(starved < 20, "{starved} frames are left beside a loop that wants more than there are");
        // Each read of the loop against one of fifty other blocks: these are worth more frames by
        // far.
        for nth in 0..20_000 {
            script.read(1000 + nth % 110, looping(0, 110, 220, script.now + 1));
            script.read(nth % 50, Access { now: script.now + 1, ..Access::default() });
        }
        let back = sizes(&script)[0];
        assert!(back > 40, "the default partition is back at {back} of the 50 that it needs");
        script.check();
    }
    starve::<Arc>();
    starve::<Lru>();
}

/// A loop that has ended, or whose number another one got, leaves nothing behind that others need.
#[test]
fn loops_that_end_give_their_frames_back() {
    let mut script = Script::<Arc>::new(100, Settings::AMP);
    for nth in 0..1000 {
        script.read(1000 + nth % 60, looping(3, 60, 60, script.now + 1));
    }
    assert_eq!(sizes(&script)[5], 60);
    // Another one gets its number, a third one works beside it.
    for nth in 0..400 {
        script.read(2000 + nth % 30, looping(3, 30, 60, script.now + 1));
        script.read(3000 + nth % 60, Access { now: script.now + 1, ..Access::default() });
    }
    let now = script.parts();
    assert!(now[5].iter().all(|block| (2000..2030).contains(block)), "{:?}", now[5]);
    assert_eq!((now[0].len(), now[5].len()), (60, 30), "both have what they need");
}

/// A loop gives up its prefetched, unread blocks last: an MRU list by itself would do the opposite.
#[test]
fn what_is_fetched_ahead_is_read_before_it_goes() {
    let mut script = Script::<Arc>::new(20, Settings::AMP);
    for round in 0..10 {
        for block in (0..40).step_by(4) {
            for ahead in block..block + 4 {
                if script.resident(ahead).is_none() {
                    script.prefetch(ahead, looping(0, 40, 40, script.now));
                }
            }
            for wanted in block..block + 4 {
                assert!(script.read(wanted, looping(0, 40, 40, script.now + 1)), "{wanted} in round {round}");
            }
        }
    }
    // Blocks that the loop has read once are as good as those that it holds anyway: no block that a
    // one-shot context fetches goes unread, either.
    let once = |now| Access { place: Place::Dropped, now, ..Access::default() };
    for block in (100..200).step_by(4) {
        for ahead in block..block + 4 {
            script.prefetch(ahead, once(script.now));
        }
        for wanted in block..block + 4 {
            assert!(script.read(wanted, once(script.now + 1)), "{wanted}");
        }
    }
}
