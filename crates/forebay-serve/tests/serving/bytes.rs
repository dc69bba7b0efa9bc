//! Reads by curl.

use std::fs;

use forebay_testkit::trees::content;

use crate::{ask, curl, forgetful, serve};

const SIZE: usize = 3_000_017;

fn scene() -> (tempfile::TempDir, Vec<u8>) {
    let folder = tempfile::tempdir().unwrap();
    let bytes = content(1, SIZE);
    fs::write(folder.path().join("file.bin"), &bytes).unwrap();
    fs::write(folder.path().join("empty"), "").unwrap();
    fs::write(folder.path().join("page.html"), "<p>").unwrap();
    (folder, bytes)
}

#[test]
fn whole_files_and_ranges() {
    let (folder, bytes) = scene();
    let server = serve(folder.path(), forgetful());
    let url = format!("http://{}/file.bin", server.address());
    let whole = curl(&[&url]);
    assert_eq!(whole.status, 200);
    assert!(whole.body == bytes);
    assert_eq!(whole.header("accept-ranges"), Some("bytes"));
    assert_eq!(whole.header("content-length"), Some("3000017"));
    assert_eq!(whole.header("content-type"), Some("application/octet-stream"));
    assert!(whole.header("etag").unwrap().starts_with('"'), "a strong tag");
    assert!(whole.header("last-modified").unwrap().ends_with(" GMT"));

    for (range, expected) in [
        ("0-0", 0..1),
        ("4095-4096", 4095..4097),
        ("1000000-2500000", 1_000_000..2_500_001),
        ("3000000-", 3_000_000..SIZE),
        ("3000016-9999999999", SIZE - 1..SIZE),
        ("-100", SIZE - 100..SIZE),
        ("0-", 0..SIZE),
    ] {
        let part = curl(&["--range", range, &url]);
        assert_eq!(part.status, 206, "{range}");
        assert!(part.body == bytes[expected.clone()], "{range}");
        let said = format!("bytes {}-{}/{SIZE}", expected.start, expected.end - 1);
        assert_eq!(part.header("content-range"), Some(said.as_str()));
        assert_eq!(part.header("etag"), whole.header("etag"));
    }
    let beyond = curl(&["--range", "3000017-", &url]);
    assert_eq!((beyond.status, beyond.header("content-range")), (416, Some("bytes */3000017")));
    let malformed = curl(&["--header", "Range: bytes=x", &url]);
    assert!(malformed.status == 200 && malformed.body == bytes);

    let empty = curl(&[&format!("http://{}/empty", server.address())]);
    assert_eq!((empty.status, empty.header("content-length"), empty.body.len()), (200, Some("0"), 0));
    let page = curl(&[&format!("http://{}/page.html", server.address())]);
    assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
}

#[test]
fn several_ranges_come_in_parts() {
    let (folder, bytes) = scene();
    let server = serve(folder.path(), forgetful());
    let answer = curl(&["--range", "5-9,1000000-1600000,-3", &format!("http://{}/file.bin", server.address())]);
    assert_eq!(answer.status, 206);
    let kind = answer.header("content-type").unwrap();
    let boundary = kind.strip_prefix("multipart/byteranges; boundary=").expect(kind);
    let mut rest = answer.body.as_slice();
    for part in [5..10, 1_000_000..1_600_001, SIZE - 3..SIZE] {
        let head = format!(
            "\r\n--{boundary}\r\nContent-Type: application/octet-stream\r\nContent-Range: bytes {}-{}/{SIZE}\r\n\r\n",
            part.start,
            part.end - 1
        );
        rest = rest.strip_prefix(head.as_bytes()).expect("the head of a part");
        assert!(rest[..part.len()] == bytes[part.clone()]);
        rest = &rest[part.len()..];
    }
    assert_eq!(rest, format!("\r\n--{boundary}--\r\n").as_bytes());
    assert_eq!(answer.header("content-length"), Some(answer.body.len().to_string().as_str()));
}

#[test]
fn conditions() {
    let (folder, bytes) = scene();
    let server = serve(folder.path(), forgetful());
    let url = format!("http://{}/file.bin", server.address());
    let whole = curl(&["--head", &url]);
    assert_eq!((whole.status, whole.header("content-length")), (200, Some("3000017")));
    assert!(whole.body.is_empty());
    let (tag, time) = (whole.header("etag").unwrap(), whole.header("last-modified").unwrap());
    let status = |header: &str| curl(&["--header", header, &url]).status;
    assert_eq!(status(&format!("If-Match: {tag}")), 200);
    assert_eq!(status("If-Match: \"other\""), 412);
    assert_eq!(status(&format!("If-None-Match: {tag}")), 304);
    assert_eq!(status("If-None-Match: \"other\""), 200);
    assert_eq!(status(&format!("If-Modified-Since: {time}")), 304);
    assert_eq!(status("If-Modified-Since: Thu, 01 Jan 1970 00:00:00 GMT"), 200);
    assert_eq!(status("If-Unmodified-Since: Thu, 01 Jan 1970 00:00:00 GMT"), 412);
    let unchanged = curl(&["--header", &format!("If-None-Match: {tag}"), &url]);
    assert_eq!((unchanged.header("etag"), unchanged.body.len()), (Some(tag), 0));

    let ranged = |header: &str| curl(&["--header", header, "--range", "10-19", &url]);
    let same = ranged(&format!("If-Range: {tag}"));
    assert!(same.status == 206 && same.body == bytes[10..20]);
    for other in ["If-Range: \"other\"", &format!("If-Range: {time}")] {
        let other = ranged(other);
        assert!(other.status == 200 && other.body == bytes, "another version, so all of it");
    }
    assert_eq!(ranged(&format!("If-Match: {tag}")).status, 206);
    let head = ask(&server, "HEAD /file.bin", "Range: bytes=0-9\r\n");
    assert_eq!((head.status, head.header("content-length")), (200, Some("3000017")), "a range is for GET alone");
}

#[test]
fn labels_are_heeded_and_mistakes_refused() {
    let (folder, bytes) = scene();
    let server = serve(folder.path(), forgetful());
    let get = |labels: &str| ask(&server, "GET /file.bin", &format!("Range: bytes=0-999999\r\n{labels}"));
    for labels in [
        "Forebay-Demand: none\r\n",
        "Forebay-Demand: bytes=0-4095\r\n",
        "Forebay-Demand: bytes=0-4095\r\nForebay-Hits: bytes=0-99999999\r\n",
        "Forebay-Demand: bytes=2000000-3000000\r\n",
    ] {
        let answer = get(labels);
        assert!(answer.status == 206 && answer.body == bytes[..1_000_000], "{labels}");
    }
    for labels in ["Forebay-Demand: all\r\n", "Forebay-Demand: bytes=9-1\r\n", "Forebay-Hits: none\r\n"] {
        let answer = get(labels);
        assert_eq!(answer.status, 400, "{labels}");
        assert_eq!(answer.text().lines().count(), 1, "{}", answer.text());
    }
}

#[test]
fn one_connection_asks_many_times() {
    let (folder, bytes) = scene();
    let server = serve(folder.path(), forgetful());
    let mut request = Vec::new();
    for i in 0..100 {
        let close = if i == 99 { "Connection: close\r\n" } else { "" };
        let (first, last) = (i * 1000, i * 1000 + 999);
        request.extend(
            format!("GET /file.bin HTTP/1.1\r\nHost: localhost\r\n{close}Range: bytes={first}-{last}\r\n\r\n").bytes(),
        );
    }
    let mut rest = crate::raw(server.address(), &request);
    for i in 0..100 {
        let answer = crate::parse(&rest);
        assert!(answer.status == 206 && answer.body[..1000] == bytes[i * 1000..][..1000], "{i}");
        rest = answer.body[1000..].to_vec();
    }
    assert!(rest.is_empty());
}
