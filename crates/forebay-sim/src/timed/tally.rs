//! The counts of a running simulation, and the outcome from them.

use forebay_core::{Counters, Instant};
use forebay_trace::Times;

use super::level::{Known, Level};
use super::outcome::{LevelFigures, Outcome};
use super::samples::Sample;
use super::setup::Setup;
use super::storage::Storage;
use super::tier::Tiered;

/// Counts since the warm-up.
#[derive(Default)]
pub(super) struct Tally {
    requests: u64,
    bytes: u64,
    pub(super) writes: u64,
    responses: Times,
    tasks: Times,
    /// Answered within the warm-up.
    before: u64,
    before_bytes: u64,
    pub(super) samples: Vec<Sample>,
    from: Instant,
    /// The cores' counts at the end of the warm-up: every level, and the devices at level 0.
    levels: Vec<Counters>,
    known: Vec<Known>,
    devices: Vec<Counters>,
}

impl Tally {
    /// A request was answered.
    pub(super) fn answer(&mut self, nanos: u64, bytes: u32) {
        self.requests += 1;
        self.bytes += u64::from(bytes);
        self.responses.add(nanos);
    }

    /// A task is over.
    pub(super) fn end_task(&mut self, nanos: u64) {
        self.tasks.add(nanos);
    }

    /// How many requests were answered, warm-up included.
    pub(super) fn all_requests(&self) -> u64 {
        self.before + self.requests
    }

    /// Takes a sample.
    pub(super) fn sample(&mut self, now: Instant, level: &Level) {
        let bytes = self.before_bytes + self.bytes;
        let fetched = level.counters().fetched;
        self.samples.push(Sample { at: now.0 as f64 / 1e9, bytes, fetched, partitions: level.partitions() });
    }

    /// Whether counting has begun: there is no warm-up, or it is over.
    pub(super) fn has_begun(&self, setup: &Setup) -> bool {
        setup.warm_up.is_none() || !self.levels.is_empty()
    }

    /// The warm-up is over: counting begins.
    pub(super) fn warmed_up(&mut self, now: Instant, levels: &[Level], storage: &mut Storage) {
        self.before += self.requests;
        self.before_bytes += self.bytes;
        (self.requests, self.bytes, self.writes) = (0, 0, 0);
        self.responses.clear();
        self.tasks.clear();
        self.from = now;
        self.levels = levels.iter().map(Level::counters).collect();
        self.known = levels.iter().map(Level::known).collect();
        self.devices = levels[0].device_counters().collect();
        storage.clear();
    }

    pub(super) fn outcome(
        self,
        setup: &Setup,
        now: Instant,
        levels: &[Level],
        storage: Storage,
        tier: Option<&Tiered>,
    ) -> Outcome {
        let before = |counters: &[Counters], number: usize| counters.get(number).copied().unwrap_or_default();
        let known = |number: usize| self.known.get(number).copied().unwrap_or_default();
        let figures = |(number, level): (usize, &Level)| LevelFigures {
            policy: level.policy.to_string(),
            capacity_blocks: u64::from(level.frames),
            counters: difference(level.counters(), before(&self.levels, number)),
            demanded: level.known().demanded - known(number).demanded,
            demanded_here: level.known().demanded_here - known(number).demanded_here,
            demand_fetches: level.known().demand_fetches - known(number).demand_fetches,
            label_bytes: level.known().label_bytes - known(number).label_bytes,
        };
        let levels_now: Vec<LevelFigures> = levels.iter().enumerate().map(figures).collect();
        let mut devices = storage.figures();
        for ((number, figures), counters) in devices.iter_mut().enumerate().zip(levels[0].device_counters()) {
            figures.counters = difference(counters, before(&self.devices, number));
        }
        let tier = tier.zip(storage.tier_figures()).map(|(tier, disk)| tier.figures(disk));
        let top = levels_now[0].counters;
        let misses = top.misses + top.joined + top.late;
        let seconds = now.since(self.from) as f64 / 1e9;
        let device_bytes = devices.iter().map(|device| device.bytes).sum();
        let device_requests = devices.iter().map(|device| device.requests).sum();
        let ms = |share| self.responses.quantile(share) / 1e6;
        Outcome {
            policy: levels_now.iter().map(|level| level.policy.as_str()).collect::<Vec<_>>().join(" > "),
            device: setup.device_names(),
            handlers: setup.load.handlers(),
            capacity_blocks: levels_now[0].capacity_blocks,
            requests: self.requests,
            hits: top.hits,
            misses,
            miss_ratio: ratio(misses as f64, (top.hits + misses) as f64),
            throughput_mb_s: ratio(self.bytes as f64 / 1e6, seconds),
            response_ms: self.responses.mean() / 1e6,
            p50_ms: ms(0.5),
            p90_ms: ms(0.9),
            p99_ms: ms(0.99),
            seconds,
            bytes: self.bytes,
            device_bytes,
            device_requests,
            mean_request_kb: ratio(device_bytes as f64 / 1e3, device_requests as f64),
            prefetched: top.prefetched,
            used: top.used,
            late: top.late,
            wasted: top.wasted,
            thrashed: top.thrashed,
            called_off: top.called_off,
            unread: unread(levels[0].counters()),
            writes: self.writes,
            seed: setup.seed,
            sizes: storage.sizes,
            responses: self.responses,
            tasks: self.tasks,
            levels: levels_now,
            devices,
            tier,
            samples: self.samples,
        }
    }
}

fn ratio(part: f64, whole: f64) -> f64 {
    if whole == 0.0 { 0.0 } else { part / whole }
}

/// Prefetched blocks that are neither used, late, wasted nor called off.
fn unread(counters: Counters) -> u64 {
    let Counters { prefetched, used, late, wasted, called_off, .. } = counters;
    prefetched - used - late - wasted - called_off
}

fn difference(now: Counters, before: Counters) -> Counters {
    Counters {
        hits: now.hits - before.hits,
        misses: now.misses - before.misses,
        joined: now.joined - before.joined,
        prefetched: now.prefetched - before.prefetched,
        used: now.used - before.used,
        late: now.late - before.late,
        wasted: now.wasted - before.wasted,
        thrashed: now.thrashed - before.thrashed,
        called_off: now.called_off - before.called_off,
        hinted: now.hinted - before.hinted,
        hints_used: now.hints_used - before.hints_used,
        hints_wasted: now.hints_wasted - before.hints_wasted,
        fetched: now.fetched - before.fetched,
        fetches: now.fetches - before.fetches,
        failures: now.failures - before.failures,
    }
}
