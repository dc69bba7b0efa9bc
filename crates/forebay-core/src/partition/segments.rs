//! One instance of a replacement policy for each partition, in one slab; and around each one the
//! partitions of program contexts, if they have any.
//!
//! ```text
//!   lists of the slab   FREE … │ segment 0 │ segment 1 │ … │ parts of 0 │ parts of 1 │ …
//! ```

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::parted::Parted;
use crate::directory::Directory;
use crate::explain::Duel;
use crate::frames::{FIRST_POLICY_LIST, FREE, Frames, Slot};
use crate::index::Index;
use crate::papers::amp::ContextParts;
use crate::random::hash;
use crate::replacement::{CLASS, Class, Replacement};
use crate::seams::{Access, Loops, Place, Placement, Tally, Use};
use crate::types::BlockKey;

/// The segments of a cache. The list that a slot is in says which one has it.
pub struct Segments<R> {
    segments: Vec<R>,
    /// One for each segment, or none.
    parted: Vec<Parted>,
    /// Blocks whose hash is below this are in the sample of a placement.
    sampled: u64,
    /// How many lists the parts of each segment have.
    each: usize,
}

impl<R: Replacement> Segments<R> {
    /// The most partitions for which the slab has lists, if need be without loops in them.
    /// `contexts` says whether contexts have partitions in each of them.
    pub fn most(contexts: bool) -> usize {
        let own = if contexts { ContextParts::lists(0) } else { 0 };
        usize::from((u8::MAX - FIRST_POLICY_LIST) / (R::LISTS + own))
    }

    /// As many loops as there are lists for in each of this many partitions.
    pub fn fitting(loops: Loops, partitions: usize) -> Loops {
        let each = usize::from(u8::MAX - FIRST_POLICY_LIST) / partitions.max(1);
        let room = each.saturating_sub(usize::from(R::LISTS + ContextParts::lists(0)));
        Loops { most: loops.most.min(u8::try_from(room).unwrap_or(u8::MAX)), ..loops }
    }

    /// A segment for each of `sizes`, at most [`most`](Self::most), with this many frames.
    pub fn new(sizes: &[u32], loops: Option<Loops>) -> Segments<R> {
        let sizes = &sizes[..sizes.len().min(Self::most(loops.is_some()))];
        let first = |number: usize| FIRST_POLICY_LIST + number as u8 * R::LISTS;
        let own = |number: usize| first(sizes.len()) + number as u8 * context_lists(loops);
        let segments = sizes.iter().enumerate().map(|(number, &size)| R::new(first(number), size.max(1)));
        let parted = |(number, &size): (usize, &u32)| {
            Some(Parted::new(ContextParts::new::<R>(loops?, first(number), own(number), size.max(1))))
        };
        Segments {
            segments: segments.collect(),
            parted: sizes.iter().enumerate().filter_map(parted).collect(),
            sampled: 0,
            each: context_lists(loops).into(),
        }
    }

    /// The same, with a placement in each.
    #[must_use]
    pub fn placed_by(mut self, placements: impl IntoIterator<Item = Box<dyn Placement>>) -> Segments<R> {
        for (parted, placement) in self.parted.iter_mut().zip(placements) {
            self.sampled = self.sampled.max(placement.sample());
            parted.place_by(placement);
        }
        self
    }

    /// The lists of a slab with this many partitions.
    pub fn lists(partitions: usize, loops: Option<Loops>) -> u8 {
        let partitions = partitions.min(Self::most(loops.is_some())) as u8;
        FIRST_POLICY_LIST + (R::LISTS + context_lists(loops)) * partitions
    }

    /// The ghosts of a slab of `frames` with this many partitions: each may round up.
    pub fn ghosts(frames: u32, partitions: usize, contexts: bool) -> u32 {
        let ghosts = if contexts { ContextParts::ghosts::<R>(frames) } else { R::ghosts(frames) };
        if ghosts == 0 || partitions < 2 { ghosts } else { ghosts + partitions as u32 }
    }

    #[inline(always)]
    fn of<I: Index>(&self, directory: &Directory<I>, slot: Slot) -> usize {
        usize::from(directory.frames.list(slot).0.wrapping_sub(FIRST_POLICY_LIST) / R::LISTS)
    }

    /// The partition of a resident frame.
    #[inline(always)]
    pub fn partition<I: Index>(&self, directory: &Directory<I>, slot: Slot) -> usize {
        let list = usize::from(directory.frames.list(slot).0.wrapping_sub(FIRST_POLICY_LIST));
        let own = self.segments.len() * usize::from(R::LISTS);
        if list < own { list / usize::from(R::LISTS) } else { (list - own) / self.each.max(1) }
    }

    /// [`Replacement::hit`], where contexts have no partitions.
    #[inline(always)]
    pub fn hit<I: Index>(&mut self, directory: &mut Directory<I>, slot: Slot) {
        let at = self.of(directory, slot);
        if let Some(segment) = self.segments.get_mut(at) {
            segment.hit(directory, slot);
        }
    }

    /// A resident frame is referenced, where contexts have no partitions.
    pub fn referred<I: Index>(&mut self, directory: &mut Directory<I>, slot: Slot, how: Use) {
        let at = self.of(directory, slot);
        let Some(segment) = self.segments.get_mut(at) else { return };
        match how {
            Use::Hit => segment.hit(directory, slot),
            Use::First => segment.first_use(directory, slot),
            Use::Passed => segment.passed(directory, slot),
        }
    }

    /// A block of `partition` is accessed, resident or not. If contexts have partitions, this is
    /// called first on every access. Returns whether the placement wants to know its cost
    /// ([`charge`](Self::charge)).
    pub fn accessed<I: Index>(
        &mut self,
        directory: &mut Directory<I>,
        partition: usize,
        key: BlockKey,
        access: &Access,
    ) -> bool {
        let sampled = self.samples(key);
        self.parted.get_mut(partition).is_some_and(|parted| parted.accessed(directory, key, access, sampled))
    }

    /// The cost of the access just made: the transfer of a block, and of `switch` blocks more for
    /// its part of a switch.
    pub fn charge<I: Index>(&mut self, directory: &mut Directory<I>, partition: usize, switch: u32) {
        if let (Some(segment), Some(parted)) = (self.segments.get_mut(partition), self.parted.get_mut(partition)) {
            parted.charge(segment, directory, switch);
        }
    }

    /// [`Placement::tally`](crate::seams::Placement::tally), of `partition`.
    pub fn tally(&self, partition: usize) -> Tally {
        self.parted.get(partition).map_or(Tally::default(), Parted::tally)
    }

    /// [`Replacement::balance`], of `partition`.
    pub fn balance(&self, partition: usize) -> u32 {
        self.segments.get(partition).map_or(0, R::balance)
    }

    /// [`accessed`](Self::accessed), and [`referred_by`](Self::referred_by) with [`Use::Hit`], of a
    /// block that is in no sample, if [`ContextParts::hit`] does it.
    #[inline(always)]
    pub fn hit_by<I: Index>(
        &mut self,
        directory: &mut Directory<I>,
        partition: usize,
        slot: Slot,
        access: &Access,
        now: u64,
    ) -> bool {
        match (self.segments.get_mut(partition), self.parted.get_mut(partition)) {
            (Some(segment), Some(parted)) => parted.hit(segment, directory, slot, access, now),
            _ => false,
        }
    }

    /// Whether a block is in a sample.
    #[inline]
    pub fn samples(&self, key: BlockKey) -> bool {
        self.sampled > 0 && hash(key.raw()) < self.sampled
    }

    /// Blocks whose hash is below this are in a sample.
    pub fn bound(&self) -> u64 {
        self.sampled
    }

    /// A resident frame of `partition` is referenced again, and stays in its part.
    pub fn referred_again<I: Index>(&mut self, directory: &mut Directory<I>, partition: usize, slot: Slot) {
        match (self.segments.get_mut(partition), self.parted.get_mut(partition)) {
            (Some(segment), Some(parted)) => parted.referred_again(segment, directory, slot),
            (Some(segment), None) => segment.hit(directory, slot),
            _ => {}
        }
    }

    /// A resident frame of `partition` is referenced by a context whose blocks go to `place`.
    pub fn referred_by<I: Index>(
        &mut self,
        directory: &mut Directory<I>,
        partition: usize,
        slot: Slot,
        place: Place,
        how: Use,
    ) {
        if let (Some(segment), Some(parted)) = (self.segments.get_mut(partition), self.parted.get_mut(partition)) {
            parted.referred(segment, directory, slot, place, how);
        }
    }

    /// The class of blocks that go first, where contexts have parts.
    pub fn class_of_dropped(&self, partition: usize) -> Option<Class> {
        self.parted.get(partition).map(Parted::class_of_dropped)
    }

    /// [`Replacement::remove`], also of a ghost. A slot that no segment has is left alone.
    pub fn remove<I: Index>(&mut self, directory: &mut Directory<I>, slot: Slot) {
        let at = self.of(directory, slot);
        if let Some(segment) = self.segments.get_mut(at) {
            segment.remove(directory, slot);
        }
    }

    /// [`Replacement::miss`], on a block of `partition`, where contexts have no partitions.
    pub fn miss<I: Index>(&mut self, directory: &mut Directory<I>, partition: usize, ghost: Option<Slot>) -> Class {
        self.segments.get_mut(partition).map_or(0, |segment| segment.miss(directory, ghost))
    }

    /// [`Replacement::recalls`], the same for a prefetched block, by a context whose blocks go to
    /// `place` if contexts have partitions.
    pub fn recalls<I: Index>(
        &mut self,
        directory: &mut Directory<I>,
        partition: usize,
        key: BlockKey,
        ghost: Option<Slot>,
        place: Option<Place>,
    ) -> Class {
        match (self.segments.get_mut(partition), self.parted.get_mut(partition), place) {
            (Some(segment), Some(parted), Some(place)) => parted.recalls(segment, directory, key, ghost, place),
            (Some(segment), _, _) => segment.recalls(directory, ghost),
            (None, _, _) => 0,
        }
    }

    /// [`Replacement::comes_back`], of a frame of `partition` that is about to be inserted.
    pub fn comes_back<I: Index>(&mut self, directory: &Directory<I>, partition: usize, class: Class) {
        let its = self.parted.is_empty() || ContextParts::is_default(class);
        if let Some(segment) = self.segments.get_mut(partition).filter(|_| its) {
            segment.comes_back(directory, class & CLASS);
        }
    }

    /// A block of `partition` is wanted that is not resident, or a ghost, by a context whose blocks
    /// go to `place`. Nothing is learnt from a prefetch (`ahead`).
    pub fn missed_by<I: Index>(
        &mut self,
        directory: &mut Directory<I>,
        partition: usize,
        key: BlockKey,
        ghost: Option<Slot>,
        place: Place,
        ahead: bool,
    ) -> Class {
        match (self.segments.get_mut(partition), self.parted.get_mut(partition)) {
            (Some(segment), Some(parted)) => parted.missed(segment, directory, key, ghost, place, ahead),
            _ => 0,
        }
    }

    /// The class of a frame of `partition` that is under way for `class`, and that a context wants
    /// whose blocks go to `place`.
    pub fn class_for(&self, partition: usize, class: Class, place: Place) -> Class {
        self.parted.get(partition).map_or(class, |parted| parted.class_for(class, place))
    }

    /// [`Replacement::victim`], of `partition`.
    pub fn victim<I: Index>(&mut self, directory: &mut Directory<I>, partition: usize, class: Class) -> Option<Slot> {
        let segment = self.segments.get_mut(partition)?;
        match self.parted.get_mut(partition) {
            None => segment.victim(directory, class & CLASS),
            Some(parted) => parted.victim(segment, directory, class),
        }
    }

    /// [`Replacement::insert`], into `partition`.
    pub fn insert<I: Index>(&mut self, directory: &mut Directory<I>, partition: usize, slot: Slot, class: Class) {
        match (self.segments.get_mut(partition), self.parted.get_mut(partition)) {
            (Some(segment), None) => segment.insert(directory, slot, class),
            (Some(segment), Some(parted)) => parted.insert(segment, directory, slot, class),
            _ => {}
        }
    }

    /// The same of an unread frame that the prefetch cache gives up.
    pub fn give_up<I: Index>(&mut self, directory: &mut Directory<I>, partition: usize, slot: Slot, class: Class) {
        match (self.segments.get_mut(partition), self.parted.get_mut(partition)) {
            (Some(segment), None) => segment.insert(directory, slot, class),
            (Some(segment), Some(parted)) => parted.give_up(segment, directory, slot, class),
            _ => {}
        }
    }

    /// [`Replacement::renew`]. A slot that no segment has is left alone.
    pub fn renew<I: Index>(&mut self, directory: &mut Directory<I>, slot: Slot) {
        let at = self.of(directory, slot);
        if let Some(segment) = self.segments.get_mut(at) {
            segment.renew(directory, slot);
        }
    }

    /// [`Replacement::sequential_miss`], in `partition`.
    pub fn sequential_miss(&mut self, partition: usize) {
        if let Some(segment) = self.segments.get_mut(partition) {
            segment.sequential_miss();
        }
    }

    /// [`Replacement::costs`], in `partition`.
    pub fn costs<I: Index>(&mut self, directory: &mut Directory<I>, partition: usize, slot: Slot, nanoseconds: u64) {
        if let Some(segment) = self.segments.get_mut(partition) {
            segment.costs(directory, slot, nanoseconds);
        }
    }

    /// [`Replacement::resize`], of all partitions.
    pub fn resize(&mut self, sizes: impl Iterator<Item = u32>) {
        for (number, size) in sizes.enumerate() {
            if let Some(segment) = self.segments.get_mut(number) {
                segment.resize(size.max(1));
            }
            if let Some(parted) = self.parted.get_mut(number) {
                parted.resize(size.max(1));
            }
        }
    }

    /// Nothing is ever prefetched in any partition.
    pub fn have_nothing_ahead(&mut self) {
        self.parted.iter_mut().for_each(Parted::has_nothing_ahead);
    }

    /// The figures of the placement of a partition, if it has one.
    pub fn duel(&self, partition: usize) -> Option<Duel> {
        self.parted.get(partition)?.explain()
    }

    /// The parts for program contexts in a partition, if there are any.
    pub fn context_parts(&self, partition: usize) -> Option<&ContextParts> {
        self.parted.get(partition).map(Parted::parts)
    }

    /// Frames that no block needs, where contexts have partitions: free ones and dropped ones.
    pub fn spare(&self, frames: &Frames) -> Option<u32> {
        let dropped = || self.parted.iter().map(|parted| parted.done_with(frames)).sum::<u32>();
        (!self.parted.is_empty()).then(|| frames.len(FREE) + dropped())
    }

    /// The bytes beside the slab.
    pub fn footprint(&self) -> usize {
        self.segments.capacity() * size_of::<R>()
            + self.segments.iter().map(R::footprint).sum::<usize>()
            + self.parted.iter().map(Parted::footprint).sum::<usize>()
    }
}

/// The lists of a segment beside its policy's.
fn context_lists(loops: Option<Loops>) -> u8 {
    loops.map_or(0, |loops| ContextParts::lists(loops.most))
}
