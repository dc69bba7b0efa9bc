//! A lease: bytes of the cache that a reader holds. Its frames stay until it is dropped.

use std::sync::Arc;

use forebay_core::{BlockKey, Caller, DeviceId, Event, EventKind, Extent, FrameId, ReadId};

use super::{Engine, State};
use crate::arena::Arena;

/// Bytes that were read, held in memory until it is dropped.
pub struct Lease {
    engine: Arc<Engine>,
    hold: Hold,
    runs: Runs,
    skip: usize,
    len: usize,
}

/// The hold that ends with the lease, and that the core is told of.
enum Hold {
    Nothing,
    Frame(FrameId),
    Read(ReadId),
}

enum Runs {
    One(FrameRun),
    Many(Vec<FrameRun>),
}

/// Frames that are neighbours in memory.
#[derive(Clone, Copy)]
pub(super) struct FrameRun {
    first: FrameId,
    frames: usize,
}

impl Lease {
    pub(super) fn empty(engine: Arc<Engine>) -> Lease {
        Lease { engine, hold: Hold::Nothing, runs: Runs::Many(Vec::new()), skip: 0, len: 0 }
    }

    /// A hit within one frame, which the core holds for us.
    pub(super) fn of_frame(engine: Arc<Engine>, frame: FrameId, skip: usize, len: usize) -> Lease {
        Lease { engine, hold: Hold::Frame(frame), runs: Runs::One(FrameRun { first: frame, frames: 1 }), skip, len }
    }

    /// A read that the core reports ready.
    pub(super) fn of_read(engine: Arc<Engine>, read: ReadId, runs: Vec<FrameRun>, skip: usize, len: usize) -> Lease {
        Lease { engine, hold: Hold::Read(read), runs: Runs::Many(runs), skip, len }
    }

    /// Bytes in all.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is nothing (the read began at or beyond the end).
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The bytes, in order, in as few pieces as memory allows.
    pub fn slices(&self) -> impl Iterator<Item = &[u8]> {
        let runs = match &self.runs {
            Runs::One(run) => std::slice::from_ref(run),
            Runs::Many(runs) => runs,
        };
        let (mut skip, mut left) = (self.skip, self.len);
        runs.iter().map(move |&FrameRun { first, frames }| {
            // SAFETY: the core holds these frames for us until the lease is dropped.
            let bytes = unsafe { self.engine.arena.bytes(first, frames) };
            let bytes = &bytes[std::mem::take(&mut skip)..];
            let bytes = &bytes[..bytes.len().min(left)];
            left -= bytes.len();
            bytes
        })
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        match self.hold {
            Hold::Nothing => {}
            Hold::Frame(frame) => self.engine.unpin(frame),
            Hold::Read(read) => self.engine.done(read),
        }
    }
}

/// The frames of blocks that are all resident, neighbours together; `None` if one is missing, which
/// would be a defect of the core.
pub(super) fn runs(state: &State, extent: Extent) -> Option<Vec<FrameRun>> {
    let mut runs: Vec<FrameRun> = Vec::new();
    for key in extent.keys() {
        let frame = state.core.frame(key)?;
        match runs.last_mut() {
            Some(run) if run.first.index() + run.frames == frame.index() => run.frames += 1,
            _ => runs.push(FrameRun { first: frame, frames: 1 }),
        }
    }
    Some(runs)
}

impl Engine {
    /// A block that is resident and whose reference tells the core nothing new. `then` is called
    /// with its frame while the engine is locked, and makes sure that the frame stays.
    #[inline(always)]
    pub(super) fn hit<'a, T>(
        &'a self,
        key: BlockKey,
        device: DeviceId,
        caller: Caller,
        then: impl FnOnce(&'a Arena, &mut State, FrameId) -> Option<T>,
    ) -> Option<T> {
        let mut state = self.state.lock();
        let frame = state.core.hit(key, device, caller)?;
        then(&self.arena, &mut state, frame)
    }

    /// A read is done; its number may be given to another read from now on.
    fn done(self: &Arc<Self>, read: ReadId) {
        let mut state = self.state.lock();
        let at = self.now();
        state.handle(Event { at, kind: EventKind::Done { read } });
        state.free_reads.push(read);
        self.carry_out(state);
    }

    /// Ends a hold on a frame.
    fn unpin(self: &Arc<Self>, frame: FrameId) {
        let waited_for = self.state.lock().core.unpin(frame);
        if waited_for {
            self.tell(EventKind::Tick);
        }
    }
}
