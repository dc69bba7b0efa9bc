//! The ceiling's walk (CPEM §4.1) on curves of misses: convex ones, ones that move, noisy ones,
//! none at all.
//!
//! A curve says how many blocks are missed in an epoch if the ceiling is at x; the walk knows
//! nothing else of it.

use forebay_core::Instant;
use forebay_core::papers::cpem::{Ceiling, Settings};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// The papers' 512 MB, in pages of 4 KiB.
const FRAMES: u32 = 131_072;
/// "The low free memory threshold", 2 MB.
const FIXED: u32 = 512;
const EPOCH: u64 = 4_000_000_000;
/// The fixed unit crosses all of memory in as many epochs.
const CROSSING: u32 = FRAMES / FIXED;

/// A ceiling, and epochs told to it.
struct Walk {
    ceiling: Ceiling,
    at: Instant,
}

impl Walk {
    fn new(settings: Settings) -> Walk {
        Walk { ceiling: Ceiling::new(FRAMES, settings), at: Instant(0) }
    }

    /// An epoch in which this many blocks are missed. Returns x after it.
    fn epoch(&mut self, misses: u64) -> u32 {
        (0..misses).for_each(|_| self.ceiling.missed());
        self.at = self.at.plus(EPOCH);
        self.ceiling.look(self.at);
        let x = self.ceiling.blocks();
        assert!(x > 0 && x <= FRAMES, "0 ≤ x ≤ x_max, and room on either side: {x}");
        x
    }

    /// This many epochs over a curve, `each` of them told x.
    fn over(&mut self, epochs: u32, curve: impl Fn(f64) -> f64, mut each: impl FnMut(u32)) {
        for _ in 0..epochs {
            let misses = curve(part(self.ceiling.blocks()));
            each(self.epoch(misses.round() as u64));
        }
    }
}

fn seeded(seed: u32) -> Settings {
    Settings { seed, ..Settings::PAPER }
}

/// f_tot = f_pre + f_lru over x / x_max. "If the prefetch cache size increases, the prefetch miss
/// rate will decrease. However, […] the prefetch miss rate will level off"; f_lru rises the more
/// steeply the less is left.
#[derive(Clone, Copy, Debug)]
struct Curve {
    /// Prefetch misses of an epoch without a prefetch cache.
    pre: f64,
    /// The part of memory that prefetching needs: from there on no block is missed.
    need: f64,
    /// LRU misses of an epoch without any memory for the rest, beside the `always`.
    lru: f64,
    /// LRU misses that no memory spares.
    always: f64,
}

impl Curve {
    fn at(&self, x: f64) -> f64 {
        let lack = (1.0 - x / self.need).max(0.0);
        self.pre * lack * lack + self.lru * x * x + self.always
    }

    fn least(&self) -> f64 {
        (0..=1000).map(|x| self.at(f64::from(x) / 1000.0)).fold(f64::INFINITY, f64::min)
    }

    /// By how much more f_tot is obviously above its minimum: a sixteenth, a miss a second, or
    /// chance.
    fn obvious(&self) -> f64 {
        let least = self.least();
        (least / 16.0 + least.sqrt()).max(4.0)
    }

    /// Where f_tot is not obviously above its minimum.
    fn valley(&self) -> (f64, f64) {
        let most = self.least() + self.obvious();
        let inside = |&x: &f64| self.at(x) <= most;
        let xs = || (0..=1000).map(|x| f64::from(x) / 1000.0);
        (xs().find(inside).unwrap(), xs().rev().find(inside).unwrap())
    }
}

/// How far x is outside of a valley, in fixed units.
fn outside(x: u32, (from, to): (f64, f64)) -> f64 {
    (from - part(x)).max(part(x) - to).max(0.0) * f64::from(CROSSING)
}

/// x as a part of memory.
fn part(x: u32) -> f64 {
    f64::from(x) / f64::from(FRAMES)
}

fn curves() -> impl Strategy<Value = Curve> {
    (50.0..3000.0f64, 0.05..1.0f64, 50.0..3000.0f64, 0.0..500.0f64).prop_map(|(pre, need, lru, always)| Curve {
        pre,
        need,
        lru,
        always,
    })
}

/// "We initialize the prefetch cache size ceiling, x, to be 25% of the total physical memory"; "in
/// the first epoch, we randomly increase or decrease x by an adjustment unit".
#[test]
fn it_begins_at_a_quarter_and_moves_by_a_unit_an_epoch() {
    let mut directions = [false; 2];
    for seed in 0..20 {
        let mut walk = Walk::new(seeded(seed));
        assert_eq!(walk.ceiling.blocks(), FRAMES / 4);
        assert_eq!(walk.ceiling.unit(), FIXED);
        walk.ceiling.look(Instant(EPOCH - 1));
        assert_eq!(walk.ceiling.blocks(), FRAMES / 4, "not before the epoch is over");
        let x = walk.epoch(1000);
        assert_eq!(x.abs_diff(FRAMES / 4), FIXED);
        directions[usize::from(x > FRAMES / 4)] = true;
    }
    assert_eq!(directions, [true; 2], "randomly");
}

/// "If we previously increase x by Δx and it causes f_tot(x + Δx) − f_tot(x) > threshold, we will
/// decrease x in the next epoch by an adjustment unit. Otherwise, we keep increasing x."
#[test]
fn an_obvious_increase_turns_it_and_nothing_else_does() {
    let mut walk = Walk::new(seeded(1));
    let begun = walk.epoch(1000);
    let up = begun > FRAMES / 4;
    let onward = |x: u32, by: u32| if up { x + by * FIXED } else { x - by * FIXED };
    let back = |x: u32, by: u32| if up { x - by * FIXED } else { x + by * FIXED };
    let further = walk.epoch(1000);
    assert_eq!(further, onward(begun, 1), "the same: go on");
    let further = walk.epoch(1010);
    assert_eq!(further, onward(begun, 2), "one per cent more is not obvious");
    let further = walk.epoch(800);
    assert_eq!(further, onward(begun, 3), "less: go on");
    let turned = walk.epoch(1500);
    assert_eq!(turned, back(further, 1), "obviously more: the other operation");
    assert_eq!(walk.epoch(1500), back(further, 2), "still as much, no more: the same operation again");
}

/// From nothing to much at once the lagging average would rise for epochs. One rise turns the walk
/// once.
#[test]
fn a_sudden_rise_turns_it_once() {
    let mut walk = Walk::new(seeded(1));
    let first = walk.epoch(50);
    let mut xs = vec![first, walk.epoch(50)];
    xs.extend((0..10).map(|_| walk.epoch(5000)));
    let up: Vec<bool> = xs.windows(2).map(|pair| pair[1] > pair[0]).collect();
    assert_eq!(up[1..], [!up[0]; 10]);
}

/// Nothing is missed: f_tot is at its minimum wherever x is.
#[test]
fn without_misses_it_stays() {
    let mut walk = Walk::new(seeded(1));
    (0..1000).for_each(|_| assert_eq!(walk.epoch(0), FRAMES / 4));
    (0..1000).for_each(|_| assert_eq!(walk.epoch(4), FRAMES / 4, "one miss a second is not obviously more than none"));
    assert_ne!(walk.epoch(400), FRAMES / 4);
}

/// An hour without work is no epoch of a low miss rate.
#[test]
fn an_idle_hour_tells_nothing() {
    let [mut busy, mut idle] = [1, 1].map(|seed| Walk::new(seeded(seed)));
    for round in 0..60 {
        let x = busy.epoch(2000);
        assert_eq!(idle.epoch(2000), x, "round {round}");
        if round % 10 == 9 {
            idle.at = idle.at.plus(3_600_000_000_000);
            idle.ceiling.look(idle.at);
            assert_eq!(idle.ceiling.blocks(), x, "no step for it");
        }
    }
}

/// Epochs of no length: a fixed ceiling.
#[test]
fn it_can_be_held() {
    let mut walk = Walk::new(Settings { epoch_ms: 0, start: 40, ..Settings::PAPER });
    (0..100).for_each(|misses| assert_eq!(walk.epoch(misses * 100), FRAMES * 2 / 5));
}

/// A flat curve has no valley: the walk goes to and fro and rests at neither end.
#[test]
fn on_a_flat_curve_it_sits_at_neither_end() {
    let mut walk = Walk::new(seeded(1));
    let mut ends = [0u32; 2];
    walk.over(
        4 * CROSSING,
        |_| 1000.0,
        |x| {
            ends[0] += u32::from(x <= FIXED);
            ends[1] += u32::from(x >= FRAMES - FIXED);
        },
    );
    assert!(ends.iter().all(|&epochs| epochs > 0 && epochs < 40), "{ends:?}");
}

proptest! {
    // Laws of chance: one curve in thousands breaks them. So it is the same curves every time;
    // PROPTEST_RNG_SEED gives others.
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(1),
        ..ProptestConfig::with_cases(100)
    })]

    /// "x will quickly converge to a narrow interval": in the time of two crossings to where f_tot
    /// is not obviously above its minimum, and twenty units on either side: the average lags, so
    /// the walk notices late. (Ten is enough for all but one curve in tens of thousands.) On
    /// average f_tot is within one and a half times the obvious rise, and a miss a second.
    #[test]
    fn it_converges_on_convex_curves(curve in curves(), start in 1..=100u8, seed: u32) {
        let mut walk = Walk::new(Settings { start, ..seeded(seed) });
        walk.over(2 * CROSSING, |x| curve.at(x), |_| ());
        let valley = curve.valley();
        let (mut far, mut missed, mut epochs) = (0.0f64, 0.0, 0.0);
        walk.over(CROSSING, |x| curve.at(x), |x| {
            far = far.max(outside(x, valley));
            missed += curve.at(part(x));
            epochs += 1.0;
        });
        prop_assert!(far <= 20.0, "{far} units outside of {valley:?}");
        prop_assert!(missed / epochs <= curve.least() + 1.5 * curve.obvious() + 4.0, "{} over {}", missed / epochs, curve.least());
    }

    /// The valley moves, suddenly: the walk follows, and is there in the time of two crossings.
    #[test]
    fn it_follows_a_curve_that_jumps(curves in proptest::collection::vec(curves(), 4), seed: u32) {
        let mut walk = Walk::new(seeded(seed));
        for curve in curves {
            walk.over(2 * CROSSING, |x| curve.at(x), |_| ());
            let valley = curve.valley();
            let mut far: f64 = 0.0;
            walk.over(CROSSING / 2, |x| curve.at(x), |x| far = far.max(outside(x, valley)));
            prop_assert!(far <= 20.0, "{far} units outside of {valley:?}");
        }
    }

    /// The valley drifts, more slowly than the walk goes: misses stay within a quarter of the
    /// least.
    #[test]
    fn it_follows_a_curve_that_drifts(curve in curves(), epochs in 1000..4000u32, seed: u32) {
        let mut walk = Walk::new(seeded(seed));
        walk.over(2 * CROSSING, |x| curve.at(x), |_| ());
        let (mut missed, mut least) = (0.0, 0.0);
        for epoch in 0..epochs {
            let turn = f64::from(epoch) * std::f64::consts::TAU / f64::from(epochs);
            let curve = Curve { need: curve.need * (1.0 + 0.5 * turn.sin()), ..curve };
            least += curve.least();
            walk.over(1, |x| curve.at(x), |_| ());
            missed += curve.at(part(walk.ceiling.blocks()));
        }
        prop_assert!(missed <= 1.25 * least + 4.0 * f64::from(epochs), "{missed} of {least}");
    }

    /// Counts scatter as chance has it: misses stay within two fifths of the least on average. If
    /// they scatter by a tenth more: below twice the least. Every spurious turn is undone by the
    /// next rise, sooner uphill than downhill. (Half of either is enough for all but one curve in
    /// thousands.)
    #[test]
    fn noise_does_not_lead_it_astray(curve in curves(), seed: u32, tenth: bool) {
        let mut walk = Walk::new(seeded(seed));
        let mut state = u64::from(seed) << 1 | 1;
        let mut normal = move || {
            let sum: f64 = (0..12).map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 11) as f64 / (1u64 << 53) as f64
            }).sum();
            sum - 6.0
        };
        let (mut missed, mut epochs) = (0.0, 0.0);
        for epoch in 0..8 * CROSSING {
            let mean = curve.at(part(walk.ceiling.blocks()));
            let wide = mean.sqrt() + if tenth { mean / 10.0 } else { 0.0 };
            walk.epoch((mean + wide * normal()).max(0.0) as u64);
            if epoch >= 4 * CROSSING {
                missed += mean;
                epochs += 1.0;
            }
        }
        let (mean, least) = (missed / epochs, curve.least());
        prop_assert!(mean <= if tenth { 2.0 } else { 1.4 } * least + 4.0, "{mean} an epoch, at the least {least}");
    }
}
