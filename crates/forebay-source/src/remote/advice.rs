//! Advice for the start of a source whose storage refuses it or cannot be reached: the way out
//! depends on the credentials that the storage was shown, and on those that it says it wants.

use super::{Hint, Trouble};
use crate::Error;

/// The credentials that a storage is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shows {
    /// A web server: none.
    Nothing,
    /// A web server: a token.
    Token,
    /// A web server: a user and a password.
    Login,
    /// A web server: a query in the URL, which may be a signature.
    Query,
    /// An object store: requests are signed. The text says how others are given.
    Keys(&'static str),
    /// An object store: no request is signed.
    NoKeys(&'static str),
}

const LOGIN: &str = "--source-password-file FILE with USER:PASSWORD, or http://USER:PASSWORD@HOST/ as the URL";
const TOKEN: &str = "--source-token-file FILE";
/// A status of HTTP, and its meaning (RFC 7725).
const LEGAL: &str = "451";
const LEGAL_REASONS: &str = "it may not show this for legal reasons";

impl Shows {
    /// The advice about a refusal.
    pub(super) fn way_out(self, trouble: &Trouble) -> String {
        match trouble.hint {
            Some(hint @ (Hint::Renew | Hint::Elsewhere)) => hint.words().to_owned(),
            Some(Hint::Proxy) => {
                "a proxy on the way wants credentials; HTTP_PROXY and HTTPS_PROXY can have them, and NO_PROXY names \
                 servers that are asked directly"
                    .to_owned()
            }
            hint => match self {
                Shows::Keys(others) => of_keys(&trouble.kind, others),
                Shows::NoKeys(others) => format!("it is not public: leave out --no-sign-request, and sign ({others})"),
                web => web.of_web_server(&trouble.kind, hint),
            },
        }
    }

    /// Whether the storage is an object store, whose server is an option.
    pub(super) fn is_object_store(self) -> bool {
        matches!(self, Shows::Keys(_) | Shows::NoKeys(_))
    }

    /// The advice where nothing is found. Some servers answer so to keys that they do not know,
    /// with a code of their own.
    pub(super) fn where_nothing_is(self, code: &str) -> &'static str {
        let of_names = ["404", "NoSuchBucket", "NoSuchKey", "ContainerNotFound", "BlobNotFound", "ResourceNotFound"];
        match self {
            Shows::Keys(_) if !of_names.contains(&code) => "check the keys, and the name of the bucket or folder",
            _ => "check the name of the bucket or folder",
        }
    }

    /// The way out of a web server's refusal.
    fn of_web_server(self, status: &str, wants: Option<Hint>) -> String {
        let wanted = wants.map(Hint::words);
        let (shown, other) = match self {
            Shows::Token => ("the token of --source-token-file", Hint::Login),
            Shows::Login => ("the user and the password", Hint::Token),
            Shows::Query if wants.is_none() => {
                return "its signature may have expired or be for other files: get a new URL".to_owned();
            }
            _ => return of_none(status, wants),
        };
        match (wanted, status) {
            (Some(words), _) if wants == Some(other) || wants == Some(Hint::Scheme) => {
                format!("it was shown {shown}, but {words}: {}", ways(wants))
            }
            (_, "401") => format!("it does not take {shown}"),
            (_, LEGAL) => LEGAL_REASONS.to_owned(),
            _ => format!("{shown} may not read this: check the path and the rights"),
        }
    }
}

/// The way out for a web server that was shown nothing.
fn of_none(status: &str, wants: Option<Hint>) -> String {
    match (wants, status) {
        (Some(hint), _) => format!("{}: give {}", hint.words(), ways(wants)),
        (None, LEGAL) => LEGAL_REASONS.to_owned(),
        (None, "401") => format!("it wants credentials: give {}", ways(None)),
        (None, _) => format!(
            "if it wants credentials, give {}; if it shows no lists of names, give the URL of one file",
            ways(None)
        ),
    }
}

/// The options that give a web server the credentials that it wants.
fn ways(wants: Option<Hint>) -> String {
    match wants {
        Some(Hint::Login) => LOGIN.to_owned(),
        Some(Hint::Token) => TOKEN.to_owned(),
        _ => format!("a token ({TOKEN}), a user and a password ({LOGIN}), or a URL that is signed"),
    }
}

/// The way out of an object store's refusal of signed requests, by its code.
fn of_keys(code: &str, others: &str) -> String {
    let fault = match code {
        "InvalidAccessKeyId" => "it does not know the access key",
        "SignatureDoesNotMatch" => "the secret key does not fit",
        "AccessDenied" | "AuthorizationPermissionMismatch" => "the keys need the rights to list and to read",
        _ => "it does not take the keys, or they may not read this",
    };
    format!("{fault}; for others, {others}")
}

/// The advice about a server that takes no connection; none if its words say enough.
pub(super) fn to_reach(trouble: &Trouble, endpoint: bool) -> Option<&'static str> {
    let Error::Storage { reason, .. } = &trouble.error else { return None };
    let reason = reason.to_ascii_lowercase();
    let says = |words: &[&str]| words.iter().any(|words| reason.contains(words));
    let of = |url, other| Some(if endpoint { other } else { url });
    if trouble.kind != "connection" {
        None
    } else if says(&["lookup", "dns", "name or service", "resolve"]) {
        of("is the host's name right?", "is the host's name right (--endpoint)?")
    } else if says(&["refused", "unreachable", "no route"]) {
        of("is the server running, and its port right?", "is the server running, and its port right (--endpoint)?")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn denied(kind: &str, hint: Option<Hint>) -> Trouble {
        Trouble { hint, ..Trouble::new(Error::Denied("x".into()), kind) }
    }

    #[test]
    fn a_refusal_names_the_options_that_may_help_and_no_others() {
        for (shows, kind, hint, with, without) in [
            (Shows::Nothing, "401", Some(Hint::Login), "--source-password-file", "--source-token-file"),
            (Shows::Nothing, "401", Some(Hint::Token), "--source-token-file", "--source-password-file"),
            (Shows::Nothing, "401", None, "--source-token-file", "one file"),
            (Shows::Nothing, "403", None, "URL of one file", "it wants credentials:"),
            (Shows::Nothing, "401", Some(Hint::Scheme), "a URL that is signed", "one file"),
            (Shows::Nothing, "407", Some(Hint::Proxy), "HTTPS_PROXY", "--source"),
            (Shows::Token, "401", Some(Hint::Token), "does not take the token", "--source-password-file"),
            (Shows::Token, "401", Some(Hint::Login), "--source-password-file", "does not take"),
            (Shows::Token, "403", None, "may not read this", "--source-password-file"),
            (Shows::Login, "401", Some(Hint::Login), "does not take the user and the password", "token"),
            (Shows::Login, "401", Some(Hint::Token), "--source-token-file", "does not take"),
            (Shows::Query, "403", None, "expired", "--source"),
            (Shows::Query, "401", Some(Hint::Login), "--source-password-file", "expired"),
            (Shows::Nothing, "451", None, "legal", "--source"),
            (Shows::Keys("set A"), "AccessDenied", None, "rights to list", "--no-sign-request"),
            (Shows::Keys("set A"), "InvalidAccessKeyId", None, "set A", "rights"),
            (Shows::Keys("set A"), "ExpiredToken", Some(Hint::Renew), "log in again", "set A"),
            (Shows::NoKeys("set A"), "AccessDenied", None, "leave out --no-sign-request", "rights"),
        ] {
            let words = shows.way_out(&denied(kind, hint));
            assert!(words.contains(with) && !words.contains(without), "{shows:?}, {kind}, {hint:?}: {words}");
        }
    }

    #[test]
    fn a_server_that_does_not_find_the_keys_is_told_from_one_without_the_bucket() {
        let keys = Shows::Keys("set A");
        assert!(keys.where_nothing_is("XAdminUserNotFound").contains("keys"));
        assert!(!keys.where_nothing_is("NoSuchBucket").contains("keys"));
        assert!(!Shows::NoKeys("set A").where_nothing_is("Other").contains("keys"));
    }

    #[test]
    fn a_server_that_is_not_there_is_told_from_a_name_that_is_wrong() {
        let trouble =
            |kind: &str, reason: &str| Trouble::new(Error::Storage { name: "x".into(), reason: reason.into() }, kind);
        let dns =
            trouble("connection", "no connection: failed to lookup address information: Name or service not known");
        assert_eq!(to_reach(&dns, false), Some("is the host's name right?"));
        let closed = trouble("connection", "no connection: Connection refused (os error 111)");
        assert!(to_reach(&closed, true).unwrap().contains("--endpoint"));
        assert_eq!(to_reach(&trouble("connection", "no connection: invalid peer certificate"), false), None);
        assert_eq!(to_reach(&trouble("503", "the server answered 503"), false), None);
    }
}
