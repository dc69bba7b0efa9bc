//! Reading by streams. A read that the buffer can answer makes no context and no record.

use std::ffi::{c_char, c_int, c_void};

use libc::{FILE, size_t, ssize_t, wchar_t};

use super::descriptors::missing;
use super::stream::{buffered, fills, has_line};
use crate::real::interpose;

/// WEOF.
const WIDE_END: u32 = u32::MAX;
const NEWLINE: c_int = b'\n' as c_int;

/// Calls `$real` at once if `$enough` says that the buffer of `$file` can answer.
macro_rules! unless {
    ($enough:expr, $here:ident, $file:ident, $real:ident) => {
        if $enough { $real() } else { fills($here, $file, $real) }
    };
}

interpose! {
    fread(to: *mut c_void, size: size_t, count: size_t, file: *mut FILE) -> size_t, or 0,
        |here, real| unless!(buffered(file) >= size.saturating_mul(count), here, file, real);
    fread_unlocked(to: *mut c_void, size: size_t, count: size_t, file: *mut FILE) -> size_t, or 0,
        |here, real| unless!(buffered(file) >= size.saturating_mul(count), here, file, real);
    __fread_chk(to: *mut c_void, room: size_t, size: size_t, count: size_t, file: *mut FILE) -> size_t, or 0,
        |here, real| unless!(buffered(file) >= size.saturating_mul(count), here, file, real);
    __fread_unlocked_chk(to: *mut c_void, room: size_t, size: size_t, count: size_t, file: *mut FILE) -> size_t, or 0,
        |here, real| unless!(buffered(file) >= size.saturating_mul(count), here, file, real);

    fgets(to: *mut c_char, size: c_int, file: *mut FILE) -> *mut c_char, or std::ptr::null_mut(),
        |here, real| unless!(has_line(file, NEWLINE, line(size)), here, file, real);
    fgets_unlocked(to: *mut c_char, size: c_int, file: *mut FILE) -> *mut c_char, or std::ptr::null_mut(),
        |here, real| unless!(has_line(file, NEWLINE, line(size)), here, file, real);
    __fgets_chk(to: *mut c_char, room: size_t, size: c_int, file: *mut FILE) -> *mut c_char, or std::ptr::null_mut(),
        |here, real| unless!(has_line(file, NEWLINE, line(size)), here, file, real);
    __fgets_unlocked_chk(to: *mut c_char, room: size_t, size: c_int, file: *mut FILE) -> *mut c_char,
        or std::ptr::null_mut(),
        |here, real| unless!(has_line(file, NEWLINE, line(size)), here, file, real);
    getline(to: *mut *mut c_char, len: *mut size_t, file: *mut FILE) -> ssize_t, or missing(),
        |here, real| unless!(has_line(file, NEWLINE, usize::MAX), here, file, real);
    getdelim(to: *mut *mut c_char, len: *mut size_t, end: c_int, file: *mut FILE) -> ssize_t, or missing(),
        |here, real| unless!(has_line(file, end, usize::MAX), here, file, real);
    __getdelim(to: *mut *mut c_char, len: *mut size_t, end: c_int, file: *mut FILE) -> ssize_t, or missing(),
        |here, real| unless!(has_line(file, end, usize::MAX), here, file, real);

    fgetc(file: *mut FILE) -> c_int, or libc::EOF, |here, real| unless!(buffered(file) > 0, here, file, real);
    getc(file: *mut FILE) -> c_int, or libc::EOF, |here, real| unless!(buffered(file) > 0, here, file, real);
    _IO_getc(file: *mut FILE) -> c_int, or libc::EOF, |here, real| unless!(buffered(file) > 0, here, file, real);
    fgetc_unlocked(file: *mut FILE) -> c_int, or libc::EOF, |here, real| unless!(buffered(file) > 0, here, file, real);
    getc_unlocked(file: *mut FILE) -> c_int, or libc::EOF, |here, real| unless!(buffered(file) > 0, here, file, real);
    getw(file: *mut FILE) -> c_int, or libc::EOF, |here, real| unless!(buffered(file) >= 4, here, file, real);
    // The function that the macro `getc_unlocked` calls if the buffer is empty.
    __uflow(file: *mut FILE) -> c_int, or libc::EOF, |here, real| fills(here, file, real);
    __underflow(file: *mut FILE) -> c_int, or libc::EOF, |here, real| fills(here, file, real);

    // Wide streams have another buffer, which is not looked at.
    fgetwc(file: *mut FILE) -> u32, or WIDE_END, |here, real| fills(here, file, real);
    getwc(file: *mut FILE) -> u32, or WIDE_END, |here, real| fills(here, file, real);
    fgetwc_unlocked(file: *mut FILE) -> u32, or WIDE_END, |here, real| fills(here, file, real);
    getwc_unlocked(file: *mut FILE) -> u32, or WIDE_END, |here, real| fills(here, file, real);
    fgetws(to: *mut wchar_t, size: c_int, file: *mut FILE) -> *mut wchar_t, or std::ptr::null_mut(),
        |here, real| fills(here, file, real);
    fgetws_unlocked(to: *mut wchar_t, size: c_int, file: *mut FILE) -> *mut wchar_t, or std::ptr::null_mut(),
        |here, real| fills(here, file, real);
}

/// How many bytes a line takes at most.
fn line(size: c_int) -> usize {
    usize::try_from(size).unwrap_or(0).saturating_sub(1)
}
