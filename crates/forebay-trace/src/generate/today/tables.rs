//! Tables: queries over Parquet files, which read the footer and then chunks of a few columns (the
//! format's specification; Arrow reads 8 bytes, then the footer); and the inverted lists of a
//! vector index, of which a query probes a few (IVF: Jégou et al., TPAMI 2011).

use super::super::parameters::{Kind, Value, parameter};
use super::super::random::{Random, scattered};
use super::super::zipf::Zipf;
use super::super::{BLOCK_BYTES, Tasks, Workload, sized};
use super::tasks;
use crate::{FileInfo, Request, Shape};

pub(in super::super) const KINDS: &[Kind] = &[
    Kind {
        name: "parquet",
        summary: "a query reads the footer of a Parquet file and 2 to 5 columns of each row group; queries repeat",
        parameters: &[
            tasks(400, "queries, one after the other"),
            parameter("files", Value::Count(16), "files, of 8 row groups of 24 columns of 16 to 640 KiB"),
            parameter("queries", Value::Count(200), "different queries"),
            parameter("alpha", Value::Real(0.8), "the exponent of Zipf's law by which queries repeat"),
        ],
        make: |values| {
            let queries = Zipf::new(values.whole("queries"), values.real("alpha"));
            Ok(Box::new(Parquet { files: values.whole("files"), queries, tasks: Tasks::default() }))
        },
    },
    Kind {
        name: "vector-lists",
        summary: "a query reads some lists of a vector index whole, the popular ones more often (IVF)",
        parameters: &[
            tasks(2000, "queries, one after the other"),
            parameter("lists", Value::Count(2048), "lists, of 16 to 256 KiB"),
            parameter("probes", Value::Count(16), "lists that a query reads"),
            parameter("alpha", Value::Real(0.7), "the exponent of Zipf's law of the lists' popularity"),
        ],
        make: |values| {
            let lists = values.whole("lists");
            if lists > 1 << 24 {
                return Err(values.wrong("lists", "there are at most 2^24"));
            }
            let mut starts = vec![0];
            for list in 0..lists {
                starts.push(starts[list as usize] + between(scattered(list), 16 << 10, 256 << 10));
            }
            let popular = Zipf::new(lists, values.real("alpha"));
            Ok(Box::new(Lists { starts, popular, probes: values.whole("probes"), tasks: Tasks::default() }))
        },
    },
];

/// A size between two, each doubling as frequent as the other, in multiples of 512 bytes; always
/// the same for the same number.
fn between(number: u64, least: u64, most: u64) -> u64 {
    let doublings = (most as f64 / least as f64).log2() * (number % 4096) as f64 / 4096.0;
    (least as f64 * doublings.exp2()) as u64 / 512 * 512
}

const GROUPS: u64 = 8;
const COLUMNS: u64 = 24;
/// The last bytes of a file, which say how long its footer is; and that.
const TAIL: u64 = 8;
const FOOTER: u64 = 48 << 10;

struct Parquet {
    files: u64,
    queries: Zipf,
    tasks: Tasks,
}

impl Parquet {
    /// Bytes of a column's chunk: columns differ, and their chunks little.
    fn chunk(&self, file: u64, group: u64, column: u64) -> u64 {
        let column_bytes = between(scattered(column + 1), 16 << 10, 600 << 10);
        let by = scattered(file << 32 | group << 16 | column) % 64;
        column_bytes + column_bytes * by / 1024 / 512 * 512
    }

    /// Where a chunk begins.
    fn start(&self, file: u64, group: u64, column: u64) -> u64 {
        let before = group * COLUMNS + column;
        4 + (0..before).map(|chunk| self.chunk(file, chunk / COLUMNS, chunk % COLUMNS)).sum::<u64>()
    }

    fn bytes(&self, file: u64) -> u64 {
        self.start(file, GROUPS, 0) + FOOTER + TAIL
    }
}

impl Workload for Parquet {
    fn shape(&self) -> Shape {
        Shape::Ranges { block_bytes: BLOCK_BYTES }
    }

    fn files(&self) -> Vec<FileInfo> {
        sized((0..self.files).map(|file| self.bytes(file)))
    }

    fn step(&mut self, random: &mut Random, batch: &mut Vec<Request>) {
        self.tasks.begin();
        // The same number is the same query.
        let mut query = Random::new(self.queries.rank(random));
        let file = query.below(self.files);
        let count = query.between(2, 5);
        let mut columns: Vec<u64> = Vec::new();
        while (columns.len() as u64) < count {
            let column = query.below(COLUMNS);
            if !columns.contains(&column) {
                columns.push(column);
            }
        }
        columns.sort_unstable();
        let end = self.bytes(file);
        batch.push(self.tasks.read(file, end - TAIL, TAIL as u32));
        batch.push(self.tasks.read(file, end - TAIL - FOOTER, FOOTER as u32));
        for group in 0..GROUPS {
            for &column in &columns {
                let (start, len) = (self.start(file, group, column), self.chunk(file, group, column));
                batch.push(self.tasks.read(file, start, len as u32));
            }
        }
    }
}

struct Lists {
    /// Where each begins, and the end.
    starts: Vec<u64>,
    popular: Zipf,
    probes: u64,
    tasks: Tasks,
}

impl Workload for Lists {
    fn shape(&self) -> Shape {
        Shape::Ranges { block_bytes: BLOCK_BYTES }
    }

    fn files(&self) -> Vec<FileInfo> {
        sized(self.starts.last().copied().into_iter())
    }

    fn step(&mut self, random: &mut Random, batch: &mut Vec<Request>) {
        self.tasks.begin();
        let lists = self.starts.len() as u64 - 1;
        for _ in 0..self.probes {
            // Popular lists lie anywhere.
            let list = (scattered(self.popular.rank(random)) % lists) as usize;
            let (start, end) = (self.starts[list], self.starts[list + 1]);
            batch.push(self.tasks.read(0, start, (end - start) as u32));
        }
    }
}
