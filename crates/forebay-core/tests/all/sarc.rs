//! The lists of SARC (Gill and Modha, USENIX 2005) against a naive twin, and by hand.
//! (`sequence.rs` has its prefetching.)

use crate::cycle;
use std::collections::BTreeSet;

use cycle::{Cycle, key};
use forebay_core::frames::{FIRST_POLICY_LIST, ListId, Slot, flag};
use forebay_core::index::Hashed;
use forebay_core::replacement::{Replacement, SarcLists};
use proptest::prelude::*;

const SEQ: ListId = ListId(FIRST_POLICY_LIST);
const RANDOM: ListId = ListId(FIRST_POLICY_LIST + 1);

/// The paper's text on two vectors from LRU to MRU, each block with its time stamp. The desired
/// size and its steps are in parts of 65536, since fractions that are rounded in other places
/// cannot be compared.
struct Naive {
    frames: i64,
    capacity: usize,
    seq: Vec<(u32, i64)>,
    random: Vec<(u32, i64)>,
    desired: i64,
    adapt: i64,
    misses: i64,
    now: i64,
}

const ONE: i64 = 65536;

impl Naive {
    fn new(capacity: u32) -> Naive {
        let (seq, random) = (Vec::new(), Vec::new());
        let frames = i64::from(capacity);
        Naive { frames, capacity: capacity as usize, seq, random, desired: 0, adapt: 0, misses: 0, now: 0 }
    }

    fn bottom(&self) -> i64 {
        (self.frames / 50).max(1)
    }

    fn list_of(&mut self, block: u32) -> &mut Vec<(u32, i64)> {
        let in_seq = self.seq.iter().any(|&(other, _)| other == block);
        if in_seq { &mut self.seq } else { &mut self.random }
    }

    fn refresh(&mut self, block: u32) {
        self.now += 1;
        let now = self.now;
        let list = self.list_of(block);
        list.retain(|&(other, _)| other != block);
        list.push((block, now));
    }

    fn hit(&mut self, block: u32) {
        let ratio = 2 * self.misses * self.bottom() * ONE / (self.seq.len() as i64).max(1);
        let bottom = self.bottom();
        let list = self.list_of(block);
        let (oldest, newest) = (list[0].1, list[list.len() - 1].1);
        let age = list.iter().find(|&&(other, _)| other == block).unwrap().1 - oldest;
        let in_bottom = age * list.len() as i64 <= bottom * (newest - oldest);
        let in_seq = self.seq.iter().any(|&(other, _)| other == block);
        if in_bottom && !in_seq {
            self.adapt = (ratio - ONE).clamp(-ONE, ONE);
            self.misses = 0;
        }
        if in_bottom && in_seq && ratio > 20 * ONE {
            self.adapt = ONE;
        }
        self.refresh(block);
    }

    fn evict(&mut self, held: &BTreeSet<u32>) -> bool {
        let oldest = |list: &[(u32, i64)]| list.iter().find(|(block, _)| !held.contains(block)).copied();
        let (seq, random) = (oldest(&self.seq), oldest(&self.random));
        let short = (self.seq.len() as i64) < self.bottom() || (self.random.len() as i64) < self.bottom();
        let gone = match (seq, random) {
            (None, None) => return false,
            (Some(one), None) | (None, Some(one)) => one.0,
            (Some(seq), Some(random)) if short => {
                if seq.1 < random.1 {
                    seq.0
                } else {
                    random.0
                }
            }
            (Some(seq), Some(random)) => {
                if self.seq.len() as i64 * ONE > self.desired {
                    seq.0
                } else {
                    random.0
                }
            }
        };
        self.forget(gone);
        self.desired = if self.desired > 0 { self.desired + self.adapt / 2 } else { self.seq.len() as i64 * ONE };
        self.desired = self.desired.clamp(0, self.frames * ONE);
        true
    }

    fn admit(&mut self, block: u32, sequential: bool, held: &BTreeSet<u32>) -> bool {
        if self.seq.len() + self.random.len() == self.capacity && !self.evict(held) {
            return false;
        }
        self.now += 1;
        if sequential { &mut self.seq } else { &mut self.random }.push((block, self.now));
        true
    }

    fn forget(&mut self, block: u32) {
        self.list_of(block).retain(|&(other, _)| other != block);
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    /// A read; missing, it is sequential or not.
    Read {
        block: u32,
        sequential: bool,
    },
    /// A level above reads a block that no reader wants.
    Pass {
        block: u32,
    },
    /// Blocks are prefetched for a stream.
    Prefetch {
        block: u32,
        len: u32,
    },
    Renew {
        block: u32,
    },
    Hold(u32),
    LetGo(u32),
    Forget(u32),
    Resize(u32),
}

fn workload() -> impl Strategy<Value = (u32, Vec<Step>)> {
    (1u32..=120).prop_flat_map(|capacity| {
        let blocks = capacity * 2 + 2;
        let block = (0..blocks, 0..blocks).prop_map(|(a, b)| a.min(b));
        let step = (block, 0u32..100, 1..=capacity).prop_map(|(block, dice, size)| match dice {
            0..45 => Step::Read { block, sequential: false },
            45..65 => Step::Read { block, sequential: true },
            65..70 => Step::Pass { block },
            70..80 => Step::Prefetch { block, len: 1 + dice % 5 },
            80..86 => Step::Renew { block },
            86..90 => Step::Hold(block),
            90..95 => Step::LetGo(block),
            95..99 => Step::Forget(block),
            _ => Step::Resize(size),
        });
        (Just(capacity), proptest::collection::vec(step, 0..600))
    })
}

fn in_order(cycle: &Cycle<SarcLists, Hashed>, list: ListId) -> Vec<u32> {
    cycle.list(list).into_iter().rev().map(|slot| cycle.directory.frames.key(slot).block()).collect()
}

/// A block comes in, sequential or not.
fn bring(cycle: &mut Cycle<SarcLists, Hashed>, block: u32, sequential: bool) -> Option<Slot> {
    let (slot, class) = cycle.begin(key(block))?;
    if sequential {
        cycle.directory.frames.set(slot, flag::SEQUENTIAL);
    }
    cycle.policy.insert(&mut cycle.directory, slot, class);
    Some(slot)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// The same blocks in the same places of the same lists after every step, and the same desired
    /// size, within the cache.
    #[test]
    fn the_lists_are_their_twin((capacity, steps) in workload()) {
        let mut cycle = Cycle::<SarcLists, Hashed>::new(capacity);
        let mut naive = Naive::new(capacity);
        let mut held = BTreeSet::new();
        for step in steps {
            match step {
                Step::Read { block, sequential } => match cycle.resident(key(block)) {
                    Some(slot) => {
                        cycle.policy.hit(&mut cycle.directory, slot);
                        naive.hit(block);
                    }
                    None => {
                        if sequential {
                            cycle.policy.sequential_miss();
                            naive.misses += 1;
                        }
                        let came = bring(&mut cycle, block, sequential).is_some();
                        prop_assert_eq!(came, naive.admit(block, sequential, &held));
                    }
                },
                Step::Pass { block } => if let Some(slot) = cycle.resident(key(block)) {
                    cycle.policy.passed(&mut cycle.directory, slot);
                    naive.refresh(block);
                },
                Step::Prefetch { block, len } => for block in block..block + len {
                    if cycle.resident(key(block)).is_none() {
                        let came = bring(&mut cycle, block, true).is_some();
                        prop_assert_eq!(came, naive.admit(block, true, &held));
                    }
                },
                Step::Renew { block } => if let Some(slot) = cycle.resident(key(block)) {
                    cycle.policy.renew(&mut cycle.directory, slot);
                    if naive.seq.iter().any(|&(other, _)| other == block) {
                        naive.refresh(block);
                    }
                },
                Step::Hold(block) => if let Some(slot) = cycle.resident(key(block)) {
                    cycle.directory.frames.set_pins(slot, 1);
                    held.insert(block);
                },
                Step::LetGo(block) => if held.remove(&block) {
                    let slot = cycle.resident(key(block)).expect("a held frame stays");
                    cycle.directory.frames.set_pins(slot, 0);
                },
                Step::Forget(block) => {
                    if let Some(slot) = cycle.resident(key(block)).filter(|_| !held.contains(&block)) {
                        cycle.policy.remove(&mut cycle.directory, slot);
                        cycle.directory.release(slot);
                        naive.forget(block);
                    }
                }
                Step::Resize(frames) => {
                    cycle.policy.resize(frames);
                    let (old, new) = (naive.frames, i64::from(frames));
                    naive.desired = ((naive.desired / ONE * new + old / 2) / old).min(new) * ONE;
                    naive.frames = new;
                }
            }
            cycle.check();
            let blocks = |list: &[(u32, i64)]| list.iter().map(|&(block, _)| block).collect::<Vec<_>>();
            prop_assert_eq!(in_order(&cycle, SEQ), blocks(&naive.seq));
            prop_assert_eq!(in_order(&cycle, RANDOM), blocks(&naive.random));
            prop_assert_eq!(i64::from(cycle.policy.desired()), naive.desired / ONE);
            prop_assert!(i64::from(cycle.policy.desired()) <= naive.frames);
        }
    }
}

fn bring_all(cycle: &mut Cycle<SarcLists, Hashed>, blocks: std::ops::Range<u32>, sequential: bool) {
    for block in blocks {
        bring(cycle, block, sequential);
    }
}

/// Traced by hand. 100 frames, so ΔL = 2: 40 in SEQ, 60 in RANDOM.
fn forty_and_sixty() -> Cycle<SarcLists, Hashed> {
    let mut cycle = Cycle::new(100);
    bring_all(&mut cycle, 0..40, true);
    bring_all(&mut cycle, 1000..1060, false);
    cycle
}

fn sizes(cycle: &Cycle<SarcLists, Hashed>) -> (u32, u32) {
    (cycle.directory.frames.len(SEQ), cycle.directory.frames.len(RANDOM))
}

fn hit(cycle: &mut Cycle<SarcLists, Hashed>, block: u32) {
    let slot = cycle.resident(key(block)).expect("it is there");
    cycle.policy.hit(&mut cycle.directory, slot);
}

/// Equation 6: 2 · s · ΔL / L against 1. Five sequential misses while SEQ has 40: 2 · 5 · 2 / 40 =
/// 1/2, so adapt = −1/2, and the desired size falls by a quarter with every victim. (The first
/// victim makes it |SEQ|.)
#[test]
fn a_ratio_of_a_half_lets_seq_shrink_by_a_quarter_a_victim() {
    let mut cycle = forty_and_sixty();
    (0..5).for_each(|_| cycle.policy.sequential_miss());
    hit(&mut cycle, 1000);
    let mut desired = vec![];
    let mut seq = vec![];
    for block in 2000..2006 {
        bring(&mut cycle, block, false);
        desired.push(cycle.policy.desired());
        seq.push(sizes(&cycle).0);
    }
    // 39; then 38.75, 38.5, 38.25, 38, 37.75. A victim is from SEQ if that is longer than what was
    // desired before.
    assert_eq!(desired, [39, 38, 38, 38, 38, 37]);
    assert_eq!(seq, [39, 39, 38, 38, 38, 38]);
}

/// Fifteen: 2 · 15 · 2 / 40 = 3/2, so adapt = 1/2. Sixty: 6 − 1 is cut to 1, half a frame a victim.
#[test]
fn a_ratio_beyond_one_lets_seq_grow() {
    for (misses, after_eight) in [(15, 42), (60, 44)] {
        let mut cycle = forty_and_sixty();
        bring(&mut cycle, 2000, true);
        assert_eq!(
            (cycle.policy.desired(), sizes(&cycle)),
            (39, (40, 60)),
            "the first victim, of SEQ, as nothing was desired"
        );
        (0..misses).for_each(|_| cycle.policy.sequential_miss());
        hit(&mut cycle, 1000);
        bring_all(&mut cycle, 3000..3008, true);
        assert_eq!(cycle.policy.desired(), after_eight - 1, "{misses} misses");
    }
}

/// Hits elsewhere than in the bottom ΔL teach nothing, and each in the bottom of RANDOM ends the
/// interval.
#[test]
fn only_the_bottom_of_random_measures() {
    let mut cycle = forty_and_sixty();
    (0..60).for_each(|_| cycle.policy.sequential_miss());
    // The bottom of 60 blocks that came evenly: ages up to 2/60 of 59 from the oldest.
    hit(&mut cycle, 1002);
    bring(&mut cycle, 2000, false);
    bring(&mut cycle, 2001, false);
    assert_eq!(cycle.policy.desired(), 39, "adapt is 0 still");
    hit(&mut cycle, 1001);
    bring(&mut cycle, 2002, false);
    bring(&mut cycle, 2003, false);
    assert_eq!(cycle.policy.desired(), 40, "adapt is 1: half a frame a victim");
    // The interval is over, and the next one has no miss: adapt = −1.
    let oldest = in_order(&cycle, RANDOM)[0];
    hit(&mut cycle, oldest);
    bring_all(&mut cycle, 2004..2008, false);
    assert_eq!(cycle.policy.desired(), 38);
}

/// A hit in the bottom of SEQ counts once the ratio is large: 2 · 400 · 2 / 40 = 40 > 20; 200
/// misses are 20, which is not.
#[test]
fn a_hit_in_the_bottom_of_seq_counts_when_the_ratio_is_large() {
    for (misses, desired) in [(200, 39), (400, 41)] {
        let mut cycle = forty_and_sixty();
        (0..misses).for_each(|_| cycle.policy.sequential_miss());
        hit(&mut cycle, 0);
        bring_all(&mut cycle, 2000..2005, true);
        assert_eq!(cycle.policy.desired(), desired, "{misses} misses");
    }
}

/// A prefetch of a level above moves blocks and measures nothing.
#[test]
fn what_nobody_wants_measures_nothing() {
    let mut cycle = forty_and_sixty();
    (0..60).for_each(|_| cycle.policy.sequential_miss());
    let slot = cycle.resident(key(1000)).unwrap();
    cycle.policy.passed(&mut cycle.directory, slot);
    assert_eq!(cycle.directory.frames.front(RANDOM), Some(slot));
    bring_all(&mut cycle, 2000..2004, false);
    assert_eq!(cycle.policy.desired(), 39, "where the first victim put it");
}

/// While one of both is shorter than ΔL the older LRU block goes, of either list.
#[test]
fn a_short_list_is_as_good_as_the_other() {
    let mut cycle = Cycle::<SarcLists, Hashed>::new(100);
    bring(&mut cycle, 0, true);
    bring_all(&mut cycle, 1000..1099, false);
    bring(&mut cycle, 2000, false);
    assert_eq!(sizes(&cycle), (0, 100), "block 0 came first");
    bring(&mut cycle, 1, true);
    bring(&mut cycle, 2001, false);
    assert_eq!(sizes(&cycle), (1, 99), "and block 1 last");
}
