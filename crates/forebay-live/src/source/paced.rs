//! Any source at the pace of a modelled device, in real time: how a fast machine shows what a slow disk would do.
//!
//! ```text
//!  fetch ──┬─▶ inner source ────────────▶ bytes ──┐
//!          └─▶ model's queue ─▶ pacer thread ─▶ due ──┴─▶ done, by whichever comes last
//! ```
//!
//! The bytes are fetched at once and wait for their moment, so that the pace is the model's as long as the inner source is
//! faster than it. Files lie at places drawn from their paths, spread over the whole device; two may overlap, which costs
//! nothing but an improbable hit in the disk's own cache.

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

use super::{Attributes, Entry, Fetch, Object, Result, Run, Source, Space, Version};
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
        let speed = if speed.is_finite() && speed > 0.0 { speed } else { 1.0 };
        let (capacity, cost) = (model.capacity(), faster(model.cost(), speed));
        let queue = DeviceQueue::new(model, scheduler);
        let state = State { queue, waiting: HashMap::new(), next: 0, closing: false };
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
        let id = shared.submit(Request { start, len: fetch.len as u64 });
        let Fetch { offset, buffer, len, urgent, done } = fetch;
        let arrived = move |buffer, outcome| shared.arrived(id, Delivery { done, buffer, outcome });
        self.inner.fetch(Fetch { offset, buffer, len, urgent, done: Box::new(arrived) });
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
    queue: DeviceQueue,
    waiting: HashMap<u64, Waiting>,
    next: u64,
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
            Waiting::Both | Waiting::Bytes => {
                self.waiting.insert(id, Waiting::Bytes);
                None
            }
        }
    }
}

impl Shared {
    fn submit(&self, request: Request) -> u64 {
        let mut state = self.state.lock();
        let id = state.next;
        state.next += 1;
        state.waiting.insert(id, Waiting::Both);
        let before = state.queue.next_completion();
        state.queue.submit(self.clock.now(), id, request);
        if state.queue.next_completion() != before {
            self.wake.notify_one();
        }
        id
    }

    fn arrived(&self, id: u64, delivery: Delivery) {
        let mut state = self.state.lock();
        if let Some(Waiting::Both) = state.waiting.get(&id) {
            state.waiting.insert(id, Waiting::Time(delivery));
            return;
        }
        state.waiting.remove(&id);
        drop(state);
        delivery.deliver();
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
mod tests {
    use std::sync::mpsc::{Receiver, channel};

    use forebay_device::device;
    use forebay_device::scheduler::{Elevator, Noop};

    use super::*;
    use crate::source::memory::{MemorySource, pattern};

    /// Long enough for any machine; a test that waits so long has failed.
    const LONG: Duration = Duration::from_secs(60);

    fn paced(inner: MemorySource, name: &str, speed: f64) -> PacedSource {
        let model = device(name).unwrap().build(1).unwrap();
        PacedSource::new(Arc::new(inner), model, Box::<Elevator>::default(), speed).unwrap()
    }

    fn fetch(object: &dyn Object, offset: u64, len: usize) -> Receiver<(Vec<u8>, Result<()>)> {
        let (sender, receiver) = channel();
        let done = Box::new(move |buffer: Segments, outcome| {
            let _ = sender.send((buffer.to_vec()[..len].to_vec(), outcome));
        });
        object.fetch(Fetch { offset, buffer: Segments::own(len), len, urgent: true, done });
        receiver
    }

    #[test]
    fn every_fetch_brings_its_bytes_once() {
        let names = ["a", "b/c", "d"];
        let source = paced(MemorySource::of(&names, 1 << 20), "ibm-10k", 1000.0);
        let objects = names.map(|name| source.open(Path::new(name)).unwrap());
        let mut random = Random::new(3);
        let pending: Vec<_> = (0..300)
            .map(|i| {
                let (object, offset) = (&objects[i % 3], random.below(200) * 4096);
                (names[i % 3], offset, fetch(&**object, offset, 4096 * (1 + i % 8)))
            })
            .collect();
        for (i, (name, offset, receiver)) in pending.into_iter().enumerate() {
            let (bytes, outcome) = receiver.recv_timeout(LONG).unwrap();
            outcome.unwrap();
            assert_eq!(bytes, pattern(name, offset, 4096 * (1 + i % 8)));
            assert!(receiver.recv_timeout(LONG).is_err(), "done is called once and dropped");
        }
    }

    #[test]
    fn nothing_comes_before_its_time() {
        let source = paced(MemorySource::of(&["a"], 1 << 20), "ibm-10k", 1.0);
        let object = source.open(Path::new("a")).unwrap();
        let start = Moment::now();
        for block in [200, 100, 0] {
            let (_, outcome) = fetch(&*object, block * 4096, 4096).recv_timeout(LONG).unwrap();
            outcome.unwrap();
        }
        // At least the arm's way to the file (a tenth of the disk away, or this test needs another name) and some turning.
        let model = source.cost().unwrap();
        let place = object.layout()[0].at_byte;
        assert!(place > model.capacity / 10, "{place}");
        assert!(start.elapsed() > Duration::from_millis(4), "{:?}", start.elapsed());
    }

    #[test]
    fn errors_come_through() {
        let inner = MemorySource::of(&["a"], 8192).failing();
        let source = paced(inner, "ssd", 1.0);
        let (_, outcome) = fetch(&*source.open(Path::new("a")).unwrap(), 0, 4096).recv_timeout(LONG).unwrap();
        assert!(outcome.unwrap_err().is_transient());
        assert!(source.open(Path::new("b")).is_err());
    }

    /// At a millionth of its pace nothing would come for hours.
    #[test]
    fn dropping_the_source_delivers_what_is_under_way() {
        let source = paced(MemorySource::of(&["a"], 1 << 20), "ibm-10k", 1e-6);
        let object = source.open(Path::new("a")).unwrap();
        let pending: Vec<_> = (0..20).map(|i| fetch(&*object, i * 4096, 4096)).collect();
        assert!(pending[0].recv_timeout(Duration::from_millis(20)).is_err(), "it is not due");
        drop((source, object));
        for receiver in pending {
            receiver.recv_timeout(LONG).unwrap().1.unwrap();
        }
    }

    #[test]
    fn bytes_that_come_late_are_delivered_when_they_come() {
        let (inner, held) = MemorySource::of(&["a"], 8192).holding();
        let source = paced(inner, "ssd", 1e6);
        let object = source.open(Path::new("a")).unwrap();
        let receivers = [fetch(&*object, 0, 4096), fetch(&*object, 4096, 4096)];
        assert!(receivers[0].recv_timeout(Duration::from_millis(20)).is_err());
        held.lock().pop().unwrap()();
        receivers[1].recv_timeout(LONG).unwrap().1.unwrap();
        // The last one comes after the source is gone.
        drop((source, object));
        assert!(receivers[0].recv_timeout(Duration::from_millis(20)).is_err());
        held.lock().pop().unwrap()();
        receivers[0].recv_timeout(LONG).unwrap().1.unwrap();
    }

    #[test]
    fn places_are_spread_and_stay() {
        let names: Vec<String> = (0..200).map(|i| format!("dir/{i}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let layouts = |source: &PacedSource| -> Vec<u64> {
            let at = |name: &&str| source.open(Path::new(name)).unwrap().layout()[0].at_byte;
            names.iter().map(at).collect()
        };
        let source = paced(MemorySource::of(&names, 4096), "ibm-10k", 1.0);
        let places = layouts(&source);
        assert_eq!(places, layouts(&paced(MemorySource::of(&names, 4096), "ibm-10k", 1.0)));
        let capacity = source.cost().unwrap().capacity;
        for quarter in 0..4 {
            let inside = places.iter().filter(|&&p| p >= capacity / 4 * quarter && p < capacity / 4 * (quarter + 1));
            assert!((25..80).contains(&inside.count()), "{places:?}");
        }
        let store = paced(MemorySource::of(&["a"], 4096), "object-store", 1.0);
        assert_eq!(store.open(Path::new("a")).unwrap().layout(), []);
    }

    #[test]
    fn haste_leaves_the_competitive_depth_as_it_is() {
        let at = |speed| paced(MemorySource::of(&["a"], 4096), "ibm-10k", speed).cost().unwrap();
        let (one, ten) = (at(1.0), at(10.0));
        let distance = one.mean_distance();
        assert!(one.switch_cost(distance).abs_diff(ten.switch_cost(distance) * 10) < 20);
        assert!(one.competitive_depth(distance, 0).abs_diff(ten.competitive_depth(distance, 0)) < 100);
    }

    /// Completions keep the order of the model's queue, whatever the inner source does.
    #[test]
    fn the_order_is_the_models() {
        let model = device("ibm-10k").unwrap().build(1).unwrap();
        let inner = Arc::new(MemorySource::of(&["a"], 1 << 20));
        let source = PacedSource::new(inner, model, Box::<Noop>::default(), 500.0).unwrap();
        let object = source.open(Path::new("a")).unwrap();
        let (sender, receiver) = channel();
        for i in 0..100u64 {
            let sender = sender.clone();
            let done = Box::new(move |_, _| sender.send(i).unwrap());
            let fetch =
                Fetch { offset: (i * 37 % 200) * 4096, buffer: Segments::own(4096), len: 4096, urgent: false, done };
            object.fetch(fetch);
        }
        let order: Vec<u64> = (0..100).map(|_| receiver.recv_timeout(LONG).unwrap()).collect();
        assert!(order.is_sorted(), "{order:?}");
    }
}
