//! Each oddity does as described, seen by a client that hides nothing.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use super::*;
use crate::asking::{Answer, Connection, ask};
use crate::header::Header;
use crate::trees::content;

/// The length of [`FILE`], in bytes.
const LENGTH: usize = 300_001;
const FILE: &str = "/folder/a%20b.bin";

fn bytes() -> Vec<u8> {
    content(3, LENGTH)
}

fn server(oddity: Oddity) -> OddWeb {
    OddWeb::start([("folder/a b.bin", bytes()), ("small.txt", b"hello world\n".to_vec())], oddity).unwrap()
}

fn head(server: &OddWeb) -> Answer {
    ask(server.address(), "HEAD", FILE, &[]).unwrap()
}

fn get(server: &OddWeb) -> Answer {
    ask(server.address(), "GET", FILE, &[]).unwrap()
}

fn range(server: &OddWeb, range: &str) -> Answer {
    ask(server.address(), "GET", FILE, &[Header::new("Range", range)]).unwrap()
}

/// Whether an answer is whole, with the bytes of the file and this code.
fn right(answer: &Answer, code: u16, expected: &[u8]) -> bool {
    answer.code == code && answer.whole && answer.body == expected
}

#[test]
fn plain_knows_ranges_conditions_and_counts_requests() {
    let server = server(Oddity::Plain);
    let mut client = Connection::new(server.address()).unwrap();
    let whole = client.ask("GET", FILE, &[]).unwrap();
    assert!(right(&whole, 200, &bytes()));
    let tag = whole.header("etag").unwrap();
    assert_eq!(client.ask("HEAD", FILE, &[]).unwrap().header("content-length"), Some("300001"));
    let part = Header::new("Range", "bytes=1-3");
    let mut ask = |name: &str, value: &str| client.ask("GET", FILE, &[Header::new(name, value), part.clone()]).unwrap();
    assert!(right(&ask("If-Match", tag), 206, &bytes()[1..4]));
    assert_eq!(ask("If-Match", "\"other\"").code, 412);
    assert_eq!(ask("If-None-Match", tag).code, 304);
    assert_eq!(ask("If-Modified-Since", MODIFIED).code, 304);
    assert_eq!(ask("If-Unmodified-Since", "Fri, 07 Sep 2018 08:49:57 GMT").code, 412);
    assert!(right(&ask("If-Range", "\"other\""), 200, &bytes()));
    assert!(right(&ask("If-Range", tag), 206, &bytes()[1..4]));
    assert_eq!(range(&server, "bytes=300001-").header("content-range"), Some("bytes */300001"));
    assert!(range(&server, "bytes=0-1,5-6").text().contains("Content-Range: bytes 5-6/300001\r\n\r\n"));
    assert_eq!(ask_for(&server, "/missing").code, 404);
    assert_eq!((server.requests().count("HEAD", FILE), server.requests().count("GET", FILE)), (1, 10));
    assert_eq!(server.requests().all()[3].header("if-match"), Some("\"other\""));
    server.put("folder/a b.bin", b"new");
    assert!(right(&get(&server), 200, b"new"));
    let address = server.address();
    drop(server);
    std::net::TcpListener::bind(address).unwrap();
}

fn ask_for(server: &OddWeb, target: &str) -> Answer {
    ask(server.address(), "GET", target, &[]).unwrap()
}

#[test]
fn an_oddity_can_be_that_of_one_path_or_of_the_first_requests() {
    let server = server(Oddity::First(2, Box::new(Oddity::Refused(500))));
    let codes = [(); 3].map(|()| get(&server).code);
    assert_eq!(codes, [500, 500, 200]);
    server.set_at("folder/a b.bin", Oddity::Refused(410));
    assert_eq!((get(&server).code, ask_for(&server, "/small.txt").code), (410, 200));
    server.set_at("folder/a b.bin", Oddity::First(1, Box::new(Oddity::Cut(Cut::Body))));
    assert_eq!(head(&server).code, 200);
    assert!(!get(&server).whole && get(&server).whole);
}

#[test]
fn heads() {
    for oddity in [403, 405, 501].map(Oddity::HeadRefused) {
        let Oddity::HeadRefused(code) = oddity else { unreachable!() };
        let server = server(oddity);
        assert_eq!(head(&server).code, code);
        assert!(right(&get(&server), 200, &bytes()));
    }
    for (oddity, length, coding) in [
        (Oddity::HeadLength(-1), Some("300000"), None),
        (Oddity::HeadLength(1000), Some("301001"), None),
        (Oddity::HeadWithoutLength, None, None),
        (Oddity::HeadGzip, Some("1234"), Some("gzip")),
    ] {
        let server = server(oddity.clone());
        let head = head(&server);
        let seen = (head.header("content-length"), head.header("content-encoding"));
        assert_eq!(seen, (length, coding), "{oddity:?}");
        assert!(right(&get(&server), 200, &bytes()), "{oddity:?}");
    }
    let server = server(Oddity::HeadWithBody);
    let mut client = Connection::new(server.address()).unwrap();
    assert_eq!(client.ask("HEAD", "/small.txt", &[]).unwrap().header("content-length"), Some("12"));
    assert!(client.ask("GET", "/small.txt", &[]).is_err(), "the body comes first");
}

#[test]
fn ranges() {
    let (all, told) = (bytes(), |from, to, total: &str| Some(format!("bytes {from}-{to}/{total}")));
    for (oddity, from, to, shown) in [
        (Oddity::Plain, 5000, 9000, told(5000, 9000, "300001")),
        (Oddity::RangeAtZero, 0, 4000, told(0, 4000, "300001")),
        (Oddity::RangeShort, 5000, 7000, told(5000, 7000, "300001")),
        (Oddity::RangeClipped(100), 5000, 5099, told(5000, 5099, "300001")),
        (Oddity::RangeLong, 4000, 10_000, told(4000, 10_000, "300001")),
        (Oddity::RangeUntold, 5000, 9000, None),
        (Oddity::RangeTotal(-1), 5000, 9000, told(5000, 9000, "300000")),
        (Oddity::RangeTotalUnknown, 5000, 9000, told(5000, 9000, "*")),
        (Oddity::RangeChunked, 5000, 9000, told(5000, 9000, "300001")),
    ] {
        let server = server(oddity.clone());
        let answer = range(&server, "bytes=5000-9000");
        assert!(right(&answer, 206, &all[from..=to]), "{oddity:?}");
        assert_eq!(answer.header("content-range"), shown.as_deref(), "{oddity:?}");
        assert_eq!(answer.header("content-length").is_none(), oddity == Oddity::RangeChunked);
        assert!(right(&get(&server), 200, &all), "{oddity:?}");
    }
    let answer = range(&server(Oddity::NoRanges), "bytes=5000-9000");
    assert!(right(&answer, 200, &all));
    assert_eq!(answer.header("accept-ranges"), Some("none"));
    assert_eq!(range(&server(Oddity::RangesRefused), "bytes=5000-9000").code, 416);
    let answer = range(&server(Oddity::Multipart), "bytes=5000-9000");
    assert!(answer.header("content-type").unwrap().starts_with("multipart/byteranges; boundary="));
    let text = answer.text();
    assert!(answer.whole && text.contains("bytes 5000-7000/300001") && text.contains("bytes 7001-9000/300001"));
}

#[test]
fn forms_of_an_answer() {
    let server = server(Oddity::Gzip);
    let (whole, part) = (get(&server), range(&server, "bytes=0-99"));
    let mut plain = Vec::new();
    flate2::read::GzDecoder::new(whole.body.as_slice()).read_to_end(&mut plain).unwrap();
    assert!(plain == bytes() && part.body == whole.body[..100]);
    assert_eq!(part.header("content-encoding"), Some("gzip"));
    server.set(Oddity::ChunkExtras);
    assert!(right(&get(&server), 200, &bytes()));
    let mut raw = std::net::TcpStream::connect(server.address()).unwrap();
    raw.write_all(b"GET /small.txt HTTP/1.1\r\nConnection: close\r\n\r\n").unwrap();
    let mut chunks = String::new();
    raw.read_to_string(&mut chunks).unwrap();
    let body = "c;name=\"a value\"\r\nhello world\n\r\n0;name=\"a value\"\r\nX-Checksum: none\r\n\r\n";
    assert!(chunks.ends_with(body), "{chunks}");
    server.set(Oddity::TwoLengths);
    let lengths = ask_for(&server, "/small.txt").headers;
    let lengths = lengths.iter().filter(|header| header.name == "Content-Length").map(|header| header.value.as_str());
    assert_eq!(lengths.collect::<Vec<_>>(), ["12", "13"]);
    server.set(Oddity::LongHeader(1_000_000));
    assert_eq!(get(&server).header("x-long").unwrap().len(), 1_000_000);
    server.set(Oddity::BareHead);
    let bare = get(&server);
    assert!(right(&bare, 200, &bytes()) && bare.headers.iter().all(|header| header.name == header.name.to_lowercase()));
    server.set(Oddity::NotHttp);
    assert!(ask(server.address(), "GET", FILE, &[]).is_err());
    for code in [100, 102, 103] {
        server.set(Oddity::Interim(code));
        let answer = get(&server);
        assert!(right(&answer, 200, &bytes()) && answer.interim == [code]);
    }
    server.set(Oddity::Drip { bytes: 3, pause: Duration::from_millis(10) });
    let begun = Instant::now();
    assert!(right(&ask_for(&server, "/small.txt"), 200, b"hello world\n"));
    assert!(begun.elapsed() >= Duration::from_millis(30));
}

#[test]
fn ends_of_connections() {
    let server = server(Oddity::Junk);
    let mut client = Connection::new(server.address()).unwrap();
    assert!(right(&client.ask("GET", FILE, &[]).unwrap(), 200, &bytes()));
    assert!(client.ask("GET", FILE, &[]).is_err(), "junk is no answer");
    for (oddity, version, length) in [
        (Oddity::Http10 { length: true }, 0, Some("300001")),
        (Oddity::Http10 { length: false }, 0, None),
        (Oddity::Closes, 1, Some("300001")),
    ] {
        server.set(oddity.clone());
        let mut client = Connection::new(server.address()).unwrap();
        let answer = client.ask("GET", FILE, &[]).unwrap();
        assert!(right(&answer, 200, &bytes()) && client.closed(), "{oddity:?}");
        let seen = (answer.version, answer.header("content-length"), answer.header("connection"));
        assert_eq!(seen, (version, length, None), "{oddity:?}");
    }
}

#[test]
fn redirects() {
    let server = server(Oddity::Plain);
    let (own, other) = (format!("{}/moved{FILE}", server.url()), format!(":{}/moved{FILE}", server.address().port()));
    for (to, expected) in [
        (To::Path, Some(format!("/moved{FILE}"))),
        (To::Relative, Some("../moved/folder/a%20b.bin".to_owned())),
        (To::Url, Some(own)),
        (To::Host, Some(format!("http://localhost{other}"))),
        (To::Itself, Some(FILE.to_owned())),
        (To::Circle, Some(format!("/moved{FILE}"))),
        (To::Endless, Some(format!("/moved{FILE}?hop=1"))),
        (To::Nowhere, None),
        (To::Missing, Some("/missing-file".to_owned())),
        (To::File, Some("file:///etc/passwd".to_owned())),
    ] {
        server.set(Oddity::Redirect { code: 307, to });
        for answer in [get(&server), head(&server)] {
            assert_eq!((answer.code, answer.header("location")), (307, expected.as_deref()), "{to:?}");
        }
        let moved = ask_for(&server, &format!("/moved{FILE}"));
        match to {
            To::Circle => assert_eq!(moved.header("location"), Some(FILE)),
            To::Endless => assert_eq!(moved.header("location"), Some(&*format!("/moved{FILE}?hop=1"))),
            _ => assert!(right(&moved, 200, &bytes()), "{to:?}"),
        }
    }
    server.set(Oddity::Redirect { code: 307, to: To::Endless });
    let second = ask_for(&server, &format!("/moved{FILE}?hop=41"));
    assert_eq!(second.header("location"), Some(&*format!("/moved{FILE}?hop=42")));
    assert_eq!(ask_for(&server, "/missing-file").code, 404);
}

#[test]
fn dates_and_tags() {
    let server = server(Oddity::Plain);
    for (form, expected) in [
        (Modified::Rfc850, Some("Friday, 07-Sep-18 08:49:58 GMT")),
        (Modified::Asctime, Some("Fri Sep  7 08:49:58 2018")),
        (Modified::Iso, Some("2018-09-07T08:49:58Z")),
        (Modified::Future, Some("Fri, 07 Aug 2099 12:00:00 GMT")),
        (Modified::Nonsense, Some("the other day")),
        (Modified::None, None),
    ] {
        server.set(Oddity::Modified(form));
        assert_eq!(head(&server).header("last-modified"), expected);
    }
    server.set(Oddity::Plain);
    let plain = head(&server).header("etag").unwrap().to_owned();
    for (form, expected) in [
        (Tag::Weak, [Some(format!("W/{plain}")), Some(format!("W/{plain}"))]),
        (Tag::Flipping, [Some("\"node-0\"".into()), Some("\"node-1\"".into())]),
        (Tag::WeakFlipping, [Some("W/\"node-0\"".into()), Some("W/\"node-1\"".into())]),
        (Tag::None, [None, None]),
        (Tag::Empty, [Some(String::new()), Some(String::new())]),
        (Tag::EmptyQuotes, [Some("\"\"".into()), Some("\"\"".into())]),
        (Tag::Unquoted, [Some(plain.trim_matches('"').into()), Some(plain.trim_matches('"').into())]),
    ] {
        server.set(Oddity::Tag(form));
        let seen = [head(&server), get(&server)].map(|answer| answer.header("etag").map(str::to_owned));
        assert_eq!(seen, expected, "{form:?}");
    }
    server.set(Oddity::Tag(Tag::Shared));
    assert_eq!(get(&server).header("etag"), ask_for(&server, "/small.txt").header("etag"));
    server.set(Oddity::IfMatchFails);
    assert_eq!(ask(server.address(), "GET", FILE, &[Header::new("If-Match", "*")]).unwrap().code, 412);
    assert!(right(&get(&server), 200, &bytes()));
    server.set(Oddity::Changing);
    let versions = [get(&server), get(&server)];
    for (version, answer) in (1..).zip(&versions) {
        let expected: Vec<u8> = bytes().iter().map(|byte| byte ^ version).collect();
        assert!(right(answer, 200, &expected));
    }
    assert_eq!(head(&server).header("etag"), versions[1].header("etag"));
    let tag = versions[1].header("etag").unwrap();
    assert_eq!(ask(server.address(), "GET", FILE, &[Header::new("If-Match", tag)]).unwrap().code, 412);
}

#[test]
fn refusals() {
    let server = server(Oddity::SoftMissing);
    assert_eq!((ask_for(&server, "/missing").code, ask_for(&server, "/missing").whole), (200, true));
    server.set(Oddity::Refused(451));
    assert_eq!((get(&server).code, head(&server).code), (451, 451));
    for code in [429, 503] {
        let retry = |retry| {
            server.set(Oddity::Busy { code, retry });
            let answer = get(&server);
            assert_eq!(answer.code, code);
            answer.header("retry-after").map(str::to_owned)
        };
        assert_eq!(retry(RetryAfter::None), None);
        assert_eq!(retry(RetryAfter::Seconds(7)).unwrap(), "7");
        assert_eq!(retry(RetryAfter::Nonsense).unwrap(), "after lunch");
        let date = httpdate::parse_http_date(&retry(RetryAfter::Date(100)).unwrap()).unwrap();
        assert!(date > std::time::SystemTime::now() + Duration::from_secs(60));
    }
    server.set(Oddity::Password);
    assert_eq!(get(&server).code, 401);
    let login = [Header::new("Authorization", "Basic dXNlcjpzZWNyZXQ=")];
    assert!(right(&ask(server.address(), "GET", FILE, &login).unwrap(), 200, &bytes()));
    let propfind = || ask(server.address(), "PROPFIND", "/folder/", &[Header::new("Depth", "1")]).unwrap();
    server.set(Oddity::Propfind(405));
    assert_eq!((propfind().code, get(&server).code), (405, 200));
    server.set(Oddity::PropfindPage);
    assert_eq!((propfind().code, propfind().header("content-type").unwrap()), (200, "text/html"));
    server.set(Oddity::Plain);
    assert!(propfind().code == 207 && propfind().text().contains("<D:href>/folder/a%20b.bin</D:href>"));
}

#[test]
fn cuts_and_silence() {
    let server = server(Oddity::Plain);
    for cut in [Cut::Nothing, Cut::Head] {
        server.set(Oddity::Cut(cut));
        assert!(["GET", "HEAD"].iter().all(|method| ask(server.address(), method, FILE, &[]).is_err()), "{cut:?}");
    }
    for cut in [Cut::Body, Cut::Chunk, Cut::Reset] {
        server.set(Oddity::Cut(cut));
        let answer = get(&server);
        assert!(!answer.whole && bytes().starts_with(&answer.body) && answer.body.len() > LENGTH / 3, "{cut:?}");
        assert_eq!(answer.header("transfer-encoding").is_some(), cut == Cut::Chunk);
        assert_eq!(head(&server).code, 200);
    }
    for (methods, silent) in [
        (Methods::Head, &["HEAD"][..]),
        (Methods::Get, &["GET"]),
        (Methods::Propfind, &["PROPFIND"]),
        (Methods::All, &["HEAD", "GET", "PROPFIND"]),
    ] {
        server.set(Oddity::Silent(methods));
        for method in ["HEAD", "GET", "PROPFIND"] {
            let silent = silent.contains(&method);
            let mut client = Connection::new(server.address()).unwrap();
            client.set_patience(Duration::from_millis(if silent { 50 } else { 60_000 })).unwrap();
            assert_eq!(client.ask(method, FILE, &[]).is_err(), silent, "{methods:?} {method}");
        }
    }
}

#[test]
fn every_oddity_is_in_the_list_and_serves_what_it_says() {
    let (mut outcomes, expected) = ([0; 3], bytes());
    for oddity in Oddity::every() {
        let outcome = oddity.outcome();
        outcomes[outcome as usize] += 1;
        if matches!(oddity, Oddity::Silent(_)) {
            continue;
        }
        let server = server(oddity.clone());
        // A client that believes everything gets the right bytes at least where every client
        // should.
        let easy = outcome == Outcome::Right && !matches!(oddity, Oddity::First(..));
        if easy && !matches!(oddity, Oddity::Password | Oddity::Redirect { .. }) {
            assert!(right(&get(&server), 200, &expected), "{oddity:?}");
        }
    }
    assert!(outcomes.iter().all(|&count| count > 5), "{outcomes:?}");
}
