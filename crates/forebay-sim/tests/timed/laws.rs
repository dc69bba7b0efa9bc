//! The laws that hold in every simulation.

use forebay_core::{Action, Event, EventKind, Instant};
use forebay_sim::Unwatched;
use forebay_sim::timed::{Level, Load, Mapping, Outcome, Record, Setup, Spread, run, run_recorded};
use forebay_trace::{Operation, Request};
use proptest::prelude::*;

use crate::load::{flat, outcome, setup, workload};

pub(crate) fn requests() -> impl Strategy<Value = Vec<Request>> {
    let request = (0u64..6, 0u64..400, 1u32..200_000, 0u32..5, any::<bool>(), 0u64..5_000_000, 0u8..8);
    proptest::collection::vec(request, 1..200).prop_map(|requests| {
        let mut at = 1;
        // Half of them go on where their file was read last.
        let mut ends = [0; 6];
        let request = |(file, place, len, handler, goes_on, gap, kind): (u64, u64, u32, u32, bool, u64, u8)| {
            at += gap;
            let offset = if goes_on { ends[file as usize] } else { place * 8192 };
            ends[file as usize] = offset + u64::from(len);
            let operation = if kind == 0 { Operation::Write } else { Operation::Read };
            Request { at: Instant(at), file, offset, len, handler, context: 0, operation }
        };
        requests.into_iter().map(request).collect()
    })
}

fn setups() -> impl Strategy<Value = Setup> {
    let policy = prop_oneof![
        Just("none"),
        Just("one-block"),
        Just("fixed"),
        Just("linux+arc"),
        Just("aggressive+sieve"),
        Just("competitive"),
    ];
    let loads = prop_oneof![
        (1u32..6).prop_map(Load::closed),
        Just(Load::Open { speed: 1.0 }),
        Just(Load::Open { speed: 50.0 })
    ];
    let spread = prop_oneof![Just(Spread::Packed), Just(Spread::Scattered)];
    let sizes = (1u64..400, proptest::option::of(1u64..400), 0u32..5, 1usize..4);
    let kernel = (proptest::option::of(1u32..4), any::<bool>());
    (policy, loads, spread, sizes, 0u32..3, kernel).prop_map(|(policy, load, spread, sizes, channels, kernel)| {
        let (frames, below, shift, devices) = sizes;
        let mut setup = setup(policy, flat(2.0, channels + 1), 1);
        setup.block_bytes = 4096 << shift;
        (setup.unit_bytes, setup.call_off) = (kernel.0.map(|blocks| blocks * setup.block_bytes), kernel.1);
        setup.levels[0].memory_bytes = frames * u64::from(setup.block_bytes);
        let level = |frames| Level { memory_bytes: frames * u64::from(setup.block_bytes), ..setup.levels[0].clone() };
        setup.levels.extend(below.map(level));
        setup.load = load;
        setup.placement.spread = spread;
        setup.placement.mapping = Mapping::Hash;
        setup.devices = vec![setup.devices[0].clone(); devices];
        setup
    })
}

/// Counts events and actions at level 0.
#[derive(Default)]
struct Count {
    reads: u64,
    ready: u64,
    asked: u64,
    arrived: u64,
    last: Instant,
}

impl Record for Count {
    fn record(&mut self, level: usize, event: Event, actions: &[Action]) {
        assert!(event.at >= self.last, "time goes on");
        self.last = event.at;
        if level > 0 {
            return;
        }
        self.reads += u64::from(matches!(event.kind, EventKind::Read { .. }));
        self.arrived += u64::from(matches!(event.kind, EventKind::Arrived { .. } | EventKind::Failed { .. }));
        for action in actions {
            self.ready += u64::from(matches!(action, Action::Ready { .. }));
            self.asked += u64::from(matches!(action, Action::Fetch { .. }));
            assert!(!matches!(action, Action::Error { .. }));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn everything_is_answered_once_and_accounted_for(requests in requests(), setup in setups()) {
        let reads = requests.iter().filter(|r| r.operation == Operation::Read);
        let (count, bytes) = (reads.clone().count() as u64, reads.map(|r| u64::from(r.len)).sum::<u64>());
        let workload = workload(requests);
        let got = outcome(&setup, &workload);
        prop_assert_eq!((got.requests, got.bytes, got.responses.count()), (count, bytes, count));
        prop_assert_eq!(got.requests + got.writes, workload.requests());
        prop_assert_eq!(got.used + got.late + got.wasted + got.called_off + got.unread, got.prefetched);
        let top = got.levels[0].counters;
        prop_assert_eq!(top.references(), got.hits + got.misses);
        prop_assert!(got.unread <= got.capacity_blocks);
        // Files end within blocks.
        let last = got.levels.last().unwrap().counters;
        let slack = u64::from(setup.block_bytes) * last.fetches;
        prop_assert!(got.device_bytes <= last.fetched * u64::from(setup.block_bytes));
        prop_assert!(got.device_bytes + slack >= last.fetched * u64::from(setup.block_bytes));
        // (Of two levels, the lower one may be at work for a prefetch of the upper one when the
        // last reader is done.)
        prop_assert!(got.levels.len() > 1 || last.fetched >= last.misses, "whatever was missed was fetched");
        prop_assert_eq!(got.sizes.buckets().map(|(_, n)| n).sum::<u64>(), got.device_requests);
        prop_assert_eq!(got.devices.iter().map(|d| d.bytes).sum::<u64>(), got.device_bytes);
        prop_assert_eq!(got.devices.iter().map(|d| d.counters.references()).sum::<u64>(), top.references());
    }

    /// The short cut of hits, batches, records: they change nothing.
    #[test]
    fn a_recorded_run_and_another_one_are_the_same(requests in requests(), setup in setups()) {
        let workload = workload(requests);
        let mut count = Count::default();
        let recorded = run_recorded(&setup, &workload, &Unwatched, &mut count).unwrap();
        let json = |outcome: &Outcome| serde_json::to_string(outcome).unwrap();
        for _ in 0..2 {
            let again = run(&setup, &workload, &Unwatched).unwrap();
            prop_assert_eq!(&again, &recorded);
            prop_assert_eq!(json(&again), json(&recorded));
        }
        prop_assert_eq!(count.reads, count.ready);
        prop_assert!(count.arrived <= count.asked);
    }
}
