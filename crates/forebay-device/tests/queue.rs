//! Devices behind their queues.

use forebay_core::Instant;
use forebay_device::random::Random;
use forebay_device::scheduler::{Elevator, Noop, Scheduler};
use forebay_device::{DeviceQueue, Queue, Request, device};

fn queue(name: &str, seed: u64, scheduler: Box<dyn Scheduler>) -> DeviceQueue {
    DeviceQueue::new(device(name).unwrap().build(seed).unwrap(), scheduler)
}

/// `handlers` that each ask for random 64 KiB as soon as the last has come; (moments, ids) of `n`
/// completions.
fn closed_loop(queue: &mut DeviceQueue, handlers: u64, n: usize, seed: u64) -> Vec<(Instant, u64)> {
    let mut random = Random::new(seed);
    let mut request = || Request::read(random.below(555_000) * 65536, 65536);
    for id in 0..handlers {
        queue.submit(Instant(0), id, request());
    }
    let mut done = Vec::new();
    while done.len() < n {
        let at = queue.next_completion().expect("handlers are waiting");
        let id = queue.complete(at).expect("it is due");
        done.push((at, id));
        queue.submit(at, id, request());
    }
    done
}

#[test]
fn a_longer_queue_shortens_seeks_under_the_elevator() {
    let mean = |handlers, scheduler| {
        let done = closed_loop(&mut queue("ibm-10k", 0, scheduler), handlers, 4000, 5);
        done.last().unwrap().0.0 as f64 / 4000.0 / 1e6
    };
    let times = [1, 4, 16, 64].map(|handlers| mean(handlers, Box::<Elevator>::default()));
    assert!(times.is_sorted_by(|a, b| a > b), "{times:?}");
    // One at a time is a full random read; sixty-four in a sweep cost little more than the wait and
    // the transfer.
    assert!((times[0] - (7.53 + 3.0 + 0.05 + 1.28)).abs() < 0.3, "{times:?}");
    assert!(times[3] < 7.0, "{times:?}");
    let noop = mean(64, Box::<Noop>::default());
    assert!((noop / times[0] - 1.0).abs() < 0.05, "without an order nothing is gained: {noop}");
}

#[test]
fn every_handler_is_served_again_and_again() {
    let done = closed_loop(&mut queue("ibm-10k", 0, Box::<Elevator>::default()), 32, 6400, 6);
    let mut served = [0; 32];
    done.iter().for_each(|&(_, id)| served[id as usize] += 1);
    assert!(served.iter().all(|&n| (150..250).contains(&n)), "{served:?}");
}

#[test]
fn the_same_seed_gives_the_same_run() {
    for name in ["ibm-10k", "object-store", "ssd"] {
        let run = |seed| closed_loop(&mut queue(name, seed, Box::<Elevator>::default()), 8, 500, 7);
        assert_eq!(run(1), run(1));
        assert_eq!(run(1) == run(2), name == "ibm-10k", "{name}: a disk draws no lots");
    }
}

#[test]
fn connections_work_side_by_side() {
    let rate = |handlers| {
        let done = closed_loop(&mut queue("object-store", 1, Box::<Noop>::default()), handlers, 6400, 8);
        6400.0 * 65536.0 / done.last().unwrap().0.0 as f64 * 1e3
    };
    let (one, sixty_four, more) = (rate(1), rate(64), rate(200));
    assert!((sixty_four / one / 64.0 - 1.0).abs() < 0.05, "{one} {sixty_four}");
    assert!((more / sixty_four - 1.0).abs() < 0.05, "no more connections than there are: {more}");
}
