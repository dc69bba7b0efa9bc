//! Device models and measured profiles. Sans-IO: time goes in and comes out as numbers, nothing
//! sleeps, and nothing is random that a seed did not fix. It knows no policy.
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
//! A device is a [`Description`], shipped or one's own TOML file; [`Description::build`] makes its
//! [`Model`]. A [`Profile`] is what measuring a real device gave. Both answer with the
//! [`DeviceCost`] that policies go by.

use forebay_core::{DeviceCost, Instant};

mod arm;
pub mod array;
pub mod attached;
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
pub use latency::FirstByte;
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
    /// Who asks, for schedulers that tell processes apart; zero where nobody knows.
    pub handler: u32,
}

impl Request {
    /// A read, by nobody in particular.
    pub fn read(start: u64, len: u64) -> Request {
        Request { start, len, write: false, handler: 0 }
    }

    /// A write, by nobody in particular.
    pub fn write(start: u64, len: u64) -> Request {
        Request { start, len, write: true, handler: 0 }
    }

    /// The same, by `handler`.
    #[must_use]
    pub fn by(self, handler: u32) -> Request {
        Request { handler, ..self }
    }
}

/// The mechanics of one device: what it takes to serve a request, given what it did before.
pub trait Model: Send {
    /// Serves `request`, starting at `at` (not before the last one that it served ended, unless it
    /// has more than one channel), and returns when its last byte is there.
    fn serve(&mut self, at: Instant, request: Request) -> Instant;
    /// How many requests it works on at once.
    fn channels(&self) -> u32;
    /// How many requests it accepts at once: those it works on, and those whose order is settled.
    fn commands(&self) -> u32 {
        self.channels()
    }
    /// Its size in bytes; zero if it has no places.
    fn capacity(&self) -> u64;
    /// What the policy core should believe of it.
    fn cost(&self) -> DeviceCost;
}

/// A device that requests can be given to as they come: a model with a scheduler in front of it, or
/// several of them. Submit requests, ask for the next moment to look, collect what is complete.
pub trait Queue: Send {
    /// A request arrives at `at`. `id` is the driver's.
    fn submit(&mut self, at: Instant, id: u64, request: Request);
    /// When to call [`Queue::complete`] next, if anything is under way: not later than the next
    /// completion, and perhaps before it, because something else happens inside (a timer runs out,
    /// a piece is done), in which case nothing is complete yet. In the past, if a complete request
    /// waits to be collected.
    fn next_completion(&self) -> Option<Instant>;
    /// Removes the request that is complete at or before `at`, earliest first. `None` if there is
    /// none, which does not mean that nothing is under way: ask [`Queue::next_completion`].
    fn complete(&mut self, at: Instant) -> Option<u64>;
    /// Takes request `id` back at `at`: it never completes. `false`, and nothing changes, if the
    /// device works on it by then or has done so, or has never heard of it.
    fn cancel(&mut self, at: Instant, id: u64) -> bool;
    /// Whether [`Queue::cancel`] would take it back.
    fn waits(&mut self, at: Instant, id: u64) -> bool;
    /// At `at` a handler has exited, and asks for nothing any more.
    fn exited(&mut self, at: Instant, handler: u32);
    /// Its size in bytes; zero if it has no places.
    fn capacity(&self) -> u64;
    /// What the policy core should believe of it.
    fn cost(&self) -> DeviceCost;
}

/// The first whole nanosecond at which something is over that ends at `nanos`, not before `at`:
/// after a hundred days a float is coarser than a nanosecond.
fn moment(nanos: f64, at: Instant) -> Instant {
    Instant(nanos.ceil() as u64).max(at)
}
