//! The access pattern detector (AMP Fig. 3): its verdicts on contexts, its laws, and a twin that
//! keeps plain lists.

use std::collections::BTreeSet;

use crate::script::callers;
use forebay_core::papers::amp::recency::{Mean, ONE, Sampling};
use forebay_core::papers::amp::{Detection, Detector, MOST_HINTS, Settings};
use forebay_core::partition::Callers;
use forebay_core::seams::{Access, By, Place};
use forebay_core::{BlockKey, ContextId, FileId, HandlerId};
use forebay_core::{Caller, Hint, Learnt, Pattern, Rhythm};
use proptest::prelude::*;

use twin::{PARTITIONS, REVIEW, Twin};

mod twin;

const T: u32 = ONE / 10 * 4;

fn by_recency(sampling: Sampling, mean: Mean) -> Settings {
    Settings { detection: Detection::Recency { threshold: T, sampling, mean }, ..Settings::AMP }
}

fn exact() -> Settings {
    by_recency(Sampling::Off, Mean::Periodic)
}

/// A context accesses a block of a file.
fn shared(detector: &mut Callers, context: u32, file: u32, block: u32) -> Access {
    let caller = Caller { handler: HandlerId(1), context: ContextId(context) };
    detector.access(caller, BlockKey::new(FileId(file), block))
}

/// A context accesses a block of a file of its own.
fn access(detector: &mut Callers, context: u32, block: u32) -> Access {
    shared(detector, context, context, block)
}

fn of(detector: &Callers, context: u32) -> Learnt {
    detector.learnt().into_iter().find(|learnt| learnt.id == context).unwrap()
}

fn pattern(detector: &Callers, context: u32) -> Pattern {
    of(detector, context).pattern
}

fn random(state: &mut u64, below: u32) -> u32 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    ((*state >> 33) % u64::from(below)) as u32
}

/// A loop, random reads, recently read blocks, and a scan, side by side.
#[test]
fn every_pattern_is_told() {
    for sampling in [Sampling::Off, Sampling::Fixed(4), Sampling::Adaptive(256)] {
        let mut detector = callers(Detector::new(by_recency(sampling, Mean::Periodic)).over(2000));
        let mut state = 1;
        for round in 0..40_000u32 {
            access(&mut detector, 1, round % 1000);
            access(&mut detector, 2, random(&mut state, 1000));
            access(&mut detector, 3, round / 8 + random(&mut state, 4));
            access(&mut detector, 4, round);
        }
        let patterns = [1, 2, 3, 4].map(|context| pattern(&detector, context));
        let expected = [Pattern::Looping, Pattern::Other, Pattern::Clustered, Pattern::OneShot];
        assert_eq!(patterns, expected, "{sampling:?}");
        let accesses: Vec<u64> = detector.learnt().into_iter().map(|learnt| learnt.accesses).collect();
        assert_eq!(accesses, [40_000; 4], "{sampling:?}");
        // A block that the scan has not read: the first one that is read again ends a one-shot.
        let places = [1, 2, 3, 4].map(|context| access(&mut detector, context, context / 4 * 50_000).place);
        assert_eq!(places, [Place::Loop(0), Place::Default, Place::Default, Place::Dropped], "{sampling:?}");
        assert_eq!(of(&detector, 1).rhythm, Rhythm { size: 1000, time: 4000, deviation: 0 }, "{sampling:?}");
    }
}

/// The continuous detector does not wait for a review.
#[test]
fn a_continuous_detector_tells_at_once() {
    let settings = Settings { review: 1_000_000, ..by_recency(Sampling::Off, Mean::Continuous(ONE / 64)) };
    let mut detector = callers(Detector::new(settings));
    (0..300).for_each(|at| _ = access(&mut detector, 1, at % 100));
    assert_eq!((pattern(&detector, 1), of(&detector, 1).partition), (Pattern::Looping, None), "no round is known");
    let mut detector = callers(Detector::new(Settings { review: 250, ..settings }));
    (0..600).for_each(|at| _ = access(&mut detector, 1, at % 100));
    assert_eq!(access(&mut detector, 1, 0).place, Place::Loop(0));
    (0..600).for_each(|at| _ = access(&mut detector, 1, 1000 + at / 20 + at % 2));
    assert_eq!(pattern(&detector, 1), Pattern::Clustered);
}

/// "Accessed again", by any context: a context that reads new blocks only is no one-shot if another
/// reads them after it.
#[test]
fn blocks_that_another_comes_back_to_are_not_one_shot() {
    for sampling in [Sampling::Off, Sampling::Adaptive(256)] {
        let mut detector = callers(Detector::new(by_recency(sampling, Mean::Periodic)).over(1000));
        for round in 0..20_000u32 {
            shared(&mut detector, 1, 1, round);
            if let Some(earlier) = round.checked_sub(300) {
                shared(&mut detector, 2, 1, earlier);
            }
        }
        // No context reads the second one's blocks again.
        let patterns = [1, 2].map(|context| pattern(&detector, context));
        assert_eq!(patterns, [Pattern::Other, Pattern::OneShot], "{sampling:?}");
        // From now on no context reads the first one's again, either.
        (0..20_000).for_each(|at| _ = shared(&mut detector, 1, 1, 100_000 + at));
        assert_eq!(pattern(&detector, 1), Pattern::OneShot, "{sampling:?}");
    }
}

/// A long time is twice the cache: a loop longer than that is one-shot in its first round only.
#[test]
fn a_very_long_loop_is_taken_for_one_shot_once() {
    let mut detector = callers(Detector::new(Settings::AMP).over(1000));
    (0..10_000).for_each(|at| _ = access(&mut detector, 1, at));
    assert_eq!(access(&mut detector, 1, 10_000).place, Place::Dropped);
    let places: Vec<Place> = (0..10_000).map(|at| access(&mut detector, 1, at).place).collect();
    let dropped = places.iter().position(|&place| place != Place::Dropped).unwrap();
    assert!(dropped < 100, "{dropped} blocks of the next round were dropped");
    assert_eq!(access(&mut detector, 1, 0).place, Place::Loop(0));
    // In a cache that it fits in it never is.
    let mut detector = callers(Detector::new(Settings::AMP).over(10_000));
    (0..10_000).for_each(|at| assert_eq!(access(&mut detector, 1, at).place, Place::Default));
}

/// After a scan the sample is thin; a loop that follows it is seen nevertheless.
#[test]
fn a_sample_recovers_from_a_scan() {
    let mut detector = callers(Detector::new(Settings::AMP).over(1000));
    (0..100_000).for_each(|at| _ = access(&mut detector, 1, at));
    assert_eq!(pattern(&detector, 1), Pattern::OneShot);
    (0..500_000).for_each(|at| _ = access(&mut detector, 1, at % 500));
    assert_eq!(pattern(&detector, 1), Pattern::Looping);
    assert_eq!(of(&detector, 1).rhythm, Rhythm { size: 500, time: 500, deviation: 0 });
}

/// The few blocks that take most accesses are mostly not among those that are watched, and the
/// others form a loop: the watched ones must not decide.
#[test]
fn a_watch_that_lacks_what_matters_decides_nothing() {
    for seed in 0..20 {
        let mut detector = callers(Detector::new(Settings::AMP).over(1000));
        let mut state = seed;
        for at in 0..60_000 {
            access(&mut detector, 1, at % 2500);
            (0..2).for_each(|_| _ = access(&mut detector, 1, 10_000 + 7 * random(&mut state, 60)));
            let looping = at > 10_000 && at % 100 == 0 && pattern(&detector, 1) == Pattern::Looping;
            assert!(!looping, "seed {seed}, access {at}");
        }
    }
}

/// By file, by handler: the detector tells accesses apart by the key that is asked for.
#[test]
fn contexts_are_what_they_are_told_apart_by() {
    let ids = |by| {
        let mut detector = callers(Detector::new(Settings { by, ..exact() }));
        for (handler, context, file) in [(1, 5, 9), (2, 5, 8), (1, 6, 9)] {
            let caller = Caller { handler: HandlerId(handler), context: ContextId(context) };
            detector.access(caller, BlockKey::new(FileId(file), 0));
        }
        detector.learnt().into_iter().map(|learnt| (learnt.id, learnt.accesses)).collect::<Vec<_>>()
    };
    assert_eq!(ids(By::Context), [(5, 2), (6, 1)]);
    assert_eq!(ids(By::File), [(8, 1), (9, 2)]);
    assert_eq!(ids(By::Handler), [(1, 2), (2, 1)]);
}

/// The baselines have AMP's cache: the rhythm of a loop and the number of a partition.
#[test]
fn baselines_have_partitions() {
    for settings in [Settings::PCC, Settings::DEAR, Settings::UBM] {
        // One round and a part of the next in an interval of DEAR.
        let mut detector = callers(Detector::new(settings));
        for round in 0..20_000u32 {
            let caller = Caller { handler: HandlerId(3), context: ContextId(3) };
            detector.access(caller, BlockKey::new(FileId(3), round % 600));
        }
        let learnt = of(&detector, 3);
        assert_eq!((learnt.pattern, learnt.partition), (Pattern::Looping, Some(0)), "{settings:?}");
        assert_eq!(learnt.rhythm, Rhythm { size: 600, time: 600, deviation: 0 }, "{settings:?}");
    }
}

const LOOP: Rhythm = Rhythm { size: 700, time: 800, deviation: 9 };

/// "AMP can use this information immediately in subsequent runs without requiring a detection
/// phase."
#[test]
fn a_hinted_context_has_its_pattern_from_its_first_access_on() {
    let mut detector = callers(Detector::new(Settings::AMP));
    let hint = |pattern| Hint::of(pattern, if pattern == Pattern::Looping { LOOP } else { Rhythm::default() });
    detector.hint(ContextId(1), hint(Pattern::Looping));
    detector.hint(ContextId(2), hint(Pattern::OneShot));
    detector.hint(ContextId(3), hint(Pattern::Clustered));
    let first = access(&mut detector, 1, 0);
    assert_eq!(first, Access { place: Place::Loop(0), rhythm: LOOP, now: 1 });
    assert_eq!(access(&mut detector, 2, 0).place, Place::Dropped);
    assert_eq!(access(&mut detector, 3, 0).place, Place::Default);
    // Nothing that is seen speaks against them: a scan, and the first round of a loop.
    for at in 1..600 {
        access(&mut detector, 1, at);
        access(&mut detector, 2, at);
    }
    assert_eq!(
        [1, 2, 3].map(|context| pattern(&detector, context)),
        [Pattern::Looping, Pattern::OneShot, Pattern::Clustered]
    );
    // Later accesses count more than the hints: the loop is none, and the scan comes back.
    let mut state = 7;
    for at in 0..5000 {
        access(&mut detector, 1, random(&mut state, 500));
        access(&mut detector, 2, at % 500);
    }
    assert_eq!([1, 2].map(|context| pattern(&detector, context)), [Pattern::Other, Pattern::Looping]);
    // And a hint that comes late does not overrule it.
    detector.hint(ContextId(1), hint(Pattern::OneShot));
    assert_eq!(access(&mut detector, 1, 1).place, Place::Default);
    let given: Vec<(u32, Pattern)> =
        detector.hints().into_iter().map(|(context, hint)| (context.0, hint.pattern)).collect();
    assert_eq!(given, [(2, Pattern::Looping), (3, Pattern::Clustered)], "what is other is nothing to hint at");
}

/// A hint to a context that is known, but of which nothing is known yet.
#[test]
fn a_hint_in_time_is_taken() {
    let mut detector = callers(Detector::new(Settings::AMP));
    (0..40).for_each(|at| assert_eq!(access(&mut detector, 1, at).place, Place::Default));
    detector.hint(ContextId(1), Hint::of(Pattern::Looping, LOOP));
    assert_eq!(access(&mut detector, 1, 40).place, Place::Loop(0));
}

/// Another run knows what one has learnt; hints of contexts that did not appear are not lost.
#[test]
fn hints_are_given_on() {
    let mut first = callers(Detector::new(exact()));
    first.hint(ContextId(9), Hint::of(Pattern::OneShot, Rhythm::default()));
    (0..5000).for_each(|at| _ = access(&mut first, 4, at % 300));
    let hints: Vec<(ContextId, Hint)> = first.hints().into_iter().collect();
    let looping = Hint::of(Pattern::Looping, Rhythm { size: 300, time: 300, deviation: 0 });
    assert_eq!(hints.iter().map(|(context, _)| context.0).collect::<Vec<_>>(), [4, 9]);
    assert_eq!(hints[0].1, looping);
    let mut second = callers(Detector::new(exact()));
    hints.iter().for_each(|&(context, hint)| second.hint(context, hint));
    assert_eq!(second.hints().into_iter().collect::<Vec<_>>(), hints);
    let first = access(&mut second, 4, 0);
    assert_eq!((first.place, first.rhythm), (Place::Loop(0), looping.rhythm));
    // Files and handlers have other numbers in another run.
    let mut by_file = callers(Detector::new(Settings { by: By::File, ..exact() }));
    by_file.hint(ContextId(4), looping);
    assert_eq!((access(&mut by_file, 4, 0).place, by_file.hints().len()), (Place::Default, 0));
}

/// "An MRU partition for each popular (in terms of unique block count) MRU context, up to a fixed
/// number": a context keeps its number.
#[test]
fn the_largest_loops_have_partitions() {
    let mut detector = callers(Detector::new(Settings { partitions: 3, ..exact() }));
    let round = |detector: &mut Callers, sizes: &[(u32, u32)], times: u32| {
        for at in 0..times {
            sizes.iter().for_each(|&(context, size)| _ = access(detector, context, at % size));
        }
        let numbers = detector.learnt().into_iter().filter_map(|learnt| Some((learnt.id, learnt.partition?)));
        numbers.collect::<Vec<_>>()
    };
    // At the first review, after 333 accesses of each, two are known, and the larger one comes
    // first; then the third.
    assert_eq!(round(&mut detector, &[(1, 100), (2, 200), (3, 300)], 3000), [(1, 1), (2, 0), (3, 2)]);
    // A loop a little larger than the least does not displace it, a much larger one does.
    let four = [(1, 100), (2, 200), (3, 300), (4, 110)];
    assert_eq!(round(&mut detector, &four, 3000), [(1, 1), (2, 0), (3, 2)]);
    let five = [(1, 100), (2, 200), (3, 300), (4, 110), (5, 400)];
    assert_eq!(round(&mut detector, &five, 3000), [(2, 0), (3, 2), (5, 1)]);
    // A loop that has stopped gives way to any.
    assert_eq!(round(&mut detector, &[(1, 100), (2, 200)], 20_000), [(1, 2), (2, 0), (5, 1)]);
    let none = Settings { partitions: 0, ..exact() };
    assert_eq!(round(&mut callers(Detector::new(none)), &four, 3000), []);
}

/// A flood of contexts that come once leaves those that come often, and takes no more memory than
/// there may be.
#[test]
fn a_flood_of_contexts_is_survived() {
    let mut detector = callers(Detector::new(Settings::AMP));
    (0..20_000).for_each(|at| _ = access(&mut detector, 1, at % 1000));
    let most = Detector::most_contexts(By::Context);
    let mut after = 0;
    for id in 0..100_000u32 {
        access(&mut detector, 1000 + id, 0);
        assert!(detector.learnt().len() <= most);
        if id == 10_000 {
            after = detector.footprint();
        }
        if id % 50 == 0 {
            access(&mut detector, 1, id / 50 % 1000);
        }
        if id % 1000 == 0 {
            detector.hint(ContextId(2_000_000 + id), Hint::of(Pattern::Clustered, Rhythm::default()));
        }
    }
    assert_eq!((pattern(&detector, 1), of(&detector, 1).partition), (Pattern::Looping, Some(0)));
    // A hint, with how long streams usually are, has less than 96 bytes.
    assert!(detector.footprint() <= after + 100 * 96, "{} and {after}", detector.footprint());
    for id in 0..2 * MOST_HINTS as u32 {
        detector.hint(ContextId(5_000_000 + id), Hint::of(Pattern::Clustered, Rhythm::default()));
    }
    assert!(detector.hints().len() <= MOST_HINTS + most);
}

/// Many contexts with many blocks each: the lists are as long as they may be, and so is the memory.
#[test]
fn memory_is_bounded() {
    for (settings, most) in [(Settings::AMP, 8 << 20), (Settings::PCC, 64 << 20), (Settings::DEAR, 32 << 20)] {
        let mut detector = callers(Detector::new(settings).over(100_000));
        let mut state = 3;
        for _ in 0..400_000 {
            let id = random(&mut state, 300);
            let caller = Caller { handler: HandlerId(id), context: ContextId(id) };
            detector.access(caller, BlockKey::new(FileId(id), random(&mut state, 1 << 20)));
        }
        assert!(detector.footprint() < most, "{} of {settings:?}", detector.footprint());
    }
}

/// Once its pattern is known, a context is only watched, and takes little.
#[test]
fn a_known_context_takes_little() {
    let mut detector = callers(Detector::new(Settings::AMP).over(100_000));
    for at in 0..50 * 20_000u32 {
        access(&mut detector, at % 50, at / 50 % 1000);
    }
    assert!((0..50).all(|context| pattern(&detector, context) == Pattern::Looping));
    let each = detector.footprint() / 50;
    assert!(each < 5 << 10, "{each} bytes");
}

/// A context that is forgotten leaves its pattern behind.
#[test]
fn a_forgotten_context_is_remembered_by_its_pattern() {
    let mut detector = callers(Detector::new(exact()).over(100));
    (0..1000).for_each(|at| _ = access(&mut detector, 1, at));
    assert_eq!(pattern(&detector, 1), Pattern::OneShot);
    for at in 0..2_000_000 {
        access(&mut detector, 10 + at % 400, random(&mut 5, 10));
    }
    assert!(detector.learnt().into_iter().all(|learnt| learnt.id != 1), "forgotten");
    assert_eq!(access(&mut detector, 1, 5000).place, Place::Dropped, "and known again at once");
}

/// A part of a sequence: a context does something with a file for a while.
#[derive(Clone, Copy, Debug)]
enum Doing {
    Looping(u32),
    Scanning(u32),
    Choosing(u32),
    Lingering(u32),
}

fn doings() -> impl Strategy<Value = Vec<(u32, u32, Doing, u32)>> {
    let doing = prop_oneof![
        (1u32..150).prop_map(Doing::Looping),
        (0u32..3).prop_map(Doing::Scanning),
        (1u32..150).prop_map(Doing::Choosing),
        (1u32..20).prop_map(Doing::Lingering),
    ];
    prop::collection::vec((0u32..5, 0u32..3, doing, 1u32..400), 1..24)
}

/// The accesses of several that go on side by side, three at a time: context, file, block.
fn accesses(doings: &[(u32, u32, Doing, u32)], seed: u64) -> Vec<(u32, u32, u32)> {
    let mut state = seed;
    let mut accesses = Vec::new();
    let mut scanned = 0;
    for together in doings.chunks(3) {
        for at in 0..together.iter().map(|&(.., times)| times).max().unwrap_or(0) {
            for &(context, file, doing, times) in together {
                if at < times {
                    let block = match doing {
                        Doing::Looping(blocks) => at % blocks,
                        Doing::Scanning(from) => {
                            scanned += 1;
                            1000 * (from + 1) + scanned
                        }
                        Doing::Choosing(blocks) => random(&mut state, blocks),
                        Doing::Lingering(by) => at / by + random(&mut state, 3),
                    };
                    accesses.push((context, file, block));
                }
            }
        }
    }
    accesses
}

fn small() -> Settings {
    Settings { review: REVIEW as u32, partitions: PARTITIONS, ..exact() }
}

proptest! {
    #[test]
    fn it_is_its_twin(doings in doings(), seed in 0u64..1000, frames in 1u32..200) {
        let mut detector = callers(Detector::new(small()).over(frames));
        let mut twin = Twin { long: u64::from(frames) * 2, ..Twin::default() };
        for (context, file, block) in accesses(&doings, seed) {
            // Of equals, the one that came first: contexts are numbered as they come.
            if !twin.contexts.contains_key(&context) && twin.contexts.keys().any(|&other| other > context) {
                continue;
            }
            let told = shared(&mut detector, context, file, block);
            prop_assert_eq!(told, twin.access(context, BlockKey::new(FileId(file), block)));
        }
        for learnt in detector.learnt() {
            prop_assert_eq!(learnt.accesses, twin.contexts[&learnt.id].accesses);
            prop_assert_eq!(learnt.blocks, twin.contexts[&learnt.id].list.len() as u64);
        }
    }

    /// Without sampling, the names of blocks and of contexts do not matter.
    #[test]
    fn names_mean_nothing(doings in doings(), seed in 0u64..1000) {
        let mut plain = callers(Detector::new(small()).over(50));
        let mut renamed = callers(Detector::new(small()).over(50));
        for (context, file, block) in accesses(&doings, seed) {
            let one = shared(&mut plain, context, file, block);
            let other = shared(&mut renamed, u32::MAX - context * 977, 7 - file, block.wrapping_mul(0x9e37_79b1));
            prop_assert_eq!(one, other);
        }
    }

    /// Numbers are below `partitions`, each is one context's, and no partition is without a rhythm;
    /// the same accesses give the same answers.
    #[test]
    fn numbers_are_one_contexts_each(doings in doings(), seed in 0u64..1000, sampled in any::<bool>(), number in 0u8..4) {
        let sampling = if sampled { Sampling::Adaptive(32) } else { Sampling::Off };
        let settings = Settings { partitions: number, review: 50, ..by_recency(sampling, Mean::Continuous(ONE / 32)) };
        let [mut detector, mut again] = [(); 2].map(|()| callers(Detector::new(settings).over(50)));
        for (nth, (context, file, block)) in accesses(&doings, seed).into_iter().enumerate() {
            let told = shared(&mut detector, context, file, block);
            prop_assert_eq!(told, shared(&mut again, context, file, block));
            prop_assert_eq!(told.now, nth as u64 + 1);
            let mut numbers = BTreeSet::new();
            for learnt in detector.learnt() {
                if let Some(partition) = learnt.partition {
                    prop_assert!(partition < number && numbers.insert(partition));
                    prop_assert_eq!(learnt.pattern, Pattern::Looping);
                    prop_assert!(learnt.rhythm.size > 0 && learnt.rhythm.time > 0);
                }
            }
            match told.place {
                Place::Loop(partition) => {
                    let learnt = of(&detector, context);
                    prop_assert_eq!((learnt.partition, learnt.rhythm), (Some(partition), told.rhythm));
                }
                _ => prop_assert_eq!(told.rhythm, Rhythm::default()),
            }
        }
    }
}
