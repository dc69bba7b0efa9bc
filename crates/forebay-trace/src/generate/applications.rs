//! The applications of the papers, as far as the papers describe them: index searching, media clips
//! over HTTP and BLAST (CPEM §5.1). Our assumptions stand at the constants; the exponents of Zipf's
//! law are assumed, too. A handler's processor time and its private memory (a BLAST process has its
//! own) belong to the load, not to the trace: `forebay sim` and `forebay trace play` take them as
//! `--cpu` and `--private-memory`.

use super::parameters::{Kind, Value, Values, parameter};
use super::random::{Random, scattered};
use super::zipf::Zipf;
use super::{BLOCK_BYTES, Tasks, Workload, WrongWorkload, sized};
use crate::{FileInfo, Request, Shape};

pub(super) const KINDS: &[Kind] = &[
    Kind {
        name: "index-search",
        summary: "queries of keywords: binary search in a mapping file, then an index read in parallel streams (CPEM §5.1)",
        parameters: &[
            parameter("tasks", Value::Count(1000), "queries"),
            parameter("mapping", Value::Bytes(522_000_000), "bytes of the mapping file"),
            parameter("index", Value::Bytes(18_500_000_000), "bytes of the index"),
            parameter("partitions", Value::Count(8), "files that the index is divided into"),
            parameter("keywords", Value::Count(1_000_000), "different keywords, asked for by Zipf's law"),
            parameter("alpha", Value::Real(0.8), "its exponent"),
            parameter("longest", Value::Bytes(4 << 20), "bytes of the most popular keyword's list"),
            parameter("decay", Value::Real(0.5), "how a list's length falls with its keyword's rank: the exponent"),
            parameter(
                "part",
                Value::Real(1.0),
                "the least part of a list that is read; how much is even from there to all",
            ),
            parameter("request", Value::Bytes(64 << 10), "bytes of a request to the index"),
        ],
        make: search,
    },
    Kind {
        name: "media-clips",
        summary: "clips of 24 to 1418 KB over HTTP, 152 KB in the mean, 9 % of them large, chosen by Zipf's law (CPEM §5.1)",
        parameters: &[
            parameter("tasks", Value::Count(10_000), "clips asked for"),
            parameter("files", Value::Count(134_211), "clips: 20.4 GB"),
            parameter("alpha", Value::Real(0.9), "exponent of Zipf's law"),
            parameter("request", Value::Bytes(64 << 10), "bytes of a request"),
        ],
        make: clips,
    },
    Kind {
        name: "blast",
        summary: "queries that scan the volumes of a sequence database from front to back (CPEM §5.1)",
        parameters: &[
            parameter("tasks", Value::Count(4), "queries; the paper has 1000"),
            parameter("volumes", Value::Count(11), "volumes of the database"),
            parameter("bytes", Value::Bytes(990_000_000), "bytes of a volume's sequences: 10.9 GB in all"),
            parameter("request", Value::Bytes(128 << 10), "bytes of a request"),
            parameter("hits", Value::Count(50), "sequences of a volume whose descriptions are looked up, at most"),
            parameter("scan", Value::Count(1_000_000), "volumes that a query scans; if not all, from any of them on"),
            parameter(
                "running",
                Value::Count(0),
                "queries, the first ones, that run already: they are anywhere in a volume",
            ),
        ],
        make: |values| {
            let (volumes, bytes) = (values.whole("volumes"), values.whole("bytes"));
            let (request, hits) = (values.request("request")?, values.whole("hits"));
            let (scan, running) = (values.whole("scan").min(volumes), values.whole("running"));
            Ok(Box::new(Blast {
                volumes,
                bytes,
                request,
                hits,
                scan,
                running,
                next: 0,
                left: 0,
                offset: bytes,
                tasks: Tasks::default(),
            }))
        },
    },
];

const RANGES: Shape = Shape::Ranges { block_bytes: BLOCK_BYTES };

/// An entry of the mapping file: an MD5 sum and a place. The paper names the sum; the place is
/// assumed to have 8 bytes.
const ENTRY: u64 = 24;
/// Words in a query: assumed, with a mean of 2.3 as search engines of 2002 reported.
const WORDS: [u64; 10] = [1, 1, 1, 2, 2, 2, 3, 3, 3, 5];

struct Search {
    mapping: u64,
    partition: u64,
    partitions: u64,
    keywords: Zipf,
    longest: u64,
    decay: f64,
    part: f64,
    request: u32,
    tasks: Tasks,
}

fn search(values: &Values) -> Result<Box<dyn Workload>, WrongWorkload> {
    let partitions = values.whole("partitions");
    let partition = values.whole("index") / partitions;
    let longest = values.whole("longest");
    if partition <= longest || longest / values.whole("request") > 1 << 20 {
        return Err(values.wrong("longest", "it is less than a partition of the index has, and not too many requests"));
    }
    if values.whole("mapping") < ENTRY {
        return Err(values.wrong("mapping", "it has an entry at least"));
    }
    let keywords = Zipf::new(values.whole("keywords"), values.real("alpha"));
    let (mapping, request, tasks) = (values.whole("mapping"), values.request("request")?, Tasks::default());
    let (decay, part) = (values.real("decay"), values.real("part").min(1.0));
    Ok(Box::new(Search { mapping, partition, partitions, keywords, longest, decay, part, request, tasks }))
}

impl Search {
    /// Halves the entries until the keyword's is found. Each page is read once, at the first touch:
    /// neighbouring entries share it.
    fn look_up(&self, keyword: u64, batch: &mut Vec<Request>) {
        let entries = self.mapping / ENTRY;
        let wanted = scattered(keyword) % entries;
        let (mut low, mut high) = (0, entries);
        let mut last = None;
        while low < high {
            let middle = low + (high - low) / 2;
            let page = middle * ENTRY / u64::from(BLOCK_BYTES);
            if last.replace(page) != Some(page) {
                let start = page * u64::from(BLOCK_BYTES);
                batch.push(self.tasks.read(0, start, (self.mapping - start).min(BLOCK_BYTES.into()) as u32));
            }
            match middle.cmp(&wanted) {
                std::cmp::Ordering::Equal => return,
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
    }

    /// The place of a keyword's list. Popular keywords have longer ones: by default with the square
    /// root of the rank, at least 8 KiB (assumed; the paper gives no sizes).
    fn list(&self, keyword: u64) -> (u64, std::ops::Range<u64>) {
        let bytes = (self.longest as f64 / (keyword as f64 + 1.0).powf(self.decay)) as u64;
        let bytes = bytes.max(2 * u64::from(BLOCK_BYTES)).min(self.longest);
        let place = scattered(keyword ^ 0x5bd1_e995);
        let start = scattered(place) % (self.partition - bytes) / u64::from(BLOCK_BYTES) * u64::from(BLOCK_BYTES);
        (1 + place % self.partitions, start..start + bytes)
    }
}

impl Search {
    /// The part of a list that is read: a server looks "for a certain number of matches depending
    /// on the data content" (CPEM §2.1).
    fn part_of(&self, list: std::ops::Range<u64>, random: &mut Random) -> std::ops::Range<u64> {
        if self.part >= 1.0 {
            return list;
        }
        let bytes = list.end - list.start;
        let least = ((bytes as f64 * self.part) as u64).clamp(u64::from(BLOCK_BYTES).min(bytes), bytes);
        list.start..list.start + random.between(least, bytes)
    }
}

impl Workload for Search {
    fn shape(&self) -> Shape {
        RANGES
    }

    fn files(&self) -> Vec<FileInfo> {
        sized(std::iter::once(self.mapping).chain((0..self.partitions).map(|_| self.partition)))
    }

    fn step(&mut self, random: &mut Random, batch: &mut Vec<Request>) {
        self.tasks.begin();
        let words = WORDS[random.below(WORDS.len() as u64) as usize];
        let mut lists = Vec::new();
        for _ in 0..words {
            let keyword = self.keywords.rank(random);
            self.look_up(keyword, batch);
            let (file, range) = self.list(keyword);
            let range = self.part_of(range, random);
            lists.push(self.tasks.sequence(file, range, self.request).collect::<Vec<_>>());
        }
        // The lists are merged, so that they are read alternately.
        let longest = lists.iter().map(Vec::len).max().unwrap_or(0);
        for turn in 0..longest {
            batch.extend(lists.iter().filter_map(|list| list.get(turn).copied()));
        }
    }
}

/// Sizes of clips in the paper's KB: 9 % are large. Only range and mean are given; large ones are
/// taken to be evenly distributed from 400 to 1418 KB (mean 909), which leaves small ones from 24
/// to 130.3 KB (mean 77.1) for a mean of 152 KB.
const KB: f64 = 1000.0;
const LARGE: f64 = 0.09;
const LARGE_KB: (f64, f64) = (400.0, 1418.0);
const SMALL_KB: (f64, f64) = (24.0, 130.3);

struct Clips {
    /// In the order of their popularity, which is independent of their sizes.
    sizes: Vec<u32>,
    popular: Zipf,
    request: u32,
    tasks: Tasks,
}

fn clips(values: &Values) -> Result<Box<dyn Workload>, WrongWorkload> {
    let files = values.whole("files");
    if files > 1 << 28 {
        return Err(values.wrong("files", "there are at most 2^28 clips"));
    }
    // The clips are the same for every seed: seeds differ in requests only.
    let mut random = Random::new(files);
    let size = |_| {
        let (low, high) = if random.fraction() < LARGE { LARGE_KB } else { SMALL_KB };
        ((low + (high - low) * random.fraction()) * KB) as u32
    };
    let sizes = (0..files).map(size).collect();
    let popular = Zipf::new(files, values.real("alpha"));
    Ok(Box::new(Clips { sizes, popular, request: values.request("request")?, tasks: Tasks::default() }))
}

impl Workload for Clips {
    fn shape(&self) -> Shape {
        RANGES
    }

    fn files(&self) -> Vec<FileInfo> {
        sized(self.sizes.iter().map(|&size| size.into()))
    }

    fn step(&mut self, random: &mut Random, batch: &mut Vec<Request>) {
        self.tasks.begin();
        let file = self.popular.rank(random);
        batch.extend(self.tasks.sequence(file, 0..self.sizes[file as usize].into(), self.request));
    }
}

/// A volume is three files, as `formatdb` makes them: an index, which is read whole first, the
/// sequences, which are scanned, and the descriptions of the matches. The share of the index and of
/// the descriptions is assumed.
const FILES: u64 = 3;
const INDEX_SHARE: u64 = 200;
const DESCRIPTION_SHARE: u64 = 10;

struct Blast {
    volumes: u64,
    bytes: u64,
    request: u32,
    hits: u64,
    scan: u64,
    /// Queries that run already at the start.
    running: u64,
    /// The next volume, how many are left, and how far the current scan is.
    next: u64,
    left: u64,
    offset: u64,
    tasks: Tasks,
}

impl Workload for Blast {
    fn shape(&self) -> Shape {
        RANGES
    }

    fn files(&self) -> Vec<FileInfo> {
        let volume = [(self.bytes / INDEX_SHARE).max(1), self.bytes, (self.bytes / DESCRIPTION_SHARE).max(1)];
        sized((0..self.volumes).flat_map(|_| volume))
    }

    fn step(&mut self, random: &mut Random, batch: &mut Vec<Request>) {
        self.tasks.begin();
        self.next = if self.scan < self.volumes { random.below(self.volumes) } else { 0 };
        (self.left, self.offset) = (self.scan, self.bytes);
        if self.running > 0 {
            self.running -= 1;
            let request = u64::from(self.request);
            (self.next, self.left) = ((self.next + 1) % self.volumes, self.scan - 1);
            self.offset = random.below(self.bytes) / request * request;
        }
        self.go_on(random, batch);
    }

    fn go_on(&mut self, random: &mut Random, batch: &mut Vec<Request>) -> bool {
        if self.offset == self.bytes {
            if self.left == 0 {
                return false;
            }
            let index = 0..(self.bytes / INDEX_SHARE).max(1);
            batch.extend(self.tasks.sequence(self.next * FILES, index, self.request));
            (self.next, self.left, self.offset) = ((self.next + 1) % self.volumes, self.left - 1, 0);
        }
        let volume = (self.next + self.volumes - 1) % self.volumes;
        let len = (self.bytes - self.offset).min(self.request.into());
        batch.push(self.tasks.read(volume * FILES + 1, self.offset, len as u32));
        self.offset += len;
        if self.offset == self.bytes {
            let descriptions = (self.bytes / DESCRIPTION_SHARE).max(1);
            for _ in 0..random.between(0, self.hits) {
                let start = random.below(descriptions) / u64::from(BLOCK_BYTES) * u64::from(BLOCK_BYTES);
                let len = (descriptions - start).min(BLOCK_BYTES.into());
                batch.push(self.tasks.read(volume * FILES + 2, start, len as u32));
            }
        }
        true
    }
}
