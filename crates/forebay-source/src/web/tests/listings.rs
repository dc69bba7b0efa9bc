//! WebDAV listings in every shape: all names and bytes, or an error.

use forebay_testkit::files::Files;
use forebay_testkit::odd_web::Outcome;
use forebay_testkit::webdav_listing::{Encoding, Shape, WebDav};

use super::*;

fn files() -> Files {
    [("a b/x.txt", "x y"), ("a b/nested/deep", "deep"), ("a b/empty", ""), ("top", "top of all")].into()
}

/// The folders of [`files`], with their entries.
const FOLDERS: [(&str, &[&str]); 3] =
    [("", &["a b/", "top"]), ("a b", &["empty", "nested/", "x.txt"]), ("a b/nested", &["deep"])];

fn check(shape: Shape) -> Result<(), String> {
    let server = WebDav::start(files(), shape).unwrap();
    let source = Tried::new(&server.url());
    let mut wrong = Vec::new();
    for (folder, expected) in FOLDERS {
        match source.names(folder) {
            Ok(names) if names == expected => {}
            Ok(names) => return Err(format!("{shape:?}: {folder:?} lists {names:?}")),
            Err(error) => wrong.push(format!("{folder:?}: {error}")),
        }
    }
    for (path, bytes) in files().iter() {
        match source.read_all(os(path)) {
            Ok(got) if got == bytes => {}
            other => return Err(format!("{shape:?}: {:?}: {other:?}", os(path))),
        }
    }
    println!("{shape:?}: {wrong:?}");
    match shape.outcome() {
        Outcome::Right if !wrong.is_empty() => Err(format!("{shape:?}: {wrong:?}")),
        Outcome::Error if wrong.len() < FOLDERS.len() => Err(format!("{shape:?}: {wrong:?}")),
        _ => Ok(()),
    }
}

#[test]
fn every_shape() {
    let wrong: Vec<String> = Shape::every().into_iter().filter_map(|shape| check(shape).err()).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn odd_names_in_every_encoding() {
    let every = Shape::every();
    let encodings =
        every.into_iter().filter(|shape| matches!(shape, Shape::Encoding(_) | Shape::Plain | Shape::Address(_)));
    for shape in encodings {
        let (files, server) = (Files::odd_names(), WebDav::start(Files::odd_names(), shape).unwrap());
        let source = Tried::new(&server.url());
        let names = source.page("").map(|page| page.into_keys().collect::<Vec<_>>());
        let mut expected: Vec<&OsStr> =
            files.iter().map(|(name, _)| os(name.split(|byte| *byte == b'/').next().unwrap())).collect();
        expected.sort();
        expected.dedup();
        match names {
            Ok(names) if names == expected => {}
            // These two write one address for several names.
            Ok(_) if matches!(shape, Shape::Encoding(Encoding::Percent | Encoding::Bytes)) => {}
            Ok(names) => panic!("{shape:?}: {names:?}"),
            Err(error) => println!("{shape:?}: {error}"),
        }
        for (name, bytes) in files.iter() {
            assert_eq!(source.read_all(os(name)).unwrap(), bytes, "{shape:?}: {:?}", os(name));
        }
    }
}

#[test]
fn a_listing_costs_a_request_and_so_does_a_name() {
    let server = WebDav::start(files(), Shape::Plain).unwrap();
    let source = Tried::new(&server.url());
    source.page("").unwrap();
    server.requests().clear();
    let listed = source.page("a b").unwrap();
    assert_eq!(server.requests().all().len(), 1);
    assert_eq!(listed[OsStr::new("x.txt")], source.look("a b/x.txt").unwrap());
    assert!(matches!(source.look("a b/nothing"), Err(Error::NotFound(_))));
    assert_eq!(server.requests().all().len(), 3);
    assert_eq!(source.page("a b/x.txt").unwrap_err().errno(), libc::ENOTDIR);
    assert!(matches!(source.page("nothing"), Err(Error::NotFound(_))));
}
