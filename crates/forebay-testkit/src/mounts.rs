//! Mount points for tests: a temporary folder on which nothing stays mounted, however the test
//! ends.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::mount::UnmountFlags;
use tempfile::TempDir;

/// Whether something is mounted at `point` (an absolute path without links), dead or alive. Never
/// touches the mount itself.
pub fn is_mounted(point: &Path) -> bool {
    // The fifth field is the mount point, with blanks and backslashes as octal escapes.
    let mut escaped = Vec::new();
    for &byte in point.as_os_str().as_bytes() {
        match byte {
            b' ' | b'\t' | b'\n' | b'\\' => escaped.extend(format!("\\{byte:03o}").bytes()),
            _ => escaped.push(byte),
        }
    }
    let table = std::fs::read("/proc/self/mountinfo").expect("/proc is there");
    table.split(|&byte| byte == b'\n').any(|line| line.split(|&byte| byte == b' ').nth(4) == Some(&escaped))
}

/// Takes everything off `point`, at once: also dead mounts and those in use.
pub fn lazy_unmount(point: &Path) {
    while is_mounted(point) {
        if let Err(error) = rustix::mount::unmount(point, UnmountFlags::DETACH | UnmountFlags::NOFOLLOW) {
            eprintln!("{}: still mounted: {error}", point.display());
            return;
        }
    }
}

/// Whether tests can mount here: `/dev/fuse` is there and we may open it. Says so loudly if not;
/// fails in CI.
pub fn possible() -> bool {
    let possible = std::fs::OpenOptions::new().read(true).write(true).open("/dev/fuse").is_ok();
    if !possible {
        crate::tools::skip("/dev/fuse");
    }
    possible
}

/// An empty temporary folder to mount on. Dropping it unmounts everything there and removes the
/// folder.
#[derive(Debug)]
pub struct MountPoint {
    folder: TempDir,
}

impl MountPoint {
    /// A new one.
    pub fn new() -> std::io::Result<MountPoint> {
        let folder = tempfile::Builder::new().prefix("forebay mount ").tempdir()?;
        Ok(MountPoint { folder })
    }

    /// Its path, absolute. If the temporary folder is no link, the table of mounts has the same
    /// path.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for MountPoint {
    fn drop(&mut self) {
        // Before the folder is removed: no mounted file may be deleted with it.
        lazy_unmount(self.path());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sees_and_takes_off_a_mount() {
        let point = MountPoint::new().unwrap();
        assert!(!is_mounted(point.path()));
        let flags = rustix::mount::MountFlags::empty();
        if rustix::mount::mount("none", point.path(), "tmpfs", flags, c"size=64k").is_err() {
            return crate::tools::skip("the right to mount");
        }
        std::fs::write(point.path().join("file"), "in the mount").unwrap();
        assert!(is_mounted(point.path()));
        let path = point.path().to_owned();
        drop(point);
        assert!(!is_mounted(&path) && !path.exists());
    }
}
