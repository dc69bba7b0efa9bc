//! Several folders, several readers.

use std::thread;

use forebay_source::Source;
use forebay_tier::Tiers;

use crate::damage::Draws;
use crate::known::{Known, MIB, check, check_all, eager, tiered};

/// Files are dealt to folders in proportion to their sizes, and the same after one more is there.
#[test]
fn files_are_dealt_to_folders_by_size() {
    let dir = tempfile::tempdir().unwrap();
    let folders = |names: &[(&str, u64)]| {
        let options = names.iter().map(|&(name, files)| eager(&dir.path().join(name), files));
        Tiers::open(options.collect()).unwrap()
    };
    let known = Known::new("a source");
    let names: Vec<String> = (0..80).map(|name| name.to_string()).collect();
    names.iter().for_each(|name| known.put(name, 65_536, 1));
    let tiers = folders(&[("small", 1), ("large", 3)]);
    let source = tiered(&known, &tiers);
    names.iter().for_each(|name| check_all(&source, name, 1));
    tiers.settle();
    let pieces: Vec<u64> = tiers.figures().iter().map(|figures| figures.pieces).collect();
    assert_eq!(pieces.iter().sum::<u64>(), 80);
    assert!((8..=32).contains(&pieces[0]), "a fourth is expected: {pieces:?}");
    tiers.close();
    let tiers = folders(&[("small", 1), ("new", 1), ("large", 3)]);
    tiers.settle();
    known.asked();
    let source = tiered(&known, &tiers);
    names.iter().for_each(|name| check_all(&source, name, 1));
    let moved = known.asked() / 65_536;
    tiers.settle();
    assert_eq!(tiers.figures()[1].pieces, moved, "the new folder takes its share, and no other file moves");
    assert!((4..=32).contains(&moved), "a fifth is expected: {moved}");
}

/// Many readers at once, while segments are given up under their reads.
#[test]
fn readers_race_with_the_writer() {
    let dir = tempfile::tempdir().unwrap();
    let known = Known::new("a source");
    known.put("a", 100 * MIB, 1);
    let tiers = Tiers::open(vec![eager(dir.path(), 1)]).unwrap();
    thread::scope(|scope| {
        for reader in 0..4 {
            let source = tiered(&known, &tiers);
            scope.spawn(move || {
                let mut draws = Draws::new(reader);
                for _ in 0..150 {
                    check(&source, "a", 1, draws.below(25_600), 1 + draws.below(400));
                }
                assert_eq!(source.describe(), "a source");
            });
        }
    });
    tiers.settle();
    let figures = &tiers.figures()[0];
    assert!(figures.hit_bytes > 0 && figures.written_bytes > 64 * MIB, "{figures:?}");
    assert_eq!((figures.damaged, figures.read_errors, figures.write_errors), (0, 0, 0), "{figures:?}");
}
