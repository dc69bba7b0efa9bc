//! A trace in memory, task by task. Simulations with time and live runs both use it, so that both
//! run the same.

use std::collections::HashMap;
use std::ops::Range;

use crate::{Error, Operation, Request, Source};

/// The bit of a file's number that marks a request that writes.
const WRITE: u32 = 1 << 31;

/// A request, in 32 bytes.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Nanoseconds since the trace began.
    pub at: u64,
    /// The first byte.
    pub offset: u64,
    file: u32,
    /// How many bytes, at least one.
    pub len: u32,
    /// The asker; zero where unknown.
    pub handler: u32,
    /// The program context; zero where unknown.
    pub context: u32,
}

impl Entry {
    /// The file's number, in order of first appearance: its place in [`Workload::file_table`].
    pub fn file(&self) -> u32 {
        self.file & !WRITE
    }

    /// Whether it writes.
    pub fn writes(&self) -> bool {
        self.file & WRITE != 0
    }

    /// The byte after the last.
    pub fn end(&self) -> u64 {
        self.offset.saturating_add(u64::from(self.len))
    }
}

/// A file of a trace.
#[derive(Clone, Copy, Debug)]
pub struct File {
    /// As the trace names it.
    pub name: u64,
    /// Its length.
    pub bytes: u64,
}

/// Why a trace is no workload.
#[derive(Debug, thiserror::Error)]
pub enum WorkloadError {
    /// The trace cannot be read.
    #[error(transparent)]
    Trace(#[from] Error),
    /// The trace is empty.
    #[error("the trace has no requests")]
    Empty,
    /// More requests or files than are numbered.
    #[error("the trace has more than 2^31 {0}; cut it in pieces")]
    TooMany(&'static str),
}

/// A part of a run.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Span {
    /// Until so many requests are answered.
    Requests(u64),
    /// So many seconds: of virtual time in a simulation, of real time live.
    Seconds(f64),
}

/// A trace that was read once, for many runs, on as many threads. It takes about 36 bytes a
/// request.
///
/// A *task* is the requests of one `handler`, in the order of first appearance. If the trace names
/// no handlers (one value throughout), every request is a task.
#[derive(Clone, Debug, Default)]
pub struct Workload {
    /// In the order of the trace.
    entries: Vec<Entry>,
    /// The same, task by task; empty if that is the order of the trace.
    by_task: Vec<u32>,
    /// Where each task begins in that order, and the end of the last; empty if every request is a
    /// task.
    tasks: Vec<u32>,
    /// Whether the times of the trace go on.
    timed: bool,
    files: Vec<File>,
    names: HashMap<u64, u32>,
}

impl Workload {
    /// Reads a trace to its end.
    pub fn load(source: &mut dyn Source) -> Result<Workload, WorkloadError> {
        let mut workload = Workload::default();
        let mut tasks = Tasks::default();
        let mut batch = Vec::new();
        while source.read(&mut batch)? > 0 {
            for request in batch.drain(..) {
                workload.push(&request)?;
                tasks.push(request.handler);
            }
        }
        if workload.entries.is_empty() {
            return Err(WorkloadError::Empty);
        }
        for file in source.files() {
            workload.know(file.file, file.bytes.unwrap_or(0))?;
        }
        (workload.by_task, workload.tasks) = tasks.sort();
        Ok(workload)
    }

    fn push(&mut self, request: &Request) -> Result<(), WorkloadError> {
        if self.entries.len() >= WRITE as usize {
            return Err(WorkloadError::TooMany("requests"));
        }
        let file = self.number(request.file)?;
        let entry = Entry {
            at: request.at.0,
            offset: request.offset,
            file: if request.operation == Operation::Write { file | WRITE } else { file },
            len: request.len.max(1),
            handler: request.handler,
            context: request.context,
        };
        let bytes = &mut self.files[file as usize].bytes;
        *bytes = (*bytes).max(entry.end());
        self.timed |= entry.at > 0;
        self.entries.push(entry);
        Ok(())
    }

    /// The number of a file.
    fn number(&mut self, name: u64) -> Result<u32, WorkloadError> {
        // Most requests are for the file of the last one.
        if let Some(last) = self.entries.last().map(Entry::file)
            && self.files[last as usize].name == name
        {
            return Ok(last);
        }
        self.known(name)
    }

    /// The number of a file, a new one if it has none.
    fn known(&mut self, name: u64) -> Result<u32, WorkloadError> {
        let number = self.files.len() as u32;
        let known = *self.names.entry(name).or_insert(number);
        if known == number {
            if number >= WRITE {
                return Err(WorkloadError::TooMany("files"));
            }
            self.files.push(File { name, bytes: 0 });
        }
        Ok(known)
    }

    /// Takes a file's length from the trace's table of files. The file counts even if no request
    /// reads it.
    fn know(&mut self, name: u64, bytes: u64) -> Result<(), WorkloadError> {
        let number = self.known(name)?;
        let file = &mut self.files[number as usize];
        file.bytes = file.bytes.max(bytes);
        Ok(())
    }

    /// Makes every file at least `bytes` long. By default a file is as long as the trace's table of
    /// files says, and at least as the furthest request does.
    pub fn at_least(&mut self, bytes: u64) {
        self.files.iter_mut().for_each(|file| file.bytes = file.bytes.max(bytes));
    }

    /// Makes a file, named as in the trace, at least `bytes` long.
    pub fn lengthen(&mut self, file: u64, bytes: u64) {
        if let Some(&number) = self.names.get(&file) {
            let file = &mut self.files[number as usize];
            file.bytes = file.bytes.max(bytes);
        }
    }

    /// How many requests.
    pub fn requests(&self) -> u64 {
        self.entries.len() as u64
    }

    /// Bytes of all reads together.
    pub fn read_bytes(&self) -> u64 {
        self.entries.iter().filter(|entry| !entry.writes()).map(|entry| u64::from(entry.len)).sum()
    }

    /// How many tasks a closed loop runs.
    pub fn tasks(&self) -> u64 {
        if self.tasks.is_empty() { self.requests() } else { self.tasks.len() as u64 - 1 }
    }

    /// How many files, those included that the trace only lists.
    pub fn files(&self) -> u64 {
        self.files.len() as u64
    }

    /// Bytes of all files together, which a device must hold.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).fold(0, u64::saturating_add)
    }

    /// Whether the trace names handlers, so that it has several tasks.
    pub fn names_handlers(&self) -> bool {
        !self.tasks.is_empty()
    }

    /// Whether its requests have times.
    pub fn is_timed(&self) -> bool {
        self.timed
    }

    /// The files, by their numbers.
    pub fn file_table(&self) -> &[File] {
        &self.files
    }

    /// The places of a task's requests, for [`in_task`](Self::in_task).
    pub fn task(&self, task: u32) -> Range<u32> {
        match self.tasks.get(task as usize..task as usize + 2) {
            Some(ends) => ends[0]..ends[1],
            None => task..task + 1,
        }
    }

    /// Which request is at a place, tasks being in order.
    #[inline]
    pub fn in_task(&self, place: u32) -> u32 {
        self.by_task.get(place as usize).copied().unwrap_or(place)
    }

    /// The requests in the order of their times; where these are equal, of the trace.
    pub fn by_time(&self) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.entries.len() as u32).collect();
        order.sort_by_key(|&place| self.entries[place as usize].at);
        order
    }

    /// A request, by its place in the trace.
    #[inline]
    pub fn entry(&self, place: u32) -> &Entry {
        &self.entries[place as usize]
    }
}

/// Which task each request belongs to.
#[derive(Default)]
struct Tasks {
    numbers: HashMap<u32, u32>,
    of: Vec<u32>,
    counts: Vec<u32>,
    last: Option<(u32, u32)>,
}

impl Tasks {
    fn push(&mut self, handler: u32) {
        let task = match self.last {
            Some((last, task)) if last == handler => task,
            _ => {
                let next = self.counts.len() as u32;
                *self.numbers.entry(handler).or_insert(next)
            }
        };
        if task as usize == self.counts.len() {
            self.counts.push(0);
        }
        self.counts[task as usize] += 1;
        self.of.push(task);
        self.last = Some((handler, task));
    }

    /// The requests task by task, if that is not the order in which they are; and where tasks
    /// begin, if there are several.
    fn sort(self) -> (Vec<u32>, Vec<u32>) {
        if self.counts.len() < 2 {
            return (Vec::new(), Vec::new());
        }
        let mut end = 0;
        let mut begins: Vec<u32> = vec![0];
        begins.extend(self.counts.iter().map(|count| {
            end += count;
            end
        }));
        if self.of.is_sorted() {
            return (Vec::new(), begins);
        }
        let mut next = begins.clone();
        let mut order = vec![0; self.of.len()];
        for (place, &task) in self.of.iter().enumerate() {
            order[next[task as usize] as usize] = place as u32;
            next[task as usize] += 1;
        }
        (order, begins)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Memory, Shape};
    use forebay_core::Instant;
    use proptest::prelude::*;

    fn load(requests: Vec<Request>) -> Result<Workload, WorkloadError> {
        Workload::load(&mut Memory::new(requests, Shape::Ranges { block_bytes: 4096 }))
    }

    proptest! {
        /// Tasks are the handlers in order of first appearance, each with its requests in order.
        #[test]
        fn tasks_are_what_handlers_do(handlers in proptest::collection::vec(0u32..5, 1..100)) {
            let requests = handlers.iter().enumerate().map(|(i, &handler)| Request {
                at: Instant(i as u64), file: 7, offset: i as u64, len: 1, handler, ..Request::default()
            });
            let workload = load(requests.collect()).unwrap();
            let mut first: Vec<u32> = Vec::new();
            handlers.iter().for_each(|h| if !first.contains(h) { first.push(*h) });
            let places = |h: u32| handlers.iter().enumerate().filter(move |(_, x)| **x == h).map(|(i, _)| i as u64);
            let expected: Vec<Vec<u64>> = if first.len() > 1 {
                first.iter().map(|&h| places(h).collect()).collect()
            } else {
                (0..handlers.len() as u64).map(|i| vec![i]).collect()
            };
            let task = |task: u64| {
                let places = workload.task(task as u32);
                places.map(|place| workload.entry(workload.in_task(place)).offset).collect()
            };
            let got: Vec<Vec<u64>> = (0..workload.tasks()).map(task).collect();
            prop_assert_eq!(got, expected);
        }
    }

    /// One-Rand-10 reads portions: its files go on behind them, so that a prefetch ahead of a
    /// reader can be wasted.
    #[test]
    fn a_trace_lists_files_that_are_longer_than_what_is_read_and_those_that_are_not() {
        let mut source = crate::generate::named("one-rand-10", &[], 1).unwrap();
        let workload = Workload::load(&mut source).unwrap();
        assert_eq!((workload.files(), workload.bytes()), (6000, 6000 * (4 << 20)));
        assert!(workload.tasks() < 6000, "some of them nobody reads");
    }

    #[test]
    fn files_are_as_long_as_is_known() {
        let request = |file, offset, len| Request { file, offset, len, ..Request::default() };
        let mut workload = load(vec![request(9, 10, 5), request(4, 0, 1), request(9, 0, 3)]).unwrap();
        let lengths = |w: &Workload| w.file_table().iter().map(|f| (f.name, f.bytes)).collect::<Vec<_>>();
        assert_eq!(lengths(&workload), [(9, 15), (4, 1)]);
        workload.lengthen(4, 7);
        workload.lengthen(77, 7);
        assert_eq!(lengths(&workload), [(9, 15), (4, 7)]);
        workload.at_least(10);
        assert_eq!(lengths(&workload), [(9, 15), (4, 10)]);
        assert_eq!((workload.files(), workload.bytes(), workload.requests()), (2, 25, 3));
    }

    #[test]
    fn an_empty_trace_is_refused() {
        assert!(matches!(load(vec![]), Err(WorkloadError::Empty)));
    }

    #[test]
    fn requests_are_compact() {
        assert_eq!(size_of::<Entry>(), 32);
    }
}
