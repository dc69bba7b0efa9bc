//! Real servers: their listings, and every byte of their files.

use std::fs;

use forebay_testkit::need;
use forebay_testkit::nginx::{self, Nginx};
use forebay_testkit::trees::content;
use forebay_testkit::web::apache::{self, Apache, Index};
use forebay_testkit::web::python::Python;
use forebay_testkit::web::rclone::{Protocol, Rclone};
use forebay_testkit::web::wsgidav::Wsgidav;

use super::*;

/// Names that are hard to write into an address.
const NAMES: [&[u8]; 14] = [
    b"plain.txt",
    b"a b&c.bin",
    b"100% x",
    b"%41",
    b"a#b",
    b"a?b",
    b"a;b=c",
    b"a+b",
    b"[a]",
    b"a:b",
    b"a'b\"c",
    b"<a>",
    "ünïcödé 名前".as_bytes(),
    b"~tilde",
];

struct Tree(tempfile::TempDir);

/// The kinds of listing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Lists {
    /// Names, kinds and lengths.
    Facts,
    /// Names and kinds.
    Names,
    No,
}

impl Tree {
    fn new() -> Tree {
        let tree = Tree(tempfile::tempdir().unwrap());
        fs::create_dir_all(tree.path().join("folder/nested")).unwrap();
        fs::create_dir(tree.path().join("nothing in it")).unwrap();
        fs::write(tree.path().join("big"), content(7, 1_000_003)).unwrap();
        fs::write(tree.path().join("empty"), "").unwrap();
        fs::write(tree.path().join("one"), "1").unwrap();
        for name in NAMES {
            fs::write(tree.path().join("folder").join(os(name)), name).unwrap();
        }
        tree
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn check(&self, url: &str, lists: Lists) {
        let source = Tried::with(url, &WebOptions::default());
        self.names(&source, lists);
        self.bytes(&source);
        // Once more by a URL without a slash, and by that of one file.
        let below = Tried::with(&format!("{url}/folder"), &WebOptions::default());
        assert_eq!(below.read_all("plain.txt").unwrap(), b"plain.txt");
        assert!(matches!(below.look("nested"), Ok(Told::Folder(_))));
        let one = Tried::with(&format!("{url}/folder/100%25%20x"), &WebOptions::default());
        assert_eq!(one.read_all("100% x").unwrap(), b"100% x");
        assert_eq!(one.names("").unwrap(), ["100% x"]);
        assert!(matches!(one.look("plain.txt"), Err(Error::NotFound(_))));
        let page = source.page("one").unwrap_err().errno();
        assert!([libc::ENOTDIR, libc::EOPNOTSUPP].contains(&page), "{url}: {page}");
    }

    fn names(&self, source: &Tried, lists: Lists) {
        if lists == Lists::No {
            assert_eq!(source.page("").unwrap_err().errno(), libc::EOPNOTSUPP);
            return assert_eq!(source.page("folder").unwrap_err().errno(), libc::EOPNOTSUPP);
        }
        assert_eq!(source.names("").unwrap(), ["big", "empty", "folder/", "nothing in it/", "one"]);
        let folder = source.page("folder").unwrap();
        let mut expected: Vec<&OsStr> = NAMES.iter().map(|name| os(name)).chain([OsStr::new("nested")]).collect();
        expected.sort();
        assert_eq!(folder.keys().collect::<Vec<_>>(), expected);
        for (name, told) in &folder {
            let path = Path::new("folder").join(name);
            match (told, name == "nested") {
                (Told::Folder(_), true) => {}
                (Told::File(_), false) if lists == Lists::Facts => assert_eq!(source.look(&path).unwrap(), *told),
                (Told::Unmeasured, false) if lists == Lists::Names => {}
                _ => panic!("{name:?}: {told:?}"),
            }
        }
        assert_eq!(source.names("nothing in it").unwrap(), [""; 0]);
        assert!(matches!(source.page("no such folder"), Err(Error::NotFound(_))));
    }

    fn bytes(&self, source: &Tried) {
        assert_eq!(source.read_all("big").unwrap(), content(7, 1_000_003));
        assert_eq!(source.facts("empty").unwrap().size, 0);
        assert_eq!(source.read_all("one").unwrap(), b"1");
        for name in NAMES {
            let path = Path::new("folder").join(os(name));
            assert_eq!(source.read_all(&path).unwrap(), name, "{path:?}");
        }
        for folder in ["folder", "folder/nested", "nothing in it"] {
            assert!(matches!(source.look(folder), Ok(Told::Folder(_))), "{folder}");
        }
        for missing in ["no such name", "folder/no such name", "one/below a file"] {
            let told = source.look(missing);
            assert!(matches!(told, Err(Error::NotFound(_))), "{missing}: {told:?}");
        }
        self.change(source);
    }

    fn change(&self, source: &Tried) {
        let version = source.facts("big").unwrap().version();
        fs::write(self.path().join("big"), content(8, 1_000_004)).unwrap();
        let changed = source.read("big", &version, 0..4096);
        assert!(matches!(changed, Err(Error::Stale(_))), "{changed:?}");
        assert_eq!(source.read_all("big").unwrap(), content(8, 1_000_004));
        fs::remove_file(self.path().join("big")).unwrap();
        let gone = source.read("big", &version, 0..4096);
        assert!(matches!(gone, Err(Error::Stale(_))), "{gone:?}");
        fs::write(self.path().join("big"), content(7, 1_000_003)).unwrap();
    }
}

#[test]
fn nginx() {
    let (program, tree) = (need!("nginx"), Tree::new());
    for (autoindex, json, lists) in [(false, false, Lists::No), (true, false, Lists::Names), (true, true, Lists::Names)]
    {
        let features = nginx::Features { autoindex, json, ..nginx::Features::default() };
        let server = Nginx::start_with(&program, tree.path(), features).unwrap();
        tree.check(&server.url(), lists);
    }
}

#[test]
fn nginx_with_webdav() {
    let (program, tree) = (need!("nginx"), Tree::new());
    need!(nginx::DAV_MODULE);
    let features = nginx::Features { dav: true, ..nginx::Features::default() };
    let server = Nginx::start_with(&program, tree.path(), features).unwrap();
    tree.check(&server.url(), Lists::Facts);
}

#[test]
fn apache() {
    let (program, tree) = (need!("apache2"), Tree::new());
    for index in [Index::Names, Index::Lines, Index::Table] {
        let server = Apache::start(&program, tree.path(), apache::Features { index, dav: false }).unwrap();
        tree.check(&server.url(), Lists::Names);
    }
}

#[test]
fn apache_with_webdav() {
    let (program, tree) = (need!("apache2"), Tree::new());
    let features = apache::Features { dav: true, ..apache::Features::default() };
    let server = Apache::start(&program, tree.path(), features).unwrap();
    tree.check(&server.url(), Lists::Facts);
}

#[test]
fn rclone() {
    let (program, tree) = (need!("rclone"), Tree::new());
    for (protocol, lists) in [(Protocol::Http, Lists::Names), (Protocol::WebDav, Lists::Facts)] {
        let server = Rclone::start(&program, tree.path(), protocol).unwrap();
        tree.check(&server.url(), lists);
    }
}

#[test]
fn wsgidav() {
    let (program, tree) = (need!("wsgidav"), Tree::new());
    let server = Wsgidav::start(&program, tree.path()).unwrap();
    tree.check(&server.url(), Lists::Facts);
}

#[test]
fn python() {
    let (program, tree) = (need!("python3"), Tree::new());
    let server = Python::start(&program, tree.path()).unwrap();
    tree.check(&server.url(), Lists::Names);
}

#[test]
fn a_file_of_more_than_4_gib() {
    let (program, tree) = (need!("nginx"), Tree::new());
    let size = (4 << 30) + 12_345;
    fs::File::create(tree.path().join("large")).unwrap().set_len(size).unwrap();
    let server = Nginx::start(&program, tree.path(), false).unwrap();
    let source = Tried::new(&server.url());
    let facts = source.facts("large").unwrap();
    assert_eq!(facts.size, size);
    assert_eq!(source.read("large", &facts.version(), size - 5..size).unwrap(), [0; 5]);
}
