//! A store that fails by seed, behind a mount: no reader sees faults that pass, and lasting ones
//! reach only the readers of the bad bytes.

use std::fs::{self, File};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use forebay_core::{DeviceCost, DeviceId};
use forebay_fuse::{MountOptions, Mounted};
use forebay_live::engine::{Config, Engine};
use forebay_live::tree::{Branch, Tree};
use forebay_source::faulty::{FaultPlan, FaultySource};
use forebay_source::local::LocalSource;
use forebay_testkit::mounts::{self, MountPoint};
use forebay_testkit::need;
use forebay_testkit::trees::content;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::errno;

const FILES: u64 = 6;
const LEN: usize = 5_000_011;
const BLOCK: u64 = 4096;

/// A folder of files behind a faulty source, mounted with less memory than they take.
struct Scene {
    // Fields are dropped in this order: the mount before its folder.
    _mounted: Mounted,
    point: MountPoint,
    source: Arc<FaultySource>,
    folder: tempfile::TempDir,
}

impl Scene {
    fn new(policy: &str, plan: FaultPlan) -> Scene {
        let (folder, point) = (tempfile::tempdir().unwrap(), MountPoint::new().unwrap());
        for file in 0..FILES {
            fs::write(folder.path().join(file.to_string()), content(file, LEN)).unwrap();
        }
        let source = Arc::new(FaultySource::new(Arc::new(LocalSource::new(folder.path()).unwrap()), plan));
        let config = Config::new(24 << 20, policy.parse().unwrap());
        let engine = Engine::start(config, vec![DeviceCost::flat(100_000, 1 << 30, 8)]).unwrap();
        let branch = Branch { name: None, source: Arc::clone(&source) as _, device: DeviceId(0) };
        let tree = Arc::new(Tree::new(engine, vec![branch]).unwrap());
        let mounted = forebay_fuse::mount(tree, point.path(), MountOptions::default()).unwrap();
        Scene { _mounted: mounted, point, source, folder }
    }

    fn here(&self, file: u64) -> std::path::PathBuf {
        self.point.path().join(file.to_string())
    }
}

#[test]
fn faults_that_pass_are_invisible_to_programs() {
    if !mounts::possible() {
        return;
    }
    let (diff, shell) = (need!("diff"), need!("sh"));
    let seed = u64::from(rand::random::<u32>());
    println!("seed {seed}");
    for policy in ["competitive", "none+sieve", "aggressive+arc"] {
        // So rare that four failures of one fetch in a row are one in millions.
        let plan = FaultPlan {
            seed,
            transient: 0.01,
            short: 0.01,
            delayed: 0.2,
            delay: Duration::from_millis(3),
            ..FaultPlan::default()
        };
        let scene = Scene::new(policy, plan);
        std::thread::scope(|scope| {
            for thread in 0..16 {
                let scene = &scene;
                scope.spawn(move || {
                    let mut random = StdRng::seed_from_u64(seed ^ thread << 32);
                    let mut buffer = vec![0; 70_000];
                    for _ in 0..40 {
                        let number = random.random_range(0..FILES);
                        let (file, at) = (File::open(scene.here(number)).unwrap(), random.random_range(0..LEN));
                        let got = file.read_at(&mut buffer, at as u64).unwrap();
                        let expected = content(number, LEN);
                        let expected = &expected[at..LEN.min(at + buffer.len())];
                        assert!(buffer[..got] == *expected, "seed {seed}, {policy}: file {number} at {at}");
                    }
                });
            }
        });
        let (there, here) = (scene.folder.path(), scene.point.path());
        let same = Command::new(&diff).arg("-r").args([there, here]).output().unwrap();
        assert!(same.status.success() && same.stdout.is_empty(), "seed {seed}, {policy}: {same:?}");
        let sums = |at: &Path| Command::new(&shell).args(["-c", "sha256sum *"]).current_dir(at).output().unwrap();
        assert_eq!(sums(here), sums(there), "seed {seed}, {policy}");
        let injected = scene.source.injected();
        assert!(injected.transient > 0 && injected.short > 0 && injected.delayed > 0, "{policy}: {injected:?}");
    }
}

#[test]
fn bad_sectors_are_an_error_for_those_who_ask_for_them() {
    if !mounts::possible() {
        return;
    }
    // A few bytes, blocks across a boundary, the beginning of one file and the end of another.
    let bad: [(u64, Range<u64>); 4] =
        [(0, 1_000_003..1_000_013), (0, 2_000_000..2_010_000), (1, 0..1), (2, LEN as u64 - 1..LEN as u64)];
    let concerned = |file: u64, blocks: Range<u64>| {
        bad.iter().any(|(of, bytes)| {
            *of == file && bytes.start / BLOCK < blocks.end && blocks.start <= (bytes.end - 1) / BLOCK
        })
    };
    for policy in ["competitive", "none+sieve"] {
        let plan = FaultPlan {
            seed: 1,
            bad: bad.iter().map(|(file, bytes)| (file.to_string().into(), bytes.clone())).collect(),
            ..FaultPlan::default()
        };
        let scene = Scene::new(policy, plan);
        std::thread::scope(|scope| {
            // Each file from front to back in pieces of its own size, by two readers.
            for (file, step) in (0..4).flat_map(|file| [(file, 1), (file, 29)]) {
                let scene = &scene;
                scope.spawn(move || {
                    let (handle, content) = (File::open(scene.here(file)).unwrap(), content(file, LEN));
                    let mut buffer = vec![0; (step * BLOCK) as usize];
                    for block in (0..(LEN as u64).div_ceil(BLOCK)).step_by(step as usize) {
                        let outcome = handle.read_at(&mut buffer, block * BLOCK);
                        if concerned(file, block..block + step) {
                            assert_eq!(errno(outcome), Some(libc::EIO), "{policy}: file {file}, block {block}");
                            continue;
                        }
                        let got = outcome.unwrap_or_else(|error| panic!("{policy}: {file}, block {block}: {error}"));
                        let expected =
                            &content[(block * BLOCK) as usize..LEN.min((block * BLOCK) as usize + buffer.len())];
                        assert!(buffer[..got] == *expected, "{policy}: file {file}, block {block}");
                    }
                });
            }
        });
        assert!(scene.source.injected().bad > 0);
        // A program gets all bytes in front of the bad ones, and the error.
        let output = Command::new("cat").arg(scene.here(0)).output().unwrap();
        assert!(!output.status.success() && String::from_utf8_lossy(&output.stderr).contains("Input/output error"));
        assert!(content(0, LEN).starts_with(&output.stdout));
        assert!((500_000..=1_000_003).contains(&output.stdout.len()));
    }
}
