//! Opens traces: a file, or a synthetic trace that is made anew each time it is read.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Once, PoisonError};

use forebay_trace::generate::{Given, WrongWorkload, kinds, named};
use forebay_trace::{ContextInfo, Error, FileInfo, Options, Reading, Request, Shape, Source};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::progress::is_interrupted;

/// A trace that is in memory, and no file: opened anew for each pass.
#[derive(Clone)]
pub struct MemoryTrace {
    open: Arc<dyn Fn() -> Box<dyn Source> + Send + Sync>,
}

impl MemoryTrace {
    /// A trace that `open` reads from its beginning.
    pub fn new(open: impl Fn() -> Box<dyn Source> + Send + Sync + 'static) -> MemoryTrace {
        MemoryTrace { open: Arc::new(open) }
    }

    /// Opens it from its beginning.
    pub(crate) fn open(&self) -> Box<dyn Source> {
        (self.open)()
    }
}

impl fmt::Debug for MemoryTrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryTrace").finish_non_exhaustive()
    }
}

/// Opens a trace from its beginning. `seed` is for a synthetic trace, `options` are for a file.
pub(crate) fn open(trace: &Path, options: &Options, seed: u64) -> Result<Box<dyn Source>, Error> {
    match synthetic(trace) {
        Some((name, parameters)) => {
            let generated = Given::list(parameters).and_then(|given| named(name, &given, seed));
            let wrong = |error: WrongWorkload| Error::Format { path: trace.to_owned(), reason: error.to_string() };
            Ok(Box::new(generated.map_err(wrong)?))
        }
        None => watched(trace, options),
    }
}

/// A file that says at its end what of it was not read.
pub(crate) fn watched(trace: &Path, options: &Options) -> Result<Box<dyn Source>, Error> {
    Ok(Box::new(Watched { source: file(trace, options)?, ended: false }))
}

/// Opens a file from its beginning, however often. `-` is standard input.
pub(crate) fn file(trace: &Path, options: &Options) -> Result<Box<dyn Source>, Error> {
    let path = if trace == Path::new("-") { Path::new("/dev/stdin") } else { trace };
    let file = content(path).map_err(|source| Error::Io { path: trace.to_owned(), source })?;
    forebay_trace::open_file(trace, file, options)
}

/// The contents of pipes, by their paths.
static KEPT: Mutex<BTreeMap<PathBuf, File>> = Mutex::new(BTreeMap::new());

/// Forgets the contents of pipes: a process that goes on may read others at the same paths.
pub(crate) fn forget_pipes() {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner).clear();
}

/// A file at its beginning. A pipe gives its bytes only once, so they are kept in a file without a
/// name while the command runs.
fn content(path: &Path) -> io::Result<File> {
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if !kept.contains_key(path) {
        let mut file = File::open(path)?;
        let kind = file.metadata()?.file_type();
        if !kind.is_fifo() && !kind.is_char_device() && !kind.is_socket() {
            return Ok(file);
        }
        let folder = |error: io::Error| {
            let folder = std::env::temp_dir();
            io::Error::new(error.kind(), format!("it cannot be kept in {}: {error}", folder.display()))
        };
        let mut copy = tempfile::tempfile().map_err(folder)?;
        keep(&mut file, &mut copy)?;
        kept.insert(path.to_owned(), copy);
    }
    // Opened anew, since duplicates would share the position.
    let number = kept.get(path).map_or(-1, AsRawFd::as_raw_fd);
    File::open(format!("/proc/self/fd/{number}"))
}

/// Copies all of a pipe, unless the user asks for an end meanwhile.
fn keep(pipe: &mut File, copy: &mut File) -> io::Result<()> {
    const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
    let mut piece = vec![0; 1 << 20];
    loop {
        let ready = poll(&mut [PollFd::new(pipe, PollFlags::IN)], Some(&LOOK));
        if is_interrupted() {
            return Err(io::Error::new(io::ErrorKind::Interrupted, "interrupted"));
        }
        if matches!(ready, Ok(0) | Err(rustix::io::Errno::INTR)) {
            continue;
        }
        match pipe.read(&mut piece)? {
            0 => return Ok(()),
            bytes => copy.write_all(&piece[..bytes])?,
        }
    }
}

/// A file that says at its end how many lines were left out: figures of a part of a trace must not
/// be taken for those of all of it.
struct Watched {
    source: Box<dyn Source>,
    ended: bool,
}

impl Source for Watched {
    fn read(&mut self, batch: &mut Vec<Request>) -> Result<usize, Error> {
        let read = self.source.read(batch)?;
        if read == 0 && !std::mem::replace(&mut self.ended, true) {
            self.say();
        }
        Ok(read)
    }

    fn shape(&self) -> Shape {
        self.source.shape()
    }

    fn progress(&self) -> (u64, u64) {
        self.source.progress()
    }

    fn files(&self) -> Vec<FileInfo> {
        self.source.files()
    }

    fn contexts(&self) -> Vec<ContextInfo> {
        self.source.contexts()
    }

    fn origin(&self) -> Option<String> {
        self.source.origin()
    }

    fn reading(&self) -> Option<Reading> {
        self.source.reading()
    }
}

impl Watched {
    /// Says it once, however often the trace is read.
    fn say(&self) {
        static SAID: Once = Once::new();
        let reading = self.source.reading().unwrap_or_default();
        let lines: u64 = reading.left_out.iter().map(|left_out| left_out.lines).sum();
        if lines == 0 && reading.doubts.is_empty() {
            return;
        }
        SAID.call_once(|| {
            if lines > 0 {
                log::warn!("{lines} lines of the trace are left out; `forebay trace info` says which");
            }
            for doubt in reading.doubts {
                log::warn!("{doubt}");
            }
        });
    }
}

/// The name and the parameters of a synthetic trace, if the text is one. A file of that name comes
/// first.
fn synthetic(trace: &Path) -> Option<(&str, &str)> {
    let text = trace.to_str()?;
    let (name, parameters) = text.split_once(':').unwrap_or((text, ""));
    let known = kinds().any(|kind| kind.name == name) && !trace.exists();
    known.then_some((name, parameters))
}

/// Whether this names a synthetic trace, and no file.
pub(crate) fn is_synthetic(trace: &Path) -> bool {
    synthetic(trace).is_some()
}

/// The trace's name without its folders.
pub(crate) fn name(trace: &Path) -> String {
    let whole = trace.as_os_str();
    let name = if synthetic(trace).is_some() { whole } else { trace.file_name().unwrap_or(whole) };
    name.to_string_lossy().into_owned()
}
