//! Loops have partitions where these pay, and the default policy has all where they don't: never
//! much worse than the better of the two.

use crate::script;
use forebay_core::auto::duel::Views;
use forebay_core::papers::amp::{Detector, Settings};
use forebay_core::presets::Contexts;
use forebay_core::replacement::Arc;
use forebay_core::seams::{Access, Place};
use forebay_core::{Caller, ContextId, HandlerId};

use script::{Script, callers, key};

const FRAMES: u32 = 2048;
/// With partitions or without.
const TWO: Contexts = Contexts { views: Some(Views::TWO), ..Contexts::JOINED };
/// Or as one loop.
const THREE: Contexts = Contexts::JOINED;

/// A loop that is half as large again as memory: the default policy never hits it.
fn large_loop(rounds: u32) -> impl Iterator<Item = (u32, u32)> {
    (0..rounds).flat_map(|_| (0..FRAMES * 3 / 2).map(|block| (1, block)))
}

/// A loop that goes on elsewhere after every sixth round. It would fit, but for the blocks that it
/// has left: those are swept only after some rounds.
fn wandering_loop(places: u32) -> impl Iterator<Item = (u32, u32)> {
    const SIZE: u32 = FRAMES * 3 / 4;
    (0..places)
        .flat_map(|place| (0..6).flat_map(move |_| (0..SIZE).map(move |block| (2, 10_000 + place * SIZE + block))))
}

/// Misses with partitions, without, and with a duel; and whether the default policy has won the
/// duel in the end.
fn misses(references: impl Iterator<Item = (u32, u32)>) -> ([u32; 3], bool) {
    let amp = || Script::<Arc>::new(FRAMES, Settings::AMP);
    let mut caches = [amp(), amp(), Script::<Arc>::new(FRAMES, TWO)];
    let mut detector = callers(Detector::new(Settings::AMP).over(FRAMES));
    let mut misses = [0; 3];
    for (context, block) in references {
        let caller = Caller { handler: HandlerId(context), context: ContextId(context) };
        let access = detector.access(caller, key(block));
        let plain = Access { place: Place::Default, ..access };
        for ((cache, access), misses) in caches.iter_mut().zip([access, plain, access]).zip(&mut misses) {
            *misses += u32::from(!cache.read(block, access));
        }
    }
    caches.iter().for_each(|cache| cache.check());
    (misses, caches[2].segments.duel(0).is_some_and(|duel| duel.lost && !duel.whole))
}

#[test]
fn a_loop_that_is_held_by_half_keeps_its_partition() {
    let ([with, without, duel], lost) = misses(large_loop(40));
    assert!(with * 2 < without, "{with}, {without}");
    assert!(duel == with && !lost, "{duel} of {with}");
}

#[test]
fn a_loop_that_wanders_loses_it() {
    let ([with, without, duel], lost) = misses(wandering_loop(30));
    assert!(without * 11 < with * 10, "{with}, {without}");
    assert!(lost && duel * 20 < without * 21, "{duel} of {with}, {without}");
}

/// A view that has lost can win again.
#[test]
fn it_is_never_decided_for_good() {
    let references = || wandering_loop(20).chain(large_loop(60)).chain(wandering_loop(20));
    let ([with, without, duel], _) = misses(references());
    assert!(duel * 10 < with.min(without) * 10 + with.abs_diff(without), "{duel} of {with}, {without}");
    assert!(!misses(wandering_loop(20).chain(large_loop(60))).1);
    assert!(misses(references()).1);
}

/// The third view takes its time to decide, and does not miss more for that.
#[test]
fn as_one_loop_a_loop_is_held_as_well() {
    let mut cache = Script::<Arc>::new(FRAMES, THREE);
    let mut detector = callers(Detector::new(Settings::AMP).over(FRAMES));
    let missed = large_loop(40).filter(|&(context, block)| {
        let caller = Caller { handler: HandlerId(0), context: ContextId(context) };
        !cache.read(block, detector.access(caller, key(block)))
    });
    let (missed, ([with, without, _], _)) = (missed.count() as u32, misses(large_loop(40)));
    assert!(missed * 10 < with * 11, "{missed}, {with} with partitions, {without} without");
}

/// A set half as large again as memory is read again and again, each time by another context, as by
/// the plans of a database.
fn shared_loop(rounds: u32) -> impl Iterator<Item = (u32, u32)> {
    (0..rounds).flat_map(|round| (0..FRAMES * 3 / 2).map(move |block| (round, block)))
}

#[test]
fn a_loop_that_contexts_share_is_nobodys_partition() {
    let mut caches = [Settings::AMP.into(), TWO, THREE].map(|settings| Script::<Arc>::new(FRAMES, settings));
    let mut detector = callers(Detector::new(Settings::AMP).over(FRAMES));
    let mut misses = [0; 4];
    let mut plain = Script::<Arc>::new(FRAMES, Settings::AMP);
    for (context, block) in shared_loop(40) {
        let caller = Caller { handler: HandlerId(0), context: ContextId(context) };
        let access = detector.access(caller, key(block));
        for (cache, misses) in caches.iter_mut().zip(&mut misses) {
            *misses += u32::from(!cache.read(block, access));
        }
        misses[3] += u32::from(!plain.read(block, Access { place: Place::Default, ..access }));
    }
    caches.iter().for_each(|cache| cache.check());
    let [amp, two, three, plain] = misses;
    assert_eq!(caches[2].segments.duel(0).map(|duel| duel.whole), Some(true), "{misses:?}");
    assert!(three * 2 < amp.min(two).min(plain), "{three} of {amp}, {two} and {plain}");
}

/// Phases in which partitions pay and in which they don't: if all misses are alike the last one
/// decides, else the one whose misses cost.
#[test]
fn what_a_miss_costs_decides() {
    let view = |references: Vec<(u32, u32)>, dear: Option<u32>| {
        let mut cache = Script::<Arc>::new(FRAMES, TWO);
        let mut detector = callers(Detector::new(Settings::AMP).over(FRAMES));
        for (context, block) in references {
            let caller = Caller { handler: HandlerId(context), context: ContextId(context) };
            let switch = if dear == Some(context) { 100 } else { 0 };
            cache.read_at(block, detector.access(caller, key(block)), switch);
        }
        cache.check();
        cache.segments.duel(0).map(|duel| duel.lost)
    };
    let (large, wandering) = (Some(1), Some(2));
    let ends_large = || wandering_loop(20).chain(large_loop(20)).collect();
    assert_eq!([None, wandering].map(|dear| view(ends_large(), dear)), [false, true].map(Some));
    let ends_wandering = || large_loop(20).chain(wandering_loop(40)).collect();
    assert_eq!([None, large].map(|dear| view(ends_wandering(), dear)), [true, false].map(Some));
}

/// One-shot blocks go at once while loops have no partitions, if so chosen.
#[test]
fn one_shots_are_dropped_whatever_the_view() {
    for (drops, one_shot) in [(true, 100), (false, 0)] {
        let mut cache = Script::<Arc>::new(FRAMES, Contexts { views: Some(Views { drops, ..Views::ALL }), ..THREE });
        for (now, block) in (1..).zip(0..100) {
            cache.read(block, Access { place: Place::Dropped, now, ..Access::default() });
        }
        assert_eq!(cache.segments.duel(0).map(|duel| duel.lost && !duel.whole), Some(true));
        let parts: Vec<u32> =
            cache.segments.context_parts(0).expect("contexts").sizes(&cache.directory.frames).collect();
        assert_eq!(parts[..2], [100 - one_shot, one_shot]);
    }
}

/// Before anything is known of contexts the third view has the default policy's misses.
#[test]
fn who_begins_with_the_default_policy_loses_nothing_by_a_loop_that_wanders() {
    let mut caches = [Settings::AMP.into(), THREE].map(|settings| Script::<Arc>::new(FRAMES, settings));
    let mut detector = callers(Detector::new(Settings::AMP).over(FRAMES));
    let mut misses = [0; 2];
    for (context, block) in wandering_loop(30) {
        let caller = Caller { handler: HandlerId(context), context: ContextId(context) };
        let access = detector.access(caller, key(block));
        misses[0] += u32::from(!caches[0].read(block, Access { place: Place::Default, ..access }));
        misses[1] += u32::from(!caches[1].read(block, access));
    }
    assert!(misses[1] * 50 <= misses[0] * 51, "{misses:?}");
}
