//! Every preset on every kind of machine takes the same decisions as when `flights/digests.tsv` was
//! written.
//!
//! A flight is a run of a small world by seed: readers in a closed loop, devices that take their
//! time, failures, labels, hints, files that are closed and forgotten. Its digest covers each
//! action, its moment and the counters at the end. Moves of code must not change one. A change of
//! behaviour may, and its commit says which and why:
//!
//! ```sh
//! FOREBAY_BLESS=1 cargo test -p forebay-core --test all flights
//! ```

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

use forebay_core::presets::{CONTEXTS, PARTITIONS, PREFETCHERS, REPLACEMENTS};

use world::{MACHINES, digest};

mod world;

/// Combinations of presets, beside each preset by itself.
const COMBINED: &[&str] = &[
    "competitive+arc",
    "competitive-em+lazy+arc",
    "competitive-em+amp+arc",
    "none+worth+amp",
    "linux+eager+s3-fifo",
    "esf+lazy+2q",
    "sarc+amp",
    "gill+static",
    "competitive-em:seed=7+landlord",
    "competitive:channels=off,shares=off",
    "amp:by=file+lru",
    "amp:by=handler,partitions=2",
    "auto+lru",
    "auto:without=cache",
    "auto:without=devices",
    "auto:without=contexts",
    "auto:without=habits",
    "auto:without=whole",
    "auto:without=lengths",
    "auto:without=company",
    "auto:without=near",
    "auto:without=steps",
    "auto:without=sequel",
    "auto:without=floor",
    "auto:without=rent",
    "auto:without=order",
    "auto:without=turnover",
    "auto:without=active",
    "auto:without=bimodal",
    "auto:without=duel",
];

/// The policies of flights, in the order of their lines.
fn policies() -> Vec<String> {
    let alone = PREFETCHERS.iter().chain(PARTITIONS).chain(CONTEXTS).chain(REPLACEMENTS);
    let alone = alone.map(|entry| entry.name.to_string());
    alone.chain(COMBINED.iter().map(|name| name.to_string())).collect()
}

/// The digest of each flight, by policy and machine.
fn flown() -> BTreeMap<(String, &'static str), u64> {
    let policies = policies();
    let flights = policies.iter().flat_map(|policy| MACHINES.iter().map(move |machine| (policy, machine)));
    flights.map(|(policy, machine)| ((policy.clone(), machine.name), digest(policy, machine))).collect()
}

#[test]
fn every_preset_decides_as_it_did() {
    let flown = flown();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/all/flights/digests.tsv");
    let mut lines = String::new();
    for policy in policies() {
        for machine in MACHINES {
            let digest = flown[&(policy.clone(), machine.name)];
            writeln!(lines, "{policy}\t{}\t{digest:016x}", machine.name).expect("memory");
        }
    }
    if env::var_os("FOREBAY_BLESS").is_some() {
        fs::write(&path, &lines).expect("the folder of the tests");
    }
    let known = fs::read_to_string(&path).expect("the digests lie beside the test");
    let known: Vec<&str> = known.lines().collect();
    let changed: Vec<&str> = lines.lines().filter(|line| !known.contains(line)).collect();
    assert!(changed.is_empty(), "{} of {} flights differ:\n{}", changed.len(), flown.len(), changed.join("\n"));
    assert_eq!(known.len(), flown.len(), "no line of the digests is of no flight");
}
