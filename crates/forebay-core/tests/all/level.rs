//! Labels between levels (SCM §4.2): the labels of fetches, the decisions of a core that is told
//! them, and the note of hits.

use forebay_core::level::{Label, Wanted};
use forebay_core::stream::Stream;
use forebay_core::{DeviceCost, Extent, FileId};
use proptest::prelude::*;

use crate::bench::{Bench, MS, Pace, setup};

const BLOCKS: u32 = 4000;
const FILE: FileId = FileId(0);

/// A level whose storage answers at once.
struct Driver(Bench);

fn extent(start: u32, end: u32) -> Extent {
    Extent::between(FILE, start, end)
}

impl Driver {
    fn new(policy: &str, frames: u32) -> Driver {
        let device = DeviceCost::flat(MS, 40_000_000, 2);
        let pace = Pace { event: 0, read: 10 * MS, fetch: None };
        Driver(Bench::on(policy, setup(frames, vec![device]), pace).with_files(1, BLOCKS.into()))
    }

    /// Reads blocks and returns the fetches that follow.
    fn read(&mut self, wanted: Extent, label: Option<Label>) -> Vec<(Extent, Label)> {
        let fetches = self.0.read_labelled(wanted.file.0, wanted.start.into(), wanted.len.into(), label);
        self.0.core.check();
        fetches.into_iter().map(|fetch| (fetch.extent, fetch.label)).collect()
    }

    fn streams(&self) -> Vec<Stream> {
        self.0.core.streams().iter().map(|(_, stream)| *stream).collect()
    }
}

fn demand(start: u32, end: u32) -> Label {
    Label { demand: extent(start, end), hits: Extent::default() }
}

/// SCM §5.3: RA appends four blocks, so one block looks like five to SARC and two like six, unless
/// it is told.
#[test]
fn table_1_which_thresholds_take_a_random_access_for_sequential() {
    for threshold in 3..=7 {
        for wanted in [1, 2] {
            let fetched = |label: Option<Label>| {
                let mut sarc = Driver::new(&format!("sarc:threshold={threshold}"), 200);
                let fetches = sarc.read(extent(1000, 1000 + wanted + 4), label);
                fetches.iter().map(|(extent, _)| extent.len).sum::<u32>()
            };
            let asked = wanted + 4;
            assert_eq!(fetched(None) > asked, asked >= threshold, "{threshold} {wanted}");
            assert_eq!(fetched(Some(demand(1000, 1000 + wanted))), asked, "{threshold} {wanted}, labelled");
        }
    }
}

/// RA's labels for a sequential reader: after the first request all is prefetch, and the note has
/// the blocks read meanwhile.
#[test]
fn what_a_level_with_read_ahead_tells_of_a_sequential_reader() {
    let mut upper = Driver::new("fixed", 200);
    assert_eq!(upper.read(extent(0, 1), None), [(extent(0, 5), demand(0, 1))]);
    for block in 1..20 {
        let told = upper.read(extent(block, block + 1), None);
        assert_eq!(told.len(), 1);
        let (fetched, Label { demand, hits }) = told[0];
        assert_eq!((fetched, demand.len, hits), (extent(block + 4, block + 5), 0, extent(block, block + 1)));
    }
    // Elsewhere: nothing was hit there.
    assert_eq!(upper.read(extent(500, 501), None)[0].1.hits.len, 0);
}

/// Whether the level below takes the stream for sequential: masked by a label, seen with the note.
#[test]
fn the_note_shows_what_the_label_masks() {
    for (hits, sequential) in [(false, false), (true, true)] {
        let (mut upper, mut lower) = (Driver::new("fixed", 200), Driver::new("sarc", 200));
        let mut asked = 0;
        let mut brought = 0;
        for block in 0..30 {
            for (extent, label) in upper.read(extent(block, block + 1), None) {
                let label = if hits { label } else { Label { hits: Extent::default(), ..label } };
                asked += extent.len;
                brought += lower.read(extent, Some(label)).iter().map(|(extent, _)| extent.len).sum::<u32>();
            }
        }
        assert_eq!(brought > asked + 16, sequential, "{brought} of {asked}");
        let run = lower.streams().iter().map(|stream| stream.wanted.run).max().unwrap_or(0);
        assert_eq!(run, if hits { 30 } else { 1 });
    }
}

/// A level in the middle hands on the demand of the top, up to the last wanted block.
#[test]
fn labels_go_through_a_level() {
    let mut middle = Driver::new("lru", 200);
    assert_eq!(middle.read(extent(10, 15), Some(demand(10, 11)))[0].1.demand, extent(10, 11));
    assert_eq!(middle.read(extent(20, 25), Some(demand(22, 23)))[0].1.demand, extent(20, 23));
    assert_eq!(middle.read(extent(30, 35), Some(demand(30, 30)))[0].1.demand.len, 0);
    assert_eq!(middle.read(extent(40, 45), None)[0].1.demand, extent(40, 45));
    // Only absent blocks are asked for, and the others are hit.
    middle.read(extent(50, 52), None);
    let (fetched, label) = middle.read(extent(50, 56), Some(demand(50, 54)))[0];
    assert_eq!((fetched, label.demand), (extent(52, 56), extent(52, 54)));
}

#[test]
fn a_run_goes_on_over_hits_and_ends_at_a_gap() {
    let mut wanted = Wanted::begun(&demand(10, 11));
    assert_eq!((wanted.end, wanted.run), (11, 1));
    assert_eq!(wanted.goes_on(&Label { demand: extent(14, 15), hits: extent(11, 14) }), 4);
    assert_eq!((wanted.end, wanted.run), (15, 5));
    assert_eq!(wanted.goes_on(&demand(12, 15)), 0, "known");
    assert_eq!(wanted.goes_on(&demand(20, 22)), 2);
    assert_eq!((wanted.end, wanted.run), (22, 2));
}

const POLICIES: [&str; 9] =
    ["none", "one-block", "fixed", "linux", "sarc", "gill", "competitive", "ets", "ets-competitive+arc"];

/// Where reads begin, how long they are, and whether they go on where the last one ended.
fn reads() -> impl Strategy<Value = Vec<(u32, u32, bool)>> {
    proptest::collection::vec((0..BLOCKS - 20, 1..20u32, prop::bool::weighted(0.7)), 1..120)
}

/// The extents of reads.
fn extents(reads: &[(u32, u32, bool)]) -> Vec<Extent> {
    let mut end = 0;
    let one = |&(place, len, goes_on): &(u32, u32, bool)| {
        let start = if goes_on && end + len < BLOCKS { end } else { place };
        end = start + len;
        extent(start, end)
    };
    reads.iter().map(one).collect()
}

fn any_extent() -> impl Strategy<Value = Extent> {
    let number = || prop_oneof![0..BLOCKS + 50, Just(u32::MAX), any::<u32>()];
    (0..3u32, number(), number()).prop_map(|(file, start, len)| Extent { file: FileId(file), start, len })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn no_label_is_the_same_as_all_demand(reads in reads(), policy in 0..POLICIES.len(), frames in 16u32..300) {
        let [mut plain, mut labelled] = [0, 1].map(|_| Driver::new(POLICIES[policy], frames));
        for extent in extents(&reads) {
            prop_assert_eq!(plain.read(extent, None), labelled.read(extent, Some(Label::all(extent))));
        }
        prop_assert_eq!(plain.0.core.counters(), labelled.0.core.counters());
    }

    #[test]
    fn what_nobody_wants_changes_no_degree_no_distance_and_no_run(
        reads in reads(), wanted in proptest::collection::vec(any::<bool>(), 120),
        policy in 0..POLICIES.len(), frames in 16u32..300,
    ) {
        let mut lower = Driver::new(POLICIES[policy], frames);
        for (extent, wanted) in extents(&reads).into_iter().zip(wanted) {
            if wanted {
                lower.read(extent, None);
                continue;
            }
            let before: Vec<Stream> = lower.streams();
            lower.read(extent, Some(Label { demand: Extent { len: 0, ..extent }, hits: Extent::default() }));
            for (was, is) in before.iter().zip(lower.streams()) {
                if was.piece > 0 && (was.began, was.first) == (is.began, is.first) {
                    let of = |stream: &Stream| (stream.piece, stream.distance, stream.wanted);
                    prop_assert_eq!(of(was), of(&is), "{}", POLICIES[policy]);
                }
            }
        }
    }

    /// Every block that is told was read, none is told twice; of a reader that skips nothing, none
    /// is left out.
    #[test]
    fn notes_and_demand_add_up_to_what_was_read(
        steps in proptest::collection::vec((1..8u32, prop_oneof![4 => Just(0u32), 1 => 1..6u32]), 1..100),
        policy in 0..POLICIES.len(), frames in 60u32..300,
    ) {
        let mut upper = Driver::new(POLICIES[policy], frames);
        let (mut at, mut read, mut told) = (0, Vec::new(), Vec::new());
        let skips = steps.iter().any(|&(_, skip)| skip > 0);
        for (len, skip) in steps {
            at += skip;
            read.extend(at..at + len);
            for (_, Label { demand, hits }) in upper.read(extent(at, at + len), None) {
                told.extend(hits.start..hits.end());
                told.extend(demand.start..demand.end());
            }
            at += len;
        }
        prop_assert!(told.is_sorted_by(|a, b| a < b), "{}: {:?}", POLICIES[policy], told);
        prop_assert!(told.iter().all(|block| read.binary_search(block).is_ok()));
        if !skips {
            prop_assert_eq!(&told[..], &read[..told.len()]);
        }
    }

    /// Every read is answered, whatever the level above says.
    #[test]
    fn nonsense_is_no_harm(
        reads in reads(), labels in proptest::collection::vec((any_extent(), any_extent()), 120),
        policy in 0..POLICIES.len(), frames in 16u32..300,
    ) {
        let mut lower = Driver::new(POLICIES[policy], frames);
        let extents = extents(&reads);
        for (&extent, &(demand, hits)) in extents.iter().zip(&labels) {
            for (fetched, label) in lower.read(extent, Some(Label { demand, hits })) {
                prop_assert!(label.demand.is_empty() || label.demand.start == fetched.start);
                prop_assert!(label.demand.end() <= fetched.end() && label.hits.end() <= BLOCKS);
            }
        }
        prop_assert_eq!(lower.0.answered.len(), extents.len());
    }
}
