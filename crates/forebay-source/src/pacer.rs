//! A modelled device in real time: the queue of a model, and a thread that lets each request's
//! outcome out when the model says that it is complete.
//!
//! ```text
//!  request ──▶ model's queue ─▶ pacer thread ─▶ its time ──┬─▶ delivered, by whichever comes last
//!  thread with the bytes ──────────────────────▶ its bytes ┘
//! ```
//!
//! Another thread does the work itself at once (bytes fetched or written), and its outcome waits
//! for its moment here.
//!
//! The device may turn slower and recover while it is in use ([`Pace::slow_down`]).

mod clock;

use std::collections::{BTreeMap, HashMap};
use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::{Duration, Instant as Moment};

use forebay_core::Instant;
use forebay_device::{Queue, Request};
use parking_lot::{Condvar, Mutex, MutexGuard};

use clock::Clock;

/// The last stretch before a completion is spun through: threads wake up tens of microseconds late.
const SPIN: Duration = Duration::from_micros(60);

/// How a request ended for the model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending {
    /// Its time has come.
    Due,
    /// It was called off before the device began with it.
    CalledOff,
}

/// Tells the caller that waits. Called once, from any thread, with no lock held.
pub type Deliver = Box<dyn FnOnce(Ending) + Send>;

/// Holds the thread. Dropping this delivers all requests that are under way at once.
pub struct Pacer(Arc<Pace>);

impl Pacer {
    /// Starts the thread for `queue`, `speed` times as fast as the model says (1.0: in real time);
    /// a positive number.
    pub fn start(queue: Box<dyn Queue>, speed: f64) -> std::io::Result<Pacer> {
        let state = State {
            queue,
            clock: Clock::new(Moment::now(), speed),
            waiting: HashMap::new(),
            under_way: BTreeMap::new(),
            activity: Activity::default(),
            last: Instant(0),
            closing: false,
        };
        let pace = Arc::new(Pace { state: Mutex::new(state), wake: Condvar::new() });
        let pacer = Pacer(Arc::clone(&pace));
        std::thread::Builder::new().name("forebay-pacer".into()).spawn(move || pace.run())?;
        Ok(pacer)
    }

    /// Requests are submitted to this. Threads that bring bytes later may keep it; the pacer thread
    /// ends all the same.
    pub fn pace(&self) -> &Arc<Pace> {
        &self.0
    }
}

impl Drop for Pacer {
    fn drop(&mut self) {
        self.0.state.lock().closing = true;
        self.0.wake.notify_all();
        // The thread is not waited for: its deliveries may need a lock that the caller holds.
    }
}

/// The device's activity so far. Times are nanoseconds of the device, except lateness, which is the
/// machine's.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Activity {
    /// Requests that are complete.
    pub completed: u64,
    /// While at least one request was under way.
    pub busy: u64,
    /// From submission to completion, summed over requests.
    pub response: u64,
    /// From the moment at which a request should have been let out to the one at which it was,
    /// summed. If it is not small against the response, this machine did not keep the device's
    /// pace.
    pub late: u64,
    /// The worst of that.
    pub latest: u64,
}

/// See the module's head.
pub struct Pace {
    state: Mutex<State>,
    wake: Condvar,
}

struct State {
    queue: Box<dyn Queue>,
    clock: Clock,
    /// The requests that are not delivered, by their numbers.
    waiting: HashMap<u64, Waiting>,
    /// The submission times of the requests that the device has not completed.
    under_way: BTreeMap<u64, Instant>,
    activity: Activity,
    /// The last completion.
    last: Instant,
    closing: bool,
}

/// A request that is not delivered yet.
enum Waiting {
    /// Neither its bytes nor its time have come.
    Both,
    /// Its time has come.
    Bytes,
    /// Its bytes have come.
    Time(Deliver),
    /// It was called off; the thread that brings its bytes still has its buffer.
    CalledOff,
}

impl State {
    /// The device's time. Asked under the lock, so that the queue's time never goes back.
    fn now(&self) -> Instant {
        self.clock.at(Moment::now())
    }

    /// The machine's time at which the device's time is `at`.
    fn moment(&self, at: Instant) -> Moment {
        self.clock.moment(at, Moment::now())
    }

    /// The requests that are due at `now` and have their bytes, earliest first.
    fn collect(&mut self, now: Instant) -> Vec<Deliver> {
        let mut ready = Vec::new();
        while let Some(at) = self.queue.next_completion().filter(|&at| at <= now) {
            // Something else may have happened inside the queue.
            let Some(id) = self.queue.complete(at) else { continue };
            let late = Moment::now().saturating_duration_since(self.moment(at));
            self.completed(id, at, late);
            ready.extend(self.due(id));
        }
        ready
    }

    /// The time of `id` has come.
    fn due(&mut self, id: u64) -> Option<Deliver> {
        match self.waiting.remove(&id)? {
            Waiting::Time(deliver) => Some(deliver),
            // (A request that was called off never gets here.)
            Waiting::Both | Waiting::Bytes | Waiting::CalledOff => {
                self.waiting.insert(id, Waiting::Bytes);
                None
            }
        }
    }

    fn completed(&mut self, id: u64, at: Instant, late: Duration) {
        // The one that is under way longest was there all the while since it came, or since the
        // last completion.
        let since = self.under_way.values().min().copied().unwrap_or(at).max(self.last);
        let submitted = self.under_way.remove(&id).unwrap_or(at);
        let late = u64::try_from(late.as_nanos()).unwrap_or(u64::MAX);
        self.activity.completed += 1;
        self.activity.busy += at.0.saturating_sub(since.0);
        self.activity.response += at.0.saturating_sub(submitted.0);
        self.activity.late = self.activity.late.saturating_add(late);
        self.activity.latest = self.activity.latest.max(late);
        self.last = self.last.max(at);
    }
}

impl Pace {
    /// A request begins now. Numbers are the caller's, and not used again.
    pub fn submit(&self, id: u64, request: Request) {
        let mut state = self.state.lock();
        let now = state.now();
        state.waiting.insert(id, Waiting::Both);
        state.under_way.insert(id, now);
        let before = state.queue.next_completion();
        state.queue.submit(now, id, request);
        if state.queue.next_completion() != before {
            self.wake.notify_one();
        }
    }

    /// The work of request `id` is done; `deliver` is called when its time has come too.
    pub fn arrived(&self, id: u64, deliver: Deliver) {
        let mut state = self.state.lock();
        let ending = match state.waiting.remove(&id) {
            Some(Waiting::Both) => {
                state.waiting.insert(id, Waiting::Time(deliver));
                return;
            }
            Some(Waiting::CalledOff) => Ending::CalledOff,
            Some(Waiting::Bytes | Waiting::Time(_)) | None => Ending::Due,
        };
        drop(state);
        deliver(ending);
    }

    /// Takes a request back from the device. `false`, and nothing happens, if the device has begun
    /// it.
    pub fn call_off(&self, id: u64) -> bool {
        let mut state = self.state.lock();
        let before = state.queue.next_completion();
        let now = state.now();
        if !state.queue.cancel(now, id) {
            return false;
        }
        state.under_way.remove(&id);
        if state.queue.next_completion() != before {
            self.wake.notify_one();
        }
        let waiting = state.waiting.insert(id, Waiting::CalledOff);
        if let Some(Waiting::Time(deliver)) = waiting {
            state.waiting.remove(&id);
            drop(state);
            deliver(Ending::CalledOff);
        }
        true
    }

    /// From now on every request takes `factor` times as long as the model says, those under way
    /// included: 10 for a device that turned slow by ten, 1 for one that is well again. Factors
    /// that are not positive numbers count as 1. The device's believed costs stay as they were,
    /// since a fault is not announced ([`forebay_device::slowdown`] does the same at times that are
    /// known beforehand).
    pub fn slow_down(&self, factor: f64) {
        let factor = if factor.is_finite() && factor > 0.0 { factor } else { 1.0 };
        self.state.lock().clock.slow_down(Moment::now(), factor);
        // The next completion is due at another moment now.
        self.wake.notify_one();
    }

    /// The device's activity so far.
    pub fn activity(&self) -> Activity {
        self.state.lock().activity
    }

    /// Whether nothing is under way, neither at the device nor at the threads that bring bytes.
    #[cfg(test)]
    pub(crate) fn is_idle(&self) -> bool {
        let state = self.state.lock();
        state.waiting.is_empty() && state.under_way.is_empty() && state.queue.next_completion().is_none()
    }

    /// The pacer thread.
    fn run(&self) {
        // Timers are 50 µs late by default. Where that cannot be changed, completions are that
        // late.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        let mut state = self.state.lock();
        loop {
            let closing = state.closing;
            let now = if closing { Instant(u64::MAX) } else { state.now() };
            let ready = state.collect(now);
            if !ready.is_empty() {
                MutexGuard::unlocked(&mut state, || ready.into_iter().for_each(|deliver| deliver(Ending::Due)));
            } else if closing {
                return;
            } else {
                self.wait(&mut state);
            }
        }
    }

    /// Waits for the next completion, or for a reason to look again.
    fn wait(&self, state: &mut MutexGuard<'_, State>) {
        let Some(at) = state.queue.next_completion() else { return self.wake.wait(state) };
        let until = state.moment(at);
        if until.saturating_duration_since(Moment::now()) > SPIN {
            self.wake.wait_until(state, until - SPIN);
        } else {
            MutexGuard::unlocked(state, || {
                while Moment::now() < until {
                    std::hint::spin_loop();
                }
            });
        }
    }
}
