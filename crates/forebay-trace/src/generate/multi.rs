//! Applications that run at the same time, of the kind whose traces were collected at Purdue (Butt,
//! Gniady and Hu, SIGMETRICS 2005) and used in SCM §5.3. The traces themselves are not public, so
//! these are made from descriptions of the programs:
//!
//! | | what it does | from |
//! | --- | --- | --- |
//! | cscope | queries, each reads an index of 106 MB from front to back, then the source files that match | AMP §4.2.1 |
//! | glimpse | queries, each reads a small index, then scans the files of some parts of the text | the program |
//! | gcc | compiles file after file: a source once, the headers that it includes, by Zipf's law, again and again | the program |
//! | viewperf | data sets, each read from front to back; drawn, then the next | the program |
//! | tpc-h | "mostly random accesses" to a few large tables, now and then a scan of a part of one | SCM §5.1, §5.2.4 |
//!
//! `multi-1` is cscope and gcc, `multi-2` these and viewperf, `multi-3` glimpse and tpc-h, as
//! there.
//!
//! **Proportions.** An application's share of a mixture's requests follows from its computing time
//! between two (below), as if storage took no time. cscope, at 4 KB a request, looks through all
//! that it reads; gcc reads whole files and compiles for long; viewperf draws. So cscope has most
//! requests of multi-1 and multi-2. A database that looks up record after record asks more often
//! than a text search, which looks at every byte. So 4 in 5 requests of multi-3 are tpc-h's, 9 in
//! 10 of which are for a record or a page of an index. Sizes are of the order of the programs' data
//! then (a kernel's source tree, TPC-H of the smallest scale); `scale` makes all smaller or larger.
//! All these are assumed. AMP's Table 2 says how often a page is referenced: 12 times in the mean
//! by DBT-3, which is TPC-H; 4 times by glimpse. 200,000 requests come near that with a `scale` of
//! 1/16, the default.
//!
//! **Requests.** A sequential reader asks for a buffer of standard input and output, or for a file
//! whole. The database asks for a page of an index, or a record, which has up to 4 KB and lies
//! wherever the records before it end: "some of the random accesses cross the block border and
//! access two blocks" (SCM §5.3).

use std::collections::VecDeque;

use super::parameters::{Kind, Parameter, Value, Values, parameter};
use super::random::{Random, scattered};
use super::zipf::Zipf;
use super::{BLOCK_BYTES, Workload, WrongWorkload, sized};
use crate::{FileInfo, Request, Shape};

const SCALE: Parameter = parameter("scale", Value::Real(0.0625), "how large all data are, 1 being as large as then");

pub(super) const KINDS: &[Kind] = &[
    Kind {
        name: "multi-1",
        summary: "cscope and gcc at the same time, as in the traces of SCM §5.3",
        parameters: &[parameter("requests", Value::Count(200_000), "requests"), SCALE],
        make: |values| multi(values, &[CSCOPE, GCC]),
    },
    Kind {
        name: "multi-2",
        summary: "cscope, gcc and viewperf at the same time, as in the traces of SCM §5.3",
        parameters: &[parameter("requests", Value::Count(200_000), "requests"), SCALE],
        make: |values| multi(values, &[CSCOPE, GCC, VIEWPERF]),
    },
    Kind {
        name: "multi-3",
        summary: "glimpse and tpc-h at the same time, as in the traces of SCM §5.3",
        parameters: &[parameter("requests", Value::Count(200_000), "requests"), SCALE],
        make: |values| multi(values, &[GLIMPSE, TPC_H]),
    },
];

/// The exponent of Zipf's law, for favoured files and keys.
const EXPONENT: f64 = 0.9;
const KB: u64 = 1 << 10;
const MB: u64 = 1 << 20;
/// Records are aligned to this.
const SECTOR: u64 = 512;
/// A buffer of standard input and output.
const BUFFER: u32 = 4096;

/// An application's data, and its speed.
#[derive(Clone, Copy)]
struct Program {
    /// Large files, bytes.
    large: &'static [u64],
    /// Small files: how many, and their mean size, exponentially distributed.
    small: (u64, u64),
    /// Bytes to one of the keys that are favoured by Zipf's law. Zero: a quarter of the small files
    /// are favoured instead.
    favoured: u64,
    /// Nanoseconds between two requests.
    think: u64,
    plan: fn(&Data, &mut Random, &mut VecDeque<Run>),
}

const CSCOPE: Program =
    Program { large: &[106 * MB], small: (8000, 16 * KB), favoured: 0, think: 100_000, plan: cscope };
const GCC: Program = Program { large: &[], small: (3000, 14 * KB), favoured: 0, think: 1_000_000, plan: gcc };
const VIEWPERF: Program = Program {
    large: &[8 * MB, 24 * MB, 16 * MB, 64 * MB, 32 * MB, 48 * MB, 96 * MB, 128 * MB],
    small: (0, 0),
    favoured: 0,
    think: 400_000,
    plan: viewperf,
};
const GLIMPSE: Program =
    Program { large: &[6 * MB], small: (20_000, 15 * KB), favoured: 0, think: 1_000_000, plan: glimpse };
/// lineitem, orders, partsupp, part, customer as a share of 1.1 GB, and an index of each of the
/// first two.
const TPC_H: Program = Program {
    large: &[740 * MB, 170 * MB, 115 * MB, 24 * MB, 24 * MB, 60 * MB, 24 * MB],
    small: (0, 0),
    favoured: 4 * KB,
    think: 250_000,
    plan: tpc_h,
};

/// A piece of a file that is read from front to back.
#[derive(Clone, Copy)]
struct Run {
    file: u64,
    offset: u64,
    end: u64,
    /// Bytes of a request.
    request: u32,
}

/// The files of an application: the large ones, then the small ones.
struct Data {
    first: u64,
    sizes: Vec<u64>,
    large: usize,
    /// How often each header, or key, is wanted.
    favourites: Zipf,
}

impl Data {
    fn of(program: &Program, first: u64, scale: f64) -> Data {
        let scaled = |bytes: u64| ((bytes as f64 * scale) as u64).max(BLOCK_BYTES.into());
        let small = if program.small.0 > 0 { ((program.small.0 as f64 * scale) as u64).max(10) } else { 0 };
        let size = |number: u64| {
            let fraction = scattered(first + number + 1) as f64 / 2f64.powi(64);
            ((-(1.0 - fraction).max(1e-9).ln() * program.small.1 as f64) as u64).max(64)
        };
        let sizes: Vec<u64> = program.large.iter().copied().map(scaled).chain((0..small).map(size)).collect();
        let all: u64 = sizes.iter().sum();
        let favoured = all.checked_div(program.favoured).unwrap_or(small / 4);
        Data { first, sizes, large: program.large.len(), favourites: Zipf::new(favoured.max(1), EXPONENT) }
    }

    /// Reads a file from `offset` on, at most `bytes`.
    fn run(&self, number: usize, offset: u64, bytes: u64, request: u32) -> Run {
        let end = offset.saturating_add(bytes).min(self.sizes[number]);
        Run { file: self.first + number as u64, offset, end, request }
    }

    /// Reads a file from front to back.
    fn whole(&self, number: usize, request: u32) -> Run {
        self.run(number, 0, u64::MAX, request)
    }

    /// A small file by its number among those.
    fn small(&self, number: u64, request: u32) -> Run {
        self.whole(self.large + number as usize, request)
    }

    fn smalls(&self) -> u64 {
        (self.sizes.len() - self.large) as u64
    }
}

/// A query: the whole index, then up to twenty files that match.
fn cscope(data: &Data, random: &mut Random, runs: &mut VecDeque<Run>) {
    runs.push_back(data.whole(0, BUFFER));
    let matching = random.below(21);
    runs.extend((0..matching).map(|_| data.small(random.below(data.smalls()), BUFFER)));
}

/// A source file of its own, and eight to forty headers, the first quarter of all files, most of
/// them common ones. Each is read at once.
fn gcc(data: &Data, random: &mut Random, runs: &mut VecDeque<Run>) {
    let headers = data.smalls() / 4;
    let source = random.between(headers, data.smalls() - 1);
    runs.push_back(data.small(source, 64 << 10));
    let included = random.between(8, 40);
    runs.extend((0..included).map(|_| data.small(data.favourites.rank(random).min(headers), 64 << 10)));
}

/// A data set whole.
fn viewperf(data: &Data, random: &mut Random, runs: &mut VecDeque<Run>) {
    runs.push_back(data.whole(random.below(data.large as u64) as usize, 4 * BUFFER));
}

/// A query: the index, then all files of one to six parts of the text, of which there are 256.
fn glimpse(data: &Data, random: &mut Random, runs: &mut VecDeque<Run>) {
    runs.push_back(data.whole(0, BUFFER));
    let part = data.smalls().div_ceil(256);
    for _ in 0..random.between(1, 6) {
        let first = random.below(256) * part;
        runs.extend((first..(first + part).min(data.smalls())).map(|number| data.small(number, 2 * BUFFER)));
    }
}

/// A part of a query: mostly lookups of keys in one of the two tables with an index, by Zipf's law:
/// the leaf of the index, the record. (Its inner pages stay in the database's own memory.) Now and
/// then a scan of a piece of any table.
fn tpc_h(data: &Data, random: &mut Random, runs: &mut VecDeque<Run>) {
    let scanned = random.below(5) as usize;
    let bytes = random.between(MB / 4, MB / 2);
    let from = random.below(data.sizes[scanned].saturating_sub(bytes).max(1)) / KB * KB;
    runs.push_back(data.run(scanned, from, bytes, 2 * BUFFER));
    for _ in 0..random.between(100, 300) {
        let key = data.favourites.rank(random);
        let lookup = scattered(key ^ 0x7f4a_7c15);
        // Larger tables have more keys.
        let table = usize::from(lookup % (data.sizes[0] + data.sizes[1]) >= data.sizes[0]);
        let (index, lookup) = (5 + table, scattered(lookup));
        let leaf = lookup % data.sizes[index].div_ceil(BUFFER.into()) * u64::from(BUFFER);
        runs.push_back(data.run(index, leaf, BUFFER.into(), BUFFER));
        let (sectors, lookup) = (1 + lookup % 8, scattered(lookup));
        let record = SECTOR * sectors;
        let place = lookup % (data.sizes[table].saturating_sub(record) / SECTOR + 1) * SECTOR;
        runs.push_back(data.run(table, place, record, record as u32));
    }
}

/// A running application.
struct Running {
    handler: u32,
    program: Program,
    data: Data,
    runs: VecDeque<Run>,
    now: u64,
}

impl Running {
    fn next(&mut self, random: &mut Random) -> Request {
        while self.runs.front().is_none_or(|run| run.offset >= run.end) {
            self.runs.pop_front();
            if self.runs.is_empty() {
                (self.program.plan)(&self.data, random, &mut self.runs);
            }
        }
        let at = forebay_core::Instant(self.now);
        let run = &mut self.runs[0];
        let (file, offset, len) = (run.file, run.offset, (run.end - run.offset).min(run.request.into()) as u32);
        run.offset += u64::from(len);
        // Evenly distributed from half to one and a half of the mean.
        self.now += self.program.think / 2 + random.below(self.program.think);
        Request { at, file, offset, len, handler: self.handler, ..Request::default() }
    }
}

struct Multi {
    running: Vec<Running>,
}

fn multi(values: &Values, programs: &[Program]) -> Result<Box<dyn Workload>, WrongWorkload> {
    let scale = values.real("scale");
    if !(0.001..=1000.0).contains(&scale) {
        return Err(values.wrong("scale", "it is from 0.001 to 1000"));
    }
    let mut first = 0;
    let begin = |(handler, &program): (u32, &Program)| {
        let data = Data::of(&program, first, scale);
        first += data.sizes.len() as u64;
        Running { handler, program, data, runs: VecDeque::new(), now: 0 }
    };
    Ok(Box::new(Multi { running: (1..).zip(programs).map(begin).collect() }))
}

impl Workload for Multi {
    fn shape(&self) -> Shape {
        Shape::Ranges { block_bytes: BLOCK_BYTES }
    }

    fn files(&self) -> Vec<FileInfo> {
        sized(self.running.iter().flat_map(|running| running.data.sizes.iter().copied()))
    }

    /// The application with the earliest time asks.
    fn step(&mut self, random: &mut Random, batch: &mut Vec<Request>) {
        let next = self.running.iter_mut().min_by_key(|running| running.now);
        batch.extend(next.map(|running| running.next(random)));
    }
}
