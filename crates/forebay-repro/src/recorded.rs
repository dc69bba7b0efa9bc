//! The recorded workloads (`workloads/`): what real programs read and from which contexts, and how
//! often caches of several sizes miss on them.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use forebay_trace::{Memory, Request, Shape};

use crate::line::{Line, Point};
use crate::server::Server;
use crate::{Context, Error, Experiment, Job};
use forebay_sim::chart::{Axis, Chart, Series};
use forebay_sim::timed::{self, Setup, Workload};
use forebay_sim::untimed::{self, Algorithm, Capacity, Options, Run, Size};
use forebay_sim::{Unwatched, processors, sweep};

macro_rules! workloads {
    ($($name:literal),+ $(,)?) => {
        /// By their names, as they are shipped.
        const WORKLOADS: &[(&str, &[u8])] =
            &[$(($name, include_bytes!(concat!("../../../workloads/", $name, ".parquet")))),+];
    };
}

workloads!("cscope", "gnuplot", "scan", "kernel", "glimpse", "sqlite", "postgres");

/// The paper's page, bytes.
const PAGE: u32 = 4096;
/// Of a small part, so much of a workload: the first half has loops that come again.
const PART: usize = 2;

/// A cache that is asked, as figures call it.
pub(crate) struct Cache {
    pub(crate) policy: String,
    pub(crate) algorithm: Algorithm,
}

/// A workload in memory.
#[derive(Debug)]
pub(crate) struct Recorded {
    requests: Vec<Request>,
    shape: Shape,
    /// The name.
    pub(crate) name: String,
    /// In pages.
    pub(crate) size: Size,
}

impl Recorded {
    /// The workload of that name; if a small part will do, its first half.
    pub(crate) fn load(name: &str, experiment: &Experiment, context: &Context<'_>) -> Result<Recorded, Error> {
        let names = || WORKLOADS.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
        let found = WORKLOADS.iter().find(|(known, _)| *known == name);
        let (_, bytes) =
            found.ok_or_else(|| experiment.wrong(&format!("no workload is called `{name}`; there are {}", names())))?;
        let path = format!("{name}.parquet");
        let mut source =
            forebay_trace::open_bytes(Path::new(&path), bytes.to_vec(), &forebay_trace::Options::default())?;
        let shape = source.shape();
        let mut requests = Vec::new();
        while source.read(&mut requests)? > 0 {}
        if context.quick {
            requests.truncate(requests.len() / PART);
        }
        let size = untimed::size(&|| opened(&requests, shape), &options(), &Unwatched)?.ok_or(Error::Stopped)?;
        Ok(Recorded { size, requests, shape, name: name.to_owned() })
    }

    /// The misses of caches of these shares of the distinct pages, policy by policy.
    pub(crate) fn misses(&self, caches: &[Cache], shares: &[f64], context: &Context<'_>) -> Result<Curves, Error> {
        let capacity = |&share: &f64| Capacity::Share(share);
        let run = |algorithm| shares.iter().map(capacity).map(move |capacity| Run { algorithm, capacity });
        let runs: Vec<Run> = caches.iter().flat_map(|cache| run(cache.algorithm)).collect();
        let outcomes = untimed::replay(&|| opened(&self.requests, self.shape), &options(), &runs, context.watch)?;
        if outcomes.len() < runs.len() {
            return Err(Error::Stopped);
        }
        let curve = |(at, cache): (usize, &Cache)| {
            let of = &outcomes[at * shares.len()..][..shares.len()];
            Curve {
                policy: cache.policy.clone(),
                points: of.iter().map(|o| (o.capacity_blocks, o.miss_ratio)).collect(),
            }
        };
        Ok(Curves { shares: shares.to_vec(), curves: caches.iter().enumerate().map(curve).collect() })
    }
}

impl Recorded {
    /// All of it, in order.
    pub(crate) fn requests(&self) -> &[Request] {
        &self.requests
    }

    /// The time of a reader who asks for all of it in its order, policy by policy, with memory for
    /// these shares of the distinct pages, on a server's drive.
    pub(crate) fn timed(
        &self,
        policies: &[String],
        shares: &[f64],
        server: &Server,
        job: Job<'_>,
    ) -> Result<Vec<timed::Outcome>, Error> {
        let Job { experiment, context } = job;
        // The asker is left out: where a process waits for another, a loop of so many at a time
        // would run them side by side.
        let requests = self.requests.iter().map(|request| Request { handler: 0, ..*request }).collect();
        let workload = Workload::load(&mut Memory::new(requests, self.shape))?;
        let mut setups = Vec::new();
        for name in policies {
            let policy = experiment.policy(name)?;
            for share in shares {
                let pages = (self.size.distinct as f64 * share).ceil() as u64;
                setups.push(server.alone(policy, pages * u64::from(PAGE), context.seed)?);
            }
        }
        let (done, all) = (AtomicUsize::new(0), setups.len());
        let one = |setup: &Setup| {
            let outcome = timed::run(setup, &workload, context.watch)?;
            context.step(done.fetch_add(1, Ordering::Relaxed) + 1, all)?;
            Ok(outcome)
        };
        let outcomes = sweep(&setups, processors(), || context.watch.stopped(), one);
        outcomes.into_iter().map(|outcome| outcome.unwrap_or(Err(Error::Stopped))).collect()
    }
}

fn opened(requests: &[Request], shape: Shape) -> Result<Box<dyn forebay_trace::Source>, forebay_trace::Error> {
    Ok(Box::new(Memory::new(requests.to_vec(), shape)))
}

/// Written pages are in the cache afterwards as read ones are: so it was in the paper's page
/// cache.
fn options() -> Options {
    Options { block_bytes: Some(PAGE), reads_only: false, threads: None }
}

/// Miss ratios of several policies over sizes.
#[derive(Debug)]
pub(crate) struct Curves {
    /// Of the distinct pages, in growing order.
    shares: Vec<f64>,
    curves: Vec<Curve>,
}

/// Of one policy.
#[derive(Debug)]
struct Curve {
    policy: String,
    /// Pages that the cache holds, and the share of references that it misses.
    points: Vec<(u64, f64)>,
}

impl Curves {
    /// Miss ratios of a policy by shares; empty if it was not run.
    pub(crate) fn line(&self, policy: &str) -> Line {
        let found = self.curves.iter().find(|curve| curve.policy == policy);
        let points = found.map_or(&[][..], |curve| &curve.points);
        self.shares.iter().zip(points).map(|(&at, &(_, value))| Point { at, value }).collect()
    }

    /// Misses of one policy over those of another, by shares.
    pub(crate) fn ratios(&self, policy: &str, over: &str) -> Line {
        self.line(policy).over(&self.line(over))
    }

    pub(crate) fn chart(&self, title: &str) -> Chart {
        let points = |curve: &Curve| curve.points.iter().map(|&(pages, misses)| (pages as f64, misses)).collect();
        Chart {
            title: title.to_owned(),
            x: Axis::linear("cache, pages of 4 KiB"),
            y: Axis::linear("miss ratio"),
            series: self
                .curves
                .iter()
                .map(|curve| Series { name: curve.policy.clone(), points: points(curve) })
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table in `workloads/README.md` agrees with the workloads.
    #[test]
    fn the_table_of_workloads_is_true() {
        let readme = include_str!("../../../workloads/README.md");
        let experiment = crate::experiments().unwrap().remove(0);
        let context = Context { seed: 1, quick: false, watch: &Unwatched };
        for (name, bytes) in WORKLOADS {
            let recorded = Recorded::load(name, &experiment, &context).unwrap();
            assert_eq!(recorded.shape, Shape::Ranges { block_bytes: PAGE }, "{name}");
            let distinct = |of: fn(&Request) -> u32| {
                let mut all: Vec<u32> = recorded.requests.iter().map(of).filter(|&number| number > 0).collect();
                all.sort_unstable();
                all.dedup();
                all.len()
            };
            let cells = [
                recorded.size.references as usize,
                recorded.size.distinct as usize,
                recorded.requests.len(),
                distinct(|request| request.context),
                distinct(|request| request.handler),
                bytes.len() / 1000,
            ];
            let row = format!("| {name} | {} |", cells.map(|cell| cell.to_string()).join(" | "));
            assert!(readme.contains(&row), "workloads/README.md lacks:\n{row}");
        }
    }

    #[test]
    fn an_unknown_workload_is_refused() {
        let experiment = crate::experiments().unwrap().remove(0);
        let context = Context { seed: 1, quick: true, watch: &Unwatched };
        let error = Recorded::load("osdb", &experiment, &context).unwrap_err().to_string();
        assert!(error.contains("`osdb`; there are cscope, "), "{error}");
    }
}
