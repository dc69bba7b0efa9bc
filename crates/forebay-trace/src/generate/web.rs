//! The web server of SAC §4.2 and §5.6, as far as the paper describes it. It had one day of "an
//! image server at the University of California, Berkeley", of art, with "a web server and a
//! Postgres database, which stored the images", which is not public:
//!
//! > The trace alternates between large reads of several files, which are most likely the database
//! > tables, and small reads and writes.
//!
//! ```text
//!  a page ── query ──▶ table: ████ ████ ████   table: ████ ████      large requests, front to back
//!         └─ images ─▶ ▪▪▪▪  ▪▪  ▪▪▪▪▪  ▪                             small requests, each image whole
//!         └─ writes ─▶      ·      ·  ·                               small ones, among the reads: the log
//! ```
//!
//! A step is a page that a visitor asks for. Zipf's law chooses the tables that a query scans and
//! the images that a page shows. A table is scanned whole, for want of an index that serves
//! questions about art. Every small read may be followed by a write, which appends to a log that
//! begins anew when it is full. As in the paper's other traces one client does all this, in this
//! order.
//!
//! Layout: "these traces did not include disk layout and file path information", so the paper lays
//! out "blocks in the order of first access" over an array (RAID-0, §4.4). Ours is laid out so
//! already: the only file is the array, and requests are places in it. At its first access, a table
//! or an image gets the next unused place.
//!
//! Our assumptions. "A modest number of requests", fewer than the other traces have: 5000 pages,
//! some 97,000 requests. A page needs three tables of 1 MiB in the mean, and shows five images of
//! 12 KiB, as thumbnails have. A small request has 8 KiB, a page of Postgres, a large one 512 KiB.
//! The paper's cache of 10 MB hits "near 50 %": so there are 24 tables. And it can hold all data of
//! one disk of sixteen ("devotes the entire cache to the slow disk", and loses 15 %): so there are
//! 2500 images, and 60 MB in all.

use super::parameters::{Kind, Value, Values, parameter};
use super::random::Random;
use super::zipf::Zipf;
use super::{BLOCK_BYTES, Workload, WrongWorkload, sized};
use crate::{FileInfo, Operation, Request, Shape};

pub(super) const KINDS: &[Kind] = &[Kind {
    name: "sac-web",
    summary: "pages of an image server: tables scanned in large requests, then images and writes in small ones (SAC §4.2)",
    parameters: &[
        parameter("tasks", Value::Count(5000), "pages asked for"),
        parameter("tables", Value::Count(24), "tables of the database"),
        parameter("table", Value::Bytes(1 << 20), "bytes of a table in the mean; half as many to half as many more"),
        parameter("scanned", Value::Count(3), "tables that are scanned for a page"),
        parameter("large", Value::Bytes(512 << 10), "bytes of a request to a table"),
        parameter("images", Value::Count(2500), "images"),
        parameter("image", Value::Bytes(12 << 10), "bytes of an image in the mean, exponentially distributed"),
        parameter("shown", Value::Count(5), "images on a page in the mean; one to twice as many, less one"),
        parameter("small", Value::Bytes(8 << 10), "bytes of a request to an image, and of a write"),
        parameter("alpha", Value::Real(0.8), "exponent of Zipf's law, for tables and for images"),
        parameter("writes", Value::Real(0.2), "writes for each small read"),
        parameter("written", Value::Bytes(4 << 20), "bytes of what is written, over and over"),
    ],
    make: web,
}];

const BLOCK: u64 = BLOCK_BYTES as u64;

/// So many files are enough for any server; their sizes are kept.
const MOST_FILES: u64 = 1 << 24;

/// Files of one kind, in the order of their popularity.
struct Files {
    /// Bytes, and the place in the array, once that is known.
    known: Vec<(u64, Option<u64>)>,
    popular: Zipf,
}

impl Files {
    fn new(sizes: impl Iterator<Item = u64>, alpha: f64) -> Files {
        let known: Vec<(u64, Option<u64>)> = sizes.map(|bytes| (bytes.max(1), None)).collect();
        let popular = Zipf::new(known.len() as u64, alpha);
        Files { known, popular }
    }

    /// Bytes of all, each in whole blocks.
    fn bytes(&self) -> u64 {
        self.known.iter().map(|file| file.0.next_multiple_of(BLOCK)).sum()
    }

    /// Where a file lies: from `used` on, if this is its first access.
    fn place(&mut self, file: u64, used: &mut u64) -> std::ops::Range<u64> {
        let (bytes, at) = &mut self.known[file as usize];
        let start = *at.get_or_insert_with(|| std::mem::replace(used, *used + bytes.next_multiple_of(BLOCK)));
        start..start + *bytes
    }
}

struct Web {
    tables: Files,
    images: Files,
    scanned: u64,
    shown: u64,
    large: u32,
    small: u32,
    writes: f64,
    /// Bytes of the log, and how many were written so far; and its place, once it was written to.
    log: u64,
    written: u64,
    log_at: Option<u64>,
    /// The array is used so far.
    used: u64,
}

fn web(values: &Values) -> Result<Box<dyn Workload>, WrongWorkload> {
    for name in ["tables", "images"] {
        if values.whole(name) > MOST_FILES {
            return Err(values.wrong(name, "there are at most 2^24"));
        }
    }
    for name in ["table", "image", "written"] {
        if values.whole(name) > 1 << 40 {
            return Err(values.wrong(name, "it is at most 1 TiB"));
        }
    }
    let (scanned, shown, tables) = (values.whole("scanned"), values.whole("shown"), values.whole("tables"));
    if scanned > tables || scanned > 1000 {
        return Err(values.wrong("scanned", "there are as many tables, and a page is no more than 1000 of them"));
    }
    if shown > 1000 {
        return Err(values.wrong("shown", "a page shows 1000 images at most"));
    }
    let (large, small, log) = (values.request("large")?, values.request("small")?, values.whole("written"));
    if values.whole("table") / u64::from(large) > 1 << 16 || values.whole("image") / u64::from(small) > 1 << 16 {
        return Err(values.wrong("table", "a table is 2^16 large requests at most, an image as many small ones"));
    }
    if u64::from(small) > log {
        return Err(values.wrong("written", "it has room for a write"));
    }
    if values.real("writes") > 100.0 {
        return Err(values.wrong("writes", "there are at most 100 for a read"));
    }
    // Files are the same for every seed: seeds differ in requests only.
    let mut random = Random::new(tables.wrapping_add(values.whole("images") << 32));
    let (table, image, alpha) = (values.whole("table"), values.whole("image"), values.real("alpha"));
    let tables = Files::new((0..tables).map(|_| random.between(table / 2, table + table / 2)), alpha);
    let sizes = (0..values.whole("images")).map(|_| random.exponential(image as f64) as u64);
    let images = Files::new(sizes, alpha);
    Ok(Box::new(Web {
        tables,
        images,
        scanned,
        shown,
        large,
        small,
        writes: values.real("writes"),
        log,
        written: 0,
        log_at: None,
        used: 0,
    }))
}

impl Web {
    /// Different tables, each whole.
    fn query(&mut self, random: &mut Random, batch: &mut Vec<Request>) {
        let mut chosen: Vec<u64> = Vec::with_capacity(self.scanned as usize);
        // A steep law may repeat its choices for long: then the first table that was not chosen.
        for _ in 0..self.scanned {
            let draw = (0..100).map(|_| self.tables.popular.rank(random)).find(|table| !chosen.contains(table));
            let first = || (0..).find(|table| !chosen.contains(table));
            chosen.extend(draw.or_else(first));
        }
        for table in chosen {
            let range = self.tables.place(table, &mut self.used);
            batch.extend(sequence(range, self.large));
        }
    }

    /// Images, each whole, and the writes meanwhile.
    fn images(&mut self, random: &mut Random, batch: &mut Vec<Request>) {
        for _ in 0..random.between(1, 2 * self.shown - 1) {
            let image = self.images.popular.rank(random);
            let range = self.images.place(image, &mut self.used);
            for read in sequence(range, self.small) {
                batch.push(read);
                let whole = self.writes.trunc();
                let more = f64::from(u8::from(random.fraction() < self.writes - whole));
                (0..(whole + more) as u64).for_each(|_| batch.push(self.write()));
            }
        }
    }

    /// Appends to the log.
    fn write(&mut self) -> Request {
        let (used, bytes) = (&mut self.used, u64::from(self.small));
        let start =
            *self.log_at.get_or_insert_with(|| std::mem::replace(used, *used + self.log.next_multiple_of(BLOCK)));
        if self.written + bytes > self.log {
            self.written = 0;
        }
        let offset = start + self.written;
        self.written += bytes;
        Request { operation: Operation::Write, ..request(offset, self.small) }
    }
}

/// The client's request.
fn request(offset: u64, len: u32) -> Request {
    Request { offset, len, handler: 1, ..Request::default() }
}

/// A file from front to back.
fn sequence(range: std::ops::Range<u64>, piece: u32) -> impl Iterator<Item = Request> {
    let end = range.end;
    range.step_by(piece as usize).map(move |offset| request(offset, (end - offset).min(piece.into()) as u32))
}

impl Workload for Web {
    fn shape(&self) -> Shape {
        Shape::Ranges { block_bytes: BLOCK_BYTES }
    }

    fn files(&self) -> Vec<FileInfo> {
        sized(std::iter::once(self.tables.bytes() + self.images.bytes() + self.log.next_multiple_of(BLOCK)))
    }

    fn step(&mut self, random: &mut Random, batch: &mut Vec<Request>) {
        self.query(random, batch);
        self.images(random, batch);
    }
}
