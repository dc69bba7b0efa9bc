//! Reads by threads that call `preadv`: works everywhere, costs a thread a read.

use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use parking_lot::{Condvar, Mutex};

use super::{Queue, Read, Reader};

/// How many reads a pool has under way unless told otherwise: enough for a disk's scheduler to have
/// a choice.
pub(super) const THREADS: usize = 16;

/// A bounded number of reading threads and a queue in front of them.
pub struct Pool {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    queue: Queue,
    stopping: bool,
}

impl Pool {
    /// A pool of `threads` threads, at least one.
    pub fn new(threads: usize) -> io::Result<Pool> {
        let shared = Arc::new(Shared::default());
        let mut pool = Pool { shared, threads: Vec::new() };
        for _ in 0..threads.max(1) {
            let shared = Arc::clone(&pool.shared);
            pool.threads.push(thread::Builder::new().name("forebay-read".into()).spawn(move || shared.work())?);
        }
        Ok(pool)
    }
}

impl Reader for Pool {
    fn read(&self, read: Read) {
        self.shared.state.lock().queue.push(Box::new(read));
        self.shared.changed.notify_one();
    }

    fn name(&self) -> &'static str {
        "pread"
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.state.lock().stopping = true;
        self.shared.changed.notify_all();
        for thread in self.threads.drain(..) {
            // The last owner may be a `done` on one of our threads: that thread ends by itself.
            if thread.thread().id() != thread::current().id() {
                let _ = thread.join();
            }
        }
    }
}

impl Shared {
    fn work(&self) {
        while let Some(mut read) = self.next() {
            let outcome = read.fill();
            read.finish(outcome);
        }
    }

    /// The next read; `None` once the pool is stopping and nothing is left.
    fn next(&self) -> Option<Box<Read>> {
        let mut state = self.state.lock();
        loop {
            if let Some(read) = state.queue.pop() {
                return Some(read);
            }
            if state.stopping {
                return None;
            }
            self.changed.wait(&mut state);
        }
    }
}

pub(super) fn attempt(read: &mut Read) -> io::Result<usize> {
    let offset = read.prepare();
    let count = read.pieces.len() as i32;
    // SAFETY: the pieces lie in the read's own buffer, which no other code touches and which
    // outlives the call.
    let bytes = unsafe { libc::preadv64(read.file.as_raw_fd(), read.pieces.as_ptr(), count, offset as i64) };
    usize::try_from(bytes).map_err(|_| io::Error::last_os_error())
}
