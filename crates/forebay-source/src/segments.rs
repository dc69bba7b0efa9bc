//! Memory that one fetch fills: blocks of a cache, or a buffer of its own.

use std::sync::Arc;
use std::{fmt, ptr};

/// The owner of memory that [`Segments`] are pieces of, which holds it as long as it lives.
pub trait Keeper: fmt::Debug + Send + Sync {}

/// The owner that keeps the memory of segments alive.
#[derive(Debug)]
enum Memory {
    Kept(#[allow(dead_code, reason = "held so that the mapping outlives its segments")] Arc<dyn Keeper>),
    Own(#[allow(dead_code, reason = "held so that the buffer outlives its segments")] Box<[Page]>),
}

/// Memory with the alignment that direct I/O wants.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(4096))]
struct Page([u8; 4096]);

/// Memory that one fetch fills: pieces in the order of the file's bytes, each aligned to and a
/// multiple of the block size.
#[derive(Debug)]
pub struct Segments {
    parts: Vec<*mut [u8]>,
    len: usize,
    _memory: Memory,
}

// SAFETY: whoever holds the segments is the only one who may touch their memory.
unsafe impl Send for Segments {}

impl Segments {
    /// Segments of somebody's memory.
    ///
    /// # Safety
    /// The pieces must be valid for as long as `keeper` lives, aligned to blocks and whole ones,
    /// and nobody else may touch them until the segments are dropped.
    pub unsafe fn over(parts: Vec<*mut [u8]>, keeper: Arc<dyn Keeper>) -> Segments {
        let len = parts.iter().map(|part| part.len()).sum();
        Segments { parts, len, _memory: Memory::Kept(keeper) }
    }

    /// Segments of their own, not of an arena: for profiling and tests. `len` is rounded up to 4
    /// KiB.
    pub fn own(len: usize) -> Segments {
        let mut pages = vec![Page([0; 4096]); len.div_ceil(4096).max(1)].into_boxed_slice();
        let len = pages.len() * 4096;
        let part = ptr::slice_from_raw_parts_mut(pages.as_mut_ptr().cast(), len);
        Segments { parts: vec![part], len, _memory: Memory::Own(pages) }
    }

    /// Bytes in all.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no memory in it.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The pieces, for vectored reads. They stay valid while the segments live.
    pub fn parts(&self) -> &[*mut [u8]] {
        &self.parts
    }

    /// Copies `bytes` to `offset`. Panics if they do not fit: that is a defect of the store.
    pub fn write(&mut self, mut offset: usize, mut bytes: &[u8]) {
        assert!(offset + bytes.len() <= self.len, "a store delivered more than it was asked for");
        for part in &self.parts {
            let len = part.len();
            if offset >= len {
                offset -= len;
                continue;
            }
            let n = bytes.len().min(len - offset);
            // SAFETY: `offset + n <= len` bytes of this piece, which only we may touch; `bytes`
            // lies elsewhere.
            unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), part.cast::<u8>().add(offset), n) };
            (offset, bytes) = (0, &bytes[n..]);
            if bytes.is_empty() {
                break;
            }
        }
    }

    /// Copies everything out, for tests and profiling.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.len);
        for &part in &self.parts {
            // SAFETY: the pieces are valid while we live, and only we may touch them.
            out.extend_from_slice(unsafe { &*part });
        }
        out
    }
}
