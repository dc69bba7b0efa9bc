//! Asking failed storage again, later.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often demand is tried before its readers get the error.
pub(crate) const ATTEMPTS: u32 = 4;

/// How long to wait after a failed attempt, counted from zero: 50 ms, 200 ms, 800 ms.
pub(crate) fn back_off(attempt: u32) -> Duration {
    Duration::from_millis(50 << (2 * attempt.min(4)))
}

type Job = Box<dyn FnOnce() + Send>;

struct Due {
    at: Instant,
    number: u64,
    job: Job,
}

impl PartialEq for Due {
    fn eq(&self, other: &Due) -> bool {
        (self.at, self.number) == (other.at, other.number)
    }
}
impl Eq for Due {}
impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Due) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Due {
    fn cmp(&self, other: &Due) -> std::cmp::Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

#[derive(Default)]
struct Jobs {
    due: BinaryHeap<Reverse<Due>>,
    number: u64,
    closed: bool,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    jobs: Mutex<Jobs>,
    changed: Condvar,
}

/// Does things later, on a thread of its own that is started by the first of them.
#[derive(Default)]
pub(crate) struct Timer {
    shared: Arc<Shared>,
}

impl Timer {
    pub(crate) fn start() -> Timer {
        Timer::default()
    }

    /// Calls `job` after `delay`.
    pub(crate) fn after(&self, delay: Duration, job: impl FnOnce() + Send + 'static) {
        let Shared { jobs, changed } = &*self.shared;
        let mut jobs = jobs.lock().unwrap_or_else(PoisonError::into_inner);
        jobs.number += 1;
        let number = jobs.number;
        jobs.due.push(Reverse(Due { at: Instant::now() + delay, number, job: Box::new(job) }));
        if jobs.thread.is_none() {
            let shared = Arc::clone(&self.shared);
            // Without a thread the retry would never come; doing it now is the next best thing.
            match std::thread::Builder::new().name("forebay-retry".into()).spawn(move || run(&shared)) {
                Ok(thread) => jobs.thread = Some(thread),
                Err(_) => {
                    let Some(Reverse(due)) = jobs.due.pop() else { return };
                    drop(jobs);
                    return (due.job)();
                }
            }
        }
        changed.notify_one();
    }
}

fn run(shared: &Shared) {
    let Shared { jobs, changed } = shared;
    let mut guard = jobs.lock().unwrap_or_else(PoisonError::into_inner);
    while !guard.closed {
        let now = Instant::now();
        match guard.due.peek().map(|Reverse(due)| due.at.saturating_duration_since(now)) {
            None => guard = changed.wait(guard).unwrap_or_else(PoisonError::into_inner),
            Some(Duration::ZERO) => {
                if let Some(Reverse(due)) = guard.due.pop() {
                    drop(guard);
                    (due.job)();
                    guard = jobs.lock().unwrap_or_else(PoisonError::into_inner);
                }
            }
            Some(wait) => guard = changed.wait_timeout(guard, wait).unwrap_or_else(PoisonError::into_inner).0,
        }
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        let Shared { jobs, changed } = &*self.shared;
        let thread = {
            let mut jobs = jobs.lock().unwrap_or_else(PoisonError::into_inner);
            jobs.closed = true;
            changed.notify_one();
            jobs.thread.take()
        };
        // The last job may be the one that drops the timer's owner.
        if let Some(thread) = thread.filter(|thread| thread.thread().id() != std::thread::current().id()) {
            let _ = thread.join();
        }
    }
}
