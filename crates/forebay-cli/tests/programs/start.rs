//! The start of a mount of a web server: the events that it waits for, and those that it does not.

use std::fs;
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use forebay_testkit::certificate::Certificate;
use forebay_testkit::mounts::{self, MountPoint, is_mounted};
use forebay_testkit::need;
use forebay_testkit::nginx::{Features, Nginx};
use forebay_testkit::odd_web::{Methods, OddWeb, Oddity, RetryAfter};
use forebay_testkit::trees::content;

use crate::{Mount, eventually, forebay, text};

/// Far less than the patience, and more than any machine takes.
const SOON: Duration = Duration::from_secs(15);

fn served(oddity: Oddity) -> OddWeb {
    OddWeb::start([("a", "one"), ("b", "other")], oddity).expect("a server")
}

/// The command, with its output captured.
fn mounting(args: &[&str], point: &MountPoint) -> Command {
    let mut command = forebay(&[&["mount"], args, &[text(point.path())]].concat());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn is_on_a_command_line(path: &str) -> bool {
    let processes = fs::read_dir("/proc").expect("/proc is there").flatten();
    let lines = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    lines.into_iter().any(|line| String::from_utf8_lossy(&line).split('\0').any(|arg| arg == path))
}

/// Waits until the server has a request, so that the command waits for the answer.
fn is_asked(server: &OddWeb) {
    eventually("a request", || !server.requests().all().is_empty());
}

fn said(child: &mut Child) -> String {
    let mut said = String::new();
    child.stderr.take().expect("piped").read_to_string(&mut said).expect("text");
    said
}

#[test]
fn a_silent_file_costs_a_mount_a_moment() {
    if !mounts::possible() {
        return;
    }
    for oddity in [Oddity::Silent(Methods::All), Oddity::Silent(Methods::Get), Oddity::Refused(403)] {
        let server = served(Oddity::Plain);
        server.put("c", &content(5, 3 << 20));
        server.put("silent", &content(4, 3 << 20));
        server.set_at("silent", oddity.clone());
        let began = Instant::now();
        let mount = Mount::start(&[&server.url()]);
        assert!(began.elapsed() < SOON, "{oddity:?}: {:?}", began.elapsed());
        assert_eq!(fs::read(mount.path().join("a")).expect("readable"), b"one");
    }
}

#[test]
fn a_command_that_waits_can_be_ended_and_leaves_nothing() {
    if !mounts::possible() {
        return;
    }
    for daemon in [true, false] {
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGKILL] {
            let (server, point) = (served(Oddity::Silent(Methods::All)), MountPoint::new().expect("a mount point"));
            let url = server.url();
            let args = if daemon { vec!["-d", &url, "--patience", "10m"] } else { vec![&*url, "--patience", "10m"] };
            let mut child = mounting(&args, &point).spawn().expect("it starts");
            is_asked(&server);
            let id = rustix::process::Pid::from_child(&child);
            let signal = rustix::process::Signal::from_named_raw(signal).expect("a signal");
            rustix::process::kill_process(id, signal).expect("it runs");
            child.wait().expect("it ends");
            server.set(Oddity::Plain);
            eventually("the end of the background process", || !is_on_a_command_line(text(point.path())));
            assert!(!is_mounted(point.path()), "{signal:?}, daemon: {daemon}");
        }
    }
}

#[test]
fn a_busy_server_is_waited_for_and_that_is_said() {
    if !mounts::possible() {
        return;
    }
    for code in [503, 429] {
        let (server, point) =
            (served(Oddity::Busy { code, retry: RetryAfter::Seconds(1) }), MountPoint::new().expect("a mount point"));
        let mut child = mounting(&["-d", &server.url()], &point).spawn().expect("it starts");
        is_asked(&server);
        std::thread::sleep(Duration::from_millis(2500));
        server.set(Oddity::Plain);
        assert!(child.wait().expect("it ends").success());
        let said = said(&mut child);
        assert!(said.contains("waiting for http://") && said.contains(&code.to_string()), "{said}");
        assert_eq!(fs::read(point.path().join("b")).expect("readable"), b"other");
        mounts::lazy_unmount(point.path());
        eventually("the daemon's end", || !is_on_a_command_line(text(point.path())));
        // It waits as long as the patience lasts, and no longer.
        server.set(Oddity::Busy { code, retry: RetryAfter::None });
        let output = mounting(&[&server.url(), "--patience", "1s"], &point).output().expect("it starts");
        let line = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{line}");
        assert!(line.contains(&code.to_string()) && line.contains("--patience"), "{line}");
    }
}

#[test]
fn a_wrong_address_is_told_at_once() {
    if !mounts::possible() {
        return;
    }
    let point = MountPoint::new().expect("a mount point");
    let server = served(Oddity::Plain);
    let typo = format!("{}/typo", server.url());
    let secret = "http://user:pass#word@127.0.0.1:1/x";
    for (url, oddity, words) in [
        ("http://127.0.0.1:1/", Oddity::Plain, "refused"),
        ("http://no-such-host.invalid/", Oddity::Plain, "no connection"),
        (&typo, Oddity::Plain, "404"),
        (&server.url(), Oddity::Refused(401), "401"),
        (&server.url(), Oddity::Refused(403), "403"),
        (secret, Oddity::Plain, "http"),
    ] {
        server.set(oddity);
        let began = Instant::now();
        let output = mounting(&[url], &point).output().expect("it starts");
        let line = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{url}: {line}");
        assert!(line.starts_with("error: ") && line.to_lowercase().contains(words), "{url}: {line}");
        assert!(!line.contains("pass#") && !line.contains("word@"), "{line}");
        assert!(began.elapsed() < SOON, "{url}: {:?}", began.elapsed());
        assert!(!is_mounted(point.path()), "{url}");
    }
}

/// A refusal says which credentials the server wants, and which option gives them.
#[test]
fn a_refusal_says_what_to_do() {
    if !mounts::possible() {
        return;
    }
    let (server, point) = (served(Oddity::Password), MountPoint::new().expect("a mount point"));
    let folder = tempfile::tempdir().expect("a folder");
    let (token, login) = (folder.path().join("token"), folder.path().join("login"));
    fs::write(&token, "s3cret").expect("written");
    fs::write(&login, "user:s3cret").expect("written");
    let (with_token, with_login) = (["--source-token-file", text(&token)], ["--source-password-file", text(&login)]);
    let (url, file, signed) = (server.url(), format!("{}/a", server.url()), format!("{}/a?sig=s3cret", server.url()));
    let refused = Oddity::Refused(403);
    for (oddity, args, words) in [
        (Oddity::Password, vec![&*url], "wants a user and a password: give --source-password-file"),
        (Oddity::Password, vec![&file], "wants a user and a password: give --source-password-file"),
        (Oddity::Password, [&[&*url], &with_login[..]].concat(), "does not take the user and the password"),
        (Oddity::Password, [&[&*url], &with_token[..]].concat(), "wants a user and a password: --source-password-file"),
        (Oddity::Refused(401), vec![&url], "give a token (--source-token-file FILE)"),
        (Oddity::Refused(407), vec![&url], "HTTPS_PROXY"),
        (refused.clone(), vec![&url], "give the URL of one file"),
        (refused.clone(), [&[&*url], &with_token[..]].concat(), "the token of --source-token-file may not read this"),
        (refused.clone(), vec![&signed], "its signature may have expired"),
        (refused.clone(), vec!["s3://bucket", "--endpoint", &url], "use --profile NAME"),
        (refused, vec!["s3://bucket", "--endpoint", &url, "--no-sign-request"], "leave out --no-sign-request"),
        (Oddity::Plain, vec!["http://127.0.0.1:1/"], "is the server running, and its port right?"),
        (Oddity::Plain, vec!["http://no-such-host.invalid/"], "is the host's name right?"),
        (Oddity::Plain, vec!["s3://bucket", "--endpoint", "http://127.0.0.1:1"], "its port right (--endpoint)?"),
    ] {
        server.set(oddity.clone());
        let output = mounting(&args, &point).env("AWS_REGION", "us-east-1").output().expect("it starts");
        let line = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{oddity:?}, {args:?}: {line}");
        assert!(line.starts_with("error: ") && line.matches('\n').count() == 1, "{oddity:?}, {args:?}: {line}");
        assert!(line.contains(words) && !line.contains("s3cret"), "{oddity:?}, {args:?}: {line}");
        if matches!(oddity, Oddity::Plain) {
            continue;
        }
        assert!(line.contains(": permission denied: the server says "), "{oddity:?}, {args:?}: {line}");
    }
}

/// Servers that want encryption, and refuse plain requests with words of their own or with none.
#[test]
fn a_server_that_wants_encryption_says_so() {
    if !mounts::possible() {
        return;
    }
    let (nginx, point) = (need!("nginx"), MountPoint::new().expect("a mount point"));
    let folder = tempfile::tempdir().expect("a folder");
    let features = Features { autoindex: true, tls: true, ..Features::default() };
    let refusing = Nginx::start_with(&nginx, folder.path(), features).expect("a server");
    let Certificate { certificate, key } = Certificate::make(folder.path()).expect("a certificate");
    let files = [text(folder.path()), "--tls-cert", text(&certificate), "--tls-key", text(&key)];
    let closing = crate::identity::Serve::start(&files);
    for url in [refusing.url(), closing.url.replace("https://", "http://")] {
        let with = url.replace("http://", "https://");
        let s3 = ["s3://bucket", "--endpoint", &url, "--region", "us-east-1"];
        for source in [&[&*url][..], &s3] {
            let output = mounting(source, &point).output().expect("it starts");
            let line = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{source:?}: {line}");
            let words = line.contains("encryption") && line.contains("https://");
            assert!(words && line.starts_with("error: "), "{source:?}: {line}");
            assert!(source.len() > 1 || line.contains(&with), "{source:?}: {line}");
        }
    }
}

/// Names that no text can hold, through a level, and names that a page for browsers hides.
#[test]
fn names_that_are_hard_to_list_are_there() {
    use std::os::unix::ffi::OsStrExt;
    if !mounts::possible() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let names: [&[u8]; 5] = [b"tab\there", b"line\nbreak", b"not \xff UTF-8", b"\x01", b".hidden"];
    for name in names {
        fs::write(folder.path().join(std::ffi::OsStr::from_bytes(name)), name).expect("ours");
    }
    let level = crate::identity::Serve::start(&[text(folder.path())]);
    let mount = Mount::start(&[&level.url]);
    let listed = fs::read_dir(mount.path()).expect("listed").map(|entry| entry.expect("an entry").file_name());
    let mut listed: Vec<Vec<u8>> = listed.map(|name| name.as_bytes().to_vec()).collect();
    listed.sort();
    let mut expected = names.map(<[u8]>::to_vec);
    expected.sort();
    assert_eq!(listed, expected);
    for name in names {
        let read = fs::read(mount.path().join(std::ffi::OsStr::from_bytes(name)));
        assert_eq!(read.expect("readable"), name);
    }
}
