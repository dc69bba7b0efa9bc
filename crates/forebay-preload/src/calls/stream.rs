//! Streams of the C library, as far as their buffers tell whether a call will read.
//!
//! A stream's reads can't be seen: the C library does them inside. But every program compiled with
//! `getc_unlocked` relies on a stream's first members, so they stay as they are. The position of
//! the stream's descriptor before and after tells how much was read.

use std::ffi::{c_char, c_int, c_void};

use forebay_callers::Kind;
use libc::FILE;

use crate::process::recording;
use crate::record::{Note, position};
use crate::thread::around;
use crate::unwind::Registers;

/// The beginning of glibc's `struct _IO_FILE`.
#[repr(C)]
struct Stream {
    flags: c_int,
    read: *const c_char,
    read_end: *const c_char,
    read_base: *const c_char,
    write_base: *const c_char,
    write: *const c_char,
    write_end: *const c_char,
    buffer: *const c_char,
    buffer_end: *const c_char,
    save: [*const c_void; 3],
    markers: *const c_void,
    chain: *const c_void,
    descriptor: c_int,
}

/// The members of `file`, as they are at the moment. Another thread may be changing them, so they
/// are only advice.
fn members(file: *mut FILE) -> Option<Stream> {
    // SAFETY: null, or an open stream, which begins so.
    (!file.is_null()).then(|| unsafe { file.cast::<Stream>().read_volatile() })
}

/// The descriptor of `file`; -1: none.
pub(super) fn descriptor(file: *mut FILE) -> c_int {
    members(file).map_or(-1, |stream| stream.descriptor)
}

/// How much can be read from the buffer of `file`.
pub(super) fn buffered(file: *mut FILE) -> usize {
    members(file).map_or(0, |stream| (stream.read_end as usize).saturating_sub(stream.read as usize))
}

/// How long the buffer is that `file` was last filled with.
pub(super) fn filled(file: *mut FILE) -> usize {
    members(file).map_or(0, |stream| (stream.read_end as usize).saturating_sub(stream.read_base as usize))
}

/// How much waits in the buffer of `file` to be written.
pub(super) fn pending(file: *mut FILE) -> usize {
    members(file).map_or(0, |stream| (stream.write as usize).saturating_sub(stream.write_base as usize))
}

/// How much more can be written into the buffer of `file`.
pub(super) fn room(file: *mut FILE) -> usize {
    members(file).map_or(0, |stream| (stream.write_end as usize).saturating_sub(stream.write as usize))
}

/// Whether the first `most` bytes of the buffer of `file` hold a whole line, up to `end`, or the
/// buffer holds `most` bytes.
pub(super) fn has_line(file: *mut FILE, end: c_int, most: usize) -> bool {
    let Some(stream) = members(file) else { return false };
    let len = buffered(file);
    // SAFETY: so many bytes are in the buffer. (Of a stream that two threads read at once perhaps
    // fewer by now, but of the same buffer.)
    len >= most || len > 0 && !unsafe { libc::memchr(stream.read.cast(), end, len) }.is_null()
}

/// Reads from `file`, whose buffer does not hold enough.
#[inline(always)]
pub(super) fn fills<T>(here: Registers, file: *mut FILE, real: impl FnOnce() -> T) -> T {
    let before = before(file);
    around(here, real, |call, _| moved(call, Kind::Stdio, file, before))
}

/// Moves the place of `file`, for which the C library may fill the buffer around the new one.
#[inline(always)]
pub(super) fn seeks<T>(here: Registers, file: *mut FILE, real: impl FnOnce() -> T) -> T {
    let before = before(file);
    around(here, real, |call, _| {
        let (len, fd) = (filled(file) as u64, descriptor(file));
        if let Some(after) = position(fd).filter(|after| before.is_some_and(|before| before != *after) && len > 0) {
            call.range(Kind::Stdio, fd, after.saturating_sub(len), len);
        }
    })
}

/// The position of the descriptor of `file`, if it will be needed.
#[inline(always)]
pub(super) fn before(file: *mut FILE) -> Option<u64> {
    if recording() { position(descriptor(file)) } else { None }
}

/// Records how far the descriptor of `file` moved.
pub(super) fn moved(call: &Note<'_>, kind: Kind, file: *mut FILE, before: Option<u64>) {
    let fd = descriptor(file);
    if let (Some(before), Some(after)) = (before, position(fd))
        && after > before
    {
        call.range(kind, fd, before, after - before);
    }
}
