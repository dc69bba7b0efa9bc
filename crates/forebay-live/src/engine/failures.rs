//! Fetches that failed for readers, told in the log: one line a minute for each kind of error. A
//! store that fails for a second fails hundreds of them. How many more there were comes with the
//! next line of the kind.

use std::mem::discriminant;
use std::time::Duration;

use forebay_core::Instant;
use forebay_source::{Error, Quiet};

/// The failures so far.
#[derive(Default)]
pub(super) struct Failures(Quiet);

impl Failures {
    /// A reader gets this error for a block of the file that the error names.
    pub(super) fn hear(&self, now: Instant, block: u32, error: &Error) {
        if let Some(line) = self.line(now, block, error) {
            log::warn!("{line}");
        }
    }

    fn line(&self, now: Instant, block: u32, error: &Error) -> Option<String> {
        // The error, and its number for readers: there are few of both.
        let kind = format!("{:?} {}", discriminant(error), error.errno());
        let more = self.0.due_at(&kind, Duration::from_nanos(now.0))?;
        let again = if more > 0 { format!("; {more} more reads failed so since the last line") } else { String::new() };
        Some(format!("block {block}: {error}{again}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_a_minute_for_each_kind() {
        let failures = Failures::default();
        let line = |error: Error, second: u64| failures.line(Instant(second * 1_000_000_000), 7, &error);
        let storage = |name: &str| Error::Storage { name: name.into(), reason: "it answered 503".into() };
        assert_eq!(line(storage("a"), 0).unwrap(), "block 7: a: it answered 503");
        assert_eq!((line(storage("b"), 1), line(storage("c"), 59)), (None, None));
        assert_eq!(line(Error::Stale("d".into()), 59).unwrap(), "block 7: d: changed since it was opened");
        let again = "block 7: a: it answered 503; 2 more reads failed so since the last line";
        assert_eq!(line(storage("a"), 60).unwrap(), again);
        assert_eq!(line(storage("a"), 120).unwrap(), "block 7: a: it answered 503");
    }
}
