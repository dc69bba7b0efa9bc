//! Parsing of servers' answers: addresses, listings, pages. No answer is too much for the parsers.

use proptest::prelude::*;

use super::*;
use crate::web::index::{self, Folder, Link};
use crate::web::json;
use crate::web::multistatus::{self, NoListing, Response};
use crate::web::names::{Marks, Relation, Segments, escape, relation, resolve, segments};
use crate::web::xml;

fn at(path: &str) -> Segments {
    segments(path.as_bytes()).unwrap()
}

/// The responses of a document that comes in pieces of `piece` bytes.
fn responses_in_pieces(document: &[u8], piece: usize) -> Result<Vec<Response>, NoListing> {
    let mut all = Vec::new();
    let document = std::io::BufReader::with_capacity(piece, document);
    multistatus::parse(document, |response| all.push(response)).map(|()| all)
}

fn responses(document: &[u8]) -> Result<Vec<Response>, NoListing> {
    responses_in_pieces(document, document.len().max(1))
}

/// The links of a page of `/a b`.
fn links(page: &[u8]) -> Option<Vec<Link>> {
    let folder = Folder { path: at("/a%20b/"), host: Some("host".into()) };
    links_in(page, &folder)
}

fn links_in(page: &[u8], folder: &Folder) -> Option<Vec<Link>> {
    let mut all = Vec::new();
    let classes = index::parse(page, folder, |class, link| all.push((class.number(), link)))?;
    Some(all.into_iter().filter(|(class, _)| classes.has(*class)).map(|(_, link)| link).collect())
}

/// The relation of an `href` in the answer about `folder` to it: a name, `.` for the folder itself,
/// or nothing.
fn placed(href: &str, folder: &str, marks: Marks) -> Option<String> {
    let to = resolve(href.as_bytes(), &at(folder), marks)?;
    match relation(&to, &at(folder)) {
        Relation::Itself => Some(".".into()),
        Relation::Child(name) => Some(name.into_string().unwrap()),
        Relation::Elsewhere => None,
    }
}

#[test]
fn addresses_in_listings() {
    for (href, expected) in [
        ("/a%20b/", Some(".")),
        ("/a%20b", Some(".")),
        ("/a b/x", Some("x")),
        ("http://other:8080/a%20b/x", Some("x")),
        ("HTTPS://other/a%20b/x/", Some("x")),
        ("http://other", None),
        ("//a%20b/x", Some("x")),
        ("//host/a%20b/x", Some("x")),
        ("x", Some("x")),
        ("./x", Some("x")),
        ("../a%20b/x", Some("x")),
        ("/./q/../a%20b/x", Some("x")),
        ("x%2Fy", None),
        ("/x%2Fy/../a%20b/z", Some("z")),
        ("x%00", None),
        ("/a%20b/x/y", None),
        ("/a%20bc/x", None),
        ("/../a%20b/x", None),
        ("\n  /a%20b/x \n ", Some("x ")),
        ("/a%20b/x%", Some("x%")),
        ("/a%20b/100% x", Some("100% x")),
        ("/a%20b/a?b#c", Some("a?b#c")),
        ("/a%20b/caf\u{e9}", Some("caf\u{e9}")),
        ("a:b", Some("a:b")),
    ] {
        assert_eq!(placed(href, "/a%20b", Marks::Literal).as_deref(), expected, "{href:?}");
    }
    for href in ["?C=N;O=D", "x?y", "#top", "", "mailto:a@b", "javascript:void(0)"] {
        assert_eq!(placed(href, "/a%20b", Marks::Meant), None, "{href:?}");
    }
}

proptest! {
    #[test]
    fn names_survive_their_addresses(names in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..20), 1..4)) {
        let legal = |name: &Vec<u8>| !name.contains(&b'/') && !name.contains(&0) && name != b"." && name != b"..";
        prop_assume!(names.iter().all(legal));
        let joined = names.join(&b'/');
        let text = escape(Path::new(os(&joined))).unwrap();
        prop_assert!(text.bytes().all(|byte| byte.is_ascii_graphic() && !b"?#;+[]<>\"\\".contains(&byte)));
        let base = at("/base");
        for marks in [Marks::Literal, Marks::Meant] {
            for href in [format!("/base/{text}"), text.clone(), format!("http://h/base/{text}")] {
                let to = resolve(href.as_bytes(), &base, marks).unwrap();
                prop_assert_eq!(&to.names[1..], &names[..]);
            }
        }
        // The way through a client's own parser of addresses.
        let url = reqwest::Url::parse("http://host/base/").unwrap();
        let mut url = url.clone();
        url.set_path(&format!("/base/{text}"));
        prop_assert_eq!(url.path(), format!("/base/{text}"));
    }

    #[test]
    fn nothing_is_too_much_for_the_parsers(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = responses(&bytes);
        let _ = links(&bytes);
        let _ = json::parse(bytes.as_slice(), |_| {});
        let _ = xml::parse(bytes.as_slice(), |_| {});
        let _ = resolve(&bytes, &at("/a"), Marks::Literal);
        let _ = resolve(&bytes, &at("/a"), Marks::Meant);
    }

    #[test]
    fn nor_is_what_looks_like_a_listing(words in prop::collection::vec(0usize..PIECES.len(), 0..40), piece in 1usize..30) {
        let text: String = words.iter().map(|&word| PIECES[word]).collect();
        let document = format!("<D:multistatus xmlns:D=\"DAV:\">{text}");
        let whole = responses(document.as_bytes());
        prop_assert_eq!(responses_in_pieces(document.as_bytes(), piece), whole);
        let _ = links(text.as_bytes());
    }
}

/// Pieces of documents.
const PIECES: [&str; 24] = [
    "<D:response>",
    "</D:response>",
    "<D:href>",
    "</D:href>",
    "<D:propstat>",
    "</D:propstat>",
    "<D:prop>",
    "</D:prop>",
    "<D:getcontentlength>",
    "</D:getcontentlength>",
    "</D:multistatus>",
    "<D:collection/>",
    "<![CDATA[",
    "]]>",
    "&amp;",
    "&#0;",
    "&#xD800;",
    "&no;",
    "<!--",
    "-->",
    "<!DOCTYPE x [<!ENTITY a \"b\">]>",
    "/a/b",
    "<a href=\"",
    "xmlns:D=\"",
];

#[test]
fn properties_with_a_bad_status_are_not_there() {
    let text = "<?xml version=\"1.0\"?><m:multistatus xmlns:m=\"DAV:\" xmlns=\"urn:other\"><m:response><m:href>/f</m:href>\
        <m:propstat><m:prop><m:getcontentlength>77</m:getcontentlength><m:resourcetype><m:collection/></m:resourcetype></m:prop>\
        <m:status>HTTP/1.1 404 Not Found</m:status></m:propstat>\
        <m:propstat><m:prop><m:getcontentlength> 5 </m:getcontentlength><m:getetag>W/\"&quot;a\"</m:getetag><m:resourcetype/>\
        <getcontentlength>9</getcontentlength></m:prop><m:status>HTTP/1.1 200 OK</m:status></m:propstat></m:response></m:multistatus>";
    let responses = responses(text.as_bytes()).unwrap();
    let [response] = responses.as_slice() else { panic!("{responses:?}") };
    assert_eq!((response.folder, response.length, response.tag.as_deref()), (Some(false), Some(5), Some("W/\"\"a\"")));
}

#[test]
fn no_entity_is_followed_and_no_document_cut() {
    let text = |href: &str| {
        format!("<!DOCTYPE m [<!ENTITY a \"x\">]><m xmlns=\"DAV:\"><response><href>{href}</href></response></m>")
    };
    let text = |href: &str| text(href).replace("<m ", "<multistatus ").replace("</m>", "</multistatus>");
    assert!(responses(text("/&a;").as_bytes()).unwrap()[0].spoilt);
    assert_eq!(responses(text("/&#97;&lt;<![CDATA[&]]><!-- c -->b").as_bytes()).unwrap()[0].href, b"/a<&b");
    let whole = text("/a");
    for end in 0..whole.len() {
        assert!(responses(&whole.as_bytes()[..end]).is_err(), "{end}");
    }
    assert!(responses(&[b"<x>".repeat(70_000), b"</x>".repeat(70_000)].concat()).is_err());
}

/// The names in a page of `/a b`, those of folders with a slash.
fn listed(page: &str) -> Option<Vec<String>> {
    let links = links(page.as_bytes())?.into_iter();
    Some(links.map(|link| format!("{}{}", link.name.display(), if link.slash { "/" } else { "" })).collect())
}

#[test]
fn pages_of_known_servers() {
    let caddy = "<!DOCTYPE html><html><head><title>a b</title></head><body><header><h1><a href=\"../\">x</a>/<a href=\"\">a b</a></h1></header>\
        <main><div class=\"listing\"><table aria-describedby=\"summary\"><tbody><tr><td></td><td><a href=\"..\"><span>Up</span></a></td></tr>\
        <tr class=\"file\"><td></td><td><a href=\"./c%20d/\"><svg/><span class=\"name\">c d</span></a></td></tr>\
        <tr class=\"file\"><td></td><td><a href=\"./e&amp;f\"><span class=\"name\">e&amp;f</span></a></td></tr></tbody></table></div></main>\
        <footer>Served with <a href=\"https://caddyserver.com\">Caddy</a></footer></body></html>";
    let lighttpd = "<!DOCTYPE html><html><head><title>Index of /a b/</title></head><body><h2>Index of /a b/</h2><div class=\"list\"><table>\
        <thead><tr><th class=\"n\">Name</th></tr></thead><tbody><tr class=\"d\"><td class=\"n\"><a href=\"../\">..</a>/</td></tr>\
        <tr class=\"d\"><td class=\"n\"><a href=\"c%20d/\">c d</a>/</td></tr><tr><td><a href=\"e%26f\">e&amp;f</a></td></tr></tbody></table></div></body></html>";
    let ours = "<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"><title>/a b/</title><style>td{x}</style></head>\n<body><h1>/a b/</h1>\n<table>\n\
        <tr><td><a href=\"../\">../</a></td></tr>\n<tr><td><a href=\"./c%20d/\">c d/</a></td></tr><tr><td><a href=\"./e%26f\">e&amp;f</a></td><td>5</td></tr></table></body></html>";
    let iis = "<html><head><title>host - /a b/</title></head><body><H1>host - /a b/</H1><hr><pre><A HREF=\"/\">[To Parent Directory]</A><br><br>\
        9/7/2018  8:49 AM  &lt;dir&gt; <A HREF=\"/a%20b/c%20d/\">c d</A><br> 9/7/2018 8:49 AM 5 <A HREF=\"/a%20b/e&f\">e&amp;f</A><br></pre></body></html>";
    let go = "<!doctype html>\n<meta name=\"viewport\" content=\"width=device-width\">\n<pre>\n<a href=\"c%20d/\">c d/</a>\n<a href=\"e&amp;f\">e&amp;f</a>\n</pre>\n";
    for (server, page) in [("caddy", caddy), ("lighttpd", lighttpd), ("ours", ours), ("iis", iis), ("go", go)] {
        assert_eq!(listed(page).as_deref(), Some(["c d/".to_owned(), "e&f".into()].as_slice()), "{server}");
    }
    assert_eq!(
        listed("<title>Index of /a b/</title><h1>Index of /a b/</h1><hr><pre><a href=\"../\">../</a>\n</pre>"),
        Some(vec![])
    );
}

#[test]
fn other_pages() {
    for page in [
        "",
        "plain text",
        "<title>Log in</title><h1>Log in</h1><a href=\"c\">c</a>",
        "<title>Index of products</title><a href=\"c\">c</a>",
        "<div id=root></div><script>document.title = \"Index of /\"; '<title>Index of /</title>'</script>",
        "<!-- <title>Index of /</title> --><a href=\"c\">c</a>",
        "<p>See <pre><a href=\"c\">c</a></pre>",
        "<h1>404 Not Found</h1>",
    ] {
        assert_eq!(listed(page), None, "{page}");
    }
}

#[test]
fn links_are_meant_from_the_base() {
    let page = |base: &str, href: &str| listed(&format!("<title>Index of /</title>{base}<a href=\"{href}\">x</a>"));
    for (base, href, expected) in [
        ("<base href=\"/a%20b/\">", "c", Some("c")),
        ("<base href=\"/\">", "a%20b/c/", Some("c/")),
        ("<base href=\"/\">", "c", None),
        ("<base href=\"/a%20b/index.html?x#y\">", "c", Some("c")),
        ("<base href=\"http://other/q/../a%20b/\">", "./c", Some("c")),
        ("<base href=\"..\">", "a%20b/c", Some("c")),
        ("<base href=\"/q/\">", "/a%20b/c", Some("c")),
        ("<base href=\"/a%20b/\"><base href=\"/q/\">", "c", Some("c")),
        ("<base href=\"/../x\">", "c", Some("c")),
        ("<base href=\"\">", "c", Some("c")),
        ("<base target=\"_top\">", "c", Some("c")),
    ] {
        let expected: Vec<String> = expected.iter().map(|&name| name.into()).collect();
        assert_eq!(page(base, href), Some(expected), "{base} {href}");
    }
}

#[test]
fn lists_in_json() {
    let listed = |text: &[u8]| {
        let mut all = Vec::new();
        let show = |link: Link| all.push((link.name.into_encoded_bytes(), link.slash));
        json::parse(text, show).then_some(all)
    };
    let nginx = b"[\n{ \"name\":\"c d\", \"type\":\"directory\", \"mtime\":\"Fri, 07 Sep 2018 08:49:58 GMT\" },\n\
        { \"name\":\"pipe\", \"type\":\"other\", \"mtime\":\"Fri, 07 Sep 2018 08:49:58 GMT\" },\n\
        { \"name\":\"e&\\\"f\xff\\u0007\", \"type\":\"file\", \"mtime\":\"Fri, 07 Sep 2018 08:49:58 GMT\", \"size\":5 }\n]\n";
    assert_eq!(listed(nginx), Some(vec![(b"c d".to_vec(), true), (b"e&\"f\xff\x07".to_vec(), false)]));
    assert_eq!(listed(b"[\n\n]\n"), Some(vec![]));
    for end in 0..nginx.len() - 1 {
        assert_eq!(listed(&nginx[..end]), None, "{end}");
    }
    for other in [
        "",
        "{}",
        "{\"name\":\"a\",\"type\":\"file\"}",
        "[1]",
        "[{\"name\":\"a\"}]",
        "[{\"name\":1,\"type\":\"file\"}]",
        "[{\"name\":\"a\",\"type\":\"user\"}]",
        "[] x",
    ] {
        assert_eq!(listed(other.as_bytes()), None, "{other}");
    }
}
