//! The labels of a request, from its readers: `Forebay-Demand` and `Forebay-Hits` (SCM §4.2).
//!
//! `Forebay-Demand: bytes=A-B` (the last byte included, as in `Range`) is the part that readers of
//! the level above want; that level fetches the rest ahead. `none` says that no reader wants any of
//! it yet. `Forebay-Hits: bytes=A-B` is the part that readers have read meanwhile without asking
//! here. A client that sends neither wants all that it asks for.

use forebay_core::level::Labels;
use std::ops::Range;

use forebay_source::Label;
use forebay_source::web::{DEMAND, HITS};
use hyper::HeaderMap;

use crate::refusal::Refusal;

/// The label of a request for `asked`, if it has one that we take. A malformed one is refused even
/// if it is not taken, so that mistakes are found.
pub(crate) fn of(headers: &HeaderMap, labels: Labels, asked: &Range<u64>) -> Result<Option<Label>, Refusal> {
    let demand = header(headers, DEMAND, true)?;
    let hits = header(headers, HITS, false)?.unwrap_or(0..0);
    let hits = if labels == Labels::Hits { hits } else { 0..0 };
    // Hits without a demand: the client wants all of the range.
    let demand = match (labels, demand) {
        (Labels::Off, _) => return Ok(None),
        (_, None) if hits.is_empty() => return Ok(None),
        (_, None) => asked.clone(),
        (_, Some(demand)) => demand,
    };
    Ok(Some(Label { demand: within(&demand, asked), hits }))
}

/// The part of a range within another; empty at the other's start if there is none.
pub(crate) fn within(range: &Range<u64>, other: &Range<u64>) -> Range<u64> {
    let (start, end) = (range.start.max(other.start), range.end.min(other.end));
    if start < end { start..end } else { other.start..other.start }
}

fn header(headers: &HeaderMap, name: &'static str, or_none: bool) -> Result<Option<Range<u64>>, Refusal> {
    let mut lines = headers.get_all(name).iter();
    let Some(line) = lines.next() else { return Ok(None) };
    let bad = || {
        let none = if or_none { " or none" } else { "" };
        Refusal::bad_request(format!("{name} is not understood: it is bytes=FIRST-LAST{none}, once"))
    };
    if lines.next().is_some() {
        return Err(bad());
    }
    match line.to_str().map_err(|_| bad())?.trim() {
        "none" if or_none => Ok(Some(0..0)),
        text => parse(text).map(Some).ok_or_else(bad),
    }
}

/// `bytes=FIRST-LAST`
fn parse(text: &str) -> Option<Range<u64>> {
    let (first, last) = text.strip_prefix("bytes=")?.split_once('-')?;
    let digits =
        |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse::<u64>().ok()).flatten();
    let (first, last) = (digits(first)?, digits(last)?);
    (first <= last).then_some(first..last.checked_add(1)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn label(labels: Labels, lines: &[(&'static str, &str)]) -> Result<Option<Label>, Refusal> {
        let mut headers = HeaderMap::new();
        for &(name, value) in lines {
            headers.append(name, value.parse().unwrap());
        }
        of(&headers, labels, &(1000..2000))
    }

    fn some(demand: Range<u64>, hits: Range<u64>) -> Result<Option<Label>, Refusal> {
        Ok(Some(Label { demand, hits }))
    }

    #[test]
    fn labels_say_what_is_wanted() {
        assert_eq!(label(Labels::Hits, &[]), Ok(None));
        assert_eq!(label(Labels::Hits, &[(DEMAND, "bytes=1000-1099")]), some(1000..1100, 0..0));
        assert_eq!(label(Labels::Hits, &[(DEMAND, "none")]), some(1000..1000, 0..0));
        let both = [(DEMAND, "bytes=0-1099"), (HITS, "bytes=500-999")];
        assert_eq!(label(Labels::Hits, &both), some(1000..1100, 500..1000), "what is not asked for is not wanted here");
        assert_eq!(label(Labels::Demand, &both), some(1000..1100, 0..0));
        assert_eq!(label(Labels::Off, &both), Ok(None));
        assert_eq!(label(Labels::Hits, &both[1..]), some(1000..2000, 500..1000));
        assert_eq!(label(Labels::Demand, &both[1..]), Ok(None));
        assert_eq!(label(Labels::Hits, &[(DEMAND, "bytes=5000-6000")]), some(1000..1000, 0..0));
    }

    #[test]
    fn malformed_labels_are_refused() {
        let most = u64::MAX.to_string();
        let beyond = format!("bytes=0-{most}");
        for value in ["", "all", "bytes=", "bytes=1", "bytes=2-1", "bytes=1-", "bytes=-1", "bytes=+1-2", "1-2", &beyond]
        {
            for labels in [Labels::Off, Labels::Demand, Labels::Hits] {
                let refusal = label(labels, &[(DEMAND, value)]).unwrap_err();
                assert_eq!(refusal.status().as_u16(), 400, "{value}");
                assert!(refusal.to_string().contains("forebay-demand"), "{refusal}");
            }
            assert!(label(Labels::Hits, &[(HITS, value)]).is_err(), "{value}");
        }
        assert!(label(Labels::Hits, &[(HITS, "none")]).is_err());
        assert!(label(Labels::Hits, &[(DEMAND, "none"), (DEMAND, "none")]).is_err());
    }
}
