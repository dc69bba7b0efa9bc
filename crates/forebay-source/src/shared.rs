//! Threads that all sources of a process share, and that end with the last of them.
//!
//! A forked child has none of the threads, so it starts its own. It does not touch its parent's
//! threads or ring: a child has no copy of a ring's memory. If a child is forked while another
//! thread holds the lock to start them, it waits for ever. The lock is held for that start alone.

use std::io;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

/// The place of such threads.
pub(crate) struct Shared<T: ?Sized>(Mutex<Option<Started<T>>>);

struct Started<T: ?Sized> {
    process: u32,
    threads: Weak<T>,
}

impl<T: ?Sized> Shared<T> {
    pub(crate) const fn new() -> Shared<T> {
        Shared(Mutex::new(None))
    }

    /// The threads of this process, which are started if there are none.
    pub(crate) fn get(&self, start: impl FnOnce() -> io::Result<Arc<T>>) -> io::Result<Arc<T>> {
        let (mut started, process) = (self.0.lock(), std::process::id());
        let here = started.as_ref().filter(|started| started.process == process);
        if let Some(threads) = here.and_then(|started| started.threads.upgrade()) {
            return Ok(threads);
        }
        let threads = start()?;
        *started = Some(Started { process, threads: Arc::downgrade(&threads) });
        Ok(threads)
    }
}
