//! amp-sampling: block sampling leaves verdicts as they were, and costs a fraction (AMP §3.1).

use forebay_core::context::recency::Sampling;
use serde::Deserialize;

use crate::amp_streams::{Found, Stream, amp};
use crate::{Context, Error, Experiment, Finding, Measure};
use forebay_sim::chart::{Axis, Chart, Series};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    seeds: u64,
    threshold: f64,
    /// One block in so many.
    factors: Vec<u32>,
    /// N_L.
    limits: Vec<u32>,
    streams: Vec<Stream>,
}

/// What came of a way of sampling, on all streams and seeds.
#[derive(Default)]
struct Outcome {
    runs: u64,
    same: u64,
    /// The farthest that R̄ is from that of all blocks.
    off: f64,
    /// Sums over what all blocks cost, and this sample.
    walked: (u64, u64),
    looked_at: (u64, u64),
}

pub(crate) fn check(experiment: &Experiment, context: &Context<'_>) -> Result<Finding, Error> {
    let Parameters { seeds, threshold, factors, limits, streams } = experiment.parameters()?;
    let seeds = if context.quick { 1 } else { seeds };
    let fixed = factors.iter().map(|&one_in| (format!("one block in {one_in}"), Sampling::Fixed(one_in)));
    let adaptive = limits.iter().map(|&most| (format!("adaptive, N_L {most}"), Sampling::Adaptive(most)));
    let mut ways: Vec<(String, Sampling, Outcome)> =
        fixed.chain(adaptive).map(|(name, sampling)| (name, sampling, Outcome::default())).collect();
    for (done, stream) in streams.iter().enumerate() {
        context.step(done, streams.len())?;
        for seed in context.seed..context.seed + seeds {
            let accesses = stream.accesses(experiment, seed)?;
            let all = amp(&accesses, threshold, Sampling::Off);
            for (_, sampling, outcome) in &mut ways {
                outcome.add(&all, &amp(&accesses, threshold, *sampling));
            }
        }
    }
    let mut measures = Vec::new();
    for (name, sampling, outcome) in &ways {
        let part = outcome.walked.1 as f64 / outcome.walked.0 as f64;
        let (same, runs) = (outcome.same, outcome.runs);
        measures.push(experiment.judged(
            "same",
            same as f64 / runs as f64,
            (&format!("{name}: verdicts as without"), "all"),
            format!("{same} of {runs}, R at most {:.3} off", outcome.off),
        )?);
        let what = format!("{name}: blocks walked over in the paper's list");
        let shown =
            format!("{part:.5} of all; {:.4} of accesses", outcome.looked_at.1 as f64 / outcome.looked_at.0 as f64);
        measures.push(match sampling {
            Sampling::Fixed(one_in) => {
                let squared = f64::from(*one_in) * f64::from(*one_in);
                let paper = format!("1/{squared}: {:.5}", 1.0 / squared);
                experiment.judged("cost", part * squared, (&what, &paper), shown)?
            }
            _ => Measure::shown(&what, "", shown),
        });
    }
    let points = |of: fn(&Outcome) -> (u64, u64)| {
        let fixed = ways.iter().filter_map(move |(_, sampling, outcome)| match sampling {
            Sampling::Fixed(one_in) => Some((f64::from(*one_in), of(outcome).1 as f64 / of(outcome).0 as f64)),
            _ => None,
        });
        fixed.collect::<Vec<_>>()
    };
    let paper = factors.iter().map(|&one_in| (f64::from(one_in), 1.0 / f64::from(one_in).powi(2))).collect();
    let chart = Chart {
        title: "What sampling costs".to_owned(),
        x: Axis::linear("one block in"),
        y: Axis::linear("part of the cost without"),
        series: vec![
            Series { name: "the paper's list".to_owned(), points: points(|outcome| outcome.walked) },
            Series { name: "1/f²".to_owned(), points: paper },
            Series { name: "accesses looked at".to_owned(), points: points(|outcome| outcome.looked_at) },
        ],
    };
    let (same, runs) =
        ways.iter().fold((0, 0), |(same, runs), (.., outcome)| (same + outcome.same, runs + outcome.runs));
    Ok(Finding::new(format!("{same} of {runs} verdicts as without"), measures, vec![chart]))
}

impl Outcome {
    fn add(&mut self, all: &Found, sampled: &Found) {
        self.runs += 1;
        self.same += u64::from(all.looping == sampled.looping);
        self.off = self.off.max((all.mean - sampled.mean).abs());
        self.walked = (self.walked.0 + all.walked, self.walked.1 + sampled.walked);
        self.looked_at = (self.looked_at.0 + all.looked_at, self.looked_at.1 + sampled.looked_at);
    }
}
