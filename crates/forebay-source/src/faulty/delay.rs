//! Runs jobs later: one thread, a heap of times.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

type Run = Box<dyn FnOnce() + Send>;

/// Runs jobs later. When dropped, it runs those that are left at once, so that no reader waits for
/// ever.
#[derive(Default)]
pub(super) struct Timer {
    shared: Arc<Shared>,
    thread: OnceLock<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Ordered by time, then by arrival.
    due: BinaryHeap<Reverse<(Instant, usize)>>,
    runs: Vec<Option<Run>>,
    stopping: bool,
}

impl Timer {
    /// Runs `run` after `delay`, on the timer's thread.
    pub(super) fn after(&self, delay: Duration, run: Run) {
        {
            let mut state = self.shared.state.lock();
            let place = state.runs.len();
            state.runs.push(Some(run));
            state.due.push(Reverse((Instant::now() + delay, place)));
        }
        self.shared.changed.notify_one();
        self.thread.get_or_init(|| {
            let shared = Arc::clone(&self.shared);
            thread::spawn(move || shared.work())
        });
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        self.shared.state.lock().stopping = true;
        self.shared.changed.notify_one();
        // A job on the thread may hold the last reference to us.
        if let Some(thread) = self.thread.take().filter(|thread| thread.thread().id() != thread::current().id()) {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn work(&self) {
        while let Some(run) = self.next() {
            run();
        }
    }

    fn next(&self) -> Option<Run> {
        let mut state = self.state.lock();
        loop {
            match state.due.peek() {
                None if state.stopping => return None,
                None => self.changed.wait(&mut state),
                Some(&Reverse((due, place))) if state.stopping || due <= Instant::now() => {
                    state.due.pop();
                    let run = state.runs[place].take();
                    if state.due.is_empty() {
                        state.runs.clear();
                    }
                    return run;
                }
                Some(&Reverse((due, _))) => drop(self.changed.wait_until(&mut state, due)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn in_order_of_time_and_nothing_is_lost() {
        let (send, receive) = channel();
        let timer = Timer::default();
        for (name, ms) in [(0, 40), (1, 1), (2, 20), (3, 3_600_000)] {
            let send = send.clone();
            timer.after(Duration::from_millis(ms), Box::new(move || send.send(name).unwrap()));
        }
        drop(send);
        let first: Vec<_> = receive.iter().take(3).collect();
        drop(timer);
        assert_eq!((first, receive.iter().collect()), (vec![1, 2, 0], vec![3]));
    }
}
