//! Several levels (SCM §4.2, §5.3): none waits for another in a circle, readers get the same
//! whatever is between them and the devices, and labels cost the bytes that they have.

use forebay_core::level::Labels;
use std::env;
use std::path::{Path, PathBuf};

use forebay_core::{Action, Event, EventKind};
use forebay_device::network;
use forebay_sim::Unwatched;
use forebay_sim::timed::{Level, Load, Outcome, Record, Setup, Workload, run, run_recorded};
use forebay_trace::{Operation, Options, Request, open};
use proptest::prelude::*;

use crate::laws::requests;
use crate::load::{flat, outcome, sequential, setup, workload};

const POLICIES: [&str; 11] = [
    "none",
    "one-block",
    "fixed",
    "linux",
    "sarc",
    "gill",
    "competitive",
    "ets",
    "esf+arc",
    "ets-competitive",
    "competitive-em",
];

/// One to three levels of any policies, tiny or not, told anything, with networks between them or
/// not.
fn setups() -> impl Strategy<Value = Setup> {
    let labels = prop_oneof![Just(Labels::Off), Just(Labels::Demand), Just(Labels::Hits)];
    let level = (0..POLICIES.len(), prop_oneof![1u64..8, 1u64..300], labels, any::<bool>());
    let levels = proptest::collection::vec(level, 1..4);
    let loads = prop_oneof![(1u32..6).prop_map(Load::closed), Just(Load::Open { speed: 20.0 })];
    (levels, loads, any::<bool>(), proptest::option::of(1u32..4), 1usize..3).prop_map(
        |(levels, load, call_off, unit, devices)| {
            let mut setup = setup("none", flat(2.0, 2), 1);
            let one = |(policy, frames, labels, link): (usize, u64, Labels, bool)| Level {
                labels,
                link: link.then(network::Description::default),
                ..Level::new(POLICIES[policy].parse().expect("a policy"), frames * 4096)
            };
            setup.levels = levels.into_iter().map(one).collect();
            setup.unit_bytes = unit.map(|blocks| blocks * 4096);
            setup.devices = vec![setup.devices[0].clone(); devices];
            Setup { load, call_off, ..setup }
        },
    )
}

/// Checks that a label comes directly before the read that it is about, and counts them.
#[derive(Default)]
struct Told {
    last: Option<EventKind>,
    labels: Vec<u64>,
}

impl Record for Told {
    fn record(&mut self, level: usize, event: Event, actions: &[Action]) {
        if let Some(EventKind::Labelled { read, .. }) = self.last {
            assert!(matches!(event.kind, EventKind::Read { read: next, .. } if next == read));
        }
        if let EventKind::Labelled { .. } = event.kind {
            self.labels.resize(self.labels.len().max(level + 1), 0);
            self.labels[level] += 1;
            assert!(actions.is_empty());
        }
        self.last = Some(event.kind);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn several_levels_serve_what_one_does_and_none_waits_forever(requests in requests(), setup in setups()) {
        let reads = requests.iter().filter(|request| request.operation == Operation::Read);
        let expected = (reads.clone().count() as u64, reads.map(|request| u64::from(request.len)).sum::<u64>());
        let workload = workload(requests);
        let mut told = Told::default();
        let got = run_recorded(&setup, &workload, &Unwatched, &mut told).unwrap();
        prop_assert_eq!((got.requests, got.bytes), expected);
        let one = outcome(&Setup { levels: setup.levels[..1].to_vec(), ..setup.clone() }, &workload);
        prop_assert_eq!((one.requests, one.bytes), expected);
        prop_assert_eq!(&run(&setup, &workload, &Unwatched).unwrap(), &got, "the same again");
        for (above, (figures, below)) in got.levels.iter().zip(&setup.levels[1..]).enumerate() {
            let bytes = figures.label_bytes;
            let (least, most) = match below.labels {
                Labels::Off => (0, 0),
                Labels::Demand => (8, 8),
                Labels::Hits => (8, 16),
            };
            let fetches = figures.counters.fetches;
            prop_assert!((least * fetches..=most * fetches).contains(&bytes), "{} for {}", bytes, fetches);
            prop_assert!(figures.demand_fetches <= fetches);
            let labels = told.labels.get(above + 1).copied().unwrap_or(0);
            prop_assert_eq!(labels > 0, below.labels != Labels::Off && fetches > 0);
            let lower = &got.levels[above + 1];
            prop_assert!(lower.demanded_here <= lower.demanded && lower.demanded <= lower.counters.references());
        }
        prop_assert_eq!(got.levels.last().unwrap().label_bytes, 0, "devices are told nothing");
    }
}

fn two(upper: &str, lower: &str, labels: Labels) -> Setup {
    let one = setup(upper, flat(2.0, 1), 1);
    let lower = Level { labels, ..Level::new(lower.parse().expect("a policy"), 8 << 20) };
    Setup { levels: vec![one.levels[0].clone(), lower], ..one }
}

/// A reader of one block at a time by way of RA: all but the first request to SARC is RA's own, so
/// that the label masks what the note shows.
#[test]
fn a_lower_level_adapts_by_what_it_is_told() {
    let block = |number: u64| Request { file: 1, handler: 1, offset: number * 4096, len: 4096, ..Request::default() };
    let workload = workload((0..400).map(block).collect());
    let prefetched = |labels| outcome(&two("fixed", "sarc", labels), &workload).levels[1].counters.prefetched;
    let [off, demand, hits] = Labels::ALL.map(prefetched);
    assert!(off > 300 && hits > 300 && demand == 0, "{off} {demand} {hits}");
}

/// A label is sent: with a slow network every fetch takes as much longer as 8 bytes do.
#[test]
fn a_label_takes_its_time_on_a_link() {
    let workload = workload(sequential(1, 1, 10, 0).collect());
    let slow = network::Description { latency_us: 10.0, gbit_s: 0.000_064, ..Default::default() };
    let seconds = |labels| {
        let mut setup = two("none", "none", labels);
        setup.levels[0].link = Some(slow);
        outcome(&setup, &workload).seconds
    };
    // 64 kbit/s: a millisecond for 8 bytes, ten fetches; there are no hits to note.
    let longer = seconds(Labels::Demand) - seconds(Labels::Off);
    assert!((longer - 0.010).abs() < 1e-6, "{longer}");
    assert_eq!(seconds(Labels::Hits), seconds(Labels::Demand));
}

fn folder() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces");
    let folder = env::var_os("FOREBAY_TRACES").map_or_else(beside, PathBuf::from);
    folder.join("arc").is_dir().then_some(folder)
}

/// Requests that span blocks, of two programs: every one is answered, by whichever levels.
#[test]
fn real_traces_that_span_blocks_go_through_three_levels() {
    let Some(folder) = folder() else { return println!("SKIPPED: no traces") };
    for name in ["arc/OLTP.lis.zst", "arc/P3.lis.zst"] {
        let mut source = open(&folder.join(name), &Options::default()).unwrap();
        let workload = Workload::load(&mut source).unwrap();
        let of = |labels: Labels| -> Outcome {
            let mut setup = two("linux", "ets", labels);
            setup.levels.push(Level { labels, ..Level::new("sarc".parse().unwrap(), 16 << 20) });
            setup.limit = Some(forebay_sim::timed::Span::Requests(5000));
            outcome(&setup, &workload)
        };
        for labels in Labels::ALL {
            let got = of(labels);
            assert_eq!(got.requests, 5000, "{name}");
            assert!(got.levels.iter().all(|level| level.counters.references() > 0), "{name} {labels}");
        }
    }
}
