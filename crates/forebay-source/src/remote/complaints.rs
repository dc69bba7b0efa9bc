//! Trouble with a storage, told in the log: one line a minute for each kind.

use super::Trouble;
use crate::{Error, Quiet};

/// The kind of trouble with a folder whose names somebody wants to list, and the storage does not.
/// A look-up goes on without them.
pub(super) const UNLISTED: &str = "its names cannot be listed; they can be opened";

/// The complaints about one storage.
pub(super) struct Complaints {
    source: String,
    quiet: Quiet,
}

impl Complaints {
    /// About the storage with this name in messages.
    pub(super) fn new(source: impl Into<String>) -> Complaints {
        Complaints { source: source.into(), quiet: Quiet::default() }
    }

    /// Reports the trouble, unless its kind was reported a moment ago. A name that is missing, or
    /// has changed, is no trouble of the storage.
    pub(super) fn hear(&self, trouble: &Trouble) {
        if let Some(line) = self.line(trouble) {
            log::warn!("{line}");
        }
    }

    fn line(&self, trouble: &Trouble) -> Option<String> {
        match trouble.error {
            Error::Storage { .. } | Error::Setting { .. } | Error::Denied(_) | Error::GivenUp { .. } => {}
            Error::Refused { errno: libc::EIO, .. } => {}
            Error::Refused { errno: libc::EOPNOTSUPP, .. } if trouble.kind == UNLISTED => {}
            _ => return None,
        }
        let again = self.quiet.due(&trouble.kind)?;
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
    fn a_line_names_the_trouble_and_what_is_no_trouble_has_none() {
        let line = |error: Error, kind: &str| Complaints::new("s3://bucket").line(&Trouble::new(error, kind));
        let busy = || Error::Storage { name: "a".into(), reason: "the server answered 503".into() };
        assert_eq!(line(busy(), "SlowDown").unwrap(), "s3://bucket: a: the server answered 503 (SlowDown)");
        let denied = line(Error::Denied("b".into()), "ExpiredToken").unwrap();
        assert_eq!(denied, "s3://bucket: b: permission denied (ExpiredToken)");
        let known = Error::Storage { name: "a".into(), reason: "the server answered 503 (Busy)".into() };
        assert_eq!(line(known, "Busy").unwrap(), "s3://bucket: a: the server answered 503 (Busy)");
        assert_eq!(line(Error::NotFound("c".into()), "404"), None);
        assert_eq!(line(Error::Stale("c".into()), "412"), None);
        let refused = |errno| Error::Refused { name: "d".into(), errno };
        assert!(line(refused(libc::EIO), "400").unwrap().ends_with("(400)"));
        assert!(line(refused(libc::EOPNOTSUPP), UNLISTED).unwrap().contains(UNLISTED));
        assert_eq!(line(refused(libc::EOPNOTSUPP), "405"), None, "of a look-up");
        assert_eq!(line(refused(libc::ENOTDIR), "a file"), None);
    }

    #[test]
    fn a_kind_is_not_told_twice_in_a_moment() {
        let complaints = Complaints::new("s3://bucket");
        let line = |kind: &str| complaints.line(&Trouble::new(Error::Denied("b".into()), kind)).is_some();
        assert_eq!([line("403"), line("403"), line("401"), line("401")], [true, false, true, false]);
    }
}
