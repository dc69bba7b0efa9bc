//! The measured points: workload, number of handlers, memory, and the wanted throughput.

use super::reader::Description;

/// The policies of the mounts.
pub(super) const POLICIES: [&str; 3] = ["competitive", "competitive-em", "auto"];

/// The points in which memory is short.
pub(super) const SWEEP: &str = "memory-short";

/// The scale: the papers' server had 24 GB of files of 4 MB and 2 GB of memory, and this one has a
/// twelfth of both. Of the 18.5 GB of index it has a tenth.
const DATA: &str = "data and memory 1/12";

/// All points, and the disk under them.
pub(super) struct Plan {
    /// The modelled disk.
    pub(super) device: &'static str,
    /// The disk's speed as a multiple of its model's. Think times are divided by it too.
    pub(super) speed: f64,
    /// Bytes of the file system; `None`: the device's capacity.
    pub(super) disk: Option<u64>,
    /// The files, by folder: all workloads of a folder use the same files.
    pub(super) folders: Vec<(&'static str, Description)>,
    /// Seconds before counting, and of counting.
    pub(super) seconds: (f64, f64),
    /// Seconds of measuring the disk's profile.
    pub(super) profile: u32,
    /// Whether every byte is compared with the laid one.
    pub(super) verify: bool,
    pub(super) points: Vec<Point>,
}

/// A workload with a number of handlers and an amount of memory.
pub(super) struct Point {
    pub(super) name: &'static str,
    pub(super) folder: &'static str,
    pub(super) workload: Description,
    pub(super) handlers: u32,
    /// Bytes: of page cache for the kernel, in all for Forebay.
    pub(super) memory: u64,
    wanted: Wanted,
}

/// The least wanted throughput, as a share of the kernel's.
#[derive(Clone, Copy)]
enum Wanted {
    Nothing,
    /// Of every policy.
    NoWorse,
    /// 1.3 of `competitive`.
    Competitive,
    /// 2 of `competitive-em`.
    PrefetchCache,
}

impl Point {
    pub(super) fn title(&self) -> String {
        format!("{}, {} handlers", self.name, self.handlers)
    }

    pub(super) fn wanted(&self, policy: &str) -> Option<f64> {
        match self.wanted {
            Wanted::NoWorse => Some(0.95),
            Wanted::Competitive => (policy == "competitive").then_some(1.3),
            Wanted::PrefetchCache => (policy == "competitive-em").then_some(2.0),
            Wanted::Nothing => None,
        }
    }
}

impl Plan {
    pub(super) fn full() -> Plan {
        const MEMORY: u64 = 160 << 20;
        let micro = |kind| Description::new(kind, "files=500,bytes=4M,tasks=8000");
        let search = Description::new("index-search", "mapping=52200000,index=1850000000,tasks=20000");
        let fits = Description::new("one-whole-0", "files=16,bytes=4M,tasks=80000");
        let mut points = Vec::new();
        let mut add = |name, folder, workload: &Description, handlers: &[u32], memory, wanted| {
            let point = |&handlers| Point { name, folder, workload: workload.clone(), handlers, memory, wanted };
            points.extend(handlers.iter().map(point));
        };
        // The workload's think time of 10 ms, on a disk that is twice as fast.
        let rand_10 = Description::new("one-rand-10", "files=500,bytes=4M,tasks=8000,think=5");
        let two_rand = micro("two-rand-0");
        add("one-whole-0", "micro", &micro("one-whole-0"), &[16, 64], MEMORY, Wanted::Nothing);
        add("one-rand-10", "micro", &rand_10, &[16, 64], MEMORY, Wanted::Competitive);
        add("two-rand-0", "micro", &two_rand, &[16, 64], MEMORY, Wanted::Competitive);
        add("index-search", "index", &search, &[16, 64], MEMORY, Wanted::Competitive);
        add("four-64kb-0", "micro", &micro("four-64kb-0"), &[16], MEMORY, Wanted::NoWorse);
        add("one-handler", "micro", &micro("one-whole-0"), &[1], MEMORY, Wanted::NoWorse);
        add("fits-memory", "micro", &fits, &[16], MEMORY, Wanted::NoWorse);
        // Two streams a handler, each with a depth of about 0.5 MB: from a third of the memory to
        // six times as much.
        add(SWEEP, "micro", &two_rand, &[16, 64, 128, 256], 48 << 20, Wanted::PrefetchCache);
        Plan {
            device: "ibm-10k",
            speed: 2.0,
            disk: None,
            folders: vec![("micro", Description::new("one-whole-0", "files=500,bytes=4M")), ("index", search)],
            seconds: (4.0, 10.0),
            profile: 10,
            verify: false,
            points,
        }
    }

    pub(super) fn smoke() -> Plan {
        let micro = Description::new("two-rand-0", "files=8,bytes=512k,tasks=20000");
        let search = Description::new("index-search", "mapping=100000,index=8000000,tasks=20000,longest=100000");
        let point = |name, folder, workload: &Description| Point {
            name,
            folder,
            workload: workload.clone(),
            handlers: 2,
            memory: 48 << 20,
            wanted: Wanted::Nothing,
        };
        let points = vec![point(SWEEP, "micro", &micro), point("index-search", "index", &search)];
        Plan {
            device: "ibm-10k",
            speed: 100.0,
            disk: Some(256 << 20),
            folders: vec![("micro", micro), ("index", search)],
            seconds: (0.2, 0.3),
            profile: 1,
            verify: true,
            points,
        }
    }

    /// Its scale, in words.
    pub(super) fn scale(&self, point: &Point) -> String {
        let memory = point.memory >> 20;
        format!("{} {} times as fast, {DATA}: {memory} MiB, seed {}", self.device, self.speed, super::reader::SEED)
    }
}
