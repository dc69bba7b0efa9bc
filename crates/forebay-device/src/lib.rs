//! Device models and measured profiles. Sans-IO: time goes in and comes out as numbers, nothing sleeps, and nothing is
//! random that a seed did not fix. It knows no policy.

use forebay_core::{DeviceCost, Instant};

/// A read of `len` bytes from byte `start` of a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Request {
    /// The first byte.
    pub start: u64,
    /// How many bytes.
    pub len: u64,
}

/// The mechanics of one device: what it takes to serve a request, given what it did before.
pub trait Model: Send {
    /// Serves `request`, starting at `at` (not before the last one that it served ended, unless it has more than one
    /// channel), and returns when its last byte is there.
    fn serve(&mut self, at: Instant, request: Request) -> Instant;
    /// How many requests it works on at once.
    fn channels(&self) -> u32;
    /// Its size in bytes; zero if it has no places.
    fn capacity(&self) -> u64;
    /// What the policy core should believe of it.
    fn cost(&self) -> DeviceCost;
}

/// A model with a queue and a scheduler in front of it: submit requests, ask for the next completion, collect it.
///
/// (skeleton; the shape that drivers rely on)
pub trait Queue: Send {
    /// A request arrives at `at`. `id` is the driver's.
    fn submit(&mut self, at: Instant, id: u64, request: Request);
    /// When the next request in service will be complete, if any is in service.
    fn next_completion(&self) -> Option<Instant>;
    /// Removes the request that is complete at or before `at`, starting the next ones; earliest first.
    fn complete(&mut self, at: Instant) -> Option<u64>;
}
