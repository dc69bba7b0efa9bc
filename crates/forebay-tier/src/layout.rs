//! Where things lie in a folder.
//!
//! ```text
//!   DIR/forebay-1/            the layout's version
//!     lock                    held by the one owner
//!     id                      the folder's key
//!     segments/00000000       64 MiB, eight segments:
//!
//!       │ table │ data ………………… │ table │ data ………………… │  …
//!        64 KiB  2032 blocks
//! ```

use forebay_core::tier::Place;
use forebay_source::BLOCK;

/// The version of everything on disk, also in the folder's name.
pub const LAYOUT: u32 = 1;

/// Blocks of data in a segment.
pub const SEGMENT_BLOCKS: u32 = 2032;

/// Blocks in the largest piece.
pub const CHUNK_BLOCKS: u32 = 16;

/// Bytes in front of a segment's data.
pub const TABLE: u64 = 64 << 10;

/// Bytes of a segment, with its table.
pub const SEGMENT: u64 = TABLE + SEGMENT_BLOCKS as u64 * BLOCK as u64;

/// Segments in a file.
pub const SEGMENTS_A_FILE: u32 = 8;

/// Bytes of a file: one inode for each 64 MiB.
pub const FILE: u64 = SEGMENT * SEGMENTS_A_FILE as u64;

/// Bytes that a file may take on the disk: a file system keeps lists of a file's parts beside it.
pub const FILE_ROOM: u64 = FILE + (16 << 10);

/// Bytes that `id`, `lock` and folders take at most.
pub const BESIDE: u64 = 64 << 10;

/// The file that a segment is in.
pub(crate) fn file_of(segment: u32) -> u32 {
    segment / SEGMENTS_A_FILE
}

/// The segments of a file.
pub(crate) fn segments_of(file: u32) -> std::ops::Range<u32> {
    file * SEGMENTS_A_FILE..(file + 1) * SEGMENTS_A_FILE
}

/// The first byte of a segment's table, in its file.
pub(crate) fn table_at(segment: u32) -> u64 {
    u64::from(segment % SEGMENTS_A_FILE) * SEGMENT
}

/// The first byte of a place, in its file.
pub(crate) fn byte_at(place: Place) -> u64 {
    table_at(place.segment) + TABLE + bytes(place.block) as u64
}

/// The bytes of so many blocks.
pub(crate) fn bytes(blocks: u32) -> usize {
    blocks as usize * BLOCK
}
