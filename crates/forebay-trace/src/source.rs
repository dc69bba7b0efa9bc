//! Sources of requests.

use std::fs::File;
use std::path::Path;

use crate::{Columns, Error, Format, Request, Shape};

/// About how many requests a batch has.
pub const BATCH: usize = 4096;

/// A trace that is read from its beginning to its end.
pub trait Source: Send {
    /// Appends about [`BATCH`] requests to `batch` and returns how many; zero at the end.
    fn read(&mut self, batch: &mut Vec<Request>) -> Result<usize, Error>;
    /// Whether requests are ranges or objects.
    fn shape(&self) -> Shape;
    /// How far it is: bytes (or requests) read, and of how many; for progress bars.
    fn progress(&self) -> (u64, u64);
    /// The files known by now besides their requests: those whose names are no numbers, and those
    /// with a size. In the order of their numbers; most formats have none.
    fn files(&self) -> Vec<FileInfo> {
        Vec::new()
    }
    /// The meaning of its program contexts, if the trace has it. In the order of their numbers.
    fn contexts(&self) -> Vec<ContextInfo> {
        Vec::new()
    }
    /// The origin, if the trace has it: of a generated one, the generator with its parameters and
    /// seed.
    fn origin(&self) -> Option<String> {
        None
    }
    /// How it is understood, as far as it was read; of a trace that is no file, nothing.
    fn reading(&self) -> Option<Reading> {
        None
    }
}

impl<S: Source + ?Sized> Source for Box<S> {
    fn read(&mut self, batch: &mut Vec<Request>) -> Result<usize, Error> {
        (**self).read(batch)
    }

    fn shape(&self) -> Shape {
        (**self).shape()
    }

    fn progress(&self) -> (u64, u64) {
        (**self).progress()
    }

    fn files(&self) -> Vec<FileInfo> {
        (**self).files()
    }

    fn contexts(&self) -> Vec<ContextInfo> {
        (**self).contexts()
    }

    fn origin(&self) -> Option<String> {
        (**self).origin()
    }

    fn reading(&self) -> Option<Reading> {
        (**self).reading()
    }
}

/// How a trace is understood, and what of it is left out.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Reading {
    /// The format.
    pub format: Option<Format>,
    /// The columns that are read, as `size: column 3`; only of texts with columns.
    pub columns: Vec<String>,
    /// The columns that are not read.
    pub unused: Vec<String>,
    /// The lines that are no requests, by the reason.
    pub left_out: Vec<LeftOut>,
    /// Reasons why the trace may mean something else, each with the remedy.
    pub doubts: Vec<String>,
    /// Whether its objects have no sizes, so that each counts as one byte.
    pub without_sizes: bool,
}

/// Lines of a trace that are no requests.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LeftOut {
    /// Why, as in "operation `TOUCH`".
    pub reason: String,
    /// How many.
    pub lines: u64,
}

/// A file of a trace.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FileInfo {
    /// Its number, [`Request::file`].
    pub file: u64,
    /// Its name, if it has one that is no number.
    pub name: Option<String>,
    /// How many bytes it has, if the trace says so.
    pub bytes: Option<u64>,
}

/// A program context of a trace (AMP §2.3).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ContextInfo {
    /// Its number, [`Request::context`].
    pub context: u32,
    /// Its name between traces and mounts: a hash of its call stack.
    pub id: u64,
    /// The path of the program.
    pub program: String,
    /// The build of the program.
    pub build: String,
    /// The call stack, innermost first, as `module+0xoffset`.
    pub frames: Vec<String>,
}

/// How to open a trace.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Its format, if name and content shall not decide it.
    pub format: Option<Format>,
    /// For CSV and its presets: the columns, if the header does not name them. Without a format
    /// they say that it is CSV.
    pub columns: Columns,
    /// For `blkparse`, which it says without a format: the action that is the request. `Q`, queued,
    /// is the default: the programs' requests. `D`, issued to the driver, is the device's view
    /// after merging; `C` is completed.
    pub action: Option<char>,
}

/// Opens a trace file. Its format is told by its name and content if `options` don't name it.
pub fn open(path: &Path, options: &Options) -> Result<Box<dyn Source>, Error> {
    crate::read::open(path, options)
}

/// As [`open`], of a file that is open already; `name` stands for its path.
pub fn open_file(name: &Path, file: File, options: &Options) -> Result<Box<dyn Source>, Error> {
    crate::read::open_file(name, file, options)
}

/// As [`open`], of a file that is in memory already; `name` stands for its path.
pub fn open_bytes(name: &Path, bytes: Vec<u8>, options: &Options) -> Result<Box<dyn Source>, Error> {
    crate::read::open_bytes(name, bytes, options)
}

/// A trace in memory.
#[derive(Clone, Debug)]
pub struct Memory {
    requests: Vec<Request>,
    shape: Shape,
    next: usize,
}

impl Memory {
    /// A trace of these requests.
    pub fn new(requests: Vec<Request>, shape: Shape) -> Memory {
        Memory { requests, shape, next: 0 }
    }
}

impl Source for Memory {
    fn read(&mut self, batch: &mut Vec<Request>) -> Result<usize, Error> {
        let end = self.requests.len().min(self.next + BATCH);
        batch.extend_from_slice(&self.requests[self.next..end]);
        Ok(end - std::mem::replace(&mut self.next, end))
    }

    fn shape(&self) -> Shape {
        self.shape
    }

    fn progress(&self) -> (u64, u64) {
        (self.next as u64, self.requests.len() as u64)
    }
}
