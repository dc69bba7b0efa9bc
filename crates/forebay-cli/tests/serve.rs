//! The real command serving a folder: the address that it prints, the reads of mounts over it, its
//! end, and its refusals. Its answers are tested in `forebay-serve`.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use forebay_testkit::certificate::Certificate;
use forebay_testkit::mounts::{self, MountPoint};
use forebay_testkit::odd_web::{OddWeb, Oddity};
use forebay_testkit::process::{Running, Signal};
use forebay_testkit::served::Served;
use forebay_testkit::trees::{OddTree, content};

/// The command without the user's configuration and profiles.
fn forebay(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_forebay"));
    command.env_remove("HOME").env_remove("XDG_CACHE_HOME").env_remove("FOREBAY_TOKEN");
    command.args(args).env("FOREBAY_CONFIG", "/dev/null").stdin(Stdio::null());
    command
}

/// `forebay serve` at a free port, ready. Killed when dropped.
struct Serving {
    running: Running,
    line: String,
    url: String,
}

impl Serving {
    fn start(mut command: Command) -> Serving {
        let (said, says) = std::io::pipe().expect("a pipe");
        command.args(["--listen", "127.0.0.1:0"]).stdout(says);
        let running = Running::start(command).expect("the command starts");
        let mut line = String::new();
        BufReader::new(said).read_line(&mut line).expect("readable");
        let url = line.strip_prefix("ready: ").and_then(|line| line.trim_end().rsplit_once(" at ")).map(|(_, url)| url);
        let url = url.unwrap_or_else(|| panic!("{line:?}")).to_owned();
        Serving { running, line, url }
    }

    fn of(folder: &Path) -> Serving {
        Serving::start(forebay(&["serve", folder.to_str().expect("a plain name"), "--memory", "64MiB"]))
    }

    fn get(&self, path: &str, args: &[&str]) -> Vec<u8> {
        curl(&format!("{}{path}", self.url), args).stdout
    }
}

fn curl(url: &str, args: &[&str]) -> Output {
    let output =
        Command::new("curl").args(["--silent", "--show-error"]).args(args).arg(url).output().expect("curl is there");
    assert!(output.status.success(), "{url}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

/// Everything below a folder as a level over HTTP shows it: a link shows its target, and odd links
/// are left out.
fn shown(folder: &Path, below: &Path, names: &mut Vec<(PathBuf, Option<Vec<u8>>)>) {
    let mut entries: Vec<_> =
        fs::read_dir(folder.join(below)).expect("readable").map(|entry| entry.unwrap().file_name()).collect();
    entries.sort();
    for name in entries {
        let path = below.join(&name);
        let whole = folder.join(&path);
        let Ok(about) = fs::metadata(&whole) else { continue };
        if about.is_dir() {
            names.push((path.clone(), None));
            // For targets of links, only files are compared: folders behind links would be walked
            // twice.
            if !whole.is_symlink() {
                shown(folder, &path, names);
            }
        } else if about.is_file() && about.len() < 100 << 20 {
            names.push((path, Some(fs::read(&whole).expect("readable"))));
        }
    }
}

#[test]
fn it_says_where_it_listens_and_ends_in_peace() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "bytes").unwrap();
    for signal in [Signal::TERM, Signal::INT] {
        let serving = Serving::of(folder.path());
        assert!(serving.url.starts_with("http://127.0.0.1:"), "{}", serving.url);
        assert_eq!(serving.get("file", &[]), b"bytes");
        serving.running.signal(signal).unwrap();
        assert_eq!(serving.running.wait().unwrap().code(), Some(0));
    }
    let (said, says) = std::io::pipe().unwrap();
    let mut command = forebay(&["serve", "--json", "--listen", "127.0.0.1:0", folder.path().to_str().unwrap()]);
    command.stdout(says);
    let _running = Running::start(command).unwrap();
    let mut line = String::new();
    BufReader::new(said).read_line(&mut line).unwrap();
    let json: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!(curl(&format!("{}file", json["url"].as_str().unwrap()), &[]).stdout, b"bytes");
    assert_eq!(json["source"].as_str(), folder.path().to_str());
}

#[test]
fn names_and_a_token_come_with_the_command() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "bytes").unwrap();
    let token = folder.path().join("token");
    fs::write(&token, "0123456789abcdef\n").unwrap();
    let of = |command: Command| {
        let serving = Serving::start(command);
        let status = ["--output", "/dev/null", "--write-out", "%{http_code}"];
        assert_eq!(serving.get("file", &status), b"401");
        assert_eq!(serving.get("file", &["--oauth2-bearer", "0123456789abcdef"]), b"bytes");
        serving
    };
    let path = folder.path().to_str().unwrap();
    let named = Serving::start(forebay(&["serve", path, "--host-name", "a.example,data.example"]));
    let status = |name| named.get("file", &["--output", "/dev/null", "--write-out", "%{http_code}", "--header", name]);
    assert_eq!((status("Host: data.example"), status("Host: other.example")), (b"200".to_vec(), b"421".to_vec()));
    let serving = of(forebay(&["serve", path, "--token-file", token.to_str().unwrap()]));
    let mut command = forebay(&["serve", path]);
    command.env("FOREBAY_TOKEN", "0123456789abcdef");
    of(command);
    if mounts::possible() {
        let mounted =
            Served::start(forebay(&["mount", &serving.url, "--source-token-file", token.to_str().unwrap()])).unwrap();
        assert_eq!(fs::read(mounted.point().join("file")).unwrap(), b"bytes");
    }
}

/// A server is looked at from elsewhere as a mount is from near.
#[test]
fn it_is_watched_by_its_address() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), content(1, 3_000_000)).unwrap();
    let token = folder.path().join("token");
    fs::write(&token, "0123456789abcdef\n").unwrap();
    let other = folder.path().join("other");
    fs::write(&other, "fedcba9876543210\n").unwrap();
    let (path, token, other) = (folder.path().to_str().unwrap(), token.to_str().unwrap(), other.to_str().unwrap());
    let Certificate { certificate, key } = Certificate::make(folder.path()).unwrap();
    let (certificate, key) = (certificate.to_str().unwrap(), key.to_str().unwrap());
    let plain = Serving::of(folder.path());
    let guarded = ["serve", path, "--token-file", token, "--tls-cert", certificate, "--tls-key", key];
    let guarded = Serving::start(forebay(&guarded));
    plain.get("file", &[]);
    let shown = |args: &[&str]| {
        let output = forebay(args).output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(said).unwrap())
    };
    for (command, more) in [("stats", ""), ("explain", ""), ("top", "file")] {
        let (code, said) = shown(&[command, &plain.url]);
        assert!(code == Some(0) && said.contains("auto, ") && said.contains(more), "{command}: {said}");
        let (code, said) = shown(&[command, &guarded.url, "--token-file", token, "--tls-ca", certificate]);
        assert!(code == Some(0) && said.contains("auto, "), "{command}: {said}");
        let (code, said) = shown(&[command, &guarded.url, "--tls-ca", certificate]);
        assert!(code == Some(2) && said.contains("it wants a token: give --token-file"), "{command}: {said}");
        let (code, said) = shown(&[command, &guarded.url, "--tls-ca", certificate, "--token-file", other]);
        assert!(code == Some(2) && said.contains(&format!("the token of {other} is not")), "{command}: {said}");
        let bare = |url: &str| url.split_once("://").unwrap().1.trim_end_matches('/').to_owned();
        let (code, said) = shown(&[command, &bare(&plain.url)]);
        assert!(code == Some(0) && said.contains("auto, "), "{command}: {said}");
        let (code, said) = shown(&[command, &bare(&guarded.url)]);
        assert!(code == Some(2) && said.contains(&format!("try https://{}", bare(&guarded.url))), "{command}: {said}");
        let (code, said) = shown(&[command, &format!("https://{}", bare(&plain.url))]);
        assert!(code == Some(2) && said.contains(&format!("try http://{}", bare(&plain.url))), "{command}: {said}");
        let (code, said) = shown(&[command, &guarded.url, "--token-file", token]);
        assert!(code != Some(0) && said.contains("certificate"), "{command}: {said}");
    }
    let (_, line) = shown(&["top", "--json", "--count", "1", &plain.url]);
    let line: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!((&line["policy"], &line["mount"]), (&"auto".into(), &plain.url.as_str().into()));
    let mut by_variable = forebay(&["stats", "--json", &guarded.url, "--tls-ca", certificate]);
    let by_variable = by_variable.env("FOREBAY_TOKEN", "0123456789abcdef").output().unwrap();
    assert!(by_variable.stdout.starts_with(b"{"), "{by_variable:?}");

    let unknown = OddWeb::start([("stats", "{}")], Oddity::Plain).unwrap();
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for (address, expected) in [
        (unknown.url(), "it answers 404"),
        (format!("http://{nobody}/"), "no server of Forebay answers"),
        ("http://".to_owned(), "give an address"),
        ("http://me:secret@localhost/".to_owned(), "--token-file"),
    ] {
        let (code, said) = shown(&["stats", &address]);
        assert!(code == Some(2) && said.contains(expected) && said.lines().count() == 1, "{address}: {said}");
        assert!(!said.contains("secret"), "{said}");
    }
}

/// A source's name may hold any character: no message and no label has a control character of it.
#[test]
fn a_name_is_no_order_to_a_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let odd = folder.path().join("it's\u{1b}[31m\r\nb");
    fs::create_dir(&odd).unwrap();
    let shown = format!("{}/it's\\u{{1b}}[31m\\r\\nb", folder.path().display());
    let plain = |text: &str| !text.contains(|char: char| char.is_control() && char != '\n');
    let odd = odd.to_str().unwrap();
    let serving = Serving::start(forebay(&["serve", odd, "--metrics-paths"]));
    assert!(serving.line.starts_with(&format!("ready: {shown} at http://")), "{}", serving.line);
    let metrics = String::from_utf8(serving.get(".well-known/forebay/metrics", &[])).unwrap();
    // The form of metrics doubles the backslash.
    assert!(plain(&metrics) && metrics.contains(&format!("device=\"{}\"", shown.replace('\\', "\\\\"))), "{metrics}");
    let missing = format!("{odd}/missing");
    let point = tempfile::tempdir().unwrap();
    for args in [&["mount", &missing, point.path().to_str().unwrap()][..], &["stats", &missing], &["doctor", &missing]]
    {
        let output = forebay(args).output().unwrap();
        let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        // Some messages have several parts, which their line feeds part.
        assert!(plain(&said) && said.contains(shown.trim_end_matches("\\nb")), "{args:?}: {said}");
    }
    if mounts::possible() {
        let point = MountPoint::new().unwrap();
        let (said, says) = std::io::pipe().unwrap();
        let mut command = forebay(&["mount", odd, point.path().to_str().unwrap()]);
        command.stdout(says);
        let _running = Running::start(command).unwrap();
        let mut line = String::new();
        BufReader::new(said).read_line(&mut line).unwrap();
        assert_eq!(line, format!("ready: {shown} at {}\n", point.path().display()));
    }
}

#[test]
fn a_mount_over_it_reads_the_same() {
    if !mounts::possible() {
        return;
    }
    let odd = OddTree::new(11).unwrap();
    let serving = Serving::of(&odd.root());
    let mounted = Served::start(forebay(&["mount", &serving.url, "--memory", "64MiB"])).unwrap();
    let (mut there, mut here) = (Vec::new(), Vec::new());
    shown(&odd.root(), Path::new(""), &mut there);
    // The source refuses links that lead out of it, so they are not there. A folder that contains a
    // link to itself is not walked into.
    let escapes = |path: &Path| odd.escapes.iter().any(|escape| path.starts_with(escape));
    there.retain(|(path, _)| !escapes(path) && !path.ends_with("up-two"));
    walk(mounted.point(), Path::new(""), &mut here);
    let names = |all: &[(PathBuf, Option<Vec<u8>>)]| {
        all.iter().map(|(path, bytes)| (path.clone(), bytes.is_some())).collect::<Vec<_>>()
    };
    here.retain(|(path, _)| there.iter().any(|(known, _)| known == path) || !through_link(&odd, path));
    assert_eq!(names(&here), names(&there));
    for ((path, here), (_, there)) in here.iter().zip(&there) {
        assert!(here == there, "{}", path.display());
    }
    let stats = serving.get(".well-known/forebay/stats", &[]);
    let stats: serde_json::Value = serde_json::from_slice(&stats).unwrap();
    assert!(stats["fetched_bytes"].as_u64() > Some(0), "{stats}");
}

/// Whether a path comes through a link to a folder.
fn through_link(odd: &OddTree, path: &Path) -> bool {
    odd.links.iter().any(|link| path.starts_with(link) && path != link)
}

/// Everything below a folder without links.
fn walk(folder: &Path, below: &Path, names: &mut Vec<(PathBuf, Option<Vec<u8>>)>) {
    let mut entries: Vec<_> = fs::read_dir(folder.join(below)).expect("readable").map(|entry| entry.unwrap()).collect();
    entries.sort_by_key(|entry| entry.file_name());
    for entry in entries {
        let path = below.join(entry.file_name());
        let about = entry.metadata().expect("looked at");
        if about.is_dir() {
            names.push((path.clone(), None));
            walk(folder, &path, names);
        } else if about.len() < 100 << 20 {
            names.push((path.clone(), Some(fs::read(folder.join(&path)).expect("readable"))));
        }
    }
}

#[test]
fn a_change_below_reaches_the_mount_whole() {
    if !mounts::possible() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, content(1, 3_000_000)).unwrap();
    let args = ["serve", folder.path().to_str().unwrap(), "--memory", "64MiB", "--ttl", "0"];
    let serving = Serving::start(forebay(&args));
    let mounted = Served::start(forebay(&["mount", &serving.url, "--ttl", "0"])).unwrap();
    for version in 1..4 {
        fs::write(&file, content(version, 3_000_000)).unwrap();
        assert!(fs::read(mounted.point().join("file")).unwrap() == content(version, 3_000_000), "version {version}");
    }
}

#[test]
fn what_makes_no_sense_is_refused_in_a_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    fs::write(folder.path().join("short"), "short").unwrap();
    let short = folder.path().join("short");
    let busy = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let busy = busy.local_addr().unwrap().to_string();
    for (args, said) in [
        (vec!["serve"], "a source is needed"),
        (vec!["serve", "/no/such/folder"], "/no/such/folder"),
        (vec!["serve", path, "--listen", "0.0.0.0:0"], "token"),
        (vec!["serve", path, "--listen", &busy], "in use"),
        (vec!["serve", path, "--listen", "nowhere"], "--listen"),
        (vec!["serve", path, "--host-name", "data.example:80"], "no port"),
        (vec!["serve", path, "--token-file", "/no/such/file"], "/no/such/file"),
        (vec!["serve", path, "--token-file", short.to_str().unwrap()], "at least 16"),
        (vec!["serve", path, "--tls-cert", path], "--tls-key"),
        (vec!["serve", path, "--tls-cert", path, "--tls-key", path], "PEM"),
        (vec!["serve", path, path], "need a name each"),
        (vec!["serve", path, "--memory", "1MiB"], "too little memory"),
        (vec!["serve", path, "--labels", "all"], "hits"),
    ] {
        let output = forebay(&args).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {error}");
        assert!(error.contains(said) && error.lines().count() == 1, "{args:?}: {error}");
    }
}
