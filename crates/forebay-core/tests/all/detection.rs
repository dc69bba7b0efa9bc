//! The other detectors on sequences worked out by hand: DEAR's groups, PCC's counters, UBM's runs.

use forebay_core::Pattern;
use forebay_core::papers::dear::Detector;
use forebay_core::papers::pcc::{Counters, MOST};
use forebay_core::papers::ubm::Run;
use proptest::prelude::*;

/// Two intervals, of the same length.
fn dear(group: u32, [before, now]: [&[u64]; 2]) -> Pattern {
    assert_eq!(before.len(), now.len());
    let mut detector = Detector::new(before.len() as u32, group);
    before.iter().chain(now).for_each(|&block| detector.access(block));
    detector.pattern()
}

/// Backward distances are, from the nearest, those of 4, 3, 2, 1.
#[test]
fn groups_of_dear() {
    // Forward distances of 4 and 3 are 3 and 2, of 2 and 1 are 1 and 0: 2.5, then 0.5.
    assert_eq!(dear(2, [&[1, 2, 3, 4], &[1, 2, 3, 4]]), Pattern::Looping);
    // 0 and 1, then 2 and 3.
    assert_eq!(dear(2, [&[1, 2, 3, 4], &[4, 3, 2, 1]]), Pattern::Clustered);
    // 2 and 3, then 1 and 0: within a group the order does not matter.
    assert_eq!(dear(2, [&[1, 2, 3, 4], &[1, 2, 4, 3]]), Pattern::Looping);
    // 2 and 0, then 3 and 1: 1 and 2; but one by one 2, 0, 3, 1.
    assert_eq!(dear(2, [&[1, 2, 3, 4], &[3, 1, 4, 2]]), Pattern::Clustered);
    assert_eq!(dear(1, [&[1, 2, 3, 4], &[3, 1, 4, 2]]), Pattern::Other);
    // 3 and 0, then 1 and 2: the same.
    assert_eq!(dear(2, [&[1, 2, 3, 4], &[3, 2, 1, 4]]), Pattern::Other);
    // Blocks not accessed now are not looked at, blocks not accessed before are farthest: 3: 3, 1:
    // 2, 8 and 9: 0.5; or 1.5 after 0.
    assert_eq!(dear(1, [&[1, 2, 3, 4], &[8, 9, 1, 3]]), Pattern::Looping);
    assert_eq!(dear(1, [&[1, 2, 3, 4], &[1, 8, 9, 3]]), Pattern::Other);
    assert_eq!(dear(1, [&[1, 2, 3, 4], &[4, 3, 8, 9]]), Pattern::Clustered);
    assert_eq!(dear(1, [&[1, 2, 3, 4], &[5, 6, 7, 8]]), Pattern::OneShot);
    // One group tells nothing.
    assert_eq!(dear(4, [&[1, 2, 3, 4], &[1, 2, 3, 4]]), Pattern::Other);
}

/// The last access counts backward, the first one forward.
#[test]
fn repetitions_in_an_interval_of_dear() {
    // Last accesses: 1 at 5, 3 at 4, 2 at 3. First accesses: 2 at 0, 3 at 2, 1 at 4.
    assert_eq!(dear(1, [&[1, 2, 1, 2, 3, 1], &[2, 2, 3, 2, 1, 1]]), Pattern::Looping);
}

/// Until a second interval ends nothing is known; then the last one decides.
#[test]
fn intervals_of_dear() {
    let mut detector = Detector::new(4, 1);
    let mut all = Vec::new();
    for block in [1, 2, 3, 4, 1, 2, 3, 4, 4, 3, 2, 1] {
        detector.access(block);
        all.push(detector.pattern());
    }
    let expected = [(7, Pattern::Other), (4, Pattern::Looping), (1, Pattern::Clustered)];
    let expected: Vec<Pattern> = expected.iter().flat_map(|&(times, pattern)| vec![pattern; times]).collect();
    assert_eq!(all, expected);
}

fn pcc(threshold: u32, blocks: impl IntoIterator<Item = u64>) -> Pattern {
    let mut counters = Counters::new(threshold);
    blocks.into_iter().for_each(|block| counters.access(block));
    counters.pattern()
}

#[test]
fn counters_of_pcc() {
    // Seq 4, Loop 0.
    assert_eq!(pcc(4, [1, 2, 3, 4]), Pattern::OneShot);
    assert_eq!(pcc(5, [1, 2, 3, 4]), Pattern::Other);
    // Seq 2, Loop 2: not fewer.
    assert_eq!(pcc(3, [1, 2, 3, 4, 1, 2]), Pattern::Other);
    // Seq 1, Loop 3.
    assert_eq!(pcc(1, [1, 2, 3, 4, 1, 2, 3]), Pattern::Looping);
    // A third access counts no more: Seq 3, Loop 1.
    assert_eq!(pcc(9, [1, 2, 3, 4, 1, 1, 1, 1]), Pattern::Other);
    // "It is absolutely normal for temporally clustered streams to also have less non-repeating
    // blocks than repeating ones."
    assert_eq!(pcc(9, (0..100).flat_map(|block| [block, block])), Pattern::Looping);
}

/// Streams of more blocks than are remembered are counted in a sample.
#[test]
fn many_blocks_of_pcc() {
    let most = MOST as u64;
    let scan = || 0..10 * most;
    assert_eq!(pcc(100, scan()), Pattern::OneShot);
    assert_eq!(pcc(20 * MOST as u32, scan()), Pattern::Other, "a sample stands for all of them, not for more");
    assert_eq!(pcc(100, scan().chain(0..6 * most)), Pattern::Looping);
    assert_eq!(pcc(100, scan().chain(0..4 * most)), Pattern::OneShot);
    let mut counters = Counters::new(100);
    scan().chain(scan()).for_each(|block| counters.access(block));
    assert!(counters.footprint() < MOST * 32);
}

proptest! {
    /// Seq and Loop by their definition.
    #[test]
    fn pcc_counts(blocks in prop::collection::vec(0u64..50, 0..200), threshold in 1u32..60) {
        let times = |block| blocks.iter().filter(|&&other| other == block).count();
        let (seq, repeating) = (0..50).fold((0, 0), |(seq, repeating), block| match times(block) {
            0 => (seq, repeating),
            1 => (seq + 1, repeating),
            _ => (seq, repeating + 1),
        });
        let expected = if seq < repeating {
            Pattern::Looping
        } else if seq >= threshold {
            Pattern::OneShot
        } else {
            Pattern::Other
        };
        prop_assert_eq!(pcc(threshold, blocks.iter().copied()), expected);
    }
}

fn ubm(blocks: &[u64]) -> Pattern {
    let mut run = Run::new(3);
    blocks.iter().for_each(|&block| run.access(block));
    run.pattern()
}

#[test]
fn runs_of_ubm() {
    assert_eq!(ubm(&[5, 6]), Pattern::Other);
    assert_eq!(ubm(&[5, 6, 7]), Pattern::OneShot);
    assert_eq!(ubm(&[5, 6, 6, 6, 7, 7]), Pattern::OneShot, "a block read in pieces");
    assert_eq!(ubm(&[5, 6, 7, 5]), Pattern::Looping);
    assert_eq!(ubm(&[5, 6, 7, 5, 6, 7, 5]), Pattern::Looping);
    assert_eq!(ubm(&[5, 6, 7, 6]), Pattern::Other, "not from its beginning");
    assert_eq!(ubm(&[5, 6, 7, 5, 9]), Pattern::Other, "elsewhere");
    assert_eq!(ubm(&[5, 6, 5, 6, 5, 6]), Pattern::Other, "too short a run");
    // "Only loops that access consecutive blocks will be detected."
    assert_eq!(ubm(&[5, 7, 9, 5, 7, 9, 5, 7, 9]), Pattern::Other);
    // Where numbers end.
    assert_eq!(ubm(&[u64::MAX - 1, u64::MAX, u64::MAX - 1, u64::MAX]), Pattern::Other);
}
