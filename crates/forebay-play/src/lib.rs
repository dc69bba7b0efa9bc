//! A workload in real time: real reads by handlers that work off tasks, by the conventions of the
//! simulator (`forebay_sim::timed`), so that one description can be simulated and run.
//!
//! N tasks run at a time, in the order of their first appearance. Within a task, the next request
//! is asked when the last one is answered, computed with and thought about. A task opens a file at
//! its first request for it and closes all at its end. Each task has a thread of its own, as in the
//! papers' servers (CP §3.1: "the server spawns a thread to process it"): to a kernel, and so to a
//! mount, the thread is the handler. If the trace has no readers' names, every request is a task, a
//! thread means nothing and goes on with the next request, and files stay open.
//!
//! ```no_run
//! use forebay_play::{Content, Folder, Play, lay};
//! use forebay_trace::Workload;
//! use forebay_trace::generate::{Given, named};
//!
//! let mut trace = named("one-rand-10", &Given::list("files=100")?, 1)?;
//! let workload = Workload::load(&mut trace)?;
//! lay(&workload, "/srv/data".as_ref(), Content::Pattern, &|_, _| false)?;
//! let play = Play { verify: Some(Content::Pattern), ..Play::new(16) };
//! let outcome = play.run(&workload, &Folder::new("/mnt/data"), &|_, _| false)?;
//! println!("{:.1} MB/s", outcome.throughput_mb_s);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod clock;
mod content;
mod files;
mod handler;
pub mod handlers;
mod tally;

use std::io;
use std::time::Duration;

use forebay_trace::{Span, Workload};

use clock::RealClock;
pub use content::{Content, Laid, lay};
pub use files::{Files, Folder, InProcess};
pub use tally::Outcome;

/// How a workload is run. The counterpart of the simulator's closed loop.
#[derive(Clone, PartialEq, Debug)]
pub struct Play {
    /// How many tasks run at a time.
    pub handlers: u32,
    /// Thinking time of a handler after every request. `None`: within a task, the differences of
    /// the trace's times.
    pub think: Option<Duration>,
    /// Computing time after every answer, before thinking. It takes a processor, of which the
    /// machine has a limited number.
    pub cpu: Duration,
    /// Memory that each task takes for itself, in bytes (CP §3.1: 1 MB; BLAST's working memory).
    /// All of it is written to when the task begins, and a piece of it after every answer, round
    /// and round.
    pub private_bytes: u64,
    /// The part at the beginning that does not count.
    pub warm_up: Option<Span>,
    /// When to end, counted from the very beginning; `None`: with the trace.
    pub limit: Option<Span>,
    /// The content of the files ([`lay`]): every byte that is read is compared with it. The
    /// comparison takes time of the reader, not of the response.
    pub verify: Option<Content>,
}

impl Play {
    /// `handlers` that think as in the trace, compute nothing and take no memory, to the end of the
    /// trace.
    pub fn new(handlers: u32) -> Play {
        Play { handlers, think: None, cpu: Duration::ZERO, private_bytes: 0, warm_up: None, limit: None, verify: None }
    }

    /// Runs it. `watch` is told some times a second how far the run is, and of how much (requests,
    /// or nanoseconds of the limit). If `watch` answers `true`, the run is stopped. The run ends at
    /// the first read that fails.
    ///
    /// Writes of the trace take no time; they are counted.
    pub fn run(&self, workload: &Workload, files: &impl Files, watch: Watch<'_>) -> Result<Outcome, Error> {
        handler::run(self, workload, files, &RealClock::new(), watch)
    }

    fn check(&self) -> Result<(), Error> {
        let wrong = |what| Err(Error::Setup(what));
        if self.handlers == 0 {
            return wrong("a workload is run by at least one handler");
        }
        let possible = |span: Option<Span>| match span {
            None => true,
            Some(Span::Seconds(seconds)) => seconds > 0.0 && seconds <= 1e9,
            Some(Span::Requests(requests)) => requests > 0,
        };
        if possible(self.warm_up) && possible(self.limit) {
            return Ok(());
        }
        wrong("warm-up and limit must be positive, and at most 10^9 seconds")
    }
}

/// An observer: it is told how much is done, and of how much, and says whether to stop.
pub type Watch<'a> = &'a dyn Fn(u64, u64) -> bool;

/// Why there is no outcome.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The setup makes no sense.
    #[error("{0}")]
    Setup(&'static str),
    /// A file cannot be opened, read or made.
    #[error("{name}: {what}: {source}")]
    File {
        /// Its name.
        name: String,
        /// The attempt that failed.
        what: String,
        /// Why it failed.
        source: io::Error,
    },
    /// A file ends before a request does.
    #[error("{name}: {got} of {len} bytes at {offset}: it is shorter than the trace says; make the files anew")]
    Short {
        /// Its name.
        name: String,
        /// The first byte of the request.
        offset: u64,
        /// How many bytes it has.
        len: u32,
        /// How many there are.
        got: u32,
    },
    /// A byte that was read differs from the byte that was laid.
    #[error("{name}: the byte at {offset} is not what was laid there")]
    Differs {
        /// Its name.
        name: String,
        /// The first byte that differs.
        offset: u64,
    },
    /// A task does not get its memory.
    #[error("no memory for a task: {0}; give tasks less, or run fewer handlers")]
    Memory(std::collections::TryReserveError),
    /// A thread cannot be started.
    #[error("cannot start a thread for a task: {0}; run fewer handlers")]
    Thread(io::Error),
    /// Nothing was counted.
    #[error("the run is over before its warm-up is; warm up for less, or take a longer trace")]
    AllWarmUp,
    /// The observer stopped the run.
    #[error("stopped before the end")]
    Stopped,
}

#[cfg(test)]
mod tests;
