//! The counters and reasons of a mount or a server, as it publishes them: at a mount's folder, at a
//! control socket, or at an address.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, absolute};

use forebay_serve::CONTROL;
use rustix::io::Errno;

use crate::failure::Failure;
use crate::options::Access;
use crate::{address, socket};

/// The largest value that the kernel hands over (`XATTR_SIZE_MAX`).
const LARGEST: usize = 64 << 10;

/// A place where a mount or a server can be asked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Place<'a> {
    /// A URL, as in `https://host:7680/`.
    Address(Cow<'a, str>),
    /// A control socket.
    Socket(&'a Path),
    /// Any other path. It may be the folder of a mount.
    Path(&'a Path),
}

impl Place<'_> {
    /// The place that is meant: `http://…`, `https://…`, `HOST:PORT`, `unix:PATH` or a path. A file
    /// of the name comes before `HOST:PORT`.
    pub(crate) fn of(given: &Path) -> Place<'_> {
        if let Some(path) = given.as_os_str().as_bytes().strip_prefix(b"unix:") {
            return Place::Socket(Path::new(OsStr::from_bytes(path)));
        }
        match std::fs::symlink_metadata(given) {
            Ok(_) if is_socket(given) => Place::Socket(given),
            Ok(_) => Place::Path(given),
            Err(_) => address::in_path(given).map_or(Place::Path(given), Place::Address),
        }
    }

    /// Whether a mount or a server is meant, and no file. A mount counts as well if it is dead, or
    /// another user's.
    pub(crate) fn is_asked(&self) -> bool {
        match self {
            Place::Address(_) | Place::Socket(_) => true,
            Place::Path(path) => match std::fs::metadata(path) {
                Ok(found) => found.is_dir(),
                Err(error) => is_gone(&error) || is_mount(path),
            },
        }
    }
}

/// Whether a mount's forebay is gone, or went while it was asked.
pub(crate) fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotConnected | ErrorKind::ConnectionAborted)
}

/// Whether the table of mounts has a mount of Forebay at a path.
fn is_mount(path: &Path) -> bool {
    let mounts = forebay_fuse::mounts().unwrap_or_default();
    absolute(path).is_ok_and(|path| mounts.contains(&path))
}

/// Whether a path is a socket, as a mount's control socket is. A dead mount is none.
pub(crate) fn is_socket(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| found.file_type().is_socket())
}

/// The value of an attribute, as JSON. The folder of a mount has the attribute. A control socket
/// and an address are asked for the last part of its name.
pub(crate) fn published(place: &Path, attribute: &str, access: &Access) -> Result<String, Failure> {
    let route = || format!("{CONTROL}{}", attribute.rsplit('.').next().unwrap_or_default());
    match Place::of(place) {
        Place::Address(url) => return address::get(&url, &route(), access),
        Place::Socket(path) => {
            let refused =
                |error| Failure::input(format!("{}: no mount answers at this socket: {error}", path.display()));
            return socket::get(path, &route()).map_err(refused);
        }
        Place::Path(_) => {}
    }
    let mut value = vec![0; LARGEST];
    let length = rustix::fs::getxattr(place, attribute, value.as_mut_slice()).map_err(|errno| amiss(place, errno))?;
    value.truncate(length);
    String::from_utf8(value).map_err(|_| Failure::run(format!("{}: its counters are not text", place.display())))
}

/// The failure to read an attribute of a folder.
fn amiss(point: &Path, errno: Errno) -> Failure {
    let point = point.display();
    match errno {
        Errno::NODATA | Errno::OPNOTSUPP => {
            Failure::input(format!("{point} is not a forebay mount: give the folder that `forebay mount` mounted on"))
        }
        Errno::NOENT | Errno::NOTDIR => {
            Failure::input(format!("{point}: there is no such folder; `findmnt -t fuse.forebay` lists the mounts"))
        }
        Errno::ACCESS => Failure::input(format!(
            "{point}: permission denied; the user who mounted it may look, and others with --allow-other"
        )),
        errno if is_gone(&errno.into()) => Failure::input(format!("{point}: its forebay is gone; mount it again")),
        errno => {
            let words = std::io::Error::from(errno);
            Failure::input(format!("{point}: its counters cannot be read: {words}; is its forebay still running?"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_that_goes_before_or_while_it_is_asked_is_gone() {
        for errno in [Errno::NOTCONN, Errno::CONNABORTED] {
            let said = amiss(Path::new("/mnt/data"), errno).to_string();
            assert_eq!(said, "/mnt/data: its forebay is gone; mount it again");
        }
    }

    #[test]
    fn a_folder_that_is_no_mount_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let counters = |point: &Path| published(point, "user.forebay.stats", &Access::default());
        let error = counters(folder.path()).unwrap_err().to_string();
        assert!(error.contains("is not a forebay mount"), "{error}");
        let error = counters(&folder.path().join("missing")).unwrap_err().to_string();
        assert!(error.contains("there is no such folder"), "{error}");
    }

    #[test]
    fn each_way_to_name_a_place() {
        let of = |text: &'static str| Place::of(Path::new(text));
        for (given, url) in [
            ("http://host:7680", "http://host:7680"),
            ("HTTPS://host/data", "HTTPS://host/data"),
            ("host.example:7680", "http://host.example:7680"),
            ("127.0.0.1:9100", "http://127.0.0.1:9100"),
            ("[::1]:80", "http://[::1]:80"),
        ] {
            assert_eq!(of(given), Place::Address(url.into()));
        }
        assert_eq!(of("unix:/run/a b.sock"), Place::Socket(Path::new("/run/a b.sock")));
        for path in ["/mnt/data", "host", "::1:80", "a/b:80", ":80", "host:", "host:+80", "host:99999", "s3://bucket"] {
            assert_eq!(of(path), Place::Path(Path::new(path)));
        }
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        assert_eq!(Place::of(&socket), Place::Socket(&socket));
        assert!(Place::of(&socket).is_asked() && Place::of(folder.path()).is_asked());
        assert!(!Place::of(&folder.path().join("trace.csv")).is_asked());
    }
}
