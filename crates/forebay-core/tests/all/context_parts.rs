//! AMP's cache manager against a literal transcription of Fig. 4: vectors and linear scans around
//! ARC and LRU, written from the paper and not from the code, with the same seeded draws and a
//! scripted detector. The same residents in the same partitions after every step.

use crate::script;
use std::collections::BTreeSet;

use forebay_core::Rhythm;
use forebay_core::papers::amp::Settings;
use forebay_core::random::Random;
use forebay_core::replacement::{Arc, Lru};
use forebay_core::seams::{Access, Place};
use proptest::prelude::*;

use script::Script;

mod twin;

use twin::{Default, Twin};

#[derive(Clone, Copy, Debug)]
enum Step {
    /// A context reads a block.
    Read {
        context: u8,
        block: u32,
    },
    /// The detector changes its mind.
    Place {
        context: u8,
        place: u8,
        size: u32,
        time: u32,
        deviation: u32,
    },
    Hold(u32),
    LetGo(u32),
}

/// Where blocks of a context go whose place is drawn as a number.
fn place(number: u8) -> Place {
    match number {
        0 => Place::Default,
        1 => Place::Dropped,
        loops => Place::Loop(loops - 2),
    }
}

/// Contexts 0 to 3, of which each keeps to blocks of its own, mostly, and runs through them or back
/// and forth.
fn workload() -> impl Strategy<Value = (u32, u32, Vec<Step>)> {
    let step = (0u8..4, 0u32..40, 0u32..100, (0u8..5, 0u32..40, 0u32..60, 0u32..9)).prop_map(
        |(context, block, dice, (place, size, time, deviation))| match dice {
            0..50 => Step::Read { context, block: u32::from(context) * 10 + block % 13 },
            50..85 => Step::Read { context, block },
            85..90 => Step::Place { context, place, size, time, deviation },
            90..94 => Step::Hold(block),
            _ => Step::LetGo(block),
        },
    );
    (1u32..=20, any::<u32>(), proptest::collection::vec(step, 0..500))
}

/// Runs both side by side.
fn agree<R: forebay_core::replacement::Replacement + Send + 'static, D: Default>(
    frames: u32,
    seed: u32,
    steps: &[Step],
) {
    let settings = Settings { seed, partitions: 3, ..Settings::AMP };
    let mut script = Script::<R>::new(frames, settings);
    let mut twin = Twin::<D>::new(frames as usize, Random::new(seed));
    let mut detected = [(Place::Default, Rhythm::default()); 4];
    let mut held = BTreeSet::new();
    for (at, &step) in steps.iter().enumerate() {
        match step {
            Step::Read { context, block } => {
                let (place, rhythm) = detected[usize::from(context)];
                let access = Access { place, rhythm, now: script.now + 1 };
                let hit = script.read(block, access);
                assert_eq!(hit, twin.read(block, access, &held), "step {at}, {step:?}");
            }
            Step::Place { context, place: number, size, time, deviation } => {
                let rhythm = Rhythm { size, time: time.into(), deviation: deviation.into() };
                detected[usize::from(context)] = (place(number), rhythm);
            }
            Step::Hold(block) => {
                if script.hold(block) {
                    held.insert(block);
                }
            }
            Step::LetGo(block) => {
                if held.remove(&block) {
                    script.let_go(block);
                }
            }
        }
        script.check();
        assert_eq!(script.parts(), twin.parts(), "after step {at}, {step:?}");
        assert_eq!(script.ghosts(), twin.ghosts(), "ghosts after step {at}, {step:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1000) })]

    #[test]
    fn around_arc((frames, seed, steps) in workload()) {
        agree::<Arc, twin::Arc>(frames, seed, &steps);
    }

    #[test]
    fn around_lru((frames, seed, steps) in workload()) {
        agree::<Lru, twin::Lru>(frames, seed, &steps);
    }
}
