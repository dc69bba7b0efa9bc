//! The laws of every scheduler under any load, and the name of each.

use super::*;

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
    /// Under any load everybody who is not cancelled is served once, and however seldom the
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
