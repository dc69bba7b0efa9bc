//! Reads by io_uring: any thread submits, one thread takes the completions.
//!
//! ```text
//!   read() ──▶ slot free? ──yes──▶ submission queue ──▶ kernel ──▶ completion queue ──▶ forebay-ring thread
//!                 │ no                    ▲                                                │
//!                 ▼                       └────── a slot became free, or a short read ◀────┤
//!               queue ────────────────────┘                                                ▼
//!                                                                                         done
//! ```
//!
//! A slot owns its read, and with it the memory that the kernel writes to, until the completion has
//! been taken.

use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use io_uring::{IoUring, Probe, opcode, types};
use parking_lot::Mutex;

use super::{Next, Queue, Read, Reader};

/// How many reads are under way at most. More than any one disk's queue; the rest wait where urgent
/// ones can overtake.
const SLOTS: u32 = 128;

/// The name of the completion that wakes the thread to stop.
const WAKE: u64 = u64::MAX;

/// An io_uring and the thread that takes its completions.
pub struct Ring {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    ring: IoUring,
    state: Mutex<State>,
}

/// The state under the lock, which also protects the submission queue.
struct State {
    slots: Vec<Option<Box<Read>>>,
    free: Vec<usize>,
    queue: Queue,
    stopping: bool,
}

impl Ring {
    /// Sets up a ring, if the kernel has one, lets us use it, and it can read into several pieces.
    pub fn new() -> io::Result<Ring> {
        // One entry more than there are slots, for the wake-up.
        let ring = IoUring::builder().dontfork().build(SLOTS + 1)?;
        let mut probe = Probe::new();
        ring.submitter().register_probe(&mut probe)?;
        if !probe.is_supported(opcode::Readv::CODE) {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let state = State {
            slots: (0..SLOTS).map(|_| None).collect(),
            free: (0..SLOTS as usize).rev().collect(),
            queue: Queue::default(),
            stopping: false,
        };
        let shared = Arc::new(Shared { ring, state: Mutex::new(state) });
        let thread = thread::Builder::new().name("forebay-ring".into()).spawn({
            let shared = Arc::clone(&shared);
            move || shared.work()
        })?;
        Ok(Ring { shared, thread: Some(thread) })
    }
}

impl Reader for Ring {
    fn read(&self, read: Read) {
        let mut state = self.shared.state.lock();
        state.queue.push(Box::new(read));
        self.shared.fill(&mut state);
    }

    fn name(&self) -> &'static str {
        "io_uring"
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        {
            let mut state = self.shared.state.lock();
            state.stopping = true;
            self.shared.push(&mut state, &opcode::Nop::new().build().user_data(WAKE));
            self.shared.submit();
        }
        // The last owner may be a `done` on the ring's own thread: that thread ends by itself.
        if let Some(thread) = self.thread.take_if(|thread| thread.thread().id() != thread::current().id()) {
            let _ = thread.join();
        }
    }
}

/// A read that is over.
struct Over {
    read: Box<Read>,
    outcome: io::Result<usize>,
}

impl Shared {
    /// Gives the kernel as much of the queue as there are slots for.
    fn fill(&self, state: &mut State) {
        let mut filled = false;
        while let Some(&slot) = state.free.last() {
            let Some(read) = state.queue.pop() else { break };
            state.free.pop();
            state.slots[slot] = Some(read);
            self.start(state, slot);
            filled = true;
        }
        if filled {
            self.submit();
        }
    }

    /// Puts the next attempt of a slot's read into the submission queue.
    fn start(&self, state: &mut State, slot: usize) {
        let read = state.slots[slot].as_mut().expect("only a slot in use is started");
        let offset = read.prepare();
        let entry =
            opcode::Readv::new(types::Fd(read.file.as_raw_fd()), read.pieces.as_ptr(), read.pieces.len() as u32)
                .offset(offset)
                .build()
                .user_data(slot as u64);
        self.push(state, &entry);
    }

    /// Takes the state only as proof of the lock.
    fn push(&self, _state: &mut State, entry: &io_uring::squeue::Entry) {
        // SAFETY: the submission queue is only used under the lock that the caller holds.
        // Descriptor, pieces and buffer belong to the slot, which keeps them until the completion
        // is taken.
        let pushed = unsafe { self.ring.submission_shared().push(entry) };
        pushed.expect("the queue has an entry for each slot and one for the wake-up, and whoever pushes submits");
    }

    /// Tells the kernel of the entries pushed. The kernel may be short of memory for a moment, but
    /// must take them: readers wait.
    fn submit(&self) {
        while let Err(error) = self.ring.submit() {
            match error.raw_os_error() {
                Some(libc::EINTR) => {}
                Some(libc::EAGAIN | libc::EBUSY) => thread::sleep(Duration::from_millis(1)),
                _ => return log::error!("io_uring takes no reads: {error}"),
            }
        }
    }

    fn work(&self) {
        loop {
            if let Err(error) = self.wait() {
                log::error!("io_uring gives no completions: {error}");
                thread::sleep(Duration::from_millis(100));
            }
            let mut over = Vec::new();
            {
                let mut state = self.state.lock();
                self.take(&mut state, &mut over);
                self.fill(&mut state);
                if over.is_empty() && state.is_over() {
                    return;
                }
            }
            for Over { read, outcome } in over {
                read.finish(outcome);
            }
        }
    }

    /// Waits for a completion, without submitting: the submission queue belongs to the holder of
    /// the lock.
    fn wait(&self) -> io::Result<()> {
        if self.state.lock().is_over() {
            return Ok(());
        }
        const GETEVENTS: u32 = 1;
        // SAFETY: no argument is passed that the kernel could read or write.
        match unsafe { self.ring.submitter().enter::<libc::sigset_t>(0, 1, GETEVENTS, None) } {
            Err(error) if !matches!(error.raw_os_error(), Some(libc::EINTR | libc::EAGAIN | libc::EBUSY)) => Err(error),
            _ => Ok(()),
        }
    }

    /// Takes all completions: starts the next attempt of unfinished reads, and moves those that are
    /// over into `over`.
    fn take(&self, state: &mut State, over: &mut Vec<Over>) {
        let mut again = false;
        // SAFETY: only the ring's thread uses the completion queue.
        for completion in unsafe { self.ring.completion_shared() } {
            if completion.user_data() == WAKE {
                continue;
            }
            let slot = completion.user_data() as usize;
            let read = state.slots[slot].as_mut().expect("a completion has its slot");
            let result = completion.result();
            let outcome = usize::try_from(result).map_err(|_| io::Error::from_raw_os_error(-result));
            match read.advance(outcome) {
                Next::Again => {
                    self.start(state, slot);
                    again = true;
                }
                Next::Over(outcome) => {
                    over.extend(state.slots[slot].take().map(|read| Over { read, outcome }));
                    state.free.push(slot);
                }
            }
        }
        if again {
            self.submit();
        }
    }
}

impl State {
    /// Whether the thread may end: no more reads will come, and none is under way.
    fn is_over(&self) -> bool {
        self.stopping && self.free.len() == self.slots.len()
    }
}
