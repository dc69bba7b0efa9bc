//! The deadline scheduler of Linux: sorted batches of one direction, reads before writes. No
//! request waits for ever.

use std::ops::Bound;

use forebay_core::Instant;
use serde::{Deserialize, Serialize};

use super::sorted::{Key, Sorted};
use super::{Next, Scheduler, Waiting};

/// How long requests may wait, and how long a batch is. The defaults are the kernel's.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Expiry {
    /// Milliseconds after which a read is due.
    pub read_expire_ms: f64,
    /// Milliseconds after which a write is due.
    pub write_expire_ms: f64,
    /// Requests served in the order of their places before deadlines are looked at again.
    pub fifo_batch: u32,
    /// Batches of reads that may be preferred to waiting writes.
    pub writes_starved: u32,
}

impl Default for Expiry {
    fn default() -> Expiry {
        Expiry { read_expire_ms: 500.0, write_expire_ms: 5000.0, fifo_batch: 16, writes_starved: 2 }
    }
}

/// See the module's head. A batch goes on with the next request above the last one, even if it
/// arrived since; the kernel would leave that one for the next batch.
#[derive(Debug, Default)]
pub struct Deadline {
    expiry: Expiry,
    reads: Sorted,
    writes: Sorted,
    arrivals: u64,
    /// The last request that was served, and whether it wrote.
    last: Option<(bool, Key)>,
    /// How many requests were served in this batch.
    batch: u32,
    /// Batches of reads since writes began to wait.
    starved: u32,
}

impl Deadline {
    /// With these deadlines.
    pub fn new(expiry: Expiry) -> Deadline {
        Deadline { expiry, ..Deadline::default() }
    }

    fn list(&self, write: bool) -> &Sorted {
        if write { &self.writes } else { &self.reads }
    }

    /// The next request above the last, in its direction.
    fn onwards(&self) -> Option<(bool, Key)> {
        let (write, last) = self.last?;
        let key = self.list(write).lowest((Bound::Excluded(last), Bound::Unbounded))?;
        Some((write, key))
    }

    /// Begins a batch: its direction, and its first request.
    fn begin(&mut self, at: Instant) -> Option<(bool, Key)> {
        let (reads, writes) = (!self.reads.is_empty(), !self.writes.is_empty());
        // Reads go first, until writes have been passed over often enough.
        let write = !reads || (writes && self.starved >= self.expiry.writes_starved);
        if write {
            self.starved = 0;
        } else if writes {
            self.starved += 1;
        }
        self.batch = 0;
        let list = self.list(write);
        let oldest = list.oldest()?;
        let expire = if write { self.expiry.write_expire_ms } else { self.expiry.read_expire_ms };
        let due = list.get(oldest).is_some_and(|waiting| at.since(waiting.at) as f64 >= expire * 1e6);
        // The batch before was of this direction and ended by its length: on from there, unless a
        // request is due.
        let onwards = self.onwards().filter(|&(way, _)| way == write && !due).map(|(_, key)| key);
        Some((write, onwards.unwrap_or(oldest)))
    }
}

impl Scheduler for Deadline {
    fn push(&mut self, waiting: Waiting) {
        let list = if waiting.request.write { &mut self.writes } else { &mut self.reads };
        list.insert(self.arrivals, waiting);
        self.arrivals += 1;
    }

    fn pop(&mut self, at: Instant) -> Next {
        let running = self.onwards().filter(|_| self.batch < self.expiry.fifo_batch);
        let Some((write, key)) = running.or_else(|| self.begin(at)) else { return Next::Nothing };
        self.batch += 1;
        self.last = Some((write, key));
        let list = if write { &mut self.writes } else { &mut self.reads };
        list.remove(key).map_or(Next::Nothing, Next::Serve)
    }

    fn contains(&self, id: u64) -> bool {
        self.reads.find(id).or_else(|| self.writes.find(id)).is_some()
    }

    fn remove(&mut self, id: u64) -> bool {
        let gone = |list: &mut Sorted| list.find(id).and_then(|key| list.remove(key)).is_some();
        gone(&mut self.reads) || gone(&mut self.writes)
    }

    fn len(&self) -> usize {
        self.reads.len() + self.writes.len()
    }
}
