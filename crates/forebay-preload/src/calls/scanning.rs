//! `fscanf` and `fprintf`: functions with any number of arguments, which become the C library's
//! functions that take them as a list.
//!
//! Rust can't define such functions, so they are written as a C compiler's output (System V ABI,
//! §3.5.7):
//!
//! ```text
//! sp + 0   list: offset of the next integer, of the next vector; where more arguments are; where registers are saved
//! sp + 32  saved: rdi rsi rdx rcx r8 r9, xmm0 … xmm7
//! sp + 216 return address; + 224 arguments that had no register
//! ```

use std::ffi::{c_char, c_int, c_void};

use libc::FILE;

use super::stream::{before, fills, moved};
use crate::process::recording;
use crate::real::interpose;
use crate::thread::around;
use crate::unwind::Registers;

interpose! {
    vfscanf(file: *mut FILE, format: *const c_char, list: *mut c_void) -> c_int, or libc::EOF,
        |here, real| fills(here, file, real);
    __isoc99_vfscanf(file: *mut FILE, format: *const c_char, list: *mut c_void) -> c_int, or libc::EOF,
        |here, real| fills(here, file, real);
    __isoc23_vfscanf(file: *mut FILE, format: *const c_char, list: *mut c_void) -> c_int, or libc::EOF,
        |here, real| fills(here, file, real);
    vfprintf(file: *mut FILE, format: *const c_char, list: *mut c_void) -> c_int, or -1,
        |here, real| prints(here, file, real);
    __vfprintf_chk(file: *mut FILE, flag: c_int, format: *const c_char, list: *mut c_void) -> c_int, or -1,
        |here, real| prints(here, file, real);
}

/// Writes into `file`; the number of bytes is unknown.
#[inline(always)]
fn prints<T>(here: Registers, file: *mut FILE, real: impl FnOnce() -> T) -> T {
    if !recording() {
        return real();
    }
    let before = before(file);
    around(here, real, |call, _| moved(call, forebay_callers::Kind::Write, file, before))
}

/// Defines functions that hand their arguments on as a list: how many bytes of registers are named
/// arguments, and in which register the function with the list has it.
macro_rules! listed {
    ($($name:ident => $with_list:ident, $named:literal, $list:literal;)*) => {$(
        /// # Safety
        /// Has the name of the C library's function.
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[unsafe(naked)]
        pub(crate) unsafe extern "C-unwind" fn $name() {
            std::arch::naked_asm!(
                ".cfi_startproc",
                "sub rsp, 216",
                ".cfi_adjust_cfa_offset 216",
                "mov [rsp + 48], rdx",
                "mov [rsp + 56], rcx",
                "mov [rsp + 64], r8",
                "mov [rsp + 72], r9",
                "test al, al",
                "je 2f",
                "movaps [rsp + 80], xmm0",
                "movaps [rsp + 96], xmm1",
                "movaps [rsp + 112], xmm2",
                "movaps [rsp + 128], xmm3",
                "movaps [rsp + 144], xmm4",
                "movaps [rsp + 160], xmm5",
                "movaps [rsp + 176], xmm6",
                "movaps [rsp + 192], xmm7",
                "2:",
                concat!("mov dword ptr [rsp], ", $named),
                "mov dword ptr [rsp + 4], 48",
                "lea rax, [rsp + 224]",
                "mov [rsp + 8], rax",
                "lea rax, [rsp + 32]",
                "mov [rsp + 16], rax",
                concat!("mov ", $list, ", rsp"),
                "call {with_list}",
                "add rsp, 216",
                ".cfi_adjust_cfa_offset -216",
                "ret",
                ".cfi_endproc",
                with_list = sym $with_list,
            )
        }
    )*};
}

listed! {
    fscanf => vfscanf, 16, "rdx";
    __isoc99_fscanf => __isoc99_vfscanf, 16, "rdx";
    __isoc23_fscanf => __isoc23_vfscanf, 16, "rdx";
    fprintf => vfprintf, 16, "rdx";
    __fprintf_chk => __vfprintf_chk, 24, "rcx";
}
