//! `forebay record`: a trace of the reads of a program and its children.
//!
//! The program runs under the preload library, which writes its calls into a folder
//! ([`forebay_callers::Recording`]). After the program's end, successful or not, the calls become a
//! trace ([`conversion`]). A child that goes on in the background is recorded until then.

mod conversion;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::Instant;

use forebay_callers::{RECORD, Recording};
use forebay_trace::Writer;
use rustix::process::{Pid, Signal, kill_process};
use serde::Serialize;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};

use crate::failure::Failure;
use crate::options::Record;
use crate::progress::Progress;
use crate::size::{about, count};
use crate::{output, preload};
use conversion::{Conversion, Folders};

/// A summary of the recording.
#[derive(Debug, Serialize)]
struct Recorded {
    output: String,
    requests: u64,
    reads: u64,
    writes: u64,
    read_bytes: u64,
    mapped: u64,
    files: u64,
    contexts: u64,
    handlers: u64,
    programs: u64,
    seconds: f64,
    status: u8,
}

/// Runs the program, writes the trace, and ends with the program's exit code.
pub(crate) fn run(options: &Record) -> Result<(), Failure> {
    // Before anything runs: the name alone tells whether the trace can be written.
    let format = Writer::format_of(&options.output).map_err(Failure::input)?;
    let folders = Folders::new(&options.only).map_err(Failure::input)?;
    let mut command = preload::command(&options.program)?;
    let folder = tempfile::Builder::new().prefix("forebay-record-").tempdir();
    let folder = folder.map_err(|error| Failure::run(format!("cannot make a folder to record into: {error}")))?;
    command.env(RECORD, folder.path());
    let began = Instant::now();
    let status = finish(&mut command)?;
    let seconds = (began.elapsed().as_secs_f64() * 1e3).round() / 1e3;

    let recording = Recording::open(folder.path()).map_err(Failure::run)?;
    if recording.programs().is_empty() {
        log::warn!("nothing was recorded: a static or privileged program takes no preloaded library");
    }
    let origin = origin(options);
    let mut conversion = Conversion::new(&recording, &folders, folder.path(), options, origin);
    let written = write(&mut conversion, &options.output, format, recording.calls().len() as u64);
    let requests = written?;
    let recorded = Recorded {
        output: options.output.display().to_string(),
        requests,
        programs: recording.programs().len() as u64,
        seconds,
        status: preload::code(status),
        ..conversion.recorded()
    };
    say(&recorded, options.json)?;
    match recorded.status {
        0 => Ok(()),
        code => Err(Failure::Said(code)),
    }
}

/// The origin of the trace: the command, without the places of program and output.
fn origin(options: &Record) -> String {
    let words = options.program.program.iter().map(|word| word.to_string_lossy().into_owned());
    format!("forebay record -- {}", words.collect::<Vec<_>>().join(" "))
}

fn write(
    conversion: &mut Conversion<'_>,
    output: &Path,
    format: forebay_trace::Format,
    calls: u64,
) -> Result<u64, Failure> {
    let mut writer = Writer::create(output, format, conversion.shape()).map_err(Failure::run)?;
    let progress = Progress::new("writing", 1);
    let run = progress.run();
    let mut batch = Vec::new();
    while conversion.next(&mut batch) {
        writer.write(&batch).map_err(Failure::run)?;
        batch.clear();
        forebay_sim::Watch::progress(&run, conversion.done(), calls);
        if progress.stopped() {
            return Err(Failure::run(format!("interrupted: {} was not written", output.display())));
        }
    }
    let lost = writer.lost(&conversion.told());
    let written = writer.finish(&conversion.told()).map_err(Failure::run)?;
    super::trace::note(format, &lost, &output.display().to_string());
    drop(run);
    progress.clear();
    Ok(written)
}

fn say(recorded: &Recorded, json: bool) -> Result<(), Failure> {
    if json {
        return output::json(recorded);
    }
    // Standard output belongs to the program.
    eprintln!(
        "{}: {} requests ({} read, {}; {} written), {} files, {} contexts, {} threads",
        recorded.output,
        count(recorded.requests),
        count(recorded.reads),
        about(recorded.read_bytes),
        count(recorded.writes),
        count(recorded.files),
        count(recorded.contexts),
        count(recorded.handlers),
    );
    Ok(())
}

/// Runs the program to its end. Forwards signals that would end this command, and ends after the
/// program.
fn finish(command: &mut Command) -> Result<ExitStatus, Failure> {
    let signals = Signals::new([SIGINT, SIGQUIT, SIGTERM, SIGHUP]);
    let signals = signals.map_err(|error| Failure::run(format!("cannot take signals: {error}")))?;
    let mut child = command.spawn().map_err(|error| preload::not_started(command, error))?;
    let (handle, thread) = forward(signals, &child)?;
    let status = child.wait().map_err(|error| Failure::run(format!("cannot wait for the program: {error}")));
    handle.close();
    // The thread has no result. If it panicked, the message was printed then.
    let _ = thread.join();
    status
}

/// Hands signals on to the program, unless the terminal has sent them to it as well.
fn forward(mut signals: Signals, child: &Child) -> Result<(Handle, std::thread::JoinHandle<()>), Failure> {
    let (handle, process) = (signals.handle(), Pid::from_child(child));
    let terminal = PathBuf::from("/dev/tty");
    let work = move || {
        for signal in signals.forever() {
            let by_terminal = matches!(signal, SIGINT | SIGQUIT) && std::fs::File::open(&terminal).is_ok();
            if let Some(signal) = Signal::from_named_raw(signal).filter(|_| !by_terminal) {
                // The program may have ended meanwhile. It has not been waited for, so its number
                // is not reused yet.
                let _ = kill_process(process, signal);
            }
        }
    };
    let thread = std::thread::Builder::new().name("forebay-signals".into()).spawn(work);
    let thread = thread.map_err(|error| Failure::run(format!("cannot start a thread for signals: {error}")))?;
    Ok((handle, thread))
}
