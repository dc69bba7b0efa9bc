//! sac-fault: disks of sixteen that turn slow in the middle of a run: how partitions follow, and
//! who copes (SAC §5.5, Fig. 8).

use forebay_device::slowdown::Slowdown;
use serde::Deserialize;

use crate::disks::{Case, Disks, Figures, Old, Point, Trace, load, run};
use crate::line::{self, Line};
use crate::{Context, Error, Experiment, Finding, Job, Measure};
use forebay_sim::chart::{Axis, Chart, Series};
use forebay_sim::timed::{Outcome, Sample, Samples};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    #[serde(default)]
    disks: Disks,
    trace: Trace,
    /// How many disks turn slow.
    counts: Vec<u32>,
    /// When, seconds; and how many times as long everything takes then.
    at_s: f64,
    factor: f64,
    /// How many samples are taken until then.
    samples: u32,
    policies: Policies,
    /// Policies that are only shown.
    #[serde(default)]
    others: Vec<String>,
}

/// The paper's four.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Policies {
    landlord: String,
    eager: String,
    clock: String,
    lazy: String,
}

impl Policies {
    fn all(&self) -> [&str; 4] {
        [&self.landlord, &self.eager, &self.clock, &self.lazy].map(|name| name.as_str())
    }
}

impl Parameters {
    /// Every policy with every number of disks that turn slow.
    fn cases(&self, trace: &forebay_sim::timed::Workload, job: Job<'_>) -> Result<Vec<Case>, Error> {
        let (slow, name) = (Slowdown { at_s: self.at_s, until_s: None, factor: self.factor }, &self.trace.name);
        let mut cases = Vec::new();
        for policy in self.run() {
            for &count in &self.counts {
                let mut setup = self.disks.setup(policy, Old::default(), trace, job)?;
                self.disks.slow_ones(count).for_each(|number| setup.devices[number].slowdowns.push(slow));
                setup.samples = Some(Samples::Seconds(self.at_s / f64::from(self.samples)));
                let (sweep, trace, policy) = (name.clone(), name.clone(), policy.to_owned());
                cases.push(Case { sweep, trace, policy, at: count.into(), setup });
            }
        }
        Ok(cases)
    }

    /// The paper's policies, and those that are only shown.
    fn run(&self) -> impl Iterator<Item = &str> {
        self.policies.all().into_iter().chain(self.others.iter().map(String::as_str))
    }
}

/// The first and the last.
fn ends(places: &mut Vec<u32>) {
    if places.len() > 2 {
        places.drain(1..places.len() - 1);
    }
}

pub(crate) fn check(experiment: &Experiment, context: &Context<'_>) -> Result<Finding, Error> {
    let mut parameters: Parameters = experiment.parameters()?;
    if context.quick {
        // As the trace.
        parameters.at_s /= 60.0;
        ends(&mut parameters.counts);
    }
    let Parameters { disks, trace, counts, at_s, policies, .. } = &parameters;
    let traces = load(std::slice::from_ref(trace), experiment, context)?;
    let cases = parameters.cases(&traces[&trace.name], Job { experiment, context })?;
    let figures = run(cases, &traces, experiment, context)?;
    let found = Found { figures: &figures, trace: &trace.name, at_s: *at_s, slow: disks.slow as usize, policies };
    let one = f64::from(counts.first().copied().unwrap_or(0));
    let many = f64::from(counts.last().copied().unwrap_or(0));
    let mut measures = found.followed(one, experiment)?;
    measures.extend(found.throughputs(one, many, experiment)?);
    let tenths = |line: Line| line.listed(|rate| format!("{rate:.1}"));
    for policy in parameters.run() {
        let what = format!("{policy}, MB/s by slow disks, the whole run");
        measures.push(Measure::shown(&what, "", tenths(figures.throughput(&trace.name, policy))));
        let what = format!("{policy}, MB/s by slow disks, since they are");
        measures.push(Measure::shown(&what, "", tenths(found.since(policy))));
    }
    let at = |policy: &str, count| figures.throughput(&trace.name, policy).at(count);
    let ours = format!(
        "with one slow disk eager {:.1}, landlord {:.1}, clock {:.1} MB/s; with {many} eager {:.1}, landlord {:.1}",
        at(&policies.eager, one),
        at(&policies.landlord, one),
        at(&policies.clock, one),
        at(&policies.eager, many),
        at(&policies.landlord, many)
    );
    let line = |policy: &str| {
        let points = figures.throughput(&trace.name, policy).points();
        Series { name: policy.to_owned(), points }
    };
    let throughput = Chart {
        title: "Throughput".to_owned(),
        x: Axis::linear("disks that turn slow"),
        y: Axis::linear("MB/s"),
        series: parameters.run().map(line).collect(),
    };
    Ok(Finding::new(ours, measures, vec![found.sizes(one)?, throughput]))
}

struct Found<'a> {
    figures: &'a Figures,
    trace: &'a str,
    at_s: f64,
    /// The disk that always turns slow.
    slow: usize,
    policies: &'a Policies,
}

impl Found<'_> {
    fn outcome(&self, policy: &str, count: f64) -> Result<&Outcome, Error> {
        let same = |point: &&Point| point.policy == policy && point.at == count;
        let point = self.figures.points.iter().find(same);
        point.map(|point| &point.outcome).ok_or(Error::Stopped)
    }

    /// Throughput since the disks are slow, by how many are.
    fn since(&self, policy: &str) -> Line {
        let ours = self.figures.points.iter().filter(|point| point.policy == policy);
        let since = |point: &Point| after(&point.outcome.samples, self.at_s);
        ours.map(|point| line::Point { at: point.at, value: since(point) }).collect()
    }

    /// The left graph: whether the partition of the slow disk finds its size.
    fn followed(&self, count: f64, experiment: &Experiment) -> Result<Vec<Measure>, Error> {
        let samples = &self.outcome(&self.policies.eager, count)?.samples;
        let size = |sample: &Sample| sample.partitions.get(self.slow).map_or(0.0, |share| f64::from(share.size));
        let others = |sample: &Sample| {
            let all: f64 = sample.partitions.iter().map(|share| f64::from(share.size)).sum();
            (all - size(sample)) / (sample.partitions.len().max(2) - 1) as f64
        };
        let ratio = |sample: &Sample| size(sample) / others(sample);
        let before: Vec<&Sample> = samples.iter().filter(|sample| sample.at <= self.at_s).collect();
        let last = samples.last().map_or(0.0, |sample| sample.at);
        let end = (self.at_s + last) / 2.0;
        let settled: Vec<&Sample> = samples.iter().filter(|sample| sample.at >= end).collect();
        let mean = |of: &dyn Fn(&Sample) -> f64, over: &[&Sample]| {
            over.iter().map(|sample| of(sample)).sum::<f64>() / over.len() as f64
        };
        let (first, right) = (mean(&ratio, &before[before.len() / 2..]), mean(&ratio, &settled));
        let nine_tenths = first + (right - first) * 0.9;
        let reached = samples.iter().find(|sample| sample.at > self.at_s && ratio(sample) >= nine_tenths);
        let seconds = reached.map_or(f64::INFINITY, |sample| sample.at - self.at_s);
        let wait = |sample: &Sample| {
            sample.partitions.get(self.slow).map_or(f64::NAN, |share| f64::from(share.relative) / 1000.0)
        };
        let waits = mean(&wait, &settled);
        Ok(vec![
            experiment.judged(
                "grown",
                right / first,
                Measure::shown(
                    "eager-lru: the slow disk's partition over another's, at last to before",
                    "increased",
                    format!("{first:.2} before, {right:.2} in the second half since"),
                ),
            )?,
            experiment.judged(
                "quickly",
                seconds / (last - self.at_s),
                Measure::shown(
                    "eager-lru: when nine tenths of that way are made, as a part of the time since",
                    "quickly",
                    format!("{seconds:.0} s of {:.0}", last - self.at_s),
                ),
            )?,
            experiment.judged(
                "equal",
                waits,
                Measure::shown(
                    "eager-lru: the wait for the slow disk over the mean, at last",
                    "approximately equal",
                    format!("{waits:.2}"),
                ),
            )?,
        ])
    }

    /// The right graph.
    fn throughputs(&self, one: f64, many: f64, experiment: &Experiment) -> Result<Vec<Measure>, Error> {
        let Policies { landlord, eager, clock, lazy } = self.policies;
        let at = |policy: &str, count| self.figures.throughput(self.trace, policy).at(count);
        let judged = |rule: &str, value: f64, what: &str, paper: &str| {
            experiment.judged(rule, value, Measure::shown(what, paper, format!("{value:.2}")))
        };
        let all = self.policies.all().map(|policy| at(policy, one)).into_iter();
        let (least, best) = (all.clone().fold(f64::INFINITY, f64::min), all.fold(0.0, f64::max));
        let ahead = at(eager, one) / at(landlord, one);
        let behind = at(landlord, many) / at(eager, many);
        let what = format!("landlord over eager-lru, {many} slow disks");
        Ok(vec![
            judged("eager-one", at(eager, one), "eager-lru, one slow disk, MB/s", "54")?,
            judged("landlord-one", at(landlord, one), "landlord, one slow disk, MB/s", "48")?,
            judged("ahead", ahead, "eager-lru over landlord, one slow disk", "54 of 48: 1.13")?,
            judged("lazy-one", at(lazy, one) / best, "lazy-clock over the best, one slow disk", "nearly as well")?,
            judged("clock-one", at(clock, one) / least, "clock over the least, one slow disk", "the least well")?,
            judged("many", behind, &what, "better")?,
        ])
    }

    /// The sizes that the partitions are meant to have.
    fn sizes(&self, count: f64) -> Result<Chart, Error> {
        let samples = &self.outcome(&self.policies.eager, count)?.samples;
        let line = |name: String, of: &dyn Fn(&Sample) -> u32| Series {
            name,
            points: samples.iter().map(|sample| (sample.at, f64::from(of(sample)))).collect(),
        };
        let others = |sample: &Sample| -> Vec<u32> {
            let others = sample.partitions.iter().enumerate().filter(|&(number, _)| number != self.slow);
            others.map(|(_, share)| share.size).collect()
        };
        let series = vec![
            line(format!("disk {}", self.slow), &|sample| {
                sample.partitions.get(self.slow).map_or(0, |share| share.size)
            }),
            line("the largest of the others".to_owned(), &|sample| others(sample).into_iter().max().unwrap_or(0)),
            line("the smallest of the others".to_owned(), &|sample| others(sample).into_iter().min().unwrap_or(0)),
        ];
        Ok(Chart {
            title: "Partition sizes, eager-lru".to_owned(),
            x: Axis::linear("seconds"),
            y: Axis::linear("blocks"),
            series,
        })
    }
}

/// 10^6 bytes a second from a moment on.
fn after(samples: &[Sample], at_s: f64) -> f64 {
    let since = samples.iter().find(|sample| sample.at >= at_s);
    let span = since.zip(samples.last()).filter(|(since, last)| last.at > since.at);
    span.map_or(f64::NAN, |(since, last)| (last.bytes - since.bytes) as f64 / 1e6 / (last.at - since.at))
}
