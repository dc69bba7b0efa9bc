//! A call for the log: the file of its descriptor, and its bytes.
//!
//! Device, inode and time of birth tell files apart. They are asked for at each call: a
//! descriptor's number may mean another file at any time, in ways that can't be seen from here.
//! Only regular files and block devices are recorded.

use std::ffi::{c_int, c_void};
use std::sync::atomic::Ordering;

use forebay_callers::{Call, Chunk, FileName, Kind, Subject, Text, mix};
use rustix::fd::BorrowedFd;
use rustix::fs::{AtFlags, CWD, FileType, StatxFlags};

use crate::memory;
use crate::process::{FILES, Process};
use crate::thread::Thread;

/// A call that is recorded: its process and thread, and when it began.
pub(crate) struct Note<'a> {
    pub process: &'a Process,
    pub thread: &'a Thread,
    pub context: u64,
    pub at: u64,
}

/// How many slots are searched for a file.
const PROBES: usize = 16;

impl Note<'_> {
    /// Records `len` bytes at `offset` of the file of `fd`.
    pub(crate) fn range(&self, kind: Kind, fd: c_int, offset: u64, len: u64) {
        let Some(file) = self.number(fd) else { return };
        let (at, tid, context) = (self.at, self.thread.tid.get(), self.context);
        let call = Call { at, pid: 0, tid, context, file: file as usize, offset, len, kind };
        self.write(1, |chunk| chunk.call(&call));
    }

    /// Records as many bytes as the call returned, at the descriptor's position.
    pub(crate) fn moved(&self, kind: Kind, fd: c_int, result: isize) {
        if result > 0
            && let Some(position) = position(fd)
        {
            self.range(kind, fd, position.saturating_sub(result as u64), result as u64);
        }
    }

    /// Records as many bytes as the call returned, at its own offset; a negative offset stands for
    /// the position.
    pub(crate) fn placed(&self, kind: Kind, fd: c_int, offset: i64, result: isize) {
        match u64::try_from(offset) {
            Ok(offset) if result > 0 => self.range(kind, fd, offset, result as u64),
            Ok(_) => {}
            Err(_) => self.moved(kind, fd, result),
        }
    }

    /// Records as many bytes as the call returned, at the start of `offset`, which the call moved
    /// on; null stands for the position.
    pub(crate) fn pointed(&self, kind: Kind, fd: c_int, offset: *const i64, result: isize) {
        // SAFETY: null, or the place that the kernel has just written to.
        match unsafe { offset.as_ref() } {
            Some(offset) => self.placed(kind, fd, offset.saturating_sub(result as i64).max(0), result),
            None => self.moved(kind, fd, result),
        }
    }

    /// Records that a file was opened as `fd`.
    pub(crate) fn opened(&self, fd: c_int) {
        self.range(Kind::Open, fd, 0, 0);
    }

    /// Writes to the thread's stretch of the log, and to the next one if there is no room for
    /// `slots`.
    pub(crate) fn write(&self, slots: usize, put: impl Fn(&mut Chunk) -> bool) {
        let mut chunk = self.thread.chunk.take();
        if chunk.as_ref().is_none_or(|chunk| chunk.left() < slots) {
            let next = self.process.log().and_then(|log| log.chunk(chunk.as_ref().map_or(0, Chunk::bytes)));
            if next.is_some() {
                std::mem::replace(&mut chunk, next).into_iter().for_each(Chunk::unmap);
            }
        }
        // Without room nothing is written, and the next call tries again.
        let _ = chunk.as_mut().is_some_and(put);
        self.thread.chunk.set(chunk);
    }

    /// The number of the file of `fd`. A file without a number gets one, and its name goes into the
    /// log.
    fn number(&self, fd: c_int) -> Option<u32> {
        let fd = borrowed(fd)?;
        let wanted = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
        let stat = rustix::fs::statx(fd, c"", AtFlags::EMPTY_PATH, wanted).ok()?;
        let kind = FileType::from_raw_mode(stat.stx_mode.into());
        if !matches!(kind, FileType::RegularFile | FileType::BlockDevice) {
            return None;
        }
        let device = rustix::fs::makedev(stat.stx_dev_major, stat.stx_dev_minor);
        let tells = stat.stx_mask & StatxFlags::BTIME.bits() != 0;
        let born =
            if tells { stat.stx_btime.tv_sec as u64 * 1_000_000_000 + u64::from(stat.stx_btime.tv_nsec) } else { 0 };
        let hash = mix(mix(mix(device) ^ stat.stx_ino) ^ born) | 1;
        let young = self.process.young();
        let slots = (0..PROBES).map(|step| (hash as usize >> 8).wrapping_add(step) % FILES);
        for slot in slots {
            match young.files[slot].compare_exchange(0, hash, Ordering::Relaxed, Ordering::Relaxed) {
                Err(there) if there == hash => return Some(slot as u32),
                Err(_) => {}
                Ok(_) => {
                    self.name(
                        fd,
                        FileName { number: slot as u32, device, inode: stat.stx_ino, size: stat.stx_size, born },
                    );
                    return Some(slot as u32);
                }
            }
        }
        // No room: the file gets a new number at each call.
        let number = young.unslotted.fetch_add(1, Ordering::Relaxed).wrapping_add(FILES as u32);
        self.name(fd, FileName { number, device, inode: stat.stx_ino, size: stat.stx_size, born });
        Some(number)
    }

    /// Writes the description of a file.
    fn name(&self, fd: BorrowedFd<'_>, file: FileName) {
        self.write(1, |chunk| chunk.file(file));
        const PATH: usize = 4096;
        let Some(pages) = memory::pages(PATH) else { return };
        // SAFETY: fresh pages of this length.
        let path = unsafe { std::slice::from_raw_parts_mut(pages, PATH) };
        let mut memory = [0; 40];
        let mut link = Text::new(&mut memory[..39]);
        link.bytes(b"/proc/thread-self/fd/");
        link.decimal(std::os::fd::AsRawFd::as_raw_fd(&fd) as u64);
        if let Ok(link) = std::ffi::CStr::from_bytes_until_nul(&memory)
            && let Ok(len) = rustix::fs::readlinkat_raw(CWD, link, &mut *path)
        {
            let path = &path[..len];
            self.write(Chunk::slots(path), |chunk| chunk.text(Subject::File, u64::from(file.number), path));
        }
        // SAFETY: the pages of above, which nothing refers to any more.
        unsafe { memory::free(pages, PATH) };
    }
}

/// A descriptor of the program's.
fn borrowed<'a>(fd: c_int) -> Option<BorrowedFd<'a>> {
    // SAFETY: not -1; it is used for the call at hand only, and a descriptor that is closed is an
    // error like others.
    (fd >= 0).then(|| unsafe { BorrowedFd::borrow_raw(fd) })
}

/// The position of a descriptor.
pub(crate) fn position(fd: c_int) -> Option<u64> {
    rustix::fs::tell(borrowed(fd)?).ok()
}

/// Whether a mapping was made.
pub(crate) fn mapped(address: *mut c_void) -> bool {
    address != libc::MAP_FAILED
}
