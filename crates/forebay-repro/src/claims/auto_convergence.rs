//! auto-convergence: how soon `auto` is back at its steady figure after readers want something
//! else, or devices turn slow or quick again.

use std::sync::atomic::{AtomicUsize, Ordering};

use forebay_core::Policy;
use forebay_device::random::Random;
use forebay_device::slowdown::Slowdown;
use serde::Deserialize;

use crate::scenario::{Kind, Names, Part, Scenario};
use crate::{Context, Error, Experiment, Finding, Measure};
use forebay_sim::chart::{Axis, Chart, Series};
use forebay_sim::timed::{Outcome, Sample, Samples, Setup, Span, Workload, run};
use forebay_sim::{processors, sweep};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    policy: String,
    /// Policies that are only shown.
    others: Vec<String>,
    cases: Vec<Case>,
    /// Samples of a phase, and over how many of them the figure is smoothed.
    samples: usize,
    smoothed: usize,
}

/// A system and what happens to it.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    devices: Vec<String>,
    memory_mib: u64,
    block_kib: u32,
    /// At a time; 0: as many as there are programs.
    #[serde(default)]
    handlers: u32,
    /// The loads, one after another.
    loads: Vec<Load>,
    /// From this program on they begin later: with the second phase.
    #[serde(default)]
    late: Option<u32>,
    /// When phases begin, but for the first, and when the last one ends, seconds; if there are
    /// none, each load is a phase.
    #[serde(default)]
    moments: Vec<f64>,
    /// Which device turns slow, and when.
    #[serde(default)]
    slow: Vec<(usize, Slowdown)>,
    /// Of the phases, but for the first.
    phases: Vec<String>,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Load {
    reads: u64,
    parts: Vec<Part>,
}

/// A stretch between two changes, and how it went.
struct Phase<'a> {
    /// The samples in it, the one before it first.
    samples: &'a [Sample],
    /// Bytes a second in its last third.
    steady: f64,
}

/// A run.
struct Ran {
    outcome: Outcome,
    /// When its phases begin, and when the last one ends.
    moments: Vec<f64>,
}

pub(crate) fn check(experiment: &Experiment, context: &Context<'_>) -> Result<Finding, Error> {
    let mut parameters: Parameters = experiment.parameters()?;
    if context.quick {
        parameters.others.clear();
        parameters.cases.iter_mut().for_each(|case| case.shorten(8));
    }
    let names: Vec<&String> = std::iter::once(&parameters.policy).chain(&parameters.others).collect();
    let runs: Vec<(&Case, &str)> =
        parameters.cases.iter().flat_map(|case| names.iter().map(move |name| (case, name.as_str()))).collect();
    let done = AtomicUsize::new(0);
    let one = |&(case, name): &(&Case, &str)| {
        let found = case.run(experiment.policy(name)?, parameters.samples, context)?;
        context.step(done.fetch_add(1, Ordering::Relaxed) + 1, runs.len())?;
        Ok(found)
    };
    let found = sweep(&runs, processors(), || context.watch.stopped(), one);
    let found: Vec<Ran> =
        found.into_iter().map(|run| run.unwrap_or(Err(Error::Stopped))).collect::<Result<_, Error>>()?;
    let (mut measures, mut charts, mut ours) = (Vec::new(), Vec::new(), Vec::new());
    for (case, of) in parameters.cases.iter().zip(found.chunks(names.len())) {
        for (policy, Ran { outcome, moments }) in names.iter().zip(of) {
            let own = **policy == parameters.policy;
            for (name, phase) in case.phases.iter().zip(phases(&outcome.samples, moments)) {
                let (caches, seconds) = phase.settled(outcome.capacity_blocks, parameters.smoothed);
                let what =
                    format!("{}, {name}: {policy}, read until nine tenths of the steady figure, in caches", case.name);
                let text = format!("{caches:.2} ({seconds:.1} s; steady at {:.1} MB/s)", phase.steady / 1e6);
                if own {
                    measures.push(experiment.judged("caches", caches, Measure::shown(&what, "at most 2", text))?);
                    ours.push((caches, format!("{} {name}", case.name)));
                } else {
                    measures.push(Measure::shown(&what, "", text));
                }
            }
        }
        charts.push(throughput(case, &names, of, parameters.smoothed));
        charts.extend(partitions(case, &of[0].outcome.samples));
    }
    ours.sort_by(|a, b| b.0.total_cmp(&a.0));
    let within = ours.iter().filter(|(caches, _)| *caches <= 2.0).count();
    let worst = ours.first().map_or(String::new(), |(caches, name)| format!("{name} {caches:.1}"));
    Ok(Finding::new(format!("{within} of {} within two caches; the longest: {worst}", ours.len()), measures, charts))
}

impl Case {
    /// A small part of it.
    fn shorten(&mut self, times: u64) {
        self.loads.iter_mut().for_each(|load| load.reads /= times);
        self.moments.iter_mut().for_each(|at| *at /= times as f64);
        for (_, slow) in &mut self.slow {
            slow.at_s /= times as f64;
            slow.until_s = slow.until_s.map(|until| until / times as f64);
        }
    }

    /// Runs it under a policy.
    fn run(&self, policy: Policy, samples: usize, context: &Context<'_>) -> Result<Ran, Error> {
        let scenario = |load: &Load| Scenario {
            seed: context.seed,
            devices: self.devices.clone(),
            even: false,
            memory_bytes: self.memory_mib << 20,
            block_bytes: self.block_kib << 10,
            contexts: true,
            kind: if self.handlers > 0 { Kind::Server { handlers: self.handlers } } else { Kind::Programs },
            parts: load.parts.clone(),
            reads: load.reads,
        };
        let (mut requests, mut ends) = (Vec::new(), Vec::new());
        let (mut random, mut names) = (Random::new(!context.seed), Names::new(self.devices.len()));
        for (number, load) in (0..).zip(&self.loads) {
            let from = requests.len();
            scenario(load).ask(&mut random, &mut names, &mut requests);
            // A context is a place in a program, and each load has its own.
            requests[from..].iter_mut().for_each(|request| request.context += number * 16);
            ends.push(requests.iter().map(|request| u64::from(request.len)).sum::<u64>());
        }
        if let (Some(late), Some(&first)) = (self.late, self.moments.first()) {
            let mut begun = 0;
            for request in requests.iter_mut().filter(|request| request.handler > late) {
                // They are there from the beginning, and read but their first block until then.
                let pause = if request.handler == begun { (first * 1e9) as u64 } else { 0 };
                begun = request.handler;
                request.at = request.at.plus(pause);
            }
        }
        let workload = scenario(&self.loads[0]).load(requests)?;
        let mut setup = scenario(&self.loads[0]).setup(policy, &workload)?;
        for &(device, slow) in &self.slow {
            setup.devices[device].slowdowns.push(slow);
        }
        setup.limit = self.moments.last().map(|&end| Span::Seconds(end));
        let whole = match self.moments.last() {
            Some(&end) => end,
            None => self.length(&setup, &workload, context)?,
        };
        setup.samples = Some(Samples::Seconds(whole / (samples * (self.phases.len() + 1)) as f64));
        let outcome = run(&setup, &workload, context.watch)?;
        let moments = if self.moments.is_empty() {
            let at = |end: &u64| outcome.samples.iter().find(|sample| sample.bytes >= *end).map_or(whole, |s| s.at);
            ends.iter().map(at).collect()
        } else {
            self.moments.clone()
        };
        Ok(Ran { outcome, moments })
    }

    /// How long it takes, seconds.
    fn length(&self, setup: &Setup, workload: &Workload, context: &Context<'_>) -> Result<f64, Error> {
        Ok(run(setup, workload, context.watch)?.seconds)
    }
}

/// The phases between the moments.
fn phases<'a>(samples: &'a [Sample], moments: &'a [f64]) -> impl Iterator<Item = Phase<'a>> {
    moments.windows(2).map(|ends| {
        let place = |at: f64| samples.partition_point(|sample| sample.at < at);
        let samples = &samples[place(ends[0])..place(ends[1]).max(place(ends[0]))];
        Phase { samples, steady: rate(&samples[samples.len() * 2 / 3..]) }
    })
}

impl Phase<'_> {
    /// The data fetched, in caches, and the seconds gone by when readers got nine
    /// tenths of the steady figure: over the next few samples, and over all that is left.
    fn settled(&self, capacity: u64, smoothed: usize) -> (f64, f64) {
        let enough = |samples: &[Sample]| rate(samples) >= 0.9 * self.steady;
        let Some(first) = self.samples.first() else { return (f64::NAN, f64::NAN) };
        let settled = (0..self.samples.len().saturating_sub(smoothed))
            .find(|&at| enough(&self.samples[at..=at + smoothed]) && enough(&self.samples[at..]));
        settled.map_or((f64::INFINITY, f64::INFINITY), |at| {
            let sample = &self.samples[at];
            ((sample.fetched - first.fetched) as f64 / capacity as f64, sample.at - first.at)
        })
    }
}

/// Bytes a second from the first sample to the last.
fn rate(samples: &[Sample]) -> f64 {
    let ends = samples.first().zip(samples.last()).filter(|(first, last)| last.at > first.at);
    ends.map_or(f64::NAN, |(first, last)| (last.bytes - first.bytes) as f64 / (last.at - first.at))
}

fn throughput(case: &Case, names: &[&String], of: &[Ran], smoothed: usize) -> Chart {
    let line = |(name, ran): (&&String, &Ran)| Series {
        name: (*name).clone(),
        points: ran
            .outcome
            .samples
            .windows(smoothed + 1)
            .map(|window| (window[smoothed].at, rate(window) / 1e6))
            .collect(),
    };
    Chart {
        title: format!("{}: throughput", case.name),
        x: Axis::linear("seconds"),
        y: Axis::linear("MB/s"),
        series: names.iter().zip(of).map(line).collect(),
    }
}

/// The partitions of devices, if there are several.
fn partitions(case: &Case, samples: &[Sample]) -> Option<Chart> {
    let count = samples.first()?.partitions.len();
    let series = (0..count).map(|device| Series {
        name: format!("{device}: {}", case.devices[device]),
        points: samples.iter().map(|sample| (sample.at, f64::from(sample.partitions[device].frames))).collect(),
    });
    (count > 1).then(|| Chart {
        title: format!("{}: partitions", case.name),
        x: Axis::linear("seconds"),
        y: Axis::linear("blocks"),
        series: series.collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten samples a second apart, at these rates, ten blocks fetched before each.
    fn samples(rates: &[u64]) -> Vec<Sample> {
        let mut bytes = 0;
        let sample = |(at, rate): (u32, &u64)| {
            bytes += rate;
            Sample { at: at.into(), bytes, fetched: u64::from(at) * 10, partitions: vec![] }
        };
        (0..).zip(rates).map(sample).collect()
    }

    #[test]
    fn who_comes_back_has_come_back_once_the_rest_is_good() {
        // Good for a moment, bad, better, good.
        let rates = [100, 100, 100, 10, 10, 10, 50, 95, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100];
        let samples = samples(&rates);
        let moments = [0.0, 17.0];
        let phase = phases(&samples, &moments).next().unwrap();
        assert_eq!((phase.samples.len(), phase.steady), (17, 100.0));
        assert_eq!(phase.settled(20, 2), (3.0, 6.0), "from the sample after which it is 95 and 100");
    }

    #[test]
    fn what_never_changes_is_there_at_once() {
        let samples = samples(&[7; 30]);
        let moments = [3.0, 12.0, 30.0];
        let settled: Vec<(f64, f64)> = phases(&samples, &moments).map(|phase| phase.settled(20, 5)).collect();
        assert_eq!(settled, [(0.0, 0.0); 2]);
    }
}
