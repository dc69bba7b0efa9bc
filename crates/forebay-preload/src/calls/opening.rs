//! Opening, which is recorded and otherwise left alone. A mode is always handed on, even if the
//! program gave none: it is in a register.

use std::ffi::{c_char, c_int};

use libc::{FILE, SYS_open, SYS_openat, mode_t, syscall};

use super::descriptors::missing;
use super::stream::descriptor;
use crate::real::interpose;
use crate::thread::recorded;

interpose! {
    open(path: *const c_char, flags: c_int, mode: mode_t) -> c_int,
        // SAFETY: as the C library does it, too early to look into the library.
        or unsafe { syscall(SYS_open, path, flags, mode) as c_int },
        |here, real| recorded(here, real, |call, result| call.opened(*result));
    open64(path: *const c_char, flags: c_int, mode: mode_t) -> c_int,
        // SAFETY: as `open`.
        or unsafe { syscall(SYS_open, path, flags, mode) as c_int },
        |here, real| recorded(here, real, |call, result| call.opened(*result));
    __open_2(path: *const c_char, flags: c_int) -> c_int, or missing() as c_int,
        |here, real| recorded(here, real, |call, result| call.opened(*result));
    __open64_2(path: *const c_char, flags: c_int) -> c_int, or missing() as c_int,
        |here, real| recorded(here, real, |call, result| call.opened(*result));
    openat(at: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int,
        // SAFETY: as `open`.
        or unsafe { syscall(SYS_openat, at, path, flags, mode) as c_int },
        |here, real| recorded(here, real, |call, result| call.opened(*result));
    openat64(at: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int,
        // SAFETY: as `open`.
        or unsafe { syscall(SYS_openat, at, path, flags, mode) as c_int },
        |here, real| recorded(here, real, |call, result| call.opened(*result));
    __openat_2(at: c_int, path: *const c_char, flags: c_int) -> c_int, or missing() as c_int,
        |here, real| recorded(here, real, |call, result| call.opened(*result));
    __openat64_2(at: c_int, path: *const c_char, flags: c_int) -> c_int, or missing() as c_int,
        |here, real| recorded(here, real, |call, result| call.opened(*result));
    fopen(path: *const c_char, mode: *const c_char) -> *mut FILE, or none(),
        |here, real| recorded(here, real, |call, file| call.opened(descriptor(*file)));
    fopen64(path: *const c_char, mode: *const c_char) -> *mut FILE, or none(),
        |here, real| recorded(here, real, |call, file| call.opened(descriptor(*file)));
    freopen(path: *const c_char, mode: *const c_char, old: *mut FILE) -> *mut FILE, or none(),
        |here, real| recorded(here, real, |call, file| call.opened(descriptor(*file)));
    freopen64(path: *const c_char, mode: *const c_char, old: *mut FILE) -> *mut FILE, or none(),
        |here, real| recorded(here, real, |call, file| call.opened(descriptor(*file)));
}

fn none() -> *mut FILE {
    missing();
    std::ptr::null_mut()
}
