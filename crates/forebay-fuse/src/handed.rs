//! A mount that the parent process has made: `/dev/fd/N` is its FUSE descriptor, which we inherit.
//!
//! So a process without any privilege can serve: mount.fuse3(8) hands over in this way with
//! `drop_privileges`, and containers hand over to each other. The parent mounts and unmounts.

use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::path::Path;

use forebay_source::mounts::Entry;
use rustix::fs::FileType;
use rustix::io::FdFlags;

use crate::mount::MountError;
use crate::table;

/// Where Linux has its descriptors.
const FOLDER: &str = "/dev/fd/";

/// The numbers of `/dev/fuse` (Documentation/admin-guide/devices.txt).
const MAJOR: u32 = 10;
const MINOR: u32 = 229;

/// Whether `point` names a descriptor.
pub(crate) fn is_one(point: &Path) -> bool {
    point.to_str().is_some_and(|point| point.starts_with(FOLDER))
}

/// The descriptor that `point` names; `None` if it names a place to mount at.
///
/// Fails if it names no descriptor of `/dev/fuse`. A descriptor can be taken once.
pub(crate) fn device(point: &Path) -> Result<Option<OwnedFd>, MountError> {
    let Some(number) = point.to_str().and_then(|point| point.strip_prefix(FOLDER)) else { return Ok(None) };
    let refused = |reason: &'static str| MountError::Handed { point: point.into(), reason };
    let number: RawFd = match number.parse() {
        Ok(number) if number > 2 && number < RawFd::MAX => number,
        Ok(0..=2) => return Err(refused("is a standard stream; hand the descriptor over with another number")),
        _ => return Err(refused("is no number of a descriptor")),
    };
    // SAFETY: the value lives only for these two calls, which report a number that is not open.
    let borrowed = unsafe { BorrowedFd::borrow_raw(number) };
    let status = rustix::fs::fstat(borrowed).map_err(|_| refused("is not open; the parent must leave it open"))?;
    let (major, minor) = (rustix::fs::major(status.st_rdev), rustix::fs::minor(status.st_rdev));
    if FileType::from_raw_mode(status.st_mode) != FileType::CharacterDevice || (major, minor) != (MAJOR, MINOR) {
        return Err(refused("is not /dev/fuse; the parent opens that, mounts with it, and hands it over"));
    }
    // Programs that we start shall not keep the mount alive.
    rustix::io::fcntl_setfd(borrowed, FdFlags::CLOEXEC).map_err(|errno| MountError::io(point, errno.into()))?;
    // SAFETY: it is open. Nothing else in this process opens `/dev/fuse` before a mount does, so
    // the parent left it for us, and it has no other owner here.
    Ok(Some(unsafe { OwnedFd::from_raw_fd(number) }))
}

/// Warns of options that the parent should have given. Nothing is said where the kernel does not
/// tell which mount the descriptor is of (Linux before 6.17), or the mount is in another namespace.
pub(crate) fn warn_of_options(point: &Path, device: &OwnedFd) {
    let Ok(told) = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", device.as_raw_fd())) else { return };
    let number = told.lines().find_map(|line| line.strip_prefix("fuse_connection:"));
    let Some(number) = number.map(str::trim) else { return };
    // The number of the connection is that of the file system's device, which has no major one.
    let Ok(Some(mount)) = table::of_device(&format!("0:{number}")) else { return };
    for danger in dangers(&mount) {
        log::warn!("{}, mounted at {}: {danger}", point.display(), mount.point.display());
    }
}

/// The dangers of the options of a mount.
fn dangers(mount: &Entry) -> Vec<&'static str> {
    let all = [
        (
            !mount.has_option("nosuid"),
            "programs of the source run with the rights of their owners; the parent should mount with nosuid",
        ),
        (!mount.has_option("nodev"), "devices of the source can be opened; the parent should mount with nodev"),
        (
            mount.has_option("allow_other") && !mount.has_option("default_permissions"),
            "everybody may read every file; the parent should mount with default_permissions",
        ),
    ];
    all.into_iter().filter_map(|(is_there, danger)| is_there.then_some(danger)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(point: &str) -> String {
        device(Path::new(point)).unwrap_err().to_string()
    }

    #[test]
    fn other_places_are_mount_points() {
        for point in ["/mnt/data", "/dev/fdx/3", "relative"] {
            assert!(device(Path::new(point)).unwrap().is_none(), "{point}");
        }
    }

    #[test]
    fn what_is_no_descriptor_of_fuse_is_refused() {
        let file = std::fs::File::open("/dev/null").unwrap();
        for (number, said) in [
            ("".into(), "no number"),
            ("x".into(), "no number"),
            ("-1".into(), "no number"),
            ("2147483647".into(), "no number"),
            ("99999999999".into(), "no number"),
            ("0".into(), "standard stream"),
            ("1000000".into(), "not open"),
            (file.as_raw_fd().to_string(), "is not /dev/fuse"),
        ] {
            let said_of_it = error(&format!("/dev/fd/{number}"));
            assert!(said_of_it.contains(said), "{said_of_it}");
        }
    }

    #[test]
    fn options_that_the_parent_left_out_are_dangers() {
        let dangers = |options: &str| {
            let (point, source, kind) = ("/mnt".into(), "x".into(), "fuse.forebay".into());
            let mount = Entry { id: 1, device: "0:39".into(), point, kind, source, options: options.into() };
            super::dangers(&mount).len()
        };
        assert_eq!(dangers("rw,nosuid,nodev,relatime,rw,user_id=0"), 0);
        assert_eq!(dangers("ro,nosuid,nodev,rw,allow_other,default_permissions"), 0);
        assert_eq!(dangers("rw,rw,user_id=0"), 2);
        assert_eq!(dangers("rw,rw,allow_other"), 3);
    }
}
