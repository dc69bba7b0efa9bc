//! The mount and its tier from outside, regularly.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use super::{BUDGET, DISK_FREE, DISK_SIZE, MIB, SLACK, Soak};

/// How long a tier may take until it has given room back.
const GIVES_ROOM: Duration = Duration::from_secs(60);

/// The mount process at a moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub(super) at: Duration,
    /// Resident bytes, and those of them that are no pages of the program's file.
    pub(super) resident: u64,
    pub(super) anonymous: u64,
    pub(super) descriptors: usize,
    pub(super) threads: usize,
}

/// Observations of the process and of the folder.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) samples: Vec<Sample>,
    pub(super) most_disk: u64,
    pub(super) least_free: Option<u64>,
    pub(super) scrapes: u64,
    totals: BTreeMap<String, f64>,
    short_of_room: Option<Instant>,
}

/// A line of a process's status, in bytes.
fn status(id: u32, name: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let kib = status.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next()?.parse().ok());
    kib.unwrap_or(0u64) << 10
}

fn entries(folder: &str) -> usize {
    fs::read_dir(folder).map_or(0, Iterator::count)
}

/// The bytes that all files below a folder have on the disk. Files come and go meanwhile.
fn taken(folder: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let of = |entry: fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => taken(&entry.path()),
        Ok(metadata) => metadata.blocks() * 512,
        Err(_) => 0,
    };
    entries.flatten().map(of).sum()
}

impl Soak {
    /// Looks once; `at` is the time since the beginning.
    pub(super) fn look(&self, seen: &mut Seen, at: Duration) {
        let id = self.mount.running.id();
        let (resident, anonymous) = (status(id, "VmRSS:"), status(id, "RssAnon:"));
        let (descriptors, threads) = (entries(&format!("/proc/{id}/fd")), entries(&format!("/proc/{id}/task")));
        seen.samples.push(Sample { at, resident, anonymous, descriptors, threads });
        if resident > BUDGET + SLACK {
            self.fail(&format!("{} MiB resident", resident / MIB));
        }
        self.look_at_disk(seen);
        // The proxy keeps an account of all requests.
        self.proxy.requests().clear();
    }

    fn look_at_disk(&self, seen: &mut Seen) {
        // A walk while a file makes room for another one may count both.
        let disk = (0..3).map(|_| taken(&self.tier())).min().unwrap_or(0);
        seen.most_disk = seen.most_disk.max(disk);
        if disk > DISK_SIZE {
            self.fail(&format!("the tier has {} MiB", disk / MIB));
        }
        let room = rustix::fs::statvfs(self.disk.path()).expect("it is mounted");
        let free = room.f_bavail * room.f_frsize;
        // Its segments are given up where there is no room; nothing of it can be given up below.
        if free >= DISK_FREE {
            seen.short_of_room = None;
            seen.least_free = Some(seen.least_free.unwrap_or(u64::MAX).min(free));
        } else if seen.short_of_room.get_or_insert_with(Instant::now).elapsed() > GIVES_ROOM {
            self.fail(&format!("{} MiB are free, and the tier has {} MiB", free / MIB, disk / MIB));
        }
    }

    /// Reads the metrics as Prometheus does. Counters don't fall, and limits hold.
    pub(super) fn scrape(&self, seen: &mut Seen) {
        let answer = match self.ask("GET", "/metrics", "") {
            Ok(answer) if answer.starts_with("HTTP/1.1 200") => answer,
            other => return self.fail(&format!("metrics: {other:?}")),
        };
        seen.scrapes += 1;
        let lines = answer.lines().filter(|line| line.starts_with("forebay_"));
        let values = lines.filter_map(|line| line.rsplit_once(' ')).map(|(name, value)| (name, value.parse::<f64>()));
        let mut now = BTreeMap::new();
        for (name, value) in values {
            match value {
                Ok(value) => drop(now.insert(name.to_owned(), value)),
                Err(_) => self.fail(&format!("metrics: {name} is no number")),
            }
        }
        for (name, &before) in seen.totals.iter().filter(|(name, _)| name.contains("_total")) {
            if now.get(name).is_none_or(|&value| value < before) {
                self.fail(&format!("metrics: {name} was {before} and is {:?}", now.get(name)));
            }
        }
        let value = |name: &str| now.iter().find(|(key, _)| key.split('{').next() == Some(name)).map(|(_, &v)| v);
        for (used, limit) in
            [("forebay_memory_used_bytes", "forebay_memory_bytes"), ("forebay_tier_bytes", "forebay_tier_size_bytes")]
        {
            if value(used).is_none() || value(used) > value(limit) {
                self.fail(&format!("metrics: {used} is {:?}, {limit} {:?}", value(used), value(limit)));
            }
        }
        for name in ["forebay_tier_damaged_total", "forebay_tier_errors_total"] {
            let of_all = now.iter().filter(|(key, _)| key.split('{').next() == Some(name));
            of_all.filter(|&(_, &value)| value > 0.0).for_each(|(name, value)| {
                self.fail(&format!("metrics: {name} is {value}"));
            });
        }
        seen.totals = now;
    }

    /// A value that the last scrape had.
    pub(super) fn last(seen: &Seen, name: &str) -> f64 {
        seen.totals.iter().filter(|(key, _)| key.split('{').next() == Some(name)).map(|(_, &value)| value).sum()
    }
}

/// The slope of a memory over the samples' time, as a share of its mean.
pub(super) fn slope(samples: &[Sample], memory: fn(&Sample) -> u64) -> f64 {
    let count = samples.len().max(1) as f64;
    let mean = |of: &dyn Fn(&Sample) -> f64| samples.iter().map(of).sum::<f64>() / count;
    let (at, memory) = (|s: &Sample| s.at.as_secs_f64(), |s: &Sample| memory(s) as f64);
    let (middle, mean_memory) = (mean(&at), mean(&memory));
    let spread = mean(&|s| (at(s) - middle).powi(2));
    let together = mean(&|s| (at(s) - middle) * (memory(s) - mean_memory));
    let length = samples.last().map_or(0.0, at) - samples.first().map_or(0.0, at);
    if spread > 0.0 { together / spread * length / mean_memory } else { 0.0 }
}
