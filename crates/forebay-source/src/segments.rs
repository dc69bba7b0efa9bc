//! Memory that one fetch fills: blocks of a cache, or a buffer of its own.

use std::ops::Range;
use std::sync::Arc;
use std::{fmt, ptr};

use crate::BLOCK;

/// The owner of memory that [`Segments`] are pieces of, which holds it as long as it lives.
pub trait Keeper: fmt::Debug + Send + Sync {}

/// Memory with the alignment that direct I/O wants.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(4096))]
struct Page([u8; BLOCK]);

/// Memory of segments' own.
#[derive(Debug)]
struct Pages(#[allow(dead_code, reason = "held so that the memory outlives its segments")] Vec<Page>);

impl Keeper for Pages {}

/// The owners of segments that were joined.
#[derive(Debug)]
struct Both(#[allow(dead_code, reason = "held as above")] [Arc<dyn Keeper>; 2]);

impl Keeper for Both {}

/// Memory that one fetch fills: pieces in the order of the file's bytes, each aligned to and a
/// multiple of the block size.
#[derive(Debug)]
pub struct Segments {
    parts: Vec<*mut [u8]>,
    len: usize,
    near: bool,
    memory: Arc<dyn Keeper>,
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
        Segments { parts, len, near: false, memory: keeper }
    }

    /// Segments of their own, not of an arena. `len` is rounded up to 4 KiB.
    pub fn own(len: usize) -> Segments {
        let mut pages = vec![Page([0; BLOCK]); len.div_ceil(BLOCK).max(1)];
        let len = pages.len() * BLOCK;
        let part = ptr::slice_from_raw_parts_mut(pages.as_mut_ptr().cast(), len);
        Segments { parts: vec![part], len, near: false, memory: Arc::new(Pages(pages)) }
    }

    /// All of their bytes are from a disk tier, which keeps them.
    pub fn set_near(&mut self) {
        self.near = true;
    }

    /// Whether a disk tier has brought all of their bytes.
    pub fn is_near(&self) -> bool {
        self.near
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

    /// The bytes, piece by piece.
    pub fn bytes(&self) -> impl Iterator<Item = &[u8]> {
        // SAFETY: the pieces are valid while we live, and only we may touch them.
        self.parts.iter().map(|&part| unsafe { &*part })
    }

    /// The bytes, piece by piece, to be changed.
    pub fn bytes_mut(&mut self) -> impl Iterator<Item = &mut [u8]> {
        // SAFETY: as above; the pieces do not overlap.
        self.parts.iter().map(|&part| unsafe { &mut *part })
    }

    /// The bytes of a range of them, piece by piece. What lies beyond the end is left out.
    pub fn bytes_in(&self, range: Range<usize>) -> impl Iterator<Item = &[u8]> {
        let mut from = 0;
        self.bytes().filter_map(move |part| {
            let (start, end) = (range.start.max(from), range.end.min(from + part.len()));
            let within = (start < end).then(|| &part[start - from..end - from]);
            from += part.len();
            within
        })
    }

    /// Copies everything out, for tests and profiling.
    pub fn to_vec(&self) -> Vec<u8> {
        self.bytes().flatten().copied().collect()
    }

    /// Cuts them in two: these keep the bytes before `at`, the others begin there. Panics unless
    /// `at` is a whole number of blocks and within them: that is a defect of the caller.
    #[must_use]
    pub fn split_off(&mut self, at: usize) -> Segments {
        assert!(at.is_multiple_of(BLOCK) && at <= self.len, "segments are cut between blocks");
        let (mut kept, mut cut, mut left) = (Vec::new(), Vec::new(), at);
        for part in self.parts.drain(..) {
            let (len, first) = (part.len(), part.len().min(left));
            let piece = |from: usize, len| ptr::slice_from_raw_parts_mut(part.cast::<u8>().wrapping_add(from), len);
            kept.extend((first > 0).then(|| piece(0, first)));
            cut.extend((first < len).then(|| piece(first, len - first)));
            left -= first;
        }
        let cut = Segments { parts: cut, len: self.len - at, near: false, memory: Arc::clone(&self.memory) };
        (self.parts, self.len) = (kept, at);
        cut
    }

    /// Puts others behind these.
    pub fn append(&mut self, others: Segments) {
        let Segments { parts, len, memory, .. } = others;
        let same = ptr::addr_eq(Arc::as_ptr(&self.memory), Arc::as_ptr(&memory));
        for part in parts {
            match self.parts.last_mut() {
                Some(last) if same && last.cast::<u8>().wrapping_add(last.len()) == part.cast() => {
                    *last = ptr::slice_from_raw_parts_mut(last.cast(), last.len() + part.len());
                }
                _ => self.parts.push(part),
            }
        }
        self.len += len;
        if !same {
            self.memory = Arc::new(Both([Arc::clone(&self.memory), memory]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_cut_and_joined_and_their_bytes_stay() {
        let mut whole = Segments::own(5 * BLOCK);
        let bytes: Vec<u8> = (0..5 * BLOCK).map(|at| (at / 7) as u8).collect();
        whole.write(0, &bytes);
        let mut rest = whole.split_off(BLOCK);
        let last = rest.split_off(3 * BLOCK);
        assert_eq!([whole.len(), rest.len(), last.len()], [BLOCK, 3 * BLOCK, BLOCK]);
        rest.write(BLOCK, &[9; 10]);
        let mut swapped = Segments::own(BLOCK);
        swapped.write(0, &[7; BLOCK]);
        rest.append(last);
        whole.append(rest);
        assert_eq!(whole.parts().len(), 1, "neighbours become one piece again");
        whole.append(swapped);
        assert_eq!((whole.len(), whole.parts().len()), (6 * BLOCK, 2));
        let mut expected = bytes;
        expected[2 * BLOCK..2 * BLOCK + 10].fill(9);
        expected.extend([7; BLOCK]);
        assert_eq!(whole.to_vec(), expected);
        let some = 4 * BLOCK + 5..5 * BLOCK + 105;
        assert_eq!(whole.bytes_in(some.clone()).collect::<Vec<_>>().concat(), expected[some]);
        assert_eq!(whole.bytes_in(6 * BLOCK..7 * BLOCK).count(), 0);
        let mut none = whole.split_off(6 * BLOCK);
        assert!(none.is_empty() && none.split_off(0).is_empty());
    }
}
