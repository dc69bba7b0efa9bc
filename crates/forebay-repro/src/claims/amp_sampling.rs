//! amp-sampling: block sampling leaves verdicts as they were, and costs a fraction (AMP §3.1).

use forebay_core::papers::amp::recency::Sampling;
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

/// A way of sampling, and what came of it on all streams and seeds.
struct Way {
    name: String,
    sampling: Sampling,
    outcome: Outcome,
}

#[derive(Default)]
struct Outcome {
    runs: u64,
    same: u64,
    /// The farthest that R̄ is from that of all blocks.
    off: f64,
    walked: Cost,
    looked_at: Cost,
}

/// Sums over what all blocks cost, and this sample.
#[derive(Clone, Copy, Default)]
struct Cost {
    all: u64,
    sampled: u64,
}

impl Cost {
    fn add(&mut self, all: u64, sampled: u64) {
        (self.all, self.sampled) = (self.all + all, self.sampled + sampled);
    }

    fn share(self) -> f64 {
        self.sampled as f64 / self.all as f64
    }
}

impl Parameters {
    /// The ways, without an outcome yet.
    fn ways(&self) -> Vec<Way> {
        let fixed = self.factors.iter().map(|&one_in| (format!("one block in {one_in}"), Sampling::Fixed(one_in)));
        let adaptive = self.limits.iter().map(|&most| (format!("adaptive, N_L {most}"), Sampling::Adaptive(most)));
        let way = |(name, sampling)| Way { name, sampling, outcome: Outcome::default() };
        fixed.chain(adaptive).map(way).collect()
    }
}

pub(crate) fn check(experiment: &Experiment, context: &Context<'_>) -> Result<Finding, Error> {
    let parameters: Parameters = experiment.parameters()?;
    let seeds = if context.quick { 1 } else { parameters.seeds };
    let mut ways = parameters.ways();
    for (done, stream) in parameters.streams.iter().enumerate() {
        context.step(done, parameters.streams.len())?;
        for seed in context.seed..context.seed + seeds {
            let accesses = stream.accesses(experiment, seed)?;
            let all = amp(&accesses, parameters.threshold, Sampling::Off);
            for way in &mut ways {
                way.outcome.add(&all, &amp(&accesses, parameters.threshold, way.sampling));
            }
        }
    }
    let measures = ways.iter().map(|way| way.judged(experiment)).collect::<Result<Vec<_>, _>>()?.concat();
    let sum = |of: fn(&Outcome) -> u64| ways.iter().map(|way| of(&way.outcome)).sum::<u64>();
    let ours = format!("{} of {} verdicts as without", sum(|outcome| outcome.same), sum(|outcome| outcome.runs));
    Ok(Finding::new(ours, measures, vec![chart(&ways, &parameters.factors)]))
}

impl Way {
    /// Whether verdicts are the same, and what they cost.
    fn judged(&self, experiment: &Experiment) -> Result<Vec<Measure>, Error> {
        let Way { name, sampling, outcome } = self;
        let Outcome { same, runs, off, walked, looked_at } = *outcome;
        let what = format!("{name}: verdicts as without");
        let verdicts = Measure::shown(&what, "all", format!("{same} of {runs}, R at most {off:.3} off"));
        let what = format!("{name}: blocks walked over in the paper's list");
        let shown = format!("{:.5} of all; {:.4} of accesses", walked.share(), looked_at.share());
        let cost = match sampling {
            Sampling::Fixed(one_in) => {
                let squared = f64::from(*one_in) * f64::from(*one_in);
                let paper = format!("1/{squared}: {:.5}", 1.0 / squared);
                experiment.judged("cost", walked.share() * squared, Measure::shown(&what, &paper, shown))?
            }
            _ => Measure::shown(&what, "", shown),
        };
        Ok(vec![experiment.judged("same", same as f64 / runs as f64, verdicts)?, cost])
    }
}

fn chart(ways: &[Way], factors: &[u32]) -> Chart {
    let points = |of: fn(&Outcome) -> Cost| {
        let fixed = ways.iter().filter_map(move |way| match way.sampling {
            Sampling::Fixed(one_in) => Some((f64::from(one_in), of(&way.outcome).share())),
            _ => None,
        });
        fixed.collect::<Vec<_>>()
    };
    let paper = factors.iter().map(|&one_in| (f64::from(one_in), 1.0 / f64::from(one_in).powi(2))).collect();
    Chart {
        title: "What sampling costs".to_owned(),
        x: Axis::linear("one block in"),
        y: Axis::linear("part of the cost without"),
        series: vec![
            Series { name: "the paper's list".to_owned(), points: points(|outcome| outcome.walked) },
            Series { name: "1/f²".to_owned(), points: paper },
            Series { name: "accesses looked at".to_owned(), points: points(|outcome| outcome.looked_at) },
        ],
    }
}

impl Outcome {
    fn add(&mut self, all: &Found, sampled: &Found) {
        self.runs += 1;
        self.same += u64::from(all.looping == sampled.looping);
        self.off = self.off.max((all.mean - sampled.mean).abs());
        self.walked.add(all.walked, sampled.walked);
        self.looked_at.add(all.looked_at, sampled.looked_at);
    }
}
