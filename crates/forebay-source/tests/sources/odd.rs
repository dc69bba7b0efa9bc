//! Servers that are odd, break and lie: the bytes read are the file's own, or there is an error,
//! and there is always an answer.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use forebay_source::object::StoreOptions;
use forebay_source::{RemoteSource, Source};
use forebay_testkit::breaking::{BreakingProxy, Fault};
use forebay_testkit::files::Files;
use forebay_testkit::need;
use forebay_testkit::odd_web::{OddWeb, Oddity, Outcome};
use forebay_testkit::s3::S3;
use forebay_testkit::trees::content;
use forebay_testkit::webdav_listing::{Shape, WebDav};

use crate::read_all;

/// Three files of one length, so that one could pass for another.
fn files() -> Vec<(String, Vec<u8>)> {
    (0..3).map(|number| (format!("file-{number}"), content(number, 300_000))).collect()
}

fn served() -> Files {
    files().into_iter().map(|(name, bytes)| (name.into_bytes(), bytes)).collect()
}

/// So short that silent servers don't hold up the tests.
fn impatient() -> StoreOptions {
    StoreOptions {
        silence: Duration::from_millis(500),
        patience: Duration::from_secs(2),
        ttl: Duration::ZERO,
        ..StoreOptions::default()
    }
}

/// How many of the files could be read; none has other bytes than its own.
fn read(source: &dyn Source, what: &str) -> usize {
    let readable = |(name, bytes): &(String, Vec<u8>)| {
        let Ok(got) = read_all(source, Path::new(name)) else { return false };
        let other = got.iter().zip(bytes).position(|(got, expected)| got != expected);
        assert!(got == *bytes, "{what}: {name} has {} bytes, others from {other:?} on", got.len());
        true
    };
    files().iter().filter(|file| readable(file)).count()
}

fn web(address: SocketAddr) -> RemoteSource {
    RemoteSource::open_uri(&format!("http://{address}"), &impatient()).unwrap()
}

#[test]
fn web_servers() {
    for oddity in Oddity::every() {
        let server = OddWeb::start(served(), oddity.clone()).unwrap();
        let read = read(&web(server.address()), &format!("{oddity:?}"));
        // A changing file is another version each time, and the password is not given here.
        let may_fail = matches!(oddity, Oddity::Changing | Oddity::Password) || oddity.outcome() != Outcome::Right;
        assert!(read == 3 || may_fail, "{oddity:?}: {read} of 3 files");
    }
}

#[test]
fn listings() {
    for shape in Shape::every() {
        let server = WebDav::start(served(), shape).unwrap();
        let source = web(server.address());
        // The listing may fail; this test is not about names.
        let _ = source.list(Path::new(""));
        assert_eq!(read(&source, &format!("{shape:?}")), 3, "{shape:?}: names that are asked for are there");
    }
}

#[test]
fn object_stores() {
    let s3 = S3::start(&need!("versitygw")).unwrap();
    for (name, bytes) in files() {
        s3.put(&name, &bytes).unwrap();
    }
    let proxy = BreakingProxy::start(s3.address(), Fault::None).unwrap();
    let options = StoreOptions {
        endpoint: Some(proxy.url()),
        region: Some("us-east-1".into()),
        settings: S3::settings(),
        ..impatient()
    };
    for fault in Fault::every() {
        proxy.set(fault.clone());
        let source = RemoteSource::open_uri("s3://bucket", &options).unwrap();
        let _ = source.list(Path::new(""));
        let read = read(&source, &format!("{fault:?}"));
        assert!(read == 3 || fault != Fault::None);
    }
}
