//! Moving within streams, and closing libraries: calls that read by the way, or change known
//! addresses.

use std::ffi::{c_int, c_long, c_void};
use std::sync::atomic::Ordering;

use libc::{FILE, fpos_t, fpos64_t, off_t, off64_t};

use super::descriptors::missing;
use super::stream::seeks;
use crate::real::interpose;
use crate::unwind::UNLOADED;

interpose! {
    fseek(file: *mut FILE, offset: c_long, whence: c_int) -> c_int, or missing() as c_int, |here, real| seeks(here, file, real);
    fseeko(file: *mut FILE, offset: off_t, whence: c_int) -> c_int, or missing() as c_int, |here, real| seeks(here, file, real);
    fseeko64(file: *mut FILE, offset: off64_t, whence: c_int) -> c_int, or missing() as c_int,
        |here, real| seeks(here, file, real);
    fsetpos(file: *mut FILE, place: *const fpos_t) -> c_int, or missing() as c_int, |here, real| seeks(here, file, real);
    fsetpos64(file: *mut FILE, place: *const fpos64_t) -> c_int, or missing() as c_int, |here, real| seeks(here, file, real);
    rewind(file: *mut FILE) -> (), or Default::default(), |here, real| seeks(here, file, real);

    // Other code may lie at the same addresses afterwards.
    dlclose(library: *mut c_void) -> c_int, or missing() as c_int, |_here, real| {
        let result = real();
        UNLOADED.fetch_add(1, Ordering::Relaxed);
        result
    };
}
