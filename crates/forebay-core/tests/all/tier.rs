//! The policy of the disk tier: beside a naive twin, and by what it writes.

use forebay_core::tier::{Admit, Evict, FileKey, Found, Piece, Place, Rules, Run, Setup, Tier};
use forebay_core::{BlockKey, EventKind, FileId};
use proptest::prelude::*;

use crate::bench::Bench;

const CHUNK: u32 = 4;
const SEGMENT: u32 = 24;
const SEGMENTS: u32 = 4;

fn setup(admit: Admit) -> Setup {
    let rules = Rules { admit, evict: Evict::Lru };
    Setup { segments: SEGMENTS, segment_blocks: SEGMENT, chunk_blocks: CHUNK, pieces: 1000, rules }
}

fn run(file: u64, start: u32, len: u32) -> Run {
    Run { file: FileKey(file), start, len }
}

/// A fetch as a driver carries it out. Returns how many blocks the tier had and how many it wrote.
fn fetch(tier: &mut Tier, wanted: Run) -> (u32, u32) {
    let (mut found, mut worth) = (Vec::new(), Vec::new());
    let missing = tier.look(wanted, &mut found);
    tier.offer(missing, &mut worth);
    let mut written = 0;
    for run in worth {
        let place = tier.reserve(run.len).or_else(|| {
            tier.turn()?;
            tier.reserve(run.len)
        });
        if let Some(place) = place {
            tier.insert(Piece { run, place, sum: run.start });
            written += run.len;
        }
    }
    (wanted.len - missing.len, written)
}

/// All pieces, in the order in which they were written.
#[derive(Default)]
struct Twin {
    pieces: Vec<Piece>,
}

impl Twin {
    fn longest(&self, file: FileKey, block: u32) -> Option<Piece> {
        let has = |piece: &&Piece| piece.run.file == file && (piece.run.start..piece.run.end()).contains(&block);
        let longest = self.pieces.iter().filter(has).map(|piece| piece.run.len).max()?;
        // Of two alike the one that was written last.
        self.pieces.iter().rev().filter(has).find(|piece| piece.run.len == longest).copied()
    }

    fn look(&self, wanted: Run) -> (Vec<Found>, Run) {
        let clipped = |piece: Piece, start: u32, end: u32| {
            let (start, end) = (piece.run.start.max(start), piece.run.end().min(end));
            Found { piece, part: Run { start, len: end - start, ..wanted } }
        };
        let (mut start, mut end) = (wanted.start, wanted.end());
        let (mut head, mut tail) = (Vec::new(), Vec::new());
        while start < end {
            let Some(piece) = self.longest(wanted.file, start) else { break };
            head.push(clipped(piece, start, end));
            start = piece.run.end().min(end);
        }
        while start < end {
            let Some(piece) = self.longest(wanted.file, end - 1) else { break };
            tail.push(clipped(piece, start, end));
            end = piece.run.start.max(start);
        }
        head.extend(tail.into_iter().rev());
        (head, Run { start, len: end - start, ..wanted })
    }

    fn overwrite(&mut self, place: Place, blocks: u32) {
        self.pieces.retain(|piece| {
            let (start, end) = (piece.place.block, piece.place.block + piece.run.len);
            piece.place.segment != place.segment || start >= place.block.saturating_add(blocks) || end <= place.block
        });
    }
}

#[derive(Clone, Debug)]
enum Step {
    Fetch { file: u64, start: u32, len: u32 },
    Forget { nth: usize },
    Withdraw { segment: u32 },
    Grant { segment: u32 },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => (0..3_u64, 0..40_u32, 1..20_u32).prop_map(|(file, start, len)| Step::Fetch { file, start, len }),
        2 => any::<usize>().prop_map(|nth| Step::Forget { nth }),
        1 => (0..SEGMENTS).prop_map(|segment| Step::Withdraw { segment }),
        1 => (0..SEGMENTS).prop_map(|segment| Step::Grant { segment }),
    ]
}

proptest! {
    /// The index finds what a list of all pieces finds, and no two pieces lie on one block.
    #[test]
    fn it_finds_what_a_list_finds(steps in prop::collection::vec(step(), 1..200)) {
        let (mut tier, mut twin) = (Tier::new(setup(Admit::All)), Twin::default());
        for step in steps {
            match step {
                Step::Fetch { file, start, len } => both_fetch(&mut tier, &mut twin, run(file, start, len))?,
                Step::Forget { nth } if !twin.pieces.is_empty() => {
                    let piece = twin.pieces.remove(nth % twin.pieces.len());
                    tier.forget(&piece);
                }
                Step::Forget { .. } => {}
                Step::Withdraw { segment } => {
                    tier.withdraw(segment);
                    twin.overwrite(Place { segment, block: 0 }, u32::MAX);
                }
                Step::Grant { segment } => tier.grant(segment),
            }
            prop_assert_eq!(tier.pieces() as usize, twin.pieces.len());
        }
        for segment in 0..SEGMENTS {
            let mut places: Vec<(u32, u32)> =
                tier.of_segment(segment).map(|piece| (piece.place.block, piece.run.len)).collect();
            places.sort_unstable();
            prop_assert!(places.windows(2).all(|two| two[0].0 + two[0].1 <= two[1].0), "{:?}", places);
            prop_assert!(places.last().is_none_or(|last| last.0 + last.1 <= SEGMENT));
        }
    }
}

fn both_fetch(tier: &mut Tier, twin: &mut Twin, wanted: Run) -> Result<(), TestCaseError> {
    let (mut found, mut worth) = (Vec::new(), Vec::new());
    let missing = tier.look(wanted, &mut found);
    prop_assert_eq!((&found, missing), (&twin.look(wanted).0, twin.look(wanted).1));
    tier.offer(missing, &mut worth);
    prop_assert!(worth.iter().map(|run| run.len).sum::<u32>() <= missing.len);
    for run in worth {
        prop_assert_eq!(run.start / CHUNK, (run.end() - 1) / CHUNK, "a piece lies in one chunk");
        let place = match tier.reserve(run.len) {
            Some(place) => place,
            None if tier.turn().is_some() => tier.reserve(run.len).expect("an opened segment is empty"),
            // All segments are withdrawn, but the open one.
            None => continue,
        };
        twin.overwrite(place, run.len);
        let piece = Piece { run, place, sum: run.start };
        tier.insert(piece);
        twin.pieces.push(piece);
    }
    Ok(())
}

/// A tier of the size that a small one has on disk: 16 segments of 1 MiB.
fn real(admit: Admit) -> Tier {
    let rules = Rules { admit, ..Rules::default() };
    Tier::new(Setup { segments: 16, segment_blocks: 256, chunk_blocks: 16, pieces: 10_000, rules })
}

/// Blocks of data in all of its segments.
const CAPACITY: u32 = 16 * 256;

/// A scan of ten tiers writes a tenth of one at most.
#[test]
fn a_scan_writes_little_however_its_fetches_cut_chunks() {
    for piece in [1, 2, 3, 7, 16, 28, 64, 1000] {
        let mut tier = real(Admit::Often);
        let written: u32 = (0..CAPACITY * 10 / piece).map(|nth| fetch(&mut tier, run(1, nth * piece, piece)).1).sum();
        assert!(written <= CAPACITY / 10, "{written} blocks by fetches of {piece}");
    }
}

/// A load that memory holds is fetched once. It is there after a restart if it is a sixteenth.
#[test]
fn the_first_sixteenth_takes_what_was_fetched_once() {
    for piece in [1, 16, 100, 1000] {
        let mut tier = real(Admit::Often);
        let written: u32 = (0..CAPACITY / piece).map(|nth| fetch(&mut tier, run(1, nth * piece, piece)).1).sum();
        assert!((CAPACITY / 16 - 16..=CAPACITY / 16).contains(&written), "{written} blocks by fetches of {piece}");
        assert_eq!(fetch(&mut tier, run(1, 0, CAPACITY / 16 - 16)).0, CAPACITY / 16 - 16);
    }
    let mut small = Tier::new(setup(Admit::Often));
    assert_eq!(fetch(&mut small, run(1, 0, 4)), (0, 0), "a sixteenth of it is less than a segment");
}

/// Of a data set of twice the tier, the tier keeps a half from the second round on.
#[test]
fn rounds_hit_as_much_as_fits() {
    let round = |tier: &mut Tier| -> u32 {
        let files = u64::from(CAPACITY * 2 / 32);
        (0..files).map(|file| fetch(tier, run(file.wrapping_mul(0x9e37_79b9_7f4a_7c15), 0, 32)).0).sum()
    };
    let mut tier = real(Admit::Often);
    let rounds: Vec<u32> = (0..12).map(|_| round(&mut tier)).collect();
    // The first sixteenth takes what was fetched once.
    assert!(rounds[0] == 0 && rounds[1] <= CAPACITY / 16 + CAPACITY / 100, "{rounds:?}");
    assert!(rounds[2..].iter().all(|&hits| hits >= CAPACITY * 95 / 100), "{rounds:?}");
    // The segment read longest ago is read next, so a tier that writes all that it is offered hits
    // nothing.
    let mut all = real(Admit::All);
    assert_eq!((0..4).map(|_| round(&mut all)).sum::<u32>(), 0);
}

#[test]
fn what_was_fetched_ahead_and_given_up_unread_is_no_first_use() {
    let mut tier = Tier::new(setup(Admit::Often));
    assert_eq!(fetch(&mut tier, run(1, 0, 4)), (0, 0));
    tier.unread(run(1, 0, 4));
    assert_eq!(fetch(&mut tier, run(1, 0, 4)), (0, 0), "read for the first time");
    assert_eq!(fetch(&mut tier, run(1, 0, 4)), (0, 4));
    assert_eq!(fetch(&mut tier, run(1, 0, 4)), (4, 0));
}

/// More pieces than the index may have: the oldest segment goes, though others are free.
/// A fetch goes over pieces that the tier has, since it asks the source once.
#[test]
fn a_piece_that_is_there_is_not_written_again() {
    let mut tier = Tier::new(setup(Admit::All));
    assert_eq!(fetch(&mut tier, run(1, CHUNK, CHUNK)), (0, CHUNK));
    assert_eq!(fetch(&mut tier, run(1, 0, 3 * CHUNK)), (0, 2 * CHUNK));
    assert_eq!(fetch(&mut tier, run(1, 0, 3 * CHUNK)), (3 * CHUNK, 0));
    // A run of which only a part is there is written.
    assert_eq!(fetch(&mut tier, run(2, 1, 2)), (0, 2));
    assert_eq!(fetch(&mut tier, run(2, 0, CHUNK)), (0, CHUNK));
}

#[test]
fn the_index_is_bounded() {
    let pieces = 2 * SEGMENT;
    let mut tier = Tier::new(Setup { pieces, ..setup(Admit::All) });
    let before = tier.footprint();
    for nth in 0..1000 {
        fetch(&mut tier, run(nth, 0, 1));
        assert!(tier.pieces() <= pieces);
        assert_eq!(fetch(&mut tier, run(nth, 0, 1)), (1, 0), "the latest is there");
    }
    assert_eq!(tier.footprint(), before);
}

#[test]
fn a_tier_is_restored_and_gives_up_what_was_read_longest_ago() {
    let mut tier = Tier::new(setup(Admit::All));
    for segment in 0..SEGMENTS {
        tier.restore_segment(segment, u64::from(SEGMENTS - segment));
        let place = Place { segment, block: 0 };
        tier.restore(Piece { run: run(u64::from(segment), 0, 4), place, sum: 7 });
    }
    assert_eq!(fetch(&mut tier, run(0, 0, 4)), (4, 0));
    let turn = tier.turn().expect("a segment");
    assert_eq!((turn.sealed, turn.opened), (None, 3), "of those that were not read the oldest");
    let next = tier.turn().and_then(|turn| turn.sealed).expect("the open segment is sealed");
    assert_eq!((next.segment, next.number), (3, u64::from(SEGMENTS) + 1), "after those of the run before");
}

/// Blocks that a disk tier brings are the first that memory gives up; those of the device stay.
#[test]
fn blocks_that_a_tier_keeps_are_given_up_first() {
    let kept = |near: bool| {
        let mut bench = Bench::new("auto").with_files(30, 100);
        bench.held = true;
        for file in [1, 0] {
            bench.read(file, 0, 100);
            for io in std::mem::take(&mut bench.under_way) {
                if near && file == 0 {
                    bench.tell(EventKind::Near { io });
                }
                bench.tell(EventKind::Arrived { io });
            }
        }
        bench.held = false;
        (2..21).for_each(|file| drop(bench.read(file, 0, 100)));
        [0, 1].map(|file| {
            let there = |block: &u32| bench.core.frame(BlockKey::new(FileId(file), *block)).is_some();
            (0..100).filter(there).count()
        })
    };
    let [first, second] = kept(false);
    assert!(first == 100 && second < 100, "without a tier the older one goes first: {first} and {second}");
    let [near, far] = kept(true);
    assert!(near < 100 && far == 100, "{near} of those in the tier, {far} of the others");
}

/// A window that was read many times and is passed on gives its segments up to the next one, though
/// its pieces were fetched more often.
#[test]
fn a_window_that_has_passed_on_gives_room() {
    let mut tier = real(Admit::Often);
    let round = |tier: &mut Tier, first: u64| -> u32 {
        let files = u64::from(CAPACITY / 32);
        (first..first + files).map(|file| fetch(tier, run(file.wrapping_mul(0x9e37_79b9_7f4a_7c15), 0, 32)).0).sum()
    };
    (0..20).for_each(|_| _ = round(&mut tier, 0));
    let hits: Vec<u32> = (0..10).map(|_| round(&mut tier, 1 << 20)).collect();
    assert!(hits[9] >= CAPACITY / 2, "{hits:?}");
}
