//! SHARDS: some of the blocks stand for all.

use std::collections::{BTreeSet, BinaryHeap};

use forebay_trace::{BATCH, sample_hash};

use super::passes::Passes;
use super::references::blocks;
use super::{Error, Open, Options, Sampling};

/// The blocks that count: those whose sample hash is at most a threshold, at every reference.
///
/// Waldspurger, Park, Garthwaite and Ahmad, "Efficient MRC Construction with SHARDS" (FAST 2015). A
/// share R of the blocks in a cache of R · C behaves as all of them in a cache of C. That is
/// applied to LRU's stack distances there, to whole caches of any policy in "Cache Modeling and
/// Optimization using Miniature Simulations" (Waldspurger et al., ATC 2017).
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Sample {
    /// The threshold.
    pub(super) threshold: u64,
}

impl Sample {
    /// Every block.
    pub(super) const ALL: Sample = Sample { threshold: u64::MAX };

    /// R.
    pub(super) fn rate(self) -> f64 {
        (self.threshold as f64 + 1.0) / 2f64.powi(64)
    }

    /// A number of blocks of the trace in blocks of the sample; one at least.
    pub(super) fn shrink(self, blocks: u64) -> u64 {
        if self == Sample::ALL { blocks } else { ((blocks as f64 * self.rate()).round() as u64).max(1) }
    }

    /// A number of things in the sample in things of the trace.
    pub(super) fn enlarge(self, count: u64) -> u64 {
        if self == Sample::ALL { count } else { (count as f64 / self.rate()).round() as u64 }
    }

    /// The misses among `references` of the trace, of which `misses` were in the sample.
    ///
    /// This is the correction SHARDS-adj (§3.4 of the paper). The sample should have R ·
    /// `references`. It has more or fewer because some very popular blocks, which hit in any cache,
    /// are in it or not. So the difference is booked as hits, and misses are a share of the
    /// expected number.
    pub(super) fn misses(self, misses: u64, references: u64) -> u64 {
        self.enlarge(misses).min(references)
    }
}

/// The sample of `sampling`. `None` if it was ended early.
pub(super) fn sample(
    sampling: Sampling,
    open: &Open<'_>,
    options: &Options,
    passes: &Passes<'_>,
) -> Result<Option<Sample>, Error> {
    match sampling {
        Sampling::Exact => Ok(Some(Sample::ALL)),
        // The conversion saturates: all blocks at a rate of one.
        Sampling::Rate(rate) if rate > 0.0 && rate <= 1.0 => {
            Ok(Some(Sample { threshold: (rate * 2f64.powi(64)) as u64 }))
        }
        Sampling::Rate(_) => Err(Error::Sampling("a rate is above 0 and at most 1")),
        Sampling::Size(0) => Err(Error::Sampling("a sample has one block at least")),
        Sampling::Size(size) => smallest(size as usize, open, options, passes),
    }
}

/// The sample of the `size` smallest hashes of the trace, or of all blocks if there are no more.
///
/// The paper's fixed-size SHARDS (§3.3) has one pass only: it lowers its threshold as it goes, and
/// scales down its earlier counts. A trace can be read twice: the first time for the threshold that
/// the paper's algorithm ends with, with the same memory, the second time at this fixed rate. So
/// nothing need be scaled.
fn smallest(size: usize, open: &Open<'_>, options: &Options, passes: &Passes<'_>) -> Result<Option<Sample>, Error> {
    let mut source = open()?;
    let mut blocks = blocks(&*source, options);
    let (mut batch, mut names) = (Vec::with_capacity(BATCH), Vec::new());
    let mut kept = Smallest { size, heap: BinaryHeap::new(), known: BTreeSet::new() };
    while source.read(&mut batch)? > 0 {
        let mut taken = 0;
        while taken < batch.len() {
            names.clear();
            taken += blocks.append(&batch[taken..], &mut names)?;
            names.iter().for_each(|&name| kept.add(sample_hash(name)));
        }
        batch.clear();
        let (done, all) = source.progress();
        if !passes.goes_on(done, all) {
            return Ok(None);
        }
    }
    Ok(Some(kept.sample()))
}

/// The smallest of some hashes, one more than are wanted: it tells whether there are more.
struct Smallest {
    size: usize,
    heap: BinaryHeap<u64>,
    known: BTreeSet<u64>,
}

impl Smallest {
    fn add(&mut self, hash: u64) {
        let full = self.heap.len() > self.size;
        if full && self.heap.peek().is_some_and(|&largest| hash >= largest) || !self.known.insert(hash) {
            return;
        }
        self.heap.push(hash);
        if full && let Some(largest) = self.heap.pop() {
            self.known.remove(&largest);
        }
    }

    fn sample(mut self) -> Sample {
        if self.heap.len() <= self.size {
            return Sample::ALL;
        }
        self.heap.pop();
        self.heap.peek().map_or(Sample::ALL, |&threshold| Sample { threshold })
    }
}
