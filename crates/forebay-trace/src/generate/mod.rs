//! Synthetic workloads: Zipf, sequential, looping and mixed, the microbenchmarks and applications
//! of the papers, and today's loads. Each streams, so that its length costs no memory, and gives
//! the same requests for the same seed.
//!
//! **Tasks.** In a server's workload a *task* is the work for one request to the server. Each task
//! has a `handler` number of its own, counted from one. Its requests follow each other, and the
//! tasks stand in the trace one after the other (but for `multi-…`, whose tasks are applications
//! that run all the time). A closed loop of N handlers runs N of them at a time, in order of first
//! appearance. Times within a task are its own work between requests (think time, processor). A
//! task begins at the moment at which the one before it ended, as if storage took no time.
//! Workloads without tasks have handler 0 and no times.

mod amp;
mod applications;
mod basic;
mod micro;
mod multi;
mod parameters;
mod random;
mod sac;
mod scm;
mod today;
mod web;
mod zipf;

pub use parameters::{Given, Kind, Parameter, Value, WrongWorkload};

use crate::{BATCH, Error, FileInfo, Request, Shape, Source};
use parameters::Values;
use random::Random;

/// A maker of requests, a piece at a time.
trait Workload: Send {
    /// Whether requests are ranges or objects.
    fn shape(&self) -> Shape;

    /// The files, if their sizes are known.
    fn files(&self) -> Vec<FileInfo> {
        Vec::new()
    }

    /// Appends the next request, or all those of the next task.
    fn step(&mut self, random: &mut Random, batch: &mut Vec<Request>);

    /// Appends some more of a task that is too long for one step; false if there is no such task.
    fn go_on(&mut self, random: &mut Random, batch: &mut Vec<Request>) -> bool {
        let _ = (random, batch);
        false
    }
}

/// Every workload.
pub fn kinds() -> impl Iterator<Item = &'static Kind> {
    let kinds =
        [basic::KINDS, micro::KINDS, applications::KINDS, multi::KINDS, sac::KINDS, web::KINDS, scm::KINDS, amp::KINDS];
    kinds.into_iter().chain(today::KINDS).flatten()
}

/// The workload of this name with these parameters; absent ones have their defaults.
///
/// ```
/// use forebay_trace::generate::{Given, named};
///
/// let trace = named("zipf", &Given::list("objects=1000,alpha=0.9")?, 1)?;
/// # Ok::<(), forebay_trace::generate::WrongWorkload>(())
/// ```
pub fn named(name: &str, parameters: &[Given<'_>], seed: u64) -> Result<Generated, WrongWorkload> {
    let kind = kinds().find(|kind| kind.name == name);
    let kind = kind.ok_or_else(|| WrongWorkload::Unknown { name: name.to_owned(), known: names() })?;
    let values = Values::of(kind, parameters)?;
    let steps = values.count("requests").or(values.count("tasks")).or(values.count("streams")).unwrap_or(1);
    let workload = (kind.make)(&values)?;
    let origin = format!("{name} {values}seed={seed}");
    Ok(Generated { workload, random: Random::new(seed), origin, steps, done: 0, busy: false })
}

fn names() -> String {
    kinds().map(|kind| kind.name).collect::<Vec<_>>().join(", ")
}

/// A workload, as a trace.
pub struct Generated {
    workload: Box<dyn Workload>,
    random: Random,
    origin: String,
    /// Requests or tasks.
    steps: u64,
    done: u64,
    /// Whether a task goes on.
    busy: bool,
}

impl Source for Generated {
    fn read(&mut self, batch: &mut Vec<Request>) -> Result<usize, Error> {
        let before = batch.len();
        batch.reserve(BATCH);
        while batch.len() < before + BATCH {
            self.busy = self.busy && self.workload.go_on(&mut self.random, batch);
            if self.busy {
                continue;
            }
            if self.done == self.steps {
                break;
            }
            self.workload.step(&mut self.random, batch);
            self.done += 1;
            self.busy = true;
        }
        Ok(batch.len() - before)
    }

    fn shape(&self) -> Shape {
        self.workload.shape()
    }

    fn progress(&self) -> (u64, u64) {
        (self.done, self.steps)
    }

    fn files(&self) -> Vec<FileInfo> {
        self.workload.files()
    }

    fn origin(&self) -> Option<String> {
        Some(self.origin.clone())
    }
}

impl std::fmt::Debug for Generated {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Generated").field(&self.origin).finish()
    }
}

/// Numbers tasks and keeps their time.
#[derive(Default)]
struct Tasks {
    handler: u32,
    now: u64,
}

impl Tasks {
    /// The next task begins.
    fn begin(&mut self) {
        // After four billion tasks numbers come again, of tasks long gone.
        self.handler = self.handler.wrapping_add(1).max(1);
    }

    /// The current task does no input for so long.
    fn think(&mut self, nanos: u64) {
        self.now = self.now.saturating_add(nanos);
    }

    /// The current task reads.
    fn read(&self, file: u64, offset: u64, len: u32) -> Request {
        let at = forebay_core::Instant(self.now);
        Request { at, file, offset, len, handler: self.handler, ..Request::default() }
    }

    /// The current task reads a piece of a file from front to back.
    fn sequence(&self, file: u64, range: std::ops::Range<u64>, piece: u32) -> impl Iterator<Item = Request> {
        let pieces = range.clone().step_by(piece.max(1) as usize);
        pieces.map(move |offset| self.read(file, offset, (range.end - offset).min(piece.max(1).into()) as u32))
    }
}

/// Files of these sizes, numbered from zero.
fn sized(sizes: impl Iterator<Item = u64>) -> Vec<FileInfo> {
    (0..).zip(sizes).map(|(file, bytes)| FileInfo { file, name: None, bytes: Some(bytes) }).collect()
}

const BLOCK_BYTES: u32 = 4096;
