//! Labels for web servers, beyond the request.
//!
//! A server that is a level itself (`forebay serve`) gets two headers: the bytes that readers wait
//! for, and the bytes that they have read since the request before (SCM §4.2). Bytes are those of
//! the file, the last one is included, as in `Range`:
//!
//! ```text
//! Range: bytes=65536-131071
//! Forebay-Demand: bytes=65536-69631      or: none
//! Forebay-Hits: bytes=4096-65535         if there are any
//! ```
//!
//! Other servers ignore headers that they don't know, and proxies hand them on. A cache in between
//! answers some requests itself, and the server does not see these. It then takes the readers for
//! slower than they are, but brings no wrong bytes.

use std::ops::Range;

use forebay_core::level::Labels;
use reqwest::header::{HeaderMap, HeaderValue};

use crate::Label;

/// The header with the bytes that readers wait for.
pub const DEMAND: &str = "forebay-demand";

/// The header with the bytes that readers have read since the request before.
pub const HITS: &str = "forebay-hits";

/// Writes as much of a label as `labels` allows.
pub(super) fn write(label: &Label, labels: Labels, headers: &mut HeaderMap) {
    if labels == Labels::Off {
        return;
    }
    headers.insert(DEMAND, bytes(&label.demand).unwrap_or(const { HeaderValue::from_static("none") }));
    if labels == Labels::Hits
        && let Some(hits) = bytes(&label.hits)
    {
        headers.insert(HITS, hits);
    }
}

fn bytes(range: &Range<u64>) -> Option<HeaderValue> {
    if range.is_empty() {
        return None;
    }
    HeaderValue::from_str(&format!("bytes={}-{}", range.start, range.end - 1)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_written_as_ranges_are() {
        let said = |labels, demand, hits| {
            let mut headers = HeaderMap::new();
            write(&Label { demand, hits }, labels, &mut headers);
            let get = |name| headers.get(name).map(|value: &HeaderValue| value.to_str().unwrap().to_owned());
            (get(DEMAND).unwrap_or_default(), get(HITS))
        };
        let written = |demand, hits| said(Labels::Hits, demand, hits);
        assert_eq!(written(0..1, 0..0), ("bytes=0-0".into(), None));
        assert_eq!(written(4096..8192, 0..4096), ("bytes=4096-8191".into(), Some("bytes=0-4095".into())));
        assert_eq!(written(8192..8192, 5..6), ("none".into(), Some("bytes=5-5".into())));
        assert_eq!(said(Labels::Demand, 8192..8192, 5..6), ("none".into(), None));
        assert_eq!(said(Labels::Off, 0..1, 5..6), (String::new(), None));
    }
}
