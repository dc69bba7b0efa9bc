//! Several ranges in one answer: `multipart/byteranges` (RFC 9110, 14.6).

use std::hash::{BuildHasher, RandomState};
use std::ops::Range;

use bytes::Bytes;

use crate::body::Segment;

/// The text between parts. No file can be made to hold it, since it is random.
pub(crate) fn boundary() -> String {
    let random = || RandomState::new().hash_one(0u8);
    format!("forebay-{:016x}{:016x}", random(), random())
}

/// The parts of an answer, each with its head, of a file of `size` bytes.
pub(crate) fn segments(parts: Vec<Range<u64>>, size: u64, kind: &str, boundary: &str) -> Vec<Segment> {
    let mut segments = Vec::new();
    for part in parts {
        let (first, last) = (part.start, part.end - 1);
        let head =
            format!("\r\n--{boundary}\r\nContent-Type: {kind}\r\nContent-Range: bytes {first}-{last}/{size}\r\n\r\n");
        segments.push(Segment::Text(Bytes::from(head)));
        segments.push(Segment::Bytes(part));
    }
    segments.push(Segment::Text(Bytes::from(format!("\r\n--{boundary}--\r\n"))));
    segments
}
