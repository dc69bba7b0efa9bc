//! Arbitrary bytes as requests: answers are well-formed, or the connection is closed, and the
//! server lives.

use std::fs;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use forebay_testkit::answers::well_formed;
use proptest::prelude::*;

use crate::{ask, forgetful, raw, serve};
use forebay_serve::Server;

/// Panics on threads of servers.
static PANICS: AtomicUsize = AtomicUsize::new(0);

/// One server for all cases, over a folder of a few names.
fn server() -> &'static (Server, tempfile::TempDir) {
    static SERVER: OnceLock<(Server, tempfile::TempDir)> = OnceLock::new();
    SERVER.get_or_init(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            // A connection whose task panics is closed, which no test would notice by itself.
            if std::thread::current().name().is_some_and(|name| name.starts_with("forebay-serve")) {
                PANICS.fetch_add(1, Ordering::SeqCst);
            }
            before(panic);
        }));
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("a")).unwrap();
        fs::write(folder.path().join("a/b"), vec![7; 10_000]).unwrap();
        (serve(folder.path(), forgetful()), folder)
    })
}

/// Pieces of requests, so that cases come further than to the first line.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let known: Vec<&'static str> = vec![
        "GET ",
        "HEAD ",
        "PROPFIND ",
        "OPTIONS ",
        "POST ",
        "/",
        "/a/",
        "/a/b",
        "*",
        "/.well-known/forebay/",
        "metrics",
        "stats",
        "explain",
        "hint",
        "?list=x&mode=replace",
        "{\"path\":\"a/b\"}\n",
        "http://x/a/b",
        "%2e%2e",
        "%ff",
        "%",
        " HTTP/1.1\r\n",
        " HTTP/1.0\r\n",
        "Host: x\r\n",
        "Host: localhost\r\n",
        "Origin: http://localhost\r\n",
        "Accept: application/openmetrics-text\r\n",
        "Connection: close\r\n",
        "Range: bytes=",
        "0-",
        "1-2,3-4",
        "-5",
        "9999999999999999999999",
        "\r\n",
        "\r\n\r\n",
        "If-Match: *\r\n",
        "If-Range: \"x\"\r\n",
        "If-None-Match: W/\"a\", \"b\"\r\n",
        "If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT\r\n",
        "Depth: 1\r\n",
        "Depth: infinity\r\n",
        "Content-Length: 5\r\n",
        "Transfer-Encoding: chunked\r\n",
        "Forebay-Demand: bytes=0-1\r\n",
        "Forebay-Hits: none\r\n",
        "Expect: 100-continue\r\n",
        "Authorization: Basic Og==\r\n",
        "Upgrade: h2c\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "5\r\nabcde\r\n0\r\n\r\n",
    ];
    prop_oneof![
        6 => prop::sample::select(known).prop_map(|text| text.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..8),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn no_bytes_break_it(pieces in prop::collection::vec(piece(), 0..14), ends in any::<bool>()) {
        let mut request = pieces.concat();
        if ends {
            request.extend_from_slice(b"\r\n\r\n");
        }
        // The client's side ends here, so that the server waits for no more.
        let answer = half_closed(&request);
        prop_assert_eq!(PANICS.load(Ordering::SeqCst), 0);
        prop_assert!(well_formed(&answer), "{:?}\n{}", String::from_utf8_lossy(&request), String::from_utf8_lossy(&answer));
    }
}

/// The answer to bytes after which the client closes its side.
fn half_closed(request: &[u8]) -> Vec<u8> {
    use std::io::{Read, Write};
    let mut stream = std::net::TcpStream::connect(server().0.address()).unwrap();
    stream.set_read_timeout(Some(std::time::Duration::from_secs(60))).unwrap();
    let _ = stream.write_all(request);
    let _ = stream.shutdown(std::net::Shutdown::Write);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    answer
}

#[test]
fn senseless_requests_get_one_line() {
    let server = &server().0;
    for (line, status) in
        [("GET /%zz", 400), ("GET /a/../b", 400), ("GET /a%00", 400), ("GET //a", 404), ("GET /a/b/", 404)]
    {
        let answer = ask(server, line, "");
        assert_eq!(answer.status, status, "{line}");
        assert_eq!(answer.text().lines().count(), 1, "{}", answer.text());
    }
    assert!(raw(server.address(), b"\x16\x03\x01 hello\r\n\r\n").starts_with(b"HTTP/1.1 400"));
    // RFC 9112 §3.2: one host, but for clients of HTTP/1.0.
    for (version, hosts, status) in [
        ("1.1", "", "400"),
        ("1.1", "Host: localhost\r\nHost: localhost\r\n", "400"),
        ("1.1", "Host: localhost\r\n", "404"),
        ("1.0", "", "404"),
    ] {
        let answer =
            raw(server.address(), format!("GET /none HTTP/{version}\r\nConnection: close\r\n{hosts}\r\n").as_bytes());
        let line = String::from_utf8_lossy(&answer[..answer.len().min(12)]).into_owned();
        assert_eq!(line, format!("HTTP/{version} {status}"), "{hosts:?}");
    }
}
