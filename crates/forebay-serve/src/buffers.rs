//! Memory for pieces on their way to clients, used again and again: a fresh mapping for each would
//! cost more than the copy.

use std::sync::{Arc, Weak};

use bytes::Bytes;
use parking_lot::Mutex;

use crate::body::PIECE;

/// Buffers that are free at the moment.
pub(crate) struct Buffers {
    free: Mutex<Vec<Vec<u8>>>,
    most: usize,
    own: Weak<Buffers>,
}

impl Buffers {
    /// Keeps at most so many.
    pub(crate) fn new(most: usize) -> Arc<Buffers> {
        Arc::new_cyclic(|own| Buffers { free: Mutex::default(), most, own: Weak::clone(own) })
    }

    /// A copy of `len` bytes. A small one is not worth a buffer.
    pub(crate) fn copy<'a>(&self, len: usize, slices: impl Iterator<Item = &'a [u8]>) -> Bytes {
        const FEW: usize = 32 << 10;
        if len <= FEW {
            let mut bytes = Vec::with_capacity(len);
            slices.for_each(|slice| bytes.extend_from_slice(slice));
            return bytes.into();
        }
        let mut bytes = self.free.lock().pop().unwrap_or_else(|| Vec::with_capacity(PIECE));
        slices.for_each(|slice| bytes.extend_from_slice(slice));
        Bytes::from_owner(Buffer { bytes, home: Weak::clone(&self.own) })
    }
}

/// A buffer in use. It goes back when the last piece of it is dropped.
struct Buffer {
    bytes: Vec<u8>,
    home: Weak<Buffers>,
}

impl AsRef<[u8]> for Buffer {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let Some(home) = self.home.upgrade() else { return };
        let mut bytes = std::mem::take(&mut self.bytes);
        bytes.clear();
        let mut free = home.free.lock();
        if free.len() < home.most {
            free.push(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_come_back_and_not_too_many_are_kept() {
        let buffers = Buffers::new(2);
        let large = vec![7; 100_000];
        let copies: Vec<Bytes> = (0..3).map(|_| buffers.copy(large.len(), large.chunks(4096))).collect();
        assert!(copies.iter().all(|copy| *copy == large));
        assert!(buffers.free.lock().is_empty());
        let part = copies[0].slice(1..2);
        drop(copies);
        assert_eq!(buffers.free.lock().len(), 2);
        drop(part);
        assert_eq!(buffers.free.lock().len(), 2);
        assert_eq!(buffers.copy(3, [&b"abc"[..]].into_iter()), "abc");
        assert_eq!(buffers.copy(large.len(), large.chunks(1)), large);
    }

    #[test]
    fn a_piece_may_outlive_its_home() {
        let buffers = Buffers::new(2);
        let large = vec![7; 100_000];
        let copy = buffers.copy(large.len(), large.chunks(4096));
        drop(buffers);
        assert_eq!(copy, large);
    }
}
