//! Each fault does as described; and real S3 servers are the same behind the proxy.

use std::time::{Duration, Instant};

use super::*;
use crate::asking::ask;
use crate::bucket::Bucket;
use crate::moto::Moto;
use crate::need;
use crate::odd_web::{OddWeb, Oddity, Outcome};
use crate::s3::S3;
use crate::trees::content;

/// The length of the file `a.bin`, in bytes.
const LENGTH: usize = 100_001;
const LISTING: &str = "<IsTruncated>false</IsTruncated><ETag>\"1\"</ETag><Key>a</Key><ETag>\"2\"</ETag>";

struct Pair {
    // Dropped in this order: first the proxy, then the server.
    proxy: BreakingProxy,
    server: OddWeb,
}

impl Pair {
    fn new() -> Pair {
        let files = [("a.bin", content(5, LENGTH)), ("list", LISTING.into())];
        let server = OddWeb::start(files, Oddity::Plain).unwrap();
        Pair { proxy: BreakingProxy::start(server.address(), Fault::None).unwrap(), server }
    }

    fn ask(&self, method: &str, target: &str) -> io::Result<Answer> {
        ask(self.proxy.address(), method, target, &[])
    }

    /// The answer to GET of the file under `fault`.
    fn get(&self, fault: Fault) -> Answer {
        self.proxy.set(fault);
        self.ask("GET", "/a.bin").unwrap()
    }
}

#[test]
fn without_a_fault_an_answer_is_the_servers() {
    let pair = Pair::new();
    let mut client = Connection::new(pair.proxy.address()).unwrap();
    for (method, target, range) in [
        ("GET", "/a.bin", "bytes=5-99"),
        ("GET", "/a.bin", "bytes=100001-"),
        ("HEAD", "/a.bin", ""),
        ("GET", "/missing?x=%20", ""),
        ("PROPFIND", "/", ""),
    ] {
        let through = client.ask(method, target, &[Header::new("Range", range)]).unwrap();
        let mut direct = ask(pair.server.address(), method, target, &[Header::new("Range", range)]).unwrap();
        // The one header of a hop comes last from the proxy.
        let length = direct.headers.iter().position(|header| header.name == "Content-Length").unwrap();
        let length = direct.headers.remove(length);
        direct.headers.push(length);
        assert_eq!(through, direct, "{method} {target}");
    }
    assert_eq!(pair.proxy.requests().count("GET", "/a.bin"), 2);
    let (proxy, upstream) = (pair.proxy.address(), pair.server.address());
    drop(pair.server);
    assert_eq!(ask(proxy, "GET", "/a.bin", &[]).unwrap().code, 502);
    drop(pair.proxy);
    // Another test may have either port for a moment.
    let free = || [proxy, upstream].iter().all(|address| std::net::TcpListener::bind(address).is_ok());
    let begun = Instant::now();
    while !free() {
        assert!(begun.elapsed() < Duration::from_secs(20), "{proxy} and {upstream} are still in use");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn refusals_have_the_code_and_the_name_of_s3() {
    let pair = Pair::new();
    for (fault, code, name) in [
        (Fault::SlowDown, 503, "SlowDown"),
        (Fault::TooManyRequests(7), 429, "TooManyRequests"),
        (Fault::InternalError, 500, "InternalError"),
        (Fault::ErrorInOk, 200, "InternalError"),
        (Fault::ExpiredToken(400), 400, "ExpiredToken"),
        (Fault::ExpiredToken(403), 403, "ExpiredToken"),
        (Fault::AccessDenied, 403, "AccessDenied"),
        (Fault::Skew, 403, "RequestTimeTooSkewed"),
        (Fault::OtherRegion, 301, "PermanentRedirect"),
        (Fault::OtherConstraint, 400, "IllegalLocationConstraintException"),
        (Fault::Archived, 403, "InvalidObjectState"),
        (Fault::NoSuchKey, 404, "NoSuchKey"),
    ] {
        let answer = pair.get(fault.clone());
        assert_eq!(answer.code, code);
        assert!(answer.text().contains(&format!("<Code>{name}</Code>")), "{fault:?}");
        let head = pair.ask("HEAD", "/a.bin").unwrap();
        assert_eq!(head.code, if fault == Fault::Archived { 200 } else { code }, "{fault:?}");
        let listing = pair.ask("GET", "/list?list-type=2").unwrap();
        let lists = matches!(fault, Fault::Archived | Fault::NoSuchKey);
        assert_eq!(listing.text() == LISTING, lists, "{fault:?}");
    }
    assert_eq!(pair.get(Fault::TooManyRequests(7)).header("retry-after"), Some("7"));
    assert_eq!(pair.get(Fault::OtherRegion).header("x-amz-bucket-region"), Some("eu-west-1"));
    assert_eq!(pair.get(Fault::Portal).text(), "<html>captive portal</html>");
}

#[test]
fn some_requests_break_and_others_do_not() {
    let pair = Pair::new();
    let codes = |fault| {
        pair.proxy.set(fault);
        [(); 4].map(|()| pair.ask("GET", "/a.bin").unwrap().code)
    };
    assert_eq!(codes(Fault::First(2, Box::new(Fault::SlowDown))), [503, 503, 200, 200]);
    assert_eq!(codes(Fault::EveryNth(2, Box::new(Fault::SlowDown))), [200, 503, 200, 503]);
    pair.proxy.set_for("a.bin", Fault::First(1, Box::new(Fault::Cut)));
    assert_eq!(pair.ask("HEAD", "/a.bin").unwrap().code, 200);
    assert!(pair.ask("GET", "/list").unwrap().whole, "another file");
    assert!(!pair.ask("GET", "/a.bin").unwrap().whole && pair.ask("GET", "/a.bin").unwrap().whole);
}

#[test]
fn silence_is_that_of_some_requests() {
    let pair = Pair::new();
    let asked = [("GET", "/a.bin", "x"), ("GET", "/a.bin", "Range"), ("HEAD", "/a.bin", "x"), ("PROPFIND", "/", "x")];
    for (which, silent) in [
        (Which::All, [true, true, true, true]),
        (Which::Ranges, [false, true, false, false]),
        (Which::Heads, [false, false, true, false]),
        (Which::Listings, [false, false, false, true]),
    ] {
        pair.proxy.set(Fault::Silent(which));
        for ((method, target, header), silent) in asked.into_iter().zip(silent) {
            let mut client = Connection::new(pair.proxy.address()).unwrap();
            client.set_patience(Duration::from_millis(if silent { 50 } else { 60_000 })).unwrap();
            let answer = client.ask(method, target, &[Header::new(header, "bytes=0-9")]);
            assert_eq!(answer.is_err(), silent, "{which:?} {method} {header}");
        }
    }
}

#[test]
fn bodies_and_times() {
    let (pair, bytes) = (Pair::new(), content(5, LENGTH));
    for fault in [Fault::Cut, Fault::Reset] {
        let answer = pair.get(fault);
        assert!(!answer.whole && bytes.starts_with(&answer.body) && answer.body.len() > LENGTH / 3);
    }
    pair.proxy.set(Fault::Closed);
    assert!(pair.ask("GET", "/a.bin").is_err());
    let short = pair.get(Fault::Short);
    assert!(short.whole && short.body == bytes[..LENGTH - 1]);
    let tags = pair.get(Fault::NoTags);
    assert!(tags.body == bytes && tags.header("etag").is_none());
    assert_eq!(pair.ask("GET", "/list").unwrap().text(), "<IsTruncated>false</IsTruncated><Key>a</Key>");
    pair.proxy.set(Fault::NoTruncated);
    assert!(LISTING.ends_with(&pair.ask("GET", "/list").unwrap().text()));
    pair.proxy.set(Fault::NoLength);
    assert_eq!(pair.ask("HEAD", "/a.bin").unwrap().header("content-length"), None);
    for fault in
        [Fault::Latency(Duration::from_millis(50)), Fault::Drip { bytes: LENGTH / 5, pause: Duration::from_millis(10) }]
    {
        let begun = Instant::now();
        assert!(pair.get(fault).body == bytes && begun.elapsed() >= Duration::from_millis(50));
    }
}

#[test]
fn every_fault_is_in_the_list_and_right_bytes_are_right() {
    let (pair, bytes, mut outcomes) = (Pair::new(), content(5, LENGTH), [0; 3]);
    for fault in Fault::every() {
        outcomes[fault.outcome() as usize] += 1;
        if fault.outcome() == Outcome::Right && !matches!(fault, Fault::First(..)) {
            assert!(pair.get(fault.clone()).body == bytes, "{fault:?}");
        }
    }
    assert!(outcomes.iter().all(|&count| count > 2), "{outcomes:?}");
}

#[test]
fn versitygw_behind_the_proxy_takes_its_signatures() {
    let s3 = S3::start(&need!("versitygw")).unwrap();
    objects(s3.address());
}

#[test]
fn moto_behind_the_proxy_takes_its_signatures() {
    let moto = Moto::start(&need!("moto_server")).unwrap();
    objects(moto.address());
}

fn objects(server: SocketAddr) {
    let proxy = BreakingProxy::start(server, Fault::None).unwrap();
    let (bucket, bytes) = (Bucket::new(proxy.address()).unwrap(), content(9, LENGTH));
    bucket.put("a b/c+d.bin", &bytes).unwrap();
    assert!(bucket.get("a b/c+d.bin").unwrap() == bytes);
    proxy.set(Fault::First(1, Box::new(Fault::SlowDown)));
    assert!(bucket.get("a b/c+d.bin").unwrap() == bytes);
    proxy.set(Fault::AccessDenied);
    assert!(bucket.get("a b/c+d.bin").is_err());
    proxy.set_for("another", Fault::AccessDenied);
    bucket.delete("a b/c+d.bin").unwrap();
}
