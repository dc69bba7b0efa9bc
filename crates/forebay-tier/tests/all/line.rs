//! What was read comes from the disk, now and after the tier was opened again.

use std::path::Path;

use forebay_source::BLOCK;
use forebay_tier::Tiers;

use crate::known::{Known, MIB, check, check_all, eager, tiered};

#[test]
fn what_was_read_comes_from_the_disk() {
    let dir = tempfile::tempdir().unwrap();
    let known = Known::new("s3://bucket");
    // Ends within a block, within a chunk.
    let size = 5 * MIB + 3 * BLOCK as u64 + 100;
    known.put("a", size, 1);
    known.put("b", 3 * MIB, 1);
    {
        let tiers = Tiers::open(vec![eager(dir.path(), 1)]).unwrap();
        let source = tiered(&known, &tiers);
        check_all(&source, "a", 1);
        check_all(&source, "b", 1);
        assert_eq!(known.asked(), size + 3 * MIB);
        tiers.settle();
        check_all(&source, "a", 1);
        check_all(&source, "b", 1);
        check(&source, "a", 1, 3, 50);
        check(&source, "a", 1, 17, 1);
        check(&source, "a", 1, size / BLOCK as u64, 1);
        assert_eq!(known.asked(), 0, "{:?}", tiers.figures());
    }
    let tiers = Tiers::open(vec![eager(dir.path(), 1)]).unwrap();
    tiers.settle();
    let source = tiered(&known, &tiers);
    check_all(&source, "a", 1);
    check_all(&source, "b", 1);
    let figures = &tiers.figures()[0];
    assert_eq!(known.asked(), 0, "{figures:?}");
    assert_eq!((figures.hit_bytes.div_ceil(MIB), figures.miss_bytes, figures.damaged), (9, 0, 0));
    assert_eq!(figures.recovered, (8, 8));
}

/// Another version, source or folder has other bytes.
#[test]
fn versions_and_sources_are_told_apart() {
    let dir = tempfile::tempdir().unwrap();
    let (known, other) = (Known::new("s3://bucket"), Known::new("s3://bucket at another server"));
    let tiers = Tiers::open(vec![eager(dir.path(), 1)]).unwrap();
    for version in 0..3 {
        for source in [&known, &other] {
            source.put("a", MIB, version);
            check_all(&tiered(source, &tiers), "a", version);
            assert_eq!(source.asked(), MIB);
            tiers.settle();
            check_all(&tiered(source, &tiers), "a", version);
            assert_eq!(source.asked(), 0);
        }
    }
    assert!(Path::new(dir.path()).join("forebay-1/segments/00000000").exists());
}
