//! The anticipatory scheduler: whom it waits for, and for how long.

use super::*;

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
