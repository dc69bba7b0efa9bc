//! Keys of S3 with names that are odd, on real servers.

use std::collections::BTreeMap;
use std::path::Path;

use forebay_source::object::StoreOptions;
use forebay_source::{Kind, RemoteSource, Source};
use forebay_testkit::breaking::{BreakingProxy, Fault};
use forebay_testkit::moto::Moto;
use forebay_testkit::need;
use forebay_testkit::s3::S3;

use crate::{fresh, read_all};

fn open(uri: &str, endpoint: String) -> RemoteSource {
    let (endpoint, region) = (Some(endpoint), Some("us-east-1".into()));
    let options = StoreOptions { endpoint, region, settings: S3::settings(), ..fresh(8) };
    RemoteSource::open_uri(uri, &options).unwrap()
}

fn names(source: &RemoteSource, folder: &str) -> BTreeMap<String, Kind> {
    let entries = source.list(Path::new(folder)).unwrap();
    entries.into_iter().map(|entry| (entry.name.into_string().unwrap(), entry.kind)).collect()
}

/// A server that writes keys as they are, as far as XML has room for them.
#[test]
fn names_with_line_feeds_are_files() {
    let s3 = S3::start(&need!("versitygw")).unwrap();
    let odd = ["line\nfeed", "tab\there", "last\u{7f}", "carriage\r", "dir\n/in\nside"];
    std::fs::create_dir(s3.folder().join("dir\n")).unwrap();
    for key in odd {
        // The server keeps an object's tag beside its file, so both move.
        s3.put("new", key.as_bytes()).unwrap();
        std::fs::rename(s3.folder().join("new"), s3.folder().join(key)).unwrap();
    }
    let proxy = BreakingProxy::start(s3.address(), Fault::None).unwrap();
    let source = open("s3://bucket", proxy.url());
    let root = names(&source, "");
    assert_eq!(proxy.requests().all().len(), 1, "a listing is one request");
    assert_eq!((root.len(), root["dir\n"], root["line\nfeed"]), (5, Kind::Folder, Kind::File), "{root:?}");
    for key in odd {
        assert!(read_all(&source, Path::new(key)).unwrap() == key.as_bytes(), "{key:?}");
        assert_eq!(source.stat(Path::new(&format!("{key}\n"))).unwrap_err().errno(), libc::ENOENT, "{key:?}");
    }
    let inside = open("s3://bucket/dir\n", s3.endpoint());
    inside.check().unwrap();
    assert_eq!(names(&inside, ""), BTreeMap::from([("in\nside".into(), Kind::File)]));
    assert!(read_all(&inside, Path::new("in\nside")).unwrap() == b"dir\n/in\nside");
}

/// A server that encodes keys, and so can tell any of them.
#[test]
fn every_control_character_is_shown_and_what_no_file_can_be_called_is_left_out() {
    let moto = Moto::start(&need!("moto_server")).unwrap();
    let controls: Vec<u8> = (1..=0x1f).chain([0x7f]).filter(|&byte| byte != b'\n').collect();
    for byte in &controls {
        moto.put_encoded(&format!("c%{byte:02X}x"), &[*byte]).unwrap();
    }
    let long = "l".repeat(256);
    for key in ["a+b%20%2B%25", "%EF%BF%BD", "d//x", "d/./x", "d/../x", "d/nul%00", "d/good", &long] {
        moto.put_encoded(key, b"other").unwrap();
    }
    let proxy = BreakingProxy::start(moto.address(), Fault::None).unwrap();
    let source = open("s3://bucket", proxy.url());
    let root = names(&source, "");
    assert_eq!(proxy.requests().all().len(), 1, "a listing is one request");
    assert_eq!(root.len(), controls.len() + 3, "{root:?}");
    for byte in controls {
        let name = format!("c{}x", char::from(byte));
        assert_eq!(root[&name], Kind::File, "{name:?}");
        assert!(read_all(&source, Path::new(&name)).unwrap() == [byte], "{name:?}");
    }
    for name in ["a+b +%", "\u{fffd}"] {
        assert!(read_all(&source, Path::new(name)).unwrap() == b"other", "{name}");
    }
    proxy.requests().clear();
    assert_eq!(names(&source, "d"), BTreeMap::from([("good".into(), Kind::File)]));
    assert_eq!(proxy.requests().all().len(), 1, "a listing is one request");
}

#[test]
fn an_empty_name_in_a_uri_is_refused() {
    let options = StoreOptions { anonymous: true, ..fresh(8) };
    for (uri, reason) in [
        ("s3://bucket//sub", "mount s3://bucket/sub if"),
        ("s3://bucket/a//b/", "mount s3://bucket/a/b if"),
        ("s3://bucket/a//", "mount s3://bucket/a if"),
        ("s3://bucket/a/../b", "\"..\" is the name of no folder"),
    ] {
        let error = RemoteSource::open_uri(uri, &options).err().unwrap_or_else(|| panic!("{uri} opens")).to_string();
        assert!(error.starts_with(uri) && error.contains(reason), "{error}");
    }
    for good in ["s3://bucket", "s3://bucket/", "s3://bucket/a/", "s3://bucket/a/b"] {
        RemoteSource::open_uri(good, &options).unwrap();
    }
}
