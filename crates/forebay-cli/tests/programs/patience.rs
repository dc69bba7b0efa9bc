//! A store that throttles, is silent or refuses, and the programs and the log of a mount of it.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use forebay_testkit::breaking::{BreakingProxy, Fault, Which};
use forebay_testkit::need;
use forebay_testkit::process::{Running, Signal};
use forebay_testkit::s3::{BUCKET, S3};
use forebay_testkit::trees::content;

use crate::{Mount, eventually, run, text};

const SIZE: usize = 100_000;

/// A store of some files behind a proxy that injects faults.
struct Scene {
    proxy: BreakingProxy,
    _server: S3,
}

impl Scene {
    fn new(versitygw: &Path) -> Scene {
        let server = S3::start(versitygw).expect("a server");
        for number in 0..20 {
            server.put(&format!("folder/{number}"), &content(number, SIZE)).expect("stored");
        }
        let proxy = BreakingProxy::start(server.address(), Fault::None).expect("a proxy");
        Scene { proxy, _server: server }
    }

    fn mount(&self, more: &[&str]) -> Mount {
        let (uri, endpoint) = (format!("s3://{BUCKET}"), self.proxy.url());
        let source = [&uri, "--endpoint", &endpoint, "--region", "us-east-1", "--memory", "32MiB"];
        Mount::start(&[&source, more].concat())
    }
}

fn read(root: &Path, number: u64) -> std::io::Result<()> {
    let bytes = fs::read(root.join(format!("folder/{number}")))?;
    assert!(bytes == content(number, SIZE), "folder/{number}");
    Ok(())
}

/// Names and bytes alike wait as long as the store says, and no reader gets an error.
#[test]
fn a_throttle_of_five_seconds_fails_nothing() {
    let scene = Scene::new(&need!("versitygw"));
    let mount = scene.mount(&["--ttl", "0s"]);
    let root = mount.path();
    for fault in [Fault::TooManyRequests(5), Fault::SlowDown] {
        scene.proxy.set(fault);
        std::thread::scope(|scope| {
            let readers = [0, 1].map(|number| scope.spawn(move || read(root, number)));
            let lists = scope.spawn(move || run("ls", &["-l", "folder"], root));
            std::thread::sleep(Duration::from_secs(5));
            scene.proxy.set(Fault::None);
            readers.into_iter().for_each(|reader| reader.join().expect("no panic").expect("no error"));
            assert_eq!(lists.join().expect("no error").iter().filter(|&&byte| byte == b'\n').count(), 21);
        });
    }
}

#[test]
fn after_the_patience_there_is_an_error_and_a_line_in_the_log() {
    let scene = Scene::new(&need!("versitygw"));
    let log = tempfile::NamedTempFile::new().expect("a file");
    let mount = scene.mount(&["--ttl", "0s", "--patience", "2s", "--log-file", text(log.path())]);
    for fault in [Fault::SlowDown, Fault::Silent(Which::All), Fault::ExpiredToken(403)] {
        let denied = matches!(fault, Fault::ExpiredToken(_));
        scene.proxy.set(fault.clone());
        for attempt in 0..3 {
            let (begun, outcome) = (Instant::now(), read(mount.path(), 3));
            let errno = outcome.expect_err("it fails").raw_os_error();
            assert_eq!(errno, Some(if denied { libc::EACCES } else { libc::EIO }), "{fault:?}, attempt {attempt}");
            // The bound is for a read that never ends. How long a read takes beyond the patience
            // depends on the machine.
            assert!(begun.elapsed() < Duration::from_secs(30), "{fault:?}: {:?}", begun.elapsed());
        }
        scene.proxy.set(Fault::None);
        read(mount.path(), 3).expect("it is there again");
    }
    let said = fs::read_to_string(log.path()).expect("readable");
    for code in ["SlowDown", "ExpiredToken"] {
        assert_eq!(said.lines().filter(|line| line.contains(code)).count(), 1, "{code} in:\n{said}");
    }
    assert!(said.lines().count() < 30, "{said}");
}

/// For a name that it knew, the kernel makes two look-ups, of which only the first waits.
#[test]
fn a_known_name_takes_one_patience_and_is_back_with_the_store() {
    let scene = Scene::new(&need!("versitygw"));
    let mount = scene.mount(&["--ttl", "0s", "--patience", "2s"]);
    let name = mount.path().join("folder/0");
    let refused = |name: &Path| {
        scene.proxy.requests().clear();
        assert_eq!(fs::metadata(name).expect_err("it fails").raw_os_error(), Some(libc::EIO), "{name:?}");
        scene.proxy.requests().all().len()
    };
    for _ in 0..3 {
        fs::metadata(&name).expect("it is there");
        scene.proxy.set(Fault::Silent(Which::All));
        let known = refused(&name);
        // The kernel has forgotten the name, and looks it up once.
        assert_eq!(known, refused(&name));
        scene.proxy.set(Fault::None);
    }
}

/// A reader of a silent store can be killed, and meanwhile blocks in memory can be read.
#[test]
fn readers_of_a_silent_store_can_be_killed() {
    let scene = Scene::new(&need!("versitygw"));
    let mount = scene.mount(&["--kernel-cache", "off"]);
    let root = mount.path();
    read(root, 5).expect("it is there");
    scene.proxy.set(Fault::Silent(Which::All));
    for program in [&["cat", "folder/9"], &["ls", "none"], &["stat", "folder/none/at/all"]] {
        let mut command = Command::new(program[0]);
        command.arg(program[1]).current_dir(root);
        let waiting = Running::start(command).expect("it starts");
        std::thread::sleep(Duration::from_millis(500));
        let killed = Instant::now();
        waiting.signal(Signal::KILL).expect("it runs");
        waiting.wait().expect("it ends");
        assert!(killed.elapsed() < Duration::from_secs(5), "{program:?}: {:?}", killed.elapsed());
    }
    read(root, 5).expect("it is in memory");
    run("df", &["."], root);
    scene.proxy.set(Fault::None);
    eventually("the store is back", || read(root, 9).is_ok());
}
