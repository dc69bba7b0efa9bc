//! The preload library: tells a mount, and a recording, which place of an unmodified program reads.
//!
//! ```text
//! LD_PRELOAD=libforebay_preload.so program …
//! ```
//!
//! It stands before the C library's functions that read. Before such a call it takes the call's
//! stack (`unwind`), makes an id of it (`identity`), and puts it where a mount finds it
//! (`forebay_callers::TableWriter`); after the call it takes it away, and writes down what was read
//! if calls are recorded (`record`). What is covered, what it costs and what it can't see is in
//! `docs/contexts.md`.
//!
//! The program must not notice. So there is no allocation but of pages, no descriptor stays open,
//! `errno` is not touched since system calls are our own, nothing is printed, nothing waits, and a
//! call from a signal handler that interrupts the library is handed on at once. A process forked by
//! whatever way finds its part of the memory wiped by the kernel, and begins anew. Whatever fails,
//! fails silently, and the program's call is made all the same.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
// The tests are a program of their own, for which nothing is to stand before anything.
#![cfg_attr(test, allow(dead_code, non_snake_case))]

mod calls;
mod identity;
mod memory;
mod process;
mod real;
mod record;
mod thread;
mod unwind;

/// The loader calls what is listed here before the program begins.
#[cfg(not(test))]
#[used]
#[unsafe(link_section = ".init_array")]
static BEGIN: extern "C" fn() = begin;

#[cfg(not(test))]
extern "C" fn begin() {
    calls::prepare();
    process::begin(thread::ends);
}
