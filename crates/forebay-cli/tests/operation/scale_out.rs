//! Several `forebay serve` behind a stock proxy that hashes by path, by the very configurations
//! that the documentation names.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use forebay_testkit::mounts;
use forebay_testkit::need;
use forebay_testkit::odd_web::{OddWeb, Oddity};
use forebay_testkit::process::Running;
use forebay_testkit::served::Served;
use forebay_testkit::server::Server;
use forebay_testkit::tools::python_program;
use forebay_testkit::trees::content;

use crate::{eventually, forebay, line};

const FILES: u64 = 60;
const SIZE: usize = 700_001;
/// That read while a server is lost.
const READERS: usize = 4;

/// A server over the origin, and its address.
struct Level {
    running: Running,
    address: String,
}

impl Level {
    fn start(origin: &OddWeb) -> Level {
        let (output, says) = std::io::pipe().expect("a pipe");
        let mut command = forebay(&["serve", &origin.url(), "--listen", "127.0.0.1:0", "--memory", "128MiB"]);
        // Files of the origin never change, so that each question for bytes is for new ones.
        command.args(["--ttl", "1h", "--policy", "none"]).stdout(says);
        let running = Running::start(command).expect("it starts");
        let ready = line(output);
        let address = ready.trim_end().trim_end_matches('/').rsplit("//").next().expect("an address").to_owned();
        Level { running, address }
    }
}

/// A configuration of `contrib/` with these servers. The second text of `listens`, where the proxy
/// listens, stands for the first.
fn shipped(name: &str, listens: [&str; 2], levels: &[Level]) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contrib").join(name);
    let mut text = fs::read_to_string(file).expect("it is there");
    let servers =
        levels.iter().enumerate().map(|(number, level)| (format!("10.0.0.{}:7680", number + 1), &*level.address));
    for (from, to) in servers.chain([(listens[0].to_owned(), listens[1])]) {
        assert_eq!(text.matches(&from).count(), 1, "{from} in {name}");
        text = text.replace(&from, to);
    }
    text
}

fn haproxy(program: &Path, levels: &[Level]) -> Server {
    let start = Server::start("haproxy", |place| {
        let file = place.folder.join("haproxy.cfg");
        fs::write(&file, shipped("haproxy/haproxy.cfg", ["bind :7600", &format!("bind {}", place.address)], levels))?;
        let mut command = Command::new(program);
        command.arg("-db").arg("-f").arg(&file);
        Ok(command)
    });
    start.expect("haproxy starts")
}

fn envoy(program: &Path, levels: &[Level]) -> Server {
    let start = Server::start("envoy", |place| {
        let file = place.folder.join("envoy.yaml");
        let listens = [
            "address: 0.0.0.0, port_value: 7600",
            &format!("address: 127.0.0.1, port_value: {}", place.address.port()),
        ];
        // It has a server's port apart from its address.
        let mut text = shipped("envoy/envoy.yaml", listens, &[]);
        for (number, level) in levels.iter().enumerate() {
            let (host, port) = level.address.split_once(':').expect("an address of version 4");
            let (from, to) = (
                format!("address: 10.0.0.{}, port_value: 7680", number + 1),
                format!("address: {host}, port_value: {port}"),
            );
            assert_eq!(text.matches(&from).count(), 1, "{from}");
            text = text.replace(&from, &to);
        }
        fs::write(&file, text)?;
        let mut command = python_program(program);
        // Others may run beside it.
        command.arg("-c").arg(&file).args(["--disable-hot-restart", "--concurrency", "2", "--log-level", "error"]);
        Ok(command)
    });
    start.expect("envoy starts")
}

fn nginx(program: &Path, levels: &[Level]) -> Server {
    let start = Server::start("nginx", |place| {
        let part = shipped("nginx/forebay.conf", ["listen 7600", &format!("listen {}", place.address)], levels);
        let folder = place.folder.display();
        let kinds = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
        let temporary: String = kinds.map(|kind| format!("{kind}_temp_path \"{folder}/{kind}\"; ")).concat();
        let user = if rustix::process::geteuid().is_root() { "user root;" } else { "" };
        let whole = format!(
            "daemon off; master_process off; {user} pid \"{folder}/pid\"; events {{ worker_connections 512; }}
             http {{ access_log off; {temporary} {part} }}"
        );
        let file = place.folder.join("nginx.conf");
        fs::write(&file, whole)?;
        let mut command = Command::new(program);
        command.arg("-p").arg(place.folder).arg("-c").arg(&file).args(["-e", "stderr"]);
        Ok(command)
    });
    start.expect("nginx starts")
}

fn name(file: u64) -> String {
    format!("file {file}.bin")
}

/// Reads every file through the mount.
fn read_all(mount: &Path) {
    for file in 0..FILES {
        assert!(fs::read(mount.join(name(file))).expect("readable") == content(file, SIZE), "file {file}");
    }
}

/// Bytes that the origin was asked for, by file, since its account was cleared.
fn sent(origin: &OddWeb) -> BTreeMap<u64, usize> {
    let mut sent = BTreeMap::new();
    for request in origin.requests().all().iter().filter(|request| request.method == "GET") {
        let of = (0..FILES).find(|&file| request.file() == name(file).as_bytes());
        let (Some(file), Some(range)) = (of, request.header("range")) else { continue };
        let (first, last) = range.trim_start_matches("bytes=").split_once('-').expect("a range");
        let (first, last): (usize, usize) = (first.parse().expect("a number"), last.parse().unwrap_or(SIZE - 1));
        *sent.entry(file).or_default() += last.min(SIZE - 1) + 1 - first;
    }
    sent
}

/// A mount of the proxy whose memory holds few of the files.
fn mount(proxy: &Server) -> Served {
    let mut command =
        forebay(&["mount", &proxy.url(), "--memory", "24MiB", "--kernel-cache", "off", "--policy", "none"]);
    command.args(["--patience", "20s"]);
    Served::start(command).expect("it mounts")
}

#[test]
fn nginx_keeps_one_copy_and_a_lost_server_moves_its_third() {
    let program = need!("nginx");
    one_copy_and_a_third_moves(0, |levels| nginx(&program, levels));
}

#[test]
fn haproxy_keeps_one_copy_and_a_lost_server_moves_its_third() {
    let program = need!("haproxy");
    // Until it counts a server as lost, it may pick another one than it does later. Each reader has
    // one request under way in that moment.
    one_copy_and_a_third_moves(READERS, |levels| haproxy(&program, levels));
}

#[test]
fn envoy_keeps_one_copy_and_a_lost_server_moves_its_third() {
    let program = need!("envoy");
    // As with HAProxy.
    one_copy_and_a_third_moves(READERS, |levels| envoy(&program, levels));
}

/// At most so many files may be at two servers once one is lost.
fn one_copy_and_a_third_moves(twice: usize, proxy: impl FnOnce(&[Level]) -> Server) {
    if !mounts::possible() {
        return;
    }
    let origin = OddWeb::start([("other", "x")], Oddity::Plain).expect("a server");
    (0..FILES).for_each(|file| origin.put(name(file), &content(file, SIZE)));
    let mut levels: Vec<Level> = (0..3).map(|_| Level::start(&origin)).collect();
    let proxy = proxy(&levels);
    // The servers have measured the origin, which is over now. The mount measures the group.
    origin.requests().clear();
    let mounted = mount(&proxy);
    // Each byte leaves the origin once, however often it is read.
    read_all(mounted.point());
    read_all(mounted.point());
    let first = sent(&origin);
    assert!(first.len() == FILES as usize && first.values().all(|&bytes| bytes == SIZE), "{first:?}");
    // A server dies while readers read; none of them sees it.
    origin.requests().clear();
    let (over, rounds) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for reader in 0..READERS {
            let (over, rounds, root) = (&over, &rounds, mounted.point());
            scope.spawn(move || {
                let _stop = StopOthers(over);
                for file in (0..FILES).cycle().skip(reader * 15) {
                    if over.load(Ordering::SeqCst) {
                        return;
                    }
                    let bytes = fs::read(root.join(name(file))).unwrap_or_else(|error| panic!("file {file}: {error}"));
                    assert!(bytes == content(file, SIZE), "file {file}");
                    rounds.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        let more = |files: usize| {
            let before = rounds.load(Ordering::SeqCst);
            eventually("readers that read", || {
                over.load(Ordering::SeqCst) || rounds.load(Ordering::SeqCst) >= before + files
            });
        };
        more(30);
        drop(levels.remove(1));
        more(4 * FILES as usize);
        over.store(true, Ordering::SeqCst);
    });
    let moved = sent(&origin);
    assert!((8..=36).contains(&moved.len()), "about a third: {} of {FILES}", moved.len());
    // A file that was being read when the server died may have come from there in part.
    let parts = moved.values().filter(|&&bytes| bytes < SIZE).count();
    assert!(parts <= READERS && moved.values().all(|&bytes| bytes <= 2 * SIZE), "{moved:?}");
    let copies = moved.values().filter(|&&bytes| bytes > SIZE).count();
    assert!(copies <= twice, "one copy again: {moved:?}");
    assert!(levels.iter().all(|level| level.running.ended().expect("ours").is_none()));
}

/// Ends the other readers if one fails.
struct StopOthers<'a>(&'a AtomicBool);

impl Drop for StopOthers<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}
