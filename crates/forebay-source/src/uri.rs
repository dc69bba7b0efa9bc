//! From an argument of the command line to a source: `/path`, `s3://bucket/prefix`, a set of such
//! (`stripe:64KiB:/d1,/d2`), and any of them with `name=` in front.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use super::local::LocalSource;
use super::object::{SCHEMES, StoreOptions};
use super::remote::RemoteSource;
use super::striped::{StripedSource, Stripes, StripesError};
use super::{Error, Source};
use crate::size::Size;

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
    /// A file where a folder is needed.
    #[error("{file} is a file; give the folder that it is in: {folder}")]
    File {
        /// The file.
        file: String,
        /// The folder that it is in.
        folder: String,
    },
    /// A name that cannot be a folder's.
    #[error("{0:?} cannot be the name of a source")]
    BadName(String),
    /// A URI of a known scheme that is not understood.
    #[error("{uri}: {reason}")]
    BadUri {
        /// The whole URI.
        uri: String,
        /// The fault.
        reason: String,
    },
    /// A set of members that is not understood.
    #[error("{set}: {reason}; a set is written stripe:64KiB:/d1,/d2")]
    BadSet {
        /// The whole set.
        set: String,
        /// The fault.
        reason: String,
    },
    /// A set that cannot be.
    #[error(transparent)]
    Stripes(#[from] StripesError),
    /// It is well-formed, and cannot be reached.
    #[error(transparent)]
    Source(#[from] Error),
}

fn known() -> String {
    let known = std::iter::once("file").chain(SCHEMES).map(|scheme| format!("{scheme}://"));
    known.chain(["stripe:UNIT:MEMBER,…".to_owned()]).collect::<Vec<_>>().join(", ")
}

/// An argument as messages may show it: a URL without its user and password. A password that is not
/// escaped may have any character, also those that end a host.
pub fn without_user(arg: &str) -> String {
    let Some((scheme, rest)) = arg.split_once("://") else { return arg.to_owned() };
    let host = rest.rfind('@').map_or(0, |at| at + 1);
    format!("{scheme}://{}", &rest[host..])
}

/// An argument in its parts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Place<'a> {
    /// A folder of this machine.
    Folder(&'a Path),
    /// An object store.
    Store(&'a str),
    /// A set of members, none of which is a set.
    Set(Stripes, Vec<Place<'a>>),
}

impl<'a> Place<'a> {
    /// The places with a device of their own: the members of a set, else the place itself.
    pub fn devices(&self) -> &[Place<'a>] {
        match self {
            Place::Set(_, members) => members,
            place => std::slice::from_ref(place),
        }
    }
}

/// Splits an argument into a name, if it has one, and a place. In `name=place` the name holds no
/// slash, so a folder whose own name holds `=` is written with a slash before that: `./a=b`. So is
/// a folder that is called like a set. A member whose name holds a comma needs a link without one.
pub fn parse(arg: &OsStr) -> Result<(Option<&str>, Place<'_>), OpenError> {
    let (name, place) = split_name(arg)?;
    let place = match place.as_bytes().strip_prefix(b"stripe:") {
        Some(rest) => set(place, rest)?,
        None => single(place)?,
    };
    Ok((name, place))
}

/// `UNIT:MEMBER,MEMBER,…`, the rest of `place`.
fn set<'a>(place: &OsStr, rest: &'a [u8]) -> Result<Place<'a>, OpenError> {
    let bad = |reason: String| OpenError::BadSet { set: without_user(&place.to_string_lossy()), reason };
    let split = rest.iter().position(|&byte| byte == b':').and_then(|at| Some((str::from_utf8(&rest[..at]).ok()?, at)));
    let (unit, at) = split.ok_or_else(|| bad("no stripe unit".into()))?;
    let unit: Size = unit.parse().map_err(|error| bad(format!("`{unit}`: {error}")))?;
    let names: Vec<&OsStr> = rest[at + 1..].split(|&byte| byte == b',').map(OsStr::from_bytes).collect();
    let stripes = Stripes::new(unit.bytes(), names.len()).map_err(|error| bad(error.to_string()))?;
    for (number, name) in names.iter().enumerate() {
        let what = without_user(&name.to_string_lossy());
        if name.is_empty() {
            return Err(bad(format!("member {} is empty", number + 1)));
        }
        if names[..number].contains(name) {
            return Err(bad(format!("{what} is twice among the members")));
        }
        if name.as_bytes().starts_with(b"stripe:") {
            return Err(bad(format!("{what} is a set itself, which a member cannot be")));
        }
    }
    Ok(Place::Set(stripes, names.into_iter().map(single).collect::<Result<_, _>>()?))
}

/// A place that is no set.
fn single(place: &OsStr) -> Result<Place<'_>, OpenError> {
    if place.is_empty() {
        return Err(OpenError::Empty);
    }
    let Some((scheme, rest)) = split_scheme(place) else { return Ok(Place::Folder(Path::new(place))) };
    let uri = || without_user(&place.to_string_lossy());
    if scheme.eq_ignore_ascii_case("file") {
        return match rest {
            [b'/', ..] => Ok(Place::Folder(Path::new(OsStr::from_bytes(rest)))),
            _ => {
                Err(OpenError::BadUri { uri: uri(), reason: "a file URI needs an absolute path: file:///path".into() })
            }
        };
    }
    if !is_known(scheme) {
        return Err(OpenError::UnknownScheme { uri: uri(), scheme: scheme.into() });
    }
    let uri = place.to_str().ok_or_else(|| OpenError::BadUri { uri: uri(), reason: "is not UTF-8".into() })?;
    Ok(Place::Store(uri))
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

/// Opens the source of an argument, and makes sure that it can be reached.
pub fn open_source(arg: &OsStr, options: &StoreOptions) -> Result<(Option<String>, Arc<dyn Source>), OpenError> {
    let (name, place) = parse(arg)?;
    let source = open_place(&place, options, |_, source| Ok::<_, OpenError>(source))?;
    Ok((name.map(str::to_owned), source))
}

/// Opens a place, device by device, and makes sure that they can be reached. `each` sees every
/// device's source, in order, and returns the one to use: the same, or a wrapper around it.
pub fn open_place<E: From<OpenError>>(
    place: &Place<'_>,
    options: &StoreOptions,
    mut each: impl FnMut(&Place<'_>, Arc<dyn Source>) -> Result<Arc<dyn Source>, E>,
) -> Result<Arc<dyn Source>, E> {
    let mut device = |place: &Place<'_>| each(place, open_device(place, options)?);
    match place {
        Place::Folder(_) | Place::Store(_) => device(place),
        Place::Set(stripes, members) => {
            let members = members.iter().map(device).collect::<Result<_, E>>()?;
            Ok(Arc::new(StripedSource::new(stripes.unit(), members).map_err(OpenError::from)?))
        }
    }
}

fn open_device(place: &Place<'_>, options: &StoreOptions) -> Result<Arc<dyn Source>, OpenError> {
    match place {
        Place::Folder(file) if file.is_file() => {
            let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
            let folder = folder.unwrap_or(Path::new(".")).display().to_string();
            Err(OpenError::File { file: file.display().to_string(), folder })
        }
        Place::Folder(folder) if !folder.exists() && short_of_a_slash(folder) => {
            let reason = "an address has two slashes behind its scheme, as in s3://bucket".into();
            Err(OpenError::BadUri { uri: folder.display().to_string(), reason })
        }
        Place::Folder(folder) if !folder.exists() && is_host_and_port(folder) => {
            let reason = format!("no such folder; the address of a web server is written http://{}", folder.display());
            Err(OpenError::BadUri { uri: folder.display().to_string(), reason })
        }
        Place::Folder(folder) => {
            let source = LocalSource::new(folder)?;
            source.check()?;
            Ok(Arc::new(source))
        }
        Place::Store(uri) => Ok(Arc::new(RemoteSource::reach_uri(uri, options)?)),
        // Only a `Place` built by hand can have a set of sets; it is one device then.
        Place::Set(..) => open_place(place, options, |_, source| Ok::<_, OpenError>(source)),
    }
}

/// Whether a name begins with a known scheme, but has no `//` behind it.
fn short_of_a_slash(name: &Path) -> bool {
    let scheme = name.to_str().and_then(|name| name.split_once(':')).map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case("file") || is_known(scheme))
}

/// Whether a scheme is a store's, in letters of any case (RFC 3986, 3.1).
fn is_known(scheme: &str) -> bool {
    SCHEMES.iter().any(|known| known.eq_ignore_ascii_case(scheme))
}

/// Whether a name begins as the address of a server without its scheme: a host, and a port.
fn is_host_and_port(name: &Path) -> bool {
    let first = name.to_str().map(|name| name.split('/').next().unwrap_or_default());
    let port = first.and_then(|first| first.rsplit_once(':')).map(|(_, port)| port);
    port.is_some_and(|port| port.parse::<u16>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_lacks_a_slash() {
        let error = |arg: &str| {
            let opened = open_source(arg.as_ref(), &StoreOptions::default());
            opened.err().expect("no such source").to_string()
        };
        for arg in ["s3:/bucket", "https:/host/pub", "s3:bucket", "file:/srv"] {
            assert!(error(arg).contains("two slashes behind its scheme"), "{}", error(arg));
        }
        assert!(error("nosuch:/bucket").contains("not found"), "{}", error("nosuch:/bucket"));
        for arg in ["127.0.0.1:7001", "localhost:7001/pub"] {
            assert!(error(arg).contains(&format!("written http://{arg}")), "{}", error(arg));
        }
        assert!(error("nosuch:folder").contains("not found"));
    }

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
            ("HTTP://host/path", None, Place::Store("HTTP://host/path")),
            ("File:///srv", None, folder("/srv")),
        ] {
            assert_eq!(parse(OsStr::new(arg)).unwrap(), (name, place), "{arg}");
        }
        let odd = OsStr::from_bytes(b"/srv/\xff");
        assert_eq!(parse(odd).unwrap(), (None, Place::Folder(Path::new(odd))));
    }

    #[test]
    fn sets_are_taken_apart() {
        let (name, place) = parse(OsStr::new("all=stripe:64KiB:/d1,./d,2,s3://bucket/a=b,file:///d3")).unwrap();
        assert_eq!(name, Some("all"));
        let folder = |path| Place::Folder(Path::new(path));
        let members = vec![folder("/d1"), folder("./d"), folder("2"), Place::Store("s3://bucket/a=b"), folder("/d3")];
        assert_eq!(place, Place::Set(Stripes::new(65_536, 5).unwrap(), members.clone()));
        assert_eq!(place.devices(), members);
        assert_eq!(folder("/d").devices(), [folder("/d")]);
        let odd = OsStr::from_bytes(b"stripe:4k:/\xff");
        assert!(matches!(parse(odd).unwrap().1, Place::Set(_, members) if members.len() == 1));
        assert_eq!(parse(OsStr::new("./stripe:4k:/d1,/d2")).unwrap().1, folder("./stripe:4k:/d1,/d2"));
    }

    #[test]
    fn sets_that_are_none_say_what_is_wrong() {
        for (arg, reason) in [
            ("stripe:/d1,/d2", "no stripe unit"),
            ("stripe:", "no stripe unit"),
            ("stripe:much:/d1", "not a size"),
            ("stripe:1000:/d1,/d2", "multiple of 4096"),
            ("stripe:0:/d1,/d2", "multiple of 4096"),
            ("stripe:64KiB:", "member 1 is empty"),
            ("stripe:64KiB:/d1,,/d2", "member 2 is empty"),
            ("stripe:64KiB:/d1,/d2,/d1", "/d1 is twice"),
            ("stripe:64KiB:/d1,stripe:4k:/d2", "a set itself"),
            ("stripe:64KiB:/d1,ftp://host", "ftp"),
        ] {
            let error = parse(OsStr::new(arg)).unwrap_err().to_string();
            assert!(error.contains(reason), "{arg}: {error}");
            assert!(!error.contains('\n'));
        }
    }

    #[test]
    fn refusals_say_what_is_known() {
        let error = |arg: &str| parse(OsStr::new(arg)).unwrap_err().to_string();
        let unknown = error("ftp://host/path");
        assert!(unknown.contains("\"ftp\""), "{unknown}");
        for scheme in ["file://", "s3://", "gs://", "az://", "http://", "https://"] {
            assert!(unknown.contains(scheme), "{unknown}");
        }
        for secret in ["htp://user:pa/s@s@host/x", "stripe:4k:/d1,htp://user:pass@host", "stripe:4k:,http://u:pass@h"] {
            let line = error(secret);
            assert!(!line.contains("pass") && !line.contains("pa/s") && !line.contains("s@"), "{line}");
        }
        assert!(error("").contains("empty"));
        assert!(error("name=").contains("empty"));
        assert!(error("..=/srv").contains("cannot be the name"));
        assert!(error("file://host/path").contains("absolute"));
    }
}
