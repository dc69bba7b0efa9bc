//! The meaning of URLs, and answers that are not accepted.

use std::ops::Range as Bytes;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::scripted::{Asked, Scripted, reply};
use super::*;

const DATE: &str = "Last-Modified: Fri, 07 Sep 2018 08:49:58 GMT";

/// A good answer to GET or HEAD of a file.
fn file(asked: &Asked, bytes: &[u8], headers: &[&str]) -> Vec<u8> {
    let Some(range) = asked.header("range").filter(|_| asked.method == "GET") else {
        return reply("200 OK", headers, bytes);
    };
    let (start, last) = range.strip_prefix("bytes=").unwrap().split_once('-').unwrap();
    let start: usize = start.parse().unwrap();
    let end = last.parse::<usize>().map_or(bytes.len(), |last| (last + 1).min(bytes.len()));
    let told = format!("Content-Range: bytes {start}-{}/{}", end - 1, bytes.len());
    reply("206 Partial Content", &[headers, &[told.as_str()]].concat(), &bytes[start..end])
}

fn nothing() -> Vec<u8> {
    reply("404 Not Found", &["Content-Type: text/html"], "<h1>Not Found</h1>")
}

#[test]
fn a_signed_url_is_one_file_and_its_query_is_sent_as_it_is() {
    let query = "?X-Amz-Signature=a%2Fb+c&response=%20x";
    let server = Scripted::start(move |asked| match asked.method.as_str() {
        "GET" if asked.target == format!("/dir/data%20file.bin{query}") => {
            file(asked, b"signed bytes", &["ETag: \"t\""])
        }
        "GET" => nothing(),
        // A URL signed for GET is refused for other methods.
        _ => reply("403 Forbidden", &[], ""),
    });
    let source = Tried::new(&format!("{}/dir/data%20file.bin{query}", server.url()));
    assert_eq!(source.names("").unwrap(), ["data file.bin"]);
    assert_eq!(source.read_all("data file.bin").unwrap(), b"signed bytes");
    assert!(matches!(source.look("other"), Err(Error::NotFound(_))));
    assert!(server.asked().iter().all(|asked| asked.method != "PROPFIND" && asked.target.ends_with(query)));
    assert!(!source.web.describe().contains('?'));
    let address = source.web.identity();
    assert!(!address.contains("Signature") && !address.contains("a%2Fb"), "{address}");
}

#[test]
fn a_page_of_a_folder_under_its_url_without_a_slash_is_a_folder() {
    let page = "<html><title>Index of /files</title><a href=\"/files/a.txt\">a.txt</a></html>";
    let server = Scripted::start(move |asked| match (asked.method.as_str(), asked.target.as_str()) {
        ("PROPFIND", _) => reply("405 Method Not Allowed", &[], ""),
        (_, "/files" | "/files/") => reply("200 OK", &["Content-Type: text/html"], page),
        (_, "/files/a.txt") => file(asked, b"a", &[DATE]),
        _ => nothing(),
    });
    let source = Tried::new(&format!("{}/files", server.url()));
    assert_eq!(source.names("").unwrap(), ["a.txt"]);
    assert_eq!(source.read_all("a.txt").unwrap(), b"a");
}

#[test]
fn a_page_that_is_no_listing_is_no_empty_folder() {
    let pages: [(&str, &str, &str); 5] = [
        ("200 OK", "text/html", "<title>Log in</title><form><a href=\"help\">help</a></form>"),
        ("200 OK", "text/html", "<!doctype html><div id=app></div><script src=\"main.js\"></script>"),
        ("200 OK", "application/json", "[{\"name\": \"a\"}]"),
        ("200 OK", "text/plain", "a\nb\n"),
        ("200 OK", "text/html", ""),
    ];
    for (status, media, page) in pages {
        let server = Scripted::start(move |asked| match asked.target.as_str() {
            "/file" => {
                if asked.method == "PROPFIND" {
                    reply("200 OK", &["Content-Type: text/html"], page)
                } else {
                    file(asked, b"bytes", &[DATE])
                }
            }
            _ => reply(status, &[&format!("Content-Type: {media}")], page),
        });
        let source = Tried::new(&server.url());
        assert_eq!(source.page("").unwrap_err().errno(), libc::EOPNOTSUPP, "{media}");
        assert_eq!(source.read_all("file").unwrap(), b"bytes", "{media}");
    }
}

#[test]
fn a_redirect_to_a_login_is_no_listing() {
    let server = Scripted::start(|asked| match asked.target.as_str() {
        "/login" => reply("200 OK", &["Content-Type: text/html"], "<title>Log in</title>"),
        _ => reply("302 Found", &["Location: /login"], ""),
    });
    let source = Tried::new(&server.url());
    assert_eq!(source.page("folder").unwrap_err().errno(), libc::EOPNOTSUPP);
}

#[test]
fn a_url_names_a_folder_or_a_file() {
    use forebay_testkit::webdav_listing::{Shape, WebDav};
    let server = WebDav::start([("a/b", "bytes")], Shape::Plain).unwrap();
    let settle = |url: &str| {
        let source = Tried::new(url);
        source.patiently(async || source.web.settle().await.cloned()).map_err(|trouble| trouble.error)
    };
    use crate::web::What;
    // A server may answer PROPFIND with 404 where it has names; a signed URL names one file.
    assert_eq!(settle(&format!("{}/typo", server.url())).unwrap(), What::Folder);
    assert_eq!(Tried::new(&format!("{}/typo", server.url())).page("").unwrap_err().errno(), libc::ENOENT);
    assert!(matches!(settle(&format!("{}/typo?sig=x", server.url())), Err(Error::NotFound(_))));
    assert_eq!(settle(&format!("{}/a", server.url())).unwrap(), What::Folder);
    assert_eq!(settle(&format!("{}/a/b", server.url())).unwrap(), What::File("b".into()));
    // This server lists nothing at all.
    let server =
        Scripted::start(|asked| if asked.target == "/x/file" { file(asked, b"bytes", &[]) } else { nothing() });
    assert_eq!(settle(&format!("{}/x", server.url())).unwrap(), What::Folder);
    assert_eq!(Tried::new(&format!("{}/x", server.url())).read_all("file").unwrap(), b"bytes");
}

#[test]
fn trouble_says_how_long_to_wait() {
    for (value, least, most) in [("7", 7.0, 7.0), ("date", 3.0, 5.0), ("soon", 0.0, 0.0)] {
        let server = Scripted::start(move |_| {
            let date = httpdate::fmt_http_date(std::time::SystemTime::now() + Duration::from_secs(5));
            let value = if value == "date" { date } else { value.to_owned() };
            reply("503 Slow Down", &[&format!("Retry-After: {value}")], "")
        });
        let source = Tried::new(&server.url());
        let version = Version { size: 9, ..Version::default() };
        let (label, mut buffer) = (Label::all(0..9), Segments::own(9));
        let range = Range {
            path: Path::new("a"),
            version: &version,
            offset: 0,
            len: 9,
            label: &label,
            room: Room::default(),
            patience: Duration::from_secs(30),
        };
        let read = source.once(source.web.read(range, &mut buffer)).unwrap_err();
        let others = [
            source.once(source.web.look(Path::new("a"))).unwrap_err(),
            source.once(source.web.page(Path::new(""), None)).unwrap_err(),
        ];
        for trouble in others.into_iter().chain([read]) {
            let wait = trouble.wait.unwrap_or_default().as_secs_f64();
            assert!(wait >= least && wait <= most, "{value}: {trouble:?}");
            assert!(trouble.kind == "503" && trouble.error.is_transient());
        }
    }
}

#[test]
fn redirects_lead_to_signed_addresses_elsewhere() {
    let store = Scripted::start(|asked| {
        assert!(asked.header("authorization").is_none());
        if asked.target == "/bucket/x?sig=a%2B" { file(asked, b"stored", &["ETag: \"s\""]) } else { nothing() }
    });
    let to = format!("Location: {}/bucket/x?sig=a%2B", store.url());
    let server = Scripted::start(move |asked| match (asked.method.as_str(), asked.target.as_str()) {
        ("PROPFIND", _) => reply("501 Not Implemented", &[], ""),
        (_, "/file?a=b") => {
            assert_eq!(asked.header("authorization"), Some("Bearer secret"));
            reply("307 Temporary Redirect", &[&to], "")
        }
        _ => nothing(),
    });
    let token = crate::web::Token::parse("secret", "it").ok();
    let source = Tried::with(&format!("{}/?a=b", server.url()), &WebOptions { token, ..impatient() });
    assert_eq!(source.read_all("file").unwrap(), b"stored");
}

#[test]
fn an_empty_file_is_known_without_head() {
    let server = Scripted::start(|asked| match (asked.method.as_str(), asked.header("range")) {
        ("GET", Some(_)) if asked.target == "/empty" => {
            reply("416 Range Not Satisfiable", &["Content-Range: bytes */0"], "")
        }
        ("GET", None) if asked.target == "/empty" => reply("200 OK", &["ETag: \"e\""], ""),
        ("GET", _) => nothing(),
        _ => reply("405 Method Not Allowed", &[], ""),
    });
    let facts = Tried::new(&server.url()).facts("empty").unwrap();
    assert_eq!((facts.size, facts.tag.as_deref()), (0, Some("\"e\"")));
}

#[test]
fn a_file_without_a_length_is_refused_and_is_no_folder() {
    let server = Scripted::start(|asked| match asked.method.as_str() {
        "PROPFIND" => reply("405 Method Not Allowed", &[], ""),
        _ => reply("200 OK", &["Transfer-Encoding: chunked", "X-Length: none"], "3\r\nabc\r\n0\r\n\r\n"),
    });
    assert_eq!(Tried::new(&server.url()).look("stream").unwrap_err().errno(), libc::EOPNOTSUPP);
}

#[test]
fn a_proxy_that_shows_a_folder_under_another_path() {
    let response = |href: &str, kind: &str| {
        format!(
            "<response><href>{href}</href><propstat><prop>{kind}</prop><status>HTTP/1.1 200 OK</status></propstat></response>"
        )
    };
    let folder = "<resourcetype><collection/></resourcetype>";
    let server = Scripted::start(move |asked| {
        let entries = match asked.target.as_str() {
            "/public/" => [
                response("/dav/", folder),
                response("/dav/sub/", folder),
                response("/dav/f", "<getcontentlength>2</getcontentlength>"),
            ]
            .concat(),
            "/public/sub/" => {
                [response("/dav/sub", folder), response("/dav/sub/g", "<getcontentlength>1</getcontentlength>")]
                    .concat()
            }
            "/public/f" => response("/dav/f", "<resourcetype/><getcontentlength>2</getcontentlength>"),
            _ => return nothing(),
        };
        match asked.method.as_str() {
            "PROPFIND" => reply(
                "207 Multi-Status",
                &["Content-Type: text/xml"],
                format!("<multistatus xmlns=\"DAV:\">{entries}</multistatus>"),
            ),
            _ => file(asked, b"ff", &[]),
        }
    });
    let source = Tried::new(&format!("{}/public/", server.url()));
    assert_eq!(source.names("").unwrap(), ["f", "sub/"]);
    assert_eq!(source.names("sub").unwrap(), ["g"]);
    assert_eq!(source.read_all("f").unwrap(), b"ff");
}

#[test]
fn an_answer_from_another_time_is_stale_where_there_are_no_tags() {
    let asked_for = AtomicUsize::new(0);
    let server = Scripted::start(move |asked| {
        let late = asked.method == "GET" && asked_for.fetch_add(1, Ordering::Relaxed) > 0;
        let date = if late { "Last-Modified: Sat, 08 Sep 2018 08:49:58 GMT" } else { DATE };
        if asked.method == "PROPFIND" { reply("405 No", &[], "") } else { file(asked, b"bytes", &[date]) }
    });
    let source = Tried::new(&server.url());
    let version = source.facts("file").unwrap().version();
    let read = |bytes: Bytes<u64>| source.read("file", &version, bytes);
    assert_eq!(read(0..2).unwrap(), b"by");
    assert!(matches!(read(2..4), Err(Error::Stale(_))));
}

#[test]
fn refusals_are_told_apart() {
    for (status, errno) in [
        ("401 Unauthorized", libc::EACCES),
        ("403 Forbidden", libc::EACCES),
        ("500 Oops", libc::EIO),
        ("400 Bad Request", libc::EIO),
    ] {
        let server = Scripted::start(move |_| reply(status, &[], ""));
        let source = Tried::new(&server.url());
        assert_eq!(source.look("a").unwrap_err().errno(), errno, "{status}");
        let page = source.page("a").unwrap_err().errno();
        assert!(page == errno || status.starts_with("400") && page == libc::EOPNOTSUPP, "{status}: {page}");
    }
}
