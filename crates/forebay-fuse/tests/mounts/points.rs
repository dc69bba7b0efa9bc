//! Good mount points, and the errors for bad ones. Nothing is left mounted.

use std::path::Path;

use forebay_fuse::{MountError, MountOptions};
use forebay_testkit::mounts::{self, MountPoint};

use crate::{Mirror, Server, refusal, tree};

#[test]
fn missing() {
    let error = refusal(Path::new("/nonexistent/folder"));
    assert!(matches!(error, MountError::Missing(_)), "{error}");
    assert!(error.to_string().contains("mkdir"), "{error}");
}

#[test]
fn a_file_or_below_one() {
    let file = tempfile::NamedTempFile::new().unwrap();
    for point in [file.path().to_owned(), file.path().join("below")] {
        let error = refusal(&point);
        assert!(matches!(error, MountError::NotAFolder(_)), "{error}");
    }
}

#[test]
fn not_empty() {
    let point = MountPoint::new().unwrap();
    std::fs::write(point.path().join("something"), "").unwrap();
    let error = refusal(point.path());
    assert!(matches!(error, MountError::NotEmpty(_)), "{error}");
    assert!(!mounts::is_mounted(point.path()));
}

#[test]
fn mounted_already() {
    let error = refusal(Path::new("/proc"));
    assert!(matches!(&error, MountError::AlreadyMounted { what, .. } if what.starts_with("proc ")), "{error}");
    if !mounts::possible() {
        return;
    }
    let mirror = Mirror::new(MountOptions::default(), |source| std::fs::write(source.join("f"), "still").unwrap());
    let error = refusal(mirror.mounted.point());
    assert!(matches!(&error, MountError::AlreadyMounted { what, .. } if what == "fuse.forebay forebay"), "{error}");
    assert_eq!(std::fs::read(mirror.here("f")).unwrap(), b"still", "the first mount is as before");
}

#[test]
fn every_refusal_is_one_line() {
    let errors = [refusal(Path::new("/nonexistent")), refusal(Path::new("/proc")), refusal(Path::new("/dev/null"))];
    for error in errors {
        let line = error.to_string();
        assert!(!line.contains('\n') && line.contains('/'), "{line}");
    }
}

#[test]
fn a_link_to_an_empty_folder_will_do() {
    if !mounts::possible() {
        return;
    }
    let (folder, point) = (tempfile::tempdir().unwrap(), MountPoint::new().unwrap());
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(point.path(), &link).unwrap();
    let mounted = forebay_fuse::mount(tree(folder.path()), &link, MountOptions::default()).unwrap();
    assert_eq!(mounted.point(), point.path());
    assert!(mounts::is_mounted(point.path()));
    mounted.unmount().unwrap();
    assert!(!mounts::is_mounted(point.path()));
}

/// A file system of its own will do while it is empty, as the volume of a container is.
#[test]
fn an_empty_volume_will_do() {
    if !mounts::possible() {
        return;
    }
    let (source, point) = (tempfile::tempdir().unwrap(), MountPoint::new().unwrap());
    std::fs::write(source.path().join("f"), "ours").unwrap();
    let flags = rustix::mount::MountFlags::empty();
    if rustix::mount::mount("forebay-test", point.path(), "tmpfs", flags, c"size=64k").is_err() {
        return forebay_testkit::tools::skip("the right to mount");
    }
    let (file, other) = (point.path().join("f"), point.path().join("other"));
    std::fs::write(&other, "theirs").unwrap();
    let error = refusal(point.path());
    assert!(matches!(error, MountError::NotEmpty(_)), "{error}");
    assert_eq!(std::fs::read(&other).unwrap(), b"theirs");
    std::fs::remove_file(&other).unwrap();
    for _ in 0..2 {
        let mounted = forebay_fuse::mount(tree(source.path()), point.path(), MountOptions::default()).unwrap();
        assert_eq!(std::fs::read(&file).unwrap(), b"ours");
        mounted.unmount().unwrap();
        assert!(!file.exists() && mounts::is_mounted(point.path()), "the volume is as before");
    }
    // A killed server leaves its mount on the volume, and the next one clears it away.
    let mut server = Server::start(source.path(), point.path());
    server.kill();
    let mounted = forebay_fuse::mount(tree(source.path()), point.path(), MountOptions::default()).unwrap();
    mounted.unmount().unwrap();
    std::fs::write(&other, "theirs").unwrap();
}

#[test]
fn after_kill_9_the_next_mount_works() {
    if !mounts::possible() {
        return;
    }
    let (source, point) = (tempfile::tempdir().unwrap(), MountPoint::new().unwrap());
    std::fs::write(source.path().join("f"), "alive").unwrap();
    let mut server = Server::start(source.path(), point.path());
    let file = point.path().join("f");
    assert_eq!(std::fs::read(&file).unwrap(), b"alive");
    server.kill();
    assert!(mounts::is_mounted(point.path()), "a killed server leaves its mount");
    assert!(std::fs::read(&file).is_err());

    let mounted = forebay_fuse::mount(tree(source.path()), point.path(), MountOptions::default()).unwrap();
    assert_eq!(std::fs::read(&file).unwrap(), b"alive");
    mounted.unmount().unwrap();
    assert!(!mounts::is_mounted(point.path()), "the dead mount is gone as well");
}
