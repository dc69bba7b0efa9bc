//! Odd names, links, folders, and files that must not be reached.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use forebay_testkit::trees::OddTree;

use crate::{ask, curl, forgetful, local, serve, tree};
use forebay_serve::Server;

/// A path as it stands in an address, each byte escaped that is not a letter or digit.
fn escape(path: &std::path::Path) -> String {
    let bytes = path.as_os_str().as_bytes().iter();
    bytes
        .map(|&byte| {
            if byte.is_ascii_alphanumeric() || byte == b'/' {
                char::from(byte).to_string()
            } else {
                format!("%{byte:02X}")
            }
        })
        .collect()
}

#[test]
fn every_odd_file_reads_as_it_is() {
    let odd = OddTree::new(7).unwrap();
    let server = serve(&odd.root(), forgetful());
    for file in &odd.files {
        let url = format!("http://{}/{}", server.address(), escape(file));
        if file.as_os_str() == "sparse" {
            let end = curl(&["--range", "-200", &url]);
            let size = fs::metadata(odd.root().join(file)).unwrap().len();
            assert_eq!(end.header("content-range"), Some(format!("bytes {}-{}/{size}", size - 200, size - 1).as_str()));
            continue;
        }
        let answer = curl(&[&url]);
        assert_eq!(answer.status, 200, "{}", file.display());
        assert!(answer.body == fs::read(odd.root().join(file)).unwrap(), "{}", file.display());
    }
}

#[test]
fn nothing_outside_is_reached() {
    let odd = OddTree::new(8).unwrap();
    let server = serve(&odd.root(), forgetful());
    for path in ["/../secret", "/%2e%2e/secret", "/level0/../../secret", "/..%2fsecret", "/level0/%2E%2E/%2e%2e/secret"]
    {
        let answer = ask(&server, &format!("GET {path}"), "");
        assert!(matches!(answer.status, 400 | 404), "{path}: {}", answer.status);
        assert!(!answer.text().contains("must not"), "{path}");
    }
    for escape_link in &odd.escapes {
        let answer = curl(&[&format!("http://{}/{}", server.address(), escape(escape_link))]);
        assert!(matches!(answer.status, 403 | 404), "{}: {}", escape_link.display(), answer.status);
    }
    assert_eq!(curl(&[&format!("http://{}/pipe", server.address())]).status, 403, "a pipe is not waited for");
}

#[test]
fn links_are_what_they_lead_to_and_no_walk_is_endless() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    fs::create_dir_all(root.join("a/deep")).unwrap();
    fs::create_dir(root.join("b")).unwrap();
    fs::write(root.join("a/file"), "bytes").unwrap();
    for (link, target) in [
        ("to-file", "a/file"),
        ("to-folder", "a"),
        ("b/to-link", "../to-folder/file"),
        ("a/up", ".."),
        ("a/deep/self", "."),
        ("a/to-b", "../b"),
        ("b/to-a", "../a"),
        ("loop", "loop"),
        ("nowhere", "nothing"),
    ] {
        symlink(target, root.join(link)).unwrap();
    }
    let server = serve(root, forgetful());
    let status = |path: &str| curl(&[&format!("http://{}{path}", server.address())]).status;
    for path in ["/to-file", "/to-folder/file", "/b/to-link", "/a/to-b/to-link", "/b/to-a/file"] {
        assert_eq!(curl(&[&format!("http://{}{path}", server.address())]).text(), "bytes", "{path}");
    }
    for path in ["/a/up/", "/a/up/a/file", "/a/deep/self/", "/a/to-b/to-a/", "/loop", "/nowhere", "/to-file/x"] {
        assert_eq!(status(path), 404, "{path}");
    }
    // All names, of which there must be finitely many.
    let all = ask(&server, "PROPFIND /", "Depth: infinity\r\n");
    assert_eq!(all.status, 207);
    assert!(all.text().contains("<D:href>/b/to-a/deep/</D:href>") && !all.text().contains("/up"), "{}", all.text());
}

#[test]
fn all_names_below_a_folder_are_listed_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut expected = vec!["/".to_owned()];
    for number in 0..600 {
        let name = format!("{number:03}");
        match number % 3 {
            0 => fs::write(folder.path().join(&name), "x").unwrap(),
            1 => {
                fs::create_dir_all(folder.path().join(&name).join("in it/deep")).unwrap();
                fs::write(folder.path().join(&name).join("in it/file"), "x").unwrap();
                let below = ["", "in%20it/", "in%20it/deep/", "in%20it/file"];
                expected.extend(below.map(|path| format!("/{name}/{path}")));
                continue;
            }
            _ => {
                std::os::unix::fs::symlink("001/in it", folder.path().join(&name)).unwrap();
                expected.extend(["", "deep/", "file"].map(|path| format!("/{name}/{path}")));
                continue;
            }
        }
        expected.push(format!("/{name}"));
    }
    let server = serve(folder.path(), forgetful());
    let text = ask(&server, "PROPFIND /", "Depth: infinity\r\n").text();
    let hrefs = text.split("<D:href>").skip(1).map(|rest| rest.split('<').next().unwrap());
    let mut listed: Vec<&str> = hrefs.collect();
    listed.sort_unstable();
    expected.sort_unstable();
    assert_eq!(listed, expected);
}

#[test]
fn folders_are_pages_whose_links_lead_to_their_names() {
    let folder = tempfile::tempdir().unwrap();
    let odd: [&[u8]; 6] = [b"<script>alert(1)", b"a:b", b"a&b \"c\"", b"\xff", b"100%", b"x\ny"];
    for name in &odd {
        fs::write(folder.path().join(OsStr::from_bytes(name)), name).unwrap();
    }
    fs::create_dir(folder.path().join("be low")).unwrap();
    let server = serve(folder.path(), forgetful());
    let page = curl(&[&format!("http://{}/", server.address())]);
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    let text = page.text();
    assert!(!text.contains("<script>") && text.contains("&lt;script&gt;"), "{text}");
    let hrefs: Vec<&str> = text.split("href=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    for name in &odd {
        let found = hrefs.iter().any(|href| {
            let href = href.strip_prefix("./").unwrap_or(href);
            curl(&[&format!("http://{}/{href}", server.address())]).body == *name
        });
        assert!(found, "{name:?} in {hrefs:?}");
    }
    assert!(hrefs.contains(&"./be%20low/"), "{hrefs:?}");
    // The same names for a mount, by WebDAV, whose listing proves that there are no others.
    let listed = ask(&server, "PROPFIND /", "Depth: 1\r\nUser-Agent: forebay/1\r\n").text();
    for name in &odd {
        let href = format!("<D:href>/{}</D:href>", escape(std::path::Path::new(OsStr::from_bytes(name))));
        let unescaped = href.replace("%3A", ":").replace("%28", "(").replace("%29", ")");
        assert!(listed.contains(&href) || listed.contains(&unescaped), "{href} is not in {listed}");
    }
    // Without the slash its relative links would lead elsewhere.
    let moved = curl(&[&format!("http://{}/be%20low", server.address())]);
    assert_eq!((moved.status, moved.header("location")), (301, Some("./be%20low/")));
}

#[test]
fn several_sources_are_folders() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::write(one.path().join("file"), "one").unwrap();
    fs::write(other.path().join("file"), "other").unwrap();
    let tree = tree(vec![(Some("one"), local(one.path())), (Some("the other"), local(other.path()))]);
    let server = Server::start(tree, ([127, 0, 0, 1], 0).into(), forgetful()).unwrap();
    let get = |path: &str| curl(&[&format!("http://{}{path}", server.address())]);
    assert_eq!(get("/one/file").text(), "one");
    assert_eq!(get("/the%20other/file").text(), "other");
    assert!(get("/").text().contains("./the%20other/"));
    assert_eq!((get("/none/file").status, get("/one").status, get("/one/").status), (404, 301, 200));
    let listed = ask(&server, "PROPFIND /", "Depth: infinity\r\n").text();
    assert!(listed.contains("<D:href>/the%20other/file</D:href>"), "{listed}");
}
