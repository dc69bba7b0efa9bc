//! The streams of AMP §4.1 as accesses to numbered blocks, and what each detector takes them for:
//! what several experiments of AMP share.

use forebay_core::Pattern;
use forebay_core::papers::amp::recency::{Mean, ONE, Recency, Sampling};
use forebay_core::papers::{dear, pcc};
use forebay_trace::generate::{Given, named};
use forebay_trace::{Shape, Source};
use serde::Deserialize;

use crate::{Error, Experiment};

/// A stream as a description has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Stream {
    pub(crate) name: String,
    workload: String,
    #[serde(default, deserialize_with = "crate::given::texts")]
    parameters: std::collections::BTreeMap<String, String>,
}

impl Stream {
    /// Its accesses: blocks, or objects where these are what is accessed.
    pub(crate) fn accesses(&self, experiment: &Experiment, seed: u64) -> Result<Vec<u64>, Error> {
        let parameters: Vec<Given<'_>> = self.parameters.iter().map(|(name, value)| Given { name, value }).collect();
        let mut source =
            named(&self.workload, &parameters, seed).map_err(|error| experiment.wrong(&error.to_string()))?;
        let mut requests = Vec::new();
        while source.read(&mut requests).map_err(|error| experiment.wrong(&error.to_string()))? > 0 {}
        let block_bytes = match source.shape() {
            Shape::Ranges { block_bytes } => block_bytes,
            _ => u32::MAX,
        };
        Ok(requests.iter().map(|request| (request.file << 32) + request.offset / u64::from(block_bytes)).collect())
    }
}

/// The findings of AMP.
pub(crate) struct Found {
    /// R̄, from 0 to 1.
    pub(crate) mean: f64,
    pub(crate) looping: bool,
    /// Accesses that were looked at.
    pub(crate) looked_at: u64,
    /// The length of the list at each of them, all together: what the paper's list costs.
    pub(crate) walked: u64,
}

/// AMP over a whole stream.
pub(crate) fn amp(accesses: &[u64], threshold: f64, sampling: Sampling) -> Found {
    let mut recency = Recency::new(sampling, Mean::Periodic);
    let mut walked = 0;
    for &block in accesses {
        let (before, listed) = (recency.seen().0, recency.listed());
        recency.access(block);
        walked += (recency.seen().0 - before) * u64::from(listed);
    }
    // A stream no block of which was accessed again is no loop.
    let mean = recency.mean().map_or(f64::NAN, |mean| f64::from(mean) / f64::from(ONE));
    Found { mean, looping: mean < threshold, looked_at: recency.seen().0, walked }
}

/// Whether DEAR takes it for a loop: "the detection interval [is] half of the stream length, so
/// that DEAR does a single detection over the whole stream".
pub(crate) fn dear(accesses: &[u64], group: u32) -> Pattern {
    let mut detector = dear::Detector::new((accesses.len() / 2) as u32, group);
    accesses.iter().for_each(|&block| detector.access(block));
    detector.pattern()
}

/// Whether PCC takes it for a loop.
pub(crate) fn pcc(accesses: &[u64], threshold: u32) -> Pattern {
    let mut counters = pcc::Counters::new(threshold);
    accesses.iter().for_each(|&block| counters.access(block));
    counters.pattern()
}
