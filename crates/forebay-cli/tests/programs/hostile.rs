//! `forebay serve` under clients that mean no good: its memory stays bounded, and others are
//! served.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use forebay_testkit::trees::content;

use crate::identity::Serve;
use crate::names::peak;
use crate::text;

/// The budget of [`Serve`], which its connections are part of, and what a process may have beside
/// it, MiB.
const MOST: f64 = 32.0 + 16.0;

/// Connections at once: more than a server has places for.
const MANY: usize = 50;

/// The length of the file that is served.
const LEN: usize = 1 << 20;

/// A server over one file.
struct Scene {
    serve: Serve,
    address: SocketAddr,
    _source: tempfile::TempDir,
}

impl Scene {
    fn new() -> Scene {
        let source = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(source.path().join("root")).expect("ours");
        std::fs::write(source.path().join("root/file"), content(1, LEN)).expect("ours");
        std::fs::write(source.path().join("secret"), "must not be reached").expect("ours");
        let serve = Serve::start(&[text(&source.path().join("root")), "--connections", "16"]);
        let address = serve.url.trim_start_matches("http://").trim_end_matches('/').parse().expect("an address");
        Scene { serve, address, _source: source }
    }

    fn connect(&self) -> std::io::Result<TcpStream> {
        let stream = TcpStream::connect_timeout(&self.address, Duration::from_secs(10))?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        stream.set_write_timeout(Some(Duration::from_secs(60)))?;
        Ok(stream)
    }

    /// The answer to a request, or its beginning.
    fn ask(&self, request: &[u8]) -> Vec<u8> {
        let mut stream = self.connect().expect("it listens");
        // It may have heard enough before the end.
        let _ = stream.write_all(request);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        answer
    }

    /// Another client gets the file.
    fn others_are_served(&self, during: &str) {
        let answer = self.ask(b"GET /file HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        assert!(answer.ends_with(&content(1, LEN)), "{during}: {} bytes", answer.len());
        let most = peak(self.serve.id());
        assert!(most <= MOST, "{during}: {most:.1} MiB");
    }
}

/// More connections than there are places, each of a kind of its own.
#[test]
fn connections_without_number() {
    let scene = Scene::new();
    let beginnings: [&[u8]; 9] = [
        b"",
        b"GET",
        b"\r\n",
        b"\x16\x03\x01\x02\x00",
        b"GET / HTTP/1.1\r\n",
        b"HEAD /file HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /file HTTP/1.1\r\nHost: localhost\r\nX: ",
        b"GET /file HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"PROPFIND / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n<",
    ];
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let most = limit.current.map_or(MANY, |most| (most as usize / 2).min(MANY));
    let mut held = Vec::new();
    for number in 0..most {
        let mut stream = scene.connect().expect("it listens");
        let _ = stream.write_all(beginnings[number % beginnings.len()]);
        held.push(stream);
    }
    scene.others_are_served("connections without number");
    drop(held);
    scene.others_are_served("after they are gone");
}

#[test]
fn heads_without_end() {
    let scene = Scene::new();
    let line = |name: &str, len: usize| format!("{name}: {}\r\n", "x".repeat(len));
    let start = "GET /file HTTP/1.1\r\nHost: localhost\r\n";
    for (what, request) in [
        ("one long line", format!("{start}{}\r\n", line("X", 8 << 20))),
        ("many lines", format!("{start}{}\r\n", line("X", 1).repeat(100_000))),
        ("a long address", format!("GET /{} HTTP/1.1\r\nHost: localhost\r\n\r\n", "a/".repeat(2 << 20))),
        ("a long method", format!("{} /file HTTP/1.1\r\n\r\n", "A".repeat(4 << 20))),
        ("no end", format!("{start}{}", line("Cookie", 100).repeat(50_000))),
        ("empty lines", "\r\n".repeat(1 << 20)),
    ] {
        let answer = scene.ask(request.as_bytes());
        let refused = answer.is_empty() || answer.starts_with(b"HTTP/1.1 4");
        assert!(refused, "{what}: {}", String::from_utf8_lossy(&answer[..answer.len().min(200)]));
        scene.others_are_served(what);
    }
}

/// Ranges that overlap a thousand times cost no more than the file.
#[test]
fn ranges_upon_ranges() {
    let scene = Scene::new();
    for ranges in [
        "0-".to_owned() + &",0-".repeat(1000),
        (0..1000).map(|n| format!("{n}-{}", LEN - 1)).collect::<Vec<_>>().join(","),
        (0..30).map(|_| "0-").collect::<Vec<_>>().join(","),
        (0..1000).map(|n| format!("{n}-{n}")).collect::<Vec<_>>().join(", "),
        "-18446744073709551615,0-18446744073709551615,-0".to_owned(),
    ] {
        let head =
            format!("GET /file HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nRange: bytes={ranges}\r\n\r\n");
        let answer = scene.ask(head.as_bytes());
        assert!(answer.len() < LEN + (64 << 10), "{} bytes for {}", answer.len(), &ranges[..ranges.len().min(60)]);
        scene.others_are_served("ranges");
    }
}

/// No spelling of a way out leads out.
#[test]
fn ways_out() {
    let scene = Scene::new();
    let dots =
        ["..", "%2e%2e", "%2E.", ".%2e", "%252e%252e", "%c0%ae%c0%ae", "..%00", "....", "..;", "\u{ff0e}\u{ff0e}"];
    let slashes = ["/", "%2f", "%5c", "\\", "//", "%252f", "%c0%af"];
    for dot in dots {
        for slash in slashes {
            for target in [
                format!("/{dot}{slash}secret"),
                format!("/file{slash}{dot}{slash}{dot}{slash}secret"),
                format!("http://localhost/{dot}{slash}secret"),
            ] {
                for method in ["GET", "PROPFIND"] {
                    let head = format!("{method} {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
                    let answer = scene.ask(head.as_bytes());
                    let refused = answer.is_empty() || answer.starts_with(b"HTTP/1.1 4");
                    assert!(refused, "{method} {target}: {}", String::from_utf8_lossy(&answer));
                }
            }
        }
    }
    scene.others_are_served("ways out");
}
