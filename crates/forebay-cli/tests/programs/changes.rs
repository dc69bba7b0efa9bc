//! Files that change under a mount while many programs read them: a reader of a whole file gets one
//! version.
//!
//! Every eight bytes contain the version and the offset, so a mixture shows. Each version is
//! written by one call, a moment after the last: on file systems of disks, reads past the page
//! cache don't see half of a call. The files are in the build's folder, since `/tmp` may be in
//! memory, where reads do see half of a call.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use forebay_testkit::mounts;
use forebay_testkit::need;
use forebay_testkit::s3::{BUCKET, S3};
use rustix::io::Errno;

use crate::{Mount, SetWhenDropped, eventually, text};

/// Words in a file.
const WORDS: u64 = 40_000;

/// How many versions follow the first.
const VERSIONS: u64 = 25;

/// A policy, `--kernel-cache`, and how many of the twelve readers take longer than a version lives.
/// The last line has no prefetching, and no quick reader that brings the rest. There a slow
/// reader's piece is read from the storage when its version may be gone.
const READERS: [(&str, &str, usize); 3] =
    [("competitive", "on", 6), ("competitive", "off", 6), ("none+lru", "off", 12)];

/// Longer than a tick of any kernel's clock, since versions are told apart by time.
const MOMENT: Duration = Duration::from_millis(25);

fn content(version: u64, words: u64) -> Vec<u8> {
    (0..words).flat_map(|word| (version << 32 | word).to_le_bytes()).collect()
}

/// The version that all words of a file agree on, or `None` if the file is empty.
fn version(bytes: &[u8]) -> Option<u64> {
    assert_eq!(bytes.len() % 8, 0, "half a word");
    let words = bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("eight bytes")));
    let first = words.clone().next()? >> 32;
    for (at, word) in words.enumerate() {
        assert_eq!((word >> 32, word & 0xFFFF_FFFF), (first, at as u64), "word {at} of a file of version {first}");
    }
    Some(first)
}

/// Reads a file over more than the life of a version.
fn read_slowly(file: &Path) -> io::Result<Vec<u8>> {
    let (mut file, mut bytes, mut piece) = (File::open(file)?, Vec::new(), vec![0; 64 << 10]);
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(bytes),
            got => bytes.extend_from_slice(&piece[..got]),
        }
        std::thread::sleep(MOMENT / 3);
    }
}

/// Many readers read the file again and again while `change` makes each version of it. A reader may
/// get the error that its version is gone, or that there is no file; no other.
fn read_while(file: &Path, slow: usize, mut change: impl FnMut(u64)) {
    let (over, good) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for reader in 0..12 {
            let (over, good) = (&over, &good);
            scope.spawn(move || {
                let mut newest = 0;
                while !over.load(Ordering::SeqCst) {
                    match if reader < slow { read_slowly(file) } else { fs::read(file) } {
                        Ok(bytes) => {
                            let version = version(&bytes).unwrap_or(newest);
                            assert!(version >= newest, "version {version} after {newest}");
                            newest = version;
                            good.fetch_add(1, Ordering::SeqCst);
                        }
                        Err(error) => {
                            let allowed = [Errno::NOENT, Errno::STALE].map(Errno::raw_os_error);
                            assert!(error.raw_os_error().is_some_and(|errno| allowed.contains(&errno)), "{error}");
                        }
                    }
                }
            });
        }
        let _stop = SetWhenDropped(&over);
        for version in 1..=VERSIONS {
            std::thread::sleep(MOMENT);
            change(version);
        }
        // Now the file no longer changes, and there is time to read it.
        let before = good.load(Ordering::SeqCst);
        eventually("readers of the last version", || good.load(Ordering::SeqCst) > before + 24);
    });
}

/// Changes a local file in some way, version by version.
fn local(change: impl Fn(&Path, u64) -> io::Result<()>) {
    if !mounts::possible() {
        return;
    }
    for (policy, kernel_cache, slow) in READERS {
        let source = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
        let file = source.path().join("file");
        fs::write(&file, content(0, WORDS)).expect("written");
        let how = ["--memory", "24MiB", "--policy", policy, "--kernel-cache", kernel_cache];
        let mount = Mount::start(&[&[text(source.path())], &how[..]].concat());
        let here = mount.path().join("file");
        read_while(&here, slow, |version| change(&file, version).expect("changed"));
        // Once the file no longer changes, readers get the last version.
        eventually("the last version", || fs::read(&here).is_ok_and(|bytes| version(&bytes) == Some(VERSIONS)));
    }
}

#[test]
fn rewritten_in_place() {
    local(|file, version| File::options().write(true).open(file)?.write_all_at(&content(version, WORDS), 0));
}

#[test]
fn replaced_by_renaming() {
    local(|file, version| {
        let new = file.with_extension("new");
        fs::write(&new, content(version, WORDS))?;
        fs::rename(new, file)
    });
}

#[test]
fn truncated_and_extended() {
    local(|file, version| {
        let handle = File::options().write(true).open(file)?;
        handle.set_len(0)?;
        std::thread::sleep(MOMENT);
        handle.write_all_at(&content(version, WORDS - version * 1000), 0)?;
        std::thread::sleep(MOMENT);
        // A version cut short is a version of its own length.
        handle.set_len(8 * (WORDS / 3 + version))
    });
}

#[test]
fn deleted_and_made_again() {
    local(|file, version| {
        fs::remove_file(file)?;
        std::thread::sleep(MOMENT);
        fs::write(file, content(version, WORDS + version))
    });
}

#[test]
fn replaced_in_an_object_store() {
    if !mounts::possible() {
        return;
    }
    let server = S3::start(&need!("versitygw")).expect("a server");
    let (bucket, endpoint) = (format!("s3://{BUCKET}"), server.endpoint());
    for (policy, kernel_cache, slow) in READERS {
        server.put("file", &content(0, WORDS)).expect("stored");
        let store = [&bucket, "--endpoint", &endpoint, "--region", "us-east-1"];
        let mount = Mount::start(
            &[&store[..], &["--memory", "32MiB", "--policy", policy, "--kernel-cache", kernel_cache]].concat(),
        );
        let here = mount.path().join("file");
        let change = |version| server.put("file", &content(version, WORDS)).expect("stored");
        read_while(&here, slow, change);
        eventually("the last version", || fs::read(&here).is_ok_and(|bytes| version(&bytes) == Some(VERSIONS)));
    }
}
