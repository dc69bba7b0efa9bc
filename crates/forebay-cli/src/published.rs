//! The counters and reasons of a mount or a server, as it publishes them: at a mount's folder, at a
//! control socket, or at an address.

use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use forebay_serve::CONTROL;
use rustix::io::Errno;

use crate::failure::Failure;
use crate::options::Access;
use crate::{address, socket};

/// The largest value that the kernel hands over (`XATTR_SIZE_MAX`).
const LARGEST: usize = 64 << 10;

/// Whether a path is a socket, as a mount's control socket is. A dead mount is none.
pub(crate) fn is_socket(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| found.file_type().is_socket())
}

/// The value of an attribute, as JSON. `place` is the folder of a mount, which has the attribute,
/// or a control socket, or an address, which are asked for the last part of its name.
pub(crate) fn published(place: &Path, attribute: &str, access: &Access) -> Result<String, Failure> {
    let route = || format!("{CONTROL}{}", attribute.rsplit('.').next().unwrap_or_default());
    if let Some(url) = address::in_path(place) {
        return address::get(url, &route(), access);
    }
    if is_socket(place) {
        let refused = |error| Failure::input(format!("{}: no mount answers at this socket: {error}", place.display()));
        return socket::get(place, &route()).map_err(refused);
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
        Errno::NOTCONN => Failure::input(format!("{point}: its forebay is gone; mount it again")),
        Errno::NOENT | Errno::NOTDIR => {
            Failure::input(format!("{point}: there is no such folder; `findmnt -t fuse.forebay` lists the mounts"))
        }
        Errno::ACCESS => Failure::input(format!(
            "{point}: permission denied; the user who mounted it may look, and others with --allow-other"
        )),
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
    fn a_folder_that_is_no_mount_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let counters = |point: &Path| published(point, "user.forebay.stats", &Access::default());
        let error = counters(folder.path()).unwrap_err().to_string();
        assert!(error.contains("is not a forebay mount"), "{error}");
        let error = counters(&folder.path().join("missing")).unwrap_err().to_string();
        assert!(error.contains("there is no such folder"), "{error}");
    }
}
