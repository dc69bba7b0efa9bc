//! Pages that a server gives in place of files.

use super::scripted::{Asked, Scripted, reply};
use super::*;

const HTML: &str = "Content-Type: text/html; charset=utf-8";
const BYTES: &str = "Content-Type: application/octet-stream";
const TAG: &str = "ETag: \"front\"";

fn serving(answer: impl Fn(&Asked) -> Vec<u8> + Send + Sync + 'static) -> Scripted {
    Scripted::start(move |asked| match asked.method.as_str() {
        "PROPFIND" => reply("405 Method Not Allowed", &[], ""),
        _ => answer(asked),
    })
}

#[test]
fn a_login_in_place_of_a_file_is_a_refusal() {
    let login = "<title>Log in</title>";
    for headers in [&[HTML][..], &[HTML, TAG], &[HTML, "Last-Modified: Fri, 07 Sep 2018 08:49:58 GMT"]] {
        let server = serving(move |asked| match asked.target.as_str() {
            "/login?next=1" => reply("200 OK", headers, login),
            "/open.txt" => reply("200 OK", &[BYTES, "ETag: \"o\""], "open"),
            _ => reply("302 Found", &["Location: /login?next=1"], ""),
        });
        let source = Tried::new(&server.url());
        assert_eq!(source.read_all("open.txt").unwrap(), b"open");
        assert_eq!(source.look("one.txt").unwrap_err().errno(), libc::EACCES, "{headers:?}");
        // It was open when it was looked up.
        for tag in [None, Some("\"o\"".into())] {
            let version = Version { size: login.len() as u64, tag, ..Version::default() };
            let read = source.read("one.txt", &version, 0..5);
            assert_eq!(read.unwrap_err().errno(), libc::EACCES, "{headers:?}");
        }
        let one = Tried::new(&format!("{}/one.txt", server.url()));
        assert_eq!(one.page("").unwrap_err().errno(), libc::EACCES, "{headers:?}");
    }
}

#[test]
fn redirects_to_pages_that_are_the_file_are_followed() {
    let server = serving(|asked| match asked.target.as_str() {
        "/page.html" => reply("301 Moved", &["Location: /page"], ""),
        "/page" => reply("200 OK", &[HTML], "a page without a version"),
        "/old.html" => reply("301 Moved", &["Location: /new.html"], ""),
        "/new.html" => reply("200 OK", &[HTML, "ETag: \"n\""], "a page of another name"),
        "/folder" => reply("302 Found", &["Location: /folder/index.html"], ""),
        "/folder/index.html" => reply("200 OK", &[HTML, "ETag: \"f\""], "the first page"),
        "/blob" => reply("302 Found", &["Location: /store/0123"], ""),
        "/store/0123" => reply("200 OK", &[BYTES], "the bytes"),
        _ => reply("404 Not Found", &[HTML], "none"),
    });
    let source = Tried::new(&server.url());
    assert_eq!(source.read_all("page.html").unwrap(), b"a page without a version");
    assert_eq!(source.read_all("old.html").unwrap(), b"a page of another name");
    assert_eq!(source.look("folder").unwrap(), Told::Folder(None));
    assert_eq!(source.read_all("blob").unwrap(), b"the bytes");
}

/// An application's server, such as nginx with `try_files $uri /index.html`.
#[test]
fn the_front_page_is_no_file_of_another_name() {
    let front = "<!doctype html><div id=app></div>";
    for headers in [&[HTML][..], &[HTML, TAG]] {
        let server = serving(move |asked| match asked.target.as_str() {
            "/data/real.bin" => reply("200 OK", &[BYTES, "ETag: \"r\""], "real"),
            "/about.html" => reply("200 OK", &[HTML, "ETag: \"a\""], "about it"),
            _ => reply("200 OK", headers, front),
        });
        let source = Tried::new(&server.url());
        assert_eq!(source.page("").unwrap_err().errno(), libc::EOPNOTSUPP);
        assert!(matches!(source.look("none.bin"), Err(Error::NotFound(_))), "{headers:?}");
        assert!(matches!(source.look(".git"), Err(Error::NotFound(_))), "{headers:?}");
        assert!(matches!(source.look("none.html"), Err(Error::NotFound(_))), "{headers:?}");
        assert_eq!(source.look("data").unwrap(), Told::Folder(None), "{headers:?}");
        assert_eq!(source.read_all("data/real.bin").unwrap(), b"real");
        assert_eq!(source.read_all("about.html").unwrap(), b"about it");
        assert_eq!(source.read_all("index.html").unwrap(), front.as_bytes());
    }
}

#[test]
fn a_folder_whose_page_is_no_listing_has_names_that_can_be_asked_for() {
    let server = serving(|asked| match asked.target.as_str() {
        "/sub/three" => reply("200 OK", &[BYTES, "ETag: \"3\""], "three"),
        "/sub" | "/sub/" => reply("200 OK", &[HTML, "X-Length: none"], "<title>things</title>"),
        _ => reply("404 Not Found", &[HTML], "none"),
    });
    let source = Tried::new(&server.url());
    assert_eq!(source.look("sub").unwrap(), Told::Folder(None));
    assert_eq!(source.read_all("sub/three").unwrap(), b"three");
    assert_eq!(source.page("sub").unwrap_err().errno(), libc::EOPNOTSUPP);
}

/// A server whose pages list folders, and that answers other names by its front page.
#[test]
fn the_front_page_is_no_folder_where_folders_are_listed() {
    let server = serving(|asked| match asked.target.as_str() {
        "/" => reply("200 OK", &[HTML], "<title>Index of /</title><pre><a href=\"sub/\">sub/</a></pre>"),
        "/sub" => reply("301 Moved", &["Location: /sub/"], ""),
        _ => reply("200 OK", &[HTML, TAG], "<title>Welcome</title>"),
    });
    let source = Tried::new(&server.url());
    assert_eq!(source.names("").unwrap(), ["sub/"]);
    assert_eq!(source.look("sub").unwrap(), Told::Folder(None));
    assert!(matches!(source.look("none"), Err(Error::NotFound(_))));
    assert!(matches!(source.look("sub/none"), Err(Error::NotFound(_))));
}

/// A server that redirects each name that does not exist to its front page.
#[test]
fn a_name_that_a_listing_lacks_is_missing_where_all_such_are_redirected() {
    let server = serving(|asked| match asked.target.as_str() {
        "/files/" => reply("200 OK", &[HTML], "<title>Index of /files/</title><pre><a href=\"a\">a</a></pre>"),
        "/files/a" => reply("200 OK", &[BYTES, "ETag: \"a\""], "a"),
        "/" => reply("200 OK", &[HTML, TAG], "<title>Welcome</title>"),
        _ => reply("302 Found", &["Location: /"], ""),
    });
    let source = Tried::new(&format!("{}/files/", server.url()));
    assert_eq!(source.names("").unwrap(), ["a"]);
    let unlisted = |name: &'static str| source.once(source.web.look_unlisted(Path::new(name)));
    assert!(matches!(unlisted("none").unwrap_err().error, Error::NotFound(_)));
    assert_eq!(source.read_all("a").unwrap(), b"a");
}
