//! How mounts end, and which users may look.

use std::fs::{File, Permissions};
use std::io::Read;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use forebay_testkit::mounts::{self, MountPoint};
use forebay_testkit::need;

use crate::{Mirror, MountOptions, SERVER_ARGUMENTS, die_with_us, server, tree};

/// A user who owns nothing.
const NOBODY: u32 = 65534;

#[test]
fn dropping_unmounts_and_lets_go_of_everything() {
    if !mounts::possible() {
        return;
    }
    let (source, point) = (tempfile::tempdir().unwrap(), MountPoint::new().unwrap());
    std::fs::write(source.path().join("f"), "x").unwrap();
    let tree = tree(source.path());
    for _ in 0..3 {
        let mounted = forebay_fuse::mount(Arc::clone(&tree), point.path(), MountOptions::default()).unwrap();
        assert_eq!(std::fs::read(point.path().join("f")).unwrap(), b"x");
        drop(mounted);
        assert!(!mounts::is_mounted(point.path()));
        assert_eq!(Arc::strong_count(&tree), 1, "the adapter is gone");
    }
}

#[test]
fn another_thread_unmounts() {
    if !mounts::possible() {
        return;
    }
    let mirror = Mirror::new(MountOptions::default(), |_| ());
    let unmounter = mirror.mounted.unmounter();
    let point = mirror.mounted.point().to_owned();
    let waiting = std::thread::spawn(move || mirror.mounted.wait());
    unmounter.unmount().unwrap();
    assert!(!mounts::is_mounted(&point));
    waiting.join().unwrap().unwrap();
    unmounter.unmount().expect("a second time does nothing");
}

/// The kernel gives the new mount the id of the old one.
#[test]
fn a_mount_that_is_gone_leaves_the_next_one_at_its_point_alone() {
    if !mounts::possible() {
        return;
    }
    let (source, point) = (tempfile::tempdir().unwrap(), MountPoint::new().unwrap());
    std::fs::write(source.path().join("f"), "x").unwrap();
    let mount = || forebay_fuse::mount(tree(source.path()), point.path(), MountOptions::default()).unwrap();
    let first = mount();
    mounts::lazy_unmount(point.path());
    let _second = mount();
    first.wait().unwrap();
    assert_eq!(std::fs::read(point.path().join("f")).unwrap(), b"x");
}

#[test]
fn somebody_else_unmounts() {
    if !mounts::possible() {
        return;
    }
    let mirror = Mirror::new(MountOptions::default(), |_| ());
    let point = mirror.mounted.point().to_owned();
    let waiting = std::thread::spawn(move || mirror.mounted.wait());
    mounts::lazy_unmount(&point);
    waiting.join().unwrap().unwrap();
}

#[test]
fn open_files_outlive_the_mount_and_do_not_disturb_the_next_one() {
    if !mounts::possible() {
        return;
    }
    let (source, point) = (tempfile::tempdir().unwrap(), MountPoint::new().unwrap());
    std::fs::write(source.path().join("f"), "first").unwrap();
    let mount = || forebay_fuse::mount(tree(source.path()), point.path(), MountOptions::default()).unwrap();
    let first = mount();
    let open = File::open(point.path().join("f")).unwrap();
    first.unmount().unwrap();
    assert!(!mounts::is_mounted(point.path()));

    let second = mount();
    let mut buffer = [0; 5];
    open.read_exact_at(&mut buffer, 0).unwrap();
    assert_eq!(&buffer, b"first", "what was open is still served");
    drop(open);
    // The first session ends now, in its own time; the second mount must stay after that.
    for _ in 0..20 {
        std::thread::sleep(std::time::Duration::from_millis(10));
        assert_eq!(std::fs::read(point.path().join("f")).unwrap(), b"first");
    }
    second.unmount().unwrap();
}

#[test]
fn a_mount_under_another_says_so() {
    if !mounts::possible() {
        return;
    }
    let mirror = Mirror::new(MountOptions::default(), |_| ());
    let point = mirror.mounted.point();
    rustix::mount::mount("none", point, "tmpfs", rustix::mount::MountFlags::empty(), c"size=64k").unwrap();
    let error = mirror.mounted.unmounter().unmount().unwrap_err();
    assert!(error.to_string().contains("tmpfs none is mounted over it"), "{error}");
    rustix::mount::unmount(point, rustix::mount::UnmountFlags::DETACH).unwrap();
    mirror.mounted.unmounter().unmount().unwrap();
}

/// A user's view of a file: its bytes, or nothing.
fn as_user(uid: u32, file: &Path) -> Option<Vec<u8>> {
    let output = Command::new("cat").arg(file).uid(uid).gid(uid).output().unwrap();
    output.status.success().then_some(output.stdout)
}

#[test]
fn others_are_let_in_only_if_allowed_and_by_modes() {
    if !mounts::possible() {
        return;
    }
    if !rustix::process::geteuid().is_root() {
        return forebay_testkit::tools::skip("root, to become another user,");
    }
    for allow_other in [false, true] {
        let mirror = Mirror::new(MountOptions { allow_other, ..MountOptions::default() }, |source| {
            std::fs::set_permissions(source, Permissions::from_mode(0o755)).unwrap();
            for (name, mode) in [("public", 0o644), ("private", 0o600)] {
                std::fs::write(source.join(name), name).unwrap();
                std::fs::set_permissions(source.join(name), Permissions::from_mode(mode)).unwrap();
            }
        });
        let expected = allow_other.then(|| b"public".to_vec());
        assert_eq!(as_user(NOBODY, &mirror.here("public")), expected);
        assert_eq!(as_user(NOBODY, &mirror.here("private")), None);
        assert_eq!(as_user(0, &mirror.here("private")), Some(b"private".to_vec()));
    }
}

/// A user's session: serve, read, kill the server with -9, and serve again over the dead mount. In
/// namespaces of its own, where any user may open `/dev/fuse` and nothing outlives the script.
const AS_USER: &str = r#"
umount --lazy --all --types fuse.forebay # other tests' mounts, which would live as long as our copy of them
set -e
folder=$1 user="setpriv --reuid 65534 --regid 65534 --clear-groups"
shift
mkdir "$folder/source" "$folder/point"
chown 65534:65534 "$folder" "$folder/source" "$folder/point"
echo for a user > "$folder/source/f"
mknod "$folder/fuse" c 10 229
chmod 666 "$folder/fuse"
mount --bind "$folder/fuse" /dev/fuse
serve() {
    rm -f "$folder/said"
    $user "$@" > "$folder/said" &
    until grep -q ready "$folder/said"; do kill -0 $!; sleep 0.02; done
    $user cat "$folder/point/f"
}
serve "$@"
kill -9 $!
wait $! || true
serve "$@"
grep -c "fuse.forebay" /proc/self/mountinfo
$user fusermount3 -u "$folder/point"
wait $!
"#;

#[test]
fn a_user_mounts_through_fusermount() {
    if !mounts::possible() {
        return;
    }
    need!("fusermount3");
    need!("setpriv");
    let unshare = need!("unshare");
    if !rustix::process::geteuid().is_root() {
        return forebay_testkit::tools::skip("root, to become another user,");
    }
    let folder = tempfile::tempdir().unwrap();
    let mut command = server(unshare, &folder.path().join("source"), &folder.path().join("point"));
    command.args(["--mount", "--pid", "--mount-proc", "--fork", "--kill-child", "sh", "-c", AS_USER, "sh"]);
    command.arg(folder.path()).arg(std::env::current_exe().unwrap()).args(SERVER_ARGUMENTS);
    die_with_us(&mut command);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "for a user\nfor a user\n1\n", "{said}");
}

#[test]
fn reads_under_way_are_answered_before_the_end() {
    if !mounts::possible() {
        return;
    }
    let content: Vec<u8> = (0..3_000_000u32).map(|i| (i % 251) as u8).collect();
    let mirror = Mirror::new(MountOptions::default(), |source| std::fs::write(source.join("f"), &content).unwrap());
    let mut files: Vec<File> = (0..8).map(|_| File::open(mirror.here("f")).unwrap()).collect();
    let unmounter = mirror.mounted.unmounter();
    std::thread::scope(|scope| {
        for file in &mut files {
            scope.spawn(|| {
                let mut bytes = Vec::new();
                file.read_to_end(&mut bytes).unwrap();
                assert!(bytes == content);
            });
        }
        unmounter.unmount().unwrap();
    });
}
