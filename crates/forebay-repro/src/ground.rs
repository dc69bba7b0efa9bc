//! A paper's ground: its workload on its machine, described by a few words, and how well any policy
//! does there, by the paper's own measure. Claims on policies over several papers' grounds
//! ([`auto_best`], [`auto_ablation`]) run these.
//!
//! [`auto_best`]: crate::claims::auto_best
//! [`auto_ablation`]: crate::claims::auto_ablation

use forebay_core::Policy;
use forebay_device::slowdown::Slowdown;
use serde::Deserialize;

use crate::disks::{self, Case, Disks, Old, Trace};
use crate::line::{Line, Point};
use crate::mixture::{Mixed, Mixture};
use crate::raid::{self, Part, Place, Raid, closed};
use crate::recorded::{Cache, Recorded};
use crate::server::{Benchmark, Parameters, Server, Sweep};
use crate::{Error, Job};
use forebay_sim::chart::{Axis, Chart, Series};
use forebay_sim::timed::{self, Outcome, Writes};
use forebay_sim::untimed::Algorithm;

/// Where policies are compared.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ground {
    /// The name.
    pub(crate) name: String,
    /// The paper's own policies.
    pub(crate) presets: Vec<String>,
    /// Others that are shown beside them.
    #[serde(default)]
    pub(crate) shown: Vec<String>,
    pub(crate) on: Machine,
}

/// Which paper's machine, and what runs on it.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Machine {
    /// That of CP and CPEM; throughput, by handlers.
    Node(Node),
    /// That of SCM; response, completion or throughput, by what varies.
    Array(Array),
    /// That of SAC; throughput, by the age of a disk or the number of disks that turn slow.
    Client(Client),
    /// AMP's programs and a cache of their pages; misses, by the cache's share of the pages.
    Pages(Pages),
    /// The same programs on CP's node; time, by the same.
    Program(Program),
    /// Several kinds of programs side by side; the geometric mean of what they get, by memory.
    Mixture(Mixture),
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Node {
    #[serde(default)]
    server: Server,
    benchmark: Benchmark,
    handlers: Vec<u32>,
    seeds: u32,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Array {
    #[serde(default)]
    raid: Raid,
    /// Whether requests come at their times, or when the one before is answered and thought about.
    open: bool,
    /// Beside each other.
    parts: Vec<Part>,
    /// The parameter of the first part that varies, and its values.
    varies: String,
    over: Vec<f64>,
    seconds: f64,
    warm_up: f64,
    seeds: u64,
    of: Of,
}

/// A measure of SCM's.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Of {
    /// Milliseconds, in the mean of all requests.
    Response,
    /// Seconds from a stream's first request to its last answer, in the mean of all streams.
    Completion,
    /// 10^6 bytes a second, all together.
    Throughput,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Client {
    #[serde(default)]
    disks: Disks,
    trace: Trace,
    /// Whether writes go to the disks; else they take no time.
    #[serde(default)]
    writes: bool,
    change: Change,
}

/// The change to disks.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Change {
    /// One is so many years old.
    Age(Vec<u32>),
    /// So many turn slow at a moment, in seconds, and then take so many times as long.
    Fault { count: Vec<u32>, at_s: f64, factor: f64 },
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Pages {
    workload: String,
    /// Of the distinct pages.
    shares: Vec<f64>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Program {
    #[serde(default)]
    server: Server,
    workload: String,
    shares: Vec<f64>,
}

/// The score of one policy at one place.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Score {
    pub(crate) at: f64,
    /// By the ground's measure.
    pub(crate) value: f64,
    /// The devices' reads to the readers' bytes; and the mean size of their requests, 10^3 bytes.
    /// Not numbers where there is no time.
    pub(crate) read: f64,
    pub(crate) request_kb: f64,
    /// The throughput of each part of a mixture, 10^6 bytes a second.
    pub(crate) parts: Vec<f64>,
}

/// The scores of all policies.
#[derive(Clone, Debug)]
pub(crate) struct Scores {
    /// The axis to the right, and the one upwards.
    x: Axis,
    pub(crate) unit: &'static str,
    /// Whether more of it is better.
    more: bool,
    lines: Vec<Scored>,
}

/// The scores of one policy, place by place.
#[derive(Clone, Debug)]
struct Scored {
    policy: String,
    scores: Vec<Score>,
}

impl Scored {
    fn new(policy: &str, scores: impl Iterator<Item = Score>) -> Scored {
        Scored { policy: policy.to_owned(), scores: scores.collect() }
    }
}

/// Milliseconds of a response: a hundredth of one is a page's copy. Seconds and miss ratios are not
/// so small.
const LEAST: f64 = 0.01;

impl Score {
    fn of(at: f64, value: f64, outcomes: &[&Outcome]) -> Score {
        let mean = |of: &dyn Fn(&Outcome) -> f64| {
            outcomes.iter().map(|outcome| of(outcome)).sum::<f64>() / outcomes.len().max(1) as f64
        };
        let read = mean(&|outcome| outcome.device_bytes as f64 / outcome.bytes.max(1) as f64);
        Score { at, value, read, request_kb: mean(&|outcome| outcome.mean_request_kb), parts: Vec::new() }
    }
}

impl Scores {
    /// The measure of a policy, by places.
    pub(crate) fn line(&self, policy: &str) -> Line {
        self.scores(policy).iter().map(|score| Point { at: score.at, value: score.value }).collect()
    }

    pub(crate) fn scores(&self, policy: &str) -> &[Score] {
        self.lines.iter().find(|scored| scored.policy == policy).map_or(&[], |scored| &scored.scores)
    }

    /// How many times as good a policy is as another, whatever is measured; of what is less the
    /// better, [`LEAST`] counts as any less.
    pub(crate) fn ratios(&self, policy: &str, other: &str) -> Line {
        let ratio = |ours: f64, theirs: f64| {
            if self.more { ours / theirs } else { theirs.max(LEAST) / ours.max(LEAST) }
        };
        self.line(policy).with(&self.line(other), ratio)
    }

    /// Of several, the one that is best over all places: by the geometric mean, in which no place
    /// outweighs another.
    pub(crate) fn best<'a>(&self, policies: &'a [String]) -> Option<&'a String> {
        let first = policies.first()?;
        let goodness = |policy: &String| self.ratios(policy, first).geometric_mean();
        policies.iter().max_by(|a, b| goodness(a).total_cmp(&goodness(b)))
    }

    pub(crate) fn chart(&self, title: &str) -> Chart {
        let line = |scored: &Scored| Series { name: scored.policy.clone(), points: self.line(&scored.policy).points() };
        Chart {
            title: title.to_owned(),
            x: self.x.clone(),
            y: Axis::linear(self.unit),
            series: self.lines.iter().map(line).collect(),
        }
    }
}

impl Ground {
    /// All its policies, the paper's first.
    pub(crate) fn policies(&self) -> impl Iterator<Item = &String> {
        self.presets.iter().chain(&self.shown)
    }

    /// Runs policies.
    pub(crate) fn run(&self, policies: &[String], job: Job<'_>) -> Result<Scores, Error> {
        match &self.on {
            Machine::Node(node) => node.run(policies, job),
            Machine::Array(array) => array.run(policies, job),
            Machine::Client(client) => client.run(policies, job),
            Machine::Pages(pages) => pages.run(policies, job),
            Machine::Program(program) => program.run(policies, job),
            Machine::Mixture(mixture) => mixed(mixture, policies, job),
        }
    }

    /// The same at so many of its places, from one end to the other.
    pub(crate) fn thinned(&self, places: usize) -> Ground {
        let mut ground = self.clone();
        match &mut ground.on {
            Machine::Node(node) => thin(&mut node.handlers, places),
            Machine::Array(array) => thin(&mut array.over, places),
            Machine::Client(Client { change: Change::Age(of) | Change::Fault { count: of, .. }, .. }) => {
                thin(of, places)
            }
            Machine::Pages(pages) => thin(&mut pages.shares, places),
            Machine::Program(program) => thin(&mut program.shares, places),
            Machine::Mixture(mixture) => thin(&mut mixture.memory_mib, places),
        }
        ground
    }
}

/// Keeps so many of a list: the first and the last, and what lies evenly between; of one, the
/// middle.
fn thin<T: Copy>(list: &mut Vec<T>, keep: usize) {
    if keep > 0 && list.len() > keep {
        let last = list.len() - 1;
        let kept = |number: usize| list[if keep == 1 { list.len() / 2 } else { number * last / (keep - 1) }];
        *list = (0..keep).map(kept).collect();
    }
}

impl Node {
    fn run(&self, policies: &[String], job: Job<'_>) -> Result<Scores, Error> {
        let sweep = Sweep {
            benchmarks: vec![self.benchmark.clone()],
            policies: policies.to_vec(),
            handlers: self.handlers.clone(),
            seeds: self.seeds,
        };
        let table = Parameters { server: self.server.clone(), sweep }.run(job.experiment, job.context)?;
        let score = |point: &crate::server::Point| {
            let outcomes: Vec<&Outcome> = point.outcomes.iter().collect();
            Score::of(point.handlers.into(), point.throughput(), &outcomes)
        };
        let line = |policy: &String| {
            let ours = table.points.iter().filter(|point| point.policy == *policy);
            Scored::new(policy, ours.map(score))
        };
        let x = Axis::logarithmic("request handlers at a time");
        Ok(Scores { x, unit: "MB/s", more: true, lines: policies.iter().map(line).collect() })
    }
}

impl Array {
    fn run(&self, policies: &[String], job: Job<'_>) -> Result<Scores, Error> {
        let shorter = if job.context.quick { 0.1 } else { 1.0 };
        let place = |&at: &f64| {
            let mut parts = self.parts.clone();
            if let Some(first) = parts.first_mut() {
                *first = first.with(&self.varies, &at.to_string());
            }
            let load = if self.open { timed::Load::Open { speed: 1.0 } } else { closed() };
            let warm_up = (self.warm_up > 0.0).then_some(self.warm_up * shorter);
            Place { at, parts, load, seconds: (self.seconds > 0.0).then_some(self.seconds * shorter), warm_up }
        };
        let places: Vec<Place> = self.over.iter().map(place).collect();
        let table = raid::run(&places, policies, self.seeds, &self.raid, job)?;
        let score = |row: &raid::Row| {
            let outcomes: Vec<&Outcome> = row.runs.iter().map(|run| &run.outcome).collect();
            Score::of(row.at, row.mean(|run| self.of.of(run)), &outcomes)
        };
        let line =
            |policy: &String| Scored::new(policy, table.rows.iter().filter(|row| row.policy == *policy).map(score));
        let lines = policies.iter().map(line).collect();
        Ok(Scores { x: Axis::linear(&self.varies), unit: self.of.unit(), more: self.of == Of::Throughput, lines })
    }
}

impl Of {
    fn of(self, run: &raid::Run) -> f64 {
        let handlers = &run.streams.handlers;
        match self {
            Of::Response => run.outcome.response_ms,
            Of::Completion => {
                handlers.values().map(|handler| handler.seconds()).sum::<f64>() / handlers.len().max(1) as f64
            }
            Of::Throughput => run.outcome.throughput_mb_s,
        }
    }

    fn unit(self) -> &'static str {
        match self {
            Of::Response => "response, ms",
            Of::Completion => "completion, s",
            Of::Throughput => "MB/s",
        }
    }
}

impl Client {
    fn run(&self, policies: &[String], job: Job<'_>) -> Result<Scores, Error> {
        let Job { experiment, context } = job;
        let traces = disks::load(std::slice::from_ref(&self.trace), experiment, context)?;
        let trace = &traces[&self.trace.name];
        let (Change::Age(places) | Change::Fault { count: places, .. }) = &self.change;
        let mut cases = Vec::new();
        for policy in policies {
            for &place in places {
                let years = if let Change::Age(_) = self.change { place } else { 0 };
                let mut setup = self.disks.setup(policy, Old::one(years), trace, job)?;
                setup.writes = if self.writes { Writes::Device } else { Writes::Skip };
                if let Change::Fault { at_s, factor, .. } = self.change {
                    let slow = Slowdown { at_s, until_s: None, factor };
                    self.disks.slow_ones(place).for_each(|number| setup.devices[number].slowdowns.push(slow));
                }
                let (sweep, trace) = (self.trace.name.clone(), self.trace.name.clone());
                cases.push(Case { sweep, trace, policy: policy.clone(), at: place.into(), setup });
            }
        }
        let figures = disks::run(cases, &traces, experiment, context)?;
        let score = |point: &disks::Point| Score::of(point.at, point.outcome.throughput_mb_s, &[&point.outcome]);
        let line = |policy: &String| {
            Scored::new(policy, figures.points.iter().filter(|point| point.policy == *policy).map(score))
        };
        let x = if let Change::Age(_) = self.change { "age of the disk, years" } else { "disks that turn slow" };
        Ok(Scores { x: Axis::linear(x), unit: "MB/s", more: true, lines: policies.iter().map(line).collect() })
    }
}

impl Pages {
    fn run(&self, policies: &[String], job: Job<'_>) -> Result<Scores, Error> {
        let Job { experiment, context } = job;
        // A replay without time has no prefetching and one device: of a policy its contexts
        // and its replacement are left.
        let algorithm = |name: &String| -> Result<Cache, Error> {
            let algorithm = match experiment.policy(name)? {
                Policy { context: Some(settings), replacement, .. } => Algorithm::Contexts(replacement, settings),
                Policy { replacement, .. } => Algorithm::Online(replacement),
            };
            Ok(Cache { policy: name.clone(), algorithm })
        };
        let algorithms = policies.iter().map(algorithm).collect::<Result<Vec<_>, _>>()?;
        let curves = Recorded::load(&self.workload, experiment, context)?.misses(&algorithms, &self.shares, context)?;
        let score = |Point { at, value }| Score { at, value, read: f64::NAN, request_kb: f64::NAN, parts: Vec::new() };
        let line = |policy: &String| Scored::new(policy, curves.line(policy).iter().map(score));
        let x = Axis::linear("cache, share of the pages");
        Ok(Scores { x, unit: "miss ratio", more: false, lines: policies.iter().map(line).collect() })
    }
}

impl Program {
    fn run(&self, policies: &[String], job: Job<'_>) -> Result<Scores, Error> {
        let recorded = Recorded::load(&self.workload, job.experiment, job.context)?;
        let figures = recorded.timed(policies, &self.shares, &self.server, job)?;
        let line = |(policy, outcomes): (&String, &[Outcome])| {
            let of = |(&share, outcome): (&f64, &Outcome)| Score::of(share, outcome.seconds, &[outcome]);
            Scored::new(policy, self.shares.iter().zip(outcomes).map(of))
        };
        let lines = policies.iter().zip(figures.chunks(self.shares.len().max(1))).map(line).collect();
        Ok(Scores { x: Axis::linear("cache, share of the pages"), unit: "seconds", more: false, lines })
    }
}

fn mixed(mixture: &Mixture, policies: &[String], job: Job<'_>) -> Result<Scores, Error> {
    let line = |(policy, runs): (&String, Vec<Mixed>)| {
        let score = |(&memory, run): (&u64, Mixed)| Score {
            parts: run.shares.clone(),
            ..Score::of(memory as f64, run.progress(), &[&run.outcome])
        };
        Scored::new(policy, mixture.memory_mib.iter().zip(runs).map(score))
    };
    let lines = policies.iter().zip(mixture.run(policies, job)?).map(line).collect();
    Ok(Scores { x: Axis::logarithmic("memory, MiB"), unit: "MB/s, geometric mean of the parts", more: true, lines })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scores(more: bool, lines: &[(&str, [f64; 2])]) -> Scores {
        let score = |(at, &value): (usize, &f64)| Score::of(at as f64, value, &[]);
        let line = |(name, values): &(&str, [f64; 2])| Scored::new(name, values.iter().enumerate().map(score));
        Scores { x: Axis::default(), unit: "", more, lines: lines.iter().map(line).collect() }
    }

    #[test]
    fn what_is_less_the_better_is_turned_round() {
        let lines = [("a", [2.0, 0.0]), ("b", [1.0, 0.02])];
        assert_eq!(scores(true, &lines).ratios("a", "b").points(), [(0.0, 2.0), (1.0, 0.0)]);
        assert_eq!(
            scores(false, &lines).ratios("a", "b").points(),
            [(0.0, 0.5), (1.0, 2.0)],
            "nothing counts as {LEAST}"
        );
    }

    /// The sum would be b's, the product is a's.
    #[test]
    fn the_best_is_best_in_proportion() {
        let names = ["a", "b", "c"].map(str::to_owned);
        let lines = [("a", [10.0, 100.0]), ("b", [4.0, 200.0]), ("c", [9.0, 100.0])];
        assert_eq!(scores(true, &lines).best(&names), Some(&names[0]));
        assert_eq!(scores(false, &lines).best(&names), Some(&names[1]));
        assert_eq!(scores(true, &lines).best(&[]), None);
    }

    #[test]
    fn a_list_is_thinned_from_one_end_to_the_other() {
        let thinned = |keep| {
            let mut list = vec![1, 8, 64, 256, 512];
            thin(&mut list, keep);
            list
        };
        assert_eq!(thinned(1), [64]);
        assert_eq!(thinned(2), [1, 512]);
        assert_eq!(thinned(3), [1, 64, 512]);
        assert_eq!((thinned(0).len(), thinned(9).len()), (5, 5));
    }
}
