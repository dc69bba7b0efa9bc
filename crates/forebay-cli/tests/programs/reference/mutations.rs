//! Calls that would change something.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{self, Access, AtFlags, CWD, FileType, Mode, OFlags, RenameFlags, Timespec, Timestamps, XattrFlags};
use rustix::io::Errno;

/// A call on a path.
type Call = fn(&Path) -> Result<(), Errno>;

/// All of them.
pub(super) const MUTATIONS: &[(&str, Call)] = &[
    ("open to write", |path| open(path, OFlags::WRONLY)),
    ("open to read and write", |path| open(path, OFlags::RDWR)),
    ("open to append", |path| open(path, OFlags::WRONLY | OFlags::APPEND)),
    ("open and truncate", |path| open(path, OFlags::WRONLY | OFlags::TRUNC)),
    ("create or open to write", |path| open(path, OFlags::WRONLY | OFlags::CREATE)),
    ("create", |path| open(path, OFlags::RDONLY | OFlags::CREATE | OFlags::EXCL)),
    ("a file without a name", |path| open(path, OFlags::RDWR | OFlags::TMPFILE)),
    ("access w", |path| fs::access(path, Access::WRITE_OK)),
    ("mkdir", |path| fs::mkdir(path, Mode::from(0o755))),
    ("rmdir", |path| fs::rmdir(path)),
    ("unlink", |path| fs::unlink(path)),
    ("rename away", |path| fs::rename(path, beside(path))),
    ("rename over it", |path| fs::rename(beside(path), path)),
    ("rename to itself below", |path| fs::rename(path, path.join("new"))),
    ("exchange", |path| fs::renameat_with(CWD, path, CWD, beside(path), RenameFlags::EXCHANGE)),
    ("link to it", |path| fs::link(path, path.with_file_name("new-link"))),
    ("link over it", |path| fs::link(beside(path), path)),
    ("symlink", |path| fs::symlink("to", path)),
    ("a pipe", |path| fs::mknodat(CWD, path, FileType::Fifo, Mode::from(0o644), 0)),
    ("a device", |path| fs::mknodat(CWD, path, FileType::CharacterDevice, Mode::from(0o644), fs::makedev(1, 3))),
    ("chmod", |path| fs::chmod(path, Mode::from(0o777))),
    ("chown", |path| fs::chown(path, Some(fs::Uid::from_raw(1)), None)),
    ("chown of a link", |path| fs::chownat(CWD, path, None, None, AtFlags::SYMLINK_NOFOLLOW)),
    ("utimensat", |path| fs::utimensat(CWD, path, &TIMES, AtFlags::empty())),
    ("utimensat of a link", |path| fs::utimensat(CWD, path, &TIMES, AtFlags::SYMLINK_NOFOLLOW)),
    ("truncate", truncate),
    ("setxattr", |path| fs::setxattr(path, "user.new", b"x", XattrFlags::empty())),
    ("removexattr", |path| fs::removexattr(path, "user.colour")),
];

const TIMES: Timestamps = Timestamps {
    last_access: Timespec { tv_sec: 1, tv_nsec: 0 },
    last_modification: Timespec { tv_sec: 1, tv_nsec: 0 },
};

/// A file that is there, in the same folder as the root's other names.
fn beside(path: &Path) -> PathBuf {
    path.parent().unwrap_or(path).join("one")
}

fn open(path: &Path, flags: OFlags) -> Result<(), Errno> {
    fs::open(path, flags | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::from(0o644)).map(|_| ())
}

fn truncate(path: &Path) -> Result<(), Errno> {
    let path = std::ffi::CString::new(path.as_os_str().as_bytes()).map_err(|_| Errno::INVAL)?;
    // SAFETY: the path is a string that ends in zero.
    match unsafe { libc::truncate(path.as_ptr(), 1) } {
        0 => Ok(()),
        _ => Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)),
    }
}
