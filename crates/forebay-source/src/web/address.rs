//! The address of a web source, and those of the names in it.

use std::ffi::OsString;
use std::hash::Hasher;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use percent_encoding::percent_decode_str;
use reqwest::Url;
use twox_hash::XxHash64;

use super::names::{Segments, escape, segments};
use super::secrets::Login;

/// An address in its parts.
#[derive(Clone, Debug)]
pub(super) struct Address {
    /// Without user, password and fragment.
    url: Url,
}

/// Why a text is no address of a web source.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct NoAddress(pub(super) String);

/// The parts of a text that names a web source.
#[derive(Debug)]
pub(super) struct Parsed {
    pub(super) address: Address,
    /// The user's name and password, if the text has both.
    pub(super) login: Option<Login>,
    /// The user's name, if the text has one.
    pub(super) user: Option<String>,
}

/// Parameters of a query that grant access and select no file: they differ from one signing to the
/// next. Names are compared in small letters; `x-amz-` and `x-goog-` are further beginnings.
const GRANTS: [&str; 20] = [
    "access_token",
    "awsaccesskeyid",
    "expires",
    "googleaccessid",
    "hash",
    "key-pair-id",
    "policy",
    "se",
    "sig",
    "signature",
    "sip",
    "ske",
    "skt",
    "skoid",
    "sktid",
    "sp",
    "spr",
    "st",
    "sv",
    "token",
];

/// The hint for an address with a user or a password that may have ended the host.
const ESCAPED: &str = "; in a user or a password, @ is written %40, : is %3A, / is %2F, ? is %3F and # is %23";

impl Address {
    /// Parses `text`.
    pub(super) fn parse(text: &str) -> Result<Parsed, NoAddress> {
        let refuse = |reason: &str| NoAddress(reason.to_owned());
        let escaped = || if text.contains('@') { ESCAPED } else { "" };
        let mut url = Url::parse(text).map_err(|error| NoAddress(format!("{error}{}", escaped())))?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none_or(str::is_empty) {
            return Err(refuse("names no host of a web server"));
        }
        let decoded = |text: &str| percent_decode_str(text).decode_utf8().map(|text| text.into_owned());
        let user = decoded(url.username()).map_err(|_| refuse("its user is not UTF-8"))?;
        let password = url.password().map(decoded).transpose().map_err(|_| refuse("its password is not UTF-8"))?;
        let login = match password {
            Some(password) => {
                let bad = || refuse("its user or its password cannot be sent");
                Some(Login::new(&user, &password).ok_or_else(bad)?)
            }
            None => None,
        };
        // A web address always has a base, so these cannot fail.
        let _ = (url.set_username(""), url.set_password(None));
        url.set_fragment(None);
        Ok(Parsed { address: Address { url }, login, user: Some(user).filter(|user| !user.is_empty()) })
    }

    /// The address itself, with its query.
    pub(super) fn itself(&self) -> &Url {
        &self.url
    }

    /// Whether it can only be a folder's: it ends with a slash.
    pub(super) fn ends_with_slash(&self) -> bool {
        self.url.path().ends_with('/')
    }

    /// The last name in it.
    pub(super) fn last_name(&self) -> Option<OsString> {
        segments(self.url.path().as_bytes())?.names.pop().map(OsString::from_vec)
    }

    /// The address of a folder below it. `None` if no address can hold the path.
    pub(super) fn folder(&self, path: &Path) -> Option<Url> {
        let escaped = escape(path)?;
        Some(self.below(&if escaped.is_empty() { escaped } else { format!("{escaped}/") }))
    }

    /// The address of a name below it, without a slash. `None` if no address can hold the path.
    pub(super) fn name(&self, path: &Path) -> Option<Url> {
        escape(path).filter(|escaped| !escaped.is_empty()).map(|escaped| self.below(&escaped))
    }

    fn below(&self, escaped: &str) -> Url {
        let mut url = self.url.clone();
        let path = url.path();
        let slash = if path.ends_with('/') { "" } else { "/" };
        url.set_path(&format!("{path}{slash}{escaped}"));
        url
    }

    /// The address of the server's own root.
    pub(super) fn server(&self) -> Url {
        let mut url = self.url.clone();
        url.set_path("/");
        url.set_query(None);
        url
    }

    /// For messages: without user, password and query.
    pub(super) fn description(&self) -> String {
        let mut url = self.url.clone();
        url.set_query(None);
        url.as_str().trim_end_matches('/').to_owned()
    }

    /// Tells it from other sources. It has the user, who may see other files than another one, and
    /// a hash of the query without signatures, since the query may select other files.
    pub(super) fn identity(&self, user: Option<&str>) -> String {
        let mut url = self.url.clone();
        url.set_query(None);
        let _ = url.set_username(user.unwrap_or_default());
        let identity = url.as_str().trim_end_matches('/').to_owned();
        let selects = |part: &&str| {
            let name = part.split('=').next().unwrap_or_default().to_ascii_lowercase();
            !GRANTS.contains(&name.as_str()) && !name.starts_with("x-amz-") && !name.starts_with("x-goog-")
        };
        let query: Vec<&str> = self.url.query().unwrap_or_default().split('&').filter(selects).collect();
        let query = query.join("&");
        if query.is_empty() {
            return identity;
        }
        let mut hasher = XxHash64::with_seed(0);
        hasher.write(query.as_bytes());
        format!("{identity}?{:016x}", hasher.finish())
    }
}

/// The path of an address. None of ours and of our redirects is without one.
pub(super) fn path_of(url: &Url) -> Segments {
    segments(url.path().as_bytes()).unwrap_or_default()
}

/// Whether two addresses are of one server, so that one may see the other's secrets.
pub(super) fn same_origin(one: &Url, other: &Url) -> bool {
    one.origin() == other.origin()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Parsed {
        Address::parse(text).unwrap()
    }

    #[test]
    fn secrets_stay_out_of_what_is_shown() {
        let it = parsed("http://Aladdin:open%20sesame@host:80/a%20b/?sig=s3cret&id=5#part");
        assert_eq!(it.user.as_deref(), Some("Aladdin"));
        assert_eq!(it.login, Login::new("Aladdin", "open sesame"));
        assert_eq!(it.address.description(), "http://host/a%20b");
        let identity = it.address.identity(Some("Aladdin"));
        assert!(identity.starts_with("http://Aladdin@host/a%20b?") && !identity.contains("id=5"), "{identity}");
        assert_eq!(it.address.itself().as_str(), "http://host/a%20b/?sig=s3cret&id=5");
    }

    #[test]
    fn a_query_that_selects_is_part_of_the_identity_and_a_signature_is_not() {
        let identity = |text| parsed(text).address.identity(None);
        let plain = identity("https://host/file");
        assert_eq!(identity("https://host/file?X-Amz-Signature=1&X-Amz-Date=2"), plain);
        assert_eq!(identity("https://host/file?sig=1&se=2"), plain);
        let version = identity("https://host/file?versionId=1&X-Amz-Signature=1");
        assert!(version != plain && version != identity("https://host/file?versionId=2"));
        assert_eq!(version, identity("https://host/file?versionId=1&X-Amz-Signature=9"));
    }

    #[test]
    fn names_below_keep_the_path_and_the_query_as_they_are() {
        let address = parsed("http://host/a%2Bb/c;d?x=%20y").address;
        assert_eq!(address.name(Path::new("e/f g?")).unwrap().as_str(), "http://host/a%2Bb/c;d/e/f%20g%3F?x=%20y");
        assert_eq!(address.folder(Path::new("")).unwrap().as_str(), "http://host/a%2Bb/c;d/?x=%20y");
        assert_eq!(address.folder(Path::new("e")).unwrap().path(), "/a%2Bb/c;d/e/");
        assert_eq!(address.name(Path::new("")), None);
        assert_eq!(address.name(Path::new("../up")), None);
        assert_eq!(parsed("http://host/a/b%20c").address.last_name().unwrap(), "b c");
        assert_eq!(parsed("http://host/a/b%2Fc").address.last_name().unwrap(), "b%2Fc");
        assert!(parsed("http://host").address.ends_with_slash());
        let error = Address::parse("http://user:pa/ss@host/").unwrap_err().to_string();
        assert!(error.contains("%2F") && !error.contains("pa/"), "{error}");
        for text in ["http://", "ftp://host/", "no address", "http://a%00:b@host/"] {
            assert!(Address::parse(text).is_err(), "{text}");
        }
    }
}
