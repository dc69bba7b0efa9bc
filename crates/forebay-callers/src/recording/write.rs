//! The writers' half of a recording.

use std::ffi::CStr;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{FallocateFlags, OFlags};
use rustix::mm::{MapFlags, ProtFlags};

use super::slot::{BYTES, FILE, FileName, MAGIC, PIECE, Subject, TEXT, WORDS};
use crate::Call;
use crate::descriptor::{Descriptor, may_reach};
use crate::text::Text;

/// Both whole pages and whole slots.
const UNIT: usize = 12 << 10;
/// How much a thread gets at first: 1,024 slots; and at most: 32,768.
const FIRST: usize = 4 * UNIT;
const LARGEST: usize = 128 * UNIT;

/// The log of one process.
#[derive(Debug)]
pub struct LogFile {
    path: [u8; 1024],
    end: AtomicU64,
}

impl LogFile {
    /// Begins the log of process `pid` in `folder`, whose program is `program` (`path TAB build`),
    /// now. `None` if that is not possible.
    pub fn begin(folder: &[u8], pid: u32, parent: u32, program: &[u8]) -> Option<(LogFile, Chunk)> {
        let began = now();
        let mut log = LogFile { path: [0; 1024], end: AtomicU64::new(0) };
        let mut name = Text::new(&mut log.path[..1023]);
        name.bytes(folder);
        name.byte(b'/');
        name.decimal(u64::from(pid));
        name.byte(b'-');
        name.decimal(began);
        name.bytes(b".calls");
        if name.is_full() {
            return None;
        }
        let file = Descriptor::open(log.path()?, OFlags::RDWR | OFlags::CREATE | OFlags::EXCL).ok()?;
        let mut chunk = log.stretch(&file, FIRST)?;
        chunk.push([MAGIC, u64::from(pid), began, u64::from(parent), 1, 0]);
        chunk.text(Subject::Program, 0, program);
        Some((log, chunk))
    }

    fn path(&self) -> Option<&CStr> {
        CStr::from_bytes_until_nul(&self.path).ok()
    }

    /// A stretch for a thread whose last one had `before` bytes (0: none). `None` if there is no
    /// room, or the file can't be opened.
    pub fn chunk(&self, before: usize) -> Option<Chunk> {
        let file = Descriptor::open(self.path()?, OFlags::RDWR).ok()?;
        self.stretch(&file, (before * 4).clamp(FIRST, LARGEST))
    }

    fn stretch(&self, file: &Descriptor, bytes: usize) -> Option<Chunk> {
        let at = self.end.fetch_add(bytes as u64, Ordering::Relaxed);
        if !may_reach(at + bytes as u64) {
            return None;
        }
        // Reserves its room on the disk, so that storing into the mapping can't fail.
        rustix::fs::fallocate(file, FallocateFlags::empty(), at, bytes as u64).ok()?;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a fresh mapping wherever there is room.
        let base = unsafe { rustix::mm::mmap(std::ptr::null_mut(), bytes, protection, MapFlags::SHARED, file, at) };
        Some(Chunk { base: base.ok()?.cast(), bytes, used: 0 })
    }
}

/// Nanoseconds of the monotonic clock. Asked of the C library: to find the kernel's clock by
/// itself, `rustix` reads the process's auxiliary vector where the kernel has it, which crashes
/// under valgrind.
#[inline]
pub fn now() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the time is written into a place that is there.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// A stretch of a log that one thread writes. It must be given back by [`Chunk::unmap`]; dropping
/// it does nothing, so that it can lie in a thread's storage without a destructor.
#[derive(Debug)]
pub struct Chunk {
    base: *mut u8,
    bytes: usize,
    used: usize,
}

impl Chunk {
    /// Its length, bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// How many more slots it has room for.
    pub fn left(&self) -> usize {
        (self.bytes - self.used) / BYTES
    }

    /// Takes the mapping down.
    pub fn unmap(self) {
        // SAFETY: the mapping is ours, and `self` was the only way to it.
        let _ = unsafe { rustix::mm::munmap(self.base.cast(), self.bytes) };
    }

    /// Writes a slot; returns whether there was room.
    fn push(&mut self, words: [u64; WORDS]) -> bool {
        if self.left() == 0 {
            return false;
        }
        // SAFETY: `left` says that a slot from here lies within the mapping; slots are aligned to 8
        // bytes.
        let slot = unsafe { &*self.base.add(self.used).cast::<[AtomicU64; WORDS]>() };
        for (word, value) in slot.iter().zip(words).skip(1) {
            word.store(value, Ordering::Relaxed);
        }
        slot[0].store(words[0], Ordering::Release);
        self.used += BYTES;
        true
    }

    /// Writes a call, whose `file` is by this process's numbers; returns whether there was room.
    /// The process is the log's.
    pub fn call(&mut self, call: &Call) -> bool {
        let head = u64::from(call.kind as u8) | u64::from(call.tid) << 32;
        self.push([head, call.at, call.context, call.file as u64, call.offset, call.len])
    }

    /// Writes the description of a file; returns whether there was room.
    pub fn file(&mut self, file: FileName) -> bool {
        self.push([u64::from(FILE), u64::from(file.number), file.device, file.inode, file.size, file.born])
    }

    /// How many slots a text takes.
    pub fn slots(text: &[u8]) -> usize {
        text.len().div_ceil(TEXT)
    }

    /// Writes text about subject `number`; returns whether there was room for all of it. Else it
    /// writes nothing.
    pub fn text(&mut self, subject: Subject, number: u64, text: &[u8]) -> bool {
        if self.left() < Chunk::slots(text) {
            return false;
        }
        for (index, piece) in text.chunks(TEXT).enumerate() {
            let mut bytes = [0; TEXT];
            bytes[..piece.len()].copy_from_slice(piece);
            let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| bytes[at * 8 + byte]));
            let head = u64::from(PIECE) | u64::from(subject as u8) << 8 | (piece.len() as u64) << 16;
            self.push([head | (index as u64) << 32, number, word(0), word(1), word(2), word(3)]);
        }
        true
    }
}
