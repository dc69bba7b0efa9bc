//! Miss ratios over capacities.

use forebay_core::presets::Replacement;

use super::passes::Passes;
use super::references::Chunk;
use super::replay::{Job, Trace};
use super::sample::sample;
use super::stack::Stack;
use super::sweep::caches_per_pass;
use super::{Algorithm, Error, Open, Options, Outcome, Points, Sampling};
use crate::Watch;

/// Miss ratios of one algorithm over capacities, in the order of `points`. With a sample, requests
/// are those of the whole trace, hits and misses are estimates. If `watch` ends it early, it leaves
/// out points that were not finished.
///
/// LRU's curve comes from one pass for any points; every other algorithm's from a small cache a
/// point.
pub fn curve(
    open: &Open<'_>,
    options: &Options,
    algorithm: Algorithm,
    sampling: Sampling,
    points: &Points,
    watch: &dyn Watch,
) -> Result<Vec<Outcome>, Error> {
    let whole = algorithm == Algorithm::Online(Replacement::Lru);
    let passes = Passes::new(watch, count_passes(whole, algorithm, sampling, points, options));
    let Some(sample) = sample(sampling, open, options, &passes)? else { return Ok(Vec::new()) };
    if matches!(sampling, Sampling::Size(_)) {
        passes.next();
    }
    let mut trace = Trace { open, options, sample, size: None };
    let mut stack = Stack::new();
    let read = if whole { trace.stack(&mut stack, &passes)? } else { trace.count(&passes)? };
    let (true, Some(size)) = (read, trace.size) else { return Ok(Vec::new()) };
    let capacities = capacities(points, &trace, u64::from(size.distinct))?;
    let shrunk: Vec<u64> = capacities.iter().map(|&blocks| sample.shrink(blocks)).collect();
    let misses = if whole {
        stack.misses(&shrunk, size.sampled).into_iter().map(Some).collect()
    } else {
        let jobs: Vec<Job> = shrunk.iter().map(|&blocks| Job { algorithm, blocks }).collect();
        trace.misses(&jobs, &passes)?
    };
    let outcome = |(blocks, misses): (u64, Option<u64>)| {
        Some(Outcome::new(algorithm, blocks, size.references, sample.misses(misses?, size.references)))
    };
    Ok(capacities.into_iter().zip(misses).filter_map(outcome).collect())
}

impl Trace<'_> {
    /// Reads the trace through LRU's stack. `false` if it was ended early.
    fn stack(&mut self, stack: &mut Stack, passes: &Passes<'_>) -> Result<bool, Error> {
        let mut references = self.references()?;
        let mut chunk = Chunk::default();
        while references.next(&mut chunk)? {
            stack.refer(&chunk.keys);
            let (done, all) = references.progress();
            if !passes.goes_on(done, all) {
                return Ok(false);
            }
        }
        self.learn(&references, passes);
        Ok(true)
    }
}

/// The points in blocks of a trace whose sample has `distinct` blocks.
fn capacities(points: &Points, trace: &Trace<'_>, distinct: u64) -> Result<Vec<u64>, Error> {
    let distinct = trace.sample.enlarge(distinct);
    match points {
        Points::At(capacities) => {
            let shape = (trace.open)()?.shape();
            capacities.iter().map(|capacity| capacity.blocks(shape, trace.options, distinct)).collect()
        }
        // The first capacity is the one that is one block of the sample.
        Points::Spread(points) => Ok(spread(trace.sample.enlarge(1).min(distinct), distinct, *points)),
    }
}

/// At most `points` whole numbers from `first` to `last`, in equal ratios as nearly as may be, none
/// twice.
fn spread(first: u64, last: u64, points: u32) -> Vec<u64> {
    let steps = f64::from(points.saturating_sub(1).max(1));
    let ratio = last as f64 / first.max(1) as f64;
    let at =
        |n: u32| if n + 1 == points { last } else { (first as f64 * ratio.powf(f64::from(n) / steps)).round() as u64 };
    let mut capacities: Vec<u64> = (0..points).map(at).filter(|&blocks| blocks > 0).collect();
    capacities.dedup();
    capacities
}

/// How often the trace will be read, or about.
fn count_passes(whole: bool, algorithm: Algorithm, sampling: Sampling, points: &Points, options: &Options) -> u64 {
    let points = match points {
        Points::Spread(points) => *points as usize,
        Points::At(capacities) => capacities.len(),
    };
    let caches = match algorithm {
        _ if whole => 0,
        Algorithm::Opt => 1 + points,
        Algorithm::Online(_) | Algorithm::Contexts(..) => points.div_ceil(caches_per_pass(options)),
    };
    (usize::from(matches!(sampling, Sampling::Size(_))) + 1 + caches) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_in_equal_ratios() {
        assert_eq!(spread(1, 1000, 4), [1, 10, 100, 1000]);
        assert_eq!(spread(1, 3, 9), [1, 2, 3]);
        assert_eq!(spread(1, 7, 1), [7]);
        assert_eq!(spread(0, 0, 5), [] as [u64; 0]);
        assert_eq!(spread(1, 7, 0), [] as [u64; 0]);
    }
}
