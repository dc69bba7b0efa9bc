//! What the papers' kernels do: a read is copied page by page, and nothing is called off.

use forebay_core::{Action, Cause, Event, EventKind};
use forebay_device::scheduler::SchedulerKind;
use forebay_sim::Unwatched;
use forebay_sim::timed::{Outcome, Record, Setup, run_recorded};

use crate::load::{READ, flat, sequential, setup, workload};

/// The fetches of level 0: their sizes in blocks, and how many prefetches were under way at a time, at most.
#[derive(Default)]
struct Fetches {
    sizes: Vec<u32>,
    prefetches: Vec<u32>,
    most: usize,
    reads: u64,
}

impl Record for Fetches {
    fn record(&mut self, _level: usize, event: Event, actions: &[Action]) {
        match event.kind {
            EventKind::Arrived { io } => self.prefetches.retain(|&other| other != io.0),
            EventKind::Read { .. } => self.reads += 1,
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

/// CPEM §2.2: "When a page in the ahead window is accessed, a new I/O prefetch operation is initiated and the ahead window becomes
/// the new current window." The kernel gets there once the page before it is copied.
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

/// CPEM §2.3: "When Linux encounters a page that has been prefetched earlier but then evicted, a single page read is initiated on
/// that page and the request handler blocks."
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
    let mut setup = Setup { call_off: true, ..setup("aggressive", flat(10.0, 1), 6) };
    // What was asked for first is served first, so that what a reader needs no more waits behind the others.
    setup.devices[0].scheduler = SchedulerKind::None;
    let (with, _) = recorded(&setup, 6, 20);
    let (without, _) = recorded(&Setup { call_off: false, ..setup }, 6, 20);
    assert!(with.called_off > 0 && without.called_off == 0);
    assert!(without.device_bytes >= with.device_bytes + with.called_off * 4096);
    assert_eq!(with.bytes, u64::from(READ) * 6 * 20);
}
