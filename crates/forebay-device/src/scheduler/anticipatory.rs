//! The anticipatory scheduler (Iyer and Druschel, SOSP 2001), as it was in Linux 2.6.11, with the
//! correction of CPEM §6. The papers used 2.6.3, whose source we did not have; we take the two to
//! be alike. (Later kernels took all within 4 MiB for near, which is another scheduler where many
//! wait.)
//!
//! ```text
//!            a read of P goes to the device          its end                     P reads again, or a near read comes,
//!   Off ──────────────────────────────────▶ ForEnd ─────────▶ ForNext(until) ──▶ or P is not worth it ───▶ Off
//!    ▲      and others wait, P is likely to                        │
//!    └───── read on soon                                           └── until is past: serve another process
//! ```
//!
//! Reads and writes take turns in batches, bounded by time. Within a batch the next request is the
//! nearest ahead of the head, or a near one behind it. Before the device serves a read of another
//! process, it waits a while for the process whose read it served last. It does so if that process
//! usually goes on soon, and nearer than the read that is there. A process that has exited is not
//! waited for, which the scheduler notices at the next arrival.
//!
//! The correction: a large request goes to the device in pieces (320 sectors in Linux 2.6.3), and
//! the kernel started the timer at the end of the *first* one. The time ran out while the others
//! were transferred, and the next read came too late, though its process had not waited. Corrected,
//! the timer starts when all pieces are done. The same holds for a process with several requests in
//! the device, since a layer above may have split its read.

use forebay_core::Instant;
use serde::{Deserialize, Serialize};

use super::history::Histories;
use super::sorted::{Key, Sorted};
use super::{End, Next, Scheduler, Waiting};

/// How long the device waits for a process. The defaults are those of Linux 2.6, at a thousand
/// ticks a second.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Anticipation {
    /// Milliseconds that the device is kept idle for the next read of a process; zero never waits.
    pub wait_ms: f64,
    /// Whether that time begins when all pieces of a read are done (CPEM §6), not the first one.
    pub corrected: bool,
    /// Kibibytes of a piece: longer requests go to the device in several.
    pub piece_kib: u32,
    /// Milliseconds after which a read is due; the scheduler looks for due reads once in that time.
    pub read_expire_ms: f64,
    /// Milliseconds after which a write is due.
    pub write_expire_ms: f64,
    /// Milliseconds that reads may go on while writes wait.
    pub read_batch_ms: f64,
    /// Milliseconds that writes may go on while reads wait. The scheduler learns how many writes
    /// that is.
    pub write_batch_ms: f64,
}

impl Default for Anticipation {
    fn default() -> Anticipation {
        Anticipation {
            wait_ms: 6.0,
            corrected: true,
            piece_kib: 160,
            read_expire_ms: 125.0,
            write_expire_ms: 250.0,
            read_batch_ms: 500.0,
            write_batch_ms: 125.0,
        }
    }
}

/// How far back the head goes for a request, bytes (the kernel's MAXBACK of 2²⁰ sectors).
const BACK: u64 = 512 << 20;

/// The distance that is near from the first moment, bytes (64 sectors). It doubles with each
/// millisecond of waiting but the first.
const NEAR: u64 = 32 << 10;

/// The read that the device is kept idle for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Idle {
    /// The device is not kept idle.
    #[default]
    Off,
    /// The end of the last read, of the process that is waited for.
    ForEnd,
    /// That process's next read, until this moment.
    ForNext(Instant),
    /// The wait is over: the next request goes to the device, whichever process it is of.
    Over,
}

/// One direction.
#[derive(Debug, Default)]
struct Side {
    waiting: Sorted,
    /// Where the last request of this direction ended.
    head: u64,
    /// When the scheduler last looked for a due request.
    checked: Instant,
}

impl Side {
    /// The next one in the order of places.
    fn nearest(&self) -> Option<Key> {
        self.waiting.nearest(self.head, BACK)
    }

    /// The oldest request if it is due after `expire`, but at most once in that time: serving all
    /// of them would be a storm of seeks.
    fn due(&mut self, at: Instant, expire: u64) -> Option<Key> {
        if at.since(self.checked) < expire {
            return None;
        }
        self.checked = at;
        self.waiting.oldest().filter(|&key| self.waiting.get(key).is_some_and(|w| at.since(w.at) > expire))
    }
}

/// The direction whose turn it is, and for how long.
#[derive(Debug, Default)]
struct Batch {
    writes: bool,
    began: Instant,
    until: Instant,
    /// The direction has changed, and the device still works on requests of the other one.
    changing: bool,
    /// The first read of the batch has not been done yet: its time has not begun.
    fresh: bool,
    /// How many writes a batch may be, learnt; and how many are left of this one.
    length: u32,
    left: u32,
    /// The batch of writes ran out of writes, so its time says nothing.
    ran_out: bool,
}

/// See the module's head.
#[derive(Debug)]
pub struct Anticipatory {
    parameters: Anticipation,
    reads: Side,
    writes: Side,
    arrivals: u64,
    histories: Histories,
    idle: Idle,
    /// The handler that read last, unless a write has been served since.
    last: Option<u32>,
    /// When that read was done.
    ended: Option<Instant>,
    batch: Batch,
    in_device: u32,
}

fn nanos(ms: f64) -> u64 {
    (ms * 1e6) as u64
}

impl Default for Anticipatory {
    fn default() -> Anticipatory {
        Anticipatory::new(Anticipation::default())
    }
}

impl Anticipatory {
    /// With these times.
    pub fn new(parameters: Anticipation) -> Anticipatory {
        // Until a write was measured, it is taken to last ten milliseconds.
        let length = ((parameters.write_batch_ms / 10.0) as u32).max(2);
        Anticipatory {
            parameters,
            reads: Side::default(),
            writes: Side::default(),
            arrivals: 0,
            histories: Histories::default(),
            idle: Idle::Off,
            last: None,
            ended: None,
            batch: Batch { length, until: Instant(nanos(parameters.read_batch_ms)), ..Batch::default() },
            in_device: 0,
        }
    }

    fn side(&mut self, writes: bool) -> &mut Side {
        if writes { &mut self.writes } else { &mut self.reads }
    }

    fn due(&mut self, at: Instant, writes: bool) -> Option<Key> {
        let p = &self.parameters;
        let expire = nanos(if writes { p.write_expire_ms } else { p.read_expire_ms });
        self.side(writes).due(at, expire)
    }

    /// Whether waiting for the next read of `last` is over or not worth it, given that `candidate`
    /// could be served.
    fn enough(&mut self, at: Instant, last: u32, candidate: Option<Waiting>) -> bool {
        let wait = nanos(self.parameters.wait_ms);
        // The process has come, or its time is over; or it has more requests that wait, and will
        // not think before they are done.
        if candidate.is_some_and(|c| c.request.handler == last)
            || self.ended.is_some_and(|ended| at.since(ended) >= wait)
            || self.histories.waits(last)
        {
            return true;
        }
        if self.histories.has_exited(last) {
            self.histories.missed(last);
            return true;
        }
        let read = candidate.filter(|c| !c.request.write);
        if read.is_some_and(|c| self.near(at, c.request.start)) {
            // The read is as near as the process's own: perhaps they read together. The think time
            // begins now.
            self.histories.done(last, at);
            return true;
        }
        let far = |c: Waiting| self.reads.head.abs_diff(c.request.start);
        !self.histories.likely(last, wait) || read.is_some_and(|c| far(c) < self.histories.distance(last))
    }

    /// Whether a read at `start` is near the head. The longer the device has waited, the farther is
    /// near.
    fn near(&self, at: Instant, start: u64) -> bool {
        let waited = match self.idle {
            Idle::Off => 0,
            _ => self.ended.map_or(0, |ended| at.since(ended) / 1_000_000),
        };
        let near = if waited > 20 { u64::MAX } else { NEAR << waited.saturating_sub(1) };
        let head = self.reads.head;
        head.abs_diff(start) <= if start < head { near / 2 } else { near }
    }

    /// Keeps the device idle for the next read of `last`: until when, if its time has begun.
    fn anticipate(&mut self) -> Next {
        let wait = nanos(self.parameters.wait_ms);
        match self.ended {
            Some(ended) => {
                self.idle = Idle::ForNext(ended.plus(wait));
                Next::Wait(ended.plus(wait))
            }
            None => {
                self.idle = Idle::ForEnd;
                Next::Nothing
            }
        }
    }

    /// Hands a request to the device.
    fn serve(&mut self, writes: bool, key: Key) -> Next {
        let Some(waiting) = self.side(writes).waiting.remove(key) else { return Next::Nothing };
        let Waiting { at, request, .. } = waiting;
        self.side(writes).head = request.start.saturating_add(request.len);
        self.idle = Idle::Off;
        self.ended = None;
        self.last = (!writes).then_some(request.handler);
        if writes {
            self.batch.left = self.batch.left.saturating_sub(1);
        }
        self.in_device += 1;
        let process = self.histories.of(request.handler, at);
        process.queued = process.queued.saturating_sub(1);
        process.reading += u32::from(!writes);
        Next::Serve(waiting)
    }

    /// The running batch goes on, or the device waits for its process; `None` if another batch is
    /// due.
    fn go_on(&mut self, at: Instant) -> Option<Next> {
        let writes = self.batch.writes;
        let both = !self.reads.waiting.is_empty() && !self.writes.waiting.is_empty();
        if both && self.batch_is_over(at) {
            return None;
        }
        let candidate = self.side(writes).nearest();
        if !writes && self.parameters.wait_ms > 0.0 {
            if let Some(key) = self.due(at, false) {
                return Some(self.serve(false, key));
            }
            if let Some(last) = self.last
                && self.idle != Idle::Over
                && !self.enough(at, last, candidate.and_then(|key| self.reads.waiting.get(key).copied()))
            {
                return Some(self.anticipate());
            }
        }
        let key = candidate?;
        if !writes && self.writes.waiting.is_empty() {
            self.batch.until = at.plus(nanos(self.parameters.read_batch_ms));
        }
        let key = self.due(at, writes).unwrap_or(key);
        Some(self.begin(at, key))
    }

    /// The other direction's turn, if it has something.
    fn turn(&mut self, at: Instant) -> Next {
        let (reads, writes) = (!self.reads.waiting.is_empty(), !self.writes.waiting.is_empty());
        let to_writes = writes && (!reads || !self.batch.writes);
        if to_writes != self.batch.writes {
            self.batch.changing = true;
            self.batch.fresh = false;
        }
        self.batch.writes = to_writes;
        let key = if to_writes {
            self.batch.left = self.batch.length;
            self.batch.ran_out = false;
            self.writes.nearest()
        } else {
            self.reads.checked = at;
            self.reads.waiting.oldest()
        };
        let key = self.due(at, to_writes).or(key);
        key.map_or(Next::Nothing, |key| self.begin(at, key))
    }

    /// Serves `key` of the batch's direction, once the device is done with the other one.
    fn begin(&mut self, at: Instant, key: Key) -> Next {
        if self.batch.changing {
            if self.in_device > 0 {
                return Next::Nothing;
            }
            self.changed(at);
        }
        self.serve(self.batch.writes, key)
    }

    /// The device is done with the other direction: the batch begins, for writes at once, for reads
    /// with the end of the first.
    fn changed(&mut self, at: Instant) {
        self.batch.changing = false;
        if self.batch.writes {
            self.batch.began = at;
            self.batch.until = at.plus(nanos(self.parameters.write_batch_ms));
        } else {
            self.learn(at);
            self.batch.fresh = true;
        }
    }

    fn batch_is_over(&self, at: Instant) -> bool {
        let Batch { changing, fresh, until, writes, left, .. } = self.batch;
        !changing && !fresh && (at > until || (writes && left == 0))
    }

    /// Learns from the batch of writes that has ended how many of them fit into its time.
    fn learn(&mut self, at: Instant) {
        let (batch, took) = (nanos(self.parameters.write_batch_ms), at.since(self.batch.began));
        let length = &mut self.batch.length;
        if took > batch && !self.batch.ran_out {
            *length = if took > 3 * batch { *length / 2 } else { *length - 1 };
        } else if took < batch && self.batch.left == 0 {
            *length = if batch > 3 * took { length.saturating_mul(2) } else { *length + 1 };
        }
        *length = (*length).max(1);
    }
}

impl Scheduler for Anticipatory {
    fn push(&mut self, waiting: Waiting) {
        let Waiting { at, request, .. } = waiting;
        if !request.write {
            self.histories.reads(request.handler, at, request.start, request.len);
        }
        self.histories.of(request.handler, at).queued += 1;
        let arrival = self.arrivals;
        self.arrivals += 1;
        self.side(request.write).waiting.insert(arrival, waiting);
        // Ends the wait, if this request ends it.
        if let (Idle::ForEnd | Idle::ForNext(_), Some(last)) = (self.idle, self.last)
            && self.enough(at, last, Some(waiting))
        {
            self.idle = Idle::Over;
        }
    }

    fn pop(&mut self, at: Instant) -> Next {
        let (reads, writes) = (!self.reads.waiting.is_empty(), !self.writes.waiting.is_empty());
        if self.batch.writes && !reads && (self.batch.left == 0 || !writes) {
            self.batch.ran_out = true;
        }
        if !reads && !writes || self.batch.changing && self.in_device > 0 {
            return Next::Nothing;
        }
        match self.idle {
            Idle::ForEnd => return Next::Nothing,
            Idle::ForNext(until) if at < until => return Next::Wait(until),
            Idle::ForNext(_) => {
                // The wait was in vain.
                self.last.inspect(|&last| self.histories.missed(last));
                self.idle = Idle::Over;
            }
            Idle::Off | Idle::Over => {}
        }
        match self.go_on(at) {
            Some(next) => next,
            None => self.turn(at),
        }
    }

    fn ended(&mut self, at: Instant, waiting: &Waiting, end: End) {
        let Waiting { request, .. } = *waiting;
        if end != End::Piece {
            self.in_device = self.in_device.saturating_sub(1);
            let process = self.histories.of(request.handler, at);
            process.reading = process.reading.saturating_sub(u32::from(!request.write));
            if self.batch.changing && self.in_device == 0 {
                self.changed(at);
            }
        }
        if request.write {
            return;
        }
        if end == End::Whole {
            self.histories.done(request.handler, at);
            if self.batch.fresh && !self.batch.writes {
                self.batch.fresh = false;
                self.batch.until = at.plus(nanos(self.parameters.read_batch_ms));
            }
        }
        // CPEM §6: the time begins when all pieces are done. Without the correction, with the
        // first.
        let all = end != End::Piece && !self.histories.reading(request.handler);
        let first = !self.parameters.corrected && end != End::Withdrawn;
        if self.last == Some(request.handler) && self.ended.is_none() && (all || first) {
            self.ended = Some(at);
            if self.idle == Idle::ForEnd {
                self.idle = Idle::ForNext(at.plus(nanos(self.parameters.wait_ms)));
            }
        }
    }

    fn exited(&mut self, handler: u32) {
        self.histories.exited(handler);
    }

    fn piece(&self) -> u64 {
        u64::from(self.parameters.piece_kib.max(1)) << 10
    }

    fn contains(&self, id: u64) -> bool {
        self.reads.waiting.find(id).or_else(|| self.writes.waiting.find(id)).is_some()
    }

    fn remove(&mut self, id: u64) -> bool {
        let take = |side: &mut Side| side.waiting.find(id).and_then(|key| side.waiting.remove(key));
        let Some(gone) = take(&mut self.reads).or_else(|| take(&mut self.writes)) else { return false };
        let process = self.histories.of(gone.request.handler, gone.at);
        process.queued = process.queued.saturating_sub(1);
        true
    }

    fn len(&self) -> usize {
        self.reads.waiting.len() + self.writes.waiting.len()
    }
}
