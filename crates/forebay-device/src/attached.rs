//! A device at the other end of a network.
//!
//! ```text
//!  client ── request, 64 bytes (a write: and its data) ──▶ server: queue, device
//!         ◀────────── its data (a write: 64 bytes) ──────
//! ```
//!
//! Several devices may share a network: then those with the same client or server share its lines.
//! The driver must work on such devices in the order of time, as one that always goes to the
//! earliest [`Queue::next_completion`] of all of them does.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use forebay_core::{DeviceCost, Instant};
use serde::{Deserialize, Serialize};

use crate::{Network, Queue, Request, network};

/// An attached device as it is written in a description.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AttachedDescription {
    /// A device by name, or a file by path, relative to the file of this description.
    pub device: String,
    /// The network that it has to itself.
    #[serde(default)]
    pub network: network::Description,
}

/// Bytes of a message without data: a command, or its answer.
pub const COMMAND: u64 = 64;

/// A queue behind a network.
pub struct Attached {
    queue: Box<dyn Queue>,
    network: Arc<Mutex<Network>>,
    client: u32,
    server: u32,
    /// Requests on their way to the device, by arrival.
    out: BTreeMap<(Instant, u64), Request>,
    /// Requests that the device has, with the bytes of their answers.
    there: HashMap<u64, u64>,
    /// Answers on their way back, by arrival.
    back: BTreeSet<(Instant, u64)>,
    now: Instant,
}

impl Attached {
    /// `queue` at the endpoint `server`, asked by the endpoint `client`.
    pub fn new(queue: Box<dyn Queue>, network: Arc<Mutex<Network>>, client: u32, server: u32) -> Attached {
        let (out, there, back) = (BTreeMap::new(), HashMap::new(), BTreeSet::new());
        Attached { queue, network, client, server, out, there, back, now: Instant(0) }
    }

    fn network(&self) -> MutexGuard<'_, Network> {
        // A thread that panics while it holds the network leaves it whole, so poison is ignored.
        self.network.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next moment at which a request reaches the device, or something happens there.
    fn next(&self) -> Option<Instant> {
        let reaches = self.out.first_key_value().map(|(&(at, _), _)| at);
        reaches.into_iter().chain(self.queue.next_completion()).min()
    }

    fn advance(&mut self, at: Instant) {
        self.now = self.now.max(at);
        while let Some(next) = self.next().filter(|&next| next <= self.now) {
            if let Some(id) = self.queue.complete(next) {
                let bytes = self.there.remove(&id).unwrap_or(COMMAND);
                let arrival = self.network().send(next, self.server, self.client, bytes);
                self.back.insert((arrival, id));
                continue;
            }
            if let Some(first) = self.out.first_entry().filter(|first| first.key().0 <= next) {
                let ((at, id), request) = first.remove_entry();
                self.there.insert(id, if request.write { COMMAND } else { request.len.max(COMMAND) });
                self.queue.submit(at, id, request);
            }
        }
    }
}

impl Queue for Attached {
    fn submit(&mut self, at: Instant, id: u64, request: Request) {
        self.advance(at);
        let bytes = if request.write { COMMAND.saturating_add(request.len) } else { COMMAND };
        let arrival = self.network().send(self.now, self.client, self.server, bytes);
        self.out.insert((arrival, id), request);
    }

    fn next_completion(&self) -> Option<Instant> {
        self.back.first().map(|&(at, _)| at).into_iter().chain(self.next()).min()
    }

    fn complete(&mut self, at: Instant) -> Option<u64> {
        self.advance(at);
        let first = self.back.first().copied().filter(|&(arrival, _)| arrival <= self.now)?;
        self.back.remove(&first);
        Some(first.1)
    }

    /// A cancellation travels in no time: it succeeds if the device has not begun with the request
    /// by now.
    fn cancel(&mut self, at: Instant, id: u64) -> bool {
        self.advance(at);
        if let Some(key) = self.out.keys().find(|key| key.1 == id).copied() {
            return self.out.remove(&key).is_some();
        }
        let cancelled = self.queue.cancel(self.now, id);
        if cancelled {
            self.there.remove(&id);
        }
        cancelled
    }

    fn waits(&mut self, at: Instant, id: u64) -> bool {
        self.advance(at);
        self.out.keys().any(|key| key.1 == id) || self.queue.waits(self.now, id)
    }

    /// The news of an exit travels in no time, too.
    fn exited(&mut self, at: Instant, handler: u32) {
        self.advance(at);
        self.queue.exited(self.now, handler);
    }

    fn capacity(&self) -> u64 {
        self.queue.capacity()
    }

    /// A switch costs the two messages in addition. A stream comes at the rate of the slower,
    /// device or line.
    fn cost(&self) -> DeviceCost {
        let mut cost = self.queue.cost();
        let network = self.network();
        let messages = network.alone(COMMAND).saturating_add(network.alone(1));
        cost.seek.iter_mut().for_each(|point| point.1 = point.1.saturating_add(messages));
        cost.zones.iter_mut().for_each(|zone| zone.1 = zone.1.min(network.rate()));
        cost
    }
}
