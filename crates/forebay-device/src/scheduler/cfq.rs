//! Completely fair queueing, as it was in Linux 2.6.18, where it became the default: every process
//! has a queue of its own, and the queues take turns in slices of time.
//!
//! ```text
//!            its turn                       nothing of it waits, and it is
//!  queue ──────────────▶ active: up to 4    likely to read on soon            waited for, up to 8 ms
//!    ▲                   at a time go to ──────────────────────────────────▶ (no other is served)
//!    │                   the device                                            │ it reads on: active
//!    └──── its slice is over; or it thinks too long to be waited for ◀─────────┘ it does not
//! ```
//!
//! The scheduler waits for a process whose think time is short, as the anticipatory scheduler does.
//! While the device has requests of that process, it begins no others: behind an array that means
//! one process at a time, on however many disks. A process that thinks longer hands over its
//! waiting requests and ends its turn, so the requests of all such processes go to the device
//! together, in the order of places. The kind of a process is learnt from the time between the end
//! of one of its requests and its next request. So a process that prefetches, and asks again soon
//! after a late answer, changes its kind as the device becomes slow.
//!
//! Priorities are left out: all processes are alike. Writes belong to no process, and share a queue
//! that is never waited for. The kernel began to wait anew at every arrival of another process's
//! request; here, as was meant, the wait counts from the end of the last one.

use std::collections::BTreeMap;

use forebay_core::Instant;
use serde::{Deserialize, Serialize};

use super::history::{Mean, NEW};
use super::sorted::{Key, Sorted};
use super::{End, Next, Scheduler, Waiting};

/// How turns are taken. The defaults are those of Linux 2.6.18.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Turns {
    /// Milliseconds that a process has the device.
    pub slice_ms: f64,
    /// Milliseconds that the device is kept idle for the process's next read; zero never waits.
    pub idle_ms: f64,
    /// How many of its requests go to the device at a time.
    pub quantum: u32,
    /// Milliseconds after which a read is due; one that is due goes first, one a slice.
    pub read_expire_ms: f64,
    /// Milliseconds after which a write is due.
    pub write_expire_ms: f64,
}

impl Default for Turns {
    fn default() -> Turns {
        Turns { slice_ms: 100.0, idle_ms: 8.0, quantum: 4, read_expire_ms: 125.0, write_expire_ms: 250.0 }
    }
}

/// How far back the head goes for a request, bytes.
const BACK: u64 = 16 << 20;

/// A process whose mean distance between reads is larger than this (128 Ki sectors) is a seeker. It
/// is waited for at most `SEEKER_IDLE` nanoseconds. A device that has been seen with more than
/// `TAGGED` requests at a time does not wait for it.
const SEEKS: u64 = 64 << 20;
const SEEKER_IDLE: u64 = 2_000_000;
const TAGGED: u32 = 4;

/// The weight of samples from which on a mean says something: three samples.
const VALID: u64 = 80;

/// The number of processes above which idle ones are forgotten, and the nanoseconds since its last
/// request after which an idle one is.
const REMEMBERED: usize = 4096;
const FORGOTTEN: u64 = 10_000_000_000;

/// The owner of a queue: a process, or `None` for the queue of all writes.
type Owner = Option<u32>;

/// Where a queue stands: in which round, when it was served last, and the order of its coming.
type Turn = (u64, u64, u64);

/// The round of queues that have requests in the device: after all others, as they may get on
/// without a turn.
const BUSY: u64 = u64::MAX;

/// A process.
#[derive(Debug, Default)]
struct Process {
    waiting: Sorted,
    turn: Option<Turn>,
    /// Its requests that the device has, or that are on their way there.
    given: u32,
    /// When it was last seen without requests in the device.
    served: Instant,
    /// Whether it is waited for (the kernel's idle window).
    awaited: bool,
    think: Mean,
    distance: Mean,
    position: Option<u64>,
    ended: Option<Instant>,
    /// A due request went first in this slice.
    due: bool,
    exited: bool,
    seen: Instant,
}

/// The queue whose turn it is.
#[derive(Clone, Copy, Debug)]
struct Active {
    owner: Owner,
    /// The end of its slice, once one of its requests went to the device.
    until: Option<Instant>,
    /// The device is kept idle for it until then.
    idle: Option<Instant>,
    /// It was waited for: its next request is served even if the slice is over.
    must: bool,
}

/// See the module's head.
#[derive(Debug, Default)]
pub struct Cfq {
    turns: Turns,
    processes: BTreeMap<Owner, Process>,
    limit: usize,
    /// Queues with waiting requests, in the order of their turns.
    queues: BTreeMap<Turn, Owner>,
    round: u64,
    active: Option<Active>,
    /// On the way to the device.
    leaving: Sorted,
    /// The end of the request chosen last, and of the one that went to the device last.
    chosen: u64,
    head: u64,
    in_device: u32,
    /// The device was seen with several requests at a time.
    tagged: bool,
    arrivals: u64,
    len: usize,
}

fn nanos(ms: f64) -> u64 {
    (ms * 1e6) as u64
}

fn owner(waiting: &Waiting) -> Owner {
    (!waiting.request.write).then_some(waiting.request.handler)
}

fn end(waiting: &Waiting) -> u64 {
    waiting.request.start.saturating_add(waiting.request.len)
}

impl Process {
    /// It asks at `at` for `start`. Think time and distance are cut to the most that one sample
    /// counts.
    fn asks(&mut self, waiting: &Waiting, idle: u64) {
        let at = waiting.at;
        if let Some(ended) = self.ended {
            self.think.add(at.since(ended).min(2 * idle));
        }
        if let Some(position) = self.position.replace(end(waiting)) {
            let slack = if self.distance.weight() <= NEW.0 { NEW.1 } else { NEW.2 };
            let most = 4 * self.distance.get().unwrap_or(0) + slack;
            self.distance.add(position.abs_diff(waiting.request.start).min(most));
        }
        (self.seen, self.exited) = (at, false);
    }

    fn seeks(&self) -> bool {
        self.distance.get().is_some_and(|mean| mean > SEEKS)
    }

    /// Whether it is waited for from now on (`cfq_update_idle_window`).
    fn learn(&mut self, idle: u64, tagged: bool) {
        if idle == 0 || tagged && self.seeks() {
            self.awaited = false;
        } else if self.think.weight() > VALID {
            self.awaited = self.think.get().is_some_and(|mean| mean <= idle);
        }
    }

    /// Its next request: the oldest if that is due, once a slice; else the nearest.
    fn next(&mut self, at: Instant, expire: u64, head: u64) -> Option<Key> {
        let oldest = self.waiting.oldest().filter(|_| !self.due);
        let due = oldest.filter(|&key| self.waiting.get(key).is_some_and(|w| at.since(w.at) > expire));
        self.due |= due.is_some();
        due.or_else(|| self.waiting.nearest(head, BACK))
    }
}

impl Cfq {
    /// With these turns.
    pub fn new(turns: Turns) -> Cfq {
        Cfq { turns, ..Cfq::default() }
    }

    fn process(&mut self, owner: Owner, at: Instant) -> &mut Process {
        if self.processes.len() >= self.limit.max(REMEMBERED) && !self.processes.contains_key(&owner) {
            let idle = |p: &Process| p.waiting.is_empty() && p.given == 0;
            let active = self.active.map(|active| active.owner);
            self.processes.retain(|o, p| active == Some(*o) || !idle(p) || at.since(p.seen) < FORGOTTEN);
            self.limit = 2 * self.processes.len();
        }
        let awaited = owner.is_some() && !self.tagged && self.turns.idle_ms > 0.0;
        self.processes.entry(owner).or_insert_with(|| Process { awaited, ..Process::default() })
    }

    /// Puts a queue in its place among those that wait for their turns, or takes it out if it has
    /// no waiting request.
    fn line_up(&mut self, owner: Owner) {
        let Some(process) = self.processes.get_mut(&owner) else { return };
        if let Some(turn) = process.turn.take() {
            self.queues.remove(&turn);
        }
        if process.waiting.is_empty() {
            return;
        }
        self.arrivals += 1;
        let turn = match process.given {
            0 => (self.round + 1, process.served.0, self.arrivals),
            _ => (BUSY, 0, self.arrivals),
        };
        process.turn = Some(turn);
        self.queues.insert(turn, owner);
    }

    /// The active queue's turn is over.
    fn expire(&mut self, at: Instant) {
        let Some(active) = self.active.take() else { return };
        if let Some(process) = self.processes.get_mut(&active.owner)
            && process.given == 0
        {
            process.served = at;
        }
        self.line_up(active.owner);
    }

    /// The queue whose turn it is. `None` if no queue has a turn, because the active one is waited
    /// for or the device has its requests.
    fn select(&mut self, at: Instant) -> Option<Owner> {
        if let Some(Active { owner, until, idle, must }) = self.active {
            let over = !must && until.is_some_and(|until| at > until);
            let process = self.processes.get(&owner).filter(|_| !over);
            match process {
                Some(process) if !process.waiting.is_empty() => return Some(owner),
                Some(process) if process.given > 0 => return None,
                Some(_) if idle.is_some_and(|idle| at < idle) => return None,
                _ => self.expire(at),
            }
        }
        let (turn, owner) = self.queues.first_key_value().map(|(&turn, &owner)| (turn, owner))?;
        if turn.0 != BUSY {
            self.round = turn.0;
        }
        self.processes.get_mut(&owner)?.due = false;
        self.active = Some(Active { owner, until: None, idle: None, must: false });
        Some(owner)
    }

    /// Sends the next requests of a queue on their way to the device, and ends its turn if it is
    /// not waited for.
    fn dispatch(&mut self, at: Instant, owner: Owner) {
        let expire = if owner.is_some() { self.turns.read_expire_ms } else { self.turns.write_expire_ms };
        let Some(process) = self.processes.get_mut(&owner) else { return };
        for _ in 0..self.turns.quantum.max(1) {
            let Some(key) = process.next(at, nanos(expire), self.chosen) else { break };
            let Some(waiting) = process.waiting.remove(key) else { break };
            process.given += 1;
            self.chosen = end(&waiting);
            self.leaving.insert(key.arrival, waiting);
        }
        let (empty, awaited) = (process.waiting.is_empty(), process.awaited);
        if let Some(turn) = process.turn.take_if(|_| empty) {
            self.queues.remove(&turn);
        }
        if let Some(active) = &mut self.active {
            active.until.get_or_insert(at.plus(nanos(self.turns.slice_ms)));
            (active.idle, active.must) = (None, false);
        }
        if !awaited {
            self.expire(at);
        }
    }

    /// Sends on their way the requests that may go to the device together: the active queue's
    /// alone, if it is waited for; else those of all queues, one after the other.
    fn send(&mut self, at: Instant) {
        let mut last = None;
        while let Some(owner) = self.select(at).filter(|&owner| last != Some(owner)) {
            self.dispatch(at, owner);
            if self.active.is_some() {
                return;
            }
            last = Some(owner);
        }
    }

    /// The active queue has no request in the device and none that waits: it is waited for, or its
    /// turn is over.
    fn idle(&mut self, at: Instant) {
        let Some(active) = &mut self.active else { return };
        let Some(process) = self.processes.get(&active.owner) else { return };
        let longest = nanos(self.turns.idle_ms);
        let longest = if process.seeks() { longest.min(SEEKER_IDLE) } else { longest };
        let left = active.until.map_or(longest, |until| until.since(at));
        if !process.awaited || process.exited || left == 0 {
            return self.expire(at);
        }
        (active.idle, active.must) = (Some(at.plus(longest.min(left))), true);
    }
}

impl Scheduler for Cfq {
    fn push(&mut self, waiting: Waiting) {
        let (idle, tagged) = (nanos(self.turns.idle_ms), self.tagged);
        self.arrivals += 1;
        let (owner, arrival) = (owner(&waiting), self.arrivals);
        let process = self.process(owner, waiting.at);
        if owner.is_some() {
            process.asks(&waiting, idle);
            process.learn(idle, tagged);
        }
        process.waiting.insert(arrival, waiting);
        let new = process.turn.is_none();
        self.len += 1;
        if new {
            self.line_up(owner);
        }
    }

    fn pop(&mut self, at: Instant) -> Next {
        if self.leaving.is_empty() && self.len > 0 {
            self.send(at);
        }
        let next = self.leaving.lowest(Key::at(self.head)..).or_else(|| self.leaving.lowest(..));
        if let Some(waiting) = next.and_then(|key| self.leaving.remove(key)) {
            self.head = end(&waiting);
            self.len -= 1;
            self.in_device += 1;
            self.tagged |= self.in_device > TAGGED;
            return Next::Serve(waiting);
        }
        match self.active.and_then(|active| active.idle) {
            Some(until) if self.len > 0 && at < until => Next::Wait(until),
            _ => Next::Nothing,
        }
    }

    fn ended(&mut self, at: Instant, waiting: &Waiting, how: End) {
        if how == End::Piece {
            return;
        }
        self.in_device = self.in_device.saturating_sub(1);
        let owner = owner(waiting);
        let process = self.process(owner, at);
        process.given = process.given.saturating_sub(1);
        if how == End::Whole {
            process.ended = Some(at);
        }
        let (none, empty) = (process.given == 0, process.waiting.is_empty());
        if none && !empty {
            process.served = at;
        }
        let Some(active) = self.active.filter(|active| active.owner == owner) else {
            if none {
                // The process is no longer busy.
                self.line_up(owner);
            }
            return;
        };
        if active.until.is_some_and(|until| at > until) {
            self.expire(at);
        } else if none && empty {
            self.idle(at);
        }
    }

    fn exited(&mut self, handler: u32) {
        if let Some(process) = self.processes.get_mut(&Some(handler)) {
            process.exited = true;
        }
        if let Some(active) = self.active.as_mut().filter(|active| active.owner == Some(handler)) {
            active.idle = None;
        }
    }

    fn contains(&self, id: u64) -> bool {
        self.leaving.find(id).is_some() || self.processes.values().any(|process| process.waiting.find(id).is_some())
    }

    fn remove(&mut self, id: u64) -> bool {
        let leaving = self.leaving.find(id).and_then(|key| self.leaving.remove(key));
        if let Some(waiting) = leaving {
            let owner = owner(&waiting);
            if let Some(process) = self.processes.get_mut(&owner) {
                process.given = process.given.saturating_sub(1);
            }
            self.len -= 1;
            self.line_up(owner);
            return true;
        }
        let of = |(&owner, process): (&Owner, &mut Process)| {
            process.waiting.find(id).and_then(|key| process.waiting.remove(key)).map(|_| owner)
        };
        let Some(owner) = self.processes.iter_mut().find_map(of) else { return false };
        self.len -= 1;
        if self.processes.get(&owner).is_some_and(|process| process.waiting.is_empty()) {
            self.line_up(owner);
        }
        true
    }

    fn len(&self) -> usize {
        self.len
    }
}
