//! Reading by descriptors: `read`, `pread`, `readv`, `preadv`, `mmap`, `sendfile`,
//! `copy_file_range`, `splice`, and calls that bring bytes into the kernel's memory without reading
//! them.

use std::ffi::{c_int, c_uint, c_void};

use forebay_callers::Kind;
use libc::{SYS_mmap, SYS_pread64, SYS_read, iovec, loff_t, off_t, off64_t, size_t, ssize_t, syscall};

use crate::real::interpose;
use crate::record::mapped;
use crate::thread::around;

interpose! {
    read(fd: c_int, bytes: *mut c_void, len: size_t) -> ssize_t,
        // SAFETY: as the C library does it; the call may come too early to look into the library.
        or unsafe { syscall(SYS_read, fd, bytes, len) as ssize_t },
        |here, real| around(here, real, |call, result| call.moved(Kind::Read, fd, *result));
    __read_chk(fd: c_int, bytes: *mut c_void, len: size_t, room: size_t) -> ssize_t, or missing(),
        |here, real| around(here, real, |call, result| call.moved(Kind::Read, fd, *result));
    pread(fd: c_int, bytes: *mut c_void, len: size_t, offset: off_t) -> ssize_t,
        // SAFETY: as `read`.
        or unsafe { syscall(SYS_pread64, fd, bytes, len, offset) as ssize_t },
        |here, real| around(here, real, |call, result| call.placed(Kind::Pread, fd, offset, *result));
    pread64(fd: c_int, bytes: *mut c_void, len: size_t, offset: off64_t) -> ssize_t,
        // SAFETY: as `read`.
        or unsafe { syscall(SYS_pread64, fd, bytes, len, offset) as ssize_t },
        |here, real| around(here, real, |call, result| call.placed(Kind::Pread, fd, offset, *result));
    __pread_chk(fd: c_int, bytes: *mut c_void, len: size_t, offset: off_t, room: size_t) -> ssize_t, or missing(),
        |here, real| around(here, real, |call, result| call.placed(Kind::Pread, fd, offset, *result));
    __pread64_chk(fd: c_int, bytes: *mut c_void, len: size_t, offset: off64_t, room: size_t) -> ssize_t, or missing(),
        |here, real| around(here, real, |call, result| call.placed(Kind::Pread, fd, offset, *result));
    readv(fd: c_int, parts: *const iovec, count: c_int) -> ssize_t, or missing(),
        |here, real| around(here, real, |call, result| call.moved(Kind::Readv, fd, *result));
    preadv(fd: c_int, parts: *const iovec, count: c_int, offset: off_t) -> ssize_t, or missing(),
        |here, real| around(here, real, |call, result| call.placed(Kind::Preadv, fd, offset, *result));
    preadv64(fd: c_int, parts: *const iovec, count: c_int, offset: off64_t) -> ssize_t, or missing(),
        |here, real| around(here, real, |call, result| call.placed(Kind::Preadv, fd, offset, *result));
    preadv2(fd: c_int, parts: *const iovec, count: c_int, offset: off_t, flags: c_int) -> ssize_t, or missing(),
        |here, real| around(here, real, |call, result| call.placed(Kind::Preadv, fd, offset, *result));
    preadv64v2(fd: c_int, parts: *const iovec, count: c_int, offset: off64_t, flags: c_int) -> ssize_t, or missing(),
        |here, real| around(here, real, |call, result| call.placed(Kind::Preadv, fd, offset, *result));

    mmap(address: *mut c_void, len: size_t, protection: c_int, flags: c_int, fd: c_int, offset: off_t) -> *mut c_void,
        // SAFETY: as `read`; allocators map memory before anything else happens.
        or unsafe { syscall(SYS_mmap, address, len, protection, flags, fd, offset) as *mut c_void },
        |here, real| if fd < 0 || flags & libc::MAP_ANONYMOUS != 0 { real() } else {
            around(here, real, |call, result| if mapped(*result) { call.range(Kind::Mmap, fd, offset as u64, len as u64) })
        };
    mmap64(address: *mut c_void, len: size_t, protection: c_int, flags: c_int, fd: c_int, offset: off64_t) -> *mut c_void,
        // SAFETY: as `mmap`.
        or unsafe { syscall(SYS_mmap, address, len, protection, flags, fd, offset) as *mut c_void },
        |here, real| if fd < 0 || flags & libc::MAP_ANONYMOUS != 0 { real() } else {
            around(here, real, |call, result| if mapped(*result) { call.range(Kind::Mmap, fd, offset as u64, len as u64) })
        };

    sendfile(out: c_int, from: c_int, offset: *mut off_t, len: size_t) -> ssize_t, or missing(),
        |here, real| around(here, real, |call, result| call.pointed(Kind::Sendfile, from, offset, *result));
    sendfile64(out: c_int, from: c_int, offset: *mut off64_t, len: size_t) -> ssize_t, or missing(),
        |here, real| around(here, real, |call, result| call.pointed(Kind::Sendfile, from, offset, *result));
    copy_file_range(from: c_int, begin: *mut off64_t, to: c_int, into: *mut off64_t, len: size_t, flags: c_uint) -> ssize_t,
        or missing(),
        |here, real| around(here, real, |call, result| {
            call.pointed(Kind::CopyFileRange, from, begin, *result);
            call.pointed(Kind::Write, to, into, *result);
        });
    splice(from: c_int, begin: *mut loff_t, to: c_int, into: *mut loff_t, len: size_t, flags: c_uint) -> ssize_t, or missing(),
        |here, real| around(here, real, |call, result| {
            call.pointed(Kind::Splice, from, begin, *result);
            call.pointed(Kind::Write, to, into, *result);
        });

    // These only make the kernel read: a mount wants to know for which context.
    readahead(fd: c_int, offset: off64_t, len: size_t) -> ssize_t, or missing(), |here, real| around(here, real, |_, _| ());
    posix_fadvise(fd: c_int, offset: off_t, len: off_t, advice: c_int) -> c_int, or libc::ENOSYS,
        |here, real| around(here, real, |_, _| ());
    posix_fadvise64(fd: c_int, offset: off64_t, len: off64_t, advice: c_int) -> c_int, or libc::ENOSYS,
        |here, real| around(here, real, |_, _| ());
}

/// The answer of a function that the C library does not have.
pub(super) fn missing() -> ssize_t {
    // SAFETY: the thread's own.
    unsafe { *libc::__errno_location() = libc::ENOSYS };
    -1
}
