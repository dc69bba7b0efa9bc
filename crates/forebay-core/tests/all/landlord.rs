//! LANDLORD against a naive twin that ages every page, against LRU where all costs are alike, and
//! against the best that can be done (SAC §2.1: it "performs within a factor of k of the optimal
//! off-line algorithm").

use crate::cycle;
use std::collections::{BTreeMap, BTreeSet};

use forebay_core::frames::FIRST_POLICY_LIST;
use forebay_core::index::Hashed;
use forebay_core::replacement::{Landlord, Lru, Replacement};
use proptest::prelude::*;

use cycle::{Cycle, Outcome, key};

/// The cost that LANDLORD takes for an unknown one, and for none.
const LEAST: u64 = 1;
/// A larger cost is taken for this.
const MOST: u64 = 1 << 40;

#[derive(Clone, Copy, Debug)]
struct Page {
    block: u32,
    /// L. Below zero for a page that was held while a dearer one went.
    credit: i128,
    /// H.
    cost: u64,
}

/// SAC §2.1, sentence by sentence. Pages in the order of their last references, the latest last.
struct Naive {
    capacity: usize,
    pages: Vec<Page>,
}

impl Naive {
    /// "Upon reference of an object in the cache, LANDLORD restores its L value to H."
    fn hit(&mut self, block: u32) {
        let at = self.pages.iter().position(|page| page.block == block).expect("only residents are hit");
        let page = self.pages.remove(at);
        self.pages.push(Page { credit: page.cost.into(), ..page });
    }

    /// "Finds the object with the lowest L value, removes it, and ages all of the remaining objects
    /// […] by the L value of the evicted object." Of several, the one referenced least recently;
    /// none that is held.
    fn evict(&mut self, held: &BTreeSet<u32>) -> Option<u32> {
        let candidates = self.pages.iter().filter(|page| !held.contains(&page.block));
        let lowest = candidates.map(|page| page.credit).min()?;
        let at = self.pages.iter().position(|page| page.credit == lowest && !held.contains(&page.block))?;
        let gone = self.pages.remove(at);
        for page in &mut self.pages {
            page.credit -= gone.credit.max(0);
        }
        Some(gone.block)
    }

    /// "When an object enters the cache, LANDLORD sets L to H."
    fn admit(&mut self, block: u32, cost: Option<u64>, held: &BTreeSet<u32>) -> bool {
        if self.pages.len() == self.capacity && self.evict(held).is_none() {
            return false;
        }
        let cost = cost.unwrap_or(LEAST).clamp(LEAST, MOST);
        self.pages.push(Page { block, credit: cost.into(), cost });
        true
    }

    fn forget(&mut self, block: u32) {
        self.pages.retain(|page| page.block != block);
    }

    fn residents(&self) -> BTreeSet<u32> {
        self.pages.iter().map(|page| page.block).collect()
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    /// A read; if the block has to be fetched it costs so much, or its cost is unknown.
    Read(u32, Option<u64>),
    Hold(u32),
    LetGo(u32),
    Forget(u32),
    /// A frame is wanted elsewhere.
    Give,
}

fn blocks(capacity: u32) -> u32 {
    capacity * 3 + 2
}

/// Equal costs, nearly equal ones, times as devices have them, and nonsense.
fn cost() -> impl Strategy<Value = Option<u64>> {
    prop_oneof![
        1 => Just(None),
        4 => (0..4u64).prop_map(Some),
        4 => (10_000..50_000_000u64).prop_map(Some),
        1 => prop_oneof![Just(MOST - 1), Just(MOST), Just(MOST + 1), Just(u64::MAX)].prop_map(Some),
    ]
}

fn workload(most: u32) -> impl Strategy<Value = (u32, Vec<Step>)> {
    (1..=most).prop_flat_map(|capacity| {
        let block = (0..blocks(capacity), 0..blocks(capacity)).prop_map(|(a, b)| a.min(b));
        let step = (block, cost(), 0u32..100).prop_map(|(block, cost, dice)| match dice {
            0..80 => Step::Read(block, cost),
            80..85 => Step::Hold(block),
            85..90 => Step::LetGo(block),
            90..95 => Step::Forget(block),
            _ => Step::Give,
        });
        (Just(capacity), proptest::collection::vec(step, 0..500))
    })
}

/// Reads a block. If it comes in, `cost` is told before it is inserted.
fn read<R: Replacement>(cycle: &mut Cycle<R, Hashed>, block: u32, cost: Option<u64>) -> Outcome {
    if cycle.resident(key(block)).is_some() {
        return cycle.read(key(block));
    }
    let Some((slot, class)) = cycle.begin(key(block)) else { return Outcome::Refused };
    if let Some(cost) = cost {
        cycle.policy.costs(&mut cycle.directory, slot, cost);
    }
    cycle.policy.insert(&mut cycle.directory, slot, class);
    Outcome::Miss
}

/// Everything but a read, to a cache. Returns the block that was given up.
fn disturb<R: Replacement>(cycle: &mut Cycle<R, Hashed>, step: Step, held: &mut BTreeSet<u32>) -> Option<u32> {
    match step {
        Step::Read(..) => None,
        Step::Hold(block) => {
            let slot = cycle.resident(key(block))?;
            cycle.directory.frames.set_pins(slot, 1);
            held.insert(block);
            None
        }
        Step::LetGo(block) => {
            let slot = cycle.resident(key(block))?;
            cycle.directory.frames.set_pins(slot, 0);
            held.remove(&block);
            None
        }
        Step::Forget(block) => {
            let slot = cycle.resident(key(block)).filter(|_| !held.contains(&block))?;
            cycle.policy.remove(&mut cycle.directory, slot);
            cycle.directory.release(slot);
            Some(block)
        }
        Step::Give => {
            cycle.policy.victim(&mut cycle.directory, 0)?;
            Some(cycle.directory.released().key.block())
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    /// One rent and a heap do what ageing every page does: the same page goes, every time.
    #[test]
    fn it_is_its_twin((capacity, steps) in workload(40)) {
        let mut cycle = Cycle::<Landlord, Hashed>::new(capacity);
        let mut twin = Naive { capacity: capacity as usize, pages: Vec::new() };
        let mut held = BTreeSet::new();
        for step in steps {
            if let Step::Read(block, cost) = step {
                let expected = if twin.residents().contains(&block) {
                    twin.hit(block);
                    Outcome::Hit
                } else if twin.admit(block, cost, &held) {
                    Outcome::Miss
                } else {
                    Outcome::Refused
                };
                prop_assert_eq!(read(&mut cycle, block, cost), expected, "{:?}", step);
            } else {
                let before = held.clone();
                let gone = disturb(&mut cycle, step, &mut held);
                match (step, gone) {
                    (Step::Give, gone) => prop_assert_eq!(twin.evict(&before), gone),
                    (_, Some(gone)) => twin.forget(gone),
                    _ => {}
                }
            }
            prop_assert_eq!(cycle.check().0, twin.residents(), "after {:?}", step);
        }
    }

    /// "LANDLORD degenerates to strict LRU when all H values are the same."
    #[test]
    fn equal_costs_are_lru((capacity, steps) in workload(40), cost in cost()) {
        let mut landlord = Cycle::<Landlord, Hashed>::new(capacity);
        let mut lru = Cycle::<Lru, Hashed>::new(capacity);
        let (mut held, mut same) = (BTreeSet::new(), BTreeSet::new());
        for step in steps {
            if let Step::Read(block, _) = step {
                prop_assert_eq!(read(&mut landlord, block, cost), read(&mut lru, block, cost));
            } else {
                prop_assert_eq!(disturb(&mut landlord, step, &mut held), disturb(&mut lru, step, &mut same));
            }
            prop_assert_eq!(landlord.check(), lru.check(), "after {:?}", step);
        }
    }

    /// Never more than k / (k − h + 1) times the best cost with h ≤ k pages (Young 1998); with as
    /// many, k times. By trying everything.
    #[test]
    fn it_is_k_competitive(
        k in 1..4u32,
        costs in proptest::collection::vec(1..20u64, 5),
        blocks in proptest::collection::vec(0..5u32, 0..14),
    ) {
        let mut cycle = Cycle::<Landlord, Hashed>::new(k);
        let mut paid = 0;
        for &block in &blocks {
            let cost = costs[block as usize];
            if read(&mut cycle, block, Some(cost)) == Outcome::Miss {
                paid += cost;
            }
        }
        for h in 1..=k {
            let least = optimum(h, &costs, &blocks);
            prop_assert!(paid * u64::from(k - h + 1) <= u64::from(k) * least, "{paid}, at best {least} with {h} of {k}");
        }
    }
}

/// The least that serving `blocks` costs with `capacity` pages: over all sets of pages that a cache
/// may hold by then.
fn optimum(capacity: u32, costs: &[u64], blocks: &[u32]) -> u64 {
    let mut least = BTreeMap::from([(0u32, 0u64)]);
    for &block in blocks {
        let mut next = BTreeMap::new();
        for (set, paid) in least {
            let mut reach = |set: u32, paid: u64| {
                let known = next.entry(set).or_insert(u64::MAX);
                *known = paid.min(*known);
            };
            let with = set | 1 << block;
            if with == set {
                reach(set, paid);
                continue;
            }
            let paid = paid + costs[block as usize];
            if with.count_ones() <= capacity {
                reach(with, paid);
            }
            (0..costs.len()).filter(|page| set & 1 << page != 0).for_each(|page| reach(with & !(1 << page), paid));
        }
        least = next;
    }
    least.values().copied().min().unwrap_or(0)
}

/// Three pages of costs 4, 2 and 6, by hand.
#[test]
fn a_worked_example() {
    let mut cycle = Cycle::<Landlord, Hashed>::new(3);
    let gone = |cycle: &mut Cycle<Landlord, Hashed>, block, cost| {
        assert_eq!(read(cycle, block, Some(cost)), Outcome::Miss);
        cycle.directory.released().key.block()
    };
    let [a, b, c, d, e, f] = [1, 2, 3, 4, 5, 6];
    for (block, cost) in [(a, 4), (b, 2), (c, 6)] {
        assert_eq!(read(&mut cycle, block, Some(cost)), Outcome::Miss);
    }
    // L: a 4, b 2, c 6. The lowest goes, though a is older: a 2, c 4, d 3.
    assert_eq!(gone(&mut cycle, d, 3), b);
    // a is referenced: 4. Then d goes, with 3: a 1, c 1, e 9.
    assert_eq!(read(&mut cycle, a, None), Outcome::Hit);
    assert_eq!(gone(&mut cycle, e, 9), d);
    // a and c have the same. c was referenced longer ago: a 0, e 8, f 1.
    assert_eq!(gone(&mut cycle, f, 1), c);
    // a goes for nothing, and no page ages: e 8, f 1, b 2. Then f.
    assert_eq!(gone(&mut cycle, b, 2), a);
    assert_eq!(gone(&mut cycle, d, 3), f);
}

/// A dear page that no reader wants any more goes in the end: every eviction takes from it.
#[test]
fn a_dear_page_does_not_stay_for_ever() {
    let mut cycle = Cycle::<Landlord, Hashed>::new(4);
    read(&mut cycle, 0, Some(1000));
    let stays = (1..).take_while(|&block| {
        read(&mut cycle, block, Some(10));
        cycle.resident(key(0)).is_some()
    });
    // Three others have the remaining frames and pay 10 for every three blocks.
    let stays = stays.count();
    assert!((290..310).contains(&stays), "{stays} blocks came meanwhile");
}

/// A cost that was told of a block that never came in is not the next one's in that frame.
#[test]
fn a_frame_that_is_freed_has_cost_nothing() {
    let mut cycle = Cycle::<Landlord, Hashed>::new(2);
    let (slot, _) = cycle.begin(key(0)).expect("frames are free");
    cycle.policy.costs(&mut cycle.directory, slot, 1_000_000);
    cycle.directory.release(slot);
    read(&mut cycle, 1, Some(5));
    read(&mut cycle, 2, None);
    read(&mut cycle, 3, Some(5));
    assert!(cycle.resident(key(1)).is_some() && cycle.resident(key(2)).is_none(), "2 cost the least");
}

/// Its bytes beside the slab are counted: a tenant of 32 bytes and a note of eight for each frame.
#[test]
fn its_bytes_are_counted() {
    let frames = 1000;
    let lists = FIRST_POLICY_LIST + Landlord::LISTS;
    let mut cycle = Cycle::<Landlord, Hashed>::new(frames);
    let plain = Cycle::<Lru, Hashed>::new(frames);
    assert_eq!(cycle.policy.footprint(), 32 * frames as usize);
    for block in 0..2 * frames {
        read(&mut cycle, block, None);
    }
    let notes = cycle.directory.footprint() - plain.directory.footprint();
    assert_eq!(notes, 8 * (frames as usize + usize::from(lists)), "a word for each slot");
    assert_eq!(cycle.policy.footprint(), 32 * frames as usize, "no more for having run");
    const { assert!(Landlord::BYTES_BESIDE >= 40) }
    // A part of a divided cache that has become small gives memory back.
    for _ in 0..990 {
        cycle.policy.victim(&mut cycle.directory, 0);
    }
    cycle.policy.resize(10);
    assert!(cycle.policy.footprint() <= 2 * 32 * 10);
    cycle.check();
}
