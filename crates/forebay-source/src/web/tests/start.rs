//! A mount's needs at start: the server's root answers, and no single file matters.

use forebay_testkit::need;
use forebay_testkit::nginx::{Features, Nginx};
use forebay_testkit::odd_web::{Methods, OddWeb, Oddity};
use forebay_testkit::trees::content;

use super::scripted::{Scripted, reply};
use super::*;
use crate::object::StoreOptions;
use crate::{RemoteSource, Source};

fn opened(url: &str) -> RemoteSource {
    let options = StoreOptions { ttl: Duration::from_secs(600), ..StoreOptions::default() };
    RemoteSource::open_uri(url, &options).unwrap()
}

/// Files of which those called `bad…` come first, and have the `oddity`.
fn served(bad: usize, good: usize, oddity: &Oddity) -> OddWeb {
    let names = (0..bad).map(|n| format!("bad-{n}")).chain((0..good).map(|n| format!("good-{n}")));
    let files: Vec<(String, Vec<u8>)> = names.map(|name| (name, content(3, 2 << 20))).collect();
    let server = OddWeb::start(files.into_iter().collect::<forebay_testkit::files::Files>(), Oddity::Plain).unwrap();
    (0..bad).for_each(|n| server.set_at(format!("bad-{n}"), oddity.clone()));
    server
}

#[test]
fn a_listing_is_compared_with_another_file_if_the_first_is_silent() {
    let server = served(2, 1, &Oddity::Silent(Methods::All));
    let source = Tried::with(&server.url(), &WebOptions::default());
    let heads = || server.requests().all().iter().filter(|request| request.method == "HEAD").count();
    for (listing, expected) in [1, 2, 3, 3].into_iter().enumerate() {
        assert_eq!(source.page("").unwrap().len(), 3);
        assert_eq!(heads(), expected, "listing {listing}");
    }
}

/// Any answer to PROPFIND will do: the server's pages count.
#[test]
fn a_start_needs_no_propfind() {
    let page = "<html><title>Index of /</title><a href=\"a.txt\">a.txt</a></html>";
    let answers: [&[u8]; 7] = [
        b"HTTP/1.1 500 Oops\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        b"HTTP/1.1 599 Odd\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        b"HTTP/1.1 207 Multi-Status\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}",
        b"SSH-2.0-OpenSSH\r\n",
        b"",
    ];
    for answer in answers {
        let server = Scripted::start(move |asked| match asked.method.as_str() {
            "PROPFIND" => answer.to_vec(),
            _ if asked.target == "/" => reply("200 OK", &["Content-Type: text/html"], page),
            _ if asked.target == "/a.txt" => reply("200 OK", &["ETag: \"t\""], "bytes"),
            _ => reply("404 Not Found", &[], ""),
        });
        let source = opened(&server.url());
        let shown = String::from_utf8_lossy(answer);
        source.check().unwrap_or_else(|error| panic!("{shown:?}: {error}"));
        let names: Vec<_> = source.list(Path::new("")).unwrap().into_iter().map(|entry| entry.name).collect();
        assert_eq!(names, ["a.txt"], "{shown:?}");
        assert_eq!(source.stat(Path::new("a.txt")).unwrap().size, 5, "{shown:?}");
    }
}

#[test]
fn a_mistyped_path_is_refused_in_a_sentence() {
    for status in ["404 Not Found", "405 Method Not Allowed", "500 Oops"] {
        let server = Scripted::start(move |asked| match asked.method.as_str() {
            "PROPFIND" => reply(status, &[], ""),
            _ => reply("404 Not Found", &[], ""),
        });
        for path in ["/typo", "/typo/", "/a/typo"] {
            let error = opened(&format!("{}{path}", server.url())).check().unwrap_err();
            let line = error.to_string();
            assert!(matches!(error, Error::NotFound(_)), "{status}: {line}");
            for words in [path.trim_end_matches('/'), "404", "check the path"] {
                assert!(line.contains(words), "{status}: {words} is not in {line}");
            }
        }
        // The root of a server cannot be mistyped.
        opened(&server.url()).check().unwrap();
    }
}

/// A page for browsers may lack names that exist, so it does not prove that a name is missing.
#[test]
fn names_that_a_page_hides_are_found_once() {
    let (program, tree) = (need!("nginx"), tempfile::tempdir().unwrap());
    for name in [".hidden", "shown", "other"] {
        std::fs::write(tree.path().join(name), name).unwrap();
    }
    for json in [false, true] {
        let features = Features { autoindex: true, json, ..Features::default() };
        let server = Nginx::start_with(&program, tree.path(), features).unwrap();
        let source = opened(&format!("{}/", server.url()));
        source.check().unwrap();
        assert_eq!(source.list(Path::new("")).unwrap().len(), 2);
        for _ in 0..2 {
            assert_eq!(source.stat(Path::new(".hidden")).unwrap().size, 7, "JSON: {json}");
            assert_eq!(source.stat(Path::new(".Trash")).unwrap_err().errno(), libc::ENOENT);
        }
    }
}

#[test]
fn a_name_that_a_page_lacks_costs_one_request_for_the_ttl() {
    let page = "<html><title>Index of /</title><a href=\"a.txt\">a.txt</a> <a href=\"b.txt\">b.txt</a></html>";
    let server = Scripted::start(move |asked| match (asked.method.as_str(), asked.target.as_str()) {
        ("PROPFIND", _) => reply("405 Method Not Allowed", &[], ""),
        (_, "/") => reply("200 OK", &["Content-Type: text/html"], page),
        (_, "/a.txt" | "/b.txt" | "/.hidden") => reply("200 OK", &["ETag: \"t\""], "bytes"),
        _ => reply("404 Not Found", &[], ""),
    });
    let source = opened(&server.url());
    source.check().unwrap();
    let cost = |name: &str| {
        server.asked();
        let found = [0; 3].map(|_| source.stat(Path::new(name)).is_ok());
        assert!(found.iter().all(|each| *each == found[0]));
        (found[0], server.asked().len())
    };
    // Missing names are tried with a slash, too, as long as no folder was seen.
    let (found, requests) = cost("none");
    assert!(!found && (1..=3).contains(&requests), "{requests}");
    assert_eq!(cost("a.txt"), (true, 1));
    assert_eq!(cost("b.txt"), (true, 1), "the page is not asked for again");
    let (found, requests) = cost(".hidden");
    assert!(found && requests <= 4, "{requests}");
}

/// A server that answers every name with its front page has no hidden names.
#[test]
fn a_server_that_finds_every_name_hides_none() {
    let page = "<html><title>Index of /</title><a href=\"a.txt\">a.txt</a></html>";
    let server = Scripted::start(move |asked| match (asked.method.as_str(), asked.target.as_str()) {
        ("PROPFIND", _) => reply("405 Method Not Allowed", &[], ""),
        (_, "/a.txt") => reply("200 OK", &["ETag: \"t\""], "bytes"),
        _ => reply("200 OK", &["Content-Type: text/html", "ETag: \"front\""], page),
    });
    let source = opened(&server.url());
    source.check().unwrap();
    assert_eq!(source.stat(Path::new("a.txt")).unwrap().size, 5);
    assert_eq!(source.stat(Path::new(".Trash")).unwrap_err().errno(), libc::ENOENT);
}
