//! Time, as handlers see it: tests have a clock of their own.

use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use rustix::time::{ClockId, clock_gettime};

/// Whether a run is over, for handlers that sleep.
#[derive(Default)]
pub(super) struct Over {
    over: Mutex<bool>,
    signal: Condvar,
}

impl Over {
    pub(super) fn set(&self) {
        *self.over.lock() = true;
        self.signal.notify_all();
    }

    /// Sleeps, at most until the run is over.
    pub(super) fn sleep(&self, span: Duration) {
        let until = Instant::now() + span;
        let mut over = self.over.lock();
        while !*over && !self.signal.wait_until(&mut over, until).timed_out() {}
    }
}

/// A clock, and the activities that take time by it.
pub(super) trait Clock: Sync {
    /// Since the run began.
    fn now(&self) -> Duration;
    /// A task thinks.
    fn think(&self, span: Duration, over: &Over);
    /// A task computes.
    fn compute(&self, span: Duration);
}

/// Real time.
pub(super) struct RealClock(Instant);

impl RealClock {
    pub(super) fn new() -> RealClock {
        RealClock(Instant::now())
    }
}

impl Clock for RealClock {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }

    fn think(&self, span: Duration, over: &Over) {
        over.sleep(span);
    }

    /// Computes until this thread has had a processor for `span`, however many others want one.
    fn compute(&self, span: Duration) {
        let had = || {
            let time = clock_gettime(ClockId::ThreadCPUTime);
            Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
        };
        let until = had() + span;
        while had() < until {
            std::hint::spin_loop();
        }
    }
}
