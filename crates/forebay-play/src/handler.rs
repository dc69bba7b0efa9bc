//! The handlers: which thread runs which task, and the steps of a task.

use std::collections::hash_map::Entry as Slot;
use std::collections::{HashMap, TryReserveError};
use std::sync::Arc;
use std::thread::{Builder, Scope};
use std::time::{Duration, Instant};

use forebay_trace::Workload;
use forebay_trace::workload::Entry;
use parking_lot::{Condvar, Mutex, MutexGuard};

use super::clock::{Clock, Over};
use super::tally::{Outcome, Tally};
use super::{Error, Files, Play, Watch};

/// How often the observer is told.
const LOOK: Duration = Duration::from_millis(200);

/// Longer requests are read in pieces, so that memory does not grow with the lengths in a trace.
const LARGEST: usize = 4 << 20;

/// The state that all handlers share.
struct Stage<'a, F: Files, C> {
    play: &'a Play,
    workload: &'a Workload,
    files: &'a F,
    clock: &'a C,
    state: Mutex<State>,
    /// A thread has ended, or the run is over.
    news: Condvar,
    over: Over,
    /// Where the trace names no handlers: files that stay open.
    open: Mutex<HashMap<u32, Arc<F::Open>>>,
}

struct State {
    tally: Tally,
    next_task: u32,
    threads: u32,
    failure: Option<Error>,
}

/// Runs a workload by a clock.
pub(super) fn run(
    play: &Play,
    workload: &Workload,
    files: &impl Files,
    clock: &impl Clock,
    watch: Watch<'_>,
) -> Result<Outcome, Error> {
    play.check()?;
    let handlers = play.handlers.min(workload.tasks() as u32);
    let tally = Tally::new(handlers, play.warm_up, play.limit);
    let state = State { tally, next_task: 0, threads: 0, failure: None };
    let (news, over, open) = Default::default();
    let stage = Stage { play, workload, files, clock, state: Mutex::new(state), news, over, open };
    std::thread::scope(|scope| {
        for handler in 0..handlers {
            stage.begin(scope, handler, Duration::ZERO);
        }
        stage.look_on(watch);
    });
    let State { tally, failure, .. } = stage.state.into_inner();
    match failure {
        Some(error) => Err(error),
        None => tally.outcome(clock.now()),
    }
}

impl<F: Files, C: Clock> Stage<'_, F, C> {
    /// Starts a thread for a handler's next task, if one is left.
    fn begin<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>, handler: u32, think: Duration) {
        let mut state = self.state.lock();
        let Some(task) = self.take_task(&mut state) else { return };
        state.threads += 1;
        drop(state);
        let life = move || self.life(scope, handler, task, think);
        if let Err(error) = Builder::new().name("task".to_owned()).spawn_scoped(scope, life) {
            self.fail(Error::Thread(error));
            self.leave();
        }
    }

    fn take_task(&self, state: &mut State) -> Option<u32> {
        let left = u64::from(state.next_task) < self.workload.tasks() && state.tally.ended.is_none();
        left.then(|| {
            state.next_task += 1;
            state.next_task - 1
        })
    }

    /// The life of a thread: one task, and then another thread does the next one. If the trace
    /// names no handlers, the thread does task after task.
    fn life<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>, handler: u32, first: u32, think: Duration) {
        let after = self.play.think.unwrap_or_default();
        let (mut next, mut think) = (Some(first), think);
        while let Some(task) = next {
            self.pause(think);
            think = after;
            if let Err(error) = self.task(handler, task) {
                self.fail(error);
                break;
            }
            next = if self.workload.names_handlers() { None } else { self.take_task(&mut self.state.lock()) };
        }
        if self.workload.names_handlers() {
            self.begin(scope, handler, after);
        }
        self.leave();
    }

    /// A task, from its first request to its last.
    fn task(&self, handler: u32, task: u32) -> Result<(), Error> {
        let mut own = Own::new(self.play.private_bytes).map_err(Error::Memory)?;
        let began = self.clock.now();
        let mut before: Option<u64> = None;
        for place in self.workload.task(task) {
            let entry = self.workload.entry(self.workload.in_task(place));
            if let Some(before) = before.replace(entry.at) {
                let traced = Duration::from_nanos(entry.at.saturating_sub(before));
                self.pause(self.play.think.unwrap_or(traced));
            }
            if self.state.lock().tally.ended.is_some() {
                return Ok(());
            }
            if entry.writes() {
                self.state.lock().tally.skip();
                continue;
            }
            let file = self.opened(&mut own, entry.file())?;
            self.read(&mut own, handler, &file, entry)?;
            if !self.play.cpu.is_zero() {
                self.clock.compute(self.play.cpu);
            }
            own.touch();
        }
        self.state.lock().tally.task(self.clock.now().saturating_sub(began));
        Ok(())
    }

    fn pause(&self, span: Duration) {
        if !span.is_zero() {
            self.clock.think(span, &self.over);
        }
    }

    /// A file, open from now on for the task, or for all tasks if the trace names no handlers.
    fn opened(&self, own: &mut Own<F::Open>, number: u32) -> Result<Arc<F::Open>, Error> {
        let open = || {
            let file = self.workload.file_table()[number as usize].name;
            self.files.open(file).map(Arc::new).map_err(|source| self.failed(number, "opening it", source))
        };
        if !self.workload.names_handlers() {
            return match self.open.lock().entry(number) {
                Slot::Occupied(known) => Ok(Arc::clone(known.get())),
                Slot::Vacant(free) => Ok(Arc::clone(free.insert(open()?))),
            };
        }
        if let Some((_, file)) = own.open.iter().find(|(known, _)| *known == number) {
            return Ok(Arc::clone(file));
        }
        own.open.push((number, open()?));
        Ok(Arc::clone(&own.open[own.open.len() - 1].1))
    }

    /// One request.
    fn read(&self, own: &mut Own<F::Open>, handler: u32, file: &F::Open, entry: &Entry) -> Result<(), Error> {
        let (len, begun) = (entry.len as usize, self.clock.now());
        let (mut done, mut verified) = (0, Duration::ZERO);
        own.buffer.resize(own.buffer.len().max(len.min(LARGEST)), 0);
        while done < len {
            let (offset, piece) = (entry.offset + done as u64, &mut own.buffer[..(len - done).min(LARGEST)]);
            let got = self.files.read(file, entry.handler, offset, piece).map_err(|source| {
                self.failed(entry.file(), &format!("reading {} bytes at {offset}", piece.len()), source)
            })?;
            if got == 0 {
                let name = self.name(entry.file());
                return Err(Error::Short { name, offset: entry.offset, len: entry.len, got: done as u32 });
            }
            let answered = self.clock.now();
            self.verify(entry.file(), offset, &piece[..got])?;
            verified += self.clock.now().saturating_sub(answered);
            done += got;
        }
        let now = self.clock.now();
        let took = now.saturating_sub(begun).saturating_sub(verified);
        if self.state.lock().tally.answer(now, took, handler, entry.len) {
            self.end();
        }
        Ok(())
    }

    fn verify(&self, number: u32, offset: u64, bytes: &[u8]) -> Result<(), Error> {
        let Some(content) = self.play.verify else { return Ok(()) };
        let file = self.workload.file_table()[number as usize].name;
        match content.difference(file, offset, bytes) {
            Some(offset) => Err(Error::Differs { name: self.name(number), offset }),
            None => Ok(()),
        }
    }

    fn name(&self, number: u32) -> String {
        self.files.name(self.workload.file_table()[number as usize].name)
    }

    fn failed(&self, number: u32, what: &str, source: std::io::Error) -> Error {
        Error::File { name: self.name(number), what: what.to_owned(), source }
    }

    /// The run is over because of an error; the first one counts.
    fn fail(&self, error: Error) {
        let mut state = self.state.lock();
        state.tally.ended.get_or_insert(self.clock.now());
        state.failure.get_or_insert(error);
        drop(state);
        self.end();
    }

    fn end(&self) {
        self.over.set();
        self.news.notify_all();
    }

    /// A thread is done.
    fn leave(&self) {
        self.state.lock().threads -= 1;
        self.news.notify_all();
    }

    /// Waits until no thread runs any more, ends the run at its time limit, and tells the observer.
    fn look_on(&self, watch: Watch<'_>) {
        let mut state = self.state.lock();
        let mut look = Instant::now() + LOOK;
        while state.threads > 0 {
            let now = self.clock.now();
            if state.tally.look(now) {
                self.over.set();
            }
            if look <= Instant::now() && state.tally.ended.is_none() {
                let (done, all) = state.tally.progress(now, self.workload.requests());
                if MutexGuard::unlocked(&mut state, || watch(done, all)) {
                    MutexGuard::unlocked(&mut state, || self.fail(Error::Stopped));
                }
                look = Instant::now() + LOOK;
                continue;
            }
            let left = state.tally.deadline().map_or(LOOK, |at| at.saturating_sub(now));
            self.news.wait_until(&mut state, look.min(Instant::now() + left));
        }
    }
}

/// A task's own files and memory.
struct Own<O> {
    open: Vec<(u32, Arc<O>)>,
    buffer: Vec<u8>,
    memory: Vec<u8>,
    hand: usize,
}

/// A page: one write makes it this task's.
const PAGE: usize = 4096;

/// The bytes of its memory that a task writes to after every answer: all that CP's handlers have.
const TOUCHED: usize = 1 << 20;

impl<O> Own<O> {
    fn new(private_bytes: u64) -> Result<Own<O>, TryReserveError> {
        let mut memory = Vec::new();
        let bytes = usize::try_from(private_bytes).unwrap_or(usize::MAX);
        memory.try_reserve_exact(bytes)?;
        // Ones, since pages of zeros need not be there.
        memory.resize(bytes, 1);
        Ok(Own { open: Vec::new(), buffer: Vec::new(), memory, hand: 0 })
    }

    fn touch(&mut self) {
        let end = (self.hand + TOUCHED).min(self.memory.len());
        for byte in self.memory[self.hand..end].iter_mut().step_by(PAGE) {
            *byte = std::hint::black_box(byte.wrapping_add(1));
        }
        self.hand = if end == self.memory.len() { 0 } else { end };
    }
}
