//! Pieces that wait for the writer, and the writer's other orders.

use std::collections::{HashSet, VecDeque};
use std::time::Duration;

use forebay_core::tier::{FileKey, Run};
use parking_lot::{Condvar, Mutex};

use crate::budget::Budget;
use crate::fingerprint::Fingerprint;
use crate::layout::bytes;

/// The most bytes that wait.
pub(crate) const MOST: usize = 16 << 20;

/// A piece to be written.
#[derive(Debug)]
pub(crate) struct Item {
    pub(crate) of: Fingerprint,
    pub(crate) run: Run,
    /// Whole blocks.
    pub(crate) bytes: Vec<u8>,
}

/// Why a piece is not written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Refused {
    /// The rate of writes is used up.
    Budget,
    /// Too much waits, or the tier is just beginning or ending.
    Room,
    /// The same blocks wait already.
    There,
}

/// See the file's head.
#[derive(Debug)]
pub(crate) struct Waiting {
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Debug)]
struct Queue {
    items: VecDeque<Item>,
    /// Bytes of those that wait, are copied, or are being written.
    bytes: usize,
    /// The first blocks of these.
    starts: HashSet<(FileKey, u32)>,
    budget: Budget,
    orders: Orders,
    /// Segments that were looked at, and how many there are to look at.
    recovered: (u32, u32),
}

/// The writer's orders, and whether it follows them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Orders {
    /// It is at work.
    busy: bool,
    /// It shall see to the limits now.
    pub(crate) tend: bool,
    /// It shall end once nothing waits.
    pub(crate) stop: bool,
}

impl Waiting {
    pub(crate) fn new(writes: Option<u64>) -> Waiting {
        let queue = Queue {
            items: VecDeque::new(),
            bytes: 0,
            starts: HashSet::new(),
            budget: Budget::new(writes),
            orders: Orders::default(),
            recovered: (0, 0),
        };
        Waiting { queue: Mutex::new(queue), changed: Condvar::new() }
    }

    /// Whether a piece may wait from now on. If so, it is to be pushed.
    pub(crate) fn admit(&self, run: Run, now: Duration) -> Result<(), Refused> {
        let (len, mut queue) = (bytes(run.len), self.queue.lock());
        if queue.starts.contains(&(run.file, run.start)) {
            return Err(Refused::There);
        }
        // Before all segments were looked at, one that was written lately would be given up.
        let recovering = queue.recovered.0 < queue.recovered.1;
        if recovering || queue.orders.stop || queue.bytes + len > MOST {
            return Err(Refused::Room);
        }
        if !queue.budget.take(len, now) {
            return Err(Refused::Budget);
        }
        queue.starts.insert((run.file, run.start));
        queue.bytes += len;
        Ok(())
    }

    /// A piece waits.
    pub(crate) fn push(&self, item: Item) {
        self.queue.lock().items.push_back(item);
        self.changed.notify_all();
    }

    /// The writer takes a piece, if one waits.
    pub(crate) fn take(&self) -> Option<Item> {
        let mut queue = self.queue.lock();
        let item = queue.items.pop_front();
        queue.orders.busy |= item.is_some();
        item
    }

    /// A piece that was taken waits no more.
    pub(crate) fn over(&self, run: Run) {
        let mut queue = self.queue.lock();
        queue.starts.remove(&(run.file, run.start));
        queue.bytes = queue.bytes.saturating_sub(bytes(run.len));
    }

    /// Nothing waits any more.
    pub(crate) fn clear(&self) {
        let mut queue = self.queue.lock();
        while let Some(Item { run, .. }) = queue.items.pop_front() {
            queue.starts.remove(&(run.file, run.start));
            queue.bytes = queue.bytes.saturating_sub(bytes(run.len));
        }
    }

    /// The writer has nothing to do until a piece or an order comes, or the time is over.
    pub(crate) fn wait(&self, longest: Duration) -> Orders {
        let mut queue = self.queue.lock();
        queue.orders.busy = false;
        self.changed.notify_all();
        if queue.items.is_empty() && !queue.orders.tend && !queue.orders.stop {
            self.changed.wait_for(&mut queue, longest);
        }
        let orders = queue.orders;
        queue.orders = Orders { busy: true, tend: false, ..orders };
        orders
    }

    /// Bytes are written that were not admitted.
    pub(crate) fn spend(&self, bytes: usize) {
        self.queue.lock().budget.spend(bytes);
    }

    /// A write took so long.
    pub(crate) fn measured(&self, bytes: usize, took: Duration) {
        self.queue.lock().budget.measured(bytes, took);
    }

    /// So many segments are to be looked at.
    pub(crate) fn to_recover(&self, segments: u32) {
        self.queue.lock().recovered = (0, segments);
    }

    /// Segments have been looked at. Returns whether to go on.
    pub(crate) fn recover(&self, segments: u32) -> bool {
        let mut queue = self.queue.lock();
        queue.recovered.0 += segments;
        self.changed.notify_all();
        !queue.orders.stop
    }

    pub(crate) fn recovered(&self) -> (u32, u32) {
        self.queue.lock().recovered
    }

    /// Waits until everything that waits is written, the limits hold, and all segments were looked
    /// at.
    pub(crate) fn settle(&self) {
        let mut queue = self.queue.lock();
        let recovering = |queue: &Queue| queue.recovered.0 < queue.recovered.1;
        while recovering(&queue) && !queue.orders.stop {
            self.changed.wait(&mut queue);
        }
        queue.orders.tend = true;
        self.changed.notify_all();
        let at_work = |queue: &Queue| queue.bytes > 0 || queue.orders.busy || queue.orders.tend;
        while at_work(&queue) && !queue.orders.stop {
            self.changed.wait(&mut queue);
        }
    }

    /// The threads end.
    pub(crate) fn stop(&self) {
        self.queue.lock().orders.stop = true;
        self.changed.notify_all();
    }
}
