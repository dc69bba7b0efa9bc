//! Deadline and CFQ: batches that starve nobody, and slices of time.

use super::*;

#[test]
fn deadline_batches_in_the_order_of_places() {
    let mut queue = arm(1, Deadline::default());
    queue.submit(Instant(0), 100, Request::read(0, 10));
    for (id, start) in [50, 10, 70, 30, 20].into_iter().enumerate() {
        queue.submit(Instant(1), id as u64, Request::read(start * 1000, 10));
    }
    let order: Vec<u64> = std::iter::from_fn(|| next(&mut queue)).map(|(_, id)| id).collect();
    assert_eq!(order, [100, 1, 4, 3, 0, 2]);
}

/// Two batches of reads, then one of writes; each of two.
#[test]
fn deadline_lets_writes_starve_twice() {
    let expiry = Expiry { fifo_batch: 2, ..Expiry::default() };
    let mut queue = arm(1, Deadline::new(expiry));
    queue.submit(Instant(0), 0, Request::read(0, 10));
    for i in 1..10 {
        queue.submit(Instant(1), i, Request::read(i * 1000, 10));
        queue.submit(Instant(1), 100 + i, Request::write(i * 1000, 10));
    }
    let order: Vec<bool> = std::iter::from_fn(|| next(&mut queue)).map(|(_, id)| id < 100).collect();
    let expected = "rrrrrrwwrrrrwwwwwww"; // the first batch began alone
    assert_eq!(order.iter().map(|&read| if read { 'r' } else { 'w' }).collect::<String>(), expected);
}

/// A read that is due is served at the end of the batch, before those who stand nearer.
#[test]
fn deadline_serves_who_is_due() {
    let mut queue = arm(1, Deadline::new(Expiry { fifo_batch: 4, read_expire_ms: 5.0, ..Expiry::default() }));
    for id in [0, 2, 3, 4] {
        queue.submit(Instant(0), id, Request::read(FAR + id * 1000, 10));
    }
    queue.submit(Instant(1), 1, Request::read(5, 10));
    let mut order = Vec::new();
    let mut id = 5;
    // A favourite region is asked for again and again, always ahead.
    while order.len() < 30 {
        let (at, done) = next(&mut queue).unwrap();
        order.push(done);
        queue.submit(Instant(at), id, Request::read(FAR + id * 1000, 10));
        queue.submit(Instant(at), id + 1, Request::read(FAR + (id + 1) * 1000, 10));
        id += 2;
    }
    let place = order.iter().position(|&id| id == 1).expect("served");
    assert!((5..=12).contains(&place), "{place}: due after 5 ms, served within a batch of 4 ms");
}

/// A reader who reads on at once has the device for his slice of 100 ms: 600 reads of 166 µs.
#[test]
fn cfq_gives_slices_to_who_reads_on() {
    let (order, Instant(end)) = readers(&mut arm(1, Cfq::default()), &[100_000; 4], 4800);
    assert!(switches(&order) <= 8, "{}", switches(&order));
    for reader in 0..4 {
        let own = order.iter().filter(|&&id| id == reader).count();
        assert!((1190..1220).contains(&own), "{own} of 4800 for {reader}");
    }
    assert!(end < 4800 * 166_000 + 50 * MS, "{end}");
}

/// A reader who thinks for over 8 ms is soon not waited for any more, and then all go to the device
/// in the order of places.
#[test]
fn cfq_does_not_wait_for_who_thinks() {
    let think = [15 * MS; 4];
    let Instant(one) = readers(&mut arm(1, Elevator::default()), &think, 400).1;
    let Instant(other) = readers(&mut arm(1, Cfq::default()), &think, 400).1;
    assert!(other < one + 100 * MS, "only what was lost before it was known: {one} {other}");
}

/// A is waited for, for 8 ms; if it comes, it goes first, though B was there before.
#[test]
fn cfq_waits_for_a_while() {
    for comes in [false, true] {
        let mut queue = arm(1, Cfq::default());
        queue.submit(Instant(0), 0, Request::read(0, 1000).by(1));
        queue.submit(Instant(10), 1, Request::read(FAR, 1000).by(2));
        assert_eq!(next(&mut queue), Some((1000, 0)));
        if comes {
            queue.submit(Instant(7 * MS), 2, Request::read(1000, 1000).by(1));
            assert_eq!(next(&mut queue), Some((7 * MS + 1000, 2)));
        } else {
            assert_eq!(next(&mut queue), Some((1000 + 8 * MS + MS + 1000, 1)));
        }
    }
}

/// A process that has exited is not waited for.
#[test]
fn cfq_does_not_wait_for_the_dead() {
    let mut queue = arm(1, Cfq::default());
    queue.submit(Instant(0), 0, Request::read(0, 1000).by(1));
    queue.exited(Instant(500), 1);
    queue.submit(Instant(510), 1, Request::read(FAR, 1000).by(2));
    assert_eq!(next(&mut queue), Some((1000, 0)));
    assert_eq!(next(&mut queue), Some((1000 + MS + 1000, 1)));
}

/// A device that takes ten milliseconds for whatever it is given, as much at once as one likes.
struct Wide;

impl Model for Wide {
    fn serve(&mut self, at: Instant, _: Request) -> Instant {
        at.plus(10 * MS)
    }
    fn channels(&self) -> u32 {
        64
    }
    fn capacity(&self) -> u64 {
        1 << 40
    }
    fn cost(&self) -> DeviceCost {
        DeviceCost::flat(10 * MS, 1_000_000_000, 64)
    }
}

/// Before an array that could serve everybody at once: processes that are waited for have it one
/// after the other; those that are not, together.
#[test]
fn cfq_has_one_process_at_a_time_in_an_array() {
    let ends = |text: &str| {
        let below = DeviceQueue::new(Box::new(Wide), Box::<Noop>::default());
        let mut queue = Ordered::new(Box::new(below), named(text).unwrap(), 64);
        queue.submit(Instant(0), 0, Request::read(FAR, 4096).by(2));
        for id in 1..7 {
            queue.submit(Instant(id), id, Request::read(id * 4096, 4096).by(1));
        }
        let ends: BTreeMap<u64, u64> = std::iter::from_fn(|| next(&mut queue)).map(|(at, id)| (id, at / MS)).collect();
        ends.into_values().collect::<Vec<_>>()
    };
    // The first one is waited for in vain, for 8 ms.
    assert_eq!(ends("cfq"), [10, 28, 28, 28, 28, 28, 28]);
    assert_eq!(ends("cfq:idle_ms=0"), [10; 7]);
    assert_eq!(ends("none"), [10; 7]);
}
