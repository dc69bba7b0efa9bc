//! The messages to systemd: a unit's readiness, and lines for the journal.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixDatagram;
use std::process::Stdio;
use std::time::Duration;

use forebay_testkit::mounts::{self, MountPoint, is_mounted};
use forebay_testkit::process::{Running, Signal};

use crate::{forebay, line, text};

/// The socket of a supervisor.
struct Supervisor {
    socket: UnixDatagram,
    folder: tempfile::TempDir,
}

impl Supervisor {
    fn new() -> Supervisor {
        let folder = tempfile::tempdir().expect("a folder");
        let socket = UnixDatagram::bind(folder.path().join("notify")).expect("a socket");
        socket.set_read_timeout(Some(Duration::from_secs(60))).expect("a limit");
        Supervisor { socket, folder }
    }

    fn hears(&self) -> String {
        let mut message = [0; 4096];
        let length = self.socket.recv(&mut message).expect("a message");
        String::from_utf8_lossy(&message[..length]).into_owned()
    }
}

#[test]
fn a_mount_and_a_server_say_when_they_are_ready_and_when_they_stop() {
    if !mounts::possible() {
        return;
    }
    let (source, point, supervisor) =
        (tempfile::tempdir().expect("a folder"), MountPoint::new().expect("a mount point"), Supervisor::new());
    let mount = ["mount", text(source.path()), text(point.path())];
    let serve = ["serve", text(source.path()), "--listen", "127.0.0.1:0"];
    for args in [&mount[..], &serve[..]] {
        let mut command = forebay(args);
        command.env("NOTIFY_SOCKET", supervisor.folder.path().join("notify")).stdout(Stdio::null());
        let running = Running::start(command).expect("it starts");
        let ready = supervisor.hears();
        assert!(ready.starts_with("READY=1\nSTATUS=ready: ") && ready.contains(text(source.path())), "{ready}");
        assert_eq!(is_mounted(point.path()), args[0] == "mount");
        running.signal(Signal::TERM).expect("it runs");
        assert_eq!(supervisor.hears().trim_end(), "STOPPING=1");
        assert_eq!(running.wait().expect("it ends").code(), Some(0));
    }
}

#[test]
fn a_configuration_file_alone_says_what_a_unit_mounts() {
    if !mounts::possible() {
        return;
    }
    let (source, point) = (tempfile::tempdir().expect("a folder"), MountPoint::new().expect("a mount point"));
    fs::write(source.path().join("file"), "hello").expect("written");
    let file = tempfile::NamedTempFile::new().expect("a file");
    let table = toml::toml! {
        [mount]
        memory = "64MiB"
    };
    let mut table = table;
    let (source, at) = (text(source.path()), text(point.path()));
    let mount = table["mount"].as_table_mut().expect("a table");
    mount.insert("source".into(), vec![format!("a={source}"), format!("b={source}")].into());
    mount.insert("mountpoint".into(), at.into());
    fs::write(file.path(), table.to_string()).expect("written");
    let (output, says) = std::io::pipe().expect("a pipe");
    let mut command = forebay(&["--config", text(file.path()), "mount"]);
    command.stdout(says);
    let running = Running::start(command).expect("it starts");
    assert_eq!(line(output), format!("ready: a={source} b={source} at {at}\n"));
    assert_eq!(fs::read(point.path().join("b/file")).expect("readable"), b"hello");
    running.signal(Signal::TERM).expect("it runs");
    assert_eq!(running.wait().expect("it ends").code(), Some(0));
}

/// Standard error counts as the journal if `JOURNAL_STREAM` says so, and a daemon keeps it.
#[test]
fn the_journal_gets_levels_and_a_file_of_json_gets_objects() {
    let (journal, log) =
        (tempfile::NamedTempFile::new().expect("a file"), tempfile::NamedTempFile::new().expect("ours"));
    let run = |args: &[&str], is_journal: bool| {
        let mut command = forebay(args);
        let at = journal.as_file().metadata().expect("there");
        if is_journal {
            command.env("JOURNAL_STREAM", format!("{}:{}", at.dev(), at.ino()));
        }
        journal.as_file().set_len(0).expect("ours");
        let output = fs::OpenOptions::new().append(true).open(journal.path()).expect("ours");
        command.stderr(output).status().expect("it starts");
        fs::read_to_string(journal.path()).expect("text")
    };
    let said = run(&["--log", "debug", "stats", "/nowhere"], true);
    assert!(said.starts_with("<7>forebay_cli::journal: options: "), "{said}");
    assert!(said.lines().last().expect("a line").starts_with("<3>error: "), "{said}");
    let said = run(&["--log", "debug", "stats", "/nowhere"], false);
    assert!(said.lines().all(|line| !line.starts_with('<')) && said.contains(" DEBUG forebay_cli"), "{said}");
    run(&["--log", "debug", "--log-format", "json", "--log-file", text(log.path()), "stats", "/nowhere"], true);
    let lines = fs::read_to_string(log.path()).expect("text");
    let first: serde_json::Value = serde_json::from_str(lines.lines().next().expect("a line")).expect("JSON");
    assert_eq!((&first["level"], &first["target"]), (&"debug".into(), &"forebay_cli::journal".into()));
    assert!(first["message"].is_string() && first["time"].as_str().expect("a time").ends_with('Z'), "{first}");
}
