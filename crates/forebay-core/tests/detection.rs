//! The detectors on streams like those of AMP's Fig. 5, Table 1, generated from its descriptions: blocks 1 to 100.

use forebay_core::context::Pattern;
use forebay_core::context::dear::Detector;
use forebay_core::context::pcc::Counters;
use forebay_core::context::recency::{Mean, ONE, Recency, Sampling};

/// A generator with a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

const LOOPS: u64 = 10;

/// The streams a to g.
fn stream(name: char, seed: u64) -> Vec<u64> {
    let mut random = Random(seed);
    let pure = || (0..LOOPS).flat_map(|_| 1..=100);
    match name {
        // "Temporally clustered accesses moving through the file": around a place that moves on.
        'a' => (0..1000).map(|at| (at / 10 + random.below(15)).clamp(1, 100)).collect(),
        'b' => pure().collect(),
        // "Loops with each block moved around randomly": by up to as many places in either direction.
        'c' => {
            let mut placed: Vec<(u64, u64)> =
                pure().enumerate().map(|(at, block)| (at as u64 + random.below(80), block)).collect();
            placed.sort_by_key(|&(at, _)| at);
            placed.into_iter().map(|(_, block)| block).collect()
        }
        // "Temporally clustered accesses with localized small loops."
        'd' => (0..100).step_by(10).flat_map(|from| (0..6).flat_map(move |_| from + 1..=from + 10)).collect(),
        // "Loops in which a block is accessed again with prob. 0.6", and 0.5.
        'e' | 'f' => {
            let of_ten = if name == 'e' { 6 } else { 5 };
            (1..=100).chain((1..=100).filter(|_| random.below(10) < of_ten)).collect()
        }
        _ => (0..1000).map(|_| 1 + random.below(100)).collect(),
    }
}

#[test]
fn streams_of_figure_5() {
    for name in 'a'..='g' {
        for seed in 1..=5 {
            let accesses = stream(name, seed);
            let mut recency = Recency::new(Sampling::Off, Mean::Periodic);
            let (mut dear, mut pcc) = (Detector::new(accesses.len() as u32 / 2, 10), Counters::new(60));
            for &block in &accesses {
                recency.access(block);
                dear.access(block);
                pcc.access(block);
            }
            let mean = f64::from(recency.mean().unwrap()) / f64::from(ONE);
            eprintln!("{name} {seed}: {mean:.3} dear {:?} pcc {:?}", dear.pattern(), pcc.pattern());
        }
    }
}
