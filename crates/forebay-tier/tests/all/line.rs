//! Blocks that were read come from the disk, now and after the tier was opened again.

use std::path::Path;

use forebay_source::{BLOCK, Fetch, FetchId, Label, Result, Segments, Source};
use forebay_testkit::loop_disk::image_folder;
use forebay_tier::{Tiers, check as inspect, info};

use crate::damage::copied;
use crate::known::{Ask, Known, MIB, bytes, check, check_all, eager, fill, tiered};

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
    assert_eq!((figures.recovered_segments, figures.segments_before), (8, 8));
}

/// The source is asked at once for what only it has, by the name of the fetch and with its label. A
/// fetch is called off at the source.
#[test]
fn the_source_hears_what_the_fetch_says() {
    let dir = tempfile::tempdir().unwrap();
    let known = Known::new("s3://bucket");
    known.put("a", 4 * MIB, 1);
    let tiers = Tiers::open(vec![eager(dir.path(), 1)]).unwrap();
    let source = tiered(&known, &tiers);
    check(&source, "a", 1, 256, 64);
    check(&source, "a", 1, 512, 64);
    tiers.settle();
    known.asks();
    let object = source.open(Path::new("a")).unwrap();
    let label = Label { demand: MIB + 5..MIB + 77, hits: 3..9 };
    // Two pieces before, a third in the middle, four behind.
    let (id, offset, len) = (FetchId::unique(), (256 + 32) * BLOCK as u64, 288 * BLOCK);
    let (send, receive) = std::sync::mpsc::sync_channel(1);
    let done = Box::new(move |buffer: Segments, outcome: Result<()>| {
        send.send(outcome.map(|()| buffer.to_vec())).unwrap();
    });
    object.fetch(Fetch { id, offset, buffer: Segments::own(len), len, urgent: false, label: label.clone(), done });
    let read = receive.recv().unwrap().unwrap();
    assert!(read == bytes("s3://bucket", "a", 1, offset, len));
    let missing = Ask::Fetch { id, offset: 320 * BLOCK as u64, len: 192 * BLOCK, urgent: false, label };
    object.call_off(id);
    assert_eq!(known.asks(), [missing, Ask::CallOff(id)]);
}

/// The tables of a segment that is not full yet are on the disk some seconds after its pieces.
#[test]
fn what_was_written_is_saved_soon() {
    let (dir, known) = (image_folder("forebay-tier-").unwrap(), Known::new("s3://bucket"));
    [("old", 63), ("a", 1), ("b", 1)].iter().for_each(|&(name, size)| known.put(name, size * MIB, 1));
    let tiers = Tiers::open(vec![eager(dir.path(), 1)]).unwrap();
    fill(&tiered(&known, &tiers), &tiers, "old", 1);
    tiers.close();
    let tiers = Tiers::open(vec![eager(dir.path(), 1)]).unwrap();
    tiers.settle();
    let source = tiered(&known, &tiers);
    fill(&source, &tiers, "a", 1);
    // All segments but the one that was given up, and the 16 new pieces in that.
    while info(dir.path()).unwrap().pieces < 63 * 16 - 127 + 16 {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert_eq!(inspect(dir.path(), |_| ()).unwrap().damaged, []);
    // A process that ends here leaves a table of the segment to which it wrote later.
    fill(&source, &tiers, "b", 1);
    let left = inspect(copied(dir.path()).path(), |_| ()).unwrap();
    assert_eq!(left.damaged, [], "no table speaks of bytes that were written over");
    assert!(left.right >= 63 * 16 - 127 + 16, "{left:?}");
    // One that ends in peace leaves all that is there.
    tiers.close();
    let left = inspect(dir.path(), |_| ()).unwrap();
    assert_eq!((left.right, left.damaged), (63 * 16, vec![]), "two times 16 pieces in place of as many");
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
