//! The source that fails on purpose keeps to its fault model: right bytes or an error, by seed.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::fetch;
use forebay_source::faulty::{FaultPlan, FaultySource};
use forebay_source::local::LocalSource;
use forebay_source::{Error, Source};
use forebay_testkit::trees::content;

const BLOCKS: u64 = 200;

fn source(plan: FaultPlan) -> (tempfile::TempDir, FaultySource) {
    println!("{plan:?}");
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), content(1, BLOCKS as usize * 4096)).unwrap();
    let local = LocalSource::new(folder.path()).unwrap();
    (folder, FaultySource::new(Arc::new(local), plan))
}

/// Reads block by block; returns the blocks that failed. The others are compared with the file's
/// bytes.
fn failures(source: &FaultySource) -> BTreeSet<u64> {
    let object = source.open(Path::new("file")).unwrap();
    let expected = content(1, BLOCKS as usize * 4096);
    let failed = |block: &u64| match fetch(&*object, block * 4096, 4096) {
        Ok(bytes) => {
            assert!(bytes[..] == expected[*block as usize * 4096..][..4096], "block {block}");
            false
        }
        Err(error) => {
            assert!(matches!(error, Error::Storage { .. }), "{error}");
            true
        }
    };
    (0..BLOCKS).filter(failed).collect()
}

#[test]
fn faults_come_by_seed_and_pass_when_repeated() {
    let plan = |seed| FaultPlan { seed, transient: 0.2, short: 0.1, ..FaultPlan::default() };
    let (_folder, first) = source(plan(1));
    let failed = failures(&first);
    assert_eq!(failed, failures(&source(plan(1)).1));
    assert_ne!(failed, failures(&source(plan(2)).1));
    let injected = first.injected();
    assert_eq!(injected.transient + injected.short, failed.len() as u64);
    assert!(injected.transient > 0 && injected.short > 0);
    let mut left = failed;
    for _ in 0..20 {
        left = failures(&first).intersection(&left).copied().collect();
    }
    assert!(left.is_empty(), "blocks {left:?} failed 21 times in a row");
}

#[test]
fn bad_ranges_always_fail_and_only_they() {
    let bad = vec![(PathBuf::from("file"), 4095..4097), (PathBuf::from("other"), 0..u64::MAX)];
    let (_folder, source) = source(FaultPlan { bad, ..FaultPlan::default() });
    for _ in 0..3 {
        assert_eq!(failures(&source), BTreeSet::from([0, 1]));
    }
    assert_eq!(source.injected().bad, 6);
}

#[test]
fn delays_reorder_answers_but_lose_none() {
    let plan = FaultPlan { seed: 3, delayed: 0.5, delay: Duration::from_millis(30), ..FaultPlan::default() };
    let (_folder, source) = source(plan);
    let source = Arc::new(source);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| assert!(failures(&source).is_empty()));
        }
    });
    assert!(source.injected().delayed > BLOCKS);
}

#[test]
fn a_source_that_is_gone_comes_back() {
    let (_folder, source) = source(FaultPlan::default());
    let object = source.open(Path::new("file")).unwrap();
    source.switch().set_down(true);
    assert!(fetch(&*object, 0, 4096).unwrap_err().is_transient());
    assert!(source.stat(Path::new("file")).unwrap_err().is_transient());
    assert!(source.open(Path::new("file")).is_err() && source.list(Path::new("")).is_err());
    assert_eq!(source.injected().down, 4);
    source.switch().set_down(false);
    assert!(fetch(&*object, 0, 4096).unwrap() == content(1, 4096));
    assert!(failures(&source).is_empty());
}

#[test]
fn lookups_fail_by_probability() {
    let (_folder, source) = source(FaultPlan { seed: 4, lookup: 0.5, ..FaultPlan::default() });
    let failed = (0..200).filter(|_| source.stat(Path::new("file")).is_err()).count() as u64;
    assert_eq!(source.injected().lookup, failed);
    assert!((60..140).contains(&failed), "{failed} of 200 at p = 0.5");
}
