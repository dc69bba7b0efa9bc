//! The generated streams of AMP's Table 1.

use std::collections::BTreeMap;

use forebay_trace::Source;
use forebay_trace::generate::{Given, named};

/// AMP Table 1, "each stream accesses blocks numbering from 1-100".
#[test]
fn streams_of_amp() {
    let blocks = |name: &str, parameters: &str| -> Vec<u64> {
        let mut source = named(name, &Given::list(parameters).unwrap(), 4).unwrap();
        let mut requests = Vec::new();
        while source.read(&mut requests).unwrap() > 0 {}
        requests.iter().map(|request| request.offset / 4096).collect()
    };
    let mut counts = BTreeMap::new();
    let moved = blocks("amp-moved", "by=20");
    moved.iter().for_each(|&block| *counts.entry(block).or_insert(0) += 1);
    assert_eq!(counts, (0..100).map(|block| (block, 10)).collect(), "a loop still, of ten rounds");
    // An access is at most by so much from its place, and is passed by as many at most.
    let mut rounds = [0; 100];
    for (at, &block) in moved.iter().enumerate() {
        let place = rounds[block as usize] * 100 + block as i64;
        rounds[block as usize] += 1;
        assert!((at as i64 - place).abs() <= 40, "block {block} at {at}");
    }
    assert_eq!(blocks("amp-moved", "tasks=2,by=1,blocks=1"), [0, 0]);

    let near = blocks("amp-clustered", "");
    assert_eq!(near.len(), 1000);
    for (at, &block) in near.iter().enumerate() {
        assert!(block < 100 && block.abs_diff(at as u64 / 10) <= 15, "block {block} at {at}");
    }
    let small = blocks("amp-small-loops", "tasks=2,blocks=5,rounds=2");
    assert_eq!(small, [0, 1, 0, 1, 2, 3, 4, 2, 3, 4]);

    for (again, late) in [(0.6, "1"), (0.5, "0"), (0.6, "0.5")] {
        let accesses = blocks("amp-again", &format!("tasks=3,again={again},late={late}"));
        let times = |block: u64| accesses.iter().filter(|&&other| other == block).count();
        let (all, once): (Vec<u64>, Vec<u64>) = (0..100).partition(|&block| times(block) == 3);
        assert!(once.iter().all(|&block| times(block) == 1));
        assert_eq!(all.len(), (again * 100.0) as usize);
        // Rounds ascend.
        let ends: Vec<usize> = (1..accesses.len()).filter(|&at| accesses[at] <= accesses[at - 1]).collect();
        assert_eq!(ends.len(), 2);
        let first = accesses[..ends[0]].iter().filter(|block| once.contains(block)).count();
        let last = accesses[ends[1]..].iter().filter(|block| once.contains(block)).count();
        let expected = once.len() as f64 * late.parse::<f64>().unwrap();
        assert_eq!((first, last), (once.len() - expected as usize, expected as usize), "{again} {late}");
    }
    let error = named("amp-again", &Given::list("again=1.5").unwrap(), 1).unwrap_err().to_string();
    assert!(error.contains("at most 1"), "{error}");
}
