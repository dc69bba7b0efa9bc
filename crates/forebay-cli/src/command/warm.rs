//! `forebay warm`: reads files through a mount before they are needed, or tells the mount their
//! order.

mod names;
mod order;

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::process::Stdio;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::failure::Failure;
use crate::options::Warm;
use crate::{daemon, output, progress};

use names::Wanted;

/// Bytes that are asked for at a time.
const PIECE: usize = 1 << 20;

/// Names that are shown of those that failed.
const SHOWN: usize = 20;

/// A run that is shorter than this needs no bar.
const PATIENCE: Duration = Duration::from_secs(2);

/// The outcome.
#[derive(Debug, Default, Serialize)]
struct Report {
    /// Files that were read, told, or are there.
    files: u64,
    /// Bytes that were read.
    bytes: u64,
    /// Files that failed, and why.
    failed: Vec<Failed>,
}

/// A file that cannot be read.
#[derive(Clone, Debug, Serialize)]
struct Failed {
    path: String,
    why: String,
}

impl Failed {
    fn new(path: String, why: impl ToString) -> Failed {
        let mut why = why.to_string();
        if path.ends_with('\r') {
            why += " (the name ends in a carriage return, as every line of a list from Windows does)";
        }
        Failed { path, why }
    }
}

pub(crate) fn run(options: &Warm) -> Result<(), Failure> {
    if options.detached {
        daemon::leave_session();
        daemon::follow();
    } else if options.background {
        // The list may be what it reads.
        return daemon::start_again(Stdio::inherit());
    }
    let (wanted, mut failed) = names::wanted(options)?;
    if options.detached {
        let mut report = through(&wanted, options.at_once.into(), look);
        failed.append(&mut report.failed);
        return if failed.is_empty() { behind(options, &wanted) } else { Err(all(&failed)) };
    }
    if let Some((first, more)) = order::foreign(&wanted).split_first().filter(|_| !options.order) {
        let more = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
        log::warn!("{}{more}: on no mount of Forebay, so reading it warms no cache of ours", first.display());
    }
    let mut report = if options.order {
        order::tell(options, &wanted)?
    } else {
        let read = if options.check { look } else { read };
        through(&wanted, options.at_once.into(), read)
    };
    failed.append(&mut report.failed);
    report.failed = failed;
    show(options, &report)
}

fn show(options: &Warm, report: &Report) -> Result<(), Failure> {
    if options.json {
        output::json(report)?;
    } else {
        let what = match (options.order, options.check) {
            (true, _) => format!("{} told", files(report.files)),
            (_, true) if report.files == 1 => "1 file is there".to_owned(),
            (_, true) => format!("{} are there", files(report.files)),
            _ => format!("{} read, {} MB", files(report.files), report.bytes / 1_000_000),
        };
        output::print(&format!("{what}\n"))?;
    }
    if report.failed.is_empty() { Ok(()) } else { Err(all(&report.failed)) }
}

/// All that failed, as one failure.
fn all(failed: &[Failed]) -> Failure {
    let names = failed.iter().take(SHOWN).map(|failed| format!("{}: {}", failed.path, failed.why));
    let rest = failed.len().saturating_sub(SHOWN);
    let more = (rest > 0).then(|| format!("and {rest} more"));
    let names: Vec<String> = names.chain(more).collect();
    Failure::run(format!("{} failed: {}", files(failed.len() as u64), names.join("; ")))
}

/// A number of files.
fn files(count: u64) -> String {
    if count == 1 { "1 file".into() } else { format!("{count} files") }
}

/// Says that the files are there, and reads them once the command that waits has returned.
fn behind(options: &Warm, wanted: &[Wanted]) -> Result<(), Failure> {
    let files: Result<Vec<Wanted>, _> = wanted.iter().map(Wanted::absolute).collect();
    let gone = |error| Failure::run(format!("cannot go into the background: {error}"));
    let files = files.map_err(gone)?;
    daemon::outlive();
    let verb = if files.len() == 1 { "is" } else { "are" };
    let line = format!("{} {verb} being read in the background\n", self::files(files.len() as u64));
    daemon::ready(&line).and_then(|()| daemon::let_go()).map_err(gone)?;
    // Nobody is there to be told of files that fail from now on.
    let _ = through(&files, options.at_once.into(), read);
    Ok(())
}

/// Reads all of a file, or the range of it, and says how many bytes that was.
fn read(wanted: &Wanted) -> std::io::Result<u64> {
    let file = File::open(&wanted.path)?;
    let (mut at, end) = wanted.range.clone().map_or((0, u64::MAX), |range| (range.start, range.end));
    let (start, mut buffer) = (at, vec![0; PIECE]);
    while at < end {
        let most = usize::try_from(end - at).unwrap_or(PIECE).min(PIECE);
        match file.read_at(&mut buffer[..most], at) {
            Ok(0) => break,
            Ok(count) => at += count as u64,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(at - start)
}

/// Only sees whether it is a file.
fn look(wanted: &Wanted) -> std::io::Result<u64> {
    match std::fs::metadata(&wanted.path)?.is_file() {
        true => Ok(0),
        false => Err(std::io::Error::other("not a file")),
    }
}

/// Does that with all files, so many at a time.
fn through(wanted: &[Wanted], at_once: usize, each: fn(&Wanted) -> std::io::Result<u64>) -> Report {
    let (next, bytes, done) = (AtomicUsize::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let (failed, began) = (Mutex::new(Vec::new()), Instant::now());
    let bar = std::sync::OnceLock::new();
    std::thread::scope(|scope| {
        for _ in 0..at_once.min(wanted.len()) {
            scope.spawn(|| {
                while let Some((number, file)) = take(&next, wanted) {
                    match each(file) {
                        Ok(read) => {
                            _ = (bytes.fetch_add(read, Ordering::Relaxed), done.fetch_add(1, Ordering::Relaxed))
                        }
                        Err(error) => {
                            let one = Failed::new(file.path.display().to_string(), error);
                            failed.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push((number, one));
                        }
                    }
                    if began.elapsed() > PATIENCE {
                        let bar = bar.get_or_init(|| progress::bar("warming", wanted.len() as u64));
                        bar.set_position(next.load(Ordering::Relaxed).min(wanted.len()) as u64);
                    }
                }
            });
        }
    });
    if let Some(bar) = bar.get() {
        bar.finish_and_clear();
    }
    let mut failed = failed.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    failed.sort_by_key(|&(number, _)| number);
    let failed = failed.into_iter().map(|(_, failed)| failed).collect();
    Report { files: done.into_inner(), bytes: bytes.into_inner(), failed }
}

fn take<'a>(next: &AtomicUsize, wanted: &'a [Wanted]) -> Option<(usize, &'a Wanted)> {
    let number = next.fetch_add(1, Ordering::Relaxed);
    Some((number, wanted.get(number)?))
}
