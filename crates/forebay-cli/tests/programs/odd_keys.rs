//! Keys of S3 with control characters, read by unmodified programs.

use std::collections::BTreeSet;
use std::fs;

use forebay_testkit::breaking::{BreakingProxy, Fault};
use forebay_testkit::moto::Moto;
use forebay_testkit::mounts;
use forebay_testkit::need;
use forebay_testkit::s3::BUCKET;

use crate::{Mount, run, text};

#[test]
fn names_with_control_characters_are_files_and_the_log_tells_of_what_is_left_out() {
    if !mounts::possible() {
        return;
    }
    let moto = Moto::start(&need!("moto_server")).expect("a server");
    for key in ["folder/a%01b", "folder/tab%09%1F", "folder/%7F", "folder/plain", "folder//x", "folder/../x"] {
        moto.put_encoded(key, key.as_bytes()).expect("stored");
    }
    let proxy = BreakingProxy::start(moto.address(), Fault::None).expect("a proxy");
    let (uri, endpoint) = (format!("s3://{BUCKET}"), proxy.url());
    let log = tempfile::NamedTempFile::new().expect("a file");
    let source = [&*uri, "--endpoint", &endpoint, "--region", "us-east-1", "--ttl", "10m", "--log-file"];
    let mount = Mount::start(&[&source[..], &[text(log.path())]].concat());
    let root = mount.path();
    proxy.requests().clear();
    let found = run("find", &["folder", "-type", "f", "-printf", "%f\\0%s\\0"], root);
    let found: Vec<&[u8]> = found.split(|&byte| byte == 0).collect();
    let found: BTreeSet<_> = found.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
    let expected = [("a\u{1}b", "12"), ("tab\t\u{1f}", "16"), ("\u{7f}", "10"), ("plain", "12")];
    assert_eq!(found, expected.map(|(name, size)| (name.as_bytes(), size.as_bytes())).into());
    assert!(proxy.requests().all().len() <= 1, "a listing is one request, which may have been made at the start");
    assert_eq!(run("cat", &["folder/a\u{1}b", "folder/\u{7f}"], root), b"folder/a%01bfolder/%7F");
    assert!(!root.join("folder/a\u{2}b").exists());
    let said = fs::read_to_string(log.path()).expect("readable");
    let lines = said.lines().filter(|line| line.contains("are left out")).count();
    assert_eq!(lines, 1, "{said}");
}
