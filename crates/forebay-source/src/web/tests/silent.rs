//! Servers that never answer one of the ways to ask.

use std::sync::atomic::{AtomicBool, Ordering};

use forebay_testkit::odd_web::{Methods, OddWeb, Oddity};

use super::scripted::{Asked, Scripted, reply};
use super::*;
use crate::object::StoreOptions;
use crate::{RemoteSource, Source};

const PAGE: &str = "<html><title>Index of /</title><a href=\"a.txt\">a.txt</a></html>";

/// The patience is shorter than the silence of a connection may be.
fn opened(url: &str) -> RemoteSource {
    let patience = Duration::from_secs(4);
    RemoteSource::open_uri(url, &StoreOptions { patience, ttl: Duration::ZERO, ..StoreOptions::default() }).unwrap()
}

/// The connection is kept, and nothing comes.
fn never() -> Vec<u8> {
    loop {
        std::thread::park();
    }
}

fn methods(server: &Scripted) -> Vec<String> {
    server.asked().into_iter().map(|asked| asked.method).collect()
}

fn listed(source: &RemoteSource, folder: &str) -> Vec<OsString> {
    source.list(Path::new(folder)).unwrap().into_iter().map(|entry| entry.name).collect()
}

/// A listing by WebDAV of one file in a folder.
fn multistatus(folder: &str, file: &str) -> Vec<u8> {
    let response = |href: &str, kind: &str| {
        format!(
            "<D:response><D:href>{href}</D:href><D:propstat><D:prop>{kind}</D:prop>\
             <D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>"
        )
    };
    let collection = response(folder, "<D:resourcetype><D:collection/></D:resourcetype>");
    let file = response(file, "<D:resourcetype/><D:getcontentlength>5</D:getcontentlength>");
    let text = format!("<D:multistatus xmlns:D=\"DAV:\">{collection}{file}</D:multistatus>");
    reply("207 Multi-Status", &["Content-Type: text/xml"], text)
}

#[test]
fn a_silent_head_costs_one_look_up_a_share_of_the_patience_and_later_ones_nothing() {
    let server = Scripted::start(|asked| match (asked.method.as_str(), asked.target.as_str()) {
        ("PROPFIND", _) => reply("405 Method Not Allowed", &[], ""),
        ("HEAD", _) => never(),
        (_, "/none" | "/none/") => reply("404 Not Found", &[], ""),
        _ => reply("206 Partial Content", &["Content-Range: bytes 0-0/5"], "b"),
    });
    let source = opened(&format!("{}/", server.url()));
    let cost = |name: &str| {
        assert_eq!(source.stat(Path::new(name)).unwrap().size, 5);
        methods(&server)
    };
    assert_eq!(cost("a"), ["PROPFIND", "HEAD", "GET"]);
    assert_eq!(cost("b"), ["GET"]);
    assert_eq!(cost("c"), ["GET"]);
    assert_eq!(source.stat(Path::new("none")).unwrap_err().errno(), libc::ENOENT);
}

#[test]
fn a_page_is_asked_for_beside_a_silent_propfind() {
    let server = Scripted::start(|asked| match (asked.method.as_str(), asked.target.as_str()) {
        ("PROPFIND", _) => never(),
        (_, "/") => reply("200 OK", &["Content-Type: text/html"], PAGE),
        (_, "/a.txt") => reply("200 OK", &["ETag: \"t\""], "bytes"),
        _ => reply("404 Not Found", &[], ""),
    });
    let source = opened(&server.url());
    source.check().unwrap();
    assert_eq!(methods(&server), ["PROPFIND", "GET"]);
    assert_eq!(listed(&source, ""), ["a.txt"]);
    assert_eq!(source.stat(Path::new("a.txt")).unwrap().size, 5);
    assert_eq!(methods(&server), ["GET", "HEAD"]);
}

#[test]
fn a_silent_propfind_of_a_folder_costs_that_folder_only() {
    let server = Scripted::start(|asked| match (asked.method.as_str(), asked.target.as_str()) {
        ("PROPFIND", "/") => multistatus("/", "/b.txt"),
        ("PROPFIND", _) => never(),
        (_, "/folder/") => reply("200 OK", &["Content-Type: text/html"], PAGE),
        (_, "/b.txt") => reply("200 OK", &["ETag: \"t\""], "bytes"),
        _ => reply("404 Not Found", &[], ""),
    });
    let source = opened(&server.url());
    source.check().unwrap();
    assert_eq!(listed(&source, "folder"), ["a.txt"]);
    server.asked();
    assert_eq!(listed(&source, ""), ["b.txt"]);
    assert_eq!(methods(&server), ["PROPFIND"]);
}

/// A server without pages whose PROPFIND is silent still serves its files.
#[test]
fn a_silent_propfind_without_a_page_leaves_names_that_are_known() {
    let server = OddWeb::start([("a", "bytes")], Oddity::Silent(Methods::Propfind)).unwrap();
    let source = opened(&server.url());
    source.check().unwrap();
    for _ in 0..3 {
        assert_eq!(source.stat(Path::new("a")).unwrap().size, 5);
    }
    server.requests().clear();
    source.stat(Path::new("a")).unwrap();
    assert_eq!(server.requests().all().len(), 1);
    for _ in 0..3 {
        assert_eq!(source.list(Path::new("")).unwrap_err().errno(), libc::EOPNOTSUPP);
    }
}

/// A PROPFIND that was silent once is asked again, if there are no pages.
#[test]
fn a_propfind_that_was_silent_for_a_while_is_back() {
    let silent = AtomicBool::new(true);
    let server = Scripted::start(move |asked: &Asked| match (asked.method.as_str(), asked.target.as_str()) {
        ("PROPFIND", "/folder") if silent.swap(false, Ordering::SeqCst) => never(),
        ("PROPFIND", "/folder/") => multistatus("/folder/", "/folder/a.txt"),
        (_, "/folder") => reply("301 Moved Permanently", &["Location: /folder/"], ""),
        (_, "/folder/a.txt") => reply("200 OK", &["ETag: \"t\""], "bytes"),
        _ => reply("403 Forbidden", &[], ""),
    });
    let source = opened(&format!("{}/folder", server.url()));
    source.check().unwrap();
    assert_eq!(listed(&source, ""), ["a.txt"]);
    assert_eq!(source.stat(Path::new("a.txt")).unwrap().size, 5);
}
