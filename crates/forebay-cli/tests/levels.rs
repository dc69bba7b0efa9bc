//! Two levels as two real commands: `forebay mount http://…` over `forebay serve` over a folder.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use forebay_core::EventKind;
use forebay_live::flight::{self, Line};
use forebay_testkit::mounts::{self, MountPoint};
use forebay_testkit::trees::content;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

const SIZE: usize = 5_000_123;

/// The command without the user's configuration and profiles.
fn forebay(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_forebay"));
    command.env_remove("HOME").env_remove("XDG_CACHE_HOME").env("FOREBAY_CONFIG", "/dev/null");
    command.args(args).stdin(Stdio::null());
    command
}

/// A command that is ready. Ended when dropped.
struct Ready {
    child: Child,
    said: String,
}

impl Ready {
    fn start(mut command: Command) -> Ready {
        let mut child = command.stdout(Stdio::piped()).spawn().expect("the command starts");
        let mut said = String::new();
        BufReader::new(child.stdout.as_mut().expect("piped")).read_line(&mut said).expect("readable");
        let ready = Ready { child, said };
        assert!(ready.said.starts_with("ready: "), "{:?}", ready.said);
        ready
    }

    fn end(mut self) {
        kill_process(Pid::from_child(&self.child), Signal::TERM).expect("it runs");
        assert!(self.child.wait().expect("ours").success());
    }
}

impl Drop for Ready {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A folder with one file, served to clients that show the token, and places for written files.
struct Scene {
    folder: TempDir,
    apart: TempDir,
    point: MountPoint,
}

impl Scene {
    fn new() -> Scene {
        let scene = Scene { folder: temporary(), apart: temporary(), point: MountPoint::new().expect("a mount point") };
        std::fs::create_dir(scene.folder.path().join("below")).expect("a folder");
        std::fs::write(scene.folder.path().join("below/file"), content(1, SIZE)).expect("a file");
        std::fs::write(scene.folder.path().join("below/next"), content(2, SIZE)).expect("a file");
        std::fs::write(scene.apart("token"), "open-sesame-open-sesame\n").expect("a file");
        std::fs::write(scene.apart("wrong"), "simsalabim-simsalabim\n").expect("a file");
        scene
    }

    fn apart(&self, name: &str) -> String {
        self.apart.path().join(name).to_str().expect("a plain name").to_owned()
    }

    /// Starts the server, and returns it with its URL.
    fn serve(&self, policy: &str) -> (Ready, String) {
        let folder = self.folder.path().to_str().expect("a plain name");
        let (token, flight) = (self.apart("token"), self.apart("below"));
        let ready = Ready::start(forebay(&[
            "serve",
            folder,
            "--listen",
            "127.0.0.1:0",
            "--token-file",
            &token,
            "--record",
            &flight,
            "--policy",
            policy,
            "--memory",
            "48MiB",
            "--ttl",
            "0s",
        ]));
        let url = ready.said.trim().rsplit(' ').next().expect("it says where").to_owned();
        (ready, url)
    }

    fn mount(&self, url: &str, more: &[&str]) -> Command {
        let mut command = forebay(&["mount", url, self.point.path().to_str().expect("a plain name")]);
        // A modelled device knows its cost, so no reads are needed to measure it.
        command
            .args(["--policy", "fixed", "--memory", "48MiB", "--ttl", "0s", "--kernel-cache", "off", "--pace", "ssd"])
            .args(more);
        command
    }

    fn file(&self) -> std::path::PathBuf {
        self.point.path().join("below/file")
    }
}

fn temporary() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

/// For each block of a file of [`SIZE`], how often the lower level was told that readers want it or
/// have read it; and the number of blocks hit. A read without a label is wanted in full. `None`
/// until the flight reaches the next file.
fn told(path: &Path) -> Option<(Vec<u32>, usize)> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    // The last line may still be incomplete.
    let lines = text.lines().skip(1).map_while(|line| serde_json::from_str(line).ok());
    let events = lines.filter_map(|line| match line {
        Line::Event(event) => Some(event.kind),
        Line::Action(_) => None,
    });
    let (mut times, mut hits, mut label) = (vec![0; SIZE.div_ceil(4096)], 0, None);
    let mut first = None;
    for event in events {
        match event {
            EventKind::Labelled { read, demand, hits } => label = Some((read, demand, hits)),
            EventKind::Read { file, .. } if *first.get_or_insert(file) != file => return Some((times, hits)),
            EventKind::Read { read, offset, len, .. } => {
                let all = (offset / 4096) as usize..(offset + u64::from(len)).div_ceil(4096) as usize;
                match label.take().filter(|&(labelled, ..)| labelled == read) {
                    None => times[all].iter_mut().for_each(|n| *n += 1),
                    Some((_, demand, hit)) => {
                        hits += hit.len as usize;
                        for part in [demand, hit] {
                            times[part.start as usize..part.end() as usize].iter_mut().for_each(|n| *n += 1);
                        }
                    }
                }
            }
            _ => {}
        }
    }
    None
}

#[test]
fn a_mount_over_a_server_reads_its_bytes_and_tells_it_what_readers_want() {
    if !mounts::possible() {
        return;
    }
    for policy in ["none", "sarc", "ets"] {
        let scene = Scene::new();
        let (server, url) = scene.serve(policy);
        let token = scene.apart("token");
        let mount = Ready::start(scene.mount(&url, &["--source-token-file", &token]));
        let names: Vec<_> =
            std::fs::read_dir(scene.point.path()).expect("listed").map(|e| e.unwrap().file_name()).collect();
        assert_eq!(names, ["below"]);
        let file = std::fs::File::open(scene.file()).expect("a file");
        let (mut bytes, mut buffer) = (Vec::<u8>::new(), vec![0; 4096]);
        while bytes.len() < SIZE {
            let n = file.read_at(&mut buffer, bytes.len() as u64).expect("readable");
            bytes.extend(&buffer[..n]);
        }
        assert!(bytes == content(1, SIZE), "{policy}");
        drop(file);
        // So large that the flight writes out its lines about the first file.
        assert!(std::fs::read(scene.point.path().join("below/next")).expect("readable") == content(2, SIZE));
        let flight = scene.apart("below");
        let begun = Instant::now();
        let (times, hits) = loop {
            if let Some(told) = told(flight.as_ref()) {
                break told;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "{policy}: the flight never comes to the second file");
            std::thread::sleep(Duration::from_millis(20));
        };
        mount.end();
        server.end();
        assert_eq!(flight::replay(flight.as_ref()).expect("a flight").differs_at, None, "{policy}");
        // Each block was wanted or hit, and told once. Only for the last reads was there no later
        // request that could tell them.
        let end = times.iter().position(|&n| n == 0).unwrap_or(times.len());
        assert!(times[..end].iter().all(|&n| n == 1) && times[end..].iter().all(|&n| n == 0), "{policy}: {times:?}");
        assert!(end + 64 > times.len() && hits > times.len() / 2, "{policy}: {end} blocks told, {hits} hits");
    }
}

#[test]
fn a_file_that_changes_below_is_stale_and_read_anew() {
    if !mounts::possible() {
        return;
    }
    let scene = Scene::new();
    let (_server, url) = scene.serve("competitive");
    let token = scene.apart("token");
    let _mount = Ready::start(scene.mount(&url, &["--source-token-file", &token]));
    let file = std::fs::File::open(scene.file()).expect("a file");
    let mut buffer = vec![0; 4096];
    file.read_exact_at(&mut buffer, 0).expect("readable");
    assert!(buffer == content(1, SIZE)[..4096]);
    // Another file of the same name.
    std::fs::write(scene.folder.path().join("new"), content(2, SIZE)).expect("a file");
    std::fs::rename(scene.folder.path().join("new"), scene.folder.path().join("below/file")).expect("renamed");
    let far = SIZE as u64 / 2;
    let begun = Instant::now();
    loop {
        // Never bytes of both files. The server keeps the old file open as long as it counts as
        // unchanged.
        match file.read_exact_at(&mut buffer, far) {
            Err(error) => break assert_eq!(error.raw_os_error(), Some(116), "{error}"),
            Ok(()) => assert!(buffer == content(1, SIZE)[far as usize..far as usize + 4096]),
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "never stale");
    }
    assert!(std::fs::read(scene.file()).expect("readable") == content(2, SIZE));
}

#[test]
fn a_server_that_wants_a_token_says_so() {
    let scene = Scene::new();
    let (_server, url) = scene.serve("none");
    let wrong = scene.apart("wrong");
    for (more, hint) in [
        (vec![], "it wants credentials: give a token (--source-token-file FILE)"),
        (vec!["--source-token-file", &wrong], "it does not take the token of --source-token-file"),
        (vec!["--source-token-file", "/nowhere"], "/nowhere: No such file"),
    ] {
        let output = scene.mount(&url, &more).output().expect("the command runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(hint) && said.trim().lines().count() == 1, "{said}");
        assert!(!said.contains("simsalabim"), "{said}");
    }
}
