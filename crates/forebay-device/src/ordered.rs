//! A scheduler before a device that has queues of its own: the kernel's, before an array whose
//! controller looks like one disk.
//!
//! ```text
//!  requests ─▶ scheduler ─▶ at most `depth` at a time ─▶ array ─▶ each member's own queue
//! ```

use std::collections::{HashMap, VecDeque};

use forebay_core::{DeviceCost, Instant};

use crate::scheduler::{End, Next, Scheduler, Waiting};
use crate::{Queue, Request};

/// See the module's head.
pub struct Ordered {
    below: Box<dyn Queue>,
    scheduler: Box<dyn Scheduler>,
    depth: usize,
    /// The requests that the device below has.
    given: HashMap<u64, Waiting>,
    complete: VecDeque<(Instant, u64)>,
    /// When the scheduler wants to be asked again.
    timer: Option<Instant>,
    now: Instant,
}

impl Ordered {
    /// `below` behind `scheduler`, with up to `depth` requests at a time, at least one.
    pub fn new(below: Box<dyn Queue>, scheduler: Box<dyn Scheduler>, depth: u32) -> Ordered {
        Ordered {
            below,
            scheduler,
            depth: depth.max(1) as usize,
            given: HashMap::new(),
            complete: VecDeque::new(),
            timer: None,
            now: Instant(0),
        }
    }

    /// Hands down as many requests as the scheduler and the depth allow.
    fn start(&mut self, at: Instant) {
        self.timer = None;
        while self.given.len() < self.depth {
            match self.scheduler.pop(at) {
                Next::Serve(waiting) => {
                    self.below.submit(at, waiting.id, waiting.request);
                    self.given.insert(waiting.id, waiting);
                }
                Next::Wait(until) => {
                    // Later in any case, so that time goes on; at the end of time, never.
                    self.timer = at.0.checked_add(1).map(|next| until.max(Instant(next)));
                    return;
                }
                Next::Nothing => return,
            }
        }
    }

    fn next(&self) -> Option<Instant> {
        self.below.next_completion().into_iter().chain(self.timer).min()
    }

    /// Lets everything below work until `at`.
    fn advance(&mut self, at: Instant) {
        while let Some(next) = self.next().filter(|&next| next <= at) {
            self.now = self.now.max(next);
            while let Some(id) = self.below.complete(self.now) {
                self.complete.push_back((self.now, id));
                if let Some(waiting) = self.given.remove(&id) {
                    self.scheduler.ended(self.now, &waiting, End::Whole);
                }
            }
            self.start(self.now);
        }
        self.now = self.now.max(at);
    }
}

impl Queue for Ordered {
    fn submit(&mut self, at: Instant, id: u64, request: Request) {
        self.advance(at);
        self.scheduler.push(Waiting { at: self.now, id, request });
        self.start(self.now);
    }

    fn next_completion(&self) -> Option<Instant> {
        self.complete.front().map(|&(end, _)| end).or_else(|| self.next())
    }

    fn complete(&mut self, at: Instant) -> Option<u64> {
        self.advance(at);
        self.complete.pop_front().map(|(_, id)| id)
    }

    fn cancel(&mut self, at: Instant, id: u64) -> bool {
        self.advance(at);
        let cancelled = self.scheduler.remove(id) || self.below.cancel(self.now, id);
        if !cancelled {
            return false;
        }
        if let Some(waiting) = self.given.remove(&id) {
            self.scheduler.ended(self.now, &waiting, End::Withdrawn);
        }
        self.start(self.now);
        true
    }

    fn waits(&mut self, at: Instant, id: u64) -> bool {
        self.advance(at);
        self.scheduler.contains(id) || self.below.waits(self.now, id)
    }

    fn exited(&mut self, at: Instant, handler: u32) {
        self.advance(at);
        self.scheduler.exited(handler);
        self.below.exited(self.now, handler);
    }

    fn capacity(&self) -> u64 {
        self.below.capacity()
    }

    fn cost(&self) -> DeviceCost {
        self.below.cost()
    }
}
