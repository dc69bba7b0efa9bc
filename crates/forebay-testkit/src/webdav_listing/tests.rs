//! Each shape is as described. Most tests read the document itself, the rest a client with a real
//! parser.

use super::*;
use crate::asking::{Answer, ask};
use crate::header::Header;
use crate::odd_web::{MODIFIED, Outcome};

fn files() -> Files {
    Files::from([("a b/c&d.txt", "12345"), ("a b/e/f.txt", "6"), ("a b/[1]%.txt", "77"), ("caf\u{e9}.txt", "888")])
}

fn propfind(shape: Shape, target: &str, depth: &str) -> Answer {
    let server = WebDav::start(files(), shape).unwrap();
    ask(server.address(), "PROPFIND", target, &[Header::new("Depth", depth)]).unwrap()
}

fn text(shape: Shape) -> String {
    propfind(shape, "/a%20b/", "1").text()
}

/// The texts of an element with this name, as they are written.
fn texts(document: &str, name: &str) -> Vec<String> {
    let open = format!("<D:{name}>");
    let pieces = document.split(&open).skip(1);
    pieces.map(|piece| piece.split("</D:").next().unwrap_or_default().to_owned()).collect()
}

fn hrefs(shape: Shape) -> Vec<String> {
    texts(&text(shape), "href")
}

const HREFS: [&str; 4] = ["/a%20b/", "/a%20b/%5B1%5D%25.txt", "/a%20b/c%26d.txt", "/a%20b/e/"];

#[test]
fn plain_lists_folders_at_each_depth_and_serves_files() {
    let server = WebDav::start(files(), Shape::Plain).unwrap();
    let propfind = |target, depth| {
        let answer = ask(server.address(), "PROPFIND", target, &[Header::new("Depth", depth)]).unwrap();
        (answer.code, texts(&answer.text(), "href"))
    };
    assert_eq!(propfind("/a%20b/", "1"), (207, HREFS.map(str::to_owned).into()));
    assert_eq!(propfind("/a%20b", "0"), (207, vec!["/a%20b/".to_owned()]));
    assert_eq!(propfind("/a%20b/c%26d.txt", "1"), (207, vec!["/a%20b/c%26d.txt".to_owned()]));
    assert_eq!(propfind("/", "infinity").1.len(), 7);
    assert_eq!(propfind("/missing", "0").0, 404);
    assert_eq!(ask(server.address(), "GET", "/caf%C3%A9.txt", &[]).unwrap().text(), "888");
    let document = text(Shape::Plain);
    assert_eq!(texts(&document, "getcontentlength"), ["2", "5"]);
    assert_eq!(texts(&document, "getlastmodified"), [MODIFIED; 4]);
    assert_eq!(document.matches("<D:collection/>").count(), 2);
    assert_eq!(server.requests().count("PROPFIND", "/"), 1);
    let address = server.address();
    drop(server);
    std::net::TcpListener::bind(address).unwrap();
}

#[test]
fn prefixes_and_parts() {
    for (shape, expected) in [
        (Shape::Prefix(Prefix::Lower), "<d:href>/a%20b/</d:href>"),
        (Shape::Prefix(Prefix::Default), "<multistatus xmlns=\"DAV:\"><response><href>/a%20b/</href>"),
        (Shape::Prefix(Prefix::Second), "<lp1:getcontentlength>5</lp1:getcontentlength>"),
        (Shape::Prefix(Prefix::Each), "<hr:href xmlns:hr=\"DAV:\">/a%20b/</hr:href>"),
        (Shape::Prefix(Prefix::Odd), "<_x-1.y:href>/a%20b/</_x-1.y:href>"),
        (Shape::Foreign, "<o:getcontentlength xmlns:o=\"urn:other\">7654321</o:getcontentlength>"),
        (Shape::Foreign, "<D:resourcetype><o:collection xmlns:o=\"urn:other\"/></D:resourcetype>"),
        (Shape::Parts(Parts::SecondPropstat), "<D:quota/></D:prop><D:status>HTTP/1.1 404 Not Found</D:status>"),
        (Shape::Parts(Parts::RefusedFirst), "<D:getcontentlength>1234567</D:getcontentlength><D:resourcetype>"),
        (Shape::Parts(Parts::StatusFirst), "<D:propstat><D:status>HTTP/1.1 200 OK</D:status><D:prop>"),
        (Shape::Parts(Parts::NoStatus), "</D:prop></D:propstat>"),
        (
            Shape::Parts(Parts::NoPropstat),
            "<D:href>/a%20b/e/</D:href><D:status>HTTP/1.1 200 OK</D:status></D:response>",
        ),
        (Shape::Parts(Parts::PropstatEach), "<D:prop><D:getcontentlength>5</D:getcontentlength></D:prop>"),
        (Shape::Parts(Parts::Locks), "<D:lockroot><D:href>/no-entry</D:href></D:lockroot>"),
        (Shape::Parts(Parts::Locks), "<D:displayname>A &amp; B</D:displayname>"),
    ] {
        let text = text(shape);
        assert!(text.contains(expected), "{shape:?}: {text}");
    }
    assert!(!text(Shape::Parts(Parts::NoStatus)).contains("status>HTTP"));
}

#[test]
fn documents() {
    use Document as D;
    for (document, expected) in [
        (D::Cdata, "<D:href><![CDATA[/a%20b/]]></D:href>"),
        (D::References, "<D:href>&#x2f;&#x61;&#x25;&#x32;&#x30;&#x62;&#x2f;</D:href>"),
        (D::Comments, "<D:href>/a%<!-- a comment -->20b/</D:href>"),
        (D::Pretty, "<D:href>\n      /a%20b/\n      </D:href>\n"),
        (D::Doctype, "?><!DOCTYPE multistatus><D:multistatus"),
        (D::Entity, "<D:href>&slash;a%20b&slash;</D:href>"),
        (D::EntityBomb, "<D:displayname>&a9;</D:displayname>"),
        (D::ExternalEntity, "<!ENTITY a9 SYSTEM \"file:///etc/hostname\">"),
        (D::Bom, "\u{feff}<?xml"),
        (D::Latin1, "encoding=\"iso-8859-1\""),
        (D::OtherRoot, "<D:error xmlns:D=\"DAV:\">"),
        (D::Html, "<!DOCTYPE html>"),
    ] {
        let text = text(Shape::Document(document));
        assert!(text.contains(expected), "{document:?}: {text}");
    }
    let cut = propfind(Shape::Document(D::Cut), "/a%20b/", "1");
    assert!(cut.whole && text(Shape::Plain).starts_with(&cut.text()));
    assert_eq!(text(Shape::Document(D::Empty)), "");
    assert_eq!(text(Shape::Document(D::Deep)).matches("<x>").count(), 4 * 200_000);
    let utf16 = propfind(Shape::Document(D::Utf16), "/a%20b/", "1").body;
    let units: Vec<u16> = utf16.chunks(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
    assert!(String::from_utf16(&units[1..]).unwrap().contains("<D:href>/a%20b/</D:href>") && units[0] == 0xfeff);
}

#[test]
fn addresses_and_encodings() {
    use {Address as A, Encoding as E};
    let of = |address| hrefs(Shape::Address(address));
    assert!(of(A::Url)[2].starts_with("http://127.0.0.1:") && of(A::Url)[2].ends_with("/a%20b/c%26d.txt"));
    assert_eq!(of(A::OtherHost)[2], "http://files.internal.example/a%20b/c%26d.txt");
    assert_eq!(of(A::Relative), ["/a%20b/", "%5B1%5D%25.txt", "c%26d.txt", "e/"]);
    assert_eq!(of(A::Dots)[3], "/./x/../a%20b/e/");
    assert_eq!(of(A::DoubleSlash)[3], "//a%20b/e/");
    assert_eq!(of(A::NoSlash), HREFS.map(|href| href.trim_end_matches('/')));
    assert!(of(A::SlashOnFiles).iter().all(|href| href.ends_with('/')));
    let file = propfind(Shape::Address(A::SlashOnFiles), "/a%20b/c%26d.txt/", "0");
    assert_eq!(texts(&file.text(), "href"), ["/a%20b/c%26d.txt/"]);
    let of = |encoding| hrefs(Shape::Encoding(encoding));
    assert_eq!(of(E::Everything)[3], "/%61%20%62/%65/");
    assert_eq!(of(E::SmallLetters)[1], "/a%20b/%5b1%5d%25.txt");
    assert_eq!(of(E::Allowed)[2], "/a%20b/c&amp;d.txt");
    assert_eq!(of(E::Brackets)[1], "/a%20b/[1]%25.txt");
    assert_eq!(of(E::Spaces)[2], "/a b/c%26d.txt");
    assert_eq!(of(E::Percent)[1], "/a b/%5B1%5D%.txt");
    let root = |encoding| propfind(Shape::Encoding(encoding), "/", "1").body;
    let has = |body: Vec<u8>, bytes: &[u8]| body.windows(bytes.len()).any(|window| window == bytes);
    assert!(has(root(E::Utf8), "<D:href>/caf\u{e9}.txt</D:href>".as_bytes()));
    let odd = |encoding, target| {
        let server = WebDav::start(Files::odd_names(), Shape::Encoding(encoding)).unwrap();
        ask(server.address(), "PROPFIND", target, &[Header::new("Depth", "1")]).unwrap().body
    };
    assert!(has(odd(E::Utf8, "/"), b"<D:href>/caf%E9</D:href>"));
    assert!(has(odd(E::Bytes, "/"), b"<D:href>/caf\xe9</D:href>"));
    assert!(has(odd(E::Query, "/"), b"<D:href>/a?b</D:href>") && has(odd(E::Query, "/"), b"<D:href>/a#b</D:href>"));
}

#[test]
fn dates_and_lengths() {
    use {Date as T, Length as L};
    for (date, expected) in [
        (T::OneDigitDay, "Fri, 7 Sep 2018 08:49:58 GMT"),
        (T::Offset, "Fri, 07 Sep 2018 10:49:58 +0200"),
        (T::Rfc850, "Friday, 07-Sep-18 08:49:58 GMT"),
        (T::Asctime, "Fri Sep  7 08:49:58 2018"),
        (T::Iso, "2018-09-07T08:49:58Z"),
        (T::Nonsense, "the other day"),
    ] {
        assert_eq!(texts(&text(Shape::Date(date)), "getlastmodified"), [expected; 4]);
    }
    assert_eq!(text(Shape::Date(T::Empty)).matches("<D:getlastmodified/>").count(), 4);
    assert!(!text(Shape::Date(T::None)).contains("getlastmodified"));
    for (length, expected) in [
        (L::OnFolders, &["4096", "2", "5", "4096"][..]),
        (L::Spaces, &["\n    2\n  ", "\n    5\n  "]),
        (L::None, &[]),
        (L::Empty, &[]),
        (L::Nonsense, &["many", "many"]),
        (L::Negative, &["-1", "-1"]),
        (L::Huge, &["18446744073709551617"; 2]),
        (L::Wrong, &["3", "6"]),
    ] {
        assert_eq!(texts(&text(Shape::Length(length)), "getcontentlength"), expected, "{length:?}");
    }
    assert_eq!(text(Shape::Length(L::Empty)).matches("<D:getcontentlength/>").count(), 2);
}

#[test]
fn entries_and_frames() {
    use {Entries as N, Frame as F};
    let of = |entries| hrefs(Shape::Entries(entries));
    assert_eq!(of(N::NoSelf), HREFS[1..]);
    assert_eq!(of(N::SelfLast)[3], "/a%20b/");
    assert_eq!(of(N::Twice), [HREFS, HREFS].concat());
    assert_eq!(of(N::Denied)[4], "/a%20b/private/");
    assert!(text(Shape::Entries(N::Denied)).contains("<D:status>HTTP/1.1 403 Forbidden</D:status></D:response>"));
    assert!(of(N::Outside).contains(&"/a b/../outside.txt".to_owned()));
    assert!(of(N::NoNames).contains(&"/a b/%2E%2E%2Foutside.txt".to_owned()));
    assert!(of(N::Infinite).contains(&"/a%20b/e/f.txt".to_owned()));
    assert_eq!(texts(&propfind(Shape::Entries(N::DepthIgnored), "/a%20b/", "0").text(), "href"), HREFS);
    let finite = |depth| propfind(Shape::Entries(N::Finite), "/", depth).code;
    assert_eq!((finite("1"), finite("infinity")), (207, 403));
    let of = |frame| propfind(Shape::Frame(frame), "/a%20b/", "1");
    assert_eq!(of(F::Chunked).header("transfer-encoding"), Some("chunked"));
    assert_eq!(of(F::UntilClose).header("content-length"), None);
    assert_eq!(of(F::TextXml).header("content-type"), Some("text/xml"));
    assert_eq!(of(F::OtherType).header("content-type"), Some("application/octet-stream"));
    assert_eq!((of(F::Ok).code, of(F::Cut).whole), (200, false));
    assert!([F::Chunked, F::UntilClose].into_iter().all(|frame| of(frame).text() == text(Shape::Plain)));
}

#[test]
fn documents_of_right_shapes_are_whole_xml() {
    for shape in Shape::every() {
        let answer = propfind(shape, "/", "1");
        assert!(answer.whole || shape == Shape::Frame(Frame::Cut), "{shape:?}");
        if shape.outcome() == Outcome::Right {
            let text = answer.text();
            let xml =
                roxmltree::Document::parse(text.trim_start_matches('\u{feff}')).map_err(|e| format!("{shape:?}: {e}"));
            let xml = xml.unwrap();
            let count = |name| xml.descendants().filter(|node| node.has_tag_name(("DAV:", name))).count();
            assert_eq!(xml.root_element().tag_name().namespace(), Some("DAV:"), "{shape:?}");
            assert!(count("href") >= 2 && count("response") >= 2, "{shape:?}: {text}");
        }
    }
}
