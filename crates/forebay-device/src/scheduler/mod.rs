//! In which order waiting requests go to the device, and when.
//!
//! A scheduler may keep the device idle though requests wait ([`Next::Wait`]): anticipation. It is
//! then asked again at the moment that it named, at every arrival, and whenever a request ends.
//! [`SchedulerKind`] knows them by name.

use forebay_core::Instant;

use crate::Request;

mod anticipatory;
mod cfq;
mod deadline;
mod elevator;
mod history;
mod kind;
mod noop;
mod sorted;

pub use anticipatory::{Anticipation, Anticipatory};
pub use cfq::{Cfq, Turns};
pub use deadline::{Deadline, Expiry};
pub use elevator::Elevator;
pub use kind::{SchedulerKind, UnknownScheduler, named};
pub use noop::Noop;

/// A request that waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Waiting {
    /// When it arrived.
    pub at: Instant,
    /// The driver's name for it.
    pub id: u64,
    /// The driver's request.
    pub request: Request,
}

/// The order to the device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// Serve this one, which waits no longer.
    Serve(Waiting),
    /// Stay idle, and ask again at this moment, which is later than now, or at an event before it.
    Wait(Instant),
    /// Stay idle until an event: no request waits, or those that wait need the end of one in the
    /// device.
    Nothing,
}

/// How far a request has come that the device was given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// A piece of it is done, and not the last one; see [`Scheduler::piece`].
    Piece,
    /// All of it is done.
    Whole,
    /// It was cancelled before the device had begun with it.
    Withdrawn,
}

/// An order of service.
///
/// With an idle device and waiting requests, [`Next::Nothing`] is no answer.
pub trait Scheduler: Send {
    /// A request arrives, at `waiting.at`.
    fn push(&mut self, waiting: Waiting);
    /// The order to the device.next, at `at`.
    fn pop(&mut self, at: Instant) -> Next;
    /// At `at`, the device ended a piece or all of a popped request, or its request was withdrawn.
    fn ended(&mut self, at: Instant, waiting: &Waiting, end: End) {
        let _ = (at, waiting, end);
    }
    /// A handler has exited, and asks for nothing any more.
    fn exited(&mut self, handler: u32) {
        let _ = handler;
    }
    /// The most bytes that are handed to the device at once: a longer request goes there in several
    /// pieces, one right after the other, and each of them tells its end.
    fn piece(&self) -> u64 {
        u64::MAX
    }
    /// Whether a request of this name waits. It may look at all waiting requests, as
    /// [`Scheduler::remove`] may: both are rare.
    fn contains(&self, id: u64) -> bool;
    /// Takes a waiting request back. `false` if none has that name.
    fn remove(&mut self, id: u64) -> bool;
    /// How many wait.
    fn len(&self) -> usize;
    /// Whether none waits.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests;
