//! Caches of given capacities over a trace.

use super::cache::{Cache, cache, slots};
use super::contexts;
use super::opt::{self, NextUses};
use super::passes::Passes;
use super::references::References;
use super::sample::Sample;
use super::sweep::{caches_per_pass, serve, threads};
use super::{Algorithm, Capacity, Error, Open, Options, Outcome, Run};
use crate::Watch;

/// A cache of more blocks is built only once the trace is known to have as many: 20 MB of slots.
const LARGE: u64 = 1 << 20;

/// Replays a trace through a cache for each of `runs`; outcomes come in their order. If `watch`
/// ends it early, it leaves out those that were not finished.
///
/// The trace is read once for up to eight online caches a thread, once for OPT, and once before if
/// a capacity is a share of its distinct blocks or so large that they may all fit. Memory: for each
/// cache at work 16 to 20 bytes a block that it holds or remembers, and 4 bytes a distinct block;
/// about 12 bytes a distinct block for the keys; for OPT 4.1 bytes a reference.
pub fn replay(open: &Open<'_>, options: &Options, runs: &[Run], watch: &dyn Watch) -> Result<Vec<Outcome>, Error> {
    let shape = open()?.shape();
    let large = |run: &Run| match run.capacity.blocks(shape, options, 0) {
        Ok(blocks) => run.capacity.is_share() || blocks > LARGE,
        Err(_) => true,
    };
    let counting = runs.iter().any(large);
    let online = groups(runs.iter().map(|run| run.algorithm));
    let optimal = runs.len() - online.iter().map(Vec::len).sum::<usize>();
    let online: usize = online.iter().map(|group| group.len().div_ceil(caches_per_pass(options))).sum();
    // OPT's reading is a pass, and each of its runs another.
    let reading = usize::from(optimal > 0) + optimal;
    let passes = Passes::new(watch, (usize::from(counting) + online + reading) as u64);
    let mut trace = Trace { open, options, sample: Sample::ALL, size: None };
    if counting && !trace.count(&passes)? {
        return Ok(Vec::new());
    }
    let distinct = trace.size.map_or(0, |size| u64::from(size.distinct));
    let blocks = |capacity: Capacity| capacity.blocks(shape, options, distinct);
    let capacities = runs.iter().map(|run| blocks(run.capacity)).collect::<Result<Vec<_>, _>>()?;
    let jobs: Vec<Job> =
        runs.iter().zip(&capacities).map(|(run, &blocks)| Job { algorithm: run.algorithm, blocks }).collect();
    let misses = trace.misses(&jobs, &passes)?;
    let references = trace.size.map_or(0, |size| size.references);
    let done = jobs.iter().zip(misses).filter_map(|(job, misses)| Some((job, misses?)));
    Ok(done.map(|(job, misses)| Outcome::new(job.algorithm, job.blocks, references, misses)).collect())
}

/// The algorithms that go through passes of their own: plain policies, which need no callers, and
/// those with contexts. Each by its place.
fn groups(algorithms: impl Iterator<Item = Algorithm> + Clone) -> [Vec<usize>; 2] {
    let of = |wanted: fn(&Algorithm) -> bool| {
        algorithms.clone().enumerate().filter(|(_, algorithm)| wanted(algorithm)).map(|(at, _)| at).collect()
    };
    [
        of(|algorithm| matches!(algorithm, Algorithm::Online(_))),
        of(|algorithm| matches!(algorithm, Algorithm::Contexts(..))),
    ]
}

/// Reads a trace for its size alone. `None` if it was ended early.
pub fn size(open: &Open<'_>, options: &Options, watch: &dyn Watch) -> Result<Option<Size>, Error> {
    let mut trace = Trace { open, options, sample: Sample::ALL, size: None };
    trace.count(&Passes::new(watch, 1))?;
    Ok(trace.size)
}

/// An algorithm with a cache of so many blocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    pub(super) algorithm: Algorithm,
    pub(super) blocks: u64,
}

/// How large a trace is, in blocks (or objects).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Size {
    /// How many different ones are referred to; with a sample, how many of the sample.
    pub distinct: u32,
    /// References to all of them.
    pub references: u64,
    /// References to those sampled.
    pub(super) sampled: u64,
}

/// A trace, or a sample of it.
pub(super) struct Trace<'a> {
    pub(super) open: &'a Open<'a>,
    pub(super) options: &'a Options,
    pub(super) sample: Sample,
    pub(super) size: Option<Size>,
}

impl Trace<'_> {
    pub(super) fn references(&self) -> Result<References, Error> {
        References::open(self.open, self.options, self.sample.threshold)
    }

    /// With callers, if `callers`.
    fn references_for(&self, callers: bool) -> Result<References, Error> {
        if callers {
            return References::with_callers(self.open, self.options, self.sample.threshold);
        }
        self.references()
    }

    /// Reads the trace for its size. `false` if it was ended early.
    pub(super) fn count(&mut self, passes: &Passes<'_>) -> Result<bool, Error> {
        Ok(serve(self.references()?, &mut [], self.options, passes)?.map(|read| self.learn(&read, passes)).is_some())
    }

    pub(super) fn learn(&mut self, read: &References, passes: &Passes<'_>) {
        let (distinct, references, sampled) = (read.distinct(), read.count(), read.sampled());
        self.size = Some(Size { distinct, references, sampled });
        passes.next();
    }

    /// The misses of every job in the sample; none of those that were ended early.
    pub(super) fn misses(&mut self, jobs: &[Job], passes: &Passes<'_>) -> Result<Vec<Option<u64>>, Error> {
        let mut misses = vec![None; jobs.len()];
        if jobs.iter().any(|job| job.algorithm == Algorithm::Opt) && !self.optimal(jobs, &mut misses, passes)? {
            return Ok(misses);
        }
        let most = caches_per_pass(self.options);
        let [plain, contexts] = groups(jobs.iter().map(|job| job.algorithm));
        for together in plain.chunks(most).chain(contexts.chunks(most)) {
            if !self.online(jobs, together, &mut misses, passes)? {
                break;
            }
        }
        Ok(misses)
    }

    /// Serves the trace to caches for the jobs at `together`. `false` if it was ended early.
    fn online(
        &mut self,
        jobs: &[Job],
        together: &[usize],
        misses: &mut [Option<u64>],
        passes: &Passes<'_>,
    ) -> Result<bool, Error> {
        let mut caches: Vec<Box<dyn Cache>> = Vec::new();
        let mut places = Vec::new();
        for &at in together {
            let (policy, settings) = match jobs[at].algorithm {
                Algorithm::Opt => continue,
                Algorithm::Online(policy) => (policy, None),
                Algorithm::Contexts(policy, settings) => (policy, Some(settings)),
            };
            let blocks = jobs[at].blocks;
            match self.size {
                // Nothing is ever evicted, under any policy.
                Some(size) if u64::from(size.distinct) <= blocks => misses[at] = Some(u64::from(size.distinct)),
                _ => {
                    let frames = u32::try_from(blocks)
                        .ok()
                        .filter(|&frames| slots(policy, settings.is_some(), frames) <= 1 << 32);
                    let reason = "frames and ghosts are more than 2^32: take larger blocks, or a sample";
                    let capacity = Capacity::Blocks(blocks);
                    let frames = frames.ok_or(Error::Capacity { capacity, reason })?;
                    caches.push(match settings {
                        None => cache(policy, frames),
                        Some(settings) => contexts::cache(policy, settings, frames),
                    });
                    places.push(at);
                }
            }
        }
        if caches.is_empty() && self.size.is_some() {
            passes.next();
            return Ok(true);
        }
        let callers = together.iter().any(|&at| matches!(jobs[at].algorithm, Algorithm::Contexts(..)));
        let Some(read) = serve(self.references_for(callers)?, &mut caches, self.options, passes)? else {
            return Ok(false);
        };
        self.learn(&read, passes);
        places.iter().zip(&caches).for_each(|(&at, cache)| misses[at] = Some(cache.misses()));
        Ok(true)
    }

    /// Runs OPT for its jobs, a thread each. `false` if it was ended early.
    fn optimal(&mut self, jobs: &[Job], misses: &mut [Option<u64>], passes: &Passes<'_>) -> Result<bool, Error> {
        let Some((next, read)) = NextUses::of(self.references()?, passes)? else { return Ok(false) };
        self.learn(&read, passes);
        drop(read);
        let mut left: Vec<_> = jobs.iter().zip(misses).filter(|(job, _)| job.algorithm == Algorithm::Opt).collect();
        let mut all = true;
        for together in left.chunks_mut(threads(self.options)) {
            std::thread::scope(|scope| {
                for (job, misses) in together.iter_mut() {
                    let next = &next;
                    scope.spawn(move || **misses = opt::misses(next, job.blocks, passes));
                }
            });
            together.iter().for_each(|_| passes.next());
            all &= together.iter().all(|(_, misses)| misses.is_some());
        }
        Ok(all)
    }
}
