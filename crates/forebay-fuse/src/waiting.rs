//! Requests that wait for storage, and readers that give up waiting.
//!
//! The kernel lets a thread with a request under way go only once the request is answered, however
//! it was killed. So each request without an immediate answer waits here. Every [`LOOK`] a thread
//! checks whether the readers that have waited for longer want to go. If so, it answers `EINTR`;
//! the storage's later answer finds its [`Slot`] empty and is dropped.
//!
//! The kernel's own notice (`FUSE_INTERRUPT`) would not say which signal came: runtimes send
//! signals to their own threads all the time (Go `SIGURG`), and those must not make a read fail.
//! `/proc` says it, see `signals.rs`.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use fuser::{Errno, ReplyAttr, ReplyData, ReplyDirectory, ReplyDirectoryPlus, ReplyEmpty, ReplyEntry, ReplyOpen};
use parking_lot::{Condvar, Mutex};

use crate::signals::{Signals, in_system_call, sees_itself};

/// How long a reader waits before its first check, and between checks.
const LOOK: Duration = Duration::from_millis(100);

/// A reply that can be a refusal.
pub(crate) trait Reply: Send + 'static {
    fn refuse(self, errno: Errno);
}

macro_rules! replies {
    ($($reply:ty),*) => {
        $(impl Reply for $reply {
            fn refuse(self, errno: Errno) {
                self.error(errno);
            }
        })*
    };
}

replies!(ReplyAttr, ReplyData, ReplyDirectory, ReplyDirectoryPlus, ReplyEmpty, ReplyEntry, ReplyOpen);

/// A reply until it is given.
pub(crate) struct Slot<R>(Mutex<Option<R>>);

impl<R> Slot<R> {
    /// The reply, for the first to ask; `None` if it was given, or the reader is gone.
    pub(crate) fn take(&self) -> Option<R> {
        self.0.lock().take()
    }
}

trait Waits: Send + Sync {
    fn waits(&self) -> bool;
    fn interrupt(&self);
}

impl<R: Reply> Waits for Slot<R> {
    fn waits(&self) -> bool {
        self.0.lock().is_some()
    }

    fn interrupt(&self) {
        if let Some(reply) = self.take() {
            reply.refuse(Errno::EINTR);
        }
    }
}

/// The thread that sent the request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asker {
    /// Its number; zero if it lives in a process id namespace that we don't see. Such a thread is
    /// never interrupted, because its signals cannot be seen.
    pub(crate) thread: u32,
    /// Whether the kernel may ask on behalf of a load from a mapped file. The answer `EINTR` would
    /// be a `SIGBUS` there, so only a thread that dies anyway gets it.
    pub(crate) may_be_fault: bool,
}

/// A request that waits.
struct Waiter {
    asker: Asker,
    since: Instant,
    /// Whether `/proc` has shown its thread.
    seen: bool,
    slot: Arc<dyn Waits>,
}

/// The requests that wait. Answered ones stay until the next check.
#[derive(Default)]
struct Table {
    waiters: Vec<Waiter>,
    closed: bool,
}

#[derive(Default)]
struct Shared {
    table: Mutex<Table>,
    changed: Condvar,
}

/// The requests of a mount that wait, and the thread that looks after them.
pub(crate) struct Waiting {
    /// Whether `/proc` numbers threads as the kernel's requests do.
    sees: bool,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Waiting {
    pub(crate) fn start() -> std::io::Result<Waiting> {
        let shared = Arc::new(Shared::default());
        let watched = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("forebay-waiting".into()).spawn(move || watched.watch())?;
        Ok(Waiting { sees: sees_itself(), shared, thread: Some(thread) })
    }

    /// Calls `ask` for the contents of a reply. A reply that is given before `ask` returns costs
    /// only its slot.
    pub(crate) fn ask<R: Reply>(&self, asker: Asker, reply: R, ask: impl FnOnce(Arc<Slot<R>>)) {
        let slot = Arc::new(Slot(Mutex::new(Some(reply))));
        ask(Arc::clone(&slot));
        if asker.thread == 0 || !self.sees || !slot.waits() {
            return;
        }
        let mut table = self.shared.table.lock();
        if table.waiters.is_empty() {
            self.shared.changed.notify_one();
        }
        table.waiters.push(Waiter { asker, since: Instant::now(), seen: false, slot });
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.shared.table.lock().closed = true;
        self.shared.changed.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn watch(&self) {
        let mut table = self.table.lock();
        loop {
            while table.waiters.is_empty() && !table.closed {
                self.changed.wait(&mut table);
            }
            if table.closed {
                // The mount is gone, so the kernel has ended every request. The slots are emptied:
                // replies keep the kernel's device open, and a silent storage keeps the slots.
                return table.waiters.drain(..).for_each(|waiter| waiter.slot.interrupt());
            }
            self.changed.wait_for(&mut table, LOOK);
            table.waiters.retain(|waiter| waiter.slot.waits());
            let now = Instant::now();
            let old = |waiter: &mut Waiter| now.duration_since(waiter.since) >= LOOK;
            let mut overdue: Vec<Waiter> = table.waiters.extract_if(.., old).collect();
            if overdue.is_empty() {
                continue;
            }
            // Without the lock: a machine that is short of memory may take long to answer.
            drop(table);
            overdue.retain_mut(|waiter| !waiter.goes());
            table = self.table.lock();
            table.waiters.append(&mut overdue);
        }
    }
}

impl Waiter {
    /// Interrupts it if its reader wants to go.
    fn goes(&mut self) -> bool {
        let Asker { thread, may_be_fault } = self.asker;
        let goes = match Signals::of(thread) {
            Some(signals) => {
                self.seen = true;
                signals.kill() || signals.interrupt() && (!may_be_fault || in_system_call(thread))
            }
            // A thread that was never seen may be hidden from us (`hidepid`).
            None => self.seen,
        };
        if goes {
            self.slot.interrupt();
        }
        goes
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;

    /// Sends the errno that it was refused with.
    struct Told(Sender<Errno>);

    impl Reply for Told {
        fn refuse(self, errno: Errno) {
            self.0.send(errno).unwrap();
        }
    }

    fn asker(thread: u32) -> Asker {
        Asker { thread, may_be_fault: false }
    }

    /// Leaves a request open; returns the slot, and the reader's errno.
    fn open(waiting: &Waiting, thread: u32) -> (Arc<Slot<Told>>, Receiver<Errno>) {
        let ((send, told), mut kept) = (channel(), None);
        waiting.ask(asker(thread), Told(send), |slot| kept = Some(slot));
        (kept.unwrap(), told)
    }

    fn waiters(waiting: &Waiting) -> usize {
        waiting.shared.table.lock().waiters.len()
    }

    #[test]
    fn what_is_answered_leaves_no_trace() {
        let waiting = Waiting::start().unwrap();
        let own = std::process::id();
        waiting.ask(asker(own), Told(channel().0), |slot| drop(slot.take()));
        assert_eq!(waiters(&waiting), 0, "at once");
        let open: Vec<_> = (0..200).map(|_| open(&waiting, own)).collect();
        assert_eq!(waiters(&waiting), 200);
        std::thread::sleep(3 * LOOK);
        for (slot, told) in &open {
            assert!(told.try_recv().is_err() && slot.take().is_some(), "nothing is pending for this process");
        }
        std::thread::sleep(3 * LOOK);
        assert_eq!(waiters(&waiting), 0, "later");
        assert!(open.iter().all(|(slot, _)| Arc::strong_count(slot) == 1));
    }

    #[test]
    fn threads_that_we_cannot_see_wait_and_those_that_are_gone_do_not() {
        let waiting = Waiting::start().unwrap();
        assert_eq!((open(&waiting, 0).1.try_recv().is_err(), waiters(&waiting)), (true, 0));
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let ((_, hidden), (slot, gone)) = (open(&waiting, u32::MAX), open(&waiting, child.id()));
        std::thread::sleep(3 * LOOK);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(gone.recv_timeout(20 * LOOK).unwrap().code(), libc::EINTR);
        assert!(slot.take().is_none() && hidden.try_recv().is_err());
        drop(waiting);
        assert_eq!(hidden.try_recv().unwrap().code(), libc::EINTR, "the mount is gone");
    }
}
