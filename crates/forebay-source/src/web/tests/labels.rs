//! Servers that label stored files as coded, refuse ranges, or say odd things of empty files.

use std::sync::atomic::{AtomicBool, Ordering};

use super::scripted::{Asked, Scripted, reply};
use super::*;

const TAG: &str = "ETag: \"t\"";
const GZIP: &str = "Content-Encoding: x-gzip";

/// The bytes of a range of a file, and its header.
fn part(asked: &Asked, bytes: &[u8]) -> Option<(String, Vec<u8>)> {
    let (start, last) = asked.header("range")?.strip_prefix("bytes=")?.split_once('-')?;
    let start: usize = start.parse().unwrap();
    let end = last.parse::<usize>().map_or(bytes.len(), |last| (last + 1).min(bytes.len()));
    Some((format!("Content-Range: bytes {start}-{}/{}", end - 1, bytes.len()), bytes[start..end].to_vec()))
}

/// A server without WebDAV whose files answer as `of_file` says.
fn serving(of_file: impl Fn(&Asked) -> Vec<u8> + Send + Sync + 'static) -> (Scripted, Tried) {
    let server = Scripted::start(move |asked| match asked.method.as_str() {
        "PROPFIND" => reply("405 Method Not Allowed", &[], ""),
        _ if asked.target.starts_with("/none") => reply("404 Not Found", &[], ""),
        _ => of_file(asked),
    });
    let source = Tried::new(&server.url());
    (server, source)
}

#[test]
fn a_file_that_is_stored_in_the_coding_of_its_label_is_read_as_it_is() {
    for label in [GZIP, "Content-Encoding: gzip", "Content-Encoding: aws-chunked", "Content-Encoding: aws-chunked,gzip"]
    {
        let (_server, source) = serving(move |asked| match part(asked, b"stored bytes") {
            Some((range, bytes)) if asked.method == "GET" => reply("206 Partial Content", &[TAG, label, &range], bytes),
            _ => reply("200 OK", &[TAG, label], b"stored bytes"),
        });
        assert_eq!(source.read_all("a.gz").unwrap(), b"stored bytes", "{label}");
        let other = source.read_all("data.csv");
        if label.ends_with("chunked") {
            assert_eq!(other.unwrap(), b"stored bytes");
        } else {
            assert_eq!(other.unwrap_err().errno(), libc::EIO, "{label}: it may be coded on its way");
        }
    }
}

#[test]
fn a_server_without_ranges_is_believed_if_the_name_fits_and_heads_agree() {
    let (_server, source) = serving(|asked| match (asked.method.as_str(), asked.target.as_str()) {
        ("HEAD", "/other.gz") => reply("200 OK", &["ETag: \"other\"", GZIP], b"stored bytes"),
        ("GET", "/long.gz") => reply("200 OK", &[TAG, GZIP], b"more than HEAD tells"),
        ("GET", "/endless.gz") => reply("200 OK", &[TAG, GZIP, "X-Length: none"], b"stored bytes"),
        _ => reply("200 OK", &[TAG, GZIP], b"stored bytes"),
    });
    assert_eq!(source.read_all("a.gz").unwrap(), b"stored bytes");
    for name in ["other.gz", "long.gz", "endless.gz", "data.csv"] {
        assert_eq!(source.read_all(name).unwrap_err().errno(), libc::EIO, "{name}");
    }
}

/// The bytes of a part are coded on their way, and there may be as many as of the part itself.
#[test]
fn parts_that_are_coded_on_their_way_are_refused() {
    let (_server, source) = serving(|asked| match part(asked, b"0123456789") {
        Some((range, bytes)) if asked.method == "GET" => {
            let coded = if bytes.len() == 1 { b"\x1f\x8b of one byte".to_vec() } else { vec![0x1f; bytes.len()] };
            reply("206 Partial Content", &[TAG, GZIP, &range], coded)
        }
        _ => reply("200 OK", &[TAG], b"0123456789"),
    });
    let version = source.facts("a.gz").unwrap().version();
    assert_eq!(source.read("a.gz", &version, 0..10).unwrap_err().errno(), libc::EIO);
}

#[test]
fn ranges_that_are_refused_in_any_words_cost_one_question() {
    for status in ["400 Bad Request", "403 Forbidden", "405 No", "416 Range Not Satisfiable", "501 Not Implemented"] {
        for head in [true, false] {
            let (server, source) = serving(move |asked| match (asked.method.as_str(), asked.header("range")) {
                ("GET", Some(_)) => reply(status, &[], ""),
                ("HEAD", _) if !head => reply("405 Method Not Allowed", &[], ""),
                _ => reply("200 OK", &[TAG], b"all of it"),
            });
            let version = source.facts("a").unwrap().version();
            assert_eq!(source.read("a", &version, 4..6).unwrap(), b"of", "{status}");
            server.asked();
            assert_eq!(source.read("b", &version, 4..9).unwrap(), b"of it", "{status}");
            assert_eq!(server.asked().len(), 1, "{status}: learnt");
        }
    }
}

#[test]
fn one_file_whose_ranges_are_refused_says_nothing_about_others() {
    let (server, source) = serving(|asked| match part(asked, b"all of it").filter(|_| asked.method == "GET") {
        Some(_) if asked.target == "/odd" => reply("403 Forbidden", &[], ""),
        Some((range, bytes)) => reply("206 Partial Content", &[TAG, &range], bytes),
        None if asked.target == "/shut" && asked.method == "GET" => reply("403 Forbidden", &[], ""),
        None => reply("200 OK", &[TAG], b"all of it"),
    });
    let version = source.facts("a").unwrap().version();
    for name in ["a", "odd", "odd", "a"] {
        assert_eq!(source.read(name, &version, 4..6).unwrap(), b"of", "{name}");
    }
    let ranges: Vec<bool> = server
        .asked()
        .iter()
        .filter(|asked| asked.method == "GET")
        .map(|asked| asked.header("range").is_some())
        .collect();
    assert_eq!(ranges, [true, true, false, false, true]);
}

#[test]
fn head_is_believed_that_a_file_is_empty_if_no_byte_of_it_comes() {
    type Of = fn(&Asked) -> Vec<u8>;
    let empty: [Of; 5] = [
        |_| reply("400 Bad Request", &[], ""),
        |_| reply("416 Range Not Satisfiable", &[], ""),
        |_| reply("200 OK", &["X-Length: none"], ""),
        |_| reply("204 No Content", &[], ""),
        |_| Vec::new(),
    ];
    for (number, of_get) in empty.into_iter().enumerate() {
        let (_server, source) = serving(move |asked| match asked.method.as_str() {
            "HEAD" => reply("200 OK", &[TAG], ""),
            _ => of_get(asked),
        });
        assert_eq!(source.facts("empty").unwrap().size, 0, "{number}");
    }
    // HEAD says so of every file here.
    let (_server, source) = serving(|asked| match asked.method.as_str() {
        "HEAD" => reply("200 OK", &[TAG], ""),
        _ => reply("200 OK", &["X-Length: none"], "bytes"),
    });
    assert_eq!(source.look("full").unwrap_err().errno(), libc::EOPNOTSUPP);
}

#[test]
fn head_that_finds_nothing_is_not_believed_at_once() {
    let (server, source) = serving(|asked| match part(asked, b"bytes").filter(|_| asked.method == "GET") {
        Some((range, bytes)) => reply("206 Partial Content", &[TAG, &range], bytes),
        None => reply("404 Not Found", &[], ""),
    });
    assert!(matches!(source.look("none"), Err(Error::NotFound(_))));
    assert_eq!(source.read_all("a").unwrap(), b"bytes");
    server.asked();
    assert_eq!(source.facts("b").unwrap().size, 5);
    assert_eq!(server.asked().len(), 1, "learnt");
    // Once it has found a file, it is believed.
    let heads = AtomicBool::new(false);
    let (server, source) = serving(move |_| {
        if heads.swap(true, Ordering::Relaxed) { reply("404 Not Found", &[], "") } else { reply("200 OK", &[TAG], "x") }
    });
    source.look("a").unwrap();
    server.asked();
    assert!(matches!(source.look("none"), Err(Error::NotFound(_))));
    assert!(server.asked().iter().all(|asked| asked.header("range").is_none()));
}
