//! The core's labels ([`forebay_core::level`]), which are in blocks, as those between levels, which
//! are in bytes of the file.

use std::ops::Range;

use forebay_core::{Extent, FileId};
use forebay_source::BLOCK;

/// The blocks of `file` that cover `range`, as far as it lies within its `size` bytes.
pub(crate) fn blocks(file: FileId, range: &Range<u64>, size: u64) -> Extent {
    let block = BLOCK as u64;
    let (start, end) = (range.start, range.end.min(size));
    if start >= end {
        return Extent { file, start: 0, len: 0 };
    }
    Extent::between(file, (start / block) as u32, end.div_ceil(block) as u32)
}

/// The bytes of an extent, as far as they lie within the `size` bytes of its file.
pub(crate) fn bytes(extent: Extent, size: u64) -> Range<u64> {
    let block = BLOCK as u64;
    let end = (u64::from(extent.end()) * block).min(size);
    (u64::from(extent.start) * block).min(end)..end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_cover_bytes_within_the_file() {
        let file = FileId(7);
        let covered = |range| {
            let extent = blocks(file, &range, 10_000);
            extent.start..extent.end()
        };
        assert_eq!(covered(0..4096), 0..1);
        assert_eq!(covered(4095..4097), 0..2);
        assert_eq!(covered(8192..u64::MAX), 2..3);
        assert!(covered(10_000..u64::MAX).is_empty());
        assert!(covered(5000..5000).is_empty());
        assert_eq!(bytes(Extent { file, start: 1, len: 2 }, 10_000), 4096..10_000);
        assert!(bytes(Extent { file, start: 9, len: 0 }, 10_000).is_empty());
    }
}
