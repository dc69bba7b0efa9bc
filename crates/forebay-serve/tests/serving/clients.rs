//! Clients that are slow, silent, gone, or many.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use forebay_testkit::trees::content;

use crate::{ask, eventually, forgetful, parse, serve};
use forebay_serve::{Limits, Options, Server};

fn limited(limits: Limits) -> Options {
    Options { limits, ..forgetful() }
}

/// Waits until the server closes; the limit is for a server that never does.
fn closed(stream: &mut TcpStream) -> Vec<u8> {
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut rest = Vec::new();
    let ended = stream.read_to_end(&mut rest);
    let reset = ended.as_ref().is_err_and(|error| error.kind() == std::io::ErrorKind::ConnectionReset);
    assert!(ended.is_ok() || reset, "{ended:?}");
    rest
}

fn connect(server: &Server, bytes: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.write_all(bytes).unwrap();
    stream
}

#[test]
fn who_does_not_finish_asking_is_given_up() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "bytes").unwrap();
    let (request, idle) = (Duration::from_millis(300), Duration::from_millis(600));
    let server = serve(folder.path(), limited(Limits { request, idle, ..Limits::default() }));
    let begun = Instant::now();
    let mut silent = connect(&server, b"");
    let mut slow = connect(&server, b"GET /file HTT");
    let mut idle_after_one = connect(&server, b"GET /file HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let mut slow_after_one = connect(&server, b"GET /file HTTP/1.1\r\nHost: localhost\r\n\r\nGET /fi");
    assert!(closed(&mut silent).is_empty());
    closed(&mut slow);
    assert!(begun.elapsed() >= request, "not before their time");
    assert_eq!(parse(&closed(&mut idle_after_one)).text(), "bytes");
    assert!(parse(&closed(&mut slow_after_one)).text().starts_with("bytes"));
    assert!(begun.elapsed() >= idle);
    eventually("nobody is connected", || server.connections() == 0);
}

#[test]
fn who_takes_nothing_is_given_up_and_holds_up_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = content(1, 64 << 20);
    fs::write(folder.path().join("file"), &bytes).unwrap();
    let server = serve(folder.path(), limited(Limits { stall: Duration::from_secs(2), ..Limits::default() }));
    let mut stalled: Vec<TcpStream> = (0..8)
        .map(|_| connect(&server, b"GET /file HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"))
        .collect();
    // All of them have begun, and none goes on.
    for stream in &mut stalled {
        stream.read_exact(&mut [0; 1000]).unwrap();
    }
    for part in 0..4 {
        let first = part * 10_000_000;
        let answer = ask(&server, "GET /file", &format!("Range: bytes={first}-{}\r\n", first + 4_999_999));
        assert!(answer.status == 206 && answer.body == bytes[first..first + 5_000_000]);
    }
    eventually("they are given up", || server.connections() == 0);
    for mut stream in stalled {
        assert!(closed(&mut stream).len() < bytes.len());
    }
}

#[test]
fn who_is_gone_costs_nothing_lasting() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = content(1, 32 << 20);
    fs::write(folder.path().join("file"), &bytes).unwrap();
    let server = serve(folder.path(), forgetful());
    for round in 0..200 {
        let mut stream = connect(&server, b"GET /file HTTP/1.1\r\nHost: localhost\r\n\r\n");
        if round % 3 == 0 {
            stream.read_exact(&mut [0; 5000]).unwrap();
        }
    }
    eventually("nobody is connected", || server.connections() == 0);
    assert!(ask(&server, "GET /file", "").body == bytes);
}

#[test]
fn more_than_there_are_places_for_wait() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = content(1, 64 << 20);
    fs::write(folder.path().join("file"), "bytes").unwrap();
    fs::write(folder.path().join("large"), &bytes).unwrap();
    let server = serve(folder.path(), limited(Limits { connections: 2, ..Limits::default() }));
    let large = b"GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let mut held = [connect(&server, large), connect(&server, large)];
    let mut heads = held.each_mut().map(|stream| {
        let mut head = vec![0; 1000];
        stream.read_exact(&mut head).unwrap();
        head
    });
    let mut third = connect(&server, b"GET /file HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    third.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    assert!(third.read(&mut [0; 1]).is_err(), "no place, no answer");
    for (stream, head) in held.iter_mut().zip(&mut heads) {
        head.extend(closed(stream));
        assert!(parse(head).body == bytes, "what was under way is finished");
    }
    assert_eq!(parse(&closed(&mut third)).text(), "bytes");
}

/// Clients that take their answers drop by drop do not keep all others out.
#[test]
fn slow_clients_make_room_for_others() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "bytes").unwrap();
    fs::write(folder.path().join("large"), content(1, 64 << 20)).unwrap();
    let limits = Limits { connections: 2, dawdle: Duration::from_millis(500), ..Limits::default() };
    let server = serve(folder.path(), limited(limits));
    let large = b"GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let slow = [connect(&server, large), connect(&server, large)];
    eventually("both have their places", || server.connections() == 2);
    let over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        for mut stream in slow {
            let over = &over;
            // A byte now and then, so that the client never takes nothing for long.
            scope.spawn(move || {
                while !over.load(std::sync::atomic::Ordering::SeqCst) && stream.read(&mut [0; 1]).is_ok() {
                    std::thread::sleep(Duration::from_millis(50));
                }
            });
        }
        let mut third = connect(&server, b"GET /file HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        third.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let mut answer = Vec::new();
        let ended = third.read_to_end(&mut answer);
        over.store(true, std::sync::atomic::Ordering::SeqCst);
        assert!(ended.is_ok(), "{ended:?}");
        assert_eq!(parse(&answer).text(), "bytes");
    });
}

/// A body that does not come is not waited for, be it announced whole or in chunks.
#[test]
fn a_body_that_does_not_come_is_given_up() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "bytes").unwrap();
    let limits = Limits { request: Duration::from_millis(300), ..Limits::default() };
    let server = serve(folder.path(), limited(limits));
    for (line, headers) in [
        ("PROPFIND /", "Content-Length: 100\r\n\r\n<pro"),
        ("PROPFIND /", "Transfer-Encoding: chunked\r\n\r\n5\r\n<prop\r\n"),
        ("POST /.well-known/forebay/hint", "Content-Length: 100\r\n\r\n{\"pa"),
    ] {
        let request = format!("{line} HTTP/1.1\r\nHost: localhost\r\n{headers}");
        let mut late = connect(&server, request.as_bytes());
        let answer = closed(&mut late);
        assert!(answer.starts_with(b"HTTP/1.1 408"), "{line}: {}", String::from_utf8_lossy(&answer));
    }
    eventually("nobody is connected", || server.connections() == 0);
}

/// Connections that say nothing are young for a while when others wait, and then go.
#[test]
fn silent_connections_make_room_for_those_that_ask() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "bytes").unwrap();
    let (request, idle) = (Duration::from_secs(600), Duration::from_secs(600));
    let young = Duration::from_millis(1);
    let server = serve(folder.path(), limited(Limits { connections: 2, young, request, idle, ..Limits::default() }));
    let silent: Vec<TcpStream> = (0..200).map(|_| connect(&server, b"GET")).collect();
    let mut asks = connect(&server, b"GET /file HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    assert_eq!(parse(&closed(&mut asks)).text(), "bytes");
    drop(silent);
}

/// Clients that keep their connections leave room for others between two requests.
#[test]
fn idle_connections_make_room_for_those_that_wait() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "bytes").unwrap();
    let limits = Limits { connections: 4, idle: Duration::from_secs(600), ..Limits::default() };
    let server = serve(folder.path(), limited(limits));
    let request = b"GET /file HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let mut kept: Vec<TcpStream> = Vec::new();
    for _ in 0..20 {
        let mut stream = connect(&server, request);
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let mut answer = Vec::new();
        while !answer.ends_with(b"bytes") {
            let mut part = [0; 1000];
            let len = stream.read(&mut part).expect("an answer comes");
            assert!(len > 0, "the answer was cut off: {}", String::from_utf8_lossy(&answer));
            answer.extend_from_slice(&part[..len]);
        }
        kept.push(stream);
    }
    eventually("the others were ended", || server.connections() <= 4);
}

#[test]
fn many_at_once_read_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let files: Vec<Vec<u8>> = (0..4).map(|number| content(number, 5_000_011)).collect();
    for (number, bytes) in files.iter().enumerate() {
        fs::write(folder.path().join(number.to_string()), bytes).unwrap();
    }
    let server = serve(folder.path(), forgetful());
    std::thread::scope(|scope| {
        for client in 0..12 {
            let (server, bytes) = (&server, &files[client % 4]);
            scope.spawn(move || {
                for round in 0..3 {
                    let first = (client * 7919 + round * 104_729) % 1_000_000;
                    let answer = ask(server, &format!("GET /{}", client % 4), &format!("Range: bytes={first}-\r\n"));
                    assert!(answer.status == 206 && answer.body == bytes[first..]);
                }
            });
        }
    });
}

#[test]
fn what_is_too_large_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "bytes").unwrap();
    let server = serve(folder.path(), forgetful());
    let long = "x".repeat(100_000);
    assert!(matches!(ask(&server, &format!("GET /{long}"), "").status, 414 | 431));
    assert_eq!(ask(&server, "GET /file", &format!("X: {long}\r\n")).status, 431);
    assert_eq!(ask(&server, "GET /file", &"X: y\r\n".repeat(200)).status, 431);
    assert_eq!(ask(&server, "GET /file", "Content-Length: 3\r\n\r\nabc").status, 413);
    assert_eq!(ask(&server, "GET /file", "Transfer-Encoding: chunked\r\n\r\n0\r\n").status, 413);
    let body = "x".repeat(20_000);
    let headers = format!("Depth: 0\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    assert_eq!(ask(&server, "PROPFIND /", &headers).status, 413);
    assert_eq!(ask(&server, "PROPFIND /", "Depth: 0\r\nContent-Length: 4\r\n\r\n<x/>").status, 207);
    for method in ["POST", "PUT", "DELETE", "MKCOL", "COPY", "MOVE", "LOCK", "PROPPATCH", "TRACE", "BREW"] {
        let answer = ask(&server, &format!("{method} /file"), "");
        assert_eq!((answer.status, answer.header("allow")), (405, Some("GET, HEAD, OPTIONS, PROPFIND")), "{method}");
    }
    assert_eq!(ask(&server, "PROPFIND /", "Depth: 2\r\n").status, 400);
    for target in ["*", "/", "/file"] {
        let options = ask(&server, &format!("OPTIONS {target}"), "");
        assert_eq!((options.status, options.header("dav")), (200, Some("1")), "{target}");
    }
    assert_eq!(fs::read(folder.path().join("file")).unwrap(), b"bytes");
}

#[test]
fn it_ends_in_peace() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = content(1, 64 << 20);
    fs::write(folder.path().join("file"), &bytes).unwrap();
    let server = serve(folder.path(), limited(Limits { grace: Duration::from_secs(60), ..Limits::default() }));
    let (idle, address) = (connect(&server, b"HEAD /file HTTP/1.1\r\nHost: localhost\r\n\r\n"), server.address());
    let mut busy = connect(&server, b"GET /file HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let mut head = vec![0; 1000];
    busy.read_exact(&mut head).unwrap();
    let end = std::thread::spawn(move || server.stop());
    let rest = closed(&mut busy);
    assert!(parse(&[head, rest].concat()).body == bytes, "what was under way is finished");
    assert!(end.join().unwrap(), "and all of it within the time");
    drop(idle);
    assert!(TcpStream::connect(address).is_err(), "nobody listens any more");

    let server = serve(folder.path(), limited(Limits { grace: Duration::from_millis(100), ..Limits::default() }));
    let mut stalled = connect(&server, b"GET /file HTTP/1.1\r\nHost: localhost\r\n\r\n");
    stalled.read_exact(&mut [0; 1000]).unwrap();
    assert!(!server.stop(), "who takes nothing is not waited for");
}
