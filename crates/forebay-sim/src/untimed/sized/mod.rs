//! Caches that count bytes: an object takes as much room as it has bytes.
//!
//! An object that misses is taken in, if it is admitted and no larger than the cache, once the
//! policy has given up others for its room. As in libCacheSim, an object has the size of the
//! request that brought it until it is given up, and every request counts with its own size.

mod arc;
mod lists;
mod queue;
mod ranked;
mod s3_fifo;
mod two_q;

use std::fmt;
use std::str::FromStr;

use forebay_trace::{Keys, Operation, Request, Shape};
use serde::Serialize;

use super::{Capacity, Error, Open};
use crate::Watch;
use arc::Arc;
use queue::{Order, Queue};
use ranked::{Rank, Ranked};
use s3_fifo::S3Fifo;
use two_q::TwoQ;

/// A policy whose caches can be counted in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SizedPolicy {
    /// The least recently used goes.
    Lru,
    /// The oldest goes.
    Fifo,
    /// The oldest goes, unless it was used since it was looked at last.
    Clock,
    /// As Clock, but those that stay keep their places (Zhang et al., NSDI 2024).
    Sieve,
    /// A small queue, a main one, and ghosts (Yang et al., SOSP 2023).
    S3Fifo,
    /// Recency and frequency, balanced by ghosts (Megiddo and Modha, FAST 2003).
    Arc,
    /// A queue for objects that came, a list for those that came back (Johnson and Shasha, VLDB
    /// 1994).
    TwoQ,
    /// The one with the least cost for its bytes goes, all costs being one (Young, Algorithmica
    /// 2002; Cao and Irani, USITS 1997).
    Landlord,
    /// The same with the number of uses as cost (Cherkasova, HPL-98-69).
    Gdsf,
}

const NAMES: [(SizedPolicy, &str); 9] = [
    (SizedPolicy::Lru, "lru"),
    (SizedPolicy::Fifo, "fifo"),
    (SizedPolicy::Clock, "clock"),
    (SizedPolicy::Sieve, "sieve"),
    (SizedPolicy::S3Fifo, "s3-fifo"),
    (SizedPolicy::Arc, "arc"),
    (SizedPolicy::TwoQ, "2q"),
    (SizedPolicy::Landlord, "landlord"),
    (SizedPolicy::Gdsf, "gdsf"),
];

impl SizedPolicy {
    /// All of them.
    pub fn all() -> impl Iterator<Item = SizedPolicy> {
        NAMES.iter().map(|&(policy, _)| policy)
    }
}

impl fmt::Display for SizedPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = NAMES.iter().find(|(policy, _)| policy == self).map_or("", |&(_, name)| name);
        f.pad(name)
    }
}

/// A policy that counts blocks, or none.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("policy '{name}' does not count bytes; those that do are {}", NAMES.map(|(_, name)| name).join(", "))]
pub struct NotSized {
    /// Its name.
    pub name: String,
}

impl FromStr for SizedPolicy {
    type Err = NotSized;

    fn from_str(text: &str) -> Result<SizedPolicy, NotSized> {
        let found = NAMES.iter().find(|(_, name)| *name == text);
        found.map(|&(policy, _)| policy).ok_or_else(|| NotSized { name: text.to_owned() })
    }
}

/// Options of a replay that counts bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SizedOptions {
    /// Whether writes are left out.
    pub reads_only: bool,
    /// Only objects of fewer bytes than this are taken in.
    pub admit_below: Option<u64>,
}

/// One cache to be replayed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SizedRun {
    /// Its policy.
    pub policy: SizedPolicy,
    /// Bytes, or a share of the bytes of all distinct objects.
    pub capacity: Capacity,
}

/// The outcome of one cache.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SizedOutcome {
    /// The policy.
    pub policy: String,
    /// Bytes that the cache holds.
    pub capacity_bytes: u64,
    /// Requests for objects.
    pub requests: u64,
    /// Of them, those that did not find their object.
    pub misses: u64,
    /// misses ÷ requests; zero without requests.
    pub miss_ratio: f64,
    /// Bytes of all requests.
    pub bytes: u64,
    /// Bytes of those that missed.
    pub missed_bytes: u64,
    /// missed bytes ÷ bytes.
    pub byte_miss_ratio: f64,
}

/// A cache: which objects are there. It gives up others for one that it takes in.
trait Objects: Send {
    /// Refers to an object of so many bytes; whether it was there. It is taken in if it `enters`.
    fn refer(&mut self, key: u32, bytes: u64, enters: bool) -> bool;
}

/// A cache with its counts.
struct Counted {
    objects: Box<dyn Objects>,
    capacity: u64,
    misses: u64,
    missed_bytes: u64,
}

/// Replays a trace of whole objects through a cache for each of `runs`; outcomes come in their
/// order, none of them if `watch` ends it early. The trace is read once, and once before if a
/// capacity is a share. Memory: 16 bytes a distinct object for each cache, 60 for the ranked.
pub fn replay_sized(
    open: &Open<'_>,
    options: &SizedOptions,
    runs: &[SizedRun],
    watch: &dyn Watch,
) -> Result<Vec<SizedOutcome>, Error> {
    let source = open()?;
    if source.shape() != Shape::Objects {
        return Err(Error::Ranges);
    }
    if source.reading().is_some_and(|reading| reading.without_sizes) {
        return Err(Error::WithoutSizes);
    }
    drop(source);
    let all = if runs.iter().any(|run| matches!(run.capacity, Capacity::Share(_))) {
        let mut sizes = Distinct::default();
        if !each(open, options, watch, |key, bytes| sizes.add(key, bytes))? {
            return Ok(Vec::new());
        }
        sizes.bytes
    } else {
        0
    };
    let mut caches = runs.iter().map(|run| run.cache(all)).collect::<Result<Vec<_>, _>>()?;
    let (mut requests, mut total) = (0, 0u64);
    let finished = each(open, options, watch, |key, bytes| {
        requests += 1;
        total = total.saturating_add(bytes);
        let admitted = options.admit_below.is_none_or(|limit| bytes < limit);
        caches.iter_mut().for_each(|cache| cache.refer(key, bytes, admitted));
    })?;
    if !finished {
        return Ok(Vec::new());
    }
    Ok(runs.iter().zip(&caches).map(|(run, cache)| cache.outcome(run.policy, requests, total)).collect())
}

impl SizedRun {
    fn cache(&self, all: u64) -> Result<Counted, Error> {
        let wrong = |reason| Error::Capacity { capacity: self.capacity, reason };
        let capacity = match self.capacity {
            Capacity::Bytes(bytes) if bytes > 0 => bytes,
            Capacity::Share(share) if share > 0.0 && share <= 1.0 => ((all as f64 * share) as u64).max(1),
            Capacity::Blocks(_) => return Err(wrong("its size is counted in bytes: write 512MiB, or a share")),
            _ => return Err(wrong("it holds nothing")),
        };
        let objects: Box<dyn Objects> = match self.policy {
            SizedPolicy::Lru => Box::new(Queue::new(Order::Lru, capacity)),
            SizedPolicy::Fifo => Box::new(Queue::new(Order::Fifo, capacity)),
            SizedPolicy::Clock => Box::new(Queue::new(Order::Clock, capacity)),
            SizedPolicy::Sieve => Box::new(Queue::new(Order::Sieve, capacity)),
            SizedPolicy::S3Fifo => Box::new(S3Fifo::new(capacity)),
            SizedPolicy::Arc => Box::new(Arc::new(capacity)),
            SizedPolicy::TwoQ => Box::new(TwoQ::new(capacity)),
            SizedPolicy::Landlord => Box::new(Ranked::new(Rank::Landlord, capacity)),
            SizedPolicy::Gdsf => Box::new(Ranked::new(Rank::Gdsf, capacity)),
        };
        Ok(Counted { objects, capacity, misses: 0, missed_bytes: 0 })
    }
}

impl Counted {
    fn refer(&mut self, key: u32, bytes: u64, admitted: bool) {
        if !self.objects.refer(key, bytes, admitted && bytes <= self.capacity) {
            self.misses += 1;
            self.missed_bytes = self.missed_bytes.saturating_add(bytes);
        }
    }

    fn outcome(&self, policy: SizedPolicy, requests: u64, bytes: u64) -> SizedOutcome {
        let ratio = |part: u64, whole: u64| if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
        SizedOutcome {
            policy: policy.to_string(),
            capacity_bytes: self.capacity,
            requests,
            misses: self.misses,
            miss_ratio: ratio(self.misses, requests),
            bytes,
            missed_bytes: self.missed_bytes,
            byte_miss_ratio: ratio(self.missed_bytes, bytes),
        }
    }
}

/// The bytes of all distinct objects, each with its first size.
#[derive(Default)]
struct Distinct {
    keys: usize,
    bytes: u64,
}

impl Distinct {
    fn add(&mut self, key: u32, bytes: u64) {
        // Keys are numbered in the order of their appearance.
        if key as usize == self.keys {
            self.keys += 1;
            self.bytes = self.bytes.saturating_add(bytes);
        }
    }
}

/// Calls `refer` with the key and the bytes of each request. `false` if it was ended early.
fn each(
    open: &Open<'_>,
    options: &SizedOptions,
    watch: &dyn Watch,
    mut refer: impl FnMut(u32, u64),
) -> Result<bool, Error> {
    let mut source = open()?;
    let mut names = Keys::new(Shape::Objects);
    let (mut batch, mut keys): (Vec<Request>, Vec<u32>) = (Vec::new(), Vec::new());
    while source.read(&mut batch)? > 0 {
        batch.retain(|request| !options.reads_only || request.operation == Operation::Read);
        keys.clear();
        let mut taken = 0;
        while taken < batch.len() {
            taken += names.append(&batch[taken..], &mut keys)?;
        }
        for (request, &key) in batch.iter().zip(&keys) {
            refer(key, request.len.into());
        }
        batch.clear();
        let (done, all) = source.progress();
        watch.progress(done, all);
        if watch.stopped() {
            return Ok(false);
        }
    }
    Ok(true)
}
