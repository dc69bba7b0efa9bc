//! Every policy against its naive twin: the same hits, the same residents, the same ghosts after
//! every step.
//!
//! A twin is a `Vec` and linear scans, written from the paper and not from the code. Keys come from
//! spaces little larger than the cache, so that ghosts are hit often; readers hold frames, files
//! are forgotten, blocks are prefetched. A failing case prints its shortest input.

use crate::cycle;
use std::collections::{BTreeMap, BTreeSet};

use forebay_core::frames::{FIRST_POLICY_LIST, FREE, ListId, Slot, flag};
use forebay_core::index::{Dense, Hashed, Index};
use forebay_core::replacement::{
    Arc, Car, Clock, Fifo, GillLru, Landlord, Lirs, Lru, Mru, Replacement, S3Fifo, SarcLists, Sieve, TwoQ, WTinyLfu,
};
use proptest::prelude::*;

use cycle::{Cycle, Outcome, key};

mod arc;
mod car;
mod clock;
mod fifo;
mod gill_lru;
mod lirs;
mod lru;
mod mru;
mod s3_fifo;
mod sieve;
mod two_q;
mod w_tiny_lfu;

/// A policy as its paper would have it run: whole, slow, without frames.
trait Twin {
    fn new(capacity: usize) -> Self;
    /// A resident block is referenced.
    fn hit(&mut self, block: u32);
    /// A resident block that was prefetched is referenced for the first time.
    fn first_use(&mut self, block: u32);
    /// The block that came in last was prefetched, and is not referenced yet.
    fn prefetched(&mut self, _block: u32) {}
    /// A block that is not resident comes in, if those `held` leave a frame for it.
    fn admit(&mut self, block: u32, held: &BTreeSet<u32>) -> bool;
    /// A resident block goes without a trace.
    fn forget(&mut self, block: u32);
    fn residents(&self) -> BTreeSet<u32>;
    fn ghosts(&self) -> BTreeSet<u32> {
        BTreeSet::new()
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Read(u32),
    Prefetch(u32),
    Hold(u32),
    LetGo(u32),
    Forget(u32),
}

/// How many blocks there are for a cache of `capacity` frames.
fn blocks(capacity: u32) -> u32 {
    capacity * 3 + 2
}

/// Capacity, and steps over somewhat more blocks than that, lower ones more often.
fn workload() -> impl Strategy<Value = (u32, Vec<Step>)> {
    (1u32..=40).prop_flat_map(|capacity| {
        let block = (0..blocks(capacity), 0..blocks(capacity)).prop_map(|(a, b)| a.min(b));
        let step = (block, 0u32..100).prop_map(|(block, dice)| match dice {
            0..80 => Step::Read(block),
            80..86 => Step::Prefetch(block),
            86..90 => Step::Hold(block),
            90..95 => Step::LetGo(block),
            _ => Step::Forget(block),
        });
        (Just(capacity), proptest::collection::vec(step, 0..400))
    })
}

/// Runs policy and twin side by side.
fn agree<R: Replacement, T: Twin, I: Index>(capacity: u32, steps: &[Step]) {
    let mut cycle = Cycle::<R, I>::new(capacity);
    let mut twin = T::new(capacity as usize);
    let (mut held, mut fresh) = (BTreeSet::new(), BTreeSet::new());
    for (at, &step) in steps.iter().enumerate() {
        match step {
            Step::Read(block) => {
                let expected = if !twin.residents().contains(&block) {
                    if twin.admit(block, &held) { Outcome::Miss } else { Outcome::Refused }
                } else {
                    if fresh.remove(&block) {
                        twin.first_use(block)
                    } else {
                        twin.hit(block)
                    }
                    Outcome::Hit
                };
                assert_eq!(cycle.read(key(block)), expected, "step {at}, {step:?}");
            }
            Step::Prefetch(block) => {
                if cycle.resident(key(block)).is_none() {
                    let came = twin.admit(block, &held);
                    let (slot, _) = cycle.bring(key(block));
                    assert_eq!(slot.is_some(), came, "step {at}, {step:?}");
                    if let Some(slot) = slot {
                        cycle.directory.frames.set(slot, flag::PREFETCHED);
                        fresh.insert(block);
                        twin.prefetched(block);
                    }
                }
            }
            Step::Hold(block) => {
                if let Some(slot) = cycle.resident(key(block)) {
                    cycle.directory.frames.set_pins(slot, 1);
                    held.insert(block);
                }
            }
            Step::LetGo(block) => {
                if held.remove(&block) {
                    let slot = cycle.resident(key(block)).expect("a held frame stays");
                    cycle.directory.frames.set_pins(slot, 0);
                }
            }
            Step::Forget(block) => {
                if let Some(slot) = cycle.resident(key(block)).filter(|_| !held.contains(&block)) {
                    cycle.policy.remove(&mut cycle.directory, slot);
                    cycle.directory.release(slot);
                    twin.forget(block);
                }
            }
        }
        let (residents, ghosts) = cycle.check();
        assert_eq!(residents, twin.residents(), "residents after step {at}, {step:?}");
        assert_eq!(ghosts, twin.ghosts(), "ghosts after step {at}, {step:?}");
        fresh.retain(|block| residents.contains(block));
    }
}

/// Fetches that take time: several under way, arriving in any order, dropped or forgotten. No twin,
/// but every invariant and the promise that a victim is found whenever a frame is not held.
fn survives<R: Replacement>(capacity: u32, steps: &[Step], law: impl Fn(&Cycle<R, Hashed>)) {
    let mut cycle = Cycle::<R, Hashed>::new(capacity);
    let mut flying = BTreeMap::new();
    for &step in steps {
        match step {
            Step::Read(block) | Step::Prefetch(block) => {
                if cycle.resident(key(block)).is_some() {
                    cycle.read(key(block));
                } else if !flying.contains_key(&block) {
                    let evictable = (0..blocks(capacity))
                        .filter_map(|block| cycle.resident(key(block)))
                        .any(|slot| cycle.directory.frames.pins(slot) == 0);
                    let free = cycle.directory.frames.front(FREE).is_some();
                    let before = order(&cycle);
                    let begun = cycle.begin(key(block));
                    if begun.is_none() {
                        assert_eq!(order(&cycle), before, "a victim not found leaves everybody in place");
                    }
                    assert_eq!(begun.is_some(), free || evictable, "a frame is found just when there is one");
                    flying.extend(begun.map(|begun| (block, begun)));
                } else if let Step::Read(_) = step {
                    let (slot, class) = flying[&block];
                    cycle.policy.insert(&mut cycle.directory, slot, class);
                    flying.remove(&block);
                }
            }
            Step::Hold(block) => {
                if let Some(slot) = cycle.resident(key(block)) {
                    cycle.directory.frames.set_pins(slot, 1);
                }
            }
            Step::LetGo(block) => {
                if let Some(slot) = cycle.resident(key(block)) {
                    cycle.directory.frames.set_pins(slot, 0);
                }
            }
            Step::Forget(block) => {
                if let Some((slot, _)) = flying.remove(&block) {
                    cycle.directory.release(slot);
                } else if let Some(slot) =
                    cycle.resident(key(block)).filter(|&slot| cycle.directory.frames.pins(slot) == 0)
                {
                    cycle.policy.remove(&mut cycle.directory, slot);
                    cycle.directory.release(slot);
                }
            }
        }
        cycle.check();
        law(&cycle);
    }
}

/// The frames of a policy's lists in their order, with their counts.
fn order<R: Replacement>(cycle: &Cycle<R, Hashed>) -> Vec<(ListId, Slot, u8)> {
    let frames = &cycle.directory.frames;
    let lists = (FIRST_POLICY_LIST..FIRST_POLICY_LIST + R::LISTS).map(ListId);
    let slots = lists.flat_map(|list| cycle.list(list).into_iter().map(move |slot| (list, slot)));
    slots.filter(|&(_, slot)| !frames.is_ghost(slot)).map(|(list, slot)| (list, slot, frames.count(slot))).collect()
}

fn config() -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::default() }
}

macro_rules! twins {
    ($($name:ident, $late:ident: $policy:ty = $twin:ty, $law:expr;)*) => {
        proptest! {
            #![proptest_config(config())]
            $(
                #[test]
                fn $name((capacity, steps) in workload()) {
                    agree::<$policy, $twin, Hashed>(capacity, &steps);
                    agree::<$policy, $twin, Dense>(capacity, &steps);
                }

                #[test]
                fn $late((capacity, steps) in workload()) {
                    survives::<$policy>(capacity, &steps, $law);
                }
            )*
        }
    };
}

twins! {
    lru_is_its_twin, lru_takes_late_fetches: Lru = lru::Lru, |_| ();
    mru_is_its_twin, mru_takes_late_fetches: Mru = mru::Mru, |_| ();
    fifo_is_its_twin, fifo_takes_late_fetches: Fifo = fifo::Fifo, |_| ();
    clock_is_its_twin, clock_takes_late_fetches: Clock = clock::Clock, |_| ();
    sieve_is_its_twin, sieve_takes_late_fetches: Sieve = sieve::Sieve, |_| ();
    s3_fifo_is_its_twin, s3_fifo_takes_late_fetches: S3Fifo = s3_fifo::S3Fifo, |_| ();
    arc_is_its_twin, arc_takes_late_fetches: Arc = arc::Arc, arc_bounds;
    car_is_its_twin, car_takes_late_fetches: Car = car::Car, car_bounds;
    two_q_is_its_twin, two_q_takes_late_fetches: TwoQ = two_q::TwoQ, |_| ();
    lirs_is_its_twin, lirs_takes_late_fetches: Lirs = lirs::Lirs, lirs_bounds;
    // Without costs it is LRU; `landlord.rs` tests it with them.
    landlord_is_lru, landlord_takes_late_fetches: Landlord = lru::Lru, |_| ();
    // Where nothing is sequential it is LRU; `sarc.rs` tests it with sequences.
    sarc_lists_are_lru, sarc_lists_take_late_fetches: SarcLists = lru::Lru, |_| ();
    gill_lru_is_its_twin, gill_lru_takes_late_fetches: GillLru = gill_lru::GillLru, |_| ();
    w_tiny_lfu_is_its_twin, w_tiny_lfu_takes_late_fetches: WTinyLfu = w_tiny_lfu::WTinyLfu, |_| ();
}

/// The same of CAR.
fn car_bounds(cycle: &Cycle<Car, Hashed>) {
    let [t1, t2, b1, b2] = [0, 1, 2, 3].map(|n| cycle.directory.frames.len(ListId(FIRST_POLICY_LIST + n)));
    let c = cycle.directory.frames.buffers();
    assert!(t1 + b1 <= c && t1 + t2 <= c && b1 + b2 <= c + 1, "T1 {t1}, T2 {t2}, B1 {b1}, B2 {b2}, c {c}");
}

/// There are never more LIR blocks than there may be: those that are no LIR blocks have a share of
/// their own.
fn lirs_bounds(cycle: &Cycle<Lirs, Hashed>) {
    let c = cycle.directory.frames.buffers();
    let lir = cycle.directory.frames.len(ListId(FIRST_POLICY_LIST));
    assert!(lir < c, "{lir} LIR blocks in {c} frames");
}

/// |T1| + |B1| ≤ c and |B1| + |B2| ≤ c, whatever is on its way.
fn arc_bounds(cycle: &Cycle<Arc, Hashed>) {
    let [t1, t2, b1, b2] = [0, 1, 2, 3].map(|n| cycle.directory.frames.len(ListId(FIRST_POLICY_LIST + n)));
    let c = cycle.directory.frames.buffers();
    assert!(t1 + b1 <= c && t1 + t2 <= c && b1 + b2 <= c, "T1 {t1}, T2 {t2}, B1 {b1}, B2 {b2}, c {c}");
}
