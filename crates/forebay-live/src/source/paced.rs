//! Any source at the pace of a modelled device, in real time: how a fast machine shows what a slow disk would do.
//!
//! ```text
//!  fetch ──┬─▶ inner source ────────────▶ bytes ──┐
//!          └─▶ model's queue ─▶ pacer thread ─▶ due ──┴─▶ done, by whichever comes last
//! ```
//!
//! The bytes are fetched at once and wait for their moment, so that the pace is the model's as long as the inner source is
//! faster than it. Files lie at places drawn from their paths, spread over the whole device; two may overlap, which costs
//! nothing but an improbable hit in the disk's own cache. The order of service is the scheduler's alone: a fetch for which a
//! reader waits is not preferred to a prefetch, as it was not in the papers' kernels.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::num::NonZeroU64;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant as Moment};

use forebay_core::{DeviceCost, Instant};
use forebay_device::random::Random;
use forebay_device::scheduler::Scheduler;
use forebay_device::{DeviceQueue, Model, Queue, Request};
use parking_lot::{Condvar, Mutex, MutexGuard};

use super::{Attributes, Entry, Error, Fetch, FetchId, Object, Result, Run, Source, Space, Version};
use crate::arena::Segments;

/// The last stretch before a completion is spun through: threads wake up tens of microseconds late.
const SPIN: Duration = Duration::from_micros(60);

/// See the module's head.
pub struct PacedSource {
    inner: Arc<dyn Source>,
    pacer: Arc<Pacer>,
    capacity: u64,
    cost: DeviceCost,
}

impl PacedSource {
    /// `inner` at the pace of `model` behind `scheduler`, `speed` times as fast as the model says (1.0: in real time; values
    /// that are not positive count as 1). Starts a thread; fails if the system has none left.
    pub fn new(
        inner: Arc<dyn Source>,
        model: Box<dyn Model>,
        scheduler: Box<dyn Scheduler>,
        speed: f64,
    ) -> std::io::Result<PacedSource> {
        PacedSource::behind(inner, Box::new(DeviceQueue::new(model, scheduler)), speed)
    }

    /// The same at the pace of any queue: of an array, or of what is at the other end of a network.
    pub fn behind(inner: Arc<dyn Source>, queue: Box<dyn Queue>, speed: f64) -> std::io::Result<PacedSource> {
        let speed = if speed.is_finite() && speed > 0.0 { speed } else { 1.0 };
        let (capacity, cost) = (queue.capacity(), faster(queue.cost(), speed));
        let state = State { queue, waiting: HashMap::new(), closing: false };
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            wake: Condvar::new(),
            clock: Clock { start: Moment::now(), speed },
        });
        let pacer = Arc::new(Pacer(Arc::clone(&shared)));
        std::thread::Builder::new().name("forebay-pacer".into()).spawn(move || shared.run())?;
        Ok(PacedSource { inner, pacer, capacity, cost })
    }

    /// Where a file of `size` bytes lies on the device: anywhere it fits, by its path.
    fn place(&self, path: &Path, size: u64) -> u64 {
        let fnv = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        let hash = path.as_os_str().as_bytes().iter().fold(0xcbf2_9ce4_8422_2325, fnv);
        Random::new(hash).below(self.capacity.saturating_sub(size)) / 4096 * 4096
    }
}

/// The cost of a device that does everything `speed` times as fast.
fn faster(mut cost: DeviceCost, speed: f64) -> DeviceCost {
    let shorter = |nanos: u64| (nanos as f64 / speed) as u64;
    cost.seek.iter_mut().for_each(|point| point.1 = shorter(point.1));
    cost.zones.iter_mut().for_each(|zone| zone.1 = (zone.1 as f64 * speed) as u64);
    cost.half_revolution = shorter(cost.half_revolution);
    cost
}

impl Source for PacedSource {
    fn describe(&self) -> String {
        self.inner.describe()
    }

    fn stat(&self, path: &Path) -> Result<Attributes> {
        self.inner.stat(path)
    }

    fn list(&self, path: &Path) -> Result<Vec<Entry>> {
        self.inner.list(path)
    }

    fn read_link(&self, path: &Path) -> Result<PathBuf> {
        self.inner.read_link(path)
    }

    fn xattr(&self, path: &Path, name: &OsStr) -> Result<Vec<u8>> {
        self.inner.xattr(path, name)
    }

    fn xattrs(&self, path: &Path) -> Result<Vec<OsString>> {
        self.inner.xattrs(path)
    }

    fn space(&self) -> Result<Space> {
        self.inner.space()
    }

    fn open(&self, path: &Path) -> Result<Arc<dyn Object>> {
        let inner = self.inner.open(path)?;
        let place = self.place(path, inner.version().size);
        Ok(Arc::new(PacedObject { inner, pacer: Arc::clone(&self.pacer), place, has_places: self.capacity > 0 }))
    }

    fn cost(&self) -> Option<DeviceCost> {
        Some(self.cost.clone())
    }
}

struct PacedObject {
    inner: Arc<dyn Object>,
    pacer: Arc<Pacer>,
    place: u64,
    has_places: bool,
}

impl Object for PacedObject {
    fn version(&self) -> &Version {
        self.inner.version()
    }

    fn layout(&self) -> Vec<Run> {
        let len = self.version().size;
        if len == 0 || !self.has_places {
            return Vec::new();
        }
        vec![Run { offset: 0, len, at_byte: self.place }]
    }

    fn fetch(&self, fetch: Fetch) {
        let shared = Arc::clone(&self.pacer.0);
        let start = self.place.saturating_add(fetch.offset);
        shared.submit(fetch.id.0, Request::read(start, fetch.len as u64));
        let Fetch { id, offset, buffer, len, urgent, done } = fetch;
        let arrived = move |buffer, outcome| shared.arrived(id.0, Delivery { done, buffer, outcome });
        self.inner.fetch(Fetch { id, offset, buffer, len, urgent, done: Box::new(arrived) });
    }

    /// If the modelled device has not begun with it. Its bytes may be here by then: they don't count.
    fn call_off(&self, fetch: FetchId) {
        if self.pacer.0.call_off(fetch.0) {
            self.inner.call_off(fetch);
        }
    }
}

/// Held by the source and its objects; when the last of them is gone, whatever is still under way is delivered at once.
struct Pacer(Arc<Shared>);

impl Drop for Pacer {
    fn drop(&mut self) {
        self.0.state.lock().closing = true;
        self.0.wake.notify_all();
        // The thread is not waited for: what it delivers may need a lock that whoever drops this holds.
    }
}

struct Shared {
    state: Mutex<State>,
    wake: Condvar,
    clock: Clock,
}

struct State {
    queue: Box<dyn Queue>,
    /// By the number of the fetch's name.
    waiting: HashMap<u64, Waiting>,
    closing: bool,
}

/// A fetch under way.
enum Waiting {
    /// Neither its bytes nor its time have come.
    Both,
    /// Its time has come.
    Bytes,
    /// Its bytes have come.
    Time(Delivery),
    /// It was called off; whoever brings its bytes still has its buffer.
    CalledOff,
}

/// An outcome, and whom to tell.
struct Delivery {
    done: Box<dyn FnOnce(Segments, Result<()>) + Send>,
    buffer: Segments,
    outcome: Result<()>,
}

impl Delivery {
    fn deliver(self) {
        (self.done)(self.buffer, self.outcome);
    }
}

impl State {
    /// The time of `id` has come.
    fn due(&mut self, id: u64) -> Option<Delivery> {
        match self.waiting.remove(&id)? {
            Waiting::Time(delivery) => Some(delivery),
            // (What was called off has no time to come.)
            Waiting::Both | Waiting::Bytes | Waiting::CalledOff => {
                self.waiting.insert(id, Waiting::Bytes);
                None
            }
        }
    }
}

impl Shared {
    fn submit(&self, id: u64, request: Request) {
        let mut state = self.state.lock();
        state.waiting.insert(id, Waiting::Both);
        let before = state.queue.next_completion();
        state.queue.submit(self.clock.now(), id, request);
        if state.queue.next_completion() != before {
            self.wake.notify_one();
        }
    }

    fn arrived(&self, id: u64, mut delivery: Delivery) {
        let mut state = self.state.lock();
        match state.waiting.remove(&id) {
            Some(Waiting::Both) => {
                state.waiting.insert(id, Waiting::Time(delivery));
                return;
            }
            Some(Waiting::CalledOff) => delivery.outcome = Err(Error::CalledOff),
            Some(Waiting::Bytes | Waiting::Time(_)) | None => {}
        }
        drop(state);
        delivery.deliver();
    }

    /// Takes a fetch back from the device. `false`, and nothing happens, if it has begun with it.
    fn call_off(&self, id: u64) -> bool {
        let mut state = self.state.lock();
        let before = state.queue.next_completion();
        if !state.queue.cancel(self.clock.now(), id) {
            return false;
        }
        if state.queue.next_completion() != before {
            self.wake.notify_one();
        }
        let waiting = state.waiting.insert(id, Waiting::CalledOff);
        if let Some(Waiting::Time(delivery)) = waiting {
            state.waiting.remove(&id);
            drop(state);
            Delivery { outcome: Err(Error::CalledOff), ..delivery }.deliver();
        }
        true
    }

    /// The pacer thread.
    fn run(&self) {
        // Timers are 50 µs late by default. Where that cannot be changed, completions are that late.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        let mut state = self.state.lock();
        loop {
            let closing = state.closing;
            let now = if closing { Instant(u64::MAX) } else { self.clock.now() };
            let due = std::iter::from_fn(|| state.queue.complete(now)).collect::<Vec<_>>();
            let ready: Vec<_> = due.into_iter().filter_map(|id| state.due(id)).collect();
            if !ready.is_empty() {
                MutexGuard::unlocked(&mut state, || ready.into_iter().for_each(Delivery::deliver));
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
        let until = self.clock.moment(at);
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

/// The model's time against the machine's.
struct Clock {
    start: Moment,
    speed: f64,
}

impl Clock {
    fn now(&self) -> Instant {
        Instant((self.start.elapsed().as_nanos() as f64 * self.speed) as u64)
    }

    fn moment(&self, at: Instant) -> Moment {
        // A completion that is years away is looked at again tomorrow.
        let nanos = (at.0 as f64 / self.speed).min(86_400e9 + self.start.elapsed().as_nanos() as f64);
        self.start + Duration::from_nanos(nanos.ceil() as u64)
    }
}

#[cfg(test)]
mod tests;
