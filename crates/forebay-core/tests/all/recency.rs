//! Mean reference recency (AMP §3.1): the paper's examples, a naive O(n) twin, and sampling.

use forebay_core::papers::amp::recency::{Mean, ONE, Recency, Sampling};
use proptest::prelude::*;

fn of(accesses: &[u64]) -> (Vec<Option<u32>>, Option<u32>) {
    let mut recency = Recency::new(Sampling::Off, Mean::Periodic);
    let each = accesses.iter().map(|&block| recency.access(block)).collect();
    (each, recency.mean())
}

/// A part of one, as the paper prints it: two digits.
fn rounded(recency: u32) -> f64 {
    (f64::from(recency) * 100.0 / f64::from(ONE)).round() / 100.0
}

/// Example 1: "any pure looping pattern will have R_i = 0".
#[test]
fn a_pure_loop_has_none() {
    let (each, mean) = of(&[1, 2, 3, 1, 2, 3]);
    assert_eq!(each, [None, None, None, Some(0), Some(0), Some(0)]);
    assert_eq!(mean, Some(0));
}

/// Example 2, column R_i of its table, and 0.79.
#[test]
fn a_clustered_string_has_much() {
    let (each, mean) = of(&[1, 2, 3, 4, 4, 3, 4, 5, 6, 5, 6]);
    let each: Vec<Option<f64>> = each.into_iter().map(|recency| recency.map(rounded)).collect();
    let defined = [None, None, None, None, Some(1.0), Some(0.67), Some(0.67), None, None, Some(0.8), Some(0.8)];
    assert_eq!(each, defined);
    assert_eq!(mean.map(rounded), Some(0.79));
}

/// "0.5, |L_i| = 1".
#[test]
fn one_block_again_is_neither() {
    assert_eq!(of(&[7, 7]), (vec![None, Some(ONE / 2)], Some(ONE / 2)));
    assert_eq!(of(&[7]).1, None);
}

/// The definition: the list itself.
fn naive(accesses: &[u64]) -> Vec<Option<u32>> {
    let mut list: Vec<u64> = Vec::new();
    let recency = |&block: &u64| {
        let position = list.iter().position(|&other| other == block);
        let recency = position.map(|position| match list.len() {
            1 => ONE / 2,
            len => (position as u64 * u64::from(ONE) / (len as u64 - 1)) as u32,
        });
        list.retain(|&other| other != block);
        list.push(block);
        recency
    };
    accesses.iter().map(recency).collect()
}

proptest! {
    #[test]
    fn it_is_the_list(accesses in prop::collection::vec(0u64..200, 0..2000)) {
        prop_assert_eq!(of(&accesses).0, naive(&accesses));
    }

    /// "This will have little effect on the detection result because each useful context will
    /// access many blocks."
    #[test]
    fn a_sample_tells_of_all(seed in 0u64..1000, stride in 1u64..64, sampling in prop::sample::select(vec![
        Sampling::Fixed(8), Sampling::Adaptive(256),
    ])) {
        let blocks = 4000;
        let mut state = seed;
        let mut random = || { state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1); (state >> 33) % blocks };
        let looping: Vec<u64> = (0..5 * blocks).map(|at| at % blocks * stride).collect();
        let uniform: Vec<u64> = (0..10 * blocks).map(|_| random() * stride).collect();
        let clustered: Vec<u64> = (0..5 * blocks).map(|at| (at / 5 + at % 2) * stride).collect();
        for (accesses, low, high) in [(looping, 0.0, 0.01), (uniform, 0.45, 0.55), (clustered, 0.8, 1.0)] {
            let mut recency = Recency::new(sampling, Mean::Periodic);
            accesses.iter().for_each(|&block| { recency.access(block); });
            let mean = f64::from(recency.mean().unwrap()) / f64::from(ONE);
            prop_assert!((low..=high).contains(&mean), "{mean} of {low} to {high}");
            prop_assert!(recency.seen().0 < accesses.len() as u64 / 4, "{} looked at", recency.seen().0);
        }
    }
}

/// The continuous detector follows a change; the periodic one, until told to forget, has the mean
/// of both.
#[test]
fn an_exponential_mean_follows() {
    let mut recency = Recency::new(Sampling::Off, Mean::Continuous(ONE / 64));
    (0..1000u64).for_each(|at| _ = recency.access(at % 100));
    assert!(recency.mean().unwrap() < ONE / 100, "a loop");
    (0..1000u64).for_each(|at| _ = recency.access(at / 20 + at % 2));
    assert!(recency.mean().unwrap() > ONE / 10 * 8, "clustered by now");
}
