//! A FUSE descriptor that a privileged parent hands to a command without any privilege.

use std::ffi::CString;
use std::fs::{self, Permissions};
use std::io::PipeReader;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use forebay_testkit::mounts::{self, MountPoint, is_mounted, lazy_unmount};
use forebay_testkit::process::{Running, Signal};
use rustix::fs::{Mode, OFlags};
use rustix::mount::MountFlags;

use crate::{bare, eventually, forebay, line, text};

/// A user who owns nothing.
const NOBODY: u32 = 65534;
/// The number under which the child finds the descriptor.
const NUMBER: i32 = 7;

/// Mounts as a careful parent does, and returns the descriptor.
fn mounted(point: &Path) -> OwnedFd {
    mounted_with(point, MountFlags::NOSUID | MountFlags::NODEV | MountFlags::RDONLY, "allow_other,default_permissions")
}

fn mounted_with(point: &Path, flags: MountFlags, options: &str) -> OwnedFd {
    let device = rustix::fs::open("/dev/fuse", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()).expect("/dev/fuse");
    let data = format!("fd={},rootmode=40000,user_id={NOBODY},group_id={NOBODY},{options}", device.as_raw_fd());
    let data = CString::new(data).expect("no zero in it");
    rustix::mount::mount("handed", point, "fuse.forebay", flags, data.as_c_str()).expect("root may mount");
    device
}

/// The command as nobody, with the descriptor.
fn child(program: &Path, source: &Path, device: &OwnedFd) -> Command {
    let mut command = Command::new(program);
    bare(&mut command);
    command.args(["mount", "--memory", "32MiB", text(source), &format!("/dev/fd/{NUMBER}")]).stdin(Stdio::null());
    command.uid(NOBODY).gid(NOBODY);
    let device = device.as_raw_fd();
    // SAFETY: `dup2` is async-signal-safe and touches no memory.
    unsafe {
        command.pre_exec(move || match libc::dup2(device, NUMBER) {
            NUMBER => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        });
    }
    command
}

/// A folder that everybody may read, with a file and a copy of the command.
fn public() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).expect("ours");
    fs::write(folder.path().join("file"), "hello").expect("written");
    let program = folder.path().join("forebay");
    fs::copy(env!("CARGO_BIN_EXE_forebay"), &program).expect("copied");
    (folder, program)
}

fn possible() -> bool {
    mounts::possible() && rustix::process::geteuid().is_root()
}

#[test]
fn a_child_without_privileges_serves_until_the_parent_unmounts() {
    if !possible() {
        return;
    }
    let (folder, program) = public();
    // The parent unmounts, or ends the child, which leaves the mount to the parent.
    for by_signal in [false, true] {
        let point = MountPoint::new().expect("a mount point");
        let device = mounted(point.path());
        let (output, says) = std::io::pipe().expect("a pipe");
        let mut command = child(&program, folder.path(), &device);
        command.stdout(says);
        let running = Running::start(command).expect("it starts");
        assert_eq!(line(output), format!("ready: {} at /dev/fd/{NUMBER}\n", folder.path().display()));
        drop(device);
        assert_eq!(fs::read(point.path().join("file")).expect("readable"), b"hello");
        let status = fs::read_to_string(format!("/proc/{}/status", running.id())).expect("it runs");
        assert!(
            status.contains(&format!("Uid:\t{NOBODY}")) && status.contains("CapEff:\t0000000000000000"),
            "{status}"
        );
        if by_signal {
            running.signal(Signal::TERM).expect("it runs");
        } else {
            lazy_unmount(point.path());
        }
        assert_eq!(running.wait().expect("it ends").code(), Some(0), "by a signal: {by_signal}");
        assert_eq!(is_mounted(point.path()), by_signal);
        if by_signal {
            let error = fs::read(point.path().join("file")).expect_err("nobody serves it");
            assert_eq!(error.raw_os_error(), Some(libc::ENOTCONN), "{error}");
        }
    }
}

#[test]
fn dangers_of_the_parents_options_are_told() {
    if !possible() {
        return;
    }
    let (folder, program) = public();
    let point = MountPoint::new().expect("a mount point");
    let device = mounted_with(point.path(), MountFlags::RDONLY, "allow_other");
    let kernel_tells = fs::read_to_string(format!("/proc/self/fdinfo/{}", device.as_raw_fd()))
        .is_ok_and(|told| told.contains("fuse_connection"));
    let ((output, says), (errors, logs)) = (std::io::pipe().expect("a pipe"), std::io::pipe().expect("a pipe"));
    let mut command = child(&program, folder.path(), &device);
    command.stdout(says).stderr(logs);
    let running = Running::start(command).expect("it starts");
    assert!(line(output).starts_with("ready: "));
    drop(device);
    lazy_unmount(point.path());
    assert_eq!(running.wait().expect("it ends").code(), Some(0));
    let log = std::io::read_to_string(errors).expect("text");
    for option in ["nosuid", "nodev", "default_permissions"] {
        assert_eq!(log.contains(&format!("the parent should mount with {option}")), kernel_tells, "{log}");
    }
}

#[test]
fn other_numbers_are_refused() {
    if !possible() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    for (point, said) in [
        ("/dev/fd/99", "is not open"),
        ("/dev/fd/0", "standard stream"),
        ("/dev/fd/x", "is no number"),
        ("/dev/fd/", "is no number"),
    ] {
        let output = forebay(&["mount", text(folder.path()), point]).output().expect("it starts");
        let line = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{line}");
        assert!(line.starts_with(&format!("error: {point}: ")) && line.contains(said), "{line}");
    }
    let (folder, program) = public();
    let device = rustix::fs::open("/dev/fuse", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()).expect("/dev/fuse");
    let null = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()).expect("/dev/null");
    for (device, said) in [(device, "not mounted"), (null, "is not /dev/fuse")] {
        let output = child(&program, folder.path(), &device).output().expect("it starts");
        let line = String::from_utf8_lossy(&output.stderr);
        assert!(line.contains(said) && output.status.code() == Some(2), "{line}");
    }
}

/// The example for Kubernetes: the copies of it and of the command that nobody may run.
struct Example {
    folder: tempfile::TempDir,
    program: PathBuf,
    sockets: tempfile::TempDir,
}

impl Example {
    const PYTHON: &str = "/usr/bin/python3";

    /// `None` where it cannot run.
    fn new() -> Option<Example> {
        if !possible() {
            return None;
        }
        // Not the one of the tools, which lies where nobody may go.
        if !Path::new(Example::PYTHON).is_file() {
            forebay_testkit::tools::skip(Example::PYTHON);
            return None;
        }
        let (folder, program) = public();
        let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contrib/kubernetes/hand_over.py");
        fs::copy(example, folder.path().join("hand_over.py")).expect("copied");
        let sockets = tempfile::tempdir().expect("a folder");
        fs::set_permissions(sockets.path(), Permissions::from_mode(0o755)).expect("ours");
        Some(Example { folder, program, sockets })
    }

    fn command(&self) -> Command {
        let mut command = Command::new(Example::PYTHON);
        bare(&mut command);
        command.arg(self.folder.path().join("hand_over.py")).stdin(Stdio::null());
        command
    }

    /// The program that mounts at `point`, and its messages.
    fn mounter(&self, point: &Path) -> (Running, PipeReader) {
        let socket = self.sockets.path().join("socket");
        let (messages, says) = std::io::pipe().expect("a pipe");
        let mut mounter = self.command();
        mounter.args(["mount", "--uid", "65534", text(point), text(&socket)]).stderr(says);
        let mounter = Running::start(mounter).expect("it starts");
        eventually("the socket", || socket.exists());
        (mounter, messages)
    }

    /// A program that asks for a mount and serves it, and its output.
    fn server(&self) -> (Running, PipeReader) {
        let (output, says) = std::io::pipe().expect("a pipe");
        let mut server = self.command();
        server.args(["serve", text(&self.sockets.path().join("socket")), "--", text(&self.program), "mount"]);
        // The kernel asks the server for all of its folder, so one that hangs holds up any look.
        server.args(["--memory", "32MiB", "--ttl", "0s", text(self.folder.path()), "{}"]);
        server.uid(NOBODY).gid(NOBODY).stdout(says);
        (Running::start(server).expect("it starts"), output)
    }

    /// The same, once the mount at `point` is there.
    fn served(&self, point: &Path) -> Running {
        let (server, output) = self.server();
        let said = line(output);
        assert!(said.starts_with("ready: "), "{said}");
        assert_eq!(fs::read(point.join("file")).expect("readable"), b"hello");
        server
    }
}

/// A volume as pods have it.
fn volume(point: &MountPoint) {
    let mounted = rustix::mount::mount("volume", point.path(), "tmpfs", MountFlags::empty(), c"size=64k");
    mounted.expect("root may mount");
    fs::write(point.path().join("of the volume"), "").expect("written");
}

/// One program mounts over the volume, and the other receives the descriptor by a socket.
#[test]
fn the_example_for_containers_hands_over_again_after_a_crash() {
    let Some(example) = Example::new() else { return };
    let point = MountPoint::new().expect("a mount point");
    volume(&point);
    let (mounter, _messages) = example.mounter(point.path());
    drop(example.served(point.path()));
    eventually("the end of the server", || fs::read(point.path().join("file")).is_err());
    // The mounter is not held up by a server that does not answer.
    let hanging = example.served(point.path());
    hanging.signal(Signal::STOP).expect("it runs");
    let last = example.served(point.path());
    last.signal(Signal::STOP).expect("it runs");
    mounter.signal(Signal::TERM).expect("it runs");
    mounter.wait().expect("it ends");
    assert!(point.path().join("of the volume").exists(), "the volume is as before");
}

/// The application can write to the volume: it must not choose the place that is mounted on.
#[test]
fn the_example_for_containers_follows_no_link() {
    let Some(example) = Example::new() else { return };
    let (point, elsewhere) = (MountPoint::new().expect("a mount point"), MountPoint::new().expect("a folder"));
    volume(&point);
    let data = point.path().join("data");
    std::os::unix::fs::symlink(elsewhere.path(), &data).expect("linked");
    let (mounter, messages) = example.mounter(&data);
    let (server, _output) = example.server();
    assert_eq!(server.wait().expect("it ends").code(), Some(1));
    let said = line(messages);
    assert!(said.contains(&format!("{} is a link", data.display())), "{said}");
    assert!(!is_mounted(elsewhere.path()) && data.is_symlink());
    // The mounter goes on. It makes the folder, and leaves it.
    fs::remove_file(&data).expect("ours");
    drop(example.served(&data));
    mounter.signal(Signal::TERM).expect("it runs");
    assert_eq!(mounter.wait().expect("it ends").code(), Some(0));
    assert!(data.is_dir() && !is_mounted(&data));
}
