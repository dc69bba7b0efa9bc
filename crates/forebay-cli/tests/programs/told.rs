//! A mount that is told the order: `forebay warm`, its list, and what readers get of it.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use forebay_testkit::far::{Distance, FarProxy};
use forebay_testkit::process::Signal;
use forebay_testkit::s3::{BUCKET, S3};
use forebay_testkit::trees::content;
use forebay_testkit::{mounts, need};
use rustix::fs::Advice;

use crate::{Mount, eventually, forebay, text};

const FILES: u64 = 120;
const SIZE: usize = 110_000;

/// A store of small files, 20 ms away.
struct Scene {
    proxy: FarProxy,
    folder: tempfile::TempDir,
    _server: S3,
}

impl Scene {
    fn new(versitygw: &Path) -> Scene {
        let server = S3::start(versitygw).expect("a server");
        for number in 0..FILES {
            server.put(&format!("train/{number:04}"), &content(number, SIZE)).expect("stored");
        }
        let distance = Distance { first_byte: Duration::from_millis(20), connection_rate: None };
        let proxy = FarProxy::start(server.address(), distance).expect("a proxy");
        Scene { proxy, folder: tempfile::tempdir().expect("a folder"), _server: server }
    }

    fn mount(&self, more: &[&str]) -> Mount {
        let (uri, endpoint) = (format!("s3://{BUCKET}"), self.proxy.endpoint());
        let control = format!("unix:{}", self.socket().display());
        let source =
            [&uri, "--endpoint", &endpoint, "--region", "us-east-1", "--memory", "64MiB", "--control", &control];
        Mount::start(&[&source, more].concat())
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("control")
    }

    fn list(&self, lines: &str) -> PathBuf {
        let list = self.folder.path().join("list");
        fs::write(&list, lines).expect("written");
        list
    }
}

fn warm(args: &[&str]) -> Output {
    forebay(&[&["warm"], args].concat()).output().expect("the command starts")
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// The files in an order that no one could foresee.
fn shuffled() -> Vec<u64> {
    (0..FILES).map(|nth| nth * 53 % FILES).collect()
}

fn name(number: u64) -> String {
    format!("train/{number:04}")
}

/// A reader reads shuffled small files one after the other, told. Each file is one request, and
/// the reader waits for none of them in sequence: it misses nothing that the list names.
#[test]
fn a_told_reader_of_shuffled_files_misses_nothing() {
    let scene = Scene::new(&need!("versitygw"));
    let mount = scene.mount(&["--ttl", "60s"]);
    // A mount may have measured its store.
    let ready = scene.proxy.counts();
    let order = shuffled();
    let lines: String = order.iter().map(|&number| format!("{}\n", text(&mount.path().join(name(number))))).collect();
    let told = warm(&["--order", "--from", text(&scene.list(&lines))]);
    assert!(told.status.success() && said(&told).contains("120 files told"), "{}", said(&told));
    let blocks = (SIZE as u64).div_ceil(4096);
    // How many depends on what the mount measured of its store.
    eventually("several are fetched ahead", || mount.counter("hinted") >= 4 * blocks);
    let before = scene.proxy.counts();
    for &number in &order {
        assert!(fs::read(mount.path().join(name(number))).expect("readable") == content(number, SIZE), "{number}");
    }
    let counts = scene.proxy.counts().since(&ready);
    assert_eq!(counts.gets, FILES, "a request a file: {counts:?}");
    assert_eq!(mount.counter("misses"), 0, "{counts:?}");
    assert_eq!(mount.counter("hints_wasted"), 0);
    assert_eq!(mount.counter("hints_used"), FILES * blocks);
    assert_eq!(scene.proxy.counts().since(&before).heads, 0, "one listing has answered all look-ups: {counts:?}");
}

/// Names that are not there are reported, the others told; a list without its mount says so.
#[test]
fn names_that_are_not_there_are_reported() {
    let scene = Scene::new(&need!("versitygw"));
    let mount = scene.mount(&[]);
    let path = |name: &str| text(&mount.path().join(name)).to_owned();
    let list =
        scene.list(&format!("{}\n{}\t0\t5000\n{}\n", path("train/none"), path("train/0001"), path("train/0002")));
    for how in [&["--order"][..], &["--check"], &[]] {
        let warmed = warm(&[&["--from", text(&list)], how].concat());
        assert_eq!(warmed.status.code(), Some(1), "{how:?}: {}", said(&warmed));
        let said = said(&warmed);
        assert!(said.contains("1 file failed: ") && said.contains("train/none: "), "{how:?}: {said}");
        assert!(said.contains("2 files "), "{how:?}: {said}");
    }
    let elsewhere = warm(&["--order", text(scene.folder.path())]);
    assert!(said(&elsewhere).contains("not in a forebay mount"), "{}", said(&elsewhere));
    assert_eq!(mount.end(Signal::TERM).code(), Some(0));
    assert!(!scene.socket().exists(), "the socket goes with the mount");
}

/// A name on Linux is bytes, and those that are no text reach the mount by each door.
#[test]
fn names_that_are_no_text_are_told() {
    if !mounts::possible() {
        return;
    }
    let source = tempfile::tempdir().expect("a folder");
    let odd = |number: u8| OsStr::from_bytes(&[b'n', 0xf0 + number, b'\xff']).to_owned();
    for number in 0..4 {
        fs::write(source.path().join(odd(number)), content(number.into(), SIZE)).expect("written");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let control = format!("unix:{}", folder.path().join("control").display());
    let mount = Mount::start(&[text(source.path()), "--memory", "64MiB", "--control", &control]);
    let blocks = (SIZE as u64).div_ceil(4096);
    let list: Vec<u8> =
        (0..2).flat_map(|n| [mount.path().join(odd(n)).as_os_str().as_bytes(), b"\0"].concat()).collect();
    let from = folder.path().join("list");
    fs::write(&from, list).expect("written");
    let told = warm(&["--order", "-0", "--from", text(&from)]);
    assert!(told.status.success() && said(&told).contains("2 files told"), "{}", said(&told));
    eventually("they are fetched ahead", || mount.counter("hinted") == 2 * blocks);
    let by_ioctl = |line: &str| {
        let mut command = Command::new("python3");
        command.args(["-c", IOCTL, text(mount.path()), line]).status().expect("python3 starts").code()
    };
    let lines = r#"{"path":"n\udcf2\udcff"}"#;
    assert_eq!(by_ioctl(&format!("{{\"list\":\"other\"}}\n{lines}\n{lines}")), Some(0));
    eventually("another too", || mount.counter("hinted") == 3 * blocks);
    let missing = warm(&["--order", text(&mount.path().join("train"))]);
    assert!(said(&missing).contains("1 file failed: "), "{}", said(&missing));
    for number in 0..3 {
        let read = fs::read(mount.path().join(odd(number))).expect("readable");
        assert!(read == content(number.into(), SIZE), "{number}");
    }
    assert_eq!(mount.counter("hints_wasted"), 0);
}

/// Without an order the files are read through at once, and are there for the next reader.
#[test]
fn what_is_warm_is_not_fetched_again() {
    let scene = Scene::new(&need!("versitygw"));
    let mount = scene.mount(&[]);
    let warmed = warm(&["--json", text(&mount.path().join("train"))]);
    let report: serde_json::Value = serde_json::from_slice(&warmed.stdout).expect("JSON");
    assert_eq!((report["files"].as_u64(), report["bytes"].as_u64()), (Some(FILES), Some(FILES * SIZE as u64)));
    let before = scene.proxy.counts().gets;
    for number in 0..FILES {
        assert!(fs::read(mount.path().join(name(number))).expect("readable") == content(number, SIZE));
    }
    assert_eq!(scene.proxy.counts().gets, before);
}

/// `posix_fadvise(WILLNEED)` has the kernel read a file ahead, where it keeps what is read.
#[test]
fn advice_of_the_kernel_is_heeded() {
    let scene = Scene::new(&need!("versitygw"));
    let mount = scene.mount(&["--kernel-cache", "on"]);
    let files = (0..20).map(|number| fs::File::open(mount.path().join(name(number))).expect("there"));
    let files: Vec<fs::File> = files.collect();
    for file in &files {
        rustix::fs::fadvise(file, 0, None, Advice::WillNeed).expect("it is only advice");
    }
    eventually("all are fetched", || scene.proxy.counts().gets >= 20);
    eventually("all bytes are there", || mount.counter("fetched_bytes") >= 20 * SIZE as u64);
    let before = scene.proxy.counts().gets;
    for (number, file) in (0..).zip(&files) {
        let mut bytes = vec![0; SIZE];
        std::os::unix::fs::FileExt::read_exact_at(file, &mut bytes, 0).expect("readable");
        assert!(bytes == content(number, SIZE));
    }
    assert_eq!(scene.proxy.counts().gets, before, "all of it was there");
}

/// Without --control and without a folder for runtime files there is no socket; with it there is.
#[test]
fn the_socket_lies_among_the_users_runtime_files() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("file"), "bytes").expect("written");
    let socket = |mount: &Mount| {
        let mut value = vec![0; 4096];
        let length = rustix::fs::getxattr(mount.path(), "user.forebay.socket", value.as_mut_slice()).ok()?;
        value.truncate(length);
        String::from_utf8(value).ok()
    };
    let by = |set: &dyn Fn(&mut Command)| {
        let mut command = forebay(&["mount", text(folder.path())]);
        command.env_remove("XDG_RUNTIME_DIR").stdin(Stdio::null());
        set(&mut command);
        Mount::by(command, forebay_testkit::mounts::MountPoint::new().expect("a mount point"))
    };
    let without = by(&|_| {});
    assert_eq!(socket(&without), None);
    let told = warm(&["--order", text(&without.path().join("file"))]);
    assert!(said(&told).contains("no control socket; mount it with --control"), "{}", said(&told));
    let runtime = tempfile::tempdir().expect("a folder");
    let with = by(&|command| {
        command.env("XDG_RUNTIME_DIR", runtime.path());
    });
    let socket = socket(&with).expect("it listens");
    assert!(socket.starts_with(text(&runtime.path().join("forebay"))) && socket.ends_with(".sock"), "{socket}");
    assert!(Path::new(&socket).exists());
}

/// Reads that go on in the background, of a list that comes through a pipe.
#[test]
fn warming_goes_on_in_the_background() {
    let scene = Scene::new(&need!("versitygw"));
    let mount = scene.mount(&[]);
    let lines: String = (0..20).map(|number| format!("{}\0", text(&mount.path().join(name(number))))).collect();
    let background = |lines: &str| {
        let mut command = forebay(&["warm", "--background", "-0", "--from", "-"]);
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = piped.spawn().expect("the command starts");
        child.stdin.take().expect("a pipe").write_all(lines.as_bytes()).expect("it reads");
        child.wait_with_output().expect("it ends")
    };
    let missing = background(&format!("{lines}{}\0", text(&mount.path().join("train/none"))));
    assert_eq!(missing.status.code(), Some(1), "{}", said(&missing));
    assert!(said(&missing).contains("train/none: "), "{}", said(&missing));
    assert_eq!(mount.counter("fetched_bytes"), 0, "nothing is read if a file is missing");
    let begun = background(&lines);
    assert!(begun.status.success() && said(&begun).contains("20 files are being read"), "{}", said(&begun));
    eventually("all are read", || mount.counter("fetched_bytes") >= 20 * SIZE as u64);
}

/// An ioctl of Python's: (the file or folder, the text) in, the errno out.
const IOCTL: &str = r"
import fcntl, os, sys
hint = 1 << 30 | 8192 << 16 | ord('F') << 8 | 1
fd = os.open(sys.argv[1], os.O_RDONLY)
try:
    fcntl.ioctl(fd, hint, bytearray(sys.argv[2].encode().ljust(8192, b'\0')))
except OSError as error:
    sys.exit(error.errno)
";

/// A program that sees only the mount tells its order by ioctl.
#[test]
fn an_ioctl_on_any_file_tells_a_list() {
    let scene = Scene::new(&need!("versitygw"));
    let mount = scene.mount(&["--allow-other"]);
    let ioctl = |uid: u32, on: &Path, told: &str| {
        let mut command = Command::new("python3");
        command.args(["-c", IOCTL, text(on), told]).stderr(Stdio::null());
        command.uid(uid).status().expect("python3 starts").code()
    };
    let head = "{\"list\":\"epoch\",\"mode\":\"replace\"}\n";
    let names = |from: u64| (from..from + 10).map(|n| format!("{{\"path\":\"{}\"}}\n", name(n))).collect::<String>();
    assert_eq!(ioctl(0, mount.path(), &format!("{head}{}", names(0))), Some(0));
    let blocks = (SIZE as u64).div_ceil(4096);
    eventually("its files are fetched", || mount.counter("hinted") == 10 * blocks);
    assert_eq!(ioctl(0, &mount.path().join(name(0)), &format!("{{\"list\":\"epoch\"}}\n{}", names(10))), Some(0));
    eventually("those of a file's too", || mount.counter("hinted") == 20 * blocks);
    assert_eq!(ioctl(0, mount.path(), "train/0001"), Some(libc::EINVAL));
    assert_eq!(ioctl(65534, mount.path(), &format!("{head}{}", names(0))), Some(libc::EACCES));
}
