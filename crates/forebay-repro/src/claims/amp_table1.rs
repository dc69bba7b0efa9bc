//! amp-table1: what AMP, DEAR and PCC take the seven streams for (AMP §4.1, Fig. 5, Table 1).

use forebay_core::Pattern;
use forebay_core::papers::amp::recency::Sampling;
use serde::Deserialize;

use crate::amp_streams::{Stream, amp, dear, pcc};
use crate::{Context, Error, Experiment, Finding, Measure};
use forebay_sim::chart::{Axis, Chart, Series};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    seeds: u64,
    threshold: f64,
    group: u32,
    sequential: u32,
    streams: Vec<Tested>,
    /// Shown, not judged.
    #[serde(default)]
    otherwise: Vec<Tested>,
}

/// A stream, and what the paper's table has of it.
#[derive(Deserialize)]
struct Tested {
    #[serde(flatten)]
    stream: Stream,
    /// The paper's R̄.
    recency: f64,
    /// The detectors that take it for a loop in the paper.
    loops: Vec<String>,
}

/// The outcome of all seeds.
#[derive(Default)]
struct Outcome {
    means: Vec<f64>,
    /// How often each says loop, in the order of [`DETECTORS`].
    loops: [u64; 3],
    /// How often DEAR and PCC say what.
    says: [std::collections::BTreeMap<&'static str, u64>; 2],
}

const DETECTORS: [&str; 3] = ["AMP", "DEAR", "PCC"];

pub(crate) fn check(experiment: &Experiment, context: &Context<'_>) -> Result<Finding, Error> {
    let parameters: Parameters = experiment.parameters()?;
    let seeds = if context.quick { 3 } else { parameters.seeds };
    let all = || parameters.streams.iter().chain(&parameters.otherwise);
    let steps = all().count();
    let outcomes = all().enumerate().map(|(done, tested)| {
        context.step(done, steps)?;
        tested.outcome(experiment, &parameters, context.seed..context.seed + seeds)
    });
    let outcomes: Vec<Outcome> = outcomes.collect::<Result<_, Error>>()?;
    let judged = || parameters.streams.iter().zip(&outcomes);
    let mut measures = Vec::new();
    for (nth, detector) in DETECTORS.into_iter().enumerate() {
        // A verdict is that of most seeds.
        let says_loop = |outcome: &Outcome| outcome.loops[nth] * 2 > seeds;
        let same = judged().filter(|(tested, outcome)| says_loop(outcome) == tested.is_loop_to(detector));
        let differ = judged().filter(|(tested, outcome)| says_loop(outcome) != tested.is_loop_to(detector));
        let differ: Vec<&str> = differ.map(|(tested, _)| tested.stream.name.as_str()).collect();
        let paper = judged().filter(|(tested, _)| tested.is_loop_to(detector));
        let paper: Vec<&str> = paper.map(|(tested, _)| tested.stream.name.as_str()).collect();
        let but = if differ.is_empty() { String::new() } else { format!(", not on {}", differ.join(" ")) };
        let count = same.count();
        measures.push(experiment.judged(
            &detector.to_lowercase(),
            count as f64,
            Measure::shown(
                &format!("streams on which {detector} says what it does in the paper"),
                &format!("loop: {}", paper.join(" ")),
                format!("{count} of {}{but}", parameters.streams.len()),
            ),
        )?);
    }
    let farthest = judged().map(|(tested, outcome)| (mean(&outcome.means) - tested.recency).abs()).fold(0.0, f64::max);
    let measure = Measure::shown("R, farthest from the paper's on any stream", "0", format!("{farthest:.3}"));
    measures.push(experiment.judged("recency", farthest, measure)?);
    measures.extend(all().zip(&outcomes).map(|(tested, outcome)| tested.shown(outcome, seeds)));
    let ours: Vec<String> =
        judged().map(|(tested, outcome)| format!("{} {:.3}", tested.stream.name, mean(&outcome.means))).collect();
    Ok(Finding::new(ours.join(", "), measures, vec![chart(&parameters, &outcomes)]))
}

impl Tested {
    fn is_loop_to(&self, detector: &str) -> bool {
        self.loops.iter().any(|name| name == detector)
    }

    fn outcome(
        &self,
        experiment: &Experiment,
        parameters: &Parameters,
        seeds: std::ops::Range<u64>,
    ) -> Result<Outcome, Error> {
        let mut outcome = Outcome::default();
        for seed in seeds {
            let accesses = self.stream.accesses(experiment, seed)?;
            let amp = amp(&accesses, parameters.threshold, Sampling::Off);
            let others = [dear(&accesses, parameters.group), pcc(&accesses, parameters.sequential)];
            outcome.means.push(amp.mean);
            outcome.loops[0] += u64::from(amp.looping);
            for (nth, pattern) in others.into_iter().enumerate() {
                outcome.loops[nth + 1] += u64::from(pattern == Pattern::Looping);
                *outcome.says[nth].entry(name(pattern)).or_default() += 1;
            }
        }
        Ok(outcome)
    }

    /// One line of the table.
    fn shown(&self, outcome: &Outcome, seeds: u64) -> Measure {
        let verdict = |detector: &str| if self.is_loop_to(detector) { "loop" } else { "other" };
        let [least, most] = [(f64::INFINITY, f64::min as fn(f64, f64) -> f64), (f64::NEG_INFINITY, f64::max)]
            .map(|(start, of)| outcome.means.iter().copied().fold(start, of));
        let says = |nth: usize| {
            let says = outcome.says[nth].iter().map(|(name, times)| match *times == seeds {
                true => (*name).to_owned(),
                false => format!("{name} {times}"),
            });
            says.collect::<Vec<_>>().join(" ")
        };
        Measure::shown(
            &format!("{}: R, AMP, DEAR, PCC", self.stream.name),
            &format!("{}, {}, {}, {}", self.recency, verdict("AMP"), verdict("DEAR"), verdict("PCC")),
            format!(
                "{:.3} ({least:.3} to {most:.3}), loop {} of {seeds}, {}, {}",
                mean(&outcome.means),
                outcome.loops[0],
                says(0),
                says(1)
            ),
        )
    }
}

fn name(pattern: Pattern) -> &'static str {
    match pattern {
        Pattern::OneShot => "one-shot",
        Pattern::Looping => "loop",
        Pattern::Clustered => "clustered",
        Pattern::Other => "other",
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn chart(parameters: &Parameters, outcomes: &[Outcome]) -> Chart {
    let numbered = || (1..).map(f64::from).zip(parameters.streams.iter().zip(outcomes));
    let ours = numbered().map(|(at, (_, outcome))| (at, mean(&outcome.means))).collect();
    let paper = numbered().map(|(at, (tested, _))| (at, tested.recency)).collect();
    Chart {
        title: "Mean reference recency of the streams".to_owned(),
        x: Axis::linear("stream, a to g"),
        y: Axis::linear("R"),
        series: vec![
            Series { name: "here".to_owned(), points: ours },
            Series { name: "the paper".to_owned(), points: paper },
        ],
    }
}
