//! Writing, which is recorded and otherwise left alone.

use std::ffi::{c_char, c_int, c_void};

use forebay_callers::Kind;
use libc::{FILE, SYS_pwrite64, SYS_write, iovec, off_t, off64_t, size_t, ssize_t, syscall};

use super::descriptors::missing;
use super::stream::{before, moved, pending, room};
use crate::process::recording;
use crate::real::interpose;
use crate::record::position;
use crate::thread::{around, recorded};
use crate::unwind::Registers;

interpose! {
    write(fd: c_int, bytes: *const c_void, len: size_t) -> ssize_t,
        // SAFETY: as the C library does it, too early to look into the library.
        or unsafe { syscall(SYS_write, fd, bytes, len) as ssize_t },
        |here, real| recorded(here, real, |call, result| call.moved(Kind::Write, fd, *result));
    pwrite(fd: c_int, bytes: *const c_void, len: size_t, offset: off_t) -> ssize_t,
        // SAFETY: as `write`.
        or unsafe { syscall(SYS_pwrite64, fd, bytes, len, offset) as ssize_t },
        |here, real| recorded(here, real, |call, result| call.placed(Kind::Write, fd, offset, *result));
    pwrite64(fd: c_int, bytes: *const c_void, len: size_t, offset: off64_t) -> ssize_t,
        // SAFETY: as `write`.
        or unsafe { syscall(SYS_pwrite64, fd, bytes, len, offset) as ssize_t },
        |here, real| recorded(here, real, |call, result| call.placed(Kind::Write, fd, offset, *result));
    writev(fd: c_int, parts: *const iovec, count: c_int) -> ssize_t, or missing(),
        |here, real| recorded(here, real, |call, result| call.moved(Kind::Write, fd, *result));
    pwritev(fd: c_int, parts: *const iovec, count: c_int, offset: off_t) -> ssize_t, or missing(),
        |here, real| recorded(here, real, |call, result| call.placed(Kind::Write, fd, offset, *result));
    pwritev64(fd: c_int, parts: *const iovec, count: c_int, offset: off64_t) -> ssize_t, or missing(),
        |here, real| recorded(here, real, |call, result| call.placed(Kind::Write, fd, offset, *result));
    pwritev2(fd: c_int, parts: *const iovec, count: c_int, offset: off_t, flags: c_int) -> ssize_t, or missing(),
        |here, real| recorded(here, real, |call, result| call.placed(Kind::Write, fd, offset, *result));
    pwritev64v2(fd: c_int, parts: *const iovec, count: c_int, offset: off64_t, flags: c_int) -> ssize_t, or missing(),
        |here, real| recorded(here, real, |call, result| call.placed(Kind::Write, fd, offset, *result));

    fwrite(from: *const c_void, size: size_t, count: size_t, file: *mut FILE) -> size_t, or 0,
        |here, real| drains(here, file, size.saturating_mul(count), real);
    fwrite_unlocked(from: *const c_void, size: size_t, count: size_t, file: *mut FILE) -> size_t, or 0,
        |here, real| drains(here, file, size.saturating_mul(count), real);
    fputs(text: *const c_char, file: *mut FILE) -> c_int, or libc::EOF, |here, real| drains(here, file, len(text), real);
    fputs_unlocked(text: *const c_char, file: *mut FILE) -> c_int, or libc::EOF,
        |here, real| drains(here, file, len(text), real);
    fputc(byte: c_int, file: *mut FILE) -> c_int, or libc::EOF, |here, real| drains(here, file, 1, real);
    putc(byte: c_int, file: *mut FILE) -> c_int, or libc::EOF, |here, real| drains(here, file, 1, real);
    fputc_unlocked(byte: c_int, file: *mut FILE) -> c_int, or libc::EOF, |here, real| drains(here, file, 1, real);
    putc_unlocked(byte: c_int, file: *mut FILE) -> c_int, or libc::EOF, |here, real| drains(here, file, 1, real);
    // The function that the macro `putc_unlocked` calls if the buffer is full.
    __overflow(file: *mut FILE, byte: c_int) -> c_int, or libc::EOF, |here, real| drains(here, file, usize::MAX, real);
    fflush(file: *mut FILE) -> c_int, or libc::EOF, |here, real| if file.is_null() || pending(file) == 0 { real() } else {
        drains(here, file, usize::MAX, real)
    };
    // Afterwards the stream cannot be asked, so bytes that wait to be written count as written.
    fclose(file: *mut FILE) -> c_int, or libc::EOF, |here, real| if !recording() || pending(file) == 0 { real() } else {
        let (fd, waiting) = (super::stream::descriptor(file), pending(file));
        around(here, || (), |call, ()| if let Some(at) = position(fd) { call.range(Kind::Write, fd, at, waiting as u64) });
        real()
    };
}

/// Writes `len` bytes into `file`, which may have to make room.
#[inline(always)]
fn drains<T>(here: Registers, file: *mut FILE, len: usize, real: impl FnOnce() -> T) -> T {
    if !recording() || room(file) > len {
        return real();
    }
    let before = before(file);
    around(here, real, |call, _| moved(call, Kind::Write, file, before))
}

fn len(text: *const c_char) -> usize {
    // SAFETY: the text that the program is about to write.
    if recording() && !text.is_null() { unsafe { libc::strlen(text) } } else { 0 }
}
