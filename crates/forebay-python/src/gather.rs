//! Reads of many ranges at once: pieces under way side by side, copied as they arrive.
//!
//! A lease holds frames that other reads may wait for. So a lease is copied and let go as soon as
//! it comes, in whichever order they come, and none is held while another is waited for.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use forebay_cli::embedded::Opened;
use forebay_live::engine::Lease;
use forebay_source::{Error, Result};
use pyo3::prelude::*;

use crate::failure::of_source;
use crate::wait::wait;

/// Bytes of a piece: the engine reads as many whole.
const PIECE: usize = 1 << 20;

/// Pieces under way at once, at most.
const PIECES: usize = 64;

/// A range to be read into memory.
pub(crate) struct Part {
    pub(crate) file: Arc<Opened>,
    pub(crate) offset: u64,
    /// Not beyond the end of the file.
    pub(crate) len: usize,
    pub(crate) to: Destination,
}

/// Memory for the bytes of a part.
#[derive(Clone, Copy)]
pub(crate) struct Destination(*mut u8);

// SAFETY: the memory belongs to the call of `gather`, which alone writes to it.
unsafe impl Send for Destination {}
// SAFETY: the same.
unsafe impl Sync for Destination {}

impl Destination {
    /// # Safety
    ///
    /// Until `gather` returns, nothing else touches the memory, and it is as long as the part.
    pub(crate) unsafe fn new(start: *mut u8) -> Destination {
        Destination(start)
    }

    fn after(self, bytes: usize) -> Destination {
        Destination(self.0.wrapping_add(bytes))
    }

    /// Copies a lease; returns its length.
    fn fill(self, lease: &Lease, most: usize) -> usize {
        let mut done = 0;
        for slice in lease.slices() {
            let len = slice.len().min(most - done);
            // SAFETY: the piece, which is `most` bytes long, lies within the part's memory.
            unsafe { std::ptr::copy_nonoverlapping(slice.as_ptr(), self.0.wrapping_add(done), len) };
            done += len;
        }
        done
    }
}

/// A piece's answer, with its number.
type Answer = (usize, Result<Lease>);

/// Reads all parts. Waits without Python's lock, and gives up on Ctrl-C. `memory` is the cache's.
pub(crate) fn gather(py: Python<'_>, parts: Vec<Part>, memory: u64) -> PyResult<()> {
    let most = usize::try_from(memory / 8).unwrap_or(usize::MAX) / PIECE;
    let most = most.clamp(1, PIECES);
    // Every piece under way has room for its answer, so no thread of the engine waits here.
    let (send, mut receive) = sync_channel(most);
    let mut run = Run { waiting: pieces(parts), under_way: Vec::new(), free: Vec::new(), send };
    run.under_way.resize_with(most, || None);
    run.free.extend(0..most);
    let mut answer = None;
    loop {
        let (run, answers, arrived) = (&mut run, &mut receive, answer.take());
        if !py.detach(move || run.advance(answers, arrived)).map_err(of_source)? {
            return Ok(());
        }
        answer = wait(py, &mut receive, || false)?;
    }
}

/// A part of a part.
struct Piece {
    file: Arc<Opened>,
    offset: u64,
    len: usize,
    to: Destination,
}

fn pieces(parts: Vec<Part>) -> VecDeque<Piece> {
    let of_part = |part: Part| {
        let count = part.len.div_ceil(PIECE);
        (0..count).map(move |number| {
            let at = number * PIECE;
            let len = PIECE.min(part.len - at);
            Piece { file: Arc::clone(&part.file), offset: part.offset + at as u64, len, to: part.to.after(at) }
        })
    };
    parts.into_iter().flat_map(of_part).collect()
}

struct Run {
    waiting: VecDeque<Piece>,
    under_way: Vec<Option<Piece>>,
    /// The empty places of `under_way`.
    free: Vec<usize>,
    send: SyncSender<Answer>,
}

impl Run {
    /// Copies what has arrived and asks for more; returns whether something is still under way.
    fn advance(&mut self, answers: &mut Receiver<Answer>, mut arrived: Option<Answer>) -> Result<bool> {
        loop {
            if let Some((place, lease)) = arrived {
                self.copy(place, lease)?;
            }
            self.ask();
            arrived = match answers.try_recv() {
                Ok(answer) => Some(answer),
                Err(_) => return Ok(self.free.len() < self.under_way.len()),
            };
        }
    }

    fn ask(&mut self) {
        // SAFETY: asks the kernel for this thread's number.
        let reader = unsafe { libc::gettid() } as u32;
        while let (Some(&place), false) = (self.free.last(), self.waiting.is_empty()) {
            let Some(piece) = self.waiting.pop_front() else { return };
            self.free.pop();
            let (file, offset, len) = (Arc::clone(&piece.file), piece.offset, piece.len);
            self.under_way[place] = Some(piece);
            let send = self.send.clone();
            file.read_then(reader, offset, len, move |lease| {
                // If the call has been given up, the lease ends here.
                let _ = send.send((place, lease));
            });
        }
    }

    fn copy(&mut self, place: usize, lease: Result<Lease>) -> Result<()> {
        let Some(piece) = self.under_way.get_mut(place).and_then(Option::take) else { return Ok(()) };
        self.free.push(place);
        let lease = lease.map_err(|error| of_file(&piece.file, error))?;
        let done = piece.to.fill(&lease, piece.len);
        if done == piece.len {
            return Ok(());
        }
        if done == 0 {
            return Err(of_file(&piece.file, Error::Refused { name: String::new(), errno: libc::EIO }));
        }
        let (offset, to, len) = (piece.offset + done as u64, piece.to.after(done), piece.len - done);
        self.waiting.push_front(Piece { offset, to, len, ..piece });
        Ok(())
    }
}

/// The error of a read, which the engine keeps only as a number, with the name of its file.
pub(crate) fn of_file(file: &Opened, error: Error) -> Error {
    let name = file.attributes().identity.name.to_string();
    match error {
        Error::NotFound(_) => Error::NotFound(name),
        Error::Denied(_) => Error::Denied(name),
        Error::Stale(_) => Error::Stale(name),
        Error::Refused { errno: libc::EIO, .. } => {
            Error::Storage { name, reason: "the storage failed; logger 'forebay' says why".into() }
        }
        Error::Refused { errno, .. } => Error::Refused { name, errno },
        other => other,
    }
}
