//! Events in the life of a mount, of its process and of its source while programs read.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use forebay_testkit::delay::DelayProxy;
use forebay_testkit::mounts::{self, MountPoint, is_mounted};
use forebay_testkit::need;
use forebay_testkit::process::Signal;
use forebay_testkit::s3::{BUCKET, S3};
use forebay_testkit::trees::content;
use rustix::io::Errno;
use tempfile::TempDir;

use crate::{Mount, SetWhenDropped, eventually, forebay, text};

/// A folder of some files with known content.
pub(crate) fn source(files: u64, len: usize) -> TempDir {
    let source = tempfile::tempdir().expect("a folder");
    for file in 0..files {
        fs::write(source.path().join(file.to_string()), content(file, len)).expect("written");
    }
    source
}

/// The errors for names and bytes that are gone.
fn is_gone(error: &io::Error) -> bool {
    let gone = [Errno::NOENT, Errno::STALE, Errno::IO].map(Errno::raw_os_error);
    error.raw_os_error().is_some_and(|errno| gone.contains(&errno))
}

/// Readers in threads of their own. Each reads whole files, one after the other, and tolerates
/// errors but no wrong bytes. Meanwhile `then` runs; afterwards they stop.
pub(crate) fn while_read(root: &Path, files: u64, len: usize, then: impl FnOnce(&AtomicUsize)) {
    let (over, good) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for reader in 0..16 {
            let (over, good) = (&over, &good);
            scope.spawn(move || {
                for file in (0..files).cycle().skip(reader) {
                    if over.load(Ordering::SeqCst) {
                        return;
                    }
                    match fs::read(root.join(file.to_string())) {
                        Ok(bytes) => {
                            assert!(bytes == content(file, len), "file {file} differs");
                            good.fetch_add(1, Ordering::SeqCst);
                        }
                        Err(_) => std::thread::sleep(Duration::from_millis(1)),
                    }
                }
            });
        }
        let _stop = SetWhenDropped(&over);
        then(&good);
    });
}

/// Waits until this many more files have been read.
pub(crate) fn more(good: &AtomicUsize, files: usize) {
    let before = good.load(Ordering::SeqCst);
    eventually("readers that read", || good.load(Ordering::SeqCst) >= before + files);
}

#[test]
fn signals_unmount_cleanly_while_readers_read() {
    if !mounts::possible() {
        return;
    }
    let (files, len) = (20, 2_000_001);
    let source = source(files, len);
    for signal in [Signal::INT, Signal::TERM] {
        let mount = Mount::start(&[text(source.path()), "--memory", "24MiB"]);
        while_read(mount.path(), files, len, |good| {
            more(good, 20);
            assert_eq!(mount.end(signal).code(), Some(0), "{signal:?}");
            assert!(!is_mounted(mount.path()), "{signal:?}");
        });
    }
}

/// Like a command that a script starts with `&`: SIGINT and SIGQUIT are ignored.
#[test]
fn a_mount_that_a_script_started_is_ended_by_sigterm_and_by_unmounting() {
    if !mounts::possible() {
        return;
    }
    let source = source(1, 1000);
    let start = || {
        let of = forebay(&["mount", text(source.path()), "--memory", "24MiB"]);
        let mut command = std::process::Command::new("sh");
        command.args(["-c", "trap '' INT QUIT; exec \"$@\"", "sh"]).arg(of.get_program()).args(of.get_args());
        command.env("FOREBAY_CONFIG", "/dev/null").env_remove("HOME").env_remove("XDG_CACHE_HOME");
        Mount::by(command, MountPoint::new().expect("a mount point"))
    };
    let mount = start();
    assert_eq!(mount.end(Signal::TERM).code(), Some(0));
    assert!(!is_mounted(mount.path()));
    let mount = start();
    crate::run("fusermount3", &["-u", text(mount.path())], std::path::Path::new("/"));
    assert_eq!(mount.running.wait().expect("it ends").code(), Some(0));
    assert!(!is_mounted(mount.path()));
}

#[test]
fn killed_while_readers_read_then_mounted_again_on_the_same_point() {
    if !mounts::possible() {
        return;
    }
    let (files, len) = (20, 1_000_001);
    let source = source(files, len);
    let args = [text(source.path()), "--memory", "24MiB"];
    let mount = Mount::start(&args);
    let path = mount.path().to_owned();
    while_read(&path, files, len, |good| {
        more(good, 20);
        let status = mount.end(Signal::KILL);
        assert_eq!(status.code(), None);
        assert!(is_mounted(mount.path()), "a dead mount: what the next one must cope with");
        let again = Mount::at(mount.point, &args);
        // The readers go on by themselves.
        more(good, 20);
        assert_eq!(again.end(Signal::TERM).code(), Some(0));
        assert!(!is_mounted(again.path()));
    });
}

#[test]
fn a_daemon_ends_when_programs_unmount_it() {
    if !mounts::possible() {
        return;
    }
    let (umount, fusermount) = (need!("umount"), need!("fusermount3"));
    let source = source(1, 100_000);
    for (program, args) in [(&umount, vec![]), (&fusermount, vec!["-u"])] {
        let point = MountPoint::new().expect("a mount point");
        let flight = tempfile::NamedTempFile::new().expect("a file");
        let mut command = forebay(&["mount", "--daemon", "--record", text(flight.path()), text(source.path())]);
        // The mount is ready when the command returns.
        let status = command.arg(point.path()).stdout(Stdio::null()).status().expect("it starts");
        assert_eq!(status.code(), Some(0));
        assert!(fs::read(point.path().join("0")).expect("readable") == content(0, 100_000));
        crate::run(program, &[&args[..], &[text(point.path())]].concat(), Path::new("/"));
        assert!(!is_mounted(point.path()));
        // The flight is complete once the process has ended in good order.
        let whole = || forebay_live::flight::replay(flight.path()).is_ok_and(|replayed| replayed.events > 0);
        eventually("the end of the daemon's flight", whole);
        eventually("the daemon's end", || !is_on_a_command_line(point.path()));
    }
}

fn is_on_a_command_line(path: &Path) -> bool {
    let processes = fs::read_dir("/proc").expect("/proc is there").flatten();
    let mut lines = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    lines.any(|line| line.split(|&byte| byte == 0).any(|arg| arg == text(path).as_bytes()))
}

#[test]
fn a_source_that_goes_away_is_an_error_and_no_more() {
    if !mounts::possible() {
        return;
    }
    let (files, len) = (8, 3_000_001);
    for remove in [false, true] {
        let outer = tempfile::tempdir().expect("a folder");
        let (folder, elsewhere) = (outer.path().join("data"), outer.path().join("elsewhere"));
        fs::create_dir(&folder).expect("a folder");
        for file in 0..files {
            fs::write(folder.join(file.to_string()), content(file, len)).expect("written");
        }
        let mount = Mount::start(&[text(&folder), "--memory", "24MiB", "--ttl", "0s"]);
        while_read(mount.path(), files, len, |good| {
            more(good, 10);
            if remove {
                fs::remove_dir_all(&folder).expect("removed");
                let error = fs::read(mount.path().join("0")).expect_err("removed");
                assert!(is_gone(&error), "{error}");
                let listed = fs::read_dir(mount.path()).and_then(|names| names.collect::<io::Result<Vec<_>>>());
                assert!(listed.map_or_else(|error| is_gone(&error), |names| names.is_empty()));
            } else {
                // The mount holds the folder, not its name, so it goes on serving it.
                fs::rename(&folder, &elsewhere).expect("renamed");
                more(good, 10);
            }
            assert!(mount.running.ended().expect("ours").is_none(), "it must not end by itself");
            // In both cases the mount can be asked for its counters and unmounted.
            mount.counter("misses");
            assert_eq!(mount.end(Signal::TERM).code(), Some(0));
            assert!(!is_mounted(mount.path()));
        });
    }
}

#[test]
fn an_endpoint_that_goes_away_and_comes_back() {
    if !mounts::possible() {
        return;
    }
    let server = S3::start(&need!("versitygw")).expect("a server");
    let (cached, uncached) = (content(1, 2_000_001), content(2, 2_000_001));
    server.put("cached", &cached).expect("stored");
    server.put("uncached", &uncached).expect("stored");
    let proxy = DelayProxy::start(server.address(), Duration::ZERO).expect("a proxy");
    let bucket = format!("s3://{BUCKET}");
    let mount = Mount::start(&[
        &bucket,
        "--endpoint",
        &proxy.endpoint(),
        "--region",
        "us-east-1",
        "--ttl",
        "0s",
        "--kernel-cache",
        "off",
        "--patience",
        "2s",
    ]);
    let [held, waiting] = ["cached", "uncached"].map(|name| File::open(mount.path().join(name)).expect("there"));
    let read = |file: &File, content: &[u8]| -> io::Result<bool> {
        let mut buffer = vec![0; content.len()];
        file.read_exact_at(&mut buffer, 0)?;
        Ok(buffer == content)
    };
    assert!(read(&held, &cached).expect("readable"));
    for name in ["another", "yet another"] {
        proxy.set_down(true);
        assert!(read(&held, &cached).expect("what is in memory needs no server"));
        let error = read(&waiting, &uncached).expect_err("nobody has the bytes");
        assert_eq!(error.raw_os_error(), Some(Errno::IO.raw_os_error()), "{error}");
        let error = fs::read(mount.path().join(name)).expect_err("nobody knows the name");
        assert_eq!(error.raw_os_error(), Some(Errno::IO.raw_os_error()), "{error}");
        assert!(mount.running.ended().expect("ours").is_none());
        proxy.set_down(false);
        // The same descriptor, at the first try.
        let mut buffer = vec![0; 100];
        waiting.read_exact_at(&mut buffer, 1_000_000).expect("the server is back");
        assert!(buffer == uncached[1_000_000..][..100]);
        assert_eq!(fs::read(mount.path().join(name)).expect_err("there is none").kind(), ErrorKind::NotFound);
    }
    assert!(read(&waiting, &uncached).expect("the server is back"));
    // The server is gone for good, and the mount can still be unmounted.
    proxy.set_down(true);
    assert_eq!(mount.end(Signal::INT).code(), Some(0));
}

#[test]
fn umount_in_use_is_refused_by_the_system_and_nothing_breaks() {
    if !mounts::possible() {
        return;
    }
    let umount = need!("umount");
    let source = source(1, 100_000);
    let mount = Mount::start(&[text(source.path())]);
    let file = File::open(mount.path().join("0")).expect("there");
    let busy = Command::new(umount).arg(mount.path()).stderr(Stdio::null()).status().expect("it starts");
    assert!(!busy.success() && is_mounted(mount.path()));
    let mut buffer = vec![0; 100_000];
    file.read_exact_at(&mut buffer, 0).expect("still served");
    assert!(buffer == content(0, 100_000));
    drop(file);
    assert_eq!(mount.end(Signal::TERM).code(), Some(0));
}
