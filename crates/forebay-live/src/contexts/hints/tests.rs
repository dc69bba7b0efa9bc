//! Databases of hints that are shared, damaged, of another version, too large.

use super::*;
use forebay_core::{Pattern, Rhythm};

fn looping(executable: &str, build: &str, size: u32, seen: u64) -> Known {
    let origin = Origin {
        executable: executable.into(),
        build: build.into(),
        frames: vec!["libc.so.6+0x1234".into(), "x+0x10".into()],
        file: None,
    };
    let rhythm = Rhythm { size, time: u64::from(size) * 2, deviation: 3 };
    Known { origin, hint: Hint::of(Pattern::Looping, rhythm), seen }
}

fn scene() -> (tempfile::TempDir, Hints) {
    let folder = tempfile::tempdir().unwrap();
    let hints = Hints::at(folder.path().join("a/contexts.redb"));
    (folder, hints)
}

#[test]
fn what_is_merged_is_loaded() {
    let (_folder, hints) = scene();
    assert_eq!(hints.load().unwrap(), BTreeMap::new());
    assert!(!hints.path().exists(), "a look makes no file");
    let one = BTreeMap::from([(7, looping("/bin/a", "b1", 10, 1)), (u64::MAX, looping("/bin/b", "c1", 20, 2))]);
    assert_eq!(hints.merge(&one).unwrap(), one);
    assert_eq!(hints.load().unwrap(), one);
    let newer = BTreeMap::from([(7, looping("/bin/a", "b1", 11, 5))]);
    let all = hints.merge(&newer).unwrap();
    assert_eq!((all[&7].hint.rhythm.size, all.len()), (11, 2));
    assert_eq!(hints.load().unwrap(), all);
}

#[test]
fn a_new_build_drops_what_was_known_of_the_old() {
    let (_folder, hints) = scene();
    let plain = |build: &str, seen| {
        let mut known = looping("/bin/a", build, 1, seen);
        known.origin.file = Some("x".into());
        known.origin.frames.clear();
        known
    };
    hints
        .merge(&BTreeMap::from([
            (1, looping("/bin/a", "old", 1, 1)),
            (2, looping("/bin/b", "old", 1, 1)),
            (3, plain("i1", 1)),
        ]))
        .unwrap();
    let after = hints.merge(&BTreeMap::from([(4, looping("/bin/a", "new", 1, 2))])).unwrap();
    assert_eq!(after.keys().copied().collect::<Vec<_>>(), [2, 3, 4], "told apart by other means, it stays");
    let after = hints.merge(&BTreeMap::from([(5, plain("i2", 3))])).unwrap();
    assert_eq!(after.keys().copied().collect::<Vec<_>>(), [2, 4, 5]);
}

#[test]
fn what_has_lost_its_pattern_is_forgotten() {
    let (_folder, hints) = scene();
    hints.merge(&BTreeMap::from([(1, looping("/bin/a", "b", 1, 1)), (2, looping("/bin/a", "b", 1, 1))])).unwrap();
    let mut other = looping("/bin/a", "b", 0, 2);
    other.hint.pattern = Pattern::Other;
    assert_eq!(hints.merge(&BTreeMap::from([(1, other)])).unwrap().keys().copied().collect::<Vec<_>>(), [2]);
}

/// A program's behaviour long ago does not predict its behaviour now.
#[test]
fn what_nobody_has_seen_for_long_is_forgotten() {
    let (_folder, hints) = scene();
    let (now, known) = (1000 * LASTS, |seen| looping("/bin/a", "b", 1, seen));
    assert!(known(now - LASTS - 1).is_old(now) && !known(now - LASTS).is_old(now) && !known(now + 1).is_old(now));
    hints.merge(&BTreeMap::from([(1, known(now - LASTS - 1)), (2, known(now - LASTS))])).unwrap();
    let after = hints.merge(&BTreeMap::from([(3, known(now))])).unwrap();
    assert_eq!(after.keys().copied().collect::<Vec<_>>(), [2, 3]);
}

/// A mount that has forgotten how long a context's streams are, or never saw any, removes nothing
/// from the database.
#[test]
fn how_long_streams_are_is_kept() {
    let (_folder, hints) = scene();
    let usual = Usual { streams: 16, go_on: 12, whole: false, octiles: [10, 20, 30, 40, 50, 60, 70, 80] };
    let mut known = looping("/bin/a", "b", 1, 1);
    known.hint = Hint { usual, ..Hint::NOTHING };
    hints.merge(&BTreeMap::from([(1, known.clone())])).unwrap();
    assert_eq!(hints.load().unwrap()[&1].hint, known.hint, "without any pattern");
    let after = hints.merge(&BTreeMap::from([(1, looping("/bin/a", "b", 7, 2))])).unwrap();
    assert_eq!((after[&1].hint.usual, after[&1].hint.rhythm.size), (usual, 7));
}

#[test]
fn it_does_not_grow_for_ever() {
    let (_folder, hints) = scene();
    let many = (0..MOST as u64 + 100).map(|id| (id, looping("/bin/a", "b", 1, 1_000_000 - id))).collect();
    let kept = hints.merge(&many).unwrap();
    assert_eq!((kept.len(), kept.keys().max().copied()), (MOST, Some(MOST as u64 - 1)), "the oldest went");
    assert_eq!(hints.load().unwrap(), kept);
    assert!(hints.path().metadata().unwrap().len() < 16 << 20);
}

#[test]
fn it_is_cleared_whole_or_by_program() {
    let (_folder, hints) = scene();
    assert_eq!(hints.clear(None).unwrap(), 0);
    let all = BTreeMap::from([
        (1, looping("/usr/bin/a", "b", 1, 1)),
        (2, looping("/opt/a", "b", 1, 1)),
        (3, looping("/usr/bin/ab", "b", 1, 1)),
    ]);
    hints.merge(&all).unwrap();
    assert_eq!(hints.clear(Some("/opt/a")).unwrap(), 1);
    assert_eq!(hints.clear(Some("b")).unwrap(), 0);
    assert_eq!(hints.clear(Some("a")).unwrap(), 1);
    assert_eq!(hints.load().unwrap().keys().copied().collect::<Vec<_>>(), [3]);
    assert_eq!(hints.clear(None).unwrap(), 1);
    assert_eq!(hints.load().unwrap(), BTreeMap::new());
}

#[test]
fn damage_is_moved_aside_and_begun_anew() {
    for seed in 0..40u64 {
        let (_folder, hints) = scene();
        let known = (0..200).map(|id| (id, looping("/bin/a", "b", id as u32, id))).collect();
        hints.merge(&known).unwrap();
        let mut bytes = fs::read(hints.path()).unwrap();
        match seed {
            0 => bytes = b"something else".to_vec(),
            1 => bytes.truncate(bytes.len() / 2),
            2 => bytes.truncate(100),
            3 => bytes[..64].fill(0xff),
            seed => {
                // Somewhere among the used bytes; the end of the file is room to grow.
                let place = (seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20) as usize % (bytes.len() / 4);
                let end = (place + 300).min(bytes.len());
                bytes[place..end].iter_mut().for_each(|byte| *byte ^= 0x5a);
            }
        }
        fs::write(hints.path(), &bytes).unwrap();
        let found = hints.load().unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        assert!(found.is_empty() || found == known, "seed {seed}: all or nothing");
        assert!(found == known || hints.path().with_extension("redb.aside").exists(), "seed {seed}");
        let again = BTreeMap::from([(1, looping("/bin/c", "b", 1, 1))]);
        assert_eq!(hints.merge(&again).unwrap()[&1], again[&1], "seed {seed}");
    }
}

#[test]
fn another_version_is_moved_aside() {
    let (_folder, hints) = scene();
    hints.merge(&BTreeMap::from([(1, looping("/bin/a", "b", 1, 1))])).unwrap();
    {
        let database = Database::create(hints.path()).unwrap();
        let transaction = database.begin_write().unwrap();
        transaction.open_table(ABOUT).unwrap().insert("version", VERSION + 1).unwrap();
        transaction.commit().unwrap();
    }
    assert_eq!(hints.load().unwrap(), BTreeMap::new());
    assert!(hints.path().with_extension("redb.aside").exists());
    hints.merge(&BTreeMap::from([(1, looping("/bin/a", "b", 1, 1))])).unwrap();
    assert_eq!(hints.load().unwrap().len(), 1);
}

#[test]
fn several_merge_at_a_time_and_nothing_is_lost() {
    let (_folder, hints) = scene();
    std::thread::scope(|scope| {
        for mount in 0..4u64 {
            let hints = hints.clone();
            scope.spawn(move || {
                for round in 0..5 {
                    let id = mount * 100 + round;
                    hints.merge(&BTreeMap::from([(id, looping("/bin/a", "b", 1, id))])).unwrap();
                }
            });
        }
    });
    assert_eq!(hints.load().unwrap().len(), 20);
}

#[test]
fn a_place_that_cannot_be_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let hints = Hints::at(folder.path().to_owned());
    let error = hints.merge(&BTreeMap::from([(1, looping("/bin/a", "b", 1, 1))])).unwrap_err().to_string();
    assert!(error.contains("--hints off") && error.contains(&*folder.path().to_string_lossy()), "{error}");
    fs::write(folder.path().join("file"), "").unwrap();
    let below = Hints::at(folder.path().join("file/contexts.redb"));
    assert!(below.merge(&BTreeMap::from([(1, looping("/bin/a", "b", 1, 1))])).is_err());
}
