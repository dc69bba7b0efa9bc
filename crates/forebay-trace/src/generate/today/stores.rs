//! Stores of keys and values, and of what models remember: a log-structured merge tree, whose
//! lookups are popular by Zipf's law while compactions read whole tables (RocksDB: Cao et al., FAST
//! 2020); and the blocks of a key-value cache of language models, of which a request reads those of
//! its prefix in order (Mooncake: Qin et al., FAST 2025).

use super::super::parameters::{Kind, Value, parameter};
use super::super::random::{Random, scattered};
use super::super::zipf::Zipf;
use super::super::{BLOCK_BYTES, Tasks, Workload, sized};
use super::tasks;
use crate::{FileInfo, Request, Shape};

pub(in super::super) const KINDS: &[Kind] = &[
    Kind {
        name: "merge-tree",
        summary: "lookups read a block of 8 KiB of each of some tables; now and then a compaction reads tables whole",
        parameters: &[
            tasks(3000, "batches of 16 lookups, and compactions, one after the other"),
            parameter("tables", Value::Count(48), "tables of 4 MiB that are in use"),
            parameter("every", Value::Count(64), "one task of so many is a compaction of four tables"),
            parameter("alpha", Value::Real(0.9), "the exponent of Zipf's law of the keys' popularity"),
        ],
        make: |values| {
            let tables = values.whole("tables");
            if !(8..=1 << 16).contains(&tables) {
                return Err(values.wrong("tables", "there are from 8 to 65536"));
            }
            let keys = Zipf::new(tables * (TABLE / BLOCK), values.real("alpha"));
            let merged = (values.whole("tasks") / values.whole("every")).saturating_mul(MERGED);
            let all = merged.min(MOST_FILES) + tables;
            let (every, live) = (values.whole("every"), (0..tables).collect());
            Ok(Box::new(Tree { live, made: tables, all, keys, every, tasks: Tasks::default() }))
        },
    },
    Kind {
        name: "prefixes",
        summary: "a request reads the remembered blocks of its conversation, which begin with those of its application",
        parameters: &[
            tasks(1200, "requests, one after the other"),
            parameter("applications", Value::Count(24), "applications, with a prompt of 8 blocks of 256 KiB each"),
            parameter("alpha", Value::Real(0.8), "the exponent of Zipf's law of their popularity"),
            parameter("open", Value::Count(48), "conversations that go on at a time"),
        ],
        make: |values| {
            let (applications, open) = (values.whole("applications"), values.whole("open"));
            if applications > 1 << 16 || open > 1 << 16 {
                return Err(values.wrong("open", "there are at most 65536, and as many applications"));
            }
            let popular = Zipf::new(applications, values.real("alpha"));
            let made = applications * PROMPT;
            let all = made + values.whole("tasks").saturating_mul(TURN).min(MOST_FILES);
            let open = vec![Vec::new(); open as usize];
            Ok(Box::new(Prefixes { popular, open, made, all, tasks: Tasks::default() }))
        },
    },
];

/// Files that are made at most.
const MOST_FILES: u64 = 1 << 20;
const TABLE: u64 = 4 << 20;
/// A block of a table.
const BLOCK: u64 = 8 << 10;
/// The index and the filter at a table's end, which are read when it is opened.
const INDEX: u64 = 64 << 10;
/// The tables of a compaction.
const MERGED: u64 = 4;
/// RocksDB's read-ahead for compactions is 2 MiB; requests are cut to this by the kernel.
const REQUEST: u32 = 128 << 10;
/// Lookups of a task, each of which looks into so many tables at most.
const LOOKUPS: u64 = 16;

struct Tree {
    /// The tables in use.
    live: Vec<u64>,
    /// How many were made.
    made: u64,
    /// How many there are in the end.
    all: u64,
    keys: Zipf,
    every: u64,
    tasks: Tasks,
}

impl Workload for Tree {
    fn shape(&self) -> Shape {
        Shape::Ranges { block_bytes: BLOCK_BYTES }
    }

    fn files(&self) -> Vec<FileInfo> {
        sized((0..self.all).map(|_| TABLE + INDEX))
    }

    fn step(&mut self, random: &mut Random, batch: &mut Vec<Request>) {
        self.tasks.begin();
        if random.below(self.every) == 0 && self.made + MERGED <= self.all {
            for _ in 0..MERGED {
                let place = random.below(self.live.len() as u64) as usize;
                let table = std::mem::replace(&mut self.live[place], self.made);
                self.made += 1;
                batch.extend(self.tasks.sequence(table, 0..TABLE, REQUEST));
            }
            // New tables are opened.
            batch.extend((self.made - MERGED..self.made).map(|table| self.tasks.read(table, TABLE, INDEX as u32)));
            return;
        }
        for _ in 0..LOOKUPS {
            let key = scattered(self.keys.rank(random));
            // The filters of most tables say that they do not have the key; one in ten is wrong.
            let tables = 1 + u64::from(random.below(10) == 0);
            for table in 0..tables {
                let table = self.live[(scattered(key + table) % self.live.len() as u64) as usize];
                batch.push(self.tasks.read(table, key % (TABLE / BLOCK) * BLOCK, BLOCK as u32));
            }
        }
    }
}

/// A block of the key-value cache: a file.
const REMEMBERED: u64 = 256 << 10;
/// Blocks of an application's prompt.
const PROMPT: u64 = 8;
/// Blocks that a turn of a conversation adds at most.
const TURN: u64 = 3;

struct Prefixes {
    popular: Zipf,
    /// The blocks of each conversation, in order.
    open: Vec<Vec<u64>>,
    made: u64,
    all: u64,
    tasks: Tasks,
}

impl Workload for Prefixes {
    fn shape(&self) -> Shape {
        Shape::Ranges { block_bytes: BLOCK_BYTES }
    }

    fn files(&self) -> Vec<FileInfo> {
        sized((0..self.all).map(|_| REMEMBERED))
    }

    fn step(&mut self, random: &mut Random, batch: &mut Vec<Request>) {
        self.tasks.begin();
        let place = random.below(self.open.len() as u64) as usize;
        let conversation = &mut self.open[place];
        // A conversation ends after four turns in the mean, and another one takes its place.
        if conversation.is_empty() || random.below(4) == 0 {
            let application = self.popular.rank(random);
            *conversation = (application * PROMPT..(application + 1) * PROMPT).collect();
        }
        for &block in &*conversation {
            batch.extend(self.tasks.sequence(block, 0..REMEMBERED, REQUEST));
        }
        let more = random.between(1, TURN).min(self.all - self.made);
        conversation.extend(self.made..self.made + more);
        self.made += more;
    }
}
