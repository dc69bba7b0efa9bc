//! Real clients of a real server on the loopback: they read the folder's bytes, in every case.

mod bytes;
mod changes;
mod clients;
mod control;
mod hints;
mod names;
mod proxy;
mod requests;
mod security;
mod store;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use forebay_core::{DeviceCost, DeviceId};
use forebay_live::engine::{Config, Engine};
use forebay_live::tree::{Branch, Tree};
use forebay_serve::{Options, Server};
use forebay_source::Source;
use forebay_source::local::LocalSource;

/// Names are asked for anew each time.
fn forgetful() -> Options {
    Options { ttl: Duration::ZERO, ..Options::default() }
}

/// A tree of sources by name; a single one without a name is the root.
fn tree(sources: Vec<(Option<&str>, Arc<dyn Source>)>) -> Arc<Tree> {
    let costs = sources.iter().map(|_| DeviceCost::flat(100_000, 1 << 30, 8)).collect();
    let config = Config::new(64 << 20, "competitive".parse().expect("a policy that exists"));
    let engine = Engine::start(config, costs).unwrap();
    let branch = |(number, (name, source)): (usize, (Option<&str>, Arc<dyn Source>))| Branch {
        name: name.map(Into::into),
        source,
        device: DeviceId(number as u16),
    };
    Arc::new(Tree::new(engine, sources.into_iter().enumerate().map(branch).collect()).unwrap())
}

fn local(folder: &Path) -> Arc<dyn Source> {
    Arc::new(LocalSource::new(folder).unwrap())
}

/// A server of a folder, at a free port of the loopback.
fn serve(folder: &Path, options: Options) -> Server {
    Server::start(tree(vec![(None, local(folder))]), ([127, 0, 0, 1], 0).into(), options).unwrap()
}

/// An answer: status, head in small letters, body.
struct Answer {
    status: u16,
    head: String,
    body: Vec<u8>,
}

impl Answer {
    /// The value of a header, the name in small letters.
    fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// Asks curl. Its answer's head keeps the case of values that are tags.
fn curl(args: &[&str]) -> Answer {
    let output =
        Command::new("curl").args(["--silent", "--show-error", "--include", "--path-as-is"]).args(args).output();
    let output = output.expect("curl is there");
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    parse(&output.stdout)
}

/// Takes an answer apart.
fn parse(bytes: &[u8]) -> Answer {
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n").expect("a head") + 4;
    let head = String::from_utf8(bytes[..end].to_vec()).expect("text");
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    let lines = head.lines().map(|line| match line.split_once(':') {
        Some((name, value)) => format!("{}:{value}\n", name.to_lowercase()),
        None => format!("{line}\n"),
    });
    Answer { status, head: lines.collect(), body: bytes[end..].to_vec() }
}

/// Sends bytes as they are and reads until the server closes; the limit is for a server that never
/// does.
fn raw(address: SocketAddr, request: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    // The server may have refused the request already, and closed.
    let _ = stream.write_all(request);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    answer
}

/// A request of one line and a host that ends the connection, and these headers.
fn ask(server: &Server, line: &str, headers: &str) -> Answer {
    let request = format!("{line} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}\r\n");
    parse(&raw(server.address(), request.as_bytes()))
}

/// Waits until `holds` is true, at any speed; the limit is for conditions that never hold.
fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(60), "never: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
