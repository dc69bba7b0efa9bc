//! The papers' servers and kernels: a read is copied page by page, at a price, nothing is
//! called off, a file that is closed is forgotten; and processes of a pool keep their names.

use std::collections::BTreeSet;

use forebay_core::{Action, Cause, Event, EventKind};
use forebay_device::scheduler::SchedulerKind;
use forebay_sim::Unwatched;
use forebay_sim::timed::{Load, Outcome, Record, Setup, Workload, run_recorded};
use forebay_trace::Request;
use forebay_trace::generate::{self, Given};

use crate::load::{READ, flat, sequential, setup, workload};

/// The fetches of level 0: their sizes in blocks, and how many prefetches were under way at a time,
/// at most.
#[derive(Default)]
struct Fetches {
    sizes: Vec<u32>,
    prefetches: Vec<u32>,
    most: usize,
    reads: u64,
    /// The readers seen, and how many were said to be gone.
    readers: BTreeSet<u32>,
    gone: u32,
}

impl Record for Fetches {
    fn record(&mut self, _level: usize, event: Event, actions: &[Action]) {
        match event.kind {
            EventKind::Arrived { io } => self.prefetches.retain(|&other| other != io.0),
            EventKind::Read { handler, .. } => {
                self.reads += 1;
                self.readers.insert(handler.0);
            }
            EventKind::Exited { .. } => self.gone += 1,
            _ => {}
        }
        for action in actions {
            let Action::Fetch { io, extent, cause, .. } = action else { continue };
            self.sizes.push(extent.len);
            self.prefetches.extend((*cause == Cause::Prefetch).then_some(io.0));
            self.most = self.most.max(self.prefetches.len());
        }
    }
}

fn recorded(setup: &Setup, tasks: u32, reads: u32) -> (Outcome, Fetches) {
    let mut fetches = Fetches::default();
    let requests = (1..=tasks).flat_map(|task| sequential(task.into(), task, reads, 0));
    let mut workload = workload(requests.collect());
    workload.at_least(64 << 20);
    let outcome = run_recorded(setup, &workload, &Unwatched, &mut fetches).expect("it runs");
    (outcome, fetches)
}

/// CPEM §2.2: "When a page in the ahead window is accessed, a new I/O prefetch operation is
/// initiated and the ahead window becomes the new current window." The kernel gets there once the
/// page before it is copied.
#[test]
fn a_reader_that_copies_page_by_page_has_one_window_under_way() {
    let whole = setup("linux", flat(10.0, 1), 1);
    let paged = Setup { unit_bytes: Some(4096), ..whole.clone() };
    let (at_once, whole) = recorded(&whole, 2, 64);
    let (by_page, paged) = recorded(&paged, 2, 64);
    assert_eq!((whole.reads, paged.reads), (128, 128 * 16));
    assert_eq!((whole.most, paged.most), (2, 1));
    assert_eq!(paged.sizes[..5], [16, 18, 32, 32, 32]);
    // Nothing is read twice, and what readers get is the same.
    assert_eq!((by_page.bytes, by_page.requests), (at_once.bytes, at_once.requests));
    assert_eq!((by_page.tasks.count(), by_page.thrashed), (2, 0));
    assert!((by_page.tasks.mean() - by_page.seconds * 1e9 / 2.0).abs() < 1.0, "one after the other");
}

/// CPEM §2.3: "When Linux encounters a page that has been prefetched earlier but then evicted, a
/// single page read is initiated on that page and the request handler blocks."
#[test]
fn a_page_that_was_given_up_is_read_alone() {
    // A window and the one ahead of it don't fit.
    let small = |unit_bytes| {
        let mut setup = Setup { unit_bytes, ..setup("linux", flat(10.0, 1), 1) };
        setup.levels[0].memory_bytes = 40 * 4096;
        recorded(&setup, 2, 32)
    };
    let ((_, whole), (outcome, paged)) = (small(None), small(Some(4096)));
    assert!(!whole.sizes.contains(&1), "{:?}", whole.sizes);
    assert!(paged.sizes.contains(&1) && outcome.thrashed > 0, "{:?}", paged.sizes);
}

#[test]
fn what_nobody_needs_is_called_off_or_served() {
    let given = Given::list("tasks=100,think=0").expect("parameters");
    let mut source = generate::named("one-rand-10", &given, 1).expect("a workload");
    let workload = Workload::load(&mut source).expect("requests");
    let mut setup = Setup { call_off: true, ..setup("aggressive", flat(2.0, 1), 6) };
    setup.levels[0].memory_bytes = 256 << 20;
    // The first request is served first, so that what a reader needs no more waits behind
    // the others.
    setup.devices[0].scheduler = SchedulerKind::None;
    let with = crate::load::outcome(&setup, &workload);
    let without = crate::load::outcome(&Setup { call_off: false, ..setup }, &workload);
    assert!(with.called_off > 0 && without.called_off == 0);
    assert!(without.device_bytes > with.device_bytes && without.seconds > with.seconds);
    assert_eq!((with.bytes, with.prefetched > 0), (without.bytes, true));
}

/// A thread is spawned for each task (CP §3.1), or a pool of processes works them off.
#[test]
fn a_process_of_a_pool_keeps_its_name() {
    let closed = |pool| Load::Closed {
        handlers: 2,
        think_ns: None,
        cpu_ns: 0,
        cpu_ns_per_kib: 0,
        processors: 1,
        pool,
        private_bytes: 0,
    };
    let read = |pool| recorded(&Setup { load: closed(pool), ..setup("linux", flat(1.0, 1), 2) }, 5, 4);
    let ((spawned, threads), (pooled, processes)) = (read(false), read(true));
    assert_eq!((threads.readers, threads.gone), ((1..=5).collect(), 5));
    assert_eq!((processes.readers, processes.gone), ((1..=2).collect(), 0));
    assert_eq!(
        (spawned.seconds, spawned.tasks.count()),
        (pooled.seconds, pooled.tasks.count()),
        "else all is the same"
    );
}

/// 64 KiB at 2 µs a KiB and 22 µs are 150 µs; all is cached the second time, so that this is all it
/// takes.
#[test]
fn what_is_read_costs_the_processor_its_length() {
    let mut setup = setup("none", flat(1.0, 1), 1);
    let reads = || sequential(0, 1, 16, 0).chain(sequential(0, 2, 16, 0)).collect();
    let seconds = |setup: &Setup| crate::load::outcome(setup, &workload(reads())).seconds;
    let without = seconds(&setup);
    setup.load = Load::Closed {
        handlers: 1,
        think_ns: None,
        cpu_ns: 22_000,
        cpu_ns_per_kib: 2_000,
        processors: 2,
        pool: false,
        private_bytes: 0,
    };
    assert!((seconds(&setup) - without - 32.0 * 150e-6).abs() < 1e-9);
}

/// Blocks at random places of one file, now and then near one that was read before: who remembers
/// all of them takes that for a stream that goes on.
#[test]
fn a_stream_is_forgotten_if_too_many_are_known() {
    let places = [0u64, 100, 50, 150, 200, 101, 51, 151, 201, 1];
    let reads = places.iter().zip(1..).map(|(&place, handler)| Request {
        file: 0,
        handler,
        offset: place * u64::from(READ),
        len: READ,
        ..Request::default()
    });
    let mut workload = workload(reads.collect());
    workload.at_least(64 << 20);
    let fetched = |streams| {
        let mut fetches = Fetches::default();
        let setup = Setup { streams, ..setup("aggressive", flat(1.0, 1), 1) };
        run_recorded(&setup, &workload, &Unwatched, &mut fetches).expect("it runs");
        fetches.sizes.iter().sum::<u32>()
    };
    assert!(fetched(Some(2)) < fetched(None), "{} and {}", fetched(Some(2)), fetched(None));
}

/// Answers take 5 ms, and the network 10 ms for each. A reader that waits for the network needs
/// both each time. One with room for four answers begins with four, and then asks whenever the
/// network has taken one: the last of 100 when it has taken the 96th, at 15 ms + 95 × 10 ms.
#[test]
fn a_reader_whose_answers_are_buffered_waits_for_its_consumer_alone() {
    let requests = (1..=2).flat_map(|task| sequential(task.into(), task, 100, 10_000_000));
    let workload = workload(requests.collect());
    let seconds = |buffered| {
        let setup = Setup { buffered, ..setup("none+lru", flat(4.0, 2), 2) };
        crate::load::outcome(&setup, &workload).seconds
    };
    assert!((seconds(1) - 1.490).abs() < 0.001, "{}", seconds(1));
    assert!((seconds(4) - 0.970).abs() < 0.001, "{}", seconds(4));
}
