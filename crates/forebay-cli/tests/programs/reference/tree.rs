//! A tree of every kind of file, on a tmpfs that is read-only once it is filled.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

use forebay_testkit::mounts::MountPoint;
use forebay_testkit::trees::content;
use rustix::fs::{FileType, Mode};
use rustix::mount::MountFlags;

use super::User;

/// The user to whom some files belong.
pub(super) const OWNER: User = User(12_345);
/// A user to whom none belongs.
pub(super) const OTHER: User = User(23_456);

/// The tree.
pub(super) struct Reference {
    point: MountPoint,
    root: PathBuf,
}

/// Lets every user pass.
pub(super) fn open_to_all(folder: &Path) {
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).expect("ours");
}

impl Reference {
    pub(super) fn new() -> Reference {
        let point = MountPoint::new().expect("a mount point");
        let flags = MountFlags::NOSUID | MountFlags::NODEV;
        rustix::mount::mount("forebay-test", point.path(), "tmpfs", flags, c"size=32m,mode=755").expect("root mounts");
        let root = point.path().join("root");
        fs::create_dir(&root).expect("ours");
        fs::write(point.path().join("secret"), "must not be reached").expect("ours");
        fill(&root);
        rustix::mount::mount_remount(point.path(), flags | MountFlags::RDONLY, c"").expect("root mounts");
        Reference { point, root }
    }

    pub(super) fn root(&self) -> &Path {
        debug_assert!(self.root.starts_with(self.point.path()));
        &self.root
    }
}

/// Makes a file, a folder or a special file of this owner and mode.
fn own(path: &Path, owner: u32, mode: u32) {
    chown(path, Some(owner), Some(owner)).expect("root gives files away");
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("root");
}

fn file(path: &Path, len: usize, owner: u32, mode: u32) {
    fs::write(path, content(len as u64, len)).expect("ours");
    own(path, owner, mode);
}

fn folder(path: &Path, owner: u32, mode: u32) {
    fs::create_dir(path).expect("ours");
    file(&path.join("inner"), 100, owner, 0o644);
    own(path, owner, mode);
}

fn fill(root: &Path) {
    let owner = OWNER.0;
    for (name, len, owner, mode) in [
        ("empty", 0, 0, 0o644),
        ("one", 1, 0, 0o644),
        ("block", 4096, 0, 0o444),
        ("large", 300_001, owner, 0o644),
        ("private", 5000, owner, 0o600),
        ("closed", 10, owner, 0o000),
        ("program", 10, owner, 0o755),
        ("setuid", 10, 0, 0o4755),
        ("write-only", 10, owner, 0o222),
        (".hidden", 3, 0, 0o644),
        ("...", 3, 0, 0o644),
        ("with space", 3, 0, 0o644),
        ("new\nline", 3, 0, 0o644),
        ("back\\slash", 3, 0, 0o644),
        ("naïve", 3, 0, 0o644),
    ] {
        file(&root.join(name), len, owner, mode);
    }
    file(&root.join(OsStr::from_bytes(b"not-utf8-\xff")), 3, 0, 0o644);
    file(&root.join("x".repeat(255)), 3, 0, 0o644);
    for (name, owner, mode) in [
        ("folder", 0, 0o755),
        ("own", owner, 0o700),
        ("pass", owner, 0o711),
        ("list", owner, 0o744),
        ("shut", 0, 0o000),
    ] {
        folder(&root.join(name), owner, mode);
    }
    folder(&root.join("sticky"), 0, 0o1777);
    fs::create_dir(root.join("hollow")).expect("ours");
    folder(&root.join("folder/deep"), 0, 0o755);
    fs::hard_link(root.join("block"), root.join("linked")).expect("ours");
    for (name, to) in [
        ("to-file", "large"),
        ("to-folder", "folder"),
        ("to-deep", "folder/deep/inner"),
        ("to-link", "to-file"),
        ("dangling", "nowhere"),
        ("itself", "itself"),
        ("ping", "pong"),
        ("pong", "ping"),
        ("to-slash", "folder/"),
        ("to-private", "private"),
        ("folder/up", "../one"),
    ] {
        symlink(to, root.join(name)).expect("ours");
    }
    special(root);
}

/// Files of the other kinds, and an attribute.
fn special(root: &Path) {
    for (name, kind, device) in [
        ("pipe", FileType::Fifo, 0),
        ("socket", FileType::Socket, 0),
        ("character", FileType::CharacterDevice, rustix::fs::makedev(1, 3)),
        ("disk", FileType::BlockDevice, rustix::fs::makedev(7, 0)),
    ] {
        rustix::fs::mknodat(rustix::fs::CWD, root.join(name), kind, Mode::from(0o644), device).expect("root");
    }
    // Not all kernels have these on a tmpfs; then both sides say so.
    let _ = rustix::fs::setxattr(root.join("one"), "user.colour", b"green", rustix::fs::XattrFlags::empty());
}
