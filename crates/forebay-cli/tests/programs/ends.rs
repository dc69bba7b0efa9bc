//! Ends and narrow places: processes that are killed again and again, signals while a mount begins,
//! few descriptors, little address space, folders that are missing or full, mounts of mounts, and
//! readers that are stopped.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use forebay_testkit::mounts::{self, MountPoint, is_mounted, lazy_unmount};
use forebay_testkit::process::{Running, Signal};
use forebay_testkit::trees::content;
use rustix::process::{Resource, Rlimit, setrlimit};

use crate::life::{more, source, while_read};
use crate::{Mount, eventually, forebay, text};

/// How often a mount is killed: some times in every run, and as often as this variable says.
const KILLS: &str = "FOREBAY_KILLS";

#[test]
fn killed_again_and_again_under_load() {
    if !mounts::possible() {
        return;
    }
    let kills = std::env::var(KILLS).ok().and_then(|kills| kills.parse().ok()).unwrap_or(5);
    let (files, len) = (20, 500_001);
    let source = source(files, len);
    let point = MountPoint::new().expect("a mount point");
    let path = point.path().to_owned();
    let mut mount = Some(Mount::at(point, &[text(source.path()), "--memory", "24MiB"]));
    while_read(&path, files, len, |good| {
        for _ in 0..kills {
            more(good, 20);
            let Mount { running, point } = mount.take().expect("it is mounted");
            running.signal(Signal::KILL).expect("it runs");
            assert_eq!(running.wait().expect("it ends").code(), None);
            // Over the dead mount, which its readers still meet.
            mount = Some(Mount::at(point, &[text(source.path()), "--memory", "24MiB"]));
        }
        more(good, 20);
    });
}

/// At any moment the command ends soon, and nothing stays mounted.
#[test]
fn signals_in_every_phase_of_mounting() {
    if !mounts::possible() {
        return;
    }
    let source = source(2, 1000);
    // From before the program runs to after it is ready, on a quick machine and on a slow one.
    for (number, millis) in [0, 1, 2, 4, 8, 15, 30, 60, 120, 250].into_iter().enumerate() {
        let signal = if number % 2 == 0 { Signal::TERM } else { Signal::INT };
        let point = MountPoint::new().expect("a mount point");
        let mut command = forebay(&["mount", text(source.path()), "--memory", "24MiB"]);
        command.arg(point.path()).stdout(Stdio::null()).stderr(Stdio::null());
        let running = Running::start(command).expect("it starts");
        std::thread::sleep(Duration::from_millis(millis));
        running.signal(signal).expect("it runs");
        running.wait().unwrap_or_else(|error| panic!("{signal:?} after {millis} ms: {error}"));
        assert!(!is_mounted(point.path()), "{signal:?} after {millis} ms");
    }
}

/// Open files go on, new names are not there, and the process ends with the last file.
#[test]
fn a_lazy_unmount_lets_readers_finish() {
    if !mounts::possible() {
        return;
    }
    let source = source(1, 3_000_000);
    let mount = Mount::start(&[text(source.path()), "--memory", "24MiB"]);
    let mut open = File::open(mount.path().join("0")).expect("readable");
    let mut bytes = vec![0; 1000];
    open.read_exact(&mut bytes).expect("readable");
    lazy_unmount(mount.path());
    assert!(!mount.path().join("0").exists());
    open.read_to_end(&mut bytes).expect("an open file can be read");
    assert!(bytes == content(0, 3_000_000));
    drop(open);
    mount.running.wait().expect("it ends with the last file");
}

/// A command that starts a mount under a limit of the system's.
fn limited(args: &[&str], resource: Resource, limit: u64) -> Command {
    let mut command = forebay(&[&["mount"], args].concat());
    // SAFETY: `setrlimit` is async-signal-safe and touches no memory of this process.
    unsafe {
        command.pre_exec(move || {
            let limit = Rlimit { current: Some(limit), maximum: Some(limit) };
            setrlimit(resource, limit).map_err(Into::into)
        });
    }
    command
}

/// A mount with few descriptors refuses files that it has no descriptor for, and goes on.
#[test]
fn few_descriptors() {
    if !mounts::possible() {
        return;
    }
    let (files, len) = (200, 10_000);
    let source = source(files, len);
    let args = [text(source.path()), "--memory", "24MiB", "--ttl", "0s"];
    let command = limited(&args, Resource::Nofile, 64);
    let mount = Mount::by(command, MountPoint::new().expect("a mount point"));
    let open = |file: u64| File::open(mount.path().join(file.to_string()));
    let opened: Vec<_> = (0..files).map(|file| (file, open(file))).collect();
    let mut refused = 0;
    for (file, opened) in &opened {
        let mut bytes = vec![0; len];
        // A file may also find no descriptor at its first read.
        match opened.as_ref().map(|opened| opened.read_exact_at(&mut bytes, 0)) {
            Ok(Ok(())) => assert!(bytes == content(*file, len), "file {file}"),
            Ok(Err(_)) | Err(_) => refused += 1,
        }
    }
    assert!(refused < files, "some can be read");
    drop(opened);
    eventually("all can be read again, one by one", || {
        (0..files).all(|file| fs::read(mount.path().join(file.to_string())).is_ok_and(|got| got == content(file, len)))
    });
}

/// With little address space it works, or says in a line why not.
#[test]
fn little_address_space() {
    if !mounts::possible() {
        return;
    }
    let source = source(3, 2_000_000);
    let mut worked = 0;
    for mib in [48, 96, 192, 384, 1024, 4096] {
        let point = MountPoint::new().expect("a mount point");
        let args = [text(source.path()), "--memory", "32MiB"];
        let mut command = limited(&args, Resource::As, mib << 20);
        let ((said, output), (complained, errors)) =
            (std::io::pipe().expect("a pipe"), std::io::pipe().expect("a pipe"));
        command.arg(point.path()).stdout(output).stderr(errors);
        let Ok(running) = Running::start(command) else { continue };
        let mut line = String::new();
        BufReader::new(said).read_line(&mut line).expect("readable");
        if line.starts_with("ready: ") {
            worked += 1;
            // Reads may fail for lack of memory, but neither hang nor lie.
            for file in 0..3 {
                if let Ok(bytes) = fs::read(point.path().join(file.to_string())) {
                    assert!(bytes == content(file, 2_000_000), "file {file} with {mib} MiB");
                }
            }
            lazy_unmount(point.path());
            // It may have ended for lack of memory, as a mount that was there.
            let _ = running.signal(Signal::TERM);
        }
        running.wait().unwrap_or_else(|error| panic!("{mib} MiB: {error}"));
        assert!(!is_mounted(point.path()), "{mib} MiB");
        let mut complaint = String::new();
        BufReader::new(complained).read_to_string(&mut complaint).expect("text");
        assert!(!complaint.contains("panicked"), "{mib} MiB: {complaint}");
    }
    assert!(worked > 0, "4 GiB are enough");
}

/// Reads a file through a mount that was started by this command.
fn works(what: &str, command: Command) {
    let mount = Mount::by(command, MountPoint::new().expect("a mount point"));
    let bytes = fs::read(mount.path().join("0")).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert!(bytes == content(0, 100_000), "{what}");
    assert_eq!(mount.end(Signal::TERM).code(), Some(0), "{what}");
}

/// HOME, the cache folder and the temporary folder are missing, are files, or take nothing.
#[test]
fn folders_that_are_of_no_use() {
    if !mounts::possible() {
        return;
    }
    let source = source(1, 100_000);
    let places = tempfile::tempdir().expect("a folder");
    let (file, shut) = (places.path().join("file"), places.path().join("shut"));
    fs::write(&file, "").expect("ours");
    fs::create_dir(&shut).expect("ours");
    fs::set_permissions(&shut, fs::Permissions::from_mode(0o555)).expect("ours");
    let missing = places.path().join("missing/deep");
    for place in [&file, &shut, &missing, Path::new("/proc"), Path::new(""), Path::new("relative")] {
        for variable in ["HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "TMPDIR"] {
            let mut command = forebay(&["mount", text(source.path()), "--memory", "24MiB"]);
            command.env(variable, place).current_dir(places.path());
            works(&format!("{variable}={}", place.display()), command);
        }
    }
}

/// A small tmpfs; `None` without the right to mount.
fn small_disk() -> Option<MountPoint> {
    let point = MountPoint::new().expect("a mount point");
    let flags = rustix::mount::MountFlags::empty();
    if rustix::mount::mount("forebay-test", point.path(), "tmpfs", flags, c"size=256k").is_err() {
        forebay_testkit::tools::skip("the right to mount");
        return None;
    }
    Some(point)
}

/// A source on a full disk, whose disk is also that of the cache folder.
#[test]
fn a_full_disk() {
    if !mounts::possible() {
        return;
    }
    let Some(disk) = small_disk() else { return };
    fs::create_dir(disk.path().join("source")).expect("ours");
    fs::write(disk.path().join("source/0"), content(0, 100_000)).expect("ours");
    // It ends when nothing fits any more.
    let filler = fs::write(disk.path().join("filler"), vec![1; 1 << 20]);
    assert!(filler.is_err());
    let source = disk.path().join("source");
    let mut command = forebay(&["mount", text(&source), "--memory", "24MiB"]);
    command.env("HOME", disk.path()).env("XDG_CACHE_HOME", disk.path()).env("TMPDIR", disk.path());
    works("a full disk", command);
}

/// A source that is taken away, or is made read-only, under a mount.
#[test]
fn a_source_that_is_unmounted_or_read_only() {
    if !mounts::possible() {
        return;
    }
    let Some(disk) = small_disk() else { return };
    fs::write(disk.path().join("0"), content(0, 100_000)).expect("ours");
    let mount = Mount::start(&[text(disk.path()), "--memory", "24MiB", "--ttl", "0s"]);
    let read = || fs::read(mount.path().join("0"));
    assert!(read().expect("readable") == content(0, 100_000));
    rustix::mount::mount_remount(disk.path(), rustix::mount::MountFlags::RDONLY, c"").expect("root");
    assert!(read().expect("readable") == content(0, 100_000));
    lazy_unmount(disk.path());
    // The mount has the folder open, and goes on with it; an error would be as good, a hang would
    // not.
    if let Ok(bytes) = read() {
        assert!(bytes == content(0, 100_000));
    }
    assert_eq!(mount.end(Signal::TERM).code(), Some(0));
}

/// A chain of mounts, a mount below its own source, and one over another: each can be listed and
/// taken down.
#[test]
fn mounts_of_mounts() {
    if !mounts::possible() {
        return;
    }
    let source = source(2, 300_001);
    fs::create_dir(source.path().join("below")).expect("ours");
    let memory = ["--memory", "24MiB"];
    let first = Mount::start(&[&[text(source.path())], &memory[..]].concat());
    let second = Mount::start(&[&[text(first.path())], &memory[..]].concat());
    let third = Mount::start(&[&[text(second.path())], &memory[..]].concat());
    assert!(fs::read(third.path().join("1")).expect("readable") == content(1, 300_001));
    // Below the source of all of them: of itself refused, of another one possible.
    let inner = source.path().join("below");
    let own = forebay(&["mount", text(source.path()), text(&inner)]).output().expect("it starts");
    assert!(!own.status.success() && String::from_utf8_lossy(&own.stderr).contains("would contain itself"));
    let other = self::source(1, 1000);
    let mut command = forebay(&["mount", text(other.path()), text(&inner), "--memory", "24MiB"]);
    let (said, output) = std::io::pipe().expect("a pipe");
    command.stdout(output);
    let running = Running::start(command).expect("it starts");
    let mut line = String::new();
    BufReader::new(said).read_line(&mut line).expect("readable");
    let _unmount = Unmount(&inner);
    assert!(line.starts_with("ready: "), "{line}");
    assert!(fs::read(inner.join("0")).expect("readable") == content(0, 1000));
    for place in [third.path().join("below"), first.path().join("below")] {
        let began = Instant::now();
        let names = fs::read_dir(&place).map(Iterator::count);
        assert!(began.elapsed() < Duration::from_secs(50), "{}", place.display());
        assert_eq!(names.ok(), Some(0), "{}", place.display());
    }
    running.signal(Signal::TERM).expect("it runs");
    running.wait().expect("it ends");
    // From the first on, so that each one above loses its source.
    for mount in [&first, &second, &third] {
        assert_eq!(mount.end(Signal::TERM).code(), Some(0));
    }
}

/// Takes off what is mounted at a path, also after a panic.
struct Unmount<'a>(&'a Path);

impl Drop for Unmount<'_> {
    fn drop(&mut self) {
        lazy_unmount(self.0);
    }
}

/// Readers that are stopped in the middle keep nobody from reading, and go on when they may.
#[test]
fn stopped_readers_hold_up_nobody() {
    if !mounts::possible() {
        return;
    }
    let (files, len) = (12, 3_000_001);
    let source = source(files, len);
    let mount = Mount::start(&[text(source.path()), "--memory", "24MiB"]);
    let stopped: Vec<Running> = (0..files)
        .map(|file| {
            let mut cat = Command::new("cmp");
            cat.arg(mount.path().join(file.to_string())).arg(source.path().join(file.to_string()));
            let running = Running::start(cat).expect("it starts");
            running.signal(Signal::STOP).expect("it runs");
            running
        })
        .collect();
    for file in 0..files {
        let path = mount.path().join(file.to_string());
        assert!(fs::read(path).expect("readable") == content(file, len), "file {file}");
    }
    for running in stopped {
        running.signal(Signal::CONT).expect("it runs");
        assert!(running.wait().expect("it ends").success());
    }
    assert_eq!(mount.end(Signal::TERM).code(), Some(0));
}
