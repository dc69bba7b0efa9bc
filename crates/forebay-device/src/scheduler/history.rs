//! A process's habits: how long it thinks and how far it goes between two reads. The means forget,
//! as those of Linux's `as-iosched`: each new sample counts an eighth.

use std::collections::BTreeMap;

use forebay_core::Instant;

/// The scale of sums: a weight of one.
const ONE: u64 = 256;

/// No think time counts for more (the kernel's 20 ms): one long break says little about the next.
const LONGEST_THOUGHT: u64 = 20_000_000;

/// The farthest that counts: no disk is larger, and sums stay within their type.
const FARTHEST: u64 = 1 << 50;

/// A process is new up to the first number, a weight of samples. The others are what a new and a
/// known process may add to four times its mean distance, so that a first odd read does not count
/// too much: 1 GiB and 64 MiB (the kernel's 2 Mi and 128 Ki sectors).
pub(super) const NEW: (u64, u64, u64) = (60, 1 << 30, 64 << 20);

/// A mean that forgets.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Mean {
    weight: u64,
    total: u64,
}

impl Mean {
    /// Another sample.
    pub(super) fn add(&mut self, sample: u64) {
        self.weight = (7 * self.weight + ONE) / 8;
        self.total = (7 * self.total + ONE * sample) / 8;
    }

    /// How much its samples weigh: 256 from many on.
    pub(super) fn weight(self) -> u64 {
        self.weight
    }

    /// The mean; `None` before the first sample.
    pub(super) fn get(self) -> Option<u64> {
        (self.weight > 0).then(|| (self.total + self.weight / 2) / self.weight)
    }
}

/// The part of cases in which something happened, from 0 to 256; none at first.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Share(u64);

impl Share {
    pub(super) fn add(&mut self, happened: bool) {
        self.0 = (7 * self.0 + if happened { ONE } else { 0 }) / 8;
    }

    /// Whether it happened more often than not.
    pub(super) fn mostly(self) -> bool {
        self.0 > ONE / 2
    }
}

/// A process.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Process {
    /// Nanoseconds between the end of a read and the next read.
    pub(super) think: Mean,
    /// Bytes between the end of a read and the start of the next.
    pub(super) distance: Mean,
    /// Where its last read ends, if it has read.
    position: Option<u64>,
    /// When its last read was done.
    ended: Option<Instant>,
    /// Requests that wait.
    pub(super) queued: u32,
    /// Reads that the device has.
    pub(super) reading: u32,
    exited: bool,
    seen: Instant,
}

/// All processes that have been seen, as long as memory allows, and the averages of new ones.
#[derive(Debug, Default)]
pub(super) struct Histories {
    known: BTreeMap<u32, Process>,
    /// How many may be known before the idle ones are forgotten.
    limit: usize,
    newcomers_think: Mean,
    newcomers_distance: Mean,
    /// How often a new process was waited for in vain.
    newcomers_leave: Share,
}

/// The number of processes above which idle ones are forgotten.
const REMEMBERED: usize = 4096;

/// Nanoseconds without a request after which a process may be forgotten if there are too many.
const IDLE: u64 = 10_000_000_000;

impl Histories {
    /// The record of `handler` at `at`; empty if it has never been seen.
    pub(super) fn of(&mut self, handler: u32, at: Instant) -> &mut Process {
        if self.known.len() >= self.limit.max(REMEMBERED) && !self.known.contains_key(&handler) {
            self.known.retain(|_, p| p.queued + p.reading > 0 || at.since(p.seen) < IDLE);
            self.limit = 2 * self.known.len();
        }
        let process = self.known.entry(handler).or_default();
        process.seen = process.seen.max(at);
        process
    }

    /// `handler` reads `len` bytes from `start` on at `at`. If a process of that name has exited,
    /// another one has the name now.
    pub(super) fn reads(&mut self, handler: u32, at: Instant, start: u64, len: u64) {
        let process = self.of(handler, at);
        process.exited = false;
        let position = process.position.replace(start.saturating_add(len));
        // A process that has a request under way does not think.
        let idle = process.queued + process.reading == 0;
        let think = process.ended.filter(|_| idle).map_or(0, |ended| at.since(ended).min(LONGEST_THOUGHT));
        let Some(position) = position else { return };
        let new = (process.think.get().is_none(), process.distance.get().is_none());
        process.think.add(think);
        let far = position.abs_diff(start).min(FARTHEST);
        let slack = if process.distance.weight <= NEW.0 { NEW.1 } else { NEW.2 };
        process.distance.add(far.min(4 * process.distance.get().unwrap_or(0) + slack));
        if new.0 {
            self.newcomers_think.add(think);
            self.newcomers_leave.add(false);
        }
        if new.1 {
            self.newcomers_distance.add(far);
        }
    }

    /// All of a read of `handler` is done: it thinks from now on.
    pub(super) fn done(&mut self, handler: u32, at: Instant) {
        self.of(handler, at).ended = Some(at);
    }

    /// `handler` was waited for and did not come, or had left.
    pub(super) fn missed(&mut self, handler: u32) {
        if self.known.get(&handler).is_none_or(|process| process.think.get().is_none()) {
            self.newcomers_leave.add(true);
        }
    }

    /// Whether `handler` is likely to read again within `nanos` of its last read's end.
    pub(super) fn likely(&self, handler: u32, nanos: u64) -> bool {
        match self.known.get(&handler).and_then(|process| process.think.get()) {
            Some(think) => think <= nanos,
            None => self.newcomers_think.get().unwrap_or(0) <= nanos && !self.newcomers_leave.mostly(),
        }
    }

    /// `handler` is gone.
    pub(super) fn exited(&mut self, handler: u32) {
        if let Some(process) = self.known.get_mut(&handler) {
            process.exited = true;
        }
    }

    /// Whether `handler` is gone.
    pub(super) fn has_exited(&self, handler: u32) -> bool {
        self.known.get(&handler).is_some_and(|process| process.exited)
    }

    /// How far `handler` is likely to read from where it read last.
    pub(super) fn distance(&self, handler: u32) -> u64 {
        let own = self.known.get(&handler).and_then(|process| process.distance.get());
        own.or(self.newcomers_distance.get()).unwrap_or(0)
    }

    /// Whether something of `handler` waits.
    pub(super) fn waits(&self, handler: u32) -> bool {
        self.known.get(&handler).is_some_and(|process| process.queued > 0)
    }

    /// Whether the device has a read of `handler`.
    pub(super) fn reading(&self, handler: u32) -> bool {
        self.known.get(&handler).is_some_and(|process| process.reading > 0)
    }
}
