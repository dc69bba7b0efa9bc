//! A network of endpoints: LogGP (Alexandrov, Ionescu, Schauser and Scheiman, 1995) with contention
//! at the endpoints, as in SAC §4.1. A message of k bytes:
//!
//! ```text
//!  sender    │ o │ first byte … last byte, G apart │           the next message's first byte: g after this last one
//!                └── L ──▶│ first byte … last byte │ o │      receiver; the message has arrived
//!
//!  alone: o + (k − 1) G + L + o
//! ```
//!
//! An endpoint's processor is busy for o with every message that it sends or receives, its line in
//! each direction for the bytes of one message at a time and g after them. A message that finds
//! either busy waits. If two messages want the same line, the one that was sent first has it,
//! unless the other fits in before. Messages between the same two arrive in the order in which they
//! were sent. Times are whole nanoseconds; (k − 1) G is rounded up.

use std::collections::BTreeMap;

use forebay_core::Instant;
use serde::{Deserialize, Serialize};

/// A network as it is written in a description. The default is that of SAC §4.4, "similar to a 10
/// Gb/s Ethernet".
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Description {
    /// L: microseconds that a byte is under way.
    pub latency_us: f64,
    /// o: microseconds of an endpoint's processor for each message that it sends or receives.
    pub overhead_us: f64,
    /// g: microseconds between the end of one message and the next on the line of an endpoint.
    pub gap_us: f64,
    /// 1/G: gigabits (10⁹) a second.
    pub gbit_s: f64,
    /// P: how many endpoints there are.
    pub endpoints: u32,
}

impl Default for Description {
    fn default() -> Description {
        Description { latency_us: 1.0, overhead_us: 0.4, gap_us: 0.076, gbit_s: 10.0, endpoints: 32 }
    }
}

/// The network. Messages must be sent in the order of time.
#[derive(Clone, Debug)]
pub struct Network {
    latency: u64,
    overhead: u64,
    gap: u64,
    /// Nanoseconds a byte.
    byte: f64,
    endpoints: Vec<Endpoint>,
    /// When the last byte of the last message between two reached the receiver.
    last: BTreeMap<(u32, u32), u64>,
}

#[derive(Clone, Default, Debug)]
struct Endpoint {
    processor: Agenda,
    outward: Agenda,
    inward: Agenda,
}

/// The bookings of a resource that does one thing at a time: from when until when. Adjacent
/// bookings are one.
#[derive(Clone, Default, Debug)]
struct Agenda(BTreeMap<u64, u64>);

impl Agenda {
    /// Books the first free `length` nanoseconds from `at` on, and says when they begin.
    fn book(&mut self, at: u64, length: u64) -> u64 {
        let begin = self.free(at, length);
        if length > 0 {
            self.insert(begin, begin.saturating_add(length));
        }
        begin
    }

    /// When `length` nanoseconds are free, at `at` or after.
    fn free(&self, at: u64, length: u64) -> u64 {
        let before = self.0.range(..=at).next_back().map_or(0, |(_, &end)| end);
        let mut begin = at.max(before);
        for (&next, &end) in self.0.range(at.saturating_add(1)..) {
            if next.saturating_sub(begin) >= length {
                break;
            }
            begin = begin.max(end);
        }
        begin
    }

    fn insert(&mut self, mut begin: u64, mut end: u64) {
        if let Some((&before, _)) = self.0.range(..=begin).next_back().filter(|&(_, &until)| until >= begin) {
            begin = before;
        }
        if let Some(after) = self.0.remove(&end) {
            end = after;
        }
        self.0.insert(begin, end);
    }

    /// Forgets bookings that are over at `at`.
    fn forget(&mut self, at: u64) {
        while let Some(first) = self.0.first_entry().filter(|first| *first.get() <= at) {
            first.remove();
        }
    }
}

impl Network {
    /// The network of a description; or the fault in the description.
    pub fn new(description: &Description) -> Result<Network, &'static str> {
        let d = description;
        if ![d.latency_us, d.overhead_us, d.gap_us].iter().all(|us| (0.0..=1e9).contains(us)) {
            return Err("`latency_us`, `overhead_us` and `gap_us` must be 0 to 10⁹");
        }
        if !(1e-6..=1e6).contains(&d.gbit_s) || !(1..=1 << 20).contains(&d.endpoints) {
            return Err("`gbit_s` must be 0.000001 to 1,000,000, `endpoints` 1 to 1,048,576");
        }
        let nanos = |us: f64| (us * 1e3).round() as u64;
        Ok(Network {
            latency: nanos(d.latency_us),
            overhead: nanos(d.overhead_us),
            gap: nanos(d.gap_us),
            byte: 8.0 / d.gbit_s,
            endpoints: vec![Endpoint::default(); d.endpoints as usize],
            last: BTreeMap::new(),
        })
    }

    /// P.
    pub fn endpoints(&self) -> u32 {
        self.endpoints.len() as u32
    }

    /// 1/G, bytes a second.
    pub fn rate(&self) -> u64 {
        (1e9 / self.byte) as u64
    }

    /// The time of a message of `bytes` on an idle network: o + (k − 1) G + L + o, nanoseconds.
    pub fn alone(&self, bytes: u64) -> u64 {
        (2 * self.overhead + self.latency).saturating_add(self.span(bytes))
    }

    /// (k − 1) G.
    fn span(&self, bytes: u64) -> u64 {
        (bytes.saturating_sub(1) as f64 * self.byte).ceil() as u64
    }

    /// Sends a message of `bytes` at `at`, no earlier than the last one, and returns when it has
    /// arrived. Endpoints are numbered from zero; beyond the last, they are counted from zero
    /// again. A message to oneself takes no time.
    pub fn send(&mut self, at: Instant, from: u32, to: u32, bytes: u64) -> Instant {
        let (from, to) = (from % self.endpoints(), to % self.endpoints());
        if from == to {
            return at;
        }
        let (span, overhead) = (self.span(bytes), self.overhead);
        let line = span.saturating_add(self.gap);
        let sender = self.endpoint(from, at);
        // The processor begins only with a message that the line can take afterwards.
        let ready = sender.processor.free(at.0, overhead).saturating_add(overhead);
        let leaves = sender.outward.free(ready, line);
        let begins = sender.processor.book(leaves - overhead, overhead);
        let leaves = sender.outward.book(begins + overhead, line);
        let before = self.last.get(&(from, to)).copied().unwrap_or(0);
        let reaches = leaves.saturating_add(self.latency).max(before);
        let receiver = self.endpoint(to, at);
        let last = receiver.inward.book(reaches, line).saturating_add(span);
        let arrives = receiver.processor.book(last, overhead).saturating_add(overhead);
        self.last.insert((from, to), last);
        Instant(arrives)
    }

    /// An endpoint, without bookings that are over at `at`.
    fn endpoint(&mut self, number: u32, at: Instant) -> &mut Endpoint {
        let endpoint = &mut self.endpoints[number as usize];
        endpoint.processor.forget(at.0);
        endpoint.outward.forget(at.0);
        endpoint.inward.forget(at.0);
        endpoint
    }
}
