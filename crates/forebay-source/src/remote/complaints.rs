//! Trouble with a storage, told in the log: one line a minute for each kind.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::Trouble;
use crate::Error;

/// How long a kind of trouble is not told again.
const QUIET: Duration = Duration::from_secs(60);

/// The kind of trouble with a folder whose names somebody wants to list, and the storage does not.
/// A look-up goes on without them.
pub(super) const UNLISTED: &str = "its names cannot be listed; they can be opened";

/// Kinds that are kept apart; all beyond are one kind.
const KINDS: usize = 100;

/// The complaints about one storage.
pub(super) struct Complaints {
    source: String,
    kinds: Mutex<HashMap<String, Said>>,
}

struct Said {
    at: Instant,
    /// How often it has happened since.
    more: u64,
}

impl Complaints {
    /// About the storage with this name in messages.
    pub(super) fn new(source: impl Into<String>) -> Complaints {
        Complaints { source: source.into(), kinds: Mutex::default() }
    }

    /// Reports the trouble, unless its kind was reported a moment ago. A name that is missing, or
    /// has changed, is no trouble of the storage.
    pub(super) fn hear(&self, trouble: &Trouble) {
        if let Some(line) = self.line(trouble, Instant::now()) {
            log::warn!("{line}");
        }
    }

    fn line(&self, trouble: &Trouble, now: Instant) -> Option<String> {
        match trouble.error {
            Error::Storage { .. } | Error::Setting { .. } | Error::Denied(_) | Error::GivenUp { .. } => {}
            Error::Refused { errno: libc::EIO, .. } => {}
            Error::Refused { errno: libc::EOPNOTSUPP, .. } if trouble.kind == UNLISTED => {}
            _ => return None,
        }
        let mut kinds = self.kinds.lock();
        let full = kinds.len() >= KINDS && !kinds.contains_key(&trouble.kind);
        let kind = if full { "other" } else { &trouble.kind };
        let mut more = 0;
        if let Some(said) = kinds.get_mut(kind) {
            if now.duration_since(said.at) < QUIET {
                said.more += 1;
                return None;
            }
            more = said.more;
        }
        kinds.insert(kind.to_owned(), Said { at: now, more: 0 });
        let again = if more > 0 { format!("; {more} more times since the last line") } else { String::new() };
        let words = trouble.error.to_string();
        let kind = if words.contains(&trouble.kind) { String::new() } else { format!(" ({})", trouble.kind) };
        let hint = trouble.hint.map(|hint| format!("; {}", hint.words())).unwrap_or_default();
        Some(format!("{}: {words}{kind}{hint}{again}", self.source))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_a_minute_for_each_kind() {
        let complaints = Complaints::new("s3://bucket");
        let began = Instant::now();
        let line = |error: Error, kind: &str, at: u64| {
            complaints.line(&Trouble::new(error, kind), began + Duration::from_secs(at))
        };
        let busy = || Error::Storage { name: "a".into(), reason: "the server answered 503".into() };
        assert_eq!(line(busy(), "SlowDown", 0).unwrap(), "s3://bucket: a: the server answered 503 (SlowDown)");
        assert_eq!(line(busy(), "SlowDown", 1), None);
        assert_eq!(line(busy(), "SlowDown", 59), None);
        let denied = line(Error::Denied("b".into()), "ExpiredToken", 59).unwrap();
        assert_eq!(denied, "s3://bucket: b: permission denied (ExpiredToken)");
        let known = Error::Storage { name: "a".into(), reason: "the server answered 503 (Busy)".into() };
        assert_eq!(line(known, "Busy", 59).unwrap(), "s3://bucket: a: the server answered 503 (Busy)");
        let again = line(busy(), "SlowDown", 61).unwrap();
        assert!(again.ends_with("(SlowDown); 2 more times since the last line"), "{again}");
        assert_eq!(line(Error::NotFound("c".into()), "404", 0), None);
        assert_eq!(line(Error::Stale("c".into()), "412", 0), None);
        let refused = |errno| Error::Refused { name: "d".into(), errno };
        assert!(line(refused(libc::EIO), "400", 0).unwrap().ends_with("(400)"));
        assert_eq!(line(refused(libc::EIO), "400", 1), None);
        assert!(line(refused(libc::EOPNOTSUPP), UNLISTED, 0).unwrap().contains(UNLISTED));
        assert_eq!(line(refused(libc::EOPNOTSUPP), "405", 0), None, "of a look-up");
        assert_eq!(line(refused(libc::ENOTDIR), "a file", 0), None);
    }

    #[test]
    fn kinds_are_bounded() {
        let complaints = Complaints::new("s");
        let error = || Error::Denied("x".into());
        let lines = (0..1000).filter_map(|kind| {
            let trouble = Trouble::new(error(), kind.to_string());
            complaints.line(&trouble, Instant::now())
        });
        assert_eq!(lines.count(), KINDS + 1);
    }
}
