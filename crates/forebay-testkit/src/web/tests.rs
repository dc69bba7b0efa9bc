//! Each real server gives a file to the byte and lists a folder as expected, and is gone after
//! drop.

use std::fs;
use std::net::{SocketAddr, TcpListener};

use super::apache::{self, Apache};
use super::python::Python;
use super::rclone::{Protocol, Rclone};
use super::wsgidav::Wsgidav;
use crate::asking::{Answer, ask};
use crate::header::Header;
use crate::need;
use crate::nginx::{self, Nginx};
use crate::trees::content;

/// A folder with `folder/a b&c.bin` and an empty file.
fn tree() -> (tempfile::TempDir, Vec<u8>) {
    let (tree, bytes) = (tempfile::tempdir().unwrap(), content(7, 300_001));
    fs::create_dir(tree.path().join("folder")).unwrap();
    fs::write(tree.path().join("folder/a b&c.bin"), &bytes).unwrap();
    fs::write(tree.path().join("empty"), "").unwrap();
    (tree, bytes)
}

fn get(address: SocketAddr, target: &str, headers: &[Header]) -> Answer {
    let answer = ask(address, "GET", target, &[headers, &[Header::new("Connection", "close")]].concat()).unwrap();
    assert!(answer.whole, "{target}: {:?}", answer.headers);
    answer
}

/// The behaviour of every server for the files of [`tree`]; `ranges` says whether it knows ranges.
fn files(address: SocketAddr, bytes: &[u8], ranges: bool) {
    let file = "/folder/a%20b%26c.bin";
    let whole = get(address, file, &[]);
    assert_eq!(whole.code, 200);
    assert!(whole.body == bytes);
    assert_eq!((get(address, "/empty", &[]).code, get(address, "/empty", &[]).body), (200, vec![]));
    assert_eq!(get(address, "/missing", &[]).code, 404);
    let head = ask(address, "HEAD", file, &[Header::new("Connection", "close")]).unwrap();
    assert_eq!((head.code, head.header("content-length")), (200, Some("300001")));
    let part = get(address, file, &[Header::new("Range", "bytes=4095-8192")]);
    if ranges {
        assert_eq!((part.code, part.header("content-range")), (206, Some("bytes 4095-8192/300001")));
        assert!(part.body == bytes[4095..=8192]);
    } else {
        assert_eq!(part.code, 200);
        assert!(part.body == bytes);
    }
}

/// The answer to a PROPFIND of the folder.
fn propfind(address: SocketAddr) -> String {
    let headers = [Header::new("Depth", "1"), Header::new("Content-Length", "0"), Header::new("Connection", "close")];
    let answer = ask(address, "PROPFIND", "/folder/", &headers).unwrap();
    assert_eq!(answer.code, 207);
    answer.text()
}

/// The port is free again, so nothing listens on it.
fn gone(address: SocketAddr) {
    TcpListener::bind(address).unwrap();
}

#[test]
fn nginx_gives_files_and_lists_folders_if_told_to() {
    let (program, (tree, bytes)) = (need!("nginx"), tree());
    let plain = Nginx::start(&program, tree.path(), false).unwrap();
    files(plain.address(), &bytes, true);
    assert_eq!(get(plain.address(), "/folder/", &[]).code, 403);
    let features = nginx::Features { sendfile: true, autoindex: true, ..nginx::Features::default() };
    let lists = Nginx::start_with(&program, tree.path(), features).unwrap();
    let page = get(lists.address(), "/folder/", &[]).text();
    assert!(page.contains("<a href=\"a%20b%26c.bin\">a b&amp;c.bin</a>"), "{page}");
    let addresses = [plain.address(), lists.address()];
    drop((plain, lists));
    addresses.into_iter().for_each(gone);
}

#[test]
fn nginx_answers_propfind() {
    let (program, (tree, bytes)) = (need!("nginx"), tree());
    need!(nginx::DAV_MODULE);
    let features = nginx::Features { dav: true, ..nginx::Features::default() };
    let server = Nginx::start_with(&program, tree.path(), features).unwrap();
    files(server.address(), &bytes, true);
    let listing = propfind(server.address());
    assert!(listing.contains("<D:getcontentlength>300001</D:getcontentlength>"), "{listing}");
}

#[test]
fn apache_gives_files_and_lists_folders_in_each_form() {
    let (program, (tree, bytes)) = (need!("apache2"), tree());
    for (index, expected) in [
        (apache::Index::Names, "<li><a href=\"a%20b&amp;c.bin\"> a b&amp;c.bin</a></li>"),
        (apache::Index::Lines, "293K"),
        (apache::Index::Table, "<td align=\"right\">293K</td>"),
    ] {
        let server = Apache::start(&program, tree.path(), apache::Features { index, dav: false }).unwrap();
        files(server.address(), &bytes, true);
        let page = get(server.address(), "/folder/", &[]).text();
        assert!(page.contains(expected), "{index:?}: {page}");
        assert_eq!(get(server.address(), "/folder", &[]).code, 301);
        let address = server.address();
        drop(server);
        gone(address);
    }
}

#[test]
fn apache_answers_propfind() {
    let (program, (tree, bytes)) = (need!("apache2"), tree());
    let features = apache::Features { dav: true, ..apache::Features::default() };
    let server = Apache::start(&program, tree.path(), features).unwrap();
    files(server.address(), &bytes, true);
    let listing = propfind(server.address());
    assert!(listing.contains("<lp1:getcontentlength>300001</lp1:getcontentlength>"), "{listing}");
}

#[test]
fn rclone_gives_files_and_lists_folders() {
    let (program, (tree, bytes)) = (need!("rclone"), tree());
    let server = Rclone::start(&program, tree.path(), Protocol::Http).unwrap();
    files(server.address(), &bytes, true);
    let page = get(server.address(), "/folder/", &[]).text();
    assert!(page.contains("<a href=\"a%20b&amp;c.bin\">a b&amp;c.bin</a>"), "{page}");
    // A change of the folder shows at once.
    fs::write(tree.path().join("folder/later"), "later").unwrap();
    assert_eq!(get(server.address(), "/folder/later", &[]).text(), "later");
    let address = server.address();
    drop(server);
    gone(address);
}

#[test]
fn rclone_answers_propfind() {
    let (program, (tree, bytes)) = (need!("rclone"), tree());
    let server = Rclone::start(&program, tree.path(), Protocol::WebDav).unwrap();
    files(server.address(), &bytes, true);
    let listing = propfind(server.address());
    assert!(listing.contains("<D:getcontentlength>300001</D:getcontentlength>"), "{listing}");
}

#[test]
fn wsgidav_gives_files_and_answers_propfind() {
    let (program, (tree, bytes)) = (need!("wsgidav"), tree());
    let server = Wsgidav::start(&program, tree.path()).unwrap();
    files(server.address(), &bytes, true);
    let listing = propfind(server.address());
    assert!(listing.contains(":getcontentlength>300001</"), "{listing}");
    let address = server.address();
    drop(server);
    gone(address);
}

#[test]
fn python_gives_files_without_ranges_and_lists_folders() {
    let (program, (tree, bytes)) = (need!("python3"), tree());
    let server = Python::start(&program, tree.path()).unwrap();
    files(server.address(), &bytes, false);
    let page = get(server.address(), "/folder/", &[]).text();
    assert!(page.contains("<a href=\"a%20b%26c.bin\">a b&amp;c.bin</a>"), "{page}");
    let address = server.address();
    drop(server);
    gone(address);
}
