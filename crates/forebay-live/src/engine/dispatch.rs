//! Carrying out the core's decisions: sources get fetches, readers get their leases.
//!
//! Sources may answer at once, on the calling thread, and an answer may lead to further actions. So
//! that this never nests, each thread has a queue of work. A call that finds no queue works it off;
//! a call inside another only adds to the queue.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use forebay_core::{Action, DeviceId, Event, EventKind, Extent, FrameId, Instant, IoId};
use forebay_source::{BLOCK, Error, Fetch, FetchId, Label, Object, Result, Segments};
use parking_lot::MutexGuard;

use super::{Engine, Lease, State, Then, lease};
use crate::figures::{Over, Reason};
use crate::label;
use crate::retry::{ATTEMPTS, back_off};

/// The means to call a fetch off. Its file is closed by then and has forgotten its object.
pub(super) type CallOff = (FetchId, Arc<dyn Object>);

/// A fetch on its way, from the core's action to its `Arrived` or `Failed`.
#[derive(Clone)]
struct Errand {
    io: IoId,
    id: FetchId,
    /// The blocks that the core wants.
    extent: Extent,
    /// The frames of its blocks.
    frames: Arc<[FrameId]>,
    /// How many of its blocks, from the first on, readers wait for.
    demanded: u32,
    /// The blocks of its stream that were read since the stream's last fetch.
    hits: Extent,
    /// The blocks of it that are asked of the source this time.
    asked: Range<u32>,
    attempt: u32,
    /// When the core asked for it.
    begun: Instant,
    device: DeviceId,
    reason: Reason,
    /// Whether a disk tier has brought it.
    near: bool,
    object: Arc<dyn Object>,
}

enum Work {
    Fetch(Errand),
    CallOff(CallOff),
    /// A block of an object was fetched in vain.
    Unread(Arc<dyn Object>, u32),
    Finish(Then, Result<Lease>),
    /// The outcome of a fetch that a source answered while we were inside.
    Outcome(Errand, Result<()>),
}

thread_local! {
    /// `None` unless this thread is working its queue off.
    static QUEUE: RefCell<Option<Queue>> = const { RefCell::new(None) };
}

type Queue = VecDeque<(Arc<Engine>, Work)>;

impl Engine {
    /// Turns the core's actions into work, lets go of the lock, and does it.
    pub(super) fn carry_out(self: &Arc<Self>, mut state: MutexGuard<'_, State>) {
        let mut work = Vec::with_capacity(state.actions.len());
        while !state.actions.is_empty() {
            let mut actions = std::mem::take(&mut state.actions);
            for action in actions.drain(..) {
                self.work_of(&mut state, action, &mut work);
            }
            if state.actions.is_empty() {
                // Keep the buffer that has grown.
                state.actions = actions;
            }
        }
        state.given_up = None;
        let deadline = state.core.deadline().filter(|at| state.wakes.is_none_or(|wakes| *at < wakes));
        if deadline.is_some() {
            state.wakes = deadline;
        }
        drop(state);
        if let Some(at) = deadline {
            self.wake_at(at);
        }
        if !work.is_empty() {
            self.work(work);
        }
    }

    /// Tells the core once a moment has come that it asked for. Does not keep the engine alive.
    fn wake_at(self: &Arc<Self>, at: Instant) {
        let engine = Arc::downgrade(self);
        let wake = move || {
            let Some(engine) = engine.upgrade() else { return };
            // An earlier moment was asked for since, or a later one.
            engine.state.lock().wakes.take_if(|wakes| *wakes == at);
            engine.tell(EventKind::Tick);
        };
        self.world.after(Duration::from_nanos(at.since(self.now())), Box::new(wake));
    }

    fn work_of(self: &Arc<Self>, state: &mut State, action: Action, work: &mut Vec<Work>) {
        match action {
            Action::Fetch { io, extent, cause, demand, hits, device } => {
                let frames: Option<Arc<[FrameId]>> = extent.keys().map(|key| state.core.frame(key)).collect();
                if let (Ok(object), Some(frames)) = (state.object(extent.file), frames) {
                    let (id, demanded, asked) = (FetchId::unique(), demand.len, 0..extent.len);
                    state.under_way.insert(io, (id, Arc::clone(&object)));
                    let (attempt, reason, near) = (0, cause.into(), false);
                    let begun = state.latest;
                    let errand = Errand {
                        io,
                        id,
                        extent,
                        frames,
                        demanded,
                        hits,
                        asked,
                        attempt,
                        begun,
                        device,
                        reason,
                        near,
                        object,
                    };
                    work.push(Work::Fetch(errand));
                } else {
                    // Closed meanwhile: only a prefetch can meet this.
                    let kind = EventKind::Failed { io, valid: 0, error: libc::ESTALE };
                    let at = self.now();
                    state.handle(Event { at, kind });
                }
            }
            Action::CallOff { io } => work.extend(state.under_way.get(&io).cloned().map(Work::CallOff)),
            Action::Ready { read } => {
                let Some(pending) = state.reads[read.index()].take() else { return };
                self.answered(state, pending.since);
                let result = match lease::runs(state, pending.extent) {
                    Some(runs) => Ok(Lease::of_read(Arc::clone(self), read, runs, pending.skip, pending.len)),
                    None => Err(Error::Storage { name: "cache".into(), reason: "a ready block has no frame".into() }),
                };
                work.push(Work::Finish(pending.then, result));
            }
            Action::Error { read, error } => {
                let Some(pending) = state.reads[read.index()].take() else { return };
                state.free_reads.push(read);
                if state.came_late(&pending) && state.object(pending.extent.file).is_ok() {
                    let (at, (_, kind)) = (self.now(), state.register(pending));
                    return state.handle(Event { at, kind });
                }
                self.answered(state, pending.since);
                work.push(Work::Finish(pending.then, Err(of_errno(error))));
            }
            Action::Emptied { file } => state.emptied(file),
            Action::Forgotten { file } => {
                state.files.remove(file.0);
            }
            Action::Evict { unread: Some(key), .. } => {
                // Closed meanwhile: its object hears no more of it.
                work.extend(state.object(key.file()).ok().map(|object| Work::Unread(object, key.block())));
            }
            Action::Evict { unread: None, .. } => {}
        }
    }

    /// Counts how long a read took that came at `since`. One that was answered by its own event
    /// took no time: all of it was in memory.
    fn answered(&self, state: &State, since: Instant) {
        match state.latest.since(since) {
            0 => {}
            waited => self.clocks.reads.add(waited),
        }
    }

    /// Does `work`, and the work that it leads to, unless this thread is inside another call.
    fn work(self: &Arc<Self>, work: Vec<Work>) {
        let queued = QUEUE.with_borrow_mut(|queue| {
            let inside = queue.is_some();
            let queue = queue.get_or_insert_default();
            queue.extend(work.into_iter().map(|work| (Arc::clone(self), work)));
            inside
        });
        if queued {
            return;
        }
        while let Some((engine, work)) = QUEUE.with_borrow_mut(|queue| queue.as_mut().and_then(VecDeque::pop_front)) {
            match work {
                Work::Fetch(errand) => engine.fetch(errand),
                // If another thread has still to ask the source, this comes too early and is lost:
                // the fetch runs.
                Work::CallOff((fetch, object)) => object.call_off(fetch),
                Work::Unread(object, block) => {
                    let offset = u64::from(block) * BLOCK as u64;
                    object.unread(offset..offset + BLOCK as u64);
                }
                Work::Finish(then, result) => then(result),
                Work::Outcome(errand, outcome) => engine.fetched(errand, outcome),
            }
        }
        QUEUE.set(None);
    }

    /// Asks the source.
    fn fetch(self: &Arc<Self>, errand: Errand) {
        let asked = errand.asked.start as usize..errand.asked.end as usize;
        let frames = errand.frames[asked].iter().copied();
        frames.clone().for_each(|frame| self.arena.await_copies(frame));
        // SAFETY: the core gave these frames to this fetch, and no other code touches them before
        // we tell the core that it is over.
        let buffer = unsafe { self.arena.segments(frames) };
        let offset = u64::from(errand.extent.start + errand.asked.start) * BLOCK as u64;
        let size = errand.object.version().size;
        let len = buffer.len().min(usize::try_from(size.saturating_sub(offset)).unwrap_or(usize::MAX));
        let demand = Extent { len: errand.demanded, ..errand.extent };
        let label = Label { demand: label::bytes(demand, size), hits: label::bytes(errand.hits, size) };
        let engine = Arc::clone(self);
        let object = Arc::clone(&errand.object);
        let (id, urgent, begun) = (errand.id, errand.demanded > 0, self.now());
        let done = Box::new(move |buffer: Segments, outcome: Result<()>| {
            let errand = Errand { near: buffer.is_near(), ..errand };
            drop(buffer);
            let nanoseconds = engine.now().since(begun);
            let bytes = outcome.as_ref().map(|()| len as u64);
            let Errand { device, reason, .. } = errand;
            engine.clocks.over(Over { device, reason, nanoseconds, outcome: bytes });
            engine.work(vec![Work::Outcome(errand, outcome)]);
        });
        object.fetch(Fetch { id, offset, buffer, len, urgent, label, done });
    }

    /// Takes in the outcome. A prefetch that failed is given up at once. Demand is asked of the
    /// storage again, for the demanded part alone, after waiting longer each time. If that doesn't
    /// help, it is asked block by block, so that only readers of blocks that really cannot be read
    /// get the error.
    fn fetched(self: &Arc<Self>, errand: Errand, outcome: Result<()>) {
        let Errand { io, extent, demanded, attempt, begun, .. } = errand;
        let Range { start, end } = errand.asked;
        let Err(error) = outcome else {
            return match end {
                _ if end == extent.len => {
                    if errand.near {
                        self.tell(EventKind::Near { io });
                    }
                    self.tell(EventKind::Arrived { io });
                }
                _ if end == demanded => self.tell(EventKind::Failed { io, valid: end, error: libc::EIO }),
                _ => self.fetch(Errand { asked: end..end + 1, ..errand }),
            };
        };
        if demanded > 0 && error.is_transient() && attempt + 1 < ATTEMPTS {
            log::debug!("fetch of {extent:?}, attempt {}: {error}", attempt + 1);
            let engine = Arc::clone(self);
            let next = Errand { asked: 0..demanded, attempt: attempt + 1, ..errand };
            let again = Box::new(move || engine.work(vec![Work::Fetch(next)]));
            return self.world.after(back_off(attempt), again);
        }
        if error.is_transient() && end - start > 1 && demanded > 1 {
            return self.fetch(Errand { asked: 0..1, attempt: ATTEMPTS, ..errand });
        }
        if demanded > 0 {
            self.failures.hear(self.world.now(), extent.start + start, &error);
        }
        let mut state = self.state.lock();
        if let Error::GivenUp { .. } = error {
            state.given_up = Some(begun);
        }
        let kind = EventKind::Failed { io, valid: start, error: error.errno() };
        let at = self.now();
        state.handle(Event { at, kind });
        self.carry_out(state);
    }
}

/// The error of a read whose fetch failed with `errno`.
fn of_errno(errno: i32) -> Error {
    match errno {
        libc::ESTALE => Error::Stale("the file".into()),
        libc::ENOENT => Error::NotFound("the file".into()),
        libc::EACCES => Error::Denied("the file".into()),
        _ => Error::Refused { name: "the storage".into(), errno },
    }
}
