//! Reading a trace of 30 M requests, against libCacheSim's own reader, from files that are in the
//! page cache.
//!
//! libCacheSim runs its loop in C over its reader and nothing else. Its temporal sampler takes one
//! request out of more than there are. So a single call reads everything, for the price of counting
//! to that number.

use std::hint::black_box;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};
use forebay_trace::generate::{self, Given};
use forebay_trace::{Format, Options, Source, Writer, open};

use crate::replay::{LibCacheSim, seconds, target};
use crate::report::{Row, median};

/// The formats that both read: ours, libCacheSim's name, a description, and the number of requests.
/// Both read a million lines of text a second, so the text is shorter.
const FORMATS: [(Format, &str, &str, u64); 2] = [
    (Format::OracleGeneral, "ORACLE_GENERAL_TRACE", "binary (oracleGeneral)", 30_000_000),
    (Format::Lirs, "PLAIN_TXT_TRACE", "text, a number a line", 3_000_000),
];

pub(crate) fn run(smoke: bool) -> anyhow::Result<Vec<Row>> {
    let theirs = match LibCacheSim::fetch(smoke) {
        Ok(theirs) => theirs,
        Err(reason) => {
            eprintln!("SKIPPED: reading traces against libCacheSim: {reason:#}");
            return Ok(Vec::new());
        }
    };
    let folder = tempfile::tempdir_in(target())?;
    let mut rows = Vec::new();
    for (format, name, what, requests) in FORMATS {
        let (requests, rounds) = if smoke { (requests / 300, 1) } else { (requests, 7) };
        let path = folder.path().join("trace");
        write(&path, format, requests)?;
        rows.push(compare(&path, format, name, what, &theirs, requests, rounds)?);
        std::fs::remove_file(&path)?;
    }
    Ok(rows)
}

fn write(path: &Path, format: Format, requests: u64) -> anyhow::Result<()> {
    let parameters = format!("requests={requests},objects={},alpha=0.9", requests / 6);
    let mut source = generate::named("zipf", &Given::list(&parameters)?, 1)?;
    let mut writer = Writer::create(path, format, source.shape())?;
    let mut batch = Vec::new();
    while source.read(&mut batch)? > 0 {
        writer.write(&batch)?;
        batch.clear();
    }
    writer.finish(&source)?;
    Ok(())
}

/// Both in turn, so that a disturbance of one disturbs the other.
fn compare(
    path: &Path,
    format: Format,
    name: &str,
    what: &str,
    theirs: &LibCacheSim,
    requests: u64,
    rounds: usize,
) -> anyhow::Result<Row> {
    let (mut ratios, mut rates) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let (ours, read) = seconds(|| read(path, format))?;
        let (other, others) = read_by(theirs, path, name, requests)?;
        // For text, libCacheSim also counts the attempt to read on at the end.
        if read != requests || !(requests..=requests + 1).contains(&others) {
            bail!("{what}: {requests} requests were written, {read} and {others} read");
        }
        ratios.push(other / ours);
        rates.push([ours, other].map(|seconds| requests as f64 / seconds / 1e6));
    }
    let [ours, other] = [0, 1].map(|side| median(rates.iter().map(|rates| rates[side]).collect()));
    Ok(Row {
        bench: "trace-read",
        what: what.to_owned(),
        against: "libCacheSim".into(),
        ratio: median(ratios),
        wanted: Some(1.0),
        detail: format!("{ours:.1} and {other:.1} M requests/s"),
        point: None,
    })
}

/// Reads all requests, and returns their number.
fn read(path: &Path, format: Format) -> anyhow::Result<u64> {
    let mut source = open(path, &Options { format: Some(format), ..Options::default() })?;
    let (mut batch, mut requests) = (Vec::new(), 0);
    while source.read(&mut batch)? > 0 {
        requests += black_box(&batch).len() as u64;
        batch.clear();
    }
    Ok(requests)
}

/// The seconds that libCacheSim takes, and how many requests it read.
fn read_by(theirs: &LibCacheSim, path: &Path, name: &str, requests: u64) -> anyhow::Result<(f64, u64)> {
    const PROGRAM: &str = "
import sys, time
from libcachesim import TraceReader, TraceType, ReaderInitParam, SamplerType
from libcachesim.libcachesim_python import Sampler
path, kind, more = sys.argv[1:]
# The reader does not keep the sampler alive: the name does.
sampler = Sampler(sample_ratio=1 / int(more), type=SamplerType.TEMPORAL_SAMPLER)
parameters = ReaderInitParam()
parameters.sampler = sampler
reader = TraceReader(path, getattr(TraceType, kind), parameters)
start = time.perf_counter()
try:
    reader.read_one_req()
except RuntimeError:
    pass
print('result', time.perf_counter() - start, reader.n_read_req)
";
    let mut command = Command::new(&theirs.python);
    command.args(["-c", PROGRAM]).arg(path).args([name, &(2 * requests).to_string()]);
    let output = command.output().context("Python")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let result = text.lines().find_map(|line| line.strip_prefix("result ")).unwrap_or("");
    match result.split_once(' ').map(|(seconds, read)| (seconds.parse(), read.parse())) {
        Some((Ok(seconds), Ok(read))) => Ok((seconds, read)),
        _ => bail!("libCacheSim said nothing: {text}{}", String::from_utf8_lossy(&output.stderr)),
    }
}
