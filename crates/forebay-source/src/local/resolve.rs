//! From a path to a descriptor, without leaving the source and without following a link.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags};
use rustix::io::{Errno, Result};

use super::served::Served;

/// The refusal of a folder on which Forebay is mounted.
pub(super) const SERVED: Errno = Errno::DEADLK;

/// The folder that paths are relative to.
pub(super) struct Root {
    fd: OwnedFd,
    /// Whether the kernel has `openat2` (Linux 5.6) and no filter forbids it.
    whole: AtomicBool,
    served: Served,
}

impl Root {
    pub(super) fn new(fd: OwnedFd) -> Root {
        Root { served: Served::around(&fd), fd, whole: AtomicBool::new(true) }
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Opens `path`, in the source and through no link. `..` is refused even where it would stay
    /// inside. [`SERVED`] if Forebay is mounted there; paths below such a mount are not found
    /// (`ENOENT`).
    pub(super) fn open(&self, path: &Path, flags: OFlags) -> Result<OwnedFd> {
        let flags = flags | OFlags::CLOEXEC;
        if path.components().any(|part| !matches!(part, Component::Normal(_) | Component::CurDir)) {
            return Err(Errno::XDEV);
        }
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        if self.whole.load(Ordering::Relaxed) {
            let resolve =
                ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_XDEV;
            match retried(|| rustix::fs::openat2(&self.fd, path, flags, Mode::empty(), resolve)) {
                Err(Errno::NOSYS) => self.whole.store(false, Ordering::Relaxed),
                // Another mount, which is looked at before it is entered.
                Err(Errno::XDEV) => {}
                outcome => return outcome,
            }
        }
        self.open_by_parts(path, flags)
    }

    /// The same, component by component: over several mounts, and for kernels that cannot do it at
    /// once. `..` has been refused, and each step refuses links, so no step leads upwards.
    fn open_by_parts(&self, path: &Path, flags: OFlags) -> Result<OwnedFd> {
        let mut at: Option<OwnedFd> = None;
        let mut parts = path.components().peekable();
        while let Some(part) = parts.next() {
            let folder = at.as_ref().map_or(self.fd.as_fd(), AsFd::as_fd);
            let next = self.step(folder, part.as_os_str());
            if parts.peek().is_none() {
                return reopened(next?, flags);
            }
            at = Some(next.map_err(|errno| if errno == SERVED { Errno::NOENT } else { errno })?);
        }
        Err(Errno::NOENT)
    }

    /// A descriptor of a name in a folder, which grants nothing. On another mount, no request is
    /// made before it is known whether Forebay serves it.
    fn step(&self, folder: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let next = rustix::fs::openat(folder, name, flags, Mode::empty())?;
        if self.served.has(&next)? { Err(SERVED) } else { Ok(next) }
    }

    /// Whether following the links in `path` would leave the source, as far as can be told now. A
    /// path that leads to nothing stays inside. If its last name is a link, that one is judged when
    /// it is read.
    pub(super) fn escapes(&self, path: &Path) -> bool {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_XDEV;
        let opened = match retried(|| rustix::fs::openat2(&self.fd, path, flags, Mode::empty(), resolve)) {
            // It leaves the source, or its mount.
            Err(Errno::XDEV) => self.follow(path),
            opened => opened.map(drop),
        };
        !matches!(opened, Ok(()) | Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS | SERVED))
    }

    /// Follows a path and the links in it, step by step; `EXDEV` once it leaves the source.
    fn follow(&self, path: &Path) -> Result<()> {
        const LINKS: usize = 40;
        let mut folders: Vec<OwnedFd> = Vec::new();
        let mut left: Vec<OsString> = path.components().rev().map(|part| part.as_os_str().to_owned()).collect();
        let mut links = 0;
        while let Some(part) = left.pop() {
            match Path::new(&part).components().next() {
                Some(Component::Normal(_)) => {}
                Some(Component::ParentDir) => match folders.pop() {
                    Some(_) => continue,
                    None => return Err(Errno::XDEV),
                },
                Some(Component::CurDir) => continue,
                _ => return Err(Errno::XDEV),
            }
            let next = self.step(folders.last().map_or(self.fd.as_fd(), AsFd::as_fd), &part)?;
            let is_link = !left.is_empty() && FileType::from_raw_mode(rustix::fs::fstat(&next)?.st_mode).is_symlink();
            if !is_link {
                folders.push(next);
                continue;
            }
            links += 1;
            if links > LINKS {
                return Err(Errno::LOOP);
            }
            let target = rustix::fs::readlinkat(&next, c"", Vec::new())?.into_bytes();
            let target = PathBuf::from(OsString::from_vec(target));
            left.extend(target.components().rev().map(|part| part.as_os_str().to_owned()));
        }
        Ok(())
    }
}

/// Opens the file that a descriptor names.
fn reopened(name: OwnedFd, flags: OFlags) -> Result<OwnedFd> {
    if flags.contains(OFlags::PATH) {
        let wrong =
            flags.contains(OFlags::DIRECTORY) && !FileType::from_raw_mode(rustix::fs::fstat(&name)?.st_mode).is_dir();
        return if wrong { Err(Errno::NOTDIR) } else { Ok(name) };
    }
    // The descriptor of a link does not lead further.
    let path = format!("/proc/self/fd/{}", name.as_raw_fd());
    rustix::fs::open(path, flags.difference(OFlags::NOFOLLOW), Mode::empty())
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
            let root = Root { whole: AtomicBool::new(whole), ..Root::new(fd) };
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
