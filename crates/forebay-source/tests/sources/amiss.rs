//! Answers that no S3 store gives, and those that reveal a setting to mend.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::Path;
use std::time::{Duration, Instant};

use forebay_source::object::StoreOptions;
use forebay_source::uri::open_source;
use forebay_source::{Error, RemoteSource, Source};
use forebay_testkit::breaking::{BreakingProxy, Fault};
use forebay_testkit::need;
use forebay_testkit::nginx::{Features, Nginx};
use forebay_testkit::odd_web::{OddWeb, Oddity};
use forebay_testkit::s3::S3;
use object_store::{Attribute, PutOptions};

use crate::{fresh, read_all};

fn options(endpoint: String) -> StoreOptions {
    let patience = Duration::from_secs(1);
    let settings = S3::settings();
    StoreOptions { endpoint: Some(endpoint), region: Some("us-east-1".into()), settings, patience, ..fresh(8) }
}

/// The line that refuses a source.
fn refusal(uri: &str, options: &StoreOptions) -> String {
    let error = open_source(OsStr::new(uri), options).err().unwrap_or_else(|| panic!("{uri} opens")).to_string();
    assert!(!error.contains('\n'), "{error}");
    error
}

#[test]
fn a_web_server_is_no_store() {
    let nginx = need!("nginx");
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("bucket")).unwrap();
    std::fs::write(folder.path().join("bucket/page.html"), "<html>hello</html>").unwrap();
    for (json, words) in [(false, "is a page of HTML instead of a listing"), (true, "is JSON instead of a listing")] {
        let features = Features { autoindex: true, json, ..Features::default() };
        let server = Nginx::start_with(&nginx, folder.path(), features).unwrap();
        let said = refusal("s3://bucket", &options(server.url()));
        assert!(said.starts_with(&format!("s3://bucket at {}: the answer {words}", server.url())), "{said}");
        assert!(said.contains("is this the endpoint of an S3 store?"), "{said}");
        let google = StoreOptions { anonymous: true, settings: Vec::new(), ..options(server.url()) };
        assert!(refusal("gs://bucket", &google).contains(words));
    }
}

#[test]
fn a_portal_makes_neither_files_nor_empty_folders() {
    let s3 = S3::start(&need!("versitygw")).unwrap();
    s3.put("folder/file", b"content").unwrap();
    let proxy = BreakingProxy::start(s3.address(), Fault::None).unwrap();
    let source = RemoteSource::open_uri("s3://bucket", &options(proxy.url())).unwrap();
    source.check().unwrap();
    let object = source.open(Path::new("folder/file")).unwrap();
    for fault in [Fault::Portal, Fault::ErrorInOk] {
        proxy.set(fault.clone());
        for path in ["", "folder", "folder/file", "none"] {
            let path = Path::new(path);
            assert_eq!(source.list(path).unwrap_err().errno(), libc::EIO, "{fault:?}: {path:?}");
        }
        for path in ["folder", "folder/file", "none"] {
            assert_eq!(source.stat(Path::new(path)).unwrap_err().errno(), libc::EIO, "{fault:?}: {path:?}");
        }
        assert_eq!(crate::fetch(&*object, 0, 7).unwrap_err().errno(), libc::EIO, "{fault:?}");
        assert!(source.check().is_err(), "{fault:?}");
    }
    // A portal that answers for objects alone.
    proxy.set_for("/none", Fault::Portal);
    assert_eq!(source.stat(Path::new("none")).unwrap_err().errno(), libc::EIO);
    proxy.set(Fault::None);
    assert!(read_all(&source, Path::new("folder/file")).unwrap() == b"content");
    assert_eq!(source.stat(Path::new("none")).unwrap_err().errno(), libc::ENOENT);
}

/// An object may be a page of HTML.
#[test]
fn objects_of_html_are_files() {
    let s3 = S3::start(&need!("versitygw")).unwrap();
    let kind = [(Attribute::ContentType, "text/html; charset=utf-8")];
    let put = PutOptions { attributes: kind.into_iter().collect(), ..PutOptions::default() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(s3.store().put_opts(&"page.html".into(), "<html>hello</html>".into(), put)).unwrap();
    let source = RemoteSource::open_uri("s3://bucket", &options(s3.endpoint())).unwrap();
    assert!(read_all(&source, Path::new("page.html")).unwrap() == b"<html>hello</html>");
    let names: BTreeSet<_> = source.list(Path::new("")).unwrap().into_iter().map(|entry| entry.name).collect();
    assert_eq!(names, BTreeSet::from(["page.html".into()]));
}

/// The server is real, and accepts no signature for another region.
#[test]
fn a_bucket_of_another_region_is_found_unless_a_region_was_said() {
    let s3 = S3::start_in_region(&need!("versitygw"), "eu-west-1").unwrap();
    s3.put("file", b"content").unwrap();
    let said = refusal("s3://bucket", &options(s3.endpoint()));
    let expected = "the bucket is in the region eu-west-1: give --region eu-west-1";
    assert!(said.starts_with("s3://bucket at http://127.0.0.1:") && said.contains(expected), "{said}");
    let unsaid = StoreOptions { region: None, ..options(s3.endpoint()) };
    let (_, source) = open_source(OsStr::new("s3://bucket"), &unsaid).unwrap();
    assert!(source.address().ends_with(" in eu-west-1"), "{}", source.address());
    assert!(read_all(&*source, Path::new("file")).unwrap() == b"content");
}

#[test]
fn what_a_setting_would_mend_is_not_tried_again() {
    let s3 = S3::start(&need!("versitygw")).unwrap();
    s3.put("file", b"content").unwrap();
    let proxy = BreakingProxy::start(s3.address(), Fault::None).unwrap();
    let patient = StoreOptions { patience: Duration::from_secs(600), ..options(proxy.url()) };
    let source = RemoteSource::open_uri("s3://bucket", &patient).unwrap();
    let expired = "the server says ExpiredToken; the credentials have expired: log in again, or renew them";
    for (fault, words, errno) in [
        (Fault::OtherRegion, "in the region eu-west-1", libc::EIO),
        (Fault::OtherConstraint, "in the region eu-west-1: give --region eu-west-1", libc::EIO),
        (Fault::Skew, "the clock of this machine is wrong; set the clock", libc::EIO),
        (Fault::ExpiredToken(400), expired, libc::EACCES),
        (Fault::ExpiredToken(403), expired, libc::EACCES),
    ] {
        proxy.set(fault.clone());
        proxy.requests().clear();
        let said = refusal("s3://bucket", &patient);
        assert!(said.contains(words), "{fault:?}: {said}");
        assert_eq!(proxy.requests().all().len(), 1, "{fault:?}");
        assert_eq!(source.list(Path::new("")).unwrap_err().errno(), errno, "{fault:?}");
        assert_eq!(proxy.requests().all().len(), 2, "{fault:?}");
        assert_eq!(source.stat(Path::new("file")).unwrap_err().errno(), errno, "{fault:?}");
        // A page, then the name by itself if a refusal may be of the folder alone.
        assert!(proxy.requests().all().len() <= 5, "{fault:?}");
    }
    // The bucket is looked for in the region that the server names, once.
    proxy.set(Fault::OtherRegion);
    proxy.requests().clear();
    let unsaid = StoreOptions { region: None, ..patient };
    refusal("s3://bucket", &unsaid);
    assert_eq!(proxy.requests().all().len(), 2);
}

#[test]
fn messages_say_what_to_do() {
    let s3 = S3::start(&need!("versitygw")).unwrap();
    s3.put("folder/small.txt", b"content").unwrap();
    let proxy = BreakingProxy::start(s3.address(), Fault::SlowDown).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "content").unwrap();
    let (file, folder) = (file.to_str().unwrap(), folder.path().to_str().unwrap());
    let encrypted = s3.endpoint().replace("http", "https");
    for (uri, endpoint, expected) in [
        (
            "s3://bucket/folder/small.txt",
            s3.endpoint(),
            "small.txt: this is an object, not a folder; mount s3://bucket/folder to",
        ),
        ("s3://bucket", proxy.url(), &*format!("s3://bucket at {}: the server answered 503 (SlowDown)", proxy.url())),
        ("s3://bucket", encrypted, "the server speaks without encryption there, with http://"),
        ("s3://buc ket/x", s3.endpoint(), "s3://buc ket/x: \"buc ket\" is the name of no bucket"),
        ("s3://bucket:80/x", s3.endpoint(), "\"bucket:80\" is the name of no bucket"),
        (file, s3.endpoint(), &*format!("{file} is a file; give the folder that it is in: {folder}")),
    ] {
        let said = refusal(uri, &options(endpoint));
        assert!(said.contains(expected), "{said}");
        assert!(!said.contains("Generic") && said.matches("SlowDown").count() < 2, "{said}");
    }
}

/// One byte before each silence that is too long: such a body has no end.
#[test]
fn a_body_that_drips_is_given_up_with_the_patience() {
    let s3 = S3::start(&need!("versitygw")).unwrap();
    s3.put("file", &[7; 9000]).unwrap();
    let proxy = BreakingProxy::start(s3.address(), Fault::None).unwrap();
    let web = OddWeb::start([("file", [7; 9000])], Oddity::Plain).unwrap();
    let options = StoreOptions { patience: Duration::from_millis(1500), ..options(proxy.url()) };
    let (bytes, pause) = (1, Duration::from_millis(300));
    for url in ["s3://bucket".to_owned(), web.url()] {
        let source = RemoteSource::open_uri(&url, &options).unwrap();
        let object = source.open(Path::new("file")).unwrap();
        proxy.set(Fault::Drip { bytes, pause });
        web.set(Oddity::Drip { bytes, pause });
        let began = Instant::now();
        let error = crate::fetch(&*object, 0, 9000).unwrap_err();
        assert!(matches!(error, Error::GivenUp { .. }) && error.to_string().contains("too slowly"), "{url}: {error}");
        assert!(began.elapsed() < Duration::from_secs(60), "{url}: it took {:?}", began.elapsed());
        proxy.set(Fault::None);
        web.set(Oddity::Plain);
        assert!(crate::fetch(&*object, 0, 9000).unwrap() == [7; 9000], "{url}");
    }
}
