//! The preload library: tells a mount, and a recording, which place of an unmodified program reads.
//!
//! ```text
//! LD_PRELOAD=libforebay_preload.so program …
//! ```
//!
//! It takes the place of the C library's functions that read. Before such a call it takes the
//! call's stack (`unwind`), makes an id of it (`identity`), and puts it where a mount finds it
//! (`forebay_callers::TableWriter`). After the call it takes the id away, and writes down the call
//! if calls are recorded (`record`). `docs/contexts.md` lists the calls, the costs and the limits.
//!
//! The program must not notice. So the library allocates only pages, keeps no descriptor open, and
//! leaves `errno` alone, since system calls are our own. It prints nothing, waits for nothing, and
//! hands on at once a call from a signal handler that interrupts it. A process forked in any way
//! finds its part of the memory wiped by the kernel, and begins anew. Every failure is silent, and
//! the program's call is made all the same.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
// The tests are a program of their own, in which no function is to be replaced.
#![cfg_attr(test, allow(dead_code, non_snake_case))]

mod calls;
mod identity;
mod memory;
mod process;
mod real;
mod record;
mod thread;
mod unwind;

/// The loader calls these before the program begins.
#[cfg(not(test))]
#[used]
#[unsafe(link_section = ".init_array")]
static BEGIN: extern "C" fn() = begin;

#[cfg(not(test))]
extern "C" fn begin() {
    calls::prepare();
    process::begin(thread::ends);
}
