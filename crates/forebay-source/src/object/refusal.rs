//! The meaning of a store's errors.
//!
//! The `object_store` crate sorts some answers into variants and leaves others (all failures of a
//! listing) inside a generic one, as text only. There the status is read from the text, whose form
//! is pinned by tests.

use object_store::Error as StoreError;
use object_store::client::{HttpError, HttpErrorKind};

use super::amiss::{Amiss, element};
use super::credentials::Missing;
use crate::Error;
use crate::remote::{Hint, explained};

/// The kind of a failure for which there were no credentials to sign with.
pub(super) const CREDENTIALS: &str = "credentials";

/// The codes of servers that don't accept the credentials as such. A server that says
/// `AccessDenied` knows them.
const OF_CREDENTIALS: [&str; 6] = [
    "ExpiredToken",
    "ExpiredTokenException",
    "InvalidAccessKeyId",
    "InvalidToken",
    "InvalidTokenId",
    "TokenRefreshRequired",
];

/// Why a request concerning `name` failed.
pub(super) fn of(name: &str, error: &StoreError) -> Error {
    let name = || name.to_owned();
    if let Some(missing) = cause::<Missing>(error) {
        return Error::Storage { name: name(), reason: missing.to_string() };
    }
    if let Some(amiss) = cause::<Amiss>(error) {
        return amiss.error(name());
    }
    match error {
        StoreError::NotFound { .. } | StoreError::InvalidPath { .. } => Error::NotFound(name()),
        StoreError::PermissionDenied { .. } | StoreError::Unauthenticated { .. } => Error::Denied(name()),
        StoreError::Precondition { .. } | StoreError::NotModified { .. } => Error::Stale(name()),
        StoreError::NotSupported { .. } | StoreError::NotImplemented { .. } => {
            Error::Refused { name: name(), errno: libc::EOPNOTSUPP }
        }
        error => match status(&error.to_string()) {
            Some(401 | 403) => Error::Denied(name()),
            Some(400) if is_of_credentials(&kind(error)) => Error::Denied(name()),
            Some(404) => Error::NotFound(name()),
            Some(405) => Error::Refused { name: name(), errno: libc::EOPNOTSUPP },
            Some(412) => Error::Stale(name()),
            _ => Error::Storage { name: name(), reason: line(error) },
        },
    }
}

/// Why a range of an open object could not be read. An object that existed when it was opened has
/// changed if it is gone, or is now too short for the range.
pub(super) fn of_range(name: &str, error: &StoreError) -> Error {
    match of(name, error) {
        Error::NotFound(name) => Error::Stale(name),
        Error::Storage { name, .. } if status(&error.to_string()) == Some(416) => Error::Stale(name),
        other => other,
    }
}

/// The kind of failure, for the log: the store's own code, else the status, else the error in
/// words.
pub(super) fn kind(error: &StoreError) -> String {
    if cause::<Missing>(error).is_some() {
        return CREDENTIALS.into();
    }
    if let Some(amiss) = cause::<Amiss>(error) {
        return amiss.kind().into();
    }
    let words = error.to_string();
    let status = || status(&words).map(|status| status.to_string());
    code(&words).or_else(status).unwrap_or_else(|| match error {
        StoreError::NotFound { .. } => "404".into(),
        StoreError::PermissionDenied { .. } => "403".into(),
        StoreError::Unauthenticated { .. } => "401".into(),
        StoreError::Precondition { .. } => "412".into(),
        error => match cause::<HttpError>(error).map(HttpError::kind) {
            Some(HttpErrorKind::Timeout) => "no answer".into(),
            Some(HttpErrorKind::Connect) => "connection".into(),
            _ => "broken".into(),
        },
    })
}

/// Whether a failure of this kind is a refusal of the credentials.
pub(super) fn is_of_credentials(kind: &str) -> bool {
    OF_CREDENTIALS.contains(&kind)
}

/// A way out of a refusal of this kind.
pub(super) fn hint(kind: &str) -> Option<Hint> {
    matches!(kind, "ExpiredToken" | "ExpiredTokenException" | "TokenRefreshRequired").then_some(Hint::Renew)
}

/// The cause of a failure that is a `T`, if there is one: one that this side found, not the server.
fn cause<T: std::error::Error + 'static>(error: &StoreError) -> Option<&T> {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        cause = error.source();
    }
    None
}

/// The HTTP status in a message of `object_store`.
fn status(message: &str) -> Option<u16> {
    let (_, rest) = message.split_once("status code: ")?;
    rest.get(..3)?.parse().ok()
}

/// The `Code` of the XML body that S3 and Azure put into a message.
fn code(message: &str) -> Option<String> {
    element(message, "Code").map(str::to_owned)
}

/// The error, on one line.
fn line(error: &StoreError) -> String {
    let words = error.to_string();
    let words = match (status(&words), cause::<HttpError>(error).map(HttpError::kind)) {
        (Some(status), _) => {
            let code = code(&words).map(|code| format!(" ({code})")).unwrap_or_default();
            format!("the server answered {status}{code}")
        }
        (None, Some(HttpErrorKind::Timeout)) => "no answer in time".into(),
        (None, Some(HttpErrorKind::Connect)) => format!("no connection: {}", explained(last(error))),
        (None, Some(_)) => format!("the answer broke off: {}", explained(last(error))),
        (None, None) => last(error),
    };
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The last cause, which says most.
pub(super) fn last(error: &StoreError) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn generic(message: &'static str) -> StoreError {
        StoreError::Generic { store: "S3", source: message.into() }
    }

    #[test]
    fn statuses_in_text_are_sorted() {
        for (message, errno) in [
            ("Server returned non-2xx status code: 403 Forbidden: <Code>InvalidAccessKeyId</Code>", libc::EACCES),
            ("Server returned non-2xx status code: 400 Bad Request: <Code>ExpiredToken</Code>", libc::EACCES),
            ("Server returned non-2xx status code: 400 Bad Request: <Code>InvalidRequest</Code>", libc::EIO),
            ("Server returned non-2xx status code: 404 Not Found: <Code>NoSuchBucket</Code>", libc::ENOENT),
            ("Server returned non-2xx status code: 405 Method Not Allowed: ", libc::EOPNOTSUPP),
            ("Server returned non-2xx status code: 412 Precondition Failed: ", libc::ESTALE),
            ("Server returned non-2xx status code: 503 Slow Down: ", libc::EIO),
            ("error sending request", libc::EIO),
        ] {
            assert_eq!(of("x", &generic(message)).errno(), errno, "{message}");
        }
        let short = generic("Server returned non-2xx status code: 416 Range Not Satisfiable: ");
        assert!(matches!(of_range("x", &short), Error::Stale(_)));
    }

    #[test]
    fn messages_are_one_line_with_the_servers_code() {
        let error = generic("status code: 403 Forbidden: <?xml?>\n<Error><Code>InvalidAccessKeyId</Code>\n</Error>");
        assert_eq!(kind(&error), "InvalidAccessKeyId");
        let error = generic("status code: 503 Slow\nDown: <Code>SlowDown</Code>");
        assert_eq!(of("a", &error).to_string(), "a: the server answered 503 (SlowDown)");
    }
}
