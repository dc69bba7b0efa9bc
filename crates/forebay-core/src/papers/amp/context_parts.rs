//! AMP's cache manager (AMP §3.2, Fig. 4): within a segment, a partition for each looping context
//! beside the default policy's.
//!
//! ```text
//!        part 0: the default policy         1: one-shot             2: loop 0      3: loop 1  …
//!   ┌──────────────────────────────┐ ┌──────────────────┐ ┌───────────────────────┐ ┌────────┄
//!   │ its own lists: LRU, ARC …    │ │ ahead │ dropped ─┼▶│ most recent … unread  │ │
//!   └──────────────┬───────────────┘ └──────────────────┘ └───┬───────────────────┘ └────────┄
//!                  ▼ ghosts, B              first victims     ▼ MRU: victims
//! ```

mod victim;

pub use victim::Victim;

use alloc::vec;
use alloc::vec::Vec;

use crate::directory::Directory;
use crate::frames::{Frames, ListId, Slot, flag};
use crate::hint::Rhythm;
use crate::index::Index;
use crate::random::Random;
use crate::replacement::{CLASS, Class, REMEMBERED, Replacement};
use crate::seams::{Access, Loops, MOST_PARTITIONS, Place, Use};

/// The default policy's part.
const DEFAULT: usize = 0;
/// Dropped blocks, of contexts that read once: "partition 1 is the one-shot partition, where pages
/// are freed whenever new pages are needed" (AMP §3.3).
const DROPPED: usize = 1;
/// The first of the loops.
const LOOPS: usize = 2;

/// Classes of admission below this one are the default policy's own.
const CLASSES: Class = 16 - 1 - MOST_PARTITIONS;

/// One coupon. Enlargements cost fractions of it.
const ONE: u64 = 1 << 32;

/// The partitions of program contexts around a default replacement policy (AMP Fig. 4):
///
/// ```text
///   On each access to partition i:
///     c_i++
///   On cache miss of block p in partition i:
///     if (a free block available)
///       allocate it and return
///     if (i is ARC AND (p ∈ B1 OR p ∈ B2))
///       if (there is another non-empty partition)
///         evict from another non-empty partition randomly
///         return
///       else
///         do adaptation according to ARC policy
///     if (i is MRU && c_i ≥ loop_size_i / (|B1| + |B2|) AND there is another non-empty partition)
///       evict from another non-empty partition randomly
///       c_i = c_i − loop_size_i / (|B1| + |B2|)
///       return
///     if (i is non-empty)
///       evict a block from this partition (i)
///     else
///       evict from another non-empty partition randomly
/// ```
///
/// B1 and B2 are the ghosts of the default policy. A policy without ghosts gets a list of its last
/// victims, as many as frames: B1 and B2 of ARC may have as many.
///
/// The other partition is drawn evenly, whatever its size: so each loses as often as the others,
/// and gains by its marginal gain. Where gains and losses are the same for all of them, marginal
/// gains are equal. If larger partitions were drawn more often, their marginal gains would have to
/// be larger, too.
///
/// The text leaves these points open:
///
/// - The default policy always learns from its ghosts, whether its partition grows or not and
///   whichever context comes back to them: how it divides its frames is its own affair. By the
///   figure's letter ARC would stand still as long as any loop has a block.
/// - A resident block that the default policy takes over was used before: it is inserted and hit,
///   with ARC into T2. As a new block it would be among those used once. Every context that is no
///   loop after all, or ceases to be one, would lose the history of its blocks.
/// - One-shot blocks are free blocks once they were read. A loop's block that was not used since
///   the sweep before the last one joins them; if it is used before its frame is needed, it goes
///   back. A sweep comes every loop_time + 3 loop_time_dev, by the cache's virtual time: so a loop
///   that has ended leaves nothing behind, and neither does one whose number another one got.
/// - A one-shot context takes no block from other partitions: another context has read the blocks
///   that it finds there, and a scan of everything would drop them all.
/// - A prefetched, unread block is no victim as long as there is another: it would be the first
///   victim of its loop, although it will be read next. After two sweeps without a read it goes.
/// - Without ghosts |B1| + |B2| is one: an ARC that has seen each block once has no ghosts, and
///   loops would never get a block of it.
///
/// Known weaknesses. Blocks that a loop leaves out for some rounds are swept and go first, though
/// they are wanted again, like headers that only some files include: the recorded compile `kernel`
/// misses 39 % more than ARC with memory for a fifth of its pages. If they stay with the default
/// policy, or for a turnover of the cache, they cost as much elsewhere. And that policy is told
/// that it has the whole segment; told only the part that loops leave, it gains on some loads and
/// loses on others.
#[derive(Clone, Debug)]
pub struct ContextParts {
    /// The first of the default policy's lists, and how many have frames.
    default: u8,
    default_lists: u8,
    ghost_lists: u8,
    /// The first of its own lists: dropped, ahead, ghosts, loops.
    first: u8,
    loops: Vec<Loop>,
    /// Unread blocks of one-shot contexts are swept as well, like a loop as long as the cache.
    ahead: Loop,
    /// The virtual time of the next sweep of any loop.
    due: u64,
    random: Random,
    /// How many ghosts it keeps for a default policy that has none.
    most_ghosts: u32,
    frames: u32,
}

/// The partition of a looping context.
#[derive(Clone, Copy, Debug)]
struct Loop {
    /// c_i, in parts of [`ONE`].
    coupons: u64,
    rhythm: Rhythm,
    /// When it is swept next, virtual time.
    due: u64,
    /// The mark of blocks used since the last sweep: a frame's count.
    epoch: u8,
}

impl ContextParts {
    /// How many lists it has with this many loops.
    pub const fn lists(loops: u8) -> u8 {
        LISTS + if loops > MOST_PARTITIONS { MOST_PARTITIONS } else { loops }
    }

    /// How many ghosts a segment of `R` has with contexts.
    pub fn ghosts<R: Replacement>(frames: u32) -> u32 {
        if R::GHOST_LISTS > 0 { R::ghosts(frames) } else { frames }
    }

    /// For a segment of `frames` whose policy's lists begin with `default`, and its own with
    /// `first`.
    pub fn new<R: Replacement>(loops: Loops, default: u8, first: u8, frames: u32) -> ContextParts {
        let nothing = Loop { coupons: 0, rhythm: Rhythm::default(), due: 0, epoch: 0 };
        let mut parts = ContextParts {
            default,
            default_lists: R::LISTS - R::GHOST_LISTS,
            ghost_lists: R::GHOST_LISTS,
            first,
            loops: vec![nothing; usize::from(loops.most.min(MOST_PARTITIONS))],
            ahead: nothing,
            due: 0,
            random: Random::new(loops.seed),
            most_ghosts: 0,
            frames: 0,
        };
        parts.resize(frames);
        parts
    }

    /// The segment is to have `frames` frames from now on.
    pub fn resize(&mut self, frames: u32) {
        self.frames = frames;
        self.most_ghosts = if self.ghost_lists > 0 { 0 } else { frames };
    }

    /// Nothing is ever prefetched, so there are no unread blocks to sweep.
    pub fn has_nothing_ahead(&mut self) {
        self.ahead.due = u64::MAX;
    }

    /// The draws of the partition that gives up a block.
    pub fn random(&mut self) -> &mut Random {
        &mut self.random
    }

    /// Loops lose all coupons that they have saved up to take blocks from others.
    pub fn forgets_coupons(&mut self) {
        self.loops.iter_mut().for_each(|own| own.coupons = 0);
    }

    /// How many frames each part has: the default policy's, one-shot blocks, the loops.
    pub fn sizes(&self, frames: &Frames) -> impl Iterator<Item = u32> {
        (0..self.parts()).map(|part| self.len(frames, part))
    }

    /// A block is accessed. Its loop gets a coupon, and sweeps that are due are made.
    #[inline(always)]
    pub fn accessed<I: Index>(&mut self, directory: &mut Directory<I>, access: &Access) {
        if let Place::Loop(number) = access.place
            && let Some(own) = self.loops.get_mut(usize::from(number))
        {
            own.accessed(access.rhythm);
        }
        if access.now >= self.due {
            self.sweep_due(directory, access.now);
        }
    }

    /// Sweeps the loops that are due, and the unread blocks of one-shot contexts.
    #[inline(never)]
    fn sweep_due<I: Index>(&mut self, directory: &mut Directory<I>, now: u64) {
        for number in 0..=self.loops.len() {
            if now >= self.loops.get(number).unwrap_or(&self.ahead).due {
                self.sweep(directory, number, now);
            }
        }
        self.due = self.loops.iter().map(|own| own.due).fold(self.ahead.due, u64::min);
    }

    /// "Garbage collect long-time unused blocks" (AMP §3.2), of a loop, or, behind the last loop,
    /// unread blocks of one-shot contexts. Lists are in the order of last uses, but for unread
    /// blocks.
    fn sweep<I: Index>(&mut self, directory: &mut Directory<I>, number: usize, now: u64) {
        let (dropped, all) = (self.dropped(), self.frames);
        let (list, swept) = match number < self.loops.len() {
            true => (self.list(LOOPS + number), &mut self.loops[number]),
            false => (self.ahead(), &mut self.ahead),
        };
        let frames = &mut directory.frames;
        let mut at = frames.back(list);
        while let Some(slot) = at {
            at = frames.towards_front(slot);
            if frames.count(slot) != swept.epoch {
                frames.move_to_front(slot, dropped);
            } else if !frames.has(slot, flag::PREFETCHED) {
                break;
            }
        }
        swept.epoch ^= 1;
        swept.due = now.saturating_add(swept.interval(all));
    }

    /// A hit of a block whose place is the default partition: [`accessed`](Self::accessed) and
    /// [`referred`](Self::referred) in one. If the block is elsewhere, or a sweep is due, it does
    /// nothing and returns `false`.
    #[inline(always)]
    pub fn hit<R: Replacement, I: Index>(
        &self,
        policy: &mut R,
        directory: &mut Directory<I>,
        slot: Slot,
        now: u64,
    ) -> bool {
        let own = directory.frames.list(slot).0 < self.first && now < self.due;
        if own {
            policy.hit(directory, slot);
        }
        own
    }

    /// The same of a block whose place is the partition of a loop.
    #[inline(always)]
    pub fn hit_in_loop<I: Index>(
        &mut self,
        directory: &mut Directory<I>,
        slot: Slot,
        number: u8,
        rhythm: &Rhythm,
        now: u64,
    ) -> bool {
        let list = directory.frames.list(slot);
        let its = list.0.wrapping_sub(self.first + LISTS) == number && now < self.due;
        let Some(own) = self.loops.get_mut(usize::from(number)).filter(|_| its) else { return false };
        own.accessed(*rhythm);
        directory.frames.set_count(slot, own.epoch);
        directory.frames.move_to_front(slot, list);
        true
    }

    /// A resident frame is referenced by a context whose blocks go to `place`. "They are simply
    /// moved among the partitions."
    #[inline(never)]
    pub fn referred<R: Replacement, I: Index>(
        &mut self,
        policy: &mut R,
        directory: &mut Directory<I>,
        slot: Slot,
        place: Place,
        how: Use,
    ) {
        let (from, to) = (self.part_at(&directory.frames, slot), self.part(place));
        // A one-shot context takes no block from contexts that may read it again. (An unread block
        // was fetched for this reader.)
        let to = if to == DROPPED && how != Use::First { from } else { to };
        if to >= LOOPS && place == Place::Dropped {
            return;
        }
        if to != DEFAULT {
            if from == DEFAULT {
                policy.remove(directory, slot);
            }
            return self.put(&mut directory.frames, slot, to);
        }
        match how {
            _ if from != DEFAULT => {
                directory.frames.set_count(slot, 0);
                policy.insert(directory, slot, 0);
                // The block was used before, so this is a hit.
                if how == Use::Hit {
                    policy.hit(directory, slot);
                }
            }
            Use::Hit => policy.hit(directory, slot),
            Use::First => policy.first_use(directory, slot),
            Use::Passed => policy.passed(directory, slot),
        }
    }

    /// A context whose blocks go to `place` wants a block that is not resident. Returns the class
    /// of its admission, and whether the default policy remembers it. If the block is prefetched
    /// (`ahead`), that policy learns nothing.
    pub fn missed<R: Replacement, I: Index>(
        &mut self,
        policy: &mut R,
        directory: &mut Directory<I>,
        ghost: Option<Slot>,
        place: Place,
        ahead: bool,
    ) -> Class {
        let part = self.part(place);
        let own = ghost.filter(|&slot| directory.frames.list(slot) != self.ghost_list());
        if part != DEFAULT {
            // A context comes back to a block that the default policy gave up: a mistake that it
            // learns from.
            if own.is_some() && !ahead {
                policy.miss(directory, own);
            }
            return class(part);
        }
        let class = if ahead { 0 } else { policy.miss(directory, own) };
        debug_assert!(class < CLASSES, "classes of loops begin here");
        if ghost.is_some() { class | REMEMBERED } else { class }
    }

    /// A block is prefetched into the prefetch cache for such a context: the same, but the default
    /// policy learns from a ghost only when the block is read.
    pub fn recalls<R: Replacement, I: Index>(
        &mut self,
        policy: &mut R,
        directory: &mut Directory<I>,
        ghost: Option<Slot>,
        place: Place,
    ) -> Class {
        let part = self.part(place);
        if part != DEFAULT {
            return class(part);
        }
        let own = ghost.filter(|&slot| directory.frames.list(slot) != self.ghost_list());
        let class = policy.recalls(directory, own);
        if ghost.is_some() { class | REMEMBERED } else { class }
    }

    /// Whether a class is the default policy's own.
    pub fn is_default(class: Class) -> bool {
        part_of(class) == DEFAULT
    }

    /// The class of one-shot blocks.
    pub fn class_of_dropped(&self) -> Class {
        class(DROPPED)
    }

    /// The class of a frame that is under way for `class`, and that a context wants whose blocks go
    /// to `place`.
    pub fn class_for(&self, old: Class, place: Place) -> Class {
        let part = self.part(place);
        if part_of(old) == part { old } else { class(part) }
    }

    /// A fetched frame becomes resident.
    pub fn insert<R: Replacement, I: Index>(
        &mut self,
        policy: &mut R,
        directory: &mut Directory<I>,
        slot: Slot,
        class: Class,
    ) {
        let (part, frames) = (part_of(class), &mut directory.frames);
        if part == DEFAULT {
            return policy.insert(directory, slot, class & CLASS);
        }
        if !frames.has(slot, flag::PREFETCHED) {
            return self.put(frames, slot, part);
        }
        match part {
            DROPPED => {
                frames.set_count(slot, self.ahead.epoch);
                frames.move_to_front(slot, self.ahead());
            }
            _ => {
                self.put(frames, slot, part);
                frames.move_to_back(slot, self.list(part));
            }
        }
    }

    /// The prefetch cache gives up an unread frame. Whichever context it is for, it is not used
    /// yet: the default policy says how long it may wait.
    pub fn give_up<R: Replacement, I: Index>(
        &mut self,
        policy: &mut R,
        directory: &mut Directory<I>,
        slot: Slot,
        class: Class,
    ) {
        let class = if part_of(class) == DEFAULT { class & CLASS } else { 0 };
        policy.insert(directory, slot, class);
    }

    /// A frame that was read is a loop's most recently used one, or dropped.
    fn put(&self, frames: &mut Frames, slot: Slot, part: usize) {
        match self.loops.get(part.wrapping_sub(LOOPS)) {
            Some(own) => {
                frames.set_count(slot, own.epoch);
                frames.move_to_front(slot, self.list(part));
            }
            None => frames.move_to_front(slot, self.dropped()),
        }
    }

    fn parts(&self) -> usize {
        LOOPS + self.loops.len()
    }

    /// How many frames a part has.
    fn len(&self, frames: &Frames, part: usize) -> u32 {
        match part {
            DEFAULT => (self.default..self.default + self.default_lists).map(|list| frames.len(ListId(list))).sum(),
            DROPPED => frames.len(self.dropped()) + frames.len(self.ahead()),
            _ => frames.len(self.list(part)),
        }
    }

    fn part(&self, place: Place) -> usize {
        match place {
            Place::Dropped => DROPPED,
            Place::Loop(number) if usize::from(number) < self.loops.len() => LOOPS + usize::from(number),
            Place::Default | Place::Loop(_) => DEFAULT,
        }
    }

    fn part_at(&self, frames: &Frames, slot: Slot) -> usize {
        let list = frames.list(slot).0;
        match list.checked_sub(self.first) {
            None => DEFAULT,
            Some(own) if own < LISTS => DROPPED,
            Some(own) => LOOPS + usize::from(own - LISTS),
        }
    }

    /// Where a resident block is.
    pub fn place(&self, frames: &Frames, slot: Slot) -> Place {
        match self.part_at(frames, slot) {
            DEFAULT => Place::Default,
            DROPPED => Place::Dropped,
            part => Place::Loop((part - LOOPS) as u8),
        }
    }

    /// How many blocks are dropped.
    pub fn dropped_frames(&self, frames: &Frames) -> u32 {
        frames.len(self.dropped())
    }

    fn dropped(&self) -> ListId {
        ListId(self.first)
    }

    fn ahead(&self) -> ListId {
        ListId(self.first + 1)
    }

    fn ghost_list(&self) -> ListId {
        ListId(self.first + 2)
    }

    /// The list of a loop.
    fn list(&self, part: usize) -> ListId {
        ListId(self.first + LISTS + (part - LOOPS) as u8)
    }

    /// The bytes beside the slab.
    pub fn footprint(&self) -> usize {
        size_of::<ContextParts>() + self.loops.capacity() * size_of::<Loop>()
    }
}

/// Lists that are no loop's: dropped, ahead, ghosts.
const LISTS: u8 = 3;

impl Loop {
    /// On each access to partition i: c_i++
    #[inline(always)]
    fn accessed(&mut self, rhythm: Rhythm) {
        self.coupons = self.coupons.saturating_add(ONE);
        self.rhythm = rhythm;
    }

    /// "Currently AMP sweeps every loop_time + 3loop_time_dev." Until that is known, a loop counts
    /// as long as the cache.
    fn interval(&self, frames: u32) -> u64 {
        match self.rhythm.time {
            0 => u64::from(frames),
            time => time.saturating_add(self.rhythm.deviation.saturating_mul(3)),
        }
    }
}

/// The part that a class belongs to.
fn part_of(class: Class) -> usize {
    usize::from((class & CLASS).saturating_sub(CLASSES - 1))
}

/// The class of a part's blocks; of the default policy's, that of unknown ones.
fn class(part: usize) -> Class {
    if part == DEFAULT { 0 } else { CLASSES - 1 + part as u8 }
}
