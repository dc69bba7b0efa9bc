//! The `Range` of a request (RFC 9110, 14): the bytes of a file that are wanted.

use std::ops::Range;

/// A request with more ranges than these counts as one without, as section 14.2 advises: no reader
/// needs them, and each costs a head of its own.
const MOST: usize = 32;

/// The meaning of a `Range`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Wanted {
    /// All of it: there is no range, or none that we understand, or a senseless one.
    Whole,
    /// These bytes, in the order asked for; never none, none empty, all within the file.
    Parts(Vec<Range<u64>>),
    /// No byte of the file.
    Nothing,
}

impl Wanted {
    /// The meaning of a `Range` for a file of `size` bytes.
    pub(crate) fn of(value: &str, size: u64) -> Wanted {
        let Some(set) = strip_unit(value) else { return Wanted::Whole };
        let mut parts = Vec::new();
        for part in set.split(',').map(trim).filter(|part| !part.is_empty()) {
            match one(part, size) {
                None => return Wanted::Whole,
                Some(part) if part.is_empty() => {}
                Some(part) => parts.push(part),
            }
        }
        let bytes = parts.iter().fold(0u64, |sum, part| sum.saturating_add(part.end - part.start));
        match parts.len() {
            0 if set.split(',').all(|part| trim(part).is_empty()) => Wanted::Whole,
            0 => Wanted::Nothing,
            // Several that overlap so much that the whole is less.
            2.. if parts.len() > MOST || bytes > size => Wanted::Whole,
            _ => Wanted::Parts(parts),
        }
    }
}

/// The text after `bytes=`, the only unit; its case does not matter.
fn strip_unit(value: &str) -> Option<&str> {
    let (unit, set) = value.split_once('=')?;
    trim(unit).eq_ignore_ascii_case("bytes").then_some(set)
}

fn trim(text: &str) -> &str {
    text.trim_matches([' ', '\t'])
}

/// One of `A-B`, `A-` and `-LAST`, clipped to the file; empty if none of it is within; `None` if it
/// is malformed.
fn one(part: &str, size: u64) -> Option<Range<u64>> {
    let (first, last) = part.split_once('-')?;
    let (first, last) = (number(trim(first))?, number(trim(last))?);
    match (first, last) {
        (None, None) => None,
        (None, Some(last)) => Some(size.saturating_sub(last)..size),
        (Some(first), None) => Some(first.min(size)..size),
        (Some(first), Some(last)) if first > last => None,
        (Some(first), Some(last)) => Some(first.min(size)..last.saturating_add(1).min(size)),
    }
}

/// Digits; `Some(None)` if there are none. More than fit are as many as fit.
fn number(digits: &str) -> Option<Option<u64>> {
    if digits.is_empty() {
        return Some(None);
    }
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(Some(digits.parse().unwrap_or(u64::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parts(value: &str) -> Vec<Range<u64>> {
        match Wanted::of(value, 10_000) {
            Wanted::Parts(parts) => parts,
            other => panic!("{value}: {other:?}"),
        }
    }

    /// The only one.
    fn part(value: &str) -> Range<u64> {
        let parts = parts(value);
        assert_eq!(parts.len(), 1, "{value}");
        parts[0].clone()
    }

    /// The examples of RFC 9110, 14.1.2, of a file of 10,000 bytes.
    #[test]
    fn the_examples_of_the_specification() {
        assert_eq!(part("bytes=0-499"), 0..500);
        assert_eq!(part("bytes=500-999"), 500..1000);
        assert_eq!(part("bytes=-500"), 9500..10_000);
        assert_eq!(part("bytes=9500-"), 9500..10_000);
        assert_eq!(parts("bytes=0-0,-1"), [0..1, 9999..10_000]);
        assert_eq!(parts("bytes= 0-999, 4500-5499, -1000"), [0..1000, 4500..5500, 9000..10_000]);
        assert_eq!(parts("bytes=500-600,601-999"), [500..601, 601..1000]);
        assert_eq!(parts("bytes=500-700,601-999"), [500..701, 601..1000]);
    }

    #[test]
    fn what_lies_beyond_the_end_is_clipped_or_nothing() {
        assert_eq!(part("bytes=9999-20000"), 9999..10_000);
        assert_eq!(part("bytes=-20000"), 0..10_000);
        assert_eq!(part("bytes=0-99999999999999999999999999"), 0..10_000);
        assert_eq!(part("bytes=10000-,5-5"), 5..6, "what is not there does not hide what is");
        for value in ["bytes=10000-", "bytes=10000-10001", "bytes=-0"] {
            assert_eq!(Wanted::of(value, 10_000), Wanted::Nothing, "{value}");
        }
        assert_eq!(Wanted::of("bytes=0-", 0), Wanted::Nothing);
    }

    #[test]
    fn what_is_no_range_asks_for_everything() {
        for value in ["", "bytes", "bytes=", "bytes=,", "lines=1-2", "bytes=a-b", "bytes=5-4", "bytes=-", "bytes=1-2,x"]
        {
            assert_eq!(Wanted::of(value, 10_000), Wanted::Whole, "{value}");
        }
        let many = (0..33).map(|i| format!("{i}-{i}")).collect::<Vec<_>>().join(",");
        assert_eq!(Wanted::of(&format!("bytes={many}"), 10_000), Wanted::Whole);
        assert_eq!(Wanted::of("bytes=0-,0-", 10_000), Wanted::Whole);
    }

    /// The bytes of a file that one range asks for, byte by byte.
    fn naive(first: Option<u64>, last: Option<u64>, size: u64) -> Vec<u64> {
        let wanted = |byte: &u64| match (first, last) {
            (Some(first), last) => *byte >= first && last.is_none_or(|last| *byte <= last),
            (None, Some(last)) => byte + last >= size,
            (None, None) => false,
        };
        (0..size).filter(wanted).collect()
    }

    fn written((first, last): &(Option<u64>, Option<u64>)) -> String {
        let number = |number: &Option<u64>| number.map_or_else(String::new, |number| number.to_string());
        format!("{}-{}", number(first), number(last))
    }

    proptest! {
        /// Ranges that are not empty: exactly their bytes, in order, unless together they are more
        /// than the file.
        #[test]
        fn parts_are_the_bytes_that_are_asked_for(
            ranges in proptest::collection::vec(
                (proptest::option::weighted(0.8, 0u64..250), proptest::option::weighted(0.7, 0u64..250)),
                1..5,
            ),
            size in 1u64..200,
        ) {
            let value = format!("bytes={}", ranges.iter().map(written).collect::<Vec<_>>().join(", "));
            let senseless = |&(first, last): &(Option<u64>, Option<u64>)| match (first, last) {
                (None, None) => true,
                (Some(first), Some(last)) => first > last,
                _ => false,
            };
            let asked = ranges.iter().map(|&(first, last)| naive(first, last, size));
            let asked: Vec<Vec<u64>> = asked.filter(|bytes| !bytes.is_empty()).collect();
            let all: usize = asked.iter().map(Vec::len).sum();
            let wanted = Wanted::of(&value, size);
            if ranges.iter().any(senseless) || asked.len() > 1 && all as u64 > size {
                prop_assert_eq!(wanted, Wanted::Whole, "{}", value);
            } else if asked.is_empty() {
                prop_assert_eq!(wanted, Wanted::Nothing, "{}", value);
            } else {
                let Wanted::Parts(parts) = wanted else { panic!("{value} of {size}: {wanted:?}") };
                let parts: Vec<Vec<u64>> = parts.into_iter().map(Iterator::collect).collect();
                prop_assert_eq!(parts, asked, "{}", value);
            }
        }

        /// For any text, parts lie within the file.
        #[test]
        fn nothing_leads_out_of_the_file(value in "(bytes=)?[-0-9, a]{0,40}", size in 0u64..200) {
            if let Wanted::Parts(parts) = Wanted::of(&value, size) {
                prop_assert!(!parts.is_empty());
                for part in parts {
                    prop_assert!(part.start < part.end && part.end <= size);
                }
            }
        }
    }
}
