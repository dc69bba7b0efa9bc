//! A model with a scheduler before it and as many requests in service as it has channels.
//!
//! A channel that falls free takes the next waiting request at that very moment, however late the
//! driver collects the complete one. If the scheduler keeps the channel idle, that wait ends at its
//! own moment too. So the outcome depends on the moments of arrival alone.
//!
//! A device may hold more commands than it works on (tagged queueing). The scheduler has let go of
//! these: a later request comes after them, wherever it reads. Otherwise a stream that asks for its
//! next piece while the last one is being transferred would hold the arm for ever.
//!
//! A request that is longer than the scheduler's piece goes to the model in pieces, one right after
//! the other on the same channel, and is complete with the last.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};

use forebay_core::{DeviceCost, Instant};

use crate::scheduler::{End, Next, Scheduler, Waiting};
use crate::{Model, Queue, Request};

/// See the module's head.
pub struct DeviceQueue {
    model: Box<dyn Model>,
    scheduler: Box<dyn Scheduler>,
    piece: u64,
    /// Earliest end first.
    in_service: BinaryHeap<Reverse<InService>>,
    complete: VecDeque<(Instant, u64)>,
    /// Commands that the device holds and doesn't work on yet, in order.
    held: VecDeque<Waiting>,
    /// When the scheduler wants to be asked again.
    timer: Option<Instant>,
    started: u64,
    now: Instant,
}

/// A request that the model works on. They are in the order of their ends, then of their starts.
#[derive(Clone, Copy, Debug)]
struct InService {
    /// When the piece is done that the model works on.
    end: Instant,
    /// How many pieces were started before.
    number: u64,
    waiting: Waiting,
    /// Bytes of the request that will be done then.
    done: u64,
}

impl Ord for InService {
    fn cmp(&self, other: &InService) -> Ordering {
        (self.end, self.number).cmp(&(other.end, other.number))
    }
}

impl PartialOrd for InService {
    fn partial_cmp(&self, other: &InService) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for InService {
    fn eq(&self, other: &InService) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for InService {}

impl DeviceQueue {
    /// An idle device.
    pub fn new(model: Box<dyn Model>, scheduler: Box<dyn Scheduler>) -> DeviceQueue {
        DeviceQueue {
            piece: scheduler.piece().max(1),
            model,
            scheduler,
            in_service: BinaryHeap::new(),
            complete: VecDeque::new(),
            held: VecDeque::new(),
            timer: None,
            started: 0,
            now: Instant(0),
        }
    }

    /// The model behind it.
    pub fn model(&self) -> &dyn Model {
        &*self.model
    }

    /// Gives free channels their next requests at `at`, and the device the commands that it may
    /// hold beside.
    fn start(&mut self, at: Instant) {
        let channels = self.model.channels() as usize;
        let spare = (self.model.commands() as usize).saturating_sub(channels);
        self.timer = None;
        while self.in_service.len() < channels {
            let Some(waiting) = self.held.pop_front().or_else(|| self.pop(at)) else { return };
            self.serve(at, waiting, 0);
        }
        while self.held.len() < spare {
            let Some(waiting) = self.pop(at) else { return };
            self.held.push_back(waiting);
        }
    }

    /// The scheduler's next request, if it hands one out now.
    fn pop(&mut self, at: Instant) -> Option<Waiting> {
        match self.scheduler.pop(at) {
            Next::Serve(waiting) => return Some(waiting),
            // Later in any case, so that time goes on; at the end of time, never.
            Next::Wait(until) => self.timer = at.0.checked_add(1).map(|next| until.max(Instant(next))),
            Next::Nothing => {}
        }
        None
    }

    /// Has the model serve the rest of a request after `done` bytes, or a piece of it.
    fn serve(&mut self, at: Instant, waiting: Waiting, done: u64) {
        let Request { start, len, .. } = waiting.request;
        let piece = Request { start: start.saturating_add(done), len: (len - done).min(self.piece), ..waiting.request };
        let end = self.model.serve(at, piece).max(at);
        self.in_service.push(Reverse(InService { end, number: self.started, waiting, done: done + piece.len }));
        self.started += 1;
    }

    /// The next moment at which the device does something by itself.
    fn next(&self) -> Option<Instant> {
        let end = self.in_service.peek().map(|Reverse(first)| first.end);
        end.into_iter().chain(self.timer).min()
    }

    /// Lets the device work until `at`.
    fn advance(&mut self, at: Instant) {
        self.now = self.now.max(at);
        while let Some(next) = self.next().filter(|&next| next <= self.now) {
            let due = self.in_service.peek().is_some_and(|Reverse(first)| first.end <= next);
            if let Some(Reverse(InService { waiting, done, .. })) = due.then(|| self.in_service.pop()).flatten() {
                if done < waiting.request.len {
                    self.scheduler.ended(next, &waiting, End::Piece);
                    self.serve(next, waiting, done);
                } else {
                    self.complete.push_back((next, waiting.id));
                    self.scheduler.ended(next, &waiting, End::Whole);
                }
            }
            self.start(next);
        }
    }
}

impl Queue for DeviceQueue {
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
        let held = self.held.iter().position(|waiting| waiting.id == id).and_then(|place| self.held.remove(place));
        if let Some(waiting) = held {
            self.scheduler.ended(self.now, &waiting, End::Withdrawn);
        }
        let cancelled = held.is_some() || self.scheduler.remove(id);
        if cancelled {
            // The device may hold another command, and the scheduler may choose anew.
            self.start(self.now);
        }
        cancelled
    }

    fn waits(&mut self, at: Instant, id: u64) -> bool {
        self.advance(at);
        self.held.iter().any(|waiting| waiting.id == id) || self.scheduler.contains(id)
    }

    fn exited(&mut self, at: Instant, handler: u32) {
        self.advance(at);
        self.scheduler.exited(handler);
    }

    fn capacity(&self) -> u64 {
        self.model.capacity()
    }

    fn cost(&self) -> DeviceCost {
        self.model.cost()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::Noop;
    use proptest::prelude::*;

    /// Takes a nanosecond a byte, on so many channels; accepts so many commands.
    struct Plain(u32, u32);

    impl Model for Plain {
        fn serve(&mut self, at: Instant, request: Request) -> Instant {
            at.plus(request.len)
        }
        fn channels(&self) -> u32 {
            self.0
        }
        fn commands(&self) -> u32 {
            self.1
        }
        fn capacity(&self) -> u64 {
            0
        }
        fn cost(&self) -> DeviceCost {
            DeviceCost::flat(0, 1_000_000_000, self.0)
        }
    }

    fn queue(channels: u32) -> DeviceQueue {
        DeviceQueue::new(Box::new(Plain(channels, channels)), Box::<Noop>::default())
    }

    fn collect(queue: &mut DeviceQueue) -> Vec<(u64, u64)> {
        let next = |queue: &mut DeviceQueue| {
            let at = queue.next_completion()?;
            Some((at.0, queue.complete(at).expect("it is due")))
        };
        std::iter::from_fn(|| next(queue)).collect()
    }

    proptest! {
        /// The textbook: each of n servers takes the next in line when it falls free.
        #[test]
        fn first_come_first_served_on_n_channels(
            channels in 1u32..5,
            requests in proptest::collection::vec((0u64..50, 0u64..100), 1..60),
        ) {
            let mut queue = queue(channels);
            let mut free = vec![0u64; channels as usize];
            let mut expected = Vec::new();
            let mut at = 0;
            for (id, &(gap, len)) in requests.iter().enumerate() {
                at += gap;
                queue.submit(Instant(at), id as u64, Request::read(0, len));
                let server = free.iter_mut().min().unwrap();
                *server = at.max(*server) + len;
                expected.push((*server, id as u64));
            }
            let mut got = collect(&mut queue);
            prop_assert!(got.is_sorted_by_key(|&(at, _)| at), "completions come in order of time");
            got.sort_by_key(|&(_, id)| id);
            prop_assert_eq!(got, expected);
        }
    }

    proptest! {
        /// Requests that are cancelled in time leave no trace; the others are served.
        #[test]
        fn who_is_cancelled_while_waiting_was_never_there(
            channels in 1u32..4,
            requests in proptest::collection::vec((0u64..50, 1u64..100, proptest::option::of(0u64..200)), 1..60),
        ) {
            let moments: Vec<u64> = requests.iter().scan(0, |at, r| { *at += r.0; Some(*at) }).collect();
            // The events at each moment: (moment, whether it is a cancellation, id).
            let mut steps: Vec<(u64, bool, usize)> = (0..requests.len()).map(|id| (moments[id], false, id)).collect();
            steps.extend((0..requests.len()).filter_map(|id| Some((moments[id] + requests[id].2?, true, id))));
            steps.sort();
            let mut queue = queue(channels);
            let mut gone = vec![false; requests.len()];
            for &(at, cancel, id) in &steps {
                if cancel {
                    gone[id] = queue.cancel(Instant(at), id as u64);
                } else {
                    queue.submit(Instant(at), id as u64, Request::read(0, requests[id].1));
                }
            }
            let got = collect(&mut queue);
            // A naive twin: a server that falls free takes the first request in line that is not
            // cancelled.
            let mut free = vec![0u64; channels as usize];
            let mut expected = Vec::new();
            for (id, &(_, len, cancelled)) in requests.iter().enumerate() {
                let server = free.iter_mut().min().unwrap();
                let begins = moments[id].max(*server);
                let in_time = cancelled.is_some_and(|after| moments[id] + after < begins);
                prop_assert_eq!(gone[id], in_time, "request {} begins at {}", id, begins);
                if !in_time {
                    *server = begins + len;
                    expected.push((*server, id as u64));
                }
            }
            expected.sort();
            let mut got = got;
            got.sort();
            prop_assert_eq!(got, expected);
        }
    }

    #[test]
    fn only_who_waits_can_be_cancelled() {
        let mut queue = queue(1);
        for id in 0..3 {
            queue.submit(Instant(0), id, Request::read(0, 10));
        }
        assert!(!queue.cancel(Instant(5), 0), "it is in service");
        assert!(!queue.cancel(Instant(10), 0), "it is complete");
        assert!(!queue.cancel(Instant(10), 1), "its turn came at this very moment");
        assert!(queue.cancel(Instant(10), 2) && !queue.cancel(Instant(10), 2), "once");
        assert!(!queue.cancel(Instant(10), 7), "nobody knows it");
        assert_eq!(collect(&mut queue), [(10, 0), (20, 1)]);
    }

    /// The order of held commands is settled; when one goes, the scheduler settles the next.
    #[test]
    fn a_held_command_makes_room_for_another() {
        let mut queue = DeviceQueue::new(Box::new(Plain(1, 2)), Box::<crate::scheduler::Elevator>::default());
        for (id, start) in [0, 50, 40].into_iter().enumerate() {
            queue.submit(Instant(0), id as u64, Request::read(start, 10));
        }
        assert!(queue.cancel(Instant(1), 1), "the device holds it, but has not begun");
        // The device holds 2 now: a request ahead of it comes too late.
        queue.submit(Instant(2), 3, Request::read(30, 10));
        assert_eq!(collect(&mut queue), [(10, 0), (20, 2), (30, 3)]);
    }

    #[test]
    fn a_late_driver_changes_nothing() {
        let mut queue = queue(1);
        for id in 0..3 {
            queue.submit(Instant(0), id, Request::read(0, 10));
        }
        assert_eq!(queue.complete(Instant(1000)), Some(0));
        assert_eq!(queue.next_completion(), Some(Instant(20)));
        assert_eq!(collect(&mut queue), [(20, 1), (30, 2)]);
    }
}
