//! Schedulers before a device: what they gain, whom they keep waiting, and what they are called.

use std::collections::{BTreeMap, BTreeSet};

use forebay_core::{DeviceCost, Instant};
use forebay_device::random::Random;
use forebay_device::scheduler::{
    Anticipation, Anticipatory, Cfq, Deadline, Elevator, Expiry, Noop, Scheduler, SchedulerKind, Turns, named,
};
use forebay_device::{DeviceQueue, Model, Ordered, Queue, Request, device};
use proptest::prelude::*;

/// A nanosecond a byte, and a millisecond to go anywhere but on from where it stands.
struct Arm {
    stands: u64,
    commands: u32,
}

impl Model for Arm {
    fn serve(&mut self, at: Instant, request: Request) -> Instant {
        let seek = if request.start == self.stands { 0 } else { 1_000_000 };
        self.stands = request.start + request.len;
        at.plus(seek + request.len)
    }
    fn channels(&self) -> u32 {
        1
    }
    fn commands(&self) -> u32 {
        self.commands
    }
    fn capacity(&self) -> u64 {
        1 << 40
    }
    fn cost(&self) -> DeviceCost {
        DeviceCost::flat(1_000_000, 1_000_000_000, 1)
    }
}

fn arm(commands: u32, scheduler: impl Scheduler + 'static) -> DeviceQueue {
    DeviceQueue::new(Box::new(Arm { stands: 0, commands }), Box::new(scheduler))
}

const MS: u64 = 1_000_000;
/// Places that are far from each other.
const FAR: u64 = 1 << 36;

/// The next completion, whatever timers run out before.
fn next(queue: &mut dyn Queue) -> Option<(u64, u64)> {
    while let Some(at) = queue.next_completion() {
        if let Some(id) = queue.complete(at) {
            return Some((at.0, id));
        }
    }
    None
}

/// Readers that each read on in 64 KiB from a place of their own, `think` nanoseconds after the
/// last read came; in what order they are served, and when the last one is.
fn readers(queue: &mut DeviceQueue, think: &[u64], n: usize) -> (Vec<u32>, Instant) {
    let mut places: Vec<u64> = (0..think.len() as u64).map(|i| i * FAR).collect();
    let mut arrivals: BTreeMap<(u64, u32), ()> = (0..think.len() as u32).map(|reader| ((0, reader), ())).collect();
    let (mut order, mut now) = (Vec::new(), Instant(0));
    while order.len() < n {
        let moment = queue.next_completion();
        match arrivals.first_key_value().map(|(&key, ())| key) {
            Some((at, reader)) if moment.is_none_or(|m| at < m.0) => {
                arrivals.remove(&(at, reader));
                let place = &mut places[reader as usize];
                queue.submit(Instant(at), reader.into(), Request::read(*place, 65536).by(reader));
                *place += 65536;
            }
            _ => {
                now = moment.expect("somebody waits");
                if let Some(id) = queue.complete(now) {
                    order.push(id as u32);
                    arrivals.insert((now.0 + think[id as usize], id as u32), ());
                }
            }
        }
    }
    (order, now)
}

/// How often another reader is served than before.
fn switches(order: &[u32]) -> usize {
    order.windows(2).filter(|pair| pair[0] != pair[1]).count()
}

/// Deceptive idleness (Iyer and Druschel §2): each reader asks for its next block only a moment
/// after it has the last.
#[test]
fn a_short_thought_is_waited_for() {
    for commands in [1, 2] {
        let think = [100_000; 4];
        let without = readers(&mut arm(commands, Elevator::default()), &think, 400).0;
        let with = readers(&mut arm(commands, Anticipatory::default()), &think, 400).0;
        assert!(switches(&without) > 380, "{}", switches(&without));
        // It changes when somebody is due: every 125 ms, of 166 µs a read.
        assert!(switches(&with) < 10, "{}", switches(&with));
    }
}

#[test]
fn a_long_thought_is_not() {
    let think = [15 * MS; 4];
    let Instant(one) = readers(&mut arm(1, Elevator::default()), &think, 400).1;
    let Instant(other) = readers(&mut arm(1, Anticipatory::default()), &think, 400).1;
    assert!(other < one + 40 * MS, "only what was lost before it was known: {one} {other}");
}

/// A waits; B's read, far away, is there. A does not come for 6 ms, and B is served then, not
/// before.
#[test]
fn the_wait_has_an_end() {
    let mut queue = arm(1, Anticipatory::default());
    queue.submit(Instant(0), 0, Request::read(0, 1000).by(1));
    queue.submit(Instant(10), 1, Request::read(FAR, 1000).by(2));
    assert_eq!(next(&mut queue), Some((1000, 0)));
    assert_eq!(next(&mut queue), Some((1000 + 6 * MS + MS + 1000, 1)));
    assert_eq!(next(&mut queue), None);
}

/// As before, but A comes after 2 ms.
#[test]
fn who_was_waited_for_goes_first() {
    let mut queue = arm(1, Anticipatory::default());
    queue.submit(Instant(0), 0, Request::read(0, 1000).by(1));
    queue.submit(Instant(10), 1, Request::read(FAR, 1000).by(2));
    assert_eq!(next(&mut queue), Some((1000, 0)));
    queue.submit(Instant(2 * MS), 2, Request::read(1000, 1000).by(1));
    assert_eq!(next(&mut queue), Some((2 * MS + 1000, 2)));
}

/// A read of a third process that is as near as A's own would be needs not wait, and a write ends
/// the wait of its process.
#[test]
fn a_near_read_is_as_good() {
    let mut queue = arm(1, Anticipatory::default());
    queue.submit(Instant(0), 0, Request::read(0, 1000).by(1));
    queue.submit(Instant(10), 1, Request::read(FAR, 1000).by(2));
    queue.submit(Instant(20), 2, Request::read(32 << 10, 1000).by(3));
    assert_eq!(next(&mut queue), Some((1000, 0)));
    assert_eq!(next(&mut queue), Some((1000 + MS + 1000, 2)));
}

/// Near are 64 sectors for two milliseconds (Linux 2.6.11, `as_close_req`), then twice as many with
/// each one more.
#[test]
fn the_longer_the_wait_the_farther_is_near() {
    let run = |came: u64, place| {
        let mut queue = arm(1, Anticipatory::default());
        queue.submit(Instant(0), 0, Request::read(0, 1000).by(1));
        queue.submit(Instant(10), 1, Request::read(FAR, 1000).by(2));
        assert_eq!(next(&mut queue), Some((1000, 0)));
        queue.submit(Instant(1000 + came), 2, Request::read(place, 1000).by(3));
        let (at, id) = next(&mut queue).unwrap();
        assert_eq!(id, 2, "it is ahead, and nearer in any case");
        at - 1000 - MS - 1000
    };
    for (came, near) in [(MS / 2, 32), (3 * MS / 2, 32), (5 * MS / 2, 64), (7 * MS / 2, 128), (11 * MS / 2, 512)] {
        assert_eq!(run(came, 1000 + (near << 10)), came, "served at once");
        assert_eq!(run(came, 1001 + (near << 10)), 6 * MS, "served when the wait is over");
    }
}

/// A has exited. If that was before its read's end it is not waited for at all, else until somebody
/// comes, who may be as far away as he likes: most often whoever takes its place. Others of A's
/// name are waited for again.
#[test]
fn who_has_exited_is_not_waited_for() {
    let mut queue = arm(1, Anticipatory::default());
    queue.submit(Instant(0), 0, Request::read(0, 1000).by(1));
    queue.submit(Instant(10), 1, Request::read(FAR, 1000).by(2));
    queue.exited(Instant(500), 1);
    assert_eq!(next(&mut queue), Some((1000, 0)));
    assert_eq!(next(&mut queue), Some((1000 + MS + 1000, 1)));
    let now = 2000 + MS;
    queue.submit(Instant(now + 10), 2, Request::read(3 * FAR, 1000).by(3));
    queue.exited(Instant(now + 2 * MS), 2);
    queue.submit(Instant(now + 3 * MS), 3, Request::read(2 * FAR, 1000).by(1));
    assert_eq!(next(&mut queue), Some((now + 4 * MS + 1000, 3)), "who came has set free the arm, and is nearer");
    let now = now + 4 * MS + 1000;
    assert_eq!(next(&mut queue), Some((now + 6 * MS + MS + 1000, 2)), "that name is in use again");
}

/// CPEM §6: a read of 3 MiB goes to the device in twenty pieces, 3.1 ms in all on this one; then
/// its reader thinks for 4 ms, which is within the 6 ms. The timer that begins with the first piece
/// is over before.
#[test]
fn the_correction_waits_from_the_last_piece_on() {
    let run = |corrected| {
        let mut queue = arm(1, Anticipatory::new(Anticipation { corrected, ..Anticipation::default() }));
        queue.submit(Instant(0), 0, Request::read(0, 3 << 20).by(1));
        queue.submit(Instant(10), 1, Request::read(FAR, 1000).by(2));
        let (end, first) = next(&mut queue).unwrap();
        assert_eq!((end, first), (3 << 20, 0), "pieces go one after the other");
        queue.submit(Instant(end + 4 * MS), 2, Request::read(3 << 20, 1000).by(1));
        [next(&mut queue).unwrap(), next(&mut queue).unwrap()]
    };
    let end = 3 << 20;
    // (Then it is waited for once more.)
    let second = end + 4 * MS + 1000;
    assert_eq!(run(true), [(second, 2), (second + 6 * MS + MS + 1000, 1)]);
    let other = 163_840 + 6 * MS + MS + 1000;
    assert_eq!(run(false), [(other, 1), (other + 6 * MS + MS + 1000, 2)]);
}

/// MB/s of `handlers` on the papers' disk for twenty seconds, the mean over eight seeds: each reads
/// a file of 4 MB from begin to end in reads of `size` bytes, `think` nanoseconds apart, then
/// another one (as One-Whole-0 of CP §3.1 does below a cache).
fn throughput(scheduler: &str, handlers: usize, size: u64, think: u64) -> f64 {
    (1..=8).map(|seed| seeded(scheduler, handlers, size, think, seed)).sum::<f64>() / 8.0
}

fn seeded(scheduler: &str, handlers: usize, size: u64, think: u64, seed: u64) -> f64 {
    let mut queue = device("ibm-10k").unwrap().queue(1, &scheduler.parse().unwrap()).unwrap();
    let mut random = Random::new(seed);
    let mut files = vec![(0, 0); handlers];
    let mut arrivals: BTreeSet<(u64, usize)> = (0..handlers).map(|handler| (0, handler)).collect();
    let (mut bytes, mut now) = (0, 0);
    while now < 20_000 * MS {
        let moment = queue.next_completion();
        match arrivals.first().copied() {
            Some((at, handler)) if moment.is_none_or(|m| at < m.0) => {
                arrivals.remove(&(at, handler));
                let (place, left) = &mut files[handler];
                if *left == 0 {
                    (*place, *left) = (random.below(8000) << 22, (4 << 20) / size);
                }
                queue.submit(Instant(at), handler as u64, Request::read(*place, size).by(handler as u32));
                (*place, *left) = (*place + size, *left - 1);
            }
            _ => {
                now = moment.expect("somebody waits").0;
                if let Some(handler) = queue.complete(Instant(now)) {
                    bytes += size;
                    arrivals.insert((now + think, handler as usize));
                }
            }
        }
    }
    bytes as f64 / now as f64 * 1e3
}

/// CP Fig. 3 and 4, by what the text says of them: reads of 128 KiB with no thought between gain
/// dramatically, with 10 ms between there is nothing to gain.
#[test]
fn anticipation_helps_where_the_papers_say() {
    for handlers in [4, 16, 64] {
        let gain = |think| {
            throughput("anticipatory", handlers, 128 << 10, think) / throughput("elevator", handlers, 128 << 10, think)
        };
        assert!(gain(MS / 10) > 2.5, "{handlers} handlers: {}", gain(MS / 10));
        assert!((0.97..1.03).contains(&gain(10 * MS)), "{handlers} handlers: {}", gain(10 * MS));
    }
}

/// CPEM §6 over time: competitive pieces of half a megabyte, 3 ms between them. They take ten, so
/// that uncorrected hardly anybody is waited for long enough.
#[test]
fn the_correction_saves_switches_of_large_reads() {
    let of = |scheduler| throughput(scheduler, 16, 512 << 10, 3 * MS);
    let (corrected, uncorrected) = (of("anticipatory"), of("anticipatory:corrected=false"));
    assert!(corrected > 1.25 * uncorrected, "{corrected} {uncorrected}");
    assert!(uncorrected < 1.1 * of("elevator"), "{uncorrected}");
}

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

/// Who reads on at once has the device for his slice of 100 ms: 600 reads of 166 µs.
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

/// Who thinks for longer than 8 ms is soon not waited for any more, and then all go to the device
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

/// Who has exited is not waited for.
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

#[test]
fn schedulers_are_known_by_name() {
    for (name, _) in SchedulerKind::KNOWN {
        let kind: SchedulerKind = name.parse().unwrap();
        assert_eq!((kind.name(), kind.to_string().as_str()), (name, name));
        assert!(named(name).is_some());
    }
    let text = "anticipatory:corrected=false,wait_ms=10.0";
    let kind: SchedulerKind = text.parse().unwrap();
    let expected = Anticipation { corrected: false, wait_ms: 10.0, ..Anticipation::default() };
    assert_eq!((kind, kind.to_string().as_str()), (SchedulerKind::Anticipatory(expected), text));
    let kind: SchedulerKind = "deadline:writes_starved=3".parse().unwrap();
    assert_eq!(kind, SchedulerKind::Deadline(Expiry { writes_starved: 3, ..Expiry::default() }));
    let kind: SchedulerKind = "cfq:idle_ms=0.0".parse().unwrap();
    assert_eq!(kind, SchedulerKind::Cfq(Turns { idle_ms: 0.0, ..Turns::default() }));
    for (text, part) in [
        ("bfq", "known are none, elevator, anticipatory, deadline, cfq"),
        ("cfq:quantum=0", "positive"),
        ("elevator:up=true", "no parameters"),
        ("deadline:fifo_batch=0", "positive"),
        ("anticipatory:wait_ms=-1.0", "times"),
        ("anticipatory:wait=1", "unknown field `wait`"),
        ("deadline:=", "deadline:="),
    ] {
        let said = text.parse::<SchedulerKind>().unwrap_err().to_string();
        assert!(said.contains(part) && !said.contains('\n'), "{said}");
        assert!(named(text).is_none());
    }
}

fn every() -> Vec<(&'static str, Box<dyn Scheduler>)> {
    let uncorrected = Anticipation { corrected: false, piece_kib: 16, ..Anticipation::default() };
    vec![
        ("none", Box::<Noop>::default()),
        ("elevator", Box::<Elevator>::default()),
        ("deadline", Box::<Deadline>::default()),
        ("anticipatory", Box::<Anticipatory>::default()),
        ("uncorrected", Box::new(Anticipatory::new(uncorrected))),
        ("cfq", Box::<Cfq>::default()),
    ]
}

/// A request of a random load: gap, place, length, whether it writes, by whom, and when it is
/// cancelled, if at all.
type Step = (u64, u64, u64, bool, u32, Option<u64>);

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let place = prop_oneof![0u64..64, 0u64..1 << 20].prop_map(|place| place << 16);
    let step = (
        0u64..20 * MS,
        place,
        1u64..200_000,
        proptest::bool::weighted(0.3),
        0u32..4,
        proptest::option::weighted(0.2, 0u64..10 * MS),
    );
    proptest::collection::vec(step, 1..80)
}

/// Everything that happens in a run: (moment, id) of completions, and who was cancelled. The driver
/// looks at every moment if `eager`, else only when something arrives, and at the end.
fn run(queue: &mut dyn Queue, steps: &[Step], eager: bool) -> (Vec<(u64, u64)>, Vec<bool>) {
    let moments: Vec<u64> = steps
        .iter()
        .scan(0, |at, step| {
            *at += step.0;
            Some(*at)
        })
        .collect();
    let mut events: Vec<(u64, bool, usize)> = moments.iter().enumerate().map(|(id, &at)| (at, false, id)).collect();
    events.extend(steps.iter().enumerate().filter_map(|(id, step)| Some((moments[id] + step.5?, true, id))));
    events.sort();
    let (mut done, mut gone) = (Vec::new(), vec![false; steps.len()]);
    for (at, cancel, id) in events {
        while eager && let Some(moment) = queue.next_completion().filter(|moment| moment.0 <= at) {
            if let Some(id) = queue.complete(moment) {
                done.push((moment.0, id));
            }
        }
        let (_, start, len, write, handler, _) = steps[id];
        if cancel {
            let waits = queue.waits(Instant(at), id as u64);
            gone[id] = queue.cancel(Instant(at), id as u64);
            assert_eq!(gone[id], waits);
        } else {
            queue.submit(Instant(at), id as u64, Request { start, len, write, handler });
        }
    }
    done.extend(std::iter::from_fn(|| next(queue)));
    (done, gone)
}

proptest! {
    /// Whatever the load: everybody who is not cancelled is served once, and however seldom the
    /// driver looks, the same way.
    #[test]
    fn everybody_is_served_once(steps in steps(), commands in 1u32..4) {
        for number in 0..every().len() {
            let fresh = || {
                let (name, scheduler) = every().swap_remove(number);
                (name, DeviceQueue::new(Box::new(Arm { stands: 0, commands }), scheduler))
            };
            let (name, mut queue) = fresh();
            let (done, gone) = run(&mut queue, &steps, true);
            let mut ids: Vec<u64> = done.iter().map(|&(_, id)| id).collect();
            ids.sort_unstable();
            let expected: Vec<u64> = (0..steps.len()).filter(|&id| !gone[id]).map(|id| id as u64).collect();
            prop_assert_eq!(&ids, &expected, "{}", name);
            prop_assert!(done.is_sorted_by_key(|&(at, _)| at));
            let (lazy, _) = run(&mut fresh().1, &steps, false);
            let order = |run: &[(u64, u64)]| run.iter().map(|&(_, id)| id).collect::<Vec<_>>();
            prop_assert_eq!(order(&done), order(&lazy), "{}", name);
        }
    }

    /// A scheduler of its own before a queue that takes whatever comes is a scheduler before a
    /// model, and one that changes nothing before a queue changes nothing.
    #[test]
    fn ordered_is_its_scheduler_or_its_queue(steps in steps()) {
        let plain = |scheduler: Box<dyn Scheduler>| DeviceQueue::new(Box::new(Arm { stands: 0, commands: 1 }), scheduler);
        for number in 0..every().len() {
            let scheduler = || every().swap_remove(number).1;
            if scheduler().piece() < u64::MAX {
                continue;
            }
            let mut above = Ordered::new(Box::new(plain(Box::<Noop>::default())), scheduler(), 1);
            prop_assert_eq!(run(&mut above, &steps, true), run(&mut plain(scheduler()), &steps, true));
            let mut none = Ordered::new(Box::new(plain(scheduler())), Box::<Noop>::default(), u32::MAX);
            let (one, other) = (run(&mut none, &steps, false), run(&mut plain(scheduler()), &steps, false));
            prop_assert_eq!(one, other);
        }
    }

    /// The device is idle while somebody waits only under anticipation, and then for 6 ms at most,
    /// and under cfq, for 8.
    #[test]
    fn nobody_waits_for_an_idle_device(steps in steps()) {
        for (name, scheduler) in every() {
            let mut queue = DeviceQueue::new(Box::new(Arm { stands: 0, commands: 1 }), scheduler);
            let steps: Vec<Step> = steps.iter().map(|&(a, b, c, d, e, _)| (a, b, c, d, e, None)).collect();
            let (done, _) = run(&mut queue, &steps, true);
            let moments: Vec<u64> = steps.iter().scan(0, |at, step| { *at += step.0; Some(*at) }).collect();
            let mut free = 0;
            for (served, &(end, id)) in done.iter().enumerate() {
                let (_, _, len, ..) = steps[id as usize];
                // The latest moment at which its service can have begun.
                let begun = end - len;
                let waited = done[served..].iter().map(|&(_, id)| moments[id as usize]).min().unwrap();
                let idle = begun.saturating_sub(free.max(waited));
                // Its seeks and those between its pieces are no idleness.
                let bound = MS + match name {
                    "anticipatory" | "uncorrected" => 6 * MS,
                    "cfq" => 8 * MS,
                    _ => 0,
                };
                prop_assert!(idle <= bound, "{}: {} idle before {}", name, idle, id);
                free = end;
            }
        }
    }
}

/// Readers who never stop, one of them sequential and without a thought: the others are served all
/// the same.
#[test]
fn nobody_starves() {
    for (name, scheduler) in every() {
        let mut queue = DeviceQueue::new(Box::new(Arm { stands: 0, commands: 1 }), scheduler);
        let mut random = Random::new(4);
        let mut place = 0;
        let mut request = |reader: u64| {
            let write = reader == 5;
            let start = if reader == 0 { place } else { random.below(1 << 30) << 8 };
            place += if reader == 0 { 65536 } else { 0 };
            Request { start, len: 65536, write, handler: reader as u32 }
        };
        for reader in 0..6 {
            queue.submit(Instant(0), reader, request(reader));
        }
        let mut last = [0; 6];
        let mut longest = 0;
        for _ in 0..20_000 {
            let (at, reader) = next(&mut queue).unwrap();
            longest = longest.max(at - last[reader as usize]);
            last[reader as usize] = at;
            queue.submit(Instant(at), reader, request(reader));
        }
        let end = *last.iter().max().unwrap();
        longest = longest.max(end - last.iter().min().unwrap());
        // Deadline may pass writes over for two batches of reads, anticipatory serves the oldest of
        // six every 125 ms.
        assert!(longest < 1500 * MS, "{name}: somebody waited for {} ms", longest / MS);
    }
}
