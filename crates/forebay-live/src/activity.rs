//! Watches handlers between their reads (CPEM §4.1). A frame that was prefetched for a handler is
//! likely not wanted if the handler has exited, or has run since without touching the frame. Reads
//! tell that a handler runs. The rest is asked of the operating system, where handlers are its
//! threads (a mount's are; the library's are numbers that its caller chose).
//!
//! The cost is bounded: every [`PERIOD`] at most [`LOOKS`] handlers are looked at, in turn, and
//! only those for which something unread is held. A look reads one or two small files of `/proc`
//! (see `cost` in the tests). While no handler is in question, the core is asked about once a
//! second. Under a policy that does not ask, there is no thread at all.

mod proc;

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use forebay_core::{EventKind, HandlerId};
use parking_lot::{Condvar, Mutex};

use crate::engine::Engine;
pub use proc::Proc;

/// How often handlers are looked at.
pub const PERIOD: Duration = Duration::from_millis(100);

/// How many handlers are looked at each time.
pub const LOOKS: usize = 64;

/// How long it takes to notice that handlers are in question again.
const IDLE: Duration = Duration::from_secs(1);

/// The operating system's answer about a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sight {
    /// It has exited.
    Gone,
    /// It is there, and has run for this many nanoseconds in all.
    Alive(u64),
    /// The operating system does not tell.
    Unknown,
}

/// The operating system.
pub trait Threads: Send {
    /// Looks at a thread.
    fn look(&mut self, thread: u32) -> Sight;
}

/// Asks about handlers, and is told the answers.
trait Asker: Send + Sync {
    /// The handlers in question, in the order of their numbers behind `after`, at most `most`.
    /// `None` if the asker is gone.
    fn questions(&self, after: HandlerId, most: usize) -> Option<Vec<HandlerId>>;
    /// Tells the observation.
    fn tell(&self, seen: EventKind);
}

impl Asker for Weak<Engine> {
    fn questions(&self, after: HandlerId, most: usize) -> Option<Vec<HandlerId>> {
        self.upgrade().map(|engine| engine.handlers_in_question(after, most))
    }

    fn tell(&self, seen: EventKind) {
        if let Some(engine) = self.upgrade() {
            engine.tell(seen);
        }
    }
}

/// The run times of the handlers in question.
#[derive(Debug, Default)]
struct Watch {
    /// How long each had run when it was looked at last.
    run: BTreeMap<HandlerId, u64>,
    /// The handler that was looked at last; 0 if that was the last of all.
    last: HandlerId,
}

impl Watch {
    /// Looks at the handlers in question behind the last one. Says whether there was any. `None` if
    /// the asker is gone.
    ///
    /// Only a second look brings news: at the first look, the handler may have run before anything
    /// was prefetched for it. A thread's number is used again, by a thread that has run for less:
    /// that counts as a thread that runs, too.
    fn round(&mut self, asker: &dyn Asker, threads: &mut dyn Threads) -> Option<bool> {
        let after = self.last;
        let questions = asker.questions(after, LOOKS)?;
        self.last = questions.last().copied().filter(|_| questions.len() == LOOKS).unwrap_or_default();
        let up_to = if self.last == HandlerId(0) { HandlerId(u32::MAX) } else { self.last };
        let passed = |handler: HandlerId| handler > after && handler <= up_to;
        self.run.retain(|&handler, _| !passed(handler) || questions.binary_search(&handler).is_ok());
        for &handler in &questions {
            match threads.look(handler.0) {
                Sight::Gone => {
                    self.run.remove(&handler);
                    asker.tell(EventKind::Exited { handler });
                }
                Sight::Alive(run) => {
                    if self.run.insert(handler, run).is_some_and(|before| before != run) {
                        asker.tell(EventKind::Ran { handler });
                    }
                }
                Sight::Unknown => {}
            }
        }
        Some(!questions.is_empty() || after > HandlerId(0))
    }
}

/// A thread that looks at an engine's handlers, until it is dropped.
#[derive(Debug)]
pub struct Watcher {
    over: Arc<(Mutex<bool>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

impl Watcher {
    /// Watches the handlers of `engine`, which must be threads as `threads` numbers them. `None` if
    /// its policy does not ask about handlers.
    pub fn start(engine: &Arc<Engine>, threads: impl Threads + 'static) -> std::io::Result<Option<Watcher>> {
        if !engine.judges_handlers() {
            return Ok(None);
        }
        Watcher::of(Arc::downgrade(engine), threads).map(Some)
    }

    fn of(asker: impl Asker + 'static, mut threads: impl Threads + 'static) -> std::io::Result<Watcher> {
        let over = Arc::new((Mutex::new(false), Condvar::new()));
        let told_over = Arc::clone(&over);
        let work = move || {
            let mut watch = Watch::default();
            let mut over = told_over.0.lock();
            while !*over {
                let Some(anybody) = watch.round(&asker, &mut threads) else { return };
                told_over.1.wait_for(&mut over, if anybody { PERIOD } else { IDLE });
            }
        };
        let thread = std::thread::Builder::new().name("forebay-activity".into()).spawn(work)?;
        Ok(Watcher { over, thread: Some(thread) })
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        *self.over.0.lock() = true;
        self.over.1.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests;
