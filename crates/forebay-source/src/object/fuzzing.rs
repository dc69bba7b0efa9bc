//! The readers of object stores' answers over any bytes, for `forebay-fuzz`.

use std::time::{Duration, SystemTime};

use reqwest::header::{DATE, HeaderMap, HeaderValue};

use super::amiss::{Amiss, Refused};
use super::listed;
use crate::remote::retry_after;

/// A page of keys; returns how many it has, or why it is none.
pub fn keys(document: &[u8]) -> Result<usize, String> {
    listed::parse(document).map(|keys| keys.entries.len()).map_err(|amiss| amiss.to_string())
}

/// A refusal: its status, a date and a region on three lines, then the document. Returns the kind
/// of fault that it is put down to.
pub fn refusal(bytes: &[u8]) -> Option<&'static str> {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.splitn(4, '\n');
    let mut line = || lines.next().unwrap_or_default();
    let (status, date, region, body) = (line(), line(), line(), line());
    let mut headers = HeaderMap::new();
    for (name, value) in [(DATE.as_str(), date), ("x-amz-bucket-region", region)] {
        if let (Ok(value), Ok(name)) = (HeaderValue::from_str(value), name.parse::<reqwest::header::HeaderName>()) {
            headers.insert(name, value);
        }
    }
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    let refused = Refused { status: status.parse().unwrap_or(403), headers: &headers, body, region: Some("us-east-1") };
    let amiss = Amiss::of_refusal(&refused, now)?;
    let _ = amiss.error("key".into()).to_string();
    Some(amiss.kind())
}

/// The header `Retry-After`; returns whether it is a wish.
pub fn pause(text: &[u8]) -> bool {
    retry_after(&String::from_utf8_lossy(text), SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000)).is_some()
}
