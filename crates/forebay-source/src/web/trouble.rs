//! Why a web server's answer is not accepted.

use std::error::Error as _;
use std::path::Path;

use reqwest::StatusCode;

use super::head::Head;
use crate::Error;
use crate::remote::{TooSlow, Trouble, explained};

/// The trouble for a status, of a request about `name`.
pub(super) fn of_status(name: &str, head: &Head) -> Trouble {
    let (status, name) = (head.status, name.to_owned());
    let error = match status.as_u16() {
        401 | 403 | 407 | 451 => Error::Denied(name),
        404 | 410 => Error::NotFound(name),
        501 | 505 => Error::Refused { name, errno: libc::EOPNOTSUPP },
        408 | 425 | 429 | 500.. => Error::Storage { name, reason: format!("the server answered {}", words(status)) },
        _ => Error::Refused { name, errno: libc::EIO },
    };
    let wait = head.wait.filter(|_| error.is_transient());
    let hint = head.wants.filter(|_| matches!(error, Error::Denied(_)));
    Trouble { wait, hint, ..Trouble::new(error, status.as_u16().to_string()) }
}

/// The trouble of a request that has no answer, or of an answer that broke off.
pub(super) fn of_transport(name: &str, error: &reqwest::Error) -> Trouble {
    let (kind, reason) = if error.is_timeout() {
        ("timeout", "no answer in time".to_owned())
    } else if error.is_connect() {
        ("connection", format!("no connection: {}", explained(last_cause(error))))
    } else {
        ("broken", format!("the answer broke off: {}", explained(last_cause(error))))
    };
    Trouble::new(Error::Storage { name: name.to_owned(), reason }, kind)
}

/// An answer of which next to nothing comes.
pub(super) fn too_slow(name: &str, slow: TooSlow) -> Trouble {
    Trouble::new(Error::Storage { name: name.to_owned(), reason: slow.to_string() }, "slow")
}

/// An answer that is not whole. Another one may be.
pub(super) fn broken(name: &str, reason: &str) -> Trouble {
    Trouble::new(Error::Storage { name: name.to_owned(), reason: reason.to_owned() }, "broken")
}

/// An answer against the rules, which another try would not change. The log has the reason.
pub(super) fn against_rules(name: &str, reason: &'static str) -> Trouble {
    Trouble::new(Error::Refused { name: name.to_owned(), errno: libc::EIO }, reason)
}

/// The file is no longer the same version.
pub(super) fn stale(name: &str) -> Trouble {
    Trouble::new(Error::Stale(name.to_owned()), "stale")
}

/// The name does not exist.
pub(super) fn not_found(name: &str) -> Trouble {
    Trouble::new(Error::NotFound(name.to_owned()), "404")
}

/// The server cannot do this with the name.
pub(super) fn refused(name: &str, errno: i32, kind: &str) -> Trouble {
    Trouble::new(Error::Refused { name: name.to_owned(), errno }, kind)
}

/// Whether the server may be too busy, rather than unable.
pub(super) fn is_busy(status: StatusCode) -> bool {
    matches!(status.as_u16(), 408 | 425 | 429 | 503)
}

/// How a path is named in messages.
pub(super) fn name(path: &Path) -> String {
    path.display().to_string()
}

fn words(status: StatusCode) -> String {
    status
        .canonical_reason()
        .map_or_else(|| status.as_u16().to_string(), |reason| format!("{} {reason}", status.as_u16()))
}

/// The last cause, which tells most. It is without the address, which may have a secret.
fn last_cause(error: &reqwest::Error) -> String {
    let mut cause = error.source();
    while let Some(next) = cause.and_then(std::error::Error::source) {
        cause = Some(next);
    }
    let words = cause.map_or_else(|| "unknown".to_owned(), ToString::to_string);
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}
