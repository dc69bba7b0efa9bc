//! A trace in memory, as a timed simulation needs it.

use forebay_trace::Source;

use super::error::Error;

/// A trace that was read once, for many runs, on as many threads.
#[derive(Clone, Debug, Default)]
pub struct Workload {}

impl Workload {
    /// Reads a trace to its end.
    pub fn load(source: &mut dyn Source) -> Result<Workload, Error> {
        let _ = source;
        Ok(Workload {})
    }

    /// Says that every file is at least `bytes` long. By default a file is as long as the furthest request of the trace says.
    pub fn at_least(&mut self, bytes: u64) {
        let _ = bytes;
    }

    /// Says that a file, named as in the trace, is at least `bytes` long.
    pub fn lengthen(&mut self, file: u64, bytes: u64) {
        let _ = (file, bytes);
    }

    /// How many requests.
    pub fn requests(&self) -> u64 {
        0
    }

    /// How many tasks: what a closed loop works off (see [`Load::Closed`](super::Load::Closed)).
    pub fn tasks(&self) -> u64 {
        0
    }

    /// How many files.
    pub fn files(&self) -> u64 {
        0
    }

    /// Bytes of all files together: what a device must hold.
    pub fn bytes(&self) -> u64 {
        0
    }
}
