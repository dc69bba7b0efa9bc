//! The prefetch cache of `auto`: CPEM's, but its pages pay rent for their memory.
//!
//! | part | rests on | test |
//! | --- | --- | --- |
//! | `rent` | a block fetched in vain takes memory in which another would be hit | `rent.rs` |
//! | `order` | more ahead saves switches, up to where its misses cost as much | `rent.rs`, `tests/all/explain.rs` |
//! | `turnover` | a page passed over would have left any other queue by then | `tests/all/second_chance.rs` |
//! | `active` | a file that is open and not read needs no part | `tests/all/prefetch_cache.rs` |

mod rent;

use alloc::vec::Vec;

use crate::explain;
use crate::frames::{Frames, Slot};
use crate::history::{EvictionHistory, Was};
use crate::papers::cpem::{PrefetchCache, Settings};
use crate::seams::{Limits, Reclaimer, Sharers};
use crate::types::{HandlerId, Instant};

use rent::{ONE_LOSS, Rent};

/// The parts of the cache, past the paper.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CacheParts {
    /// Whether the odds of prefetching count the memory that it takes, too.
    pub rent: bool,
    /// Whether there may be as many pages as the rent orders for the present streams, if that is
    /// more than the ceiling.
    pub order: bool,
    /// Whether a page that was passed over stays below the ceiling for as long as it takes to fill
    /// all of memory anew, and no longer. (The paper's ceiling falls slowly: unread pages would
    /// keep their room for minutes.)
    pub turnover: bool,
    /// Whether streams that go on share it, instead of open files.
    pub active: bool,
}

impl CacheParts {
    /// All of them.
    pub const ALL: CacheParts = CacheParts { rent: true, order: true, turnover: true, active: true };
}

/// The prefetch cache.
#[derive(Clone, Debug)]
pub struct Cache {
    parts: CacheParts,
    cache: PrefetchCache,
    /// The cost of one of its pages to the others.
    rent: Rent,
    /// No stream is ordered more blocks ahead than this, …
    deepest: u32,
    /// … unless streams are so few that each has several channels of a device: then all of them
    /// together are ordered no more than this.
    abreast: u32,
    /// How many channels that device has.
    channels: u32,
    /// How many pages memory has, how many were filled since it was filled anew last, and when that
    /// was, and the time before.
    memory: u32,
    filled: u32,
    anew: [Instant; 2],
}

impl Cache {
    /// An empty one.
    pub fn new(frames: u32, settings: Settings, parts: CacheParts) -> Cache {
        Cache {
            parts,
            cache: PrefetchCache::new(frames, settings),
            rent: Rent::new(EvictionHistory::reach(frames), frames),
            deepest: 0,
            abreast: 0,
            channels: 1,
            memory: frames,
            filled: 0,
            anew: [Instant(0); 2],
        }
    }
}

impl Reclaimer for Cache {
    fn len(&self, frames: &Frames) -> u32 {
        self.cache.len(frames)
    }

    fn under_way(&self) -> u32 {
        self.cache.under_way()
    }

    /// The ceiling, or the order of the rent, if that is more.
    fn room(&self, sharers: u32) -> u32 {
        let order = match self.parts.order {
            true if sharers.saturating_mul(2) <= self.channels => self.rent.order_of_few(sharers).min(self.abreast),
            true => self.rent.order(sharers).min(sharers.saturating_mul(self.deepest)),
            false => 0,
        };
        self.cache.ceiling.blocks().max(order)
    }

    fn sharers(&self, sharers: &Sharers) -> u32 {
        if self.parts.active { sharers.streams } else { sharers.open_files }
    }

    fn worth_a_switch(&self, depth: u32) -> u32 {
        let loss = if self.parts.rent { self.rent.loss() } else { 0 };
        let dear = u128::from(ONE_LOSS) + u128::from(loss) * u128::from(depth);
        ((u128::from(depth) * u128::from(ONE_LOSS) / dear) as u32).max(1)
    }

    fn tells_histories_apart(&self) -> bool {
        self.parts.rent
    }

    fn ran(&mut self, handler: HandlerId, at: Instant) {
        self.cache.marks.ran(handler, at);
    }

    fn exited(&mut self, handler: HandlerId) {
        self.cache.marks.exited(handler);
    }

    fn in_question(&self, after: HandlerId, most: usize, out: &mut Vec<HandlerId>) {
        self.cache.marks.in_question(after, most, out);
    }

    fn fetches(&mut self, handler: HandlerId, at: Instant) {
        self.cache.marks.awaits(handler, at);
    }

    fn fetched(&mut self, handler: HandlerId) {
        self.cache.marks.awaits_no_longer(handler);
    }

    fn awaits(&mut self) {
        self.cache.awaits();
        self.rent.fetches();
    }

    fn awaits_no_longer(&mut self) {
        self.cache.awaits_no_longer();
    }

    fn enters(&mut self, frames: &mut Frames, slot: Slot, handler: HandlerId, prefetched: Instant) {
        let place = self.cache.marks.enlist(handler, prefetched);
        self.cache.enter(frames, slot, place, prefetched);
    }

    fn leaves(&mut self, frames: &Frames, slot: Slot) {
        self.cache.leave(frames, slot);
    }

    fn missed(&mut self, was: Was) {
        self.cache.ceiling.missed();
        if was == Was::Referenced {
            self.rent.missed();
        }
    }

    fn wanted(&mut self, frames: &Frames, now: Instant) -> bool {
        self.cache.ceiling.look(now);
        self.filled += 1;
        if self.filled >= self.memory {
            (self.filled, self.anew) = (0, [self.anew[1], now]);
        }
        self.rent.fills(self.cache.len(frames)) && self.parts.order
    }

    /// A stream is ordered at most two pieces that are worth a switch of `depth` blocks: one that
    /// is read, and one that comes meanwhile. One piece each keeps `channels` channels busy, while
    /// another is read; of pieces of 4 · S_p four fifths of their time is transfer.
    fn deepest(&mut self, depth: u32, channels: u32) {
        self.deepest = depth.saturating_mul(2);
        self.abreast = depth.saturating_mul(4).saturating_mul(channels.saturating_add(1));
        self.channels = channels;
    }

    /// A page is stale if it came before all of memory was filled anew. Among the rest it would
    /// have gone by now, at the latest.
    fn gives_up(&mut self, frames: &mut Frames, limits: Limits, now: Instant) -> Option<Slot> {
        let room = self.room(limits.sharers).saturating_add(limits.spare);
        let stale = self.parts.turnover.then_some(self.anew[0]);
        self.cache.reclaim(frames, room, stale, now)
    }

    fn evicts(&mut self, frames: &mut Frames, now: Instant) -> Option<Slot> {
        self.cache.evict(frames, now)
    }

    fn explain(&self, frames: &Frames) -> explain::Cache {
        self.cache.explain(frames)
    }

    fn marked(&self) -> u32 {
        self.cache.marks.marked()
    }

    fn footprint(&self) -> usize {
        self.cache.footprint()
    }
}
