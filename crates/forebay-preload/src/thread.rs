//! A thread's storage, and the steps before and after a call.
//!
//! A thread's storage says whether the library is at work in it: a signal handler that reads just
//! then passes straight through. A handler that reads while the thread waits in a call gets a
//! context of its own, and the call's context is back afterwards.

use std::cell::Cell;
use std::ffi::c_void;
use std::sync::atomic::{Ordering, compiler_fence};

use forebay_callers::Chunk;

use crate::identity;
use crate::process::{Process, process, recording};
use crate::record::Note;
use crate::unwind::stack::Bounds;
use crate::unwind::{self, Addresses, DEEPEST, Registers, Trace, here};

/// A thread's storage. Nothing in it needs to be dropped.
pub(crate) struct Thread {
    /// Where on the stack the library is at work; 0: it isn't.
    inside: Cell<usize>,
    life: Cell<u64>,
    pub tid: Cell<u32>,
    /// The context of the call that the thread is in, and where on the stack that was; 0: none.
    current: Cell<(u64, usize)>,
    bounds: Bounds,
    addresses: Addresses,
    /// Its stretch of the log.
    pub chunk: Cell<Option<Chunk>>,
}

thread_local! {
    static THREAD: Thread = const {
        Thread {
            inside: Cell::new(0),
            life: Cell::new(0),
            tid: Cell::new(0),
            current: Cell::new((0, 0)),
            bounds: Bounds::new(),
            addresses: [const { Cell::new(0) }; DEEPEST],
            chunk: Cell::new(None),
        }
    };
}

/// A call that is under way.
pub(crate) struct Entered {
    thread: *const Thread,
    context: u64,
    previous: (u64, usize),
    at: u64,
}

impl Thread {
    /// Does `work` unless the library is at work in this thread already.
    #[inline(always)]
    fn inside<T>(&self, work: impl FnOnce() -> Option<T>) -> Option<T> {
        // A handler runs below the code that it interrupted. If that is not above, a jump out of a
        // handler left the mark.
        let (outer, here) = (self.inside.get(), here());
        if outer > here.sp && !unwind::reaches(here, outer) {
            return None;
        }
        self.inside.set(here.sp);
        // A signal handler of this thread sees the flag before all of the work, and until after it.
        compiler_fence(Ordering::SeqCst);
        let done = work();
        compiler_fence(Ordering::SeqCst);
        self.inside.set(0);
        done
    }

    /// Makes sure that the storage is this process's: a fork leaves a copy of the parent's.
    #[inline(always)]
    fn belong(&self, process: &Process) -> Option<()> {
        let (life, first) = process.life();
        let life = life?;
        if self.life.get() != life {
            self.begin(process, life, first);
        }
        Some(())
    }

    #[cold]
    #[inline(never)]
    fn begin(&self, process: &Process, life: u64, first: Option<Chunk>) {
        self.tid.set(rustix::thread::gettid().as_raw_nonzero().get() as u32);
        self.current.set((0, 0));
        // The parent's stretch of the parent's log: this process has it mapped too.
        self.chunk.replace(first).into_iter().for_each(Chunk::unmap);
        self.life.set(life);
        process.attend_thread();
    }
}

/// Puts the thread into the context of `here`. `None` if there is to be no context: the caller just
/// makes its call.
#[inline(never)]
pub(crate) fn enter(here: Registers) -> Option<Entered> {
    let process = process()?;
    THREAD.with(|thread| {
        thread.inside(|| {
            thread.belong(process)?;
            let trace = Trace::take(here, &thread.bounds, &thread.addresses);
            let context = identity::of(process, thread, &trace);
            // An outer call that is still under way lies above on the stack. Another one was left
            // by a jump.
            let (outer, above) = thread.current.get();
            let previous = if above > here.sp { (outer, above) } else { (0, 0) };
            thread.current.set((context, here.sp));
            if let Some(table) = process.table.as_ref().filter(|_| context != 0) {
                table.set(thread.tid.get(), context);
            }
            let at = if recording() { forebay_callers::now() } else { 0 };
            Some(Entered { thread, context, previous, at })
        })
    })
}

/// Ends the call, and records it with `note`.
#[inline(never)]
pub(crate) fn leave(entered: &Entered, note: impl FnOnce(&Note<'_>)) {
    let Some(process) = process() else { return };
    // SAFETY: a thread returns from a call in the storage that it had when it began; also in a
    // forked child.
    let thread = unsafe { &*entered.thread };
    thread.inside(|| {
        // A child that was forked within the call (by a signal handler) has its own log and slot by
        // now.
        thread.belong(process)?;
        thread.current.set(entered.previous);
        if let Some(table) = &process.table {
            match entered.previous.0 {
                0 => table.clear(thread.tid.get()),
                outer => table.set(thread.tid.get(), outer),
            }
        }
        if recording() {
            note(&Note { process, thread, context: entered.context, at: entered.at });
        }
        Some(())
    });
}

/// Makes a call in the context of `here`.
#[inline(always)]
pub(crate) fn around<T>(here: Registers, real: impl FnOnce() -> T, note: impl FnOnce(&Note<'_>, &T)) -> T {
    let entered = enter(here);
    let result = real();
    if let Some(entered) = &entered {
        leave(entered, |call| note(call, &result));
    }
    result
}

/// Makes a call that needs a context only to be recorded.
#[inline(always)]
pub(crate) fn recorded<T>(here: Registers, real: impl FnOnce() -> T, note: impl FnOnce(&Note<'_>, &T)) -> T {
    if recording() { around(here, real, note) } else { real() }
}

/// A thread ends, in any way: its slot and its stretch of the log must not outlive it.
pub(crate) unsafe extern "C" fn ends(_: *mut c_void) {
    let Some(process) = process() else { return };
    THREAD.with(|thread| {
        thread.inside(|| {
            process.table.iter().for_each(|table| table.clear(thread.tid.get()));
            thread.chunk.take().into_iter().for_each(Chunk::unmap);
            // A read after this begins anew.
            thread.life.set(0);
            Some(())
        })
    });
}
