//! Several sources behind one mount, and a recorded flight of it.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;

use forebay_testkit::mounts;
use forebay_testkit::need;
use forebay_testkit::process::Signal;
use forebay_testkit::s3::{BUCKET, S3};
use forebay_testkit::trees::content;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::{Mount, run, text};

/// A mixed load by several threads: whole files, random ranges, files mapped by another program,
/// errors.
fn load(root: &Path, files: u64, len: usize, seed: u64) {
    std::thread::scope(|scope| {
        for thread in 0..8 {
            scope.spawn(move || {
                let mut random = StdRng::seed_from_u64(seed ^ thread << 32);
                for _ in 0..6 {
                    let file = random.random_range(0..files);
                    let path = root.join(["hot", "cold"][random.random_range(0..2)]).join(file.to_string());
                    let expected = content(file, len);
                    if random.random() {
                        assert!(fs::read(&path).expect("readable") == expected, "seed {seed}: {path:?}");
                        continue;
                    }
                    let (handle, mut buffer) = (fs::File::open(&path).expect("there"), vec![0; 10_000]);
                    for _ in 0..20 {
                        let at = random.random_range(0..len - buffer.len());
                        handle.read_exact_at(&mut buffer, at as u64).expect("readable");
                        assert!(buffer == expected[at..at + buffer.len()], "seed {seed}: {path:?} at {at}");
                    }
                }
            });
        }
    });
    assert!(fs::read(root.join("cold/none")).is_err());
}

#[test]
fn a_folder_and_an_object_store_and_their_flight() {
    if !mounts::possible() {
        return;
    }
    let (versitygw, cmp) = (need!("versitygw"), need!("cmp"));
    let seed = u64::from(rand::random::<u32>());
    println!("seed {seed}");
    let server = S3::start(&versitygw).expect("a server");
    let hot = tempfile::tempdir().expect("a folder");
    let (files, len) = (8, 3_000_017);
    for file in 0..files {
        fs::write(hot.path().join(file.to_string()), content(file, len)).expect("written");
        server.put(&format!("data/{file}"), &content(file, len)).expect("stored");
    }
    let sources = [format!("hot={}", text(hot.path())), format!("cold=s3://{BUCKET}/data")];
    for policy in ["competitive", "linux+arc"] {
        let flight = tempfile::NamedTempFile::new().expect("a file");
        let mut args: Vec<&str> = sources.iter().map(String::as_str).collect();
        let endpoint = server.endpoint();
        args.extend(["--endpoint", &endpoint, "--region", "us-east-1", "--memory", "28MiB"]);
        args.extend(["--policy", policy, "--record", text(flight.path())]);
        let mount = Mount::start(&args);
        load(mount.path(), files, len, seed);
        for file in 0..files {
            run(&cmp, &[&format!("hot/{file}"), &format!("cold/{file}")], mount.path());
        }
        let stats = crate::forebay(&["stats", text(mount.path())]).output().expect("it starts");
        let stats = String::from_utf8_lossy(&stats.stdout).into_owned();
        assert!(stats.contains("hot") && stats.contains("cold"), "{stats}");
        assert_eq!(mount.end(Signal::TERM).code(), Some(0));

        let replayed = forebay_live::flight::replay(flight.path()).expect("a flight");
        assert_eq!(replayed.differs_at, None, "seed {seed}, {policy}: {replayed:?}");
        // How many events there are depends on the pages that the kernel kept meanwhile.
        assert!(replayed.events > 100 && replayed.same > 500, "{policy}: {replayed:?}");
        // With one action changed, the replay must differ.
        let lines = fs::read_to_string(flight.path()).expect("readable");
        let spoilt = lines.replacen("{\"Action\":{\"Ready\":{\"read\":", "{\"Action\":{\"Ready\":{\"read\":9", 1);
        assert_ne!(lines, spoilt, "no reader ever got anything");
        fs::write(flight.path(), spoilt).expect("written");
        let replayed = forebay_live::flight::replay(flight.path()).expect("a flight");
        assert!(replayed.differs_at.is_some(), "{policy}");
    }
}
