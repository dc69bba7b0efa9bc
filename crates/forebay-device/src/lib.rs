//! Device models and measured profiles. Sans-IO: time goes in and comes out as numbers, nothing
//! sleeps, and a seed fixes all that is random. The crate knows no policy.
//!
//! ```
//! use forebay_core::Instant;
//! use forebay_device::{DeviceQueue, Queue, Request, device, scheduler::Elevator};
//!
//! let disk = device("ibm-10k")?.build(1)?;
//! let mut queue = DeviceQueue::new(disk, Box::<Elevator>::default());
//! queue.submit(Instant(0), 7, Request::read(20_000_000_000, 65536));
//! let end = queue.next_completion().expect("it is in service");
//! assert_eq!(queue.complete(end), Some(7));
//! assert!(end.0 > 5_000_000); // a seek, part of a revolution, the transfer
//! # Ok::<(), forebay_device::Error>(())
//! ```
//!
//! A device is a [`Description`], shipped or a user's own TOML file; [`Description::build`] makes
//! its [`Model`]. A [`Profile`] is measured on a real device. Both give the [`DeviceCost`] that
//! policies use.

use forebay_core::{DeviceCost, Instant};

mod arm;
pub mod array;
pub mod attached;
pub mod curve;
pub mod demerit;
mod description;
pub mod disk;
pub mod diskspecs;
pub mod fit;
mod latency;
pub mod layout;
pub mod network;
pub mod object_store;
mod ordered;
pub mod overheads;
mod pipe;
mod profile;
pub mod queue;
pub mod random;
mod rotation;
pub mod scheduler;
pub mod seek_curve;
mod segment_cache;
pub mod slowdown;
pub mod ssd;
pub mod validation;
pub mod zones;

pub use array::{Array, array};
pub use attached::Attached;
pub use description::{Description, Error, ModelDescription, device, devices};
pub use latency::{FirstByte, Retry};
pub use network::Network;
pub use ordered::Ordered;
pub use profile::{Kind, Profile};
pub use queue::DeviceQueue;
pub use rotation::Rotation;
pub use segment_cache::{Cache, ReadAhead};
pub use slowdown::{Slowdown, Slowed};

/// `len` bytes from byte `start` of a device, to be read or written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Request {
    /// The first byte.
    pub start: u64,
    /// How many bytes.
    pub len: u64,
    /// Whether they are written.
    pub write: bool,
    /// The process that asks, for schedulers that tell processes apart; zero if unknown.
    pub handler: u32,
}

impl Request {
    /// A read without a named handler.
    pub fn read(start: u64, len: u64) -> Request {
        Request { start, len, write: false, handler: 0 }
    }

    /// A write without a named handler.
    pub fn write(start: u64, len: u64) -> Request {
        Request { start, len, write: true, handler: 0 }
    }

    /// The same request, by `handler`.
    #[must_use]
    pub fn by(self, handler: u32) -> Request {
        Request { handler, ..self }
    }
}

/// The mechanics of one device: how long a request takes, given the requests before.
pub trait Model: Send {
    /// Serves `request`, starting at `at`, and returns when its last byte is there. Unless the
    /// device has several channels, `at` is not before the end of the last request.
    fn serve(&mut self, at: Instant, request: Request) -> Instant;
    /// How many requests it serves at once.
    fn channels(&self) -> u32;
    /// How many requests it accepts at once: those it serves, and those whose order is settled.
    fn commands(&self) -> u32 {
        self.channels()
    }
    /// Its size in bytes; zero if it has no places.
    fn capacity(&self) -> u64;
    /// The costs that the policy core uses for it.
    fn cost(&self) -> DeviceCost;
}

/// A device that takes requests as they come: a model behind a scheduler, or several of them.
/// Submit requests, ask for the next moment to look, collect the completed ones.
pub trait Queue: Send {
    /// A request arrives at `at`. The driver chooses `id`.
    fn submit(&mut self, at: Instant, id: u64, request: Request);
    /// When to call [`Queue::complete`] next, if a request is under way: at the next completion or
    /// before it, when an inner event (a timer, a piece) may complete nothing. The moment is in the
    /// past if a complete request waits to be collected.
    fn next_completion(&self) -> Option<Instant>;
    /// Removes the request that is complete at or before `at`, earliest first. `None` if there is
    /// none, which does not mean that nothing is under way: ask [`Queue::next_completion`].
    fn complete(&mut self, at: Instant) -> Option<u64>;
    /// Takes request `id` back at `at`: it never completes. `false`, and nothing changes, if the
    /// device has begun with it by then, or does not know it.
    fn cancel(&mut self, at: Instant, id: u64) -> bool;
    /// Whether [`Queue::cancel`] would take it back.
    fn waits(&mut self, at: Instant, id: u64) -> bool;
    /// At `at` a handler has exited, and asks for nothing any more.
    fn exited(&mut self, at: Instant, handler: u32);
    /// Its size in bytes; zero if it has no places.
    fn capacity(&self) -> u64;
    /// The costs that the policy core uses for it.
    fn cost(&self) -> DeviceCost;
}

/// The first whole nanosecond that is before neither `nanos` nor `at`: after a hundred days a float
/// is coarser than a nanosecond.
fn moment(nanos: f64, at: Instant) -> Instant {
    Instant(nanos.ceil() as u64).max(at)
}
