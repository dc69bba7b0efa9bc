//! The world that an engine lives in: its clock, and the work that is done later or beside it.
//!
//! ```text
//!   engine ── now, after, spawn ──▶ World ─┬─ Real: the system's clock, a thread for delays, threads
//!                                          └─ simulated: one thread, one agenda, time by seed
//! ```
//!
//! A hit asks the world for nothing, so that the seam costs it no instruction.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant as Moment};

use forebay_core::Instant;

/// A piece of work that is done once.
pub type Job = Box<dyn FnOnce() + Send>;

/// Work that is done round by round; each round says when the next one is due.
pub type Rounds = Box<dyn FnMut() -> Pause + Send>;

/// Brings the next round of some work forward to now.
pub type Bell = Arc<dyn Fn() + Send + Sync>;

/// The time between two rounds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pause {
    /// The next round follows at once.
    None,
    /// It follows after so long, or when the bell rings.
    For(Duration),
    /// There is no next one.
    Over,
}

/// Time, and the order of work.
pub trait World: Send + Sync {
    /// Nanoseconds since the world began.
    fn now(&self) -> Instant;
    /// Does `job` after `delay`, on a thread of the world's.
    fn after(&self, delay: Duration, job: Job);
    /// Does work in rounds beside everything else. The error is the system's, which has no thread.
    fn spawn(&self, name: &str, rounds: Rounds) -> io::Result<Bell>;
}

/// The real world: the system's clock and threads.
pub struct Real {
    began: Moment,
    later: Arc<Later>,
}

impl Default for Real {
    fn default() -> Real {
        Real { began: Moment::now(), later: Arc::default() }
    }
}

impl World for Real {
    fn now(&self) -> Instant {
        Instant(self.began.elapsed().as_nanos() as u64)
    }

    fn after(&self, delay: Duration, job: Job) {
        let mut jobs = self.later.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        jobs.number += 1;
        let due = Due { at: Moment::now() + delay, number: jobs.number };
        jobs.due.insert(due, job);
        if jobs.thread.is_none() {
            let later = Arc::clone(&self.later);
            // Without a thread the job would never be done; doing it now is the next best thing.
            match std::thread::Builder::new().name("forebay-retry".into()).spawn(move || later.run()) {
                Ok(thread) => jobs.thread = Some(thread),
                Err(_) => {
                    let job = jobs.due.remove(&due);
                    drop(jobs);
                    return job.into_iter().for_each(|job| job());
                }
            }
        }
        self.later.changed.notify_one();
    }

    fn spawn(&self, name: &str, mut rounds: Rounds) -> io::Result<Bell> {
        let rung = Arc::new(Rung::default());
        let bell = Arc::clone(&rung);
        std::thread::Builder::new().name(name.into()).spawn(move || {
            loop {
                match rounds() {
                    Pause::None => {}
                    Pause::For(pause) => rung.wait(pause),
                    Pause::Over => return,
                }
            }
        })?;
        Ok(Arc::new(move || bell.ring()))
    }
}

impl Drop for Real {
    fn drop(&mut self) {
        let thread = {
            let mut jobs = self.later.jobs.lock().unwrap_or_else(PoisonError::into_inner);
            jobs.closed = true;
            self.later.changed.notify_one();
            jobs.thread.take()
        };
        // The last job may be the one that drops the world's owner.
        if let Some(thread) = thread.filter(|thread| thread.thread().id() != std::thread::current().id()) {
            let _ = thread.join();
        }
    }
}

/// When a job is due; among equals, in the order in which they came.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Due {
    at: Moment,
    number: u64,
}

#[derive(Default)]
struct Jobs {
    due: BTreeMap<Due, Job>,
    number: u64,
    closed: bool,
    thread: Option<JoinHandle<()>>,
}

/// Jobs for later, and the thread that does them, which the first of them starts.
#[derive(Default)]
struct Later {
    jobs: Mutex<Jobs>,
    changed: Condvar,
}

impl Later {
    fn run(&self) {
        let mut jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        while !jobs.closed {
            let Some(first) = jobs.due.first_entry() else {
                jobs = self.changed.wait(jobs).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let wait = first.key().at.saturating_duration_since(Moment::now());
            if wait.is_zero() {
                let job = first.remove();
                drop(jobs);
                job();
                jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
            } else {
                jobs = self.changed.wait_timeout(jobs, wait).unwrap_or_else(PoisonError::into_inner).0;
            }
        }
    }
}

/// Whether a bell was rung since the last round.
#[derive(Default)]
struct Rung {
    rung: Mutex<bool>,
    changed: Condvar,
}

impl Rung {
    fn ring(&self) {
        *self.rung.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_one();
    }

    fn wait(&self, pause: Duration) {
        let rung = self.rung.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_timeout_while(rung, pause, |rung| !*rung);
        *waited.unwrap_or_else(PoisonError::into_inner).0 = false;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn jobs_are_done_in_the_order_in_which_they_are_due() {
        let (done, order) = channel();
        let world = Real::default();
        for (delay, name) in [(40, "second"), (1, "first"), (80, "third")] {
            let done = done.clone();
            world.after(Duration::from_millis(delay), Box::new(move || done.send(name).unwrap()));
        }
        assert_eq!([(); 3].map(|()| order.recv().unwrap()), ["first", "second", "third"]);
    }

    #[test]
    fn a_bell_ends_a_pause_and_is_not_lost_before_it() {
        let (done, seen) = channel();
        let mut left = 3;
        let rounds = move || {
            done.send(left).unwrap();
            left -= 1;
            // Longer than any test lasts: only the bell brings the next round.
            if left == 0 { Pause::Over } else { Pause::For(Duration::from_secs(3600)) }
        };
        let bell = Real::default().spawn("bell", Box::new(rounds)).unwrap();
        for round in [3, 2, 1] {
            assert_eq!(seen.recv().unwrap(), round);
            bell();
        }
        assert!(seen.recv().is_err(), "it is over");
    }
}
