//! The prefetch cache (CPEM §4.1): "used to manage prefetched but not-yet-referenced pages".
//!
//! "Pages in the prefetch cache are organized in a FIFO queue. Prefetched pages are initially attached to the tail of the queue."
//! "When a page is referenced, it is moved from the prefetch cache to the kernel's inactive LRU list and is thereafter
//! controlled by the kernel's default page reclamation policy." "Pages are evicted from the prefetch cache when the number of
//! pages in the cache exceeds the prefetch cache size ceiling", and then by second chance.

use super::ceiling::{Ceiling, Unit};
use super::eviction_history::{EvictionHistory, Was};
use super::rent::{ONE_LOSS, Rent};
use super::second_chance::{Fate, Marks};
use crate::frames::{Frames, Slot, UNREAD};
use crate::types::Instant;

/// What N_stream is in Ŝp = P_mem / N_stream (CPEM §4.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum StreamCount {
    /// "We approximate N_stream with the total number of opened files in user level processes."
    #[default]
    OpenFiles,
    /// The streams that go on, and those whose readers may be waiting for the processor.
    Active,
}

/// What a miss counts in f_tot (CPEM §4.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Misses {
    /// One.
    #[default]
    Count,
    /// As much as readers wait for a block of its device, in the mean of all devices one (past the paper, which has one device).
    Wait,
}

/// What can be chosen of a prefetch cache. The default is the paper's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Settings {
    /// Where the ceiling begins, in per cent of memory.
    pub start: u8,
    /// Milliseconds of an epoch; zero: the ceiling stays where it begins.
    pub epoch_ms: u32,
    /// The adjustment unit.
    pub unit: Unit,
    /// What N_stream is.
    pub streams: StreamCount,
    /// What a miss counts.
    #[cfg_attr(feature = "serde", serde(default))]
    pub misses: Misses,
    /// Whether the odds of what is fetched ahead count the memory that it takes, too (past the paper).
    #[cfg_attr(feature = "serde", serde(default))]
    pub rent: bool,
    /// Whether there may be as many as the rent orders for the streams that there are, if that is more than the ceiling (past the paper).
    #[cfg_attr(feature = "serde", serde(default))]
    pub order: bool,
    /// Whether a page that was passed over stays below the ceiling for as long as it takes to fill all of memory anew, and no longer (past the
    /// paper, whose ceiling falls slowly: what nobody came for would keep its room for minutes).
    #[cfg_attr(feature = "serde", serde(default))]
    pub turnover: bool,
    /// By how much, in milliseconds, a handler must have run later than its prefetch to have had "significant opportunity" to
    /// reference the page. The paper gives no number; a time slice of Linux 2.6 has 100.
    pub opportunity_ms: u32,
    /// For the direction of the first step.
    pub seed: u32,
}

impl Settings {
    /// The paper's.
    pub const PAPER: Settings = Settings {
        start: 25,
        epoch_ms: 4000,
        unit: Unit::Fixed,
        streams: StreamCount::OpenFiles,
        misses: Misses::Count,
        rent: false,
        order: false,
        turnover: false,
        opportunity_ms: 100,
        seed: 1,
    };
}

impl Default for Settings {
    fn default() -> Settings {
        Settings::PAPER
    }
}

/// The prefetch cache. Its pages are in the list [`UNREAD`], the head of the queue at the back.
#[derive(Clone, Debug)]
pub struct PrefetchCache {
    /// What was chosen.
    pub settings: Settings,
    /// Who prefetched what.
    pub marks: Marks,
    /// The size ceiling.
    pub ceiling: Ceiling,
    /// Prefetched frames that are still being filled: pages of the cache as well.
    under_way: u32,
    /// What a page of it costs the others.
    rent: Rent,
    /// More than so many blocks ahead no stream is ordered, …
    deepest: u32,
    /// … unless they are so few that each has several channels of a device: then all of them together no more than so many.
    abreast: u32,
    /// How many channels that device has.
    channels: u32,
    /// How many pages memory has, how many were filled since it was filled anew last, and when that was, and the time before.
    memory: u32,
    filled: u32,
    anew: [Instant; 2],
}

impl PrefetchCache {
    /// An empty one.
    pub fn new(frames: u32, settings: Settings) -> PrefetchCache {
        let marks = Marks::new(frames, settings.opportunity_ms);
        PrefetchCache {
            settings,
            marks,
            ceiling: Ceiling::new(frames, settings),
            under_way: 0,
            rent: Rent::new(EvictionHistory::reach(frames), frames),
            deepest: 0,
            abreast: 0,
            channels: 1,
            memory: frames,
            filled: 0,
            anew: [Instant(0); 2],
        }
    }

    /// How many pages it has, those under way included.
    pub fn len(&self, frames: &Frames) -> u32 {
        frames.len(UNREAD) + self.under_way
    }

    /// Pages that are under way.
    pub fn under_way(&self) -> u32 {
        self.under_way
    }

    /// How many pages it may have for so many `streams`: the ceiling, or what the rent orders, if that is more.
    pub fn room(&self, streams: u32) -> u32 {
        let order = match self.settings.order {
            true if streams.saturating_mul(2) <= self.channels => self.rent.order_of_few(streams).min(self.abreast),
            true => self.rent.order(streams).min(streams.saturating_mul(self.deepest)),
            false => 0,
        };
        self.ceiling.blocks().max(order)
    }

    /// A page of memory is wanted for another block. Returns whether [`PrefetchCache::orders_at_most`] is to be said anew.
    pub fn fills(&mut self, frames: &Frames, now: Instant) -> bool {
        self.filled += 1;
        if self.filled >= self.memory {
            (self.filled, self.anew) = (0, [self.anew[1], now]);
        }
        self.rent.fills(self.len(frames)) && self.settings.order
    }

    /// A stream is ordered at most two pieces that are worth a switch of `depth` blocks: one that is read, and one that comes meanwhile.
    /// So many `channels` are kept busy by one piece each, while another is read; of pieces of 4 · S_p four fifths of their time is transfer.
    pub fn orders_at_most(&mut self, depth: u32, channels: u32) {
        self.deepest = depth.saturating_mul(2);
        self.abreast = depth.saturating_mul(4).saturating_mul(channels.saturating_add(1));
        self.channels = channels;
    }

    /// A page is prefetched: a frame is being filled with it.
    pub fn awaits(&mut self) {
        self.under_way += 1;
        self.rent.fetches();
    }

    /// A block is missed that this was when it went, where a miss counts so much.
    pub fn missed(&mut self, was: Was, weight: u64) {
        self.ceiling.missed_at(weight);
        if was == Was::Referenced {
            self.rent.missed(weight);
        }
    }

    /// Of a switch that is worth the transfer of `depth` blocks, what it is worth if each of them pays for the memory that it takes, too.
    pub(crate) fn less_rent(&self, depth: u32) -> u32 {
        let loss = if self.settings.rent { self.rent.loss() } else { 0 };
        let dear = u128::from(ONE_LOSS) + u128::from(loss) * u128::from(depth);
        ((u128::from(depth) * u128::from(ONE_LOSS) / dear) as u32).max(1)
    }

    /// A page that was under way arrived, was referenced meanwhile, or does not come.
    pub fn awaits_no_longer(&mut self) {
        self.under_way -= 1;
    }

    /// A page enters at the tail. `place` is its handler's, enlisted.
    pub fn enter(&mut self, frames: &mut Frames, slot: Slot, place: u32, prefetched: Instant) {
        self.marks.mark(frames.frame(slot).index(), place, prefetched);
        frames.move_to_front(slot, UNREAD);
    }

    /// A page leaves, to wherever the caller puts it.
    pub fn leave(&mut self, frames: &Frames, slot: Slot) {
        self.marks.invalidate(frames.frame(slot).index());
    }

    /// Looks at the page at the head. Returns it if it is to be moved to the replacement policy, and has left; a page that gets
    /// a second chance goes to the tail, and the next one is looked at. `None`: nothing has to go.
    ///
    /// Below the room for so many `streams`, and as many `spare` frames as nobody else would miss, only abandoned pages go, so that
    /// none stays for ever, and stale ones, if the settings have it so.
    pub fn reclaim(&mut self, frames: &mut Frames, (streams, spare): (u32, u32), now: Instant) -> Option<Slot> {
        let room = self.room(streams).saturating_add(spare);
        while let Some(slot) = frames.back(UNREAD) {
            let over = self.len(frames) > room;
            match self.marks.judge(frames.frame(slot).index(), now) {
                Fate::Abandoned => {
                    self.leave(frames, slot);
                    return Some(slot);
                }
                Fate::PassedOver if over || self.is_stale(frames, slot) => {
                    self.leave(frames, slot);
                    return Some(slot);
                }
                Fate::SecondChance if over => {
                    self.leave(frames, slot);
                    frames.move_to_front(slot, UNREAD);
                }
                Fate::PassedOver | Fate::SecondChance => return None,
            }
        }
        None
    }

    /// Takes out a page that nobody holds, though there are not too many: below the ceiling, too, pages of handlers that have exited go
    /// first, then those that had their second chance, in the order of the queue. `None` if all are held.
    pub fn evict(&mut self, frames: &mut Frames, now: Instant) -> Option<Slot> {
        for _ in 0..frames.len(UNREAD) {
            let slot = frames.back(UNREAD)?;
            let held = frames.pins(slot) > 0;
            if !held {
                let fate = self.marks.judge(frames.frame(slot).index(), now);
                self.leave(frames, slot);
                if fate != Fate::SecondChance {
                    return Some(slot);
                }
            }
            frames.move_to_front(slot, UNREAD);
        }
        let slot = frames.unpinned_from_back(UNREAD)?;
        self.leave(frames, slot);
        Some(slot)
    }

    /// Whether all of memory was filled anew since the page came. Among the rest it would have gone by now, at the latest.
    fn is_stale(&self, frames: &Frames, slot: Slot) -> bool {
        self.settings.turnover && self.marks.is_older(frames.frame(slot).index(), self.anew[0])
    }

    /// The bytes of bookkeeping.
    pub fn footprint(&self) -> usize {
        self.marks.footprint()
    }
}
