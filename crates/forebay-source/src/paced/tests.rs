//! The pace, and calling fetches off.

use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant as Moment};

use forebay_device::device;
use forebay_device::scheduler::{Elevator, Noop};

use super::*;
use crate::memory::{MemorySource, pattern};
use crate::{Label, Segments};

/// Long enough for any machine; a test that waits so long has failed.
const LONG: Duration = Duration::from_secs(60);

fn paced(inner: MemorySource, name: &str, speed: f64) -> PacedSource {
    let model = device(name).unwrap().build(1).unwrap();
    PacedSource::new(Arc::new(inner), model, Box::<Elevator>::default(), speed).unwrap()
}

fn fetch(object: &dyn Object, offset: u64, len: usize) -> Receiver<(Vec<u8>, Result<()>)> {
    fetch_as(FetchId::unique(), object, offset, len)
}

fn fetch_as(id: FetchId, object: &dyn Object, offset: u64, len: usize) -> Receiver<(Vec<u8>, Result<()>)> {
    let (sender, receiver) = channel();
    let done = Box::new(move |buffer: Segments, outcome| {
        let _ = sender.send((buffer.to_vec()[..len].to_vec(), outcome));
    });
    object.fetch(Fetch { id, offset, buffer: Segments::own(len), len, urgent: true, label: Label::default(), done });
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
    // At least the arm's way to the file (a tenth of the disk away, or this test needs another
    // name) and some turning.
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

/// The disk works on the first fetch and would take hours. Each of the others is told once, and at
/// once.
#[test]
fn what_waits_for_the_disk_can_be_called_off() {
    let source = paced(MemorySource::of(&["a"], 1 << 20), "ibm-10k", 1e-6);
    let object = source.open(Path::new("a")).unwrap();
    let names: Vec<FetchId> = (0..10).map(|_| FetchId::unique()).collect();
    let pending: Vec<_> = names.iter().zip(0..).map(|(&id, i)| fetch_as(id, &*object, i * 4096, 4096)).collect();
    names.iter().for_each(|&id| object.call_off(id));
    names.iter().for_each(|&id| object.call_off(id));
    for receiver in &pending[1..] {
        assert!(matches!(receiver.try_recv().unwrap().1, Err(Error::CalledOff)));
    }
    assert!(pending[0].try_recv().is_err(), "the disk has begun with it");
    drop((source, object));
    pending[0].recv_timeout(LONG).unwrap().1.unwrap();
    assert!(pending.iter().all(|receiver| receiver.recv_timeout(LONG).is_err()), "done is called once");
}

/// The storage below still has the buffer: the fetch is over when the bytes have come, and they
/// don't count.
#[test]
fn what_is_called_off_before_its_bytes_came_ends_when_they_come() {
    let (inner, held) = MemorySource::of(&["a"], 8192).holding();
    let source = paced(inner, "ibm-10k", 1e-6);
    let object = source.open(Path::new("a")).unwrap();
    let first = fetch(&*object, 0, 4096);
    let id = FetchId::unique();
    let second = fetch_as(id, &*object, 4096, 4096);
    object.call_off(id);
    assert!(second.try_recv().is_err());
    let bring = held.lock().pop().unwrap();
    bring();
    assert!(matches!(second.try_recv().unwrap().1, Err(Error::CalledOff)));
    let bring = held.lock().pop().unwrap();
    bring();
    drop((source, object));
    first.recv_timeout(LONG).unwrap().1.unwrap();
}

/// Fetches that are called off while the disk takes them, by several threads: each ends once, one
/// way or the other.
#[test]
fn calling_off_races_with_the_disk() {
    let source = paced(MemorySource::of(&["a"], 1 << 20), "ibm-10k", 2000.0);
    let object = source.open(Path::new("a")).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4u64 {
            let object = &*object;
            scope.spawn(move || {
                let mut random = Random::new(thread);
                let mut pending = Vec::new();
                for _ in 0..200 {
                    let (id, offset) = (FetchId::unique(), random.below(200) * 4096);
                    pending.push((id, offset, fetch_as(id, object, offset, 4096)));
                    let (other, ..) = pending[random.below(pending.len() as u64) as usize];
                    object.call_off(other);
                }
                for (_, offset, receiver) in pending {
                    let (bytes, outcome) = receiver.recv_timeout(LONG).unwrap();
                    match outcome {
                        Ok(()) => assert_eq!(bytes, pattern("a", offset, 4096)),
                        Err(error) => assert!(matches!(error, Error::CalledOff)),
                    }
                    assert!(receiver.recv_timeout(LONG).is_err(), "done is called once");
                }
            });
        }
    });
    assert!(source.pacer.pace().is_idle());
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

/// The pace may be that of an array of flash behind a network.
#[test]
fn a_pace_may_be_that_of_many_devices() {
    let member = "name = 'm'\nabout = ''\n[model.array]\nmembers = ['ssd', 'ssd', 'ssd']\nstripe_kib = 4";
    let array = forebay_device::Description::parse(member, "m").unwrap();
    let queue = array.queue(1, &forebay_device::scheduler::SchedulerKind::default()).unwrap();
    let inner = Arc::new(MemorySource::of(&["a"], 1 << 20));
    let source = PacedSource::behind(inner, queue, 1000.0).unwrap();
    assert_eq!(source.cost().unwrap().transfer_rate(0), 3 * 900_000_000_000);
    let object = source.open(Path::new("a")).unwrap();
    let pending: Vec<_> = (0..50).map(|i| fetch(&*object, i * 20_000, 20_000)).collect();
    for (receiver, i) in pending.into_iter().zip(0..) {
        let (bytes, outcome) = receiver.recv_timeout(LONG).unwrap();
        outcome.unwrap();
        assert_eq!(bytes, pattern("a", i * 20_000, 20_000));
    }
}

/// Completions keep the order of the model's queue. None is due before all are submitted; if a
/// fetch were due before its bytes, the thread that brings them would deliver it.
#[test]
fn the_order_is_the_models() {
    let model = device("ibm-10k").unwrap().build(1).unwrap();
    let inner = Arc::new(MemorySource::of(&["a"], 1 << 20));
    let source = PacedSource::new(inner, model, Box::<Noop>::default(), 1e-6).unwrap();
    let object = source.open(Path::new("a")).unwrap();
    let (sender, receiver) = channel();
    for i in 0..100u64 {
        let sender = sender.clone();
        let done = Box::new(move |_, _| sender.send(i).unwrap());
        let fetch = Fetch {
            id: FetchId::unique(),
            offset: (i * 37 % 200) * 4096,
            buffer: Segments::own(4096),
            len: 4096,
            urgent: false,
            label: Label::default(),
            done,
        };
        object.fetch(fetch);
    }
    drop((source, object));
    let order: Vec<u64> = (0..100).map(|_| receiver.recv_timeout(LONG).unwrap()).collect();
    assert!(order.is_sorted(), "{order:?}");
}

/// A request that would take three hours is over at once when the device recovers: the pacer's
/// thread, asleep, is told.
#[test]
fn a_slow_device_recovers_while_requests_wait() {
    let source = paced(MemorySource::of(&["a"], 1 << 20), "ibm-10k", 1.0);
    let pace = Arc::clone(source.pace());
    let object = source.open(Path::new("a")).unwrap();
    pace.slow_down(1e6);
    let pending: Vec<_> = (0..4).map(|i| fetch(&*object, i * 65_536, 4096)).collect();
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(pace.activity().completed, 0);
    pace.slow_down(f64::NAN);
    for (receiver, i) in pending.into_iter().zip(0..) {
        let (bytes, outcome) = receiver.recv_timeout(LONG).unwrap();
        outcome.unwrap();
        assert_eq!(bytes, pattern("a", i * 65_536, 4096));
    }
    assert!(pace.is_idle());
}

/// A device that turns slow keeps its readers waiting, and takes `factor` times as long for each
/// request.
#[test]
fn a_device_that_turns_slow_takes_so_many_times_as_long() {
    let source = paced(MemorySource::of(&["a"], 1 << 20), "ibm-10k", 1.0);
    let object = source.open(Path::new("a")).unwrap();
    let took = |factor| {
        source.pace().slow_down(factor);
        let before = source.pace().activity().response;
        let start = Moment::now();
        fetch(&*object, 0, 4096).recv_timeout(LONG).unwrap().1.unwrap();
        let (real, model) = (start.elapsed(), source.pace().activity().response - before);
        assert!(
            real >= Duration::from_nanos((model as f64 * factor * 0.999) as u64),
            "{real:?} for {model} ns of the model"
        );
    };
    [1.0, 10.0, 2.0, 1.0].into_iter().for_each(took);
}
