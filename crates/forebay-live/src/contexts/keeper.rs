//! Keeps the hints on contexts, from time to time.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use super::Callers;

/// How often: a killed process loses the hints since the last time.
const PERIOD: Duration = Duration::from_secs(30);

/// A thread that keeps hints from time to time, and once more when it is dropped.
pub struct Keeper {
    callers: Arc<Callers>,
    over: Arc<(Mutex<bool>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

impl Keeper {
    /// Starts it.
    pub fn start(callers: Arc<Callers>) -> std::io::Result<Keeper> {
        let over = Arc::new((Mutex::new(false), Condvar::new()));
        let (told_over, keeps) = (Arc::clone(&over), Arc::clone(&callers));
        let work = move || {
            let mut over = told_over.0.lock();
            while !*over {
                if told_over.1.wait_for(&mut over, PERIOD).timed_out() {
                    keep(&keeps);
                }
            }
        };
        let thread = std::thread::Builder::new().name("forebay-hints".into()).spawn(work)?;
        Ok(Keeper { callers, over, thread: Some(thread) })
    }
}

/// Readers are served all the same if this fails.
fn keep(callers: &Callers) {
    match callers.keep() {
        Ok(contexts) => log::debug!("hints of {contexts} contexts were kept"),
        Err(error) => log::warn!("what was learnt of program contexts is not kept: {error}"),
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        *self.over.0.lock() = true;
        self.over.1.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        keep(&self.callers);
    }
}
