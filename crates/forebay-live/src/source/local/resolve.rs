//! From a path to a descriptor, without leaving the source and without following a link.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::io::{Errno, Result};

/// The folder that paths are relative to.
pub(super) struct Root {
    fd: OwnedFd,
    /// Whether the kernel has `openat2` (Linux 5.6) and no filter forbids it.
    whole: AtomicBool,
}

impl Root {
    pub(super) fn new(fd: OwnedFd) -> Root {
        Root { fd, whole: AtomicBool::new(true) }
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Opens what `path` names, in the source and through no link. `..` is refused even where it would stay inside.
    pub(super) fn open(&self, path: &Path, flags: OFlags) -> Result<OwnedFd> {
        let flags = flags | OFlags::CLOEXEC;
        if path.components().any(|part| !matches!(part, Component::Normal(_) | Component::CurDir)) {
            return Err(Errno::XDEV);
        }
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        if self.whole.load(Ordering::Relaxed) {
            let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
            match retried(|| rustix::fs::openat2(&self.fd, path, flags, Mode::empty(), resolve)) {
                Err(Errno::NOSYS) => self.whole.store(false, Ordering::Relaxed),
                outcome => return outcome,
            }
        }
        self.open_by_parts(path, flags)
    }

    /// The same, component by component, for kernels that cannot do it at once. `..` has been refused, and each step
    /// refuses links, so no step leads upwards.
    fn open_by_parts(&self, path: &Path, flags: OFlags) -> Result<OwnedFd> {
        let step = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut folder: Option<OwnedFd> = None;
        let mut parts = path.components().peekable();
        while let Some(part) = parts.next() {
            let at = folder.as_ref().map_or(self.fd.as_fd(), AsFd::as_fd);
            if parts.peek().is_none() {
                return rustix::fs::openat(at, part.as_os_str(), flags | OFlags::NOFOLLOW, Mode::empty());
            }
            folder = Some(rustix::fs::openat(at, part.as_os_str(), step, Mode::empty())?);
        }
        Err(Errno::NOENT)
    }

    /// Whether following the links in `path` would leave the source, as far as can be told now. A path that leads to
    /// nothing stays inside; if its last name is a link, that one is judged when it is read.
    pub(super) fn escapes(&self, path: &Path) -> bool {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        let opened = retried(|| rustix::fs::openat2(&self.fd, path, flags, Mode::empty(), resolve));
        !matches!(opened, Ok(_) | Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS))
    }
}

/// `openat2` gives up with EAGAIN when a rename passes by while it resolves.
fn retried<T>(mut call: impl FnMut() -> Result<T>) -> Result<T> {
    const TRIES: usize = 100;
    for _ in 0..TRIES {
        match call() {
            Err(Errno::AGAIN | Errno::INTR) => {}
            outcome => return outcome,
        }
    }
    Err(Errno::AGAIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both ways of resolving must agree on what opens and on what does not.
    #[test]
    fn component_by_component_agrees_with_the_kernel() {
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("secret"), "x").unwrap();
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("a/b")).unwrap();
        std::fs::write(folder.path().join("a/b/file"), "x").unwrap();
        std::os::unix::fs::symlink(outside.path(), folder.path().join("out")).unwrap();
        std::os::unix::fs::symlink("a", folder.path().join("in")).unwrap();
        let open = |whole: bool, path: &str, flags| {
            let fd = rustix::fs::open(folder.path(), OFlags::PATH | OFlags::DIRECTORY, Mode::empty()).unwrap();
            let root = Root { fd, whole: AtomicBool::new(whole) };
            root.open(Path::new(path), flags).is_ok()
        };
        for (path, opens) in [
            ("", true),
            ("a", true),
            ("a/b/file", true),
            ("./a/./b", true),
            ("out/secret", false),
            ("in/b", false),
            ("../x", false),
            ("a/../a", false),
            ("/etc/passwd", false),
            ("missing", false),
            ("a/b/file/c", false),
        ] {
            assert_eq!(open(true, path, OFlags::PATH | OFlags::NOFOLLOW), opens, "openat2 {path:?}");
            assert_eq!(open(false, path, OFlags::PATH | OFlags::NOFOLLOW), opens, "by parts {path:?}");
        }
        assert!(
            open(true, "out", OFlags::PATH | OFlags::NOFOLLOW) && open(false, "out", OFlags::PATH | OFlags::NOFOLLOW)
        );
        assert!(!open(true, "out", OFlags::RDONLY) && !open(false, "out", OFlags::RDONLY));
    }
}
