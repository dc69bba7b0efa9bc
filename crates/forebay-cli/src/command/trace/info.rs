//! `forebay trace info`: the content of traces.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use forebay_sim::chart::{Axis, Chart, Series};
use forebay_trace::{Error, Keys, Operation, Reading, Request, Shape};
use serde::Serialize;

use super::each;
use crate::failure::Failure;
use crate::options::TraceInfo;
use crate::progress::Progress;
use crate::size::{about, count};
use crate::{output, report, traces};

pub(super) fn run(info: &TraceInfo) -> Result<(), Failure> {
    let progress = Progress::new("reading", info.traces.len());
    let (mut figures, mut series) = (Vec::new(), Vec::new());
    for path in &info.traces {
        let mut source = traces::file(path, &info.reading.options()).map_err(Failure::input)?;
        let shape = match (source.shape(), info.block_bytes) {
            (Shape::Ranges { .. }, Some(size)) => Shape::Ranges { block_bytes: block(size.bytes())? },
            (shape, _) => shape,
        };
        let mut content = Content::new(shape);
        each(&mut *source, &progress.run(), |requests| content.add(path, requests).map_err(Failure::input))?;
        if progress.stopped() {
            return Err(Failure::run(format!("interrupted while reading {}", path.display())));
        }
        let (mut figure, popularity) = content.figures(path);
        figure.made_by = source.origin();
        figure.understood(source.reading().unwrap_or_default());
        series.push(Series { name: figure.trace.clone(), points: popularity });
        figures.push(figure);
    }
    progress.clear();
    if let ([figure], false, None) = (&figures[..], info.report.json || info.report.csv, &info.report.plot) {
        return output::print(&figure.text());
    }
    report::show(&figures, &info.report, || Some(chart(series)))
}

/// The block size as 32 bits, if a block can have it.
fn block(bytes: u64) -> Result<u32, Failure> {
    let wrong = || Failure::input(format!("--block-bytes {bytes}: a block has 1 byte to 1 GiB"));
    u32::try_from(bytes).ok().filter(|bytes| (1..=1 << 30).contains(bytes)).ok_or_else(wrong)
}

fn chart(series: Vec<Series>) -> Chart {
    let axis = |label: &str| Axis { label: label.to_owned(), logarithmic: true };
    let (x, y) = (axis("rank by references"), axis("references"));
    Chart { title: "How popular blocks are".to_owned(), x, y, series }
}

/// The counts that are made while a trace is read.
struct Content {
    shape: Shape,
    keys: Keys,
    /// The keys of a batch; a field so that its memory is reused.
    batch: Vec<u32>,
    /// References of each key.
    references: Vec<u32>,
    requests: u64,
    writes: u64,
    bytes: u64,
    distinct_bytes: u64,
    last: u64,
    lengths: HashMap<u32, u64>,
    /// Where the last request to each file ended.
    ends: HashMap<u64, u64>,
    sequential: u64,
    handlers: Distinct,
    contexts: Distinct,
}

/// Counts distinct numbers, cheaply if equal ones come in runs.
#[derive(Default)]
struct Distinct {
    seen: std::collections::HashSet<u32>,
    last: Option<u32>,
}

impl Distinct {
    fn add(&mut self, number: u32) {
        if self.last.replace(number) != Some(number) {
            self.seen.insert(number);
        }
    }
}

impl Content {
    fn new(shape: Shape) -> Content {
        Content {
            shape,
            keys: Keys::new(shape),
            batch: Vec::new(),
            references: Vec::new(),
            requests: 0,
            writes: 0,
            bytes: 0,
            distinct_bytes: 0,
            last: 0,
            lengths: HashMap::new(),
            ends: HashMap::new(),
            sequential: 0,
            handlers: Distinct::default(),
            contexts: Distinct::default(),
        }
    }

    fn add(&mut self, path: &Path, requests: &[Request]) -> Result<(), Error> {
        for request in requests {
            self.writes += u64::from(request.operation == Operation::Write);
            self.bytes = self.bytes.saturating_add(request.len.into());
            self.last = request.at.0;
            *self.lengths.entry(request.len).or_default() += 1;
            if self.shape != Shape::Objects {
                let end = request.offset.saturating_add(request.len.into());
                let follows = self.ends.insert(request.file, end) == Some(request.offset);
                self.sequential += u64::from(follows);
            }
            self.handlers.add(request.handler);
            self.contexts.add(request.context);
        }
        let mut rest = requests;
        while !rest.is_empty() {
            self.batch.clear();
            let taken = self.keys.append(rest, &mut self.batch).map_err(|error| Error::Record {
                path: path.to_owned(),
                record: self.requests + 1,
                reason: error.to_string(),
            })?;
            self.count(&rest[..taken]);
            self.requests += taken as u64;
            rest = &rest[taken..];
        }
        Ok(())
    }

    /// Counts the references of a batch. A key is new if it equals the number of keys so far.
    fn count(&mut self, requests: &[Request]) {
        for (number, &key) in self.batch.iter().enumerate() {
            if key as usize == self.references.len() {
                self.references.push(0);
                self.distinct_bytes = self.distinct_bytes.saturating_add(match self.shape {
                    Shape::Ranges { block_bytes } => block_bytes.into(),
                    // A request for an object has one key.
                    Shape::Objects => requests.get(number).map_or(0, |request| request.len.into()),
                });
            }
            if let Some(references) = self.references.get_mut(key as usize) {
                *references = references.saturating_add(1);
            }
        }
    }

    /// The figures, and references by rank for the picture.
    fn figures(mut self, path: &Path) -> (Figures, Vec<(f64, f64)>) {
        self.references.sort_unstable_by(|one, other| other.cmp(one));
        let references: u64 = self.references.iter().map(|&references| u64::from(references)).sum();
        let distinct = self.references.len() as u64;
        let share = |part: u64, whole: u64| if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
        let top = |percent: u64| {
            let some = (distinct * percent).div_ceil(100) as usize;
            share(self.references[..some].iter().map(|&references| u64::from(references)).sum(), references)
        };
        let once = self.references.len() - self.references.partition_point(|&references| references > 1);
        let lengths: BTreeMap<u32, u64> = self.lengths.iter().map(|(&bytes, &count)| (bytes, count)).collect();
        let objects = self.shape == Shape::Objects;
        let figures = Figures {
            trace: path.display().to_string(),
            about: if objects { "objects" } else { "ranges" }.to_owned(),
            block_bytes: match self.shape {
                Shape::Ranges { block_bytes } => Some(block_bytes),
                Shape::Objects => None,
            },
            requests: self.requests,
            reads: self.requests - self.writes,
            writes: self.writes,
            references,
            distinct,
            distinct_bytes: self.distinct_bytes,
            bytes: self.bytes,
            files: if objects { None } else { Some(self.ends.len() as u64) },
            handlers: self.handlers.seen.len() as u64,
            contexts: self.contexts.seen.len() as u64,
            mean_bytes: share(self.bytes, self.requests),
            least_bytes: quantile(&lengths, 0.0),
            median_bytes: quantile(&lengths, 0.5),
            p90_bytes: quantile(&lengths, 0.9),
            p99_bytes: quantile(&lengths, 0.99),
            largest_bytes: quantile(&lengths, 1.0),
            sequential_share: if objects { None } else { Some(share(self.sequential, self.requests)) },
            once_share: share(once as u64, distinct),
            top_1_share: top(1),
            top_10_share: top(10),
            duration_s: self.last as f64 / 1e9,
            made_by: None,
            ..Figures::default()
        };
        (figures, ranks(&self.references))
    }
}

/// A duration in a unit in which it is not zero.
fn duration(seconds: f64) -> String {
    match seconds {
        0.0 => "0 s".to_owned(),
        0.1.. => format!("{seconds:.1} s"),
        0.0001.. => format!("{:.1} ms", seconds * 1e3),
        _ => format!("{:.3} µs", seconds * 1e6),
    }
}

/// The least length that a `share` of the requests does not exceed; `lengths` has how many requests
/// are so long.
fn quantile(lengths: &BTreeMap<u32, u64>, share: f64) -> u32 {
    let all: u64 = lengths.values().sum();
    let wanted = (share * all as f64).ceil() as u64;
    let mut seen = 0;
    let found = lengths.iter().find(|&(_, count)| {
        seen += count;
        seen >= wanted.max(1)
    });
    found.map_or(0, |(&bytes, _)| bytes)
}

/// References by rank, at ranks that are evenly spaced on a logarithmic axis.
fn ranks(references: &[u32]) -> Vec<(f64, f64)> {
    let mut points = Vec::new();
    let mut rank = 1usize;
    while rank <= references.len() {
        points.push((rank as f64, references[rank - 1].into()));
        rank = (rank + 1).max((rank as f64 * 1.1) as usize);
    }
    points
}

/// The content of a trace.
#[derive(Default, Serialize)]
struct Figures {
    trace: String,
    about: String,
    block_bytes: Option<u32>,
    requests: u64,
    reads: u64,
    writes: u64,
    /// Requests, after ranges were split into blocks.
    references: u64,
    /// Distinct blocks or objects, and their bytes.
    distinct: u64,
    distinct_bytes: u64,
    bytes: u64,
    files: Option<u64>,
    handlers: u64,
    contexts: u64,
    mean_bytes: f64,
    least_bytes: u32,
    median_bytes: u32,
    p90_bytes: u32,
    p99_bytes: u32,
    largest_bytes: u32,
    /// Requests that begin where the last request to their file ended.
    sequential_share: Option<f64>,
    /// Blocks that are referred to only once.
    once_share: f64,
    /// References to the most popular hundredth and tenth of the blocks.
    top_1_share: f64,
    top_10_share: f64,
    duration_s: f64,
    made_by: Option<String>,
    /// How it is read; of a Parquet file that is said by its schema.
    format: Option<String>,
    /// The columns that are read, and those that are not; of texts with columns.
    columns: Option<String>,
    columns_not_read: Option<String>,
    /// Lines that are no requests, and their reasons.
    left_out: u64,
    left_out_reasons: Option<String>,
    doubt: Option<String>,
}

impl Figures {
    /// Takes over how the trace was read.
    fn understood(&mut self, reading: Reading) {
        let joined = |parts: Vec<String>| (!parts.is_empty()).then(|| parts.join(", "));
        self.format = reading.format.map(|format| format.name().to_owned());
        self.columns = joined(reading.columns);
        self.columns_not_read = joined(reading.unused);
        self.doubt = (!reading.doubts.is_empty()).then(|| reading.doubts.join("; "));
        self.left_out = reading.left_out.iter().map(|left| left.lines).sum();
        let reason = |left: forebay_trace::LeftOut| format!("{} × {}", count(left.lines), left.reason);
        self.left_out_reasons = joined(reading.left_out.into_iter().map(reason).collect());
    }

    /// One line for each figure.
    fn text(&self) -> String {
        let percent = |share: f64| format!("{:.1} %", share * 100.0);
        let of = |part: u64| format!("{} ({})", count(part), percent(part as f64 / self.requests.max(1) as f64));
        let thing = if self.block_bytes.is_some() { "blocks" } else { "objects" };
        let sizes = [self.least_bytes, self.median_bytes, self.p90_bytes, self.p99_bytes, self.largest_bytes];
        let sizes = sizes.map(|bytes| about(bytes.into()));
        let mut lines = vec![
            ("trace".to_owned(), self.trace.clone()),
            ("requests".to_owned(), count(self.requests)),
            ("read".to_owned(), of(self.reads)),
            ("written".to_owned(), of(self.writes)),
            ("bytes".to_owned(), about(self.bytes)),
            (format!("distinct {thing}"), format!("{}, {}", count(self.distinct), about(self.distinct_bytes))),
            (format!("{thing} asked for once"), percent(self.once_share)),
            (
                "references to the top 1 %, 10 %".to_owned(),
                format!("{}, {}", percent(self.top_1_share), percent(self.top_10_share)),
            ),
            ("size, mean".to_owned(), about(self.mean_bytes as u64)),
            ("size, least, 50, 90, 99 %, largest".to_owned(), sizes.join(", ")),
            ("handlers, contexts".to_owned(), format!("{}, {}", count(self.handlers), count(self.contexts))),
            ("duration".to_owned(), duration(self.duration_s)),
        ];
        if let (Some(block), Some(files), Some(sequential)) = (self.block_bytes, self.files, self.sequential_share) {
            lines.insert(5, ("block".to_owned(), about(block.into())));
            lines.insert(6, ("references".to_owned(), count(self.references)));
            lines.insert(7, ("files".to_owned(), count(files)));
            lines.push(("sequential".to_owned(), percent(sequential)));
        }
        if let Some(origin) = &self.made_by {
            lines.push(("made by".to_owned(), origin.clone()));
        }
        lines.splice(1..1, self.reading());
        let width = lines.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
        lines.into_iter().map(|(name, value)| format!("{name:width$}  {value}\n")).collect()
    }

    /// The lines that say how it is read.
    fn reading(&self) -> Vec<(String, String)> {
        let rows = [
            ("format", &self.format),
            ("columns", &self.columns),
            ("columns not read", &self.columns_not_read),
            ("lines left out", &self.left_out_reasons),
            ("doubt", &self.doubt),
        ];
        rows.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value.clone()?))).collect()
    }
}
