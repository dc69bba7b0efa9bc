//! Files that change while they are read.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use forebay_testkit::trees::content;

use crate::{ask, curl, forgetful, serve};
use forebay_serve::Options;

#[test]
fn a_change_under_way_cuts_the_answer() {
    const SIZE: usize = 128 << 20;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    let bytes = content(1, SIZE);
    fs::write(&file, &bytes).unwrap();
    // More than the server's cache and all buffers on the way hold.
    let server = serve(folder.path(), forgetful());
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.write_all(b"GET /file HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    let mut begun = vec![0; 100_000];
    stream.read_exact(&mut begun).unwrap();
    fs::write(&file, content(2, SIZE)).unwrap();
    let mut rest = Vec::new();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let _ = stream.read_to_end(&mut rest);
    let all = [begun, rest].concat();
    let answer = crate::parse(&all);
    assert_eq!(answer.status, 200);
    assert!(answer.body.len() < SIZE, "it was cut");
    assert!(bytes.starts_with(&answer.body), "and what came was of the version that it began with");
    let anew = curl(&["--range", "0-9", &format!("http://{}/file", server.address())]);
    assert!(anew.status == 206 && anew.body == content(2, SIZE)[..10]);
}

#[test]
fn a_version_is_never_mixed_with_another() {
    const SIZE: usize = 300_000;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    let version = |number: u64| content(number, SIZE);
    fs::write(&file, version(0)).unwrap();
    // Names are taken as unchanged for a second, so old versions are asked for, too.
    let server = serve(folder.path(), Options::default());
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 1..=60 {
                if number % 2 == 0 {
                    fs::write(&file, version(number)).unwrap();
                } else {
                    let other = folder.path().join("other");
                    fs::write(&other, version(number)).unwrap();
                    fs::rename(&other, &file).unwrap();
                }
                std::thread::sleep(Duration::from_millis(5));
            }
            done.store(true, Ordering::SeqCst);
        });
        let versions: Vec<Vec<u8>> = (0..=60).map(version).collect();
        while !done.load(Ordering::SeqCst) {
            let whole = ask(&server, "GET /file", "");
            if whole.status != 200 || whole.body.len() != SIZE {
                // It was being written, or changed under way: refused or cut, as it should be.
                continue;
            }
            assert!(versions.contains(&whole.body), "bytes of no version, or of two");
        }
    });
    let mut last = Vec::new();
    crate::eventually("the last version is seen", || {
        last = ask(&server, "GET /file", "").body;
        last == version(60)
    });
}

#[test]
fn what_is_gone_is_not_found() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "bytes").unwrap();
    let server = serve(folder.path(), forgetful());
    assert_eq!(ask(&server, "GET /file", "").text(), "bytes");
    fs::remove_file(folder.path().join("file")).unwrap();
    assert_eq!(ask(&server, "GET /file", "").status, 404);
    fs::create_dir(folder.path().join("file")).unwrap();
    assert_eq!(ask(&server, "GET /file", "").status, 301);
}
