//! Ranges of bytes: the ranges of a `Range` header, and the answers to it.

use std::ops::Range;

use super::oddity::Oddity;
use super::reply::Reply;

/// The mark between the parts of a `multipart/byteranges`.
const BOUNDARY: &str = "THE_BOUNDARY";

/// The ranges of a `Range` header that a file of `length` has. `None` if the header must be
/// ignored.
pub(crate) fn asked(header: &str, length: usize) -> Option<Vec<Range<usize>>> {
    let mut ranges = Vec::new();
    for range in header.strip_prefix("bytes=")?.split(',') {
        let (from, to) = range.trim().split_once('-')?;
        if from.is_empty() {
            let last: usize = to.parse().ok()?;
            ranges.push(length.saturating_sub(last)..length);
            continue;
        }
        let from: usize = from.parse().ok()?;
        let end = if to.is_empty() { length } else { to.parse::<usize>().ok()?.saturating_add(1).min(length) };
        ranges.push(from..end);
    }
    ranges.retain(|range| range.start < range.end);
    Some(ranges)
}

/// The answer with these ranges of `bytes`. `base` is the answer without a body, whose code is
/// changed.
pub(super) fn partial(mut base: Reply, ranges: &[Range<usize>], bytes: &[u8], oddity: &Oddity) -> Reply {
    let length = bytes.len();
    let ([_, ..], false) = (ranges, *oddity == Oddity::RangesRefused) else {
        return Reply::new(416).header("Content-Range", format!("bytes */{length}"));
    };
    base.code = 206;
    if *oddity == Oddity::Multipart && ranges.len() == 1 {
        let Range { start, end } = ranges[0];
        let middle = start + (end - start).div_ceil(2);
        return multipart(base, &[start..middle, middle..end], bytes);
    }
    let [range] = ranges else { return multipart(base, ranges, bytes) };
    let range = match oddity {
        Oddity::RangeAtZero => 0..range.len(),
        Oddity::RangeShort => range.start..range.start + range.len().div_ceil(2),
        Oddity::RangeClipped(most) => range.start..range.end.min(range.start + most),
        Oddity::RangeLong => range.start.saturating_sub(1000)..(range.end + 1000).min(length),
        _ => range.clone(),
    };
    let total = match oddity {
        Oddity::RangeTotalUnknown => "*".to_owned(),
        Oddity::RangeTotal(by) => length.saturating_add_signed(*by as isize).to_string(),
        _ => length.to_string(),
    };
    if *oddity != Oddity::RangeUntold {
        base = base.header("Content-Range", format!("bytes {}-{}/{total}", range.start, range.end - 1));
    }
    base.body = bytes[range].to_vec();
    base
}

fn multipart(base: Reply, ranges: &[Range<usize>], bytes: &[u8]) -> Reply {
    let mut body = Vec::new();
    for range in ranges.iter().filter(|range| !range.is_empty()) {
        let (from, to, total) = (range.start, range.end - 1, bytes.len());
        let kind = "application/octet-stream";
        let part =
            format!("\r\n--{BOUNDARY}\r\nContent-Type: {kind}\r\nContent-Range: bytes {from}-{to}/{total}\r\n\r\n");
        body.extend_from_slice(part.as_bytes());
        body.extend_from_slice(&bytes[range.clone()]);
    }
    body.extend_from_slice(format!("\r\n--{BOUNDARY}--\r\n").as_bytes());
    base.without("Content-Type").body(&format!("multipart/byteranges; boundary={BOUNDARY}"), body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_a_range() {
        let asked = |header| {
            let ranges = asked(header, 10)?.into_iter().map(|range| (range.start, range.end));
            Some(ranges.collect::<Vec<_>>())
        };
        for (header, expected) in [
            ("bytes=0-0", Some(vec![(0, 1)])),
            ("bytes=5-", Some(vec![(5, 10)])),
            ("bytes=5-99", Some(vec![(5, 10)])),
            ("bytes=-3", Some(vec![(7, 10)])),
            ("bytes=-30", Some(vec![(0, 10)])),
            ("bytes=1-2, 4-5", Some(vec![(1, 3), (4, 6)])),
            ("bytes=10-12", Some(vec![])),
            ("bytes=-0", Some(vec![])),
            ("bytes=a-b", None),
            ("lines=1-2", None),
        ] {
            assert_eq!(asked(header), expected, "{header}");
        }
    }
}
