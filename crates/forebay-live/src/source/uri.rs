//! From an argument of the command line to a source: `/path`, `s3://bucket/prefix`, and either with `name=` in front.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use super::local::LocalSource;
use super::object::{SCHEMES, StoreOptions, StoreSource};
use super::{Error, Source};

/// Why an argument is no source.
#[derive(Clone, Debug, thiserror::Error)]
pub enum OpenError {
    /// There is nothing to open in the argument.
    #[error("an empty source; give a folder or a URI ({})", known())]
    Empty,
    /// It looks like a URI, of a kind that we cannot open.
    #[error("{uri}: unknown scheme {scheme:?}; known are {}, and folders by their path", known())]
    UnknownScheme {
        /// The whole URI.
        uri: String,
        /// The part that is not known.
        scheme: String,
    },
    /// A name that cannot be a folder's.
    #[error("{0:?} cannot be the name of a source")]
    BadName(String),
    /// A URI of a known scheme that is not understood.
    #[error("{uri}: {reason}")]
    BadUri {
        /// The whole URI.
        uri: String,
        /// What is wrong with it.
        reason: String,
    },
    /// It is well-formed, and cannot be reached.
    #[error(transparent)]
    Source(#[from] Error),
}

fn known() -> String {
    let known = std::iter::once("file").chain(SCHEMES);
    known.map(|scheme| format!("{scheme}://")).collect::<Vec<_>>().join(", ")
}

/// An argument, taken apart.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Place<'a> {
    /// A folder of this machine.
    Folder(&'a Path),
    /// An object store.
    Store(&'a str),
}

/// Takes an argument apart into a name, if it has one, and a place. In `name=place` the name holds no slash, so a
/// folder whose own name holds `=` is written with a slash before that: `./a=b`.
pub fn parse(arg: &OsStr) -> Result<(Option<&str>, Place<'_>), OpenError> {
    let (name, place) = split_name(arg)?;
    if place.is_empty() {
        return Err(OpenError::Empty);
    }
    let Some((scheme, rest)) = split_scheme(place) else { return Ok((name, Place::Folder(Path::new(place)))) };
    let uri = || place.to_string_lossy().into_owned();
    if scheme == "file" {
        return match rest {
            [b'/', ..] => Ok((name, Place::Folder(Path::new(OsStr::from_bytes(rest))))),
            _ => {
                Err(OpenError::BadUri { uri: uri(), reason: "a file URI needs an absolute path: file:///path".into() })
            }
        };
    }
    if !SCHEMES.contains(&scheme) {
        return Err(OpenError::UnknownScheme { uri: uri(), scheme: scheme.into() });
    }
    let uri = place.to_str().ok_or_else(|| OpenError::BadUri { uri: uri(), reason: "is not UTF-8".into() })?;
    Ok((name, Place::Store(uri)))
}

fn split_name(arg: &OsStr) -> Result<(Option<&str>, &OsStr), OpenError> {
    let bytes = arg.as_bytes();
    let Some(at) = bytes.iter().position(|&byte| byte == b'=' || byte == b'/') else { return Ok((None, arg)) };
    if bytes[at] == b'/' {
        return Ok((None, arg));
    }
    let (name, place) = (OsStr::from_bytes(&bytes[..at]), OsStr::from_bytes(&bytes[at + 1..]));
    match name.to_str() {
        Some(name) if !["", ".", ".."].contains(&name) && !name.contains('\0') => Ok((Some(name), place)),
        _ => Err(OpenError::BadName(name.to_string_lossy().into_owned())),
    }
}

/// The scheme and what follows `://`, if the text before it could be a scheme (RFC 3986, 3.1).
fn split_scheme(place: &OsStr) -> Option<(&str, &[u8])> {
    let bytes = place.as_bytes();
    let at = bytes.windows(3).position(|window| window == b"://")?;
    let scheme = std::str::from_utf8(&bytes[..at]).ok()?;
    let fits = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    (scheme.starts_with(|c: char| c.is_ascii_alphabetic()) && scheme.chars().all(fits))
        .then_some((scheme, &bytes[at + 3..]))
}

/// Opens what an argument says, and makes sure that it can be reached.
pub fn open_source(arg: &OsStr, options: &StoreOptions) -> Result<(Option<String>, Arc<dyn Source>), OpenError> {
    let (name, place) = parse(arg)?;
    let source: Arc<dyn Source> = match place {
        Place::Folder(folder) => {
            let source = LocalSource::new(folder)?;
            source.check()?;
            Arc::new(source)
        }
        Place::Store(uri) => {
            let store = StoreSource::open_uri(uri, options)?;
            store.check()?;
            Arc::new(store)
        }
    };
    Ok((name.map(str::to_owned), source))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_taken_apart() {
        let folder = |path| Place::Folder(Path::new(path));
        for (arg, name, place) in [
            ("/srv/data", None, folder("/srv/data")),
            ("data", None, folder("data")),
            ("hot=/ssd/data", Some("hot"), folder("/ssd/data")),
            ("hot=data", Some("hot"), folder("data")),
            ("./a=b", None, folder("./a=b")),
            ("/srv/a=b", None, folder("/srv/a=b")),
            ("file:///srv/a%20b", None, folder("/srv/a%20b")),
            ("s3://bucket/prefix", None, Place::Store("s3://bucket/prefix")),
            ("cold=s3://bucket", Some("cold"), Place::Store("s3://bucket")),
            ("s3://bucket/a=b", None, Place::Store("s3://bucket/a=b")),
            ("web=https://host/path", Some("web"), Place::Store("https://host/path")),
            ("a b://c", None, folder("a b://c")),
        ] {
            assert_eq!(parse(OsStr::new(arg)).unwrap(), (name, place), "{arg}");
        }
        let odd = OsStr::from_bytes(b"/srv/\xff");
        assert_eq!(parse(odd).unwrap(), (None, Place::Folder(Path::new(odd))));
    }

    #[test]
    fn refusals_say_what_is_known() {
        let error = |arg: &str| parse(OsStr::new(arg)).unwrap_err().to_string();
        let unknown = error("ftp://host/path");
        assert!(unknown.contains("\"ftp\""), "{unknown}");
        for scheme in ["file://", "s3://", "gs://", "az://", "http://", "https://"] {
            assert!(unknown.contains(scheme), "{unknown}");
        }
        assert!(error("").contains("empty"));
        assert!(error("name=").contains("empty"));
        assert!(error("..=/srv").contains("cannot be the name"));
        assert!(error("file://host/path").contains("absolute"));
    }
}
