//! One cache over unequal devices (SAC): three paced stores under one mount, with random reads. A
//! cache that knows devices is compared with one that does not.
//!
//! ```text
//!                     ┌─▶ a fresh disk     ibm-9lzx     90 pieces of 64 KiB a second
//!  16 readers ─▶ mount ─▶ an old disk      ibm-9lzx@6   25
//!                     └─▶ an object store               25 ms each, however many
//! ```
//!
//! Readers are a closed loop, so all of them end up waiting for the slowest device. The parts are
//! `unequal`, `equal` (three fresh disks, to show the cost of knowing devices that are equal),
//! `slow` (the fresh disk becomes ten times slower) and `bridge` (the same simulated); `--only`
//! chooses. Read blocks stay in the mount; the kernel keeps none.

mod live;
mod load;
mod simulated;

use forebay_testkit::mounts;

use crate::report::{Row, median};
use live::{Live, Phase, Seen, Slow, Stores, Way};
use load::{Load, Popularity, STORES};

/// The devices of the stores.
type Devices = [&'static str; STORES];

const UNEQUAL: Devices = ["ibm-9lzx", "ibm-9lzx@6", "object-store"];
const EQUAL: Devices = ["ibm-9lzx"; STORES];

/// The paper's settings are for sixteen devices: W = 1000 is 62 requests a device, I = 0.2 % of the
/// cache is 3 % of a device's part. For three devices, the same values a device are W = 200 and I =
/// 1 %.
const AWARE: [&str; 5] = [
    "lazy-lru:window=200,increment=10",
    "eager-lru:window=200,increment=10",
    "lazy-clock:window=200,increment=10",
    "landlord",
    "worth",
];
const PLAIN: &str = "lru";

/// 32 MiB of frames, and the process's own memory. The frames are a third of the data, so a cache
/// with only one store's pieces would hold all of that store.
const MEMORY: u64 = 44 << 20;
/// Files of 1 MiB on each store.
const FILES: u64 = 32;
const READERS: u32 = 16;

/// The devices' speed as a multiple of their models', in parts that do not need real time.
const SPEED: f64 = 8.0;
/// The factor by which a store becomes slower: "by ten".
const SLOW: f64 = 10.0;
/// The store that becomes slow: the fresh disk. Simulated runs of all three led to this choice.
/// With the old disk, which then reads 2.5 pieces a second, no policy recovers in time. With the
/// object store, which has 64 connections for 16 readers, every policy does.
const VICTIM: usize = 0;
/// The time to recover, in seconds of real time.
const SOON: usize = 30;

/// The amount of measuring. Seconds are the devices'.
struct Plan {
    rounds: u64,
    settle: f64,
    count: f64,
    speed: f64,
    /// Seconds before the store becomes slow, while it is, and after; in real time.
    fault: [f64; 3],
    way: Way,
}

pub(crate) fn run(smoke: bool, only: &[String]) -> anyhow::Result<Vec<Row>> {
    let way = if mounts::possible() { Way::Mount } else { Way::Library };
    let plan = if smoke {
        Plan { rounds: 1, settle: 2.0, count: 2.0, speed: 20.0, fault: [2.0, 4.0, 2.0], way }
    } else {
        Plan { rounds: 3, settle: 200.0, count: 100.0, speed: SPEED, fault: [10.0, 45.0, 15.0], way }
    };
    let stores = Stores::make()?;
    let bench = Bench { plan, stores };
    let wanted = |part: &str| only.is_empty() || only.iter().any(|name| part.starts_with(name.as_str()));
    let mut rows = Vec::new();
    for popularity in [Popularity::Uniform, Popularity::Skewed] {
        for (part, devices, least) in [("unequal", UNEQUAL, 1.5), ("equal", EQUAL, 0.97)] {
            if wanted(part) {
                rows.extend(bench.against_plain(part, devices, popularity, least)?);
            }
        }
    }
    if wanted("slow") {
        rows.extend(bench.turns_slow()?);
    }
    if wanted("bridge") {
        rows.extend(bench.bridge()?);
    }
    Ok(rows)
}

struct Bench {
    plan: Plan,
    stores: Stores,
}

impl Bench {
    /// A stretch that does not need real time.
    fn quick(&self, seconds: f64, slow: Option<Slow>) -> Phase {
        Phase { seconds, speed: self.plan.speed, slow }
    }

    fn start(&self, devices: Devices, policy: &str, way: Way, seed: u64) -> anyhow::Result<Live> {
        Live::start(&self.stores, devices, policy, way, seed)
    }

    /// The result once sizes have settled.
    fn steady(
        &self,
        devices: Devices,
        policy: &str,
        way: Way,
        load: &Load,
        slow: Option<Slow>,
        seed: u64,
    ) -> anyhow::Result<Seen> {
        let phases = [self.quick(self.plan.settle, slow), self.quick(self.plan.count, slow)];
        let seen = self.start(devices, policy, way, seed)?.run(load, &phases)?.pop().unwrap_or_default();
        // The run takes long, so a result is printed early.
        eprintln!("  {policy} on {}, seed {seed}: {:.1} MB/s", devices.join(", "), seen.mb_s);
        Ok(seen)
    }

    /// Policies that know devices, against one that does not.
    fn against_plain(
        &self,
        part: &str,
        devices: Devices,
        popularity: Popularity,
        least: f64,
    ) -> anyhow::Result<Vec<Row>> {
        let (mut plain, mut aware) = (Vec::new(), vec![Vec::new(); AWARE.len()]);
        for seed in 1..=self.plan.rounds {
            let load = Load::new(popularity, seed);
            plain.push(self.steady(devices, PLAIN, self.plan.way, &load, None, seed)?);
            for (policy, all) in AWARE.iter().zip(&mut aware) {
                all.push(self.steady(devices, policy, self.plan.way, &load, None, seed)?);
            }
        }
        let row = |(policy, seen): (&&str, &Vec<Seen>)| {
            let ratios = seen.iter().zip(&plain).map(|(aware, plain)| aware.mb_s / plain.mb_s).collect();
            let pairs: Vec<String> = (1..)
                .zip(seen.iter().zip(&plain))
                .map(|(seed, (aware, plain))| format!("seed {seed}: {:.1}/{:.1}", aware.mb_s, plain.mb_s))
                .collect();
            Row {
                bench: "storage-aware",
                what: format!("{part}, {popularity:?}: {policy}").to_lowercase(),
                against: format!("{PLAIN}, same mount"),
                ratio: median(ratios),
                wanted: Some(least),
                detail: format!("MB/s {}; {}", pairs.join(", "), last(seen)),
                point: None,
            }
        };
        Ok(AWARE.iter().zip(&aware).map(row).collect())
    }

    /// A store becomes ten times slower in mid-run, in real time, against the best steady run with
    /// that store slow from the beginning.
    fn turns_slow(&self) -> anyhow::Result<Vec<Row>> {
        let slow = Some(Slow { store: VICTIM, factor: SLOW });
        let mut best = Vec::new();
        let mut runs = vec![Vec::new(); AWARE.len()];
        for seed in 1..=self.plan.rounds {
            let load = Load::new(Popularity::Uniform, seed);
            let mut most = 0.0f64;
            for (policy, runs) in AWARE.iter().zip(&mut runs) {
                most = most.max(self.steady(UNEQUAL, policy, self.plan.way, &load, slow, seed)?.mb_s);
                let real = |seconds, slow| Phase { seconds, speed: 1.0, slow };
                let [before, during, after] = self.plan.fault;
                let phases =
                    [self.quick(self.plan.settle, None), real(before, None), real(during, slow), real(after, None)];
                runs.push(self.start(UNEQUAL, policy, self.plan.way, seed)?.run(&load, &phases)?);
            }
            best.push(most);
        }
        Ok(AWARE.iter().zip(&runs).map(|(policy, runs)| fault_row(policy, runs, &best)).collect())
    }

    /// Live, without a mount, against the simulator.
    fn bridge(&self) -> anyhow::Result<Vec<Row>> {
        let mut rows = Vec::new();
        for policy in std::iter::once(PLAIN).chain(AWARE) {
            let mut pairs = Vec::new();
            for seed in 1..=self.plan.rounds {
                let load = Load::new(Popularity::Uniform, seed);
                let live = self.steady(UNEQUAL, policy, Way::Library, &load, None, seed)?.mb_s;
                let counted = self.plan.settle..self.plan.settle + self.plan.count;
                pairs.push((simulated::run(&self.stores, UNEQUAL, policy, &load, counted, seed)?, live));
            }
            let shown: Vec<String> = pairs.iter().map(|(sim, live)| format!("{sim:.1}/{live:.1}")).collect();
            rows.push(Row {
                bench: "storage-aware",
                what: format!("bridge, uniform: {policy}, simulated"),
                against: "live engine, paced".into(),
                ratio: median(pairs.iter().map(|(sim, live)| (sim / live).min(live / sim)).collect()),
                wanted: Some(0.9),
                detail: format!("MB/s simulated/live: {}", shown.join(", ")),
                point: None,
            });
        }
        Ok(rows)
    }
}

/// A policy's recovery: the share of the new best throughput that readers have in the ten seconds
/// after [`SOON`].
fn fault_row(policy: &str, runs: &[Vec<Seen>], best: &[f64]) -> Row {
    let mean = |each: &[f64]| each.iter().sum::<f64>() / each.len().max(1) as f64;
    let share = |(run, best): (&Vec<Seen>, &f64)| {
        let each = &run[2].each;
        let from = SOON.min(each.len() / 2);
        mean(&each[from..each.len().min(from + 10)]) / best
    };
    let back = |(run, best): (&Vec<Seen>, &f64)| {
        let five = run[2].each.windows(5).position(|five| mean(five) >= 0.8 * best);
        five.map_or("not".to_owned(), |second| format!("{second} s"))
    };
    let each = |seen: &Seen| seen.each.iter().map(|mb_s| format!("{mb_s:.1}")).collect::<Vec<_>>().join(" ");
    let shown = runs.first().map_or(String::new(), |run| {
        let named = ["before", "slow", "well again"].into_iter().zip(&run[1..]);
        let phase = |(name, seen): (&str, &Seen)| format!("{name} {} ({})", each(seen), seen.partitions);
        named.map(phase).collect::<Vec<_>>().join("; ")
    });
    let pairs = || runs.iter().zip(best);
    Row {
        bench: "storage-aware",
        what: format!("a store turns slow: {policy}, after {SOON} s"),
        against: "best steady run with it slow".into(),
        ratio: median(pairs().map(share).collect()),
        wanted: Some(0.8),
        detail: format!(
            "80 % of the best after {}; best {} MB/s; MB/s by the second, seed 1: {shown}",
            pairs().map(back).collect::<Vec<_>>().join(", "),
            best.iter().map(|mb_s| format!("{mb_s:.1}")).collect::<Vec<_>>().join(", "),
        ),
        point: None,
    }
}

/// The partitions at the end of the last run, and whether the machine kept the devices' pace.
fn last(seen: &[Seen]) -> String {
    let worst = |of: fn(&Seen) -> f64| seen.iter().map(of).fold(0.0, f64::max);
    let partitions = seen.last().map_or("", |seen| seen.partitions.as_str());
    let partitions = if partitions.is_empty() { String::new() } else { format!("{partitions}; ") };
    format!(
        "{partitions}at most {:.1} processors, requests {:.1} % late",
        worst(|seen| seen.processors),
        100.0 * worst(|seen| seen.late)
    )
}
