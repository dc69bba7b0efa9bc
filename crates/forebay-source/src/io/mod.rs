//! Reads from files, many at a time: an io_uring where the kernel has one (`ring`), else threads
//! that call `preadv` (`pool`).
//!
//! Both take a [`Read`], serve urgent ones first when there are more than they can have under way,
//! and call its `done` exactly once, on a thread of theirs. Dropping a reader first finishes
//! everything that it was given.

mod pool;
mod ring;

use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::Segments;
use crate::shared::Shared;

pub use pool::Pool;
pub use ring::Ring;

/// The most pieces that one system call takes (`IOV_MAX`).
const PIECES: usize = 1024;

/// The alignment from which a read that stopped short goes on: direct reads accept nothing else.
const SECTOR: usize = 4096;

/// How often one read goes on after passing errors. They are rare; a file system that always gives
/// one must not make us spin.
const PATIENCE: u32 = 64;

/// Called with the buffer and how many bytes of it were filled; fewer than asked for means that the
/// file ends there.
pub type Done = Box<dyn FnOnce(Segments, io::Result<usize>) + Send>;

/// Something that reads files.
pub trait Reader: Send + Sync + 'static {
    /// Starts a read.
    fn read(&self, read: Read);
    /// The reader's name in messages and measurements.
    fn name(&self) -> &'static str;
}

/// The reader of this process: all local sources share one, and it ends with the last of them.
///
/// Every open file costs a descriptor, so this also raises the soft limit of descriptors to the
/// hard one.
pub fn shared() -> io::Result<Arc<dyn Reader>> {
    static SHARED: Shared<dyn Reader> = Shared::new();
    SHARED.get(|| {
        raise_descriptor_limit();
        Ok(match Ring::new() {
            Ok(ring) => Arc::new(ring),
            Err(error) => {
                log::info!("no io_uring ({error}): reading files with a pool of threads");
                Arc::new(Pool::new(pool::THREADS)?)
            }
        })
    })
}

fn raise_descriptor_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum }) {
        log::warn!("cannot raise the limit of open files to {:?}: {error}", limit.maximum);
    }
}

/// One read, and its progress.
pub struct Read {
    file: Arc<OwnedFd>,
    offset: u64,
    buffer: Segments,
    wanted: usize,
    urgent: bool,
    done: Done,
    filled: usize,
    /// The start of the attempt under way: `filled`, rounded down to a sector.
    from: usize,
    pieces: Vec<libc::iovec>,
    /// Passing errors until now.
    disturbed: u32,
}

// SAFETY: the raw pointers in `pieces` point into `buffer`, which may be sent itself.
unsafe impl Send for Read {}

/// The next step after an attempt.
enum Next {
    /// Another one, for the rest.
    Again,
    /// Nothing: it is over.
    Over(io::Result<usize>),
}

impl Read {
    /// A read of `file` from `offset` into all of `buffer`, of which at least `wanted` bytes are
    /// expected before the end of the file.
    pub fn new(file: Arc<OwnedFd>, offset: u64, buffer: Segments, wanted: usize, urgent: bool, done: Done) -> Read {
        Read { file, offset, buffer, wanted, urgent, done, filled: 0, from: 0, pieces: Vec::new(), disturbed: 0 }
    }

    /// Lays out the next attempt: the file offset of its first byte; its memory is in `pieces`.
    fn prepare(&mut self) -> u64 {
        self.from = self.filled / SECTOR * SECTOR;
        self.pieces.clear();
        let mut skip = self.from;
        for part in self.buffer.parts() {
            if self.pieces.len() == PIECES {
                break;
            }
            let len = part.len();
            if skip >= len {
                skip -= len;
                continue;
            }
            let base = part.cast::<u8>().wrapping_add(skip).cast();
            self.pieces.push(libc::iovec { iov_base: base, iov_len: len - skip });
            skip = 0;
        }
        self.offset + self.from as u64
    }

    /// Takes in the outcome of an attempt. A read may stop short without being at the end of the
    /// file (a signal, `IOV_MAX`, 2 GiB); it is at the end when another attempt brings nothing new.
    fn advance(&mut self, outcome: io::Result<usize>) -> Next {
        let reached = match outcome {
            Ok(bytes) => self.from + bytes,
            Err(error) if is_passing(&error) && self.disturbed < PATIENCE => {
                self.disturbed += 1;
                return Next::Again;
            }
            Err(error) => return Next::Over(Err(error)),
        };
        let advanced = reached > self.filled;
        self.filled = self.filled.max(reached);
        if advanced && self.filled < self.wanted { Next::Again } else { Next::Over(Ok(self.filled)) }
    }

    /// Fills its memory on this thread; how much of it, [`finish`](Read::finish) is told.
    pub fn fill(&mut self) -> io::Result<usize> {
        loop {
            let outcome = pool::attempt(self);
            if let Next::Over(outcome) = self.advance(outcome) {
                return outcome;
            }
        }
    }

    /// The file.
    pub fn file(&self) -> &OwnedFd {
        &self.file
    }

    /// Reports to the receiver. A panic of the receiver must not end the thread that all reads
    /// depend on.
    pub fn finish(self, outcome: io::Result<usize>) {
        let Read { buffer, done, .. } = self;
        if catch_unwind(AssertUnwindSafe(|| done(buffer, outcome))).is_err() {
            log::error!("a receiver of a read panicked");
        }
    }
}

/// Whether to try again at once. Reads that a thread submitted to a ring are cancelled when that
/// thread ends, or fail with EFAULT, since then nothing connects them with our memory; the ring's
/// own thread submits them anew.
fn is_passing(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EINTR | libc::EAGAIN | libc::ECANCELED | libc::EFAULT))
}

/// Reads that wait for their turn: in order, urgent ones first.
#[derive(Default)]
struct Queue {
    urgent: VecDeque<Box<Read>>,
    rest: VecDeque<Box<Read>>,
}

impl Queue {
    fn push(&mut self, read: Box<Read>) {
        if read.urgent { self.urgent.push_back(read) } else { self.rest.push_back(read) }
    }

    fn pop(&mut self) -> Option<Box<Read>> {
        self.urgent.pop_front().or_else(|| self.rest.pop_front())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(wanted: usize) -> Read {
        let file = Arc::new(OwnedFd::from(std::fs::File::open("/dev/null").unwrap()));
        Read::new(file, 1 << 20, Segments::own(wanted), wanted, false, Box::new(|_, _| ()))
    }

    #[test]
    fn a_short_read_goes_on_from_a_sector() {
        let mut read = read(20_000);
        assert_eq!(read.prepare(), 1 << 20);
        assert!(matches!(read.advance(Ok(5000)), Next::Again));
        assert_eq!(read.prepare(), (1 << 20) + 4096);
        assert_eq!(read.pieces[0].iov_len, read.buffer.len() - 4096);
        assert!(matches!(read.advance(Ok(20_000 - 4096)), Next::Over(Ok(20_000))));
    }

    #[test]
    fn a_read_that_brings_nothing_new_is_at_the_end() {
        let mut read = read(20_000);
        read.prepare();
        assert!(matches!(read.advance(Ok(5000)), Next::Again));
        read.prepare();
        assert!(matches!(read.advance(Ok(904)), Next::Over(Ok(5000))));
    }

    #[test]
    fn passing_errors_are_tried_again_and_others_reported() {
        let mut read = read(4096);
        read.prepare();
        assert!(matches!(read.advance(Err(io::Error::from_raw_os_error(libc::EINTR))), Next::Again));
        assert!(matches!(read.advance(Err(io::Error::from_raw_os_error(libc::EIO))), Next::Over(Err(_))));
    }

    #[test]
    fn urgent_reads_overtake() {
        let mut queue = Queue::default();
        for (wanted, urgent) in [(1, false), (2, true), (3, false), (4, true)] {
            queue.push(Box::new(Read { urgent, ..read(wanted) }));
        }
        let order: Vec<usize> = std::iter::from_fn(|| queue.pop()).map(|read| read.wanted).collect();
        assert_eq!(order, [2, 4, 1, 3]);
    }
}
