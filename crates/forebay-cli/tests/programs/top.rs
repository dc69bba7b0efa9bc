//! `forebay top` on a real terminal, that of tmux: it shows mounts, says when one is gone, and
//! leaves the terminal as it was, however it ends.

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use forebay_testkit::process::{Running, Signal};
use forebay_testkit::{mounts, need};
use serde_json::Value;

use crate::{Mount, eventually, forebay, text};

/// A terminal. Its programs end when it is dropped.
struct Tmux<'a> {
    tmux: &'a Path,
    folder: tempfile::TempDir,
}

impl Tmux<'_> {
    /// One of so many columns and lines, with a shell.
    fn start<'a>(tmux: &'a Path, columns: &str, lines: &str) -> Tmux<'a> {
        let terminal = Tmux { tmux, folder: tempfile::tempdir().expect("a folder") };
        let begun =
            terminal.tmux(&["-f", "/dev/null", "new-session", "-d", "-x", columns, "-y", lines, "env PS1='$ ' sh"]);
        assert!(begun.status.success(), "{begun:?}");
        terminal
    }

    fn tmux(&self, args: &[&str]) -> Output {
        let mut command = Command::new(self.tmux);
        command.arg("-u").arg("-S").arg(self.folder.path().join("socket")).args(args);
        command.env("LC_ALL", "C.UTF-8").env("TERM", "xterm-256color").stdin(Stdio::null());
        command.output().expect("tmux starts")
    }

    fn types(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys"], keys].concat());
    }

    fn screen(&self) -> String {
        String::from_utf8_lossy(&self.tmux(&["capture-pane", "-p"]).stdout).into_owned()
    }

    fn shows(&self, expected: &str) {
        eventually(&format!("{expected:?} is on the screen"), || self.screen().contains(expected));
    }

    /// The process that the shell has started.
    fn child(&self) -> i32 {
        let shell = String::from_utf8(self.tmux(&["display-message", "-p", "#{pane_pid}"]).stdout).expect("text");
        let shell = shell.trim();
        let children = fs::read_to_string(format!("/proc/{shell}/task/{shell}/children")).expect("readable");
        children.split_whitespace().next_back().expect("a child").parse().expect("a number")
    }
}

impl Drop for Tmux<'_> {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

/// A mount of a folder with a few files, and the folder.
fn mount() -> (tempfile::TempDir, Mount) {
    let folder = tempfile::tempdir().expect("a folder");
    for number in 0..4 {
        fs::write(folder.path().join(format!("shard-{number}")), vec![7; 4 << 20]).expect("written");
    }
    let mount = Mount::start(&[text(folder.path()), "--memory", "32MiB"]);
    (folder, mount)
}

#[test]
fn a_terminal_shows_mounts_and_is_left_as_it_was() {
    let tmux = need!("tmux");
    if !mounts::possible() {
        return;
    }
    let ((_folder, first), (_other, second)) = (mount(), mount());
    let command = |mounts: &[&Mount]| {
        let points: Vec<String> = mounts.iter().map(|mount| format!("'{}'", text(mount.path()))).collect();
        let program = env!("CARGO_BIN_EXE_forebay");
        format!("{program} --config /dev/null top --interval 200ms {}; echo ended-$?", points.join(" "))
    };
    for (columns, lines) in [("80", "24"), ("200", "50")] {
        let terminal = Tmux::start(&tmux, columns, lines);
        terminal.types(&["echo be''fore", "Enter"]);
        terminal.shows("before");
        terminal.types(&[&command(&[&first, &second]), "Enter"]);
        terminal.shows("2 mounts");
        terminal.shows("auto, ");
        fs::read(first.path().join("shard-1")).expect("readable");
        terminal.shows("shard-1");
        assert!(!terminal.screen().contains("before"), "it has a screen of its own");
        terminal.types(&["Right"]);
        terminal.shows("no stream was read within 5 s");
        terminal.types(&["q"]);
        terminal.shows("ended-0");
        assert!(terminal.screen().contains("before"), "{}", terminal.screen());
        terminal.types(&["echo $((40+2)) sees keys", "Enter"]);
        terminal.shows("42 sees keys");
    }
    let terminal = Tmux::start(&tmux, "80", "24");
    let program = env!("CARGO_BIN_EXE_forebay");
    let missing = format!("{program} --config /dev/null top --interval 200ms --count 2 /missing; echo ended-$?");
    terminal.types(&[&missing, "Enter"]);
    terminal.shows("ended-2");
    terminal.shows("error: /missing");
    terminal.types(&["clear; echo be''fore", "Enter", &command(&[&first]), "Enter"]);
    terminal.shows("shard-1");
    first.end(Signal::KILL);
    terminal.shows("its forebay is gone");
    assert!(terminal.screen().contains("gone for "), "{}", terminal.screen());
    let child = rustix::process::Pid::from_raw(terminal.child()).expect("a process");
    rustix::process::kill_process(child, Signal::TERM).expect("it runs");
    terminal.shows("ended-0");
    assert!(terminal.screen().contains("before"), "{}", terminal.screen());
}

/// A shell that ignores hang-ups leaves it alone with a terminal that is no more.
#[test]
fn a_terminal_that_is_closed_ends_it() {
    let tmux = need!("tmux");
    if !mounts::possible() {
        return;
    }
    let (_folder, mount) = mount();
    let terminal = Tmux::start(&tmux, "80", "24");
    let program = env!("CARGO_BIN_EXE_forebay");
    terminal.types(&["trap '' HUP", "Enter"]);
    terminal.types(&[&format!("{program} --config /dev/null top '{}'", text(mount.path())), "Enter"]);
    terminal.shows("auto, ");
    let child = terminal.child();
    drop(terminal);
    let running = || fs::read_to_string(format!("/proc/{child}/cmdline")).is_ok_and(|line| line.contains("top"));
    eventually("it has ended", || !running());
}

#[test]
fn without_a_terminal_there_is_one_figure_or_lines_of_json() {
    if !mounts::possible() {
        return;
    }
    let (_folder, mount) = mount();
    fs::read(mount.path().join("shard-2")).expect("readable");
    let top = |args: &[&str]| {
        let output = forebay(&[&["top", "--interval", "100ms"], args].concat()).output().expect("the command starts");
        (output.status.code(), String::from_utf8(output.stdout).expect("text"), output.stderr)
    };
    let (code, shown, _) = top(&[text(mount.path())]);
    assert!(code == Some(0) && shown.contains("auto, ") && shown.contains("shard-2"), "{shown}");
    assert!(shown.lines().all(|line| line.chars().count() <= 100) && !shown.contains('\u{1b}'), "{shown}");
    let (_, all, _) = top(&[]);
    assert!(all.contains(text(mount.path())), "all mounts are found:\n{all}");

    let (code, lines, _) = top(&["--json", "--count", "3", text(mount.path())]);
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!((code, lines.len()), (Some(0), 3));
    assert!(lines.iter().all(|line| line["policy"] == "auto" && line["mount"] == text(mount.path())), "{lines:?}");
    assert!(lines.iter().all(|line| line["rates"]["read_bytes"] == 0.0), "also the first has rates: {lines:?}");
    assert_eq!(lines[2]["streams"][0]["file"], "shard-2");
    assert!(lines[2]["streams"][0]["reason"].as_str().is_some_and(|reason| !reason.is_empty()));

    // One figure, with rates, and an end.
    let (code, line, _) = top(&["--json", text(mount.path())]);
    let line: Value = serde_json::from_str(&line).expect("one line of JSON");
    assert_eq!(
        (code, &line["rates"]["read_bytes"], &line["devices"][0]["in_flight"]),
        (Some(0), &0.0.into(), &0.into())
    );

    let (code, _, said) = top(&["/"]);
    let said = String::from_utf8_lossy(&said);
    assert!(code == Some(2) && said.contains("/ is not a forebay mount"), "{said}");
}

/// A mount that goes is told once, and the others go on.
#[test]
fn a_mount_that_goes_ends_no_lines() {
    if !mounts::possible() {
        return;
    }
    let ((_folder, first), (_other, second)) = (mount(), mount());
    let (points, all) =
        ([text(first.path()), text(second.path())], ["top", "--json", "--interval", "200ms", "--count"]);
    let (said, output) = std::io::pipe().expect("a pipe");
    let mut command = forebay(&[&all[..], &["20"], &points[..]].concat());
    command.stdout(output);
    let running = Running::start(command).expect("the command starts");
    let mut lines = Vec::new();
    for line in BufReader::new(said).lines() {
        lines.push(serde_json::from_str::<Value>(&line.expect("readable")).expect("JSON"));
        if lines.len() == 5 {
            first.end(Signal::KILL);
        }
        if lines.len() > 60 {
            break;
        }
    }
    assert!(running.wait().expect("it ends").success());
    let of = |point: &str| lines.iter().filter(|line| line["mount"] == point).collect::<Vec<_>>();
    let gone = |line: &&&Value| line["gone"].as_str().is_some_and(|why| why.contains("its forebay is gone"));
    assert_eq!(of(points[0]).iter().filter(gone).count(), 1, "{lines:?}");
    assert_eq!((of(points[1]).len(), of(points[1]).iter().filter(gone).count()), (20, 0));
}

/// A user without mounts: those of others are not shown, and there is an end.
#[test]
fn a_user_without_mounts_is_told_so() {
    let nobody = 65534;
    if !rustix::process::geteuid().is_root() {
        return forebay_testkit::tools::skip("root");
    }
    let bin = tempfile::tempdir().expect("a folder");
    fs::set_permissions(bin.path(), Permissions::from_mode(0o755)).expect("ours");
    let program = bin.path().join("forebay");
    fs::copy(env!("CARGO_BIN_EXE_forebay"), &program).expect("copied");
    let mounted = mounts::possible().then(mount);
    for args in [&["top"][..], &["top", "--count", "1"], &["top", "--json"], &["top", "--json", "--count", "2"]] {
        let mut command = Command::new(&program);
        command.args(args).uid(nobody).env_clear().current_dir("/").stdin(Stdio::null());
        let output = command.output().expect("the command starts");
        let said = String::from_utf8_lossy(&output.stderr);
        // Mounts of other tests may be open to all.
        if output.status.success() && mounted.as_ref().is_some_and(|_| !output.stdout.is_empty()) {
            continue;
        }
        assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
        assert!(output.stdout.is_empty() && said.starts_with("error: no mount of yours is here"), "{args:?}: {said}");
    }
    if let Some((_, mount)) = mounted {
        let mut command = Command::new(&program);
        let output = command.arg("top").uid(nobody).env_clear().current_dir("/").output().expect("it starts");
        assert!(!String::from_utf8_lossy(&output.stdout).contains(text(mount.path())), "{output:?}");
    }
}

/// A mount that is out of sight, as in another container, is found by its socket.
#[test]
fn a_socket_is_as_good_as_a_mount() {
    if !mounts::possible() {
        return;
    }
    let runtime = tempfile::tempdir().expect("a folder");
    let folder = runtime.path().join("forebay");
    fs::create_dir(&folder).expect("a folder");
    let socket = folder.join("one.sock");
    let source = tempfile::tempdir().expect("a folder");
    let control = format!("unix:{}", text(&socket));
    let _mount = Mount::start(&[text(source.path()), "--memory", "32MiB", "--control", &control]);
    let json = forebay(&["top", "--json", "--count", "1", text(&socket)]).output().expect("the command starts");
    let line: Value = serde_json::from_slice(&json.stdout).expect("JSON");
    assert_eq!((&line["policy"], &line["mount"]), (&"auto".into(), &text(&socket).into()));
    for (command, place) in [("stats", text(&socket)), ("stats", &control), ("explain", &control), ("top", &control)] {
        let shown = forebay(&[command, place]).output().expect("the command starts");
        assert!(String::from_utf8_lossy(&shown.stdout).contains("auto, "), "{command} {place}: {shown:?}");
    }
    // It is a mount that is seen, so its socket is not another.
    let mut all = forebay(&["top"]);
    let all = all.env("XDG_RUNTIME_DIR", runtime.path()).output().expect("the command starts");
    assert!(!String::from_utf8_lossy(&all.stdout).contains("one.sock"), "{all:?}");
}
