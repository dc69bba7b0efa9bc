//! Where requests come from.

use std::path::Path;

use crate::{Error, Format, Request, Shape};

/// How many requests a batch has, about.
pub const BATCH: usize = 4096;

/// A trace that is read from its beginning to its end.
pub trait Source: Send {
    /// Appends about [`BATCH`] requests to `batch` and returns how many; zero at the end.
    fn read(&mut self, batch: &mut Vec<Request>) -> Result<usize, Error>;
    /// What the requests are about.
    fn shape(&self) -> Shape;
    /// How far it is: bytes (or requests) read, and of how many; for progress bars.
    fn progress(&self) -> (u64, u64);
}

/// How to open a trace.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Its format, if it is not to be told by its name and content.
    pub format: Option<Format>,
}

/// Opens a trace file.
pub fn open(path: &Path, options: &Options) -> Result<Box<dyn Source>, Error> {
    let _ = options;
    Err(Error::Format { path: path.to_owned(), reason: "no format fits".to_owned() })
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
