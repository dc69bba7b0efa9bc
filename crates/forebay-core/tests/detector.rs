//! The access pattern detector (AMP Fig. 3): what it says of contexts, and its laws.

use forebay_core::context::recency::{Mean, ONE, Sampling};
use forebay_core::context::{Access, Caller, Detection, Detector, Learnt, Pattern, Place, Rhythm, Settings};
use forebay_core::{BlockKey, ContextId, FileId, HandlerId};

const T: u32 = ONE / 10 * 4;

fn by_recency(sampling: Sampling, mean: Mean) -> Settings {
    Settings { detection: Detection::Recency { threshold: T, sampling, mean }, ..Settings::AMP }
}

/// A context accesses a block of a file of its own.
fn access(detector: &mut Detector, context: u32, block: u32) -> Access {
    let caller = Caller { handler: HandlerId(1), context: ContextId(context) };
    detector.access(caller, BlockKey::new(FileId(context), block))
}

fn of(detector: &Detector, context: u32) -> Learnt {
    detector.learnt().find(|learnt| learnt.id == context).unwrap()
}

fn random(state: &mut u64, below: u32) -> u32 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    ((*state >> 33) % u64::from(below)) as u32
}

/// A loop, a random choice, what was read lately, and a scan, side by side.
#[test]
fn every_pattern_is_told() {
    for sampling in [Sampling::Off, Sampling::Fixed(4), Sampling::Adaptive(256)] {
        let mut detector = Detector::new(by_recency(sampling, Mean::Periodic)).over(2000);
        let mut state = 1;
        for round in 0..40_000u32 {
            access(&mut detector, 1, round % 1000);
            access(&mut detector, 2, random(&mut state, 1000));
            access(&mut detector, 3, round / 8 + random(&mut state, 4));
            access(&mut detector, 4, round);
        }
        let patterns = [1, 2, 3, 4].map(|context| of(&detector, context).pattern);
        let expected = [Pattern::Looping, Pattern::Other, Pattern::Clustered, Pattern::OneShot];
        assert_eq!(patterns, expected, "{sampling:?}");
        let places = [1, 2, 3, 4].map(|context| access(&mut detector, context, 0).place);
        assert_eq!(places, [Place::Loop(0), Place::Default, Place::Default, Place::Dropped], "{sampling:?}");
        let Rhythm { size, time, deviation } = of(&detector, 1).rhythm;
        assert!((850..=1150).contains(&size), "{sampling:?}: {size} blocks in a round of a thousand");
        assert_eq!((time, deviation), (4000, 0), "{sampling:?}");
    }
}
