//! Folders that belong to others: another owner, layout, key or program.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use forebay_tier::id::Id;
use forebay_tier::{Error, Key, Options, Tiers, check, clear, info};

use crate::damage::{Draws, flip, segments};
use crate::known::{Known, MIB, check_all, eager, tiered};

fn known() -> Known {
    let known = Known::new("a source");
    known.put("a", 9 * MIB, 1);
    known
}

/// Fills a folder with a file, and leaves it.
fn filled(dir: &Path) {
    let known = known();
    let tiers = Tiers::open(vec![eager(dir, 1)]).unwrap();
    check_all(&tiered(&known, &tiers), "a", 1);
    tiers.settle();
}

#[test]
fn one_owner_at_a_time() {
    let dir = tempfile::tempdir().unwrap();
    let known = known();
    let tiers = Tiers::open(vec![eager(dir.path(), 1)]).unwrap();
    let source = tiered(&known, &tiers);
    check_all(&source, "a", 1);
    tiers.settle();
    assert!(matches!(clear(dir.path()), Err(Error::InUse { .. })));
    let seen = info(dir.path()).unwrap();
    assert_eq!((seen.owner, seen.files, seen.id_is_right), (Some(Some(std::process::id())), 1, true));
    assert_eq!(check(dir.path(), |_| ()).unwrap().damaged, []);
    // Its readers go on without it, and another one may have the folder.
    tiers.close();
    let other = Tiers::open(vec![eager(dir.path(), 1)]).unwrap();
    other.settle();
    check_all(&source, "a", 1);
    assert_eq!(known.asked(), 2 * 9 * MIB);
    check_all(&tiered(&known, &other), "a", 1);
    assert_eq!(known.asked(), 0);
}

/// Another process has it, as far as can be seen: its lock is not one of ours.
#[test]
fn another_process_has_it() {
    let dir = tempfile::tempdir().unwrap();
    filled(dir.path());
    let lock = fs::OpenOptions::new().read(true).write(true).open(dir.path().join("forebay-1/lock")).unwrap();
    fs::write(dir.path().join("forebay-1/lock"), "1\n").unwrap();
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let error = Tiers::open(vec![eager(dir.path(), 1)]).unwrap_err();
    assert!(matches!(error, Error::InUse { pid: Some(1), .. }), "{error:?}");
    let told = error.to_string();
    assert!(told.contains("in use by another mount (process 1)") && !told.contains('\n'), "{told}");
    drop(lock);
    Tiers::open(vec![eager(dir.path(), 1)]).unwrap();
}

/// Two in one process, by two paths: what one source's readers brought is there for both, and the
/// last one closes it.
#[test]
fn a_process_shares_a_folder_with_itself() {
    let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let link = other.path().join("link");
    std::os::unix::fs::symlink(dir.path(), &link).unwrap();
    let (known, stranger) = (known(), Known::new("another source"));
    stranger.put("a", 3 * MIB, 2);
    let one = Tiers::open(vec![eager(dir.path(), 1)]).unwrap();
    let two = Tiers::open(vec![Options { dir: link.clone(), ..eager(dir.path(), 1) }]).unwrap();
    check_all(&tiered(&known, &one), "a", 1);
    check_all(&tiered(&stranger, &two), "a", 2);
    one.settle();
    assert_eq!((known.asked(), stranger.asked()), (9 * MIB, 3 * MIB));
    check_all(&tiered(&known, &two), "a", 1);
    check_all(&tiered(&stranger, &one), "a", 2);
    assert_eq!((known.asked(), stranger.asked()), (0, 0));
    assert_eq!(one.figures(), two.figures());
    for wrong in [eager(dir.path(), 2), Options { writes: Some(1), ..eager(&link, 1) }] {
        let error = Tiers::open(vec![wrong]).unwrap_err();
        assert!(matches!(error, Error::Differs { .. }), "{error}");
    }
    let error = Tiers::open(vec![eager(dir.path(), 1), eager(&link, 1)]).unwrap_err();
    assert!(error.to_string().ends_with("link: given twice; name each folder of the disk tier once"), "{error}");
    one.close();
    one.close();
    check_all(&tiered(&known, &two), "a", 1);
    assert_eq!((known.asked(), info(dir.path()).unwrap().owner.is_some()), (0, true));
    drop(two);
    assert_eq!(info(dir.path()).unwrap().owner, None);
    Tiers::open(vec![eager(dir.path(), 2)]).unwrap();
}

#[test]
fn a_folder_is_looked_at_checked_and_cleared() {
    let dir = tempfile::tempdir().unwrap();
    for error in [info(dir.path()).unwrap_err(), clear(dir.path()).unwrap_err()] {
        assert!(matches!(error, Error::NoTier(_)), "{error}");
    }
    filled(dir.path());
    let seen = info(dir.path()).unwrap();
    let mode = |name: &str| fs::metadata(dir.path().join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!(["forebay-1", "forebay-1/id", "forebay-1/lock"].map(mode), [0o700, 0o600, 0o600]);
    assert!(0 < seen.system_free_bytes && seen.system_free_bytes < seen.system_bytes);
    assert_eq!((seen.pieces, seen.piece_bytes, seen.versions, seen.owner), (144, 9 * MIB, 1, None));
    assert!(seen.disk_bytes <= eager(dir.path(), 1).size);
    let mut progress = Vec::new();
    let report = check(dir.path(), |told| progress.push(told)).unwrap();
    assert_eq!((report.right, report.right_bytes, report.lost_segments), (144, 9 * MIB, 0));
    assert_eq!((progress.len(), progress[7].segments, progress[7].bytes >= 9 * MIB), (8, 8, true));
    flip(&segments(dir.path(), 0), 400, &mut Draws::new(3));
    let report = check(dir.path(), |_| ()).unwrap();
    assert!(report.lost_segments > 0 || !report.damaged.is_empty(), "{report:?}");
    let foreign = segments(dir.path(), 7);
    fs::write(&foreign, vec![7; 1 << 20]).unwrap();
    let error = clear(dir.path()).unwrap_err();
    assert!(matches!(&error, Error::Foreign(path) if *path == foreign), "{error}");
    assert!(foreign.exists() && segments(dir.path(), 0).exists(), "nothing goes");
    fs::remove_file(&foreign).unwrap();
    fs::write(dir.path().join("forebay-1/segments/notes"), "mine").unwrap();
    clear(dir.path()).unwrap();
    let left: Vec<_> =
        fs::read_dir(dir.path().join("forebay-1/segments")).unwrap().map(|e| e.unwrap().path()).collect();
    assert_eq!(left.len(), 1, "{left:?}");
    assert!(!dir.path().join("forebay-1/id").exists());
}

/// The files of a lost id are removed, those of others stay.
#[test]
fn an_id_that_is_damaged_begins_anew() {
    let dir = tempfile::tempdir().unwrap();
    filled(dir.path());
    let id = dir.path().join("forebay-1/id");
    fs::write(&id, "not an id").unwrap();
    let known = known();
    let tiers = Tiers::open(vec![eager(dir.path(), 1)]).unwrap();
    tiers.settle();
    assert_eq!(tiers.figures()[0].segments_before, 0);
    check_all(&tiered(&known, &tiers), "a", 1);
    assert_eq!(known.asked(), 9 * MIB);
    tiers.close();
    let (foreign, right) = (segments(dir.path(), 3), fs::read(&id).unwrap());
    fs::write(&foreign, vec![7; 1 << 20]).unwrap();
    // With the id or without it.
    for damaged in [&right[..], &right[1..]] {
        fs::write(&id, damaged).unwrap();
        let error = Tiers::open(vec![eager(dir.path(), 1)]).unwrap_err();
        assert!(matches!(&error, Error::Foreign(path) if *path == foreign), "{error}");
        assert!(error.to_string().contains("not a file of a disk tier"), "{error}");
    }
    assert!(foreign.exists());
}

/// A folder whose id was replaced by another one has nothing that could be told apart.
#[test]
fn another_key_and_another_layout() {
    let dir = tempfile::tempdir().unwrap();
    filled(dir.path());
    let other = dir.path().join("forebay-2");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("id"), "of a later release").unwrap();
    fs::write(dir.path().join("forebay-1/id"), Id { key: Key([9; 16]) }.encode()).unwrap();
    let known = known();
    let tiers = Tiers::open(vec![eager(dir.path(), 1)]).unwrap();
    tiers.settle();
    check_all(&tiered(&known, &tiers), "a", 1);
    let figures = &tiers.figures()[0];
    assert_eq!((known.asked(), figures.damaged, figures.hit_bytes), (9 * MIB, 0, 0));
    assert_eq!(fs::read(other.join("id")).unwrap(), b"of a later release");
}

#[test]
fn folders_that_cannot_be_used() {
    let dir = tempfile::tempdir().unwrap();
    let error = Tiers::open(vec![Options::new(dir.path(), Options::LEAST - 1)]).unwrap_err();
    assert!(matches!(error, Error::TooSmall { .. }), "{error}");
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    for wrong in [file.clone(), dir.path().join("no/folder")] {
        let error = Tiers::open(vec![eager(&wrong, 1)]).unwrap_err();
        assert!(error.to_string().contains("cannot make this folder"), "{error}");
    }
    // The first one of two closes again.
    let good = dir.path().join("good");
    Tiers::open(vec![eager(&good, 1), eager(&file, 1)]).unwrap_err();
    Tiers::open(vec![eager(&good, 1)]).unwrap();
}
