//! Listings that are too long to be held: parsed as they come. Nothing is shown of a listing that
//! does not come to its end.

use std::io::{BufRead, Read, Write};
use std::net::TcpListener;
use std::sync::mpsc::channel;
use std::thread;

use reqwest::Method;

use super::scripted::{Asked, Scripted, reply};
use super::*;
use crate::web::ask::Question;

const NAMES: usize = 3000;

/// A WebDAV listing of `NAMES` files, or of their folder alone.
fn listing(asked: &Asked) -> String {
    let response = |href: &str, kind: &str| {
        format!(
            "<D:response><D:href>{href}</D:href><D:propstat><D:prop>{kind}</D:prop>\
             <D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>"
        )
    };
    let folder = response("/", "<D:resourcetype><D:collection/></D:resourcetype>");
    let file = |n| response(&format!("/file-{n:05}"), "<D:resourcetype/><D:getcontentlength>3</D:getcontentlength>");
    let inner: String = match asked.header("depth") {
        Some("1") => (0..NAMES).map(file).collect(),
        _ => String::new(),
    };
    format!("<D:multistatus xmlns:D=\"DAV:\">{folder}{inner}</D:multistatus>")
}

/// The same as a page for browsers.
fn page(_asked: &Asked) -> String {
    let links: String = (0..NAMES).map(|n| format!("<a href=\"file-{n:05}\">file-{n:05}</a>\n")).collect();
    format!("<title>Index of /</title><pre>{links}</pre>")
}

/// A server whose listings break off in the middle, the first `breaks` times.
fn breaking(breaks: usize, text: fn(&Asked) -> String, by: &'static str, media: &'static str) -> Scripted {
    let left = std::sync::Mutex::new(breaks);
    Scripted::start(move |asked| {
        if asked.method != by {
            return reply("405 Method Not Allowed", &[], "");
        }
        let text = text(asked);
        let mut left = left.lock().unwrap();
        let end = if *left > 0 { text.len() / 2 } else { text.len() };
        *left = left.saturating_sub(1);
        let head = [format!("Content-Length: {}", text.len()), format!("Content-Type: {media}")];
        reply(
            if by == "GET" { "200 OK" } else { "207 Multi-Status" },
            &head.each_ref().map(String::as_str),
            &text[..end],
        )
    })
}

#[test]
fn a_listing_that_breaks_off_is_asked_for_again() {
    for (text, by, media) in [(listing as fn(&Asked) -> String, "PROPFIND", "text/xml"), (page, "GET", "text/html")] {
        let server = breaking(1, text, by, media);
        let source = Tried::new(&server.url());
        let trouble = source.once(source.web.page(Path::new(""), None)).unwrap_err();
        assert!(trouble.error.is_transient(), "{by}: {trouble:?}");
        assert_eq!(source.names("").unwrap().len(), NAMES, "{by}");
        // A listing that always breaks off is an error, never half of a folder.
        let server = breaking(usize::MAX, text, by, media);
        let source = Tried::new(&server.url());
        assert!(source.names("").is_err(), "{by}");
    }
}

#[test]
fn one_that_falls_silent_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        let mut open = Vec::new();
        for mut stream in listener.incoming().flatten() {
            let head = std::io::BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
            assert!(head.take_while(|line| !line.is_empty()).count() > 0);
            let text = listing(&Asked {
                method: "PROPFIND".into(),
                target: "/".into(),
                headers: vec![("depth".into(), "1".into())],
            });
            let answer =
                reply("207 Multi-Status", &[&format!("Content-Length: {}", text.len())], &text[..text.len() / 2]);
            let _ = stream.write_all(&answer);
            open.push(stream);
        }
    });
    let source = Tried::new(&url);
    let trouble = source.once(source.web.page(Path::new(""), None)).unwrap_err();
    assert_eq!(trouble.kind, "timeout", "{trouble:?}");
}

/// The result of a reader for the body of a long answer, of which it may have at most `limit`
/// bytes.
async fn read<T: Send + 'static>(
    web: &Web,
    url: &str,
    limit: usize,
    read: impl FnOnce(&mut dyn Read) -> T + Send + 'static,
) -> Answer<T> {
    let question = Question::new(Method::GET, reqwest::Url::parse(url).unwrap(), "x");
    web.asker.ask(&question).await?.read("x", limit, move |mut body| read(&mut body)).await
}

#[test]
fn a_body_is_read_to_its_end_as_far_as_the_reader_likes() {
    let whole: Vec<u8> = (0..1_000_000u32).map(|n| (n % 251) as u8).collect();
    let sent = whole.clone();
    let server = Scripted::start(move |_| reply("200 OK", &[], &sent));
    let source = Tried::new(&server.url());
    let url = server.url();
    let to_end = |body: &mut dyn Read| {
        let mut bytes = Vec::new();
        body.read_to_end(&mut bytes).map(|_| bytes).unwrap()
    };
    assert!(source.once(read(&source.web, &url, whole.len(), to_end)).unwrap() == whole);
    let two = |body: &mut dyn Read| {
        let mut bytes = [0; 2];
        body.read_exact(&mut bytes).map(|()| bytes).unwrap()
    };
    assert_eq!(source.once(read(&source.web, &url, whole.len(), two)).unwrap(), [0, 1]);
    for limit in [whole.len() - 1, 10] {
        let trouble = source.once(read(&source.web, &url, limit, to_end)).unwrap_err();
        assert_eq!(trouble.error.errno(), libc::EIO, "{trouble:?}");
        assert!(!trouble.error.is_transient(), "{trouble:?}");
    }
}

#[test]
fn a_reader_ends_with_the_question() {
    let server = Scripted::start(|_| reply("200 OK", &["Content-Length: 10000000"], vec![7; 100_000]));
    let source = Tried::new(&server.url());
    let (told, tells) = channel();
    let to_end = move |body: &mut dyn Read| told.send(std::io::copy(body, &mut std::io::sink()).unwrap()).unwrap();
    let outcome = source.once(read(&source.web, &server.url(), usize::MAX, to_end));
    assert!(outcome.unwrap_err().error.is_transient());
    assert!(tells.recv_timeout(Duration::from_secs(60)).unwrap() <= 100_000, "it was let go");
}
