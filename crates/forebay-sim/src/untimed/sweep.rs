//! Many caches over one pass of a trace.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex, PoisonError, RwLock};

use super::cache::Cache;
use super::passes::Passes;
use super::references::{Chunk, References};
use super::{Error, Options};

/// The most caches that a thread serves in one pass. More take another pass: so their memory is
/// bounded, and a run that is ended early has its finished results.
const CACHES_PER_THREAD: usize = 8;

/// How many caches go into one pass.
pub(super) fn caches_per_pass(options: &Options) -> usize {
    threads(options) * CACHES_PER_THREAD
}

/// How many threads there shall be.
pub(super) fn threads(options: &Options) -> usize {
    options.threads.unwrap_or_else(crate::processors).max(1)
}

/// Serves all of `references` to every cache. `false` if it was ended early.
pub(super) fn serve(
    mut references: References,
    caches: &mut [Box<dyn Cache>],
    options: &Options,
    passes: &Passes<'_>,
) -> Result<Option<References>, Error> {
    let threads = threads(options).min(caches.len() + 1);
    let mut chunk = Chunk::default();
    if threads > 1 {
        return Rounds::new(references, caches, threads).run(passes);
    }
    while references.next(&mut chunk)? {
        for cache in caches.iter_mut() {
            cache.refer(&chunk);
        }
        let (done, all) = references.progress();
        if !passes.goes_on(done, all) {
            return Ok(None);
        }
    }
    Ok(Some(references))
}

/// Threads that serve chunk after chunk. A round's tasks are to read the next chunk and to serve
/// this one to each cache. A free thread takes the next task, and all wait for each other at the
/// end of a round. So every cache sees the chunks in their order, whichever thread serves it.
struct Rounds<'a> {
    caches: Vec<Mutex<&'a mut Box<dyn Cache>>>,
    this: RwLock<Chunk>,
    next: Mutex<Next>,
    task: AtomicUsize,
    over: AtomicBool,
    barrier: Barrier,
    threads: usize,
}

/// The input and result of reading the next chunk.
struct Next {
    references: References,
    chunk: Chunk,
    more: Result<bool, Error>,
    stopped: bool,
}

impl<'a> Rounds<'a> {
    fn new(references: References, caches: &'a mut [Box<dyn Cache>], threads: usize) -> Rounds<'a> {
        Rounds {
            caches: caches.iter_mut().map(Mutex::new).collect(),
            this: RwLock::default(),
            next: Mutex::new(Next { references, chunk: Chunk::default(), more: Ok(true), stopped: false }),
            task: AtomicUsize::new(0),
            over: AtomicBool::new(false),
            barrier: Barrier::new(threads),
            threads,
        }
    }

    fn run(self, passes: &Passes<'_>) -> Result<Option<References>, Error> {
        std::thread::scope(|scope| {
            for _ in 1..self.threads {
                scope.spawn(|| self.work(passes));
            }
            self.work(passes);
        });
        let next = self.next.into_inner().unwrap_or_else(PoisonError::into_inner);
        next.more?;
        Ok((!next.stopped).then_some(next.references))
    }

    fn work(&self, passes: &Passes<'_>) {
        // The first round has nothing to serve, and only reads.
        while !self.over.load(Ordering::Acquire) {
            self.round(passes);
            if self.barrier.wait().is_leader() {
                self.turn();
            }
            self.barrier.wait();
        }
    }

    fn round(&self, passes: &Passes<'_>) {
        loop {
            let task = self.task.fetch_add(1, Ordering::Relaxed);
            if task == 0 {
                self.read(passes);
            } else if let Some(cache) = self.caches.get(task - 1) {
                let chunk = self.this.read().unwrap_or_else(PoisonError::into_inner);
                cache.lock().unwrap_or_else(PoisonError::into_inner).refer(&chunk);
            } else {
                return;
            }
        }
    }

    fn read(&self, passes: &Passes<'_>) {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let next = &mut *next;
        next.more = next.references.next(&mut next.chunk);
        let (done, all) = next.references.progress();
        next.stopped = !passes.goes_on(done, all);
    }

    /// The next chunk becomes this one.
    fn turn(&self) {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let mut this = self.this.write().unwrap_or_else(PoisonError::into_inner);
        std::mem::swap(&mut *this, &mut next.chunk);
        self.task.store(0, Ordering::Relaxed);
        self.over.store(next.stopped || !matches!(next.more, Ok(true)), Ordering::Release);
    }
}
