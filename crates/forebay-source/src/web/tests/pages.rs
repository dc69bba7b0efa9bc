//! Pages of more servers, and the links on them that are no names.

use crate::web::entries::Classes;
use crate::web::index::{self, Folder, Link};
use crate::web::names::segments;
use crate::web::xml;

/// The names in a page of a folder of `http://host`, those of folders with a slash.
fn listed(folder: &str, page: &str) -> Option<Vec<String>> {
    let folder = Folder { path: segments(folder.as_bytes()).unwrap(), host: Some("host".into()) };
    let mut all = Vec::new();
    let classes: Classes = index::parse(page.as_bytes(), &folder, |class, link| all.push((class.number(), link)))?;
    let links = all.into_iter().filter(|(class, _)| classes.has(*class)).map(|(_, link)| link);
    Some(links.map(|Link { name, slash }| format!("{}{}", name.display(), if slash { "/" } else { "" })).collect())
}

#[test]
fn listings_by_their_titles() {
    let entries =
        "<table><tr><td><a href=\"sub/\">sub/</a></td></tr><tr><td><a href=\"f.txt\">f.txt</a></td></tr></table>";
    for (title, folder) in [
        ("Index of linux/", "/linux/"),
        ("Index of libs-release/org", "/artifactory/libs-release/org/"),
        ("Index of ./", "/"),
        ("Index of ./", "/sub/"),
        ("Files within o3/", "/"),
        ("Files within o3/sub/", "/sub/"),
        ("listing directory /", "/"),
        ("listing directory /a/b", "/a/b/"),
        ("Central Repository: org/apache", "/maven2/org/apache/"),
    ] {
        let page = format!("<html><head><title>{title}</title></head><body>{entries}</body></html>");
        assert_eq!(listed(folder, &page).as_deref(), Some(["sub/".to_owned(), "f.txt".into()].as_slice()), "{title}");
    }
    for (title, folder) in [
        ("Index of products", "/products/"),
        ("Index of goods/prices", "/linux/"),
        ("Index of ", "/"),
        ("Files within reach", "/"),
        ("Central Repository: news", "/news/"),
    ] {
        let page = format!("<html><head><title>{title}</title></head><body>{entries}</body></html>");
        assert_eq!(listed(folder, &page), None, "{title}");
    }
}

#[test]
fn listings_by_their_links() {
    let page = |links: &str| listed("/releases/x/", &format!("<title>Versions</title><h1>Versions</h1>{links}"));
    let found = |names: &[&str]| Some(names.iter().map(ToString::to_string).collect::<Vec<_>>());
    let up = "<li><a href=\"../\">../</a></li>";
    assert_eq!(
        page(&format!("<ul>{up}<li><a href=\"/releases/x/sub/\">sub</a><li><a href=\"f.txt\">f.txt</a></ul>")),
        found(&["sub/", "f.txt"])
    );
    assert_eq!(
        page(
            "<a href=\"?C=N;O=D\">Name</a><a href=\"/releases/\">Parent Directory</a> \
              <a href=\"f_with_a_long_name.txt\">f_with_a_long_..&gt;</a>"
        ),
        found(&["f_with_a_long_name.txt"])
    );
    for other in [
        // A manual, whose links have texts of their own.
        &format!("{up}<a href=\"intro.html\">Introduction</a>"),
        "<a href=\"../\">Up</a><a href=\"intro.html\">intro.html</a>",
        // Links that listings do not have.
        &format!("{up}<a href=\"f.txt\">f.txt</a><a href=\"/login\">Log in</a>"),
        &format!("{up}<a href=\"f.txt\">f.txt</a><a href=\"https://example.com/\">example</a>"),
        &format!("{up}<a href=\"f.txt\">f.txt</a><a href=\"#top\">top</a>"),
        // No names, or no way up.
        up,
        "<a href=\"f.txt\">f.txt</a>",
    ] {
        assert_eq!(page(other), None, "{other}");
    }
}

#[test]
fn folders_of_express_have_no_slash() {
    let page = "<title>listing directory /</title><h1><a href=\"/\">~</a> / </h1><ul id=\"files\">\
        <li><a href=\"/sub\" class=\"icon icon-directory\" title=\"sub\"><span>sub</span></a></li>\
        <li><a href=\"/f.txt\" class=\"icon icon icon-txt icon-text\" title=\"f.txt\"><span>f.txt</span></a></li></ul>";
    assert_eq!(listed("/", page).unwrap(), ["sub/", "f.txt"]);
}

#[test]
fn links_of_headers_and_footers_are_no_names() {
    let title = "<title>Index of /d/</title>";
    let nginx = "<h1>Index of /d/</h1><hr><pre><a href=\"../\">../</a>\n<a href=\"f.txt\">f.txt</a>\n</pre><hr>";
    let footer = "<footer><a href=\"contact\">c</a> <a href=\"imprint.html\">i</a> <a href=\"/d/help\">h</a></footer>";
    let table = "<table><tr><td><a href=\"f.txt\">f.txt</a></td></tr></table>";
    let list = "<ul><li><a href=\"f.txt\">f.txt</a></li></ul>";
    let foreign = "<a href=\"https://example.com/d/phantom\">x</a>";
    for (page, expected) in [
        (format!("{nginx}{footer}"), &["f.txt"][..]),
        (format!("<pre><a href=\"../\">../</a>\n</pre>{footer}"), &[]),
        (format!("{table}<a href=\"contact\">c</a>"), &["f.txt"]),
        (format!("{list}<a href=\"contact\">c</a>"), &["f.txt"]),
        // A menu in a list is no listing, if there are more names beside it.
        ("<ul><li><a href=\"m\">m</a></ul><a href=\"a\">a</a> <a href=\"b\">b</a>".to_owned(), &["m", "a", "b"]),
        (format!("<a href=\"f.txt\">f.txt</a>{foreign}"), &["f.txt"]),
        (format!("<a href=\"http://host:81/d/f.txt\">f.txt</a>{foreign}"), &["f.txt"]),
        // Behind a proxy, all names have another host.
        ("<a href=\"http://inner:8080/d/f.txt\">f</a><a href=\"//inner/d/g\">g</a>".into(), &["f.txt", "g"]),
        (format!("<template><a href=\"ghost\">x</a></template>{nginx}"), &["f.txt"]),
    ] {
        assert_eq!(listed("/d/", &format!("{title}{page}")).unwrap(), expected, "{page}");
    }
    // The root of webfsd, with no file in it.
    let webfsd = "<title>listing: /</title><h1>listing: /</h1><hr><pre><b>access</b> name\n</pre><hr>\
        <small><a href=\"http://bytesex.org/webfs.html\">webfs</a> 1.21</small>";
    let own = "<a href=\"/\">/</a>";
    assert_eq!(listed("/", &webfsd.replacen("listing: /</h1>", &format!("listing: {own}</h1>"), 1)), Some(vec![]));
}

#[test]
fn lists_in_xml() {
    let listed = |text: &[u8]| {
        let mut all = Vec::new();
        let show = |link: Link| all.push((link.name.into_encoded_bytes(), link.slash));
        xml::parse(text, show).then_some(all)
    };
    let nginx = b"<?xml version=\"1.0\"?>\n<list>\n<directory mtime=\"2018-09-07T08:49:58Z\">c d</directory>\n\
        <other mtime=\"2018-09-07T08:49:58Z\">pipe</other>\n\
        <file mtime=\"2018-09-07T08:49:58Z\" size=\"5\">e&amp;f &lt;\xff</file>\n</list>\n";
    assert_eq!(listed(nginx), Some(vec![(b"c d".to_vec(), true), (b"e&f <\xff".to_vec(), false)]));
    assert_eq!(listed(b"<list>\n</list>"), Some(vec![]));
    let end = nginx.len() - b"</list>\n".len();
    for end in 0..end {
        assert_eq!(listed(&nginx[..end]), None, "{end}");
    }
    for other in [
        "",
        "<lists></lists>",
        "<list><file>a<b/></file></list>",
        "<list><dir>a</dir></list>",
        "<list>text</list>",
        "<list></list><list></list>",
        "<feed><file>a</file></feed>",
    ] {
        assert_eq!(listed(other.as_bytes()), None, "{other}");
    }
}
