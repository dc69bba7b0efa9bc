//! A replacement policy from outside of the core, such as one that is written in Python.
//!
//! The core's policies work on lists of its slab. A guest sees blocks by their numbers alone, and
//! this file keeps which of them the cache holds. So a guest is slower, and needs only five
//! functions that are easy to write.

use super::passes::Passes;
use super::references::{Chunk, References};
use super::replay::size;
use super::{Capacity, Error, Open, Options, Outcome};
use crate::Watch;

/// A replacement policy by the numbers of blocks, which count from zero in the order in which a
/// trace first refers to them.
///
/// ```text
///   held:      hit
///   not held:  miss [evict remove] insert
/// ```
pub trait Guest {
    /// A fault of the policy itself: it ends the replay.
    type Error;
    /// A block that the cache holds is referred to.
    fn hit(&mut self, block: u32) -> Result<(), Self::Error>;
    /// A block that the cache does not hold is referred to. Eviction and insertion follow.
    fn miss(&mut self, block: u32) -> Result<(), Self::Error>;
    /// The cache is full: chooses the block that goes.
    fn evict(&mut self) -> Result<u64, Self::Error>;
    /// A block is gone from the cache.
    fn remove(&mut self, block: u32) -> Result<(), Self::Error>;
    /// A block is in the cache from now on.
    fn insert(&mut self, block: u32) -> Result<(), Self::Error>;
}

/// Why a guest's replay has no result.
#[derive(Debug, thiserror::Error)]
pub enum GuestError<E> {
    /// The trace or the capacity is at fault.
    #[error(transparent)]
    Replay(#[from] Error),
    /// The policy failed.
    #[error("the policy failed")]
    Policy(E),
    /// The policy evicted a block that is not in the cache.
    #[error(
        "evict() chose block {block}, which the cache does not hold: it holds blocks that were inserted and not removed since"
    )]
    NotHeld {
        /// The block.
        block: u64,
    },
}

/// A cache of one capacity for a guest.
#[derive(Clone, Copy, Debug)]
pub struct GuestRun<'a> {
    /// The name of the policy in the outcome.
    pub name: &'a str,
    /// The capacity.
    pub capacity: Capacity,
}

/// Replays a trace through a cache of a policy that `make` makes for so many blocks. `None` if
/// `watch` ended it early.
pub fn replay_guest<G: Guest>(
    open: &Open<'_>,
    options: &Options,
    run: GuestRun<'_>,
    make: impl FnOnce(u64) -> Result<G, G::Error>,
    watch: &dyn Watch,
) -> Result<Option<Outcome>, GuestError<G::Error>> {
    let shape = open().map_err(Error::from)?.shape();
    let distinct = match run.capacity.is_share() {
        false => 0,
        true => match size(open, options, watch)? {
            Some(size) => u64::from(size.distinct),
            None => return Ok(None),
        },
    };
    let blocks = run.capacity.blocks(shape, options, distinct)?;
    let mut cache =
        Cache { blocks, held: Held::default(), misses: 0, guest: make(blocks).map_err(GuestError::Policy)? };
    let passes = Passes::new(watch, 1);
    let mut references = References::open(open, options, u64::MAX)?;
    let mut chunk = Chunk::default();
    while references.next(&mut chunk)? {
        for &block in &chunk.keys {
            cache.refer(block)?;
        }
        let (done, all) = references.progress();
        if !passes.goes_on(done, all) {
            return Ok(None);
        }
    }
    Ok(Some(Outcome::named(run.name.to_owned(), blocks, references.count(), cache.misses)))
}

struct Cache<G> {
    /// How many it may hold.
    blocks: u64,
    held: Held,
    misses: u64,
    guest: G,
}

impl<G: Guest> Cache<G> {
    fn refer(&mut self, block: u32) -> Result<(), GuestError<G::Error>> {
        if self.held.has(block) {
            return self.guest.hit(block).map_err(GuestError::Policy);
        }
        self.misses += 1;
        self.guest.miss(block).map_err(GuestError::Policy)?;
        if self.held.count >= self.blocks {
            let victim = self.guest.evict().map_err(GuestError::Policy)?;
            let held = u32::try_from(victim).ok().filter(|&victim| self.held.take(victim));
            let victim = held.ok_or(GuestError::NotHeld { block: victim })?;
            self.guest.remove(victim).map_err(GuestError::Policy)?;
        }
        self.held.put(block);
        self.guest.insert(block).map_err(GuestError::Policy)
    }
}

/// The blocks that a cache holds: a bit a block, since their numbers are dense.
#[derive(Default)]
struct Held {
    bits: Vec<u64>,
    count: u64,
}

impl Held {
    fn has(&self, block: u32) -> bool {
        self.bits.get(block as usize / 64).is_some_and(|bits| bits & bit(block) != 0)
    }

    fn put(&mut self, block: u32) {
        let at = block as usize / 64;
        if at >= self.bits.len() {
            self.bits.resize((at + 1).next_power_of_two(), 0);
        }
        self.bits[at] |= bit(block);
        self.count += 1;
    }

    /// Takes a block out; `false` if it is not held.
    fn take(&mut self, block: u32) -> bool {
        let held = self.has(block);
        if held {
            self.bits[block as usize / 64] &= !bit(block);
            self.count -= 1;
        }
        held
    }
}

fn bit(block: u32) -> u64 {
    1 << (block % 64)
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use forebay_core::presets::Replacement;
    use forebay_trace::{Memory, Request, Shape, Source};

    use super::super::{Algorithm, Run, replay};
    use super::*;
    use crate::Unwatched;

    /// LRU, the last used at the back.
    struct Lru(VecDeque<u32>);

    impl Lru {
        fn forget(&mut self, block: u32) {
            self.0.retain(|&held| held != block);
        }
    }

    impl Guest for Lru {
        type Error = &'static str;

        fn hit(&mut self, block: u32) -> Result<(), &'static str> {
            self.forget(block);
            self.insert(block)
        }

        fn miss(&mut self, _block: u32) -> Result<(), &'static str> {
            Ok(())
        }

        fn evict(&mut self) -> Result<u64, &'static str> {
            self.0.front().map(|&block| block.into()).ok_or("nothing to evict")
        }

        fn remove(&mut self, block: u32) -> Result<(), &'static str> {
            self.forget(block);
            Ok(())
        }

        fn insert(&mut self, block: u32) -> Result<(), &'static str> {
            self.0.push_back(block);
            Ok(())
        }
    }

    /// Evicts a block of a fixed number.
    struct Stubborn(u64);

    impl Guest for Stubborn {
        type Error = &'static str;

        fn hit(&mut self, _block: u32) -> Result<(), &'static str> {
            Err("a hit")
        }

        fn miss(&mut self, _block: u32) -> Result<(), &'static str> {
            Ok(())
        }

        fn evict(&mut self) -> Result<u64, &'static str> {
            Ok(self.0)
        }

        fn remove(&mut self, _block: u32) -> Result<(), &'static str> {
            Ok(())
        }

        fn insert(&mut self, _block: u32) -> Result<(), &'static str> {
            Ok(())
        }
    }

    fn trace(files: &[u64]) -> impl Fn() -> Result<Box<dyn Source>, forebay_trace::Error> + Sync + use<> {
        let requests: Vec<Request> = files.iter().map(|&file| Request { file, len: 1, ..Request::default() }).collect();
        move || Ok(Box::new(Memory::new(requests.clone(), Shape::Objects)))
    }

    fn run(capacity: &str) -> GuestRun<'static> {
        GuestRun { name: "guest", capacity: capacity.parse().unwrap() }
    }

    #[test]
    fn a_guests_lru_is_the_cores() {
        let files: Vec<u64> = (0..20_000u64).map(|n| n.wrapping_mul(n) % 977 + n % 13).collect();
        let open = trace(&files);
        for capacity in ["1", "7", "100", "10%", "100%"] {
            let make = |_| Ok(Lru(VecDeque::new()));
            let guest = replay_guest(&open, &Options::default(), run(capacity), make, &Unwatched).unwrap().unwrap();
            let algorithm = Algorithm::Online(Replacement::Lru);
            let runs = [Run { algorithm, capacity: capacity.parse().unwrap() }];
            let core = replay(&open, &Options::default(), &runs, &Unwatched).unwrap().remove(0);
            assert_eq!(guest, Outcome { policy: "guest".into(), ..core }, "{capacity}");
        }
    }

    #[test]
    fn faults_end_the_replay() {
        let guest = |files: &[u64], victim| {
            replay_guest(&trace(files), &Options::default(), run("2"), |_| Ok(Stubborn(victim)), &Unwatched)
                .unwrap_err()
        };
        assert!(matches!(guest(&[1, 2, 3], 7), GuestError::NotHeld { block: 7 }));
        assert!(matches!(guest(&[1, 2, 3], 2), GuestError::NotHeld { block: 2 }), "it is the one that is to come");
        assert!(matches!(guest(&[1, 2, 3], u64::MAX), GuestError::NotHeld { .. }));
        assert!(matches!(guest(&[1, 1], 0), GuestError::Policy("a hit")));
    }
}
