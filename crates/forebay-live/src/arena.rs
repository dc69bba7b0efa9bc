//! Frame buffers: one anonymous mapping, cut into frames of one block each. Pages become resident
//! as they are first filled.
//!
//! The core decides which thread may touch a frame. A frame that is being fetched belongs to its
//! [`Segments`] alone, and a frame that a read holds is only read until the read's `Done`. Short
//! copies out of a frame that was hit are the one exception: the core does not hear of them. The
//! copier announces itself (`begin_copy`) at the moment of the hit. If the core gives the frame
//! away meanwhile, the fetch into it waits for the end of the copy.

use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use forebay_core::FrameId;
use forebay_source::{BLOCK, Keeper, Segments};
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

/// The memory of all frames.
#[derive(Debug)]
pub struct Arena {
    base: *mut u8,
    len: usize,
    /// How many copies out of each frame are under way.
    copies: Box<[AtomicU32]>,
}

// SAFETY: the arena hands out disjoint frames. The core (see the module's head), never the arena,
// decides which thread may read or write a frame at a time.
unsafe impl Send for Arena {}
// SAFETY: as above.
unsafe impl Sync for Arena {}

impl Arena {
    /// Memory for `frames` frames. Reserves addresses only; pages are resident from their first
    /// use.
    pub fn new(frames: u32) -> std::io::Result<Arc<Arena>> {
        let len = frames as usize * BLOCK;
        // SAFETY: a fresh private anonymous mapping, which nothing else refers to.
        let base = unsafe {
            mmap_anonymous(
                std::ptr::null_mut(),
                len,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE | MapFlags::NORESERVE,
            )
        }?;
        // Large pages are filled with one fault instead of 512. A kernel without them does no harm.
        // SAFETY: advice on our own fresh mapping, which changes nothing that it holds.
        let _ = unsafe { madvise(base, len, Advice::LinuxHugepage) };
        let copies = (0..frames).map(|_| AtomicU32::new(0)).collect();
        Ok(Arc::new(Arena { base: base.cast(), len, copies }))
    }

    fn at(&self, frame: FrameId) -> *mut u8 {
        let offset = frame.index() * BLOCK;
        assert!(offset < self.len, "frame {frame:?} is outside the arena");
        // SAFETY: inside the mapping, just checked.
        unsafe { self.base.add(offset) }
    }

    /// The bytes of `frames` frames in a row from `frame`.
    ///
    /// # Safety
    /// No thread may write to these frames while the slice lives: the caller holds a read on them
    /// in the core.
    #[inline]
    pub unsafe fn bytes(&self, frame: FrameId, frames: usize) -> &[u8] {
        let (offset, len) = (frame.index() * BLOCK, frames * BLOCK);
        assert!(offset + len <= self.len, "{frame:?} is outside the arena");
        // SAFETY: inside the mapping, just checked; the caller vouches for the rest.
        unsafe { std::slice::from_raw_parts(self.base.add(offset), len) }
    }

    /// Begins a copy out of `frame`. Call it while the engine is locked for the hit that gave the
    /// frame. A fetch into the frame waits until the value is dropped.
    #[inline(always)]
    pub(crate) fn begin_copy(&self, frame: FrameId) -> Copy<'_> {
        let count = &self.copies[frame.index()];
        // Relaxed: the engine's lock orders it before whatever the core decides later.
        count.fetch_add(1, Ordering::Relaxed);
        // SAFETY: there is a counter for each frame of the mapping, so the frame is in it.
        let from = unsafe { self.base.add(frame.index() * BLOCK) };
        Copy { from, count }
    }

    /// Waits until no copy out of `frame` is under way: as long as 4 KiB take to copy, unless the
    /// copier was interrupted.
    pub(crate) fn await_copies(&self, frame: FrameId) {
        while self.copies[frame.index()].load(Ordering::Acquire) > 0 {
            std::thread::yield_now();
        }
    }

    /// Whether no copy out of any frame is under way.
    pub(crate) fn is_still(&self) -> bool {
        self.copies.iter().all(|copies| copies.load(Ordering::Acquire) == 0)
    }

    /// Exclusive access to the frames of a fetch, in the order of its blocks.
    ///
    /// # Safety
    /// The core must have given these frames to one fetch, and no other code may touch them until
    /// the fetch is over.
    pub unsafe fn segments(self: &Arc<Self>, frames: impl Iterator<Item = FrameId>) -> Segments {
        let mut parts: Vec<*mut [u8]> = Vec::new();
        for frame in frames {
            let at = self.at(frame);
            match parts.last_mut() {
                Some(part) if part.cast::<u8>().wrapping_add(part.len()) == at => {
                    *part = ptr::slice_from_raw_parts_mut(part.cast(), part.len() + BLOCK);
                }
                _ => parts.push(ptr::slice_from_raw_parts_mut(at, BLOCK)),
            }
        }
        // SAFETY: the mapping lives as long as the arena, and the caller vouches for the rest.
        unsafe { Segments::over(parts, Arc::clone(self) as Arc<dyn Keeper>) }
    }
}

impl Keeper for Arena {}

impl Drop for Arena {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and no `Segments` is left, since each holds a reference to
        // the arena.
        let _ = unsafe { munmap(self.base.cast(), self.len) };
    }
}

/// A copy out of a frame that was hit, under way until it is dropped.
pub(crate) struct Copy<'a> {
    from: *const u8,
    count: &'a AtomicU32,
}

impl Copy<'_> {
    /// Copies `to.len()` bytes from byte `skip` of the frame on; both lie within a block.
    #[inline(always)]
    pub(crate) fn to(self, skip: usize, to: &mut [u8]) {
        assert!(skip + to.len() <= BLOCK, "a copy within one frame");
        // SAFETY: the range is in the frame, which is not filled anew while `count` counts us; `to`
        // is the caller's own memory.
        unsafe { std::ptr::copy_nonoverlapping(self.from.add(skip), to.as_mut_ptr(), to.len()) };
    }
}

impl Drop for Copy<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.count.fetch_sub(1, Ordering::Release);
    }
}
