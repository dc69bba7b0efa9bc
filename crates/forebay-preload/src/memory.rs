//! Memory of the library's own. It never uses the program's allocator, which may be the program's
//! own code, or be at work when a signal handler reads.

use std::alloc::{GlobalAlloc, Layout};
use std::ffi::c_void;
use std::ptr::null_mut;

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

/// Fresh pages of zeros; `None` if there are none.
pub(crate) fn pages(bytes: usize) -> Option<*mut u8> {
    let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE | MapFlags::NORESERVE);
    // SAFETY: a fresh mapping wherever there is room.
    unsafe { mmap_anonymous(null_mut(), bytes, protection, flags) }.ok().map(|pages| pages.cast())
}

/// Fresh pages that a forked child finds zero again, however it was forked; `None` if the kernel
/// can't (before Linux 4.14).
pub(crate) fn wiped_by_fork(bytes: usize) -> Option<*mut u8> {
    let pages = pages(bytes)?;
    // SAFETY: advice on our own fresh mapping.
    unsafe { madvise(pages.cast(), bytes, Advice::LinuxWipeOnFork) }.ok()?;
    Some(pages)
}

/// Gives pages back.
///
/// # Safety
/// They come from [`pages`], in this length, and nothing uses them any more.
pub(crate) unsafe fn free(pages: *mut u8, bytes: usize) {
    // SAFETY: the caller vouches for it.
    let _ = unsafe { munmap(pages.cast::<c_void>(), bytes) };
}

/// Nothing here allocates. If a part of the standard library ever does, it gets whole pages, and
/// not the program's memory.
struct Pages;

// SAFETY: a mapping of at least the layout's size, aligned to pages, which is given back as it was
// made. Larger alignments are refused.
unsafe impl GlobalAlloc for Pages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let fits = layout.align() <= 4096;
        fits.then(|| pages(layout.size().max(1))).flatten().unwrap_or(null_mut())
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the pages that `alloc` gave for this layout.
        unsafe { free(pointer, layout.size().max(1)) };
    }
}

#[cfg(not(test))]
#[global_allocator]
static PAGES: Pages = Pages;
