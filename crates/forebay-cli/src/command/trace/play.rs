//! `forebay trace play`: a trace run in real time, on real files.

use std::time::Instant;

use forebay_play::{Content, Error, Folder, Laid, Outcome, Play, lay};
use forebay_sim::Watch;
use forebay_sim::chart::{Axis, Chart, Series};
use forebay_trace::Workload;
use serde::Serialize;

use crate::failure::Failure;
use crate::options::TracePlay;
use crate::progress::{Progress, Run};
use crate::{report, traces};

/// A run's result, with its settings.
#[derive(Serialize)]
struct Record {
    #[serde(flatten)]
    outcome: Outcome,
    trace: String,
    folder: String,
    seed: u64,
}

/// A summary of the files that were made.
#[derive(Serialize)]
struct Laying {
    #[serde(flatten)]
    laid: Laid,
    seconds: f64,
    trace: String,
    folder: String,
    seed: u64,
}

pub(super) fn run(play: &TracePlay) -> Result<(), Failure> {
    let mut source = traces::open(&play.trace, &play.reading.options(), play.seed).map_err(Failure::input)?;
    let workload = Workload::load(&mut source).map_err(Failure::input)?;
    if play.lay { make(play, &workload) } else { measure(play, &workload) }
}

fn content(play: &TracePlay) -> Content {
    if play.sparse { Content::Zeros } else { Content::Pattern }
}

fn make(play: &TracePlay, workload: &Workload) -> Result<(), Failure> {
    let began = Instant::now();
    let progress = Progress::new("writing", 1);
    let laid = lay(workload, &play.folder, content(play), &watched(&progress.run())).map_err(failure)?;
    progress.clear();
    let seconds = (began.elapsed().as_secs_f64() * 1e3).round() / 1e3;
    let (trace, folder) = (traces::name(&play.trace), play.folder.display().to_string());
    report::show(&[Laying { laid, seconds, trace, folder, seed: play.seed }], &play.report, || None)
}

fn measure(play: &TracePlay, workload: &Workload) -> Result<(), Failure> {
    if !play.folder.is_dir() {
        let folder = play.folder.display();
        return Err(Failure::input(format!("{folder}: there is no such folder; make its files with --lay")));
    }
    let progress = Progress::new("running", play.handlers.len());
    let files = Folder::new(&play.folder);
    let mut records = Vec::new();
    for &handlers in &play.handlers {
        let how = Play {
            think: play.think.map(|period| period.duration()),
            cpu: play.cpu.map(|period| period.duration()).unwrap_or_default(),
            private_bytes: play.private_memory.map_or(0, |size| size.bytes()),
            warm_up: play.warm_up.map(|span| span.of_run()),
            limit: play.limit.map(|span| span.of_run()),
            verify: play.verify.then(|| content(play)),
            ..Play::new(handlers)
        };
        let run = progress.run();
        match how.run(workload, &files, &watched(&run)) {
            Err(Error::Stopped) => break,
            outcome => {
                let (trace, folder) = (traces::name(&play.trace), play.folder.display().to_string());
                records.push(Record { outcome: outcome.map_err(failure)?, trace, folder, seed: play.seed });
            }
        }
    }
    progress.clear();
    report::show(&records, &play.report, || Some(chart(&records)))?;
    progress.outcome(records.len(), play.handlers.len())
}

/// Throughput over handlers.
fn chart(records: &[Record]) -> Chart {
    let axis = |label: &str, logarithmic| Axis { label: label.to_owned(), logarithmic };
    let points = records.iter().map(|record| (f64::from(record.outcome.handlers), record.outcome.throughput_mb_s));
    let name = records.first().map_or_else(String::new, |record| record.trace.clone());
    let series = vec![Series { name: name.clone(), points: points.collect() }];
    Chart { title: name, x: axis("handlers", true), y: axis("throughput MB/s", false), series }
}

fn watched<'a>(run: &'a Run<'_>) -> impl Fn(u64, u64) -> bool + use<'a> {
    move |done, all| {
        run.progress(done, all);
        run.stopped()
    }
}

/// The request makes no sense, or the run failed.
fn failure(error: Error) -> Failure {
    match error {
        Error::Setup(_) | Error::AllWarmUp => Failure::input(error),
        error => Failure::run(error),
    }
}
