//! `forebay trace`: shows, converts, makes and runs traces.

pub(crate) mod formats;
mod info;
mod play;

use std::path::{Path, PathBuf};
use std::time::Instant;

use forebay_sim::Watch;
use forebay_trace::generate::{self, Given};
use forebay_trace::{Error, Format, Operation, Request, Source, Writer};
use serde::Serialize;

use crate::failure::Failure;
use crate::options::{Report, Trace, TraceCommand, TraceConvert, TraceGenerate};
use crate::progress::{Progress, Run};
use crate::{report, traces};

/// Runs the command.
pub(crate) fn run(trace: &Trace) -> Result<(), Failure> {
    match &trace.command {
        TraceCommand::Info(info) => info::run(info),
        TraceCommand::Formats(formats) => formats::run(formats),
        TraceCommand::Convert(convert) => self::convert(convert),
        TraceCommand::Generate(generate) => self::generate(generate),
        TraceCommand::Play(play) => play::run(play),
    }
}

fn convert(convert: &TraceConvert) -> Result<(), Failure> {
    let format = target(&convert.output, convert.to)?;
    if let (Ok(input), Ok(output)) = (convert.input.canonicalize(), convert.output.canonicalize())
        && input == output
    {
        let name = convert.output.display();
        return Err(Failure::input(format!("{name} is the trace itself; write to another file")));
    }
    let mut source = traces::watched(&convert.input, &convert.reading.options()).map_err(Failure::input)?;
    let from = convert.input.display().to_string();
    write(&mut *source, from, None, &convert.output, format, &convert.report)
}

fn generate(generate: &TraceGenerate) -> Result<(), Failure> {
    let format = target(&generate.output, generate.to)?;
    let given: Vec<Given<'_>> = generate.parameters.0.iter().map(|(name, value)| Given { name, value }).collect();
    let mut source = generate::named(&generate.kind, &given, generate.seed).map_err(Failure::input)?;
    let from = source.origin().unwrap_or_default();
    write(&mut source, from, Some(generate.seed), &generate.output, format, &generate.report)
}

/// The format to write: the one that the user names, else the one of the file's ending.
fn target(output: &Path, said: Option<Format>) -> Result<Format, Failure> {
    said.map_or_else(|| Writer::format_of(output), Ok).map_err(|error| Failure::input(format!("{error}, with --to")))
}

/// A summary of the written trace.
#[derive(Serialize)]
struct Written {
    from: String,
    output: String,
    format: String,
    requests: u64,
    /// Lines of the source that are no requests; none if it has no lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    left_out: Option<u64>,
    /// Writes that are reads in it, since the format has no operations.
    #[serde(skip_serializing_if = "Option::is_none")]
    writes_as_reads: Option<u64>,
    /// Other parts of the trace that the format cannot hold.
    #[serde(skip_serializing_if = "String::is_empty")]
    lost: String,
    bytes: u64,
    seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u64>,
}

fn write(
    source: &mut dyn Source,
    from: String,
    seed: Option<u64>,
    output: &PathBuf,
    format: Format,
    options: &Report,
) -> Result<(), Failure> {
    let began = Instant::now();
    let mut writer = Writer::create(output, format, source.shape()).map_err(unwritten)?;
    let progress = Progress::new("writing", 1);
    let run = progress.run();
    let mut writes = 0;
    each(source, &run, |requests| {
        writes += requests.iter().filter(|request| request.operation == Operation::Write).count() as u64;
        writer.write(requests).map_err(unwritten)
    })?;
    if progress.stopped() {
        return Err(Failure::run(format!("interrupted: {} was not written", output.display())));
    }
    let not_held = writer.lost(&*source);
    let requests = writer.finish(&*source).map_err(unwritten)?;
    drop(run);
    progress.clear();
    let bytes = std::fs::metadata(output).map_or(0, |metadata| metadata.len());
    let seconds = (began.elapsed().as_secs_f64() * 1e3).round() / 1e3;
    let output = output.display().to_string();
    let left_out = source.reading().map(|reading| reading.left_out.iter().map(|left_out| left_out.lines).sum());
    let lost = writes > 0 && !matches!(format, Format::Parquet | Format::Csv);
    if lost {
        log::warn!("{format} has no operations: {writes} writes are reads in {output}");
    }
    note(format, &not_held, &output);
    let writes_as_reads = lost.then_some(writes);
    let written = Written {
        from,
        output,
        format: format.to_string(),
        requests,
        left_out,
        writes_as_reads,
        lost: not_held.join("; "),
        bytes,
        seconds,
        seed,
    };
    report::show(&[written], options, || None)
}

/// Says which parts of a trace a format cannot hold.
pub(super) fn note(format: Format, lost: &[String], output: &str) {
    if !lost.is_empty() {
        let lost = lost.join("; ");
        log::warn!(
            "{format} cannot hold, and {output} lacks: {lost}. Its replay may give other figures; parquet is exact"
        );
    }
}

/// Calls `each` with all requests, batch by batch, until the user interrupts it.
fn each(
    source: &mut dyn Source,
    run: &Run<'_>,
    mut each: impl FnMut(&[Request]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut batch = Vec::new();
    while !run.stopped() && source.read(&mut batch).map_err(Failure::input)? > 0 {
        each(&batch)?;
        batch.clear();
        let (done, all) = source.progress();
        run.progress(done, all);
    }
    Ok(())
}

/// A trace that the format cannot hold is bad input; a full disk is not.
fn unwritten(error: Error) -> Failure {
    match error {
        Error::Io { .. } => Failure::run(error),
        _ => Failure::input(error),
    }
}
