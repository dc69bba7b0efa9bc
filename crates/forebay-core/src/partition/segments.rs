//! One instance of a replacement policy for each partition, in one slab; and around each one the
//! partitions of program contexts, if they have any.
//!
//! ```text
//!   lists of the slab   FREE … │ segment 0 │ segment 1 │ … │ program 0 │ program 1 │ …
//! ```

use alloc::vec::Vec;

use super::{Duel, Program, View};
use crate::context::{Access, Place, Settings, hash};
use crate::directory::Directory;
use crate::frames::{FIRST_POLICY_LIST, FREE, Frames, Slot};
use crate::index::Index;
use crate::replacement::{Class, Replacement};
use crate::types::BlockKey;

/// The class of a block that another segment has, for [`Segments::victim`]: none of its own.
pub const OUTSIDE: Class = 0x20;
/// What the class of a block has beside, from miss to victim, that the default policy remembers.
pub(super) const REMEMBERED: Class = 0x10;
/// What is a class by itself, and kept.
pub(super) const CLASS: Class = 0x0f;

/// How a resident frame is referenced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Use {
    /// [`Replacement::hit`]
    Hit,
    /// [`Replacement::first_use`]
    First,
    /// [`Replacement::passed`]
    Passed,
}

/// The segments of a cache. The list that a slot is in says which one has it.
#[derive(Clone, Debug)]
pub struct Segments<R> {
    segments: Vec<R>,
    /// One for each segment, or none.
    programs: Vec<Program>,
    /// One for each segment, or none.
    duels: Vec<Duel<R>>,
    /// Blocks whose hash is below this are the duels' sample.
    sampled: u64,
    /// How many lists each of those has.
    each: usize,
}

impl<R: Replacement> Segments<R> {
    /// The most partitions for which the slab has lists, be it without loops in them.
    pub fn most(context: Option<&Settings>) -> usize {
        let least = context.map(|settings| Settings { partitions: 0, ..*settings });
        usize::from((u8::MAX - FIRST_POLICY_LIST) / (R::LISTS + program_lists(least.as_ref())))
    }

    /// The settings of contexts with as many loops as there are lists for in each of so many
    /// partitions.
    pub fn fitting(context: Settings, partitions: usize) -> Settings {
        let none = program_lists(Some(&Settings { partitions: 0, ..context }));
        let each = usize::from(u8::MAX - FIRST_POLICY_LIST) / partitions.max(1);
        let room = each.saturating_sub(usize::from(R::LISTS + none));
        Settings { partitions: context.partitions.min(u8::try_from(room).unwrap_or(u8::MAX)), ..context }
    }

    /// A segment for each of `sizes`, at most [`most`](Self::most), with so many frames.
    pub fn new(sizes: &[u32], context: Option<&Settings>) -> Segments<R> {
        let sizes = &sizes[..sizes.len().min(Self::most(context))];
        let first = |number: usize| FIRST_POLICY_LIST + number as u8 * R::LISTS;
        let own = |number: usize| first(sizes.len()) + number as u8 * program_lists(context);
        let segments = sizes.iter().enumerate().map(|(number, &size)| R::new(first(number), size.max(1)));
        let program =
            |(number, &size): (usize, &u32)| Some(Program::new::<R>(context?, first(number), own(number), size.max(1)));
        let all = sizes.iter().sum();
        let fought_out = context.filter(|context| context.duel);
        let duel = |_: &u32| Some(Duel::new(fought_out?, all));
        Segments {
            segments: segments.collect(),
            programs: sizes.iter().enumerate().filter_map(program).collect(),
            duels: sizes.iter().filter_map(duel).collect(),
            sampled: fought_out.map_or(0, |context| Duel::<R>::bound(context, all)),
            each: program_lists(context).into(),
        }
    }

    /// The lists of a slab with so many partitions.
    pub fn lists(partitions: usize, context: Option<&Settings>) -> u8 {
        let partitions = partitions.min(Self::most(context)) as u8;
        FIRST_POLICY_LIST + (R::LISTS + program_lists(context)) * partitions
    }

    /// The ghosts of a slab of `frames` with so many partitions: each may round up.
    pub fn ghosts(frames: u32, partitions: usize, context: Option<&Settings>) -> u32 {
        let ghosts = if context.is_some() { Program::ghosts::<R>(frames) } else { R::ghosts(frames) };
        if ghosts == 0 || partitions < 2 { ghosts } else { ghosts + partitions as u32 }
    }

    #[inline(always)]
    fn of<I>(&self, directory: &Directory<I>, slot: Slot) -> usize {
        usize::from(directory.frames.list(slot).0.wrapping_sub(FIRST_POLICY_LIST) / R::LISTS)
    }

    /// Whose partition a resident frame is in.
    #[inline(always)]
    pub fn partition<I>(&self, directory: &Directory<I>, slot: Slot) -> usize {
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

    /// A block of `partition` is accessed, resident or not: said of every access, before anything
    /// else, where contexts have partitions. Says whether one that takes part in a duel has missed
    /// it, so that it is to be [charged](Self::charge).
    pub fn accessed<I: Index>(
        &mut self,
        directory: &mut Directory<I>,
        partition: usize,
        key: BlockKey,
        access: &Access,
    ) -> bool {
        let missed = self.samples(key) && self.contest(directory, partition, key, access);
        if let Some(program) = self.programs.get_mut(partition) {
            program.accessed(directory, access);
        }
        missed
    }

    /// What was just missed is waited for as long as the transfer of a block, and of so many more
    /// for its part of a switch.
    pub fn charge(&mut self, partition: usize, switch: u32) {
        let Some((duel, program)) = self.duels.get_mut(partition).zip(self.programs.get_mut(partition)) else { return };
        duel.charge(switch);
        program.set_view(duel.view());
    }

    /// An access of the duels' sample. Says whether somebody missed it.
    #[inline(never)]
    fn contest<I>(&mut self, directory: &Directory<I>, partition: usize, key: BlockKey, access: &Access) -> bool {
        let Some((duel, program)) = self.duels.get_mut(partition).zip(self.programs.get(partition)) else {
            return false;
        };
        let frames = &directory.frames;
        duel.hear(key, access, || program.sizes(frames).sum::<u32>() + frames.len(FREE))
    }

    /// [`accessed`](Self::accessed), and [`referred_by`](Self::referred_by) with [`Use::Hit`], of a
    /// block that is in no sample, if [`Program::hit`] does it.
    #[inline(always)]
    pub fn hit_by<I: Index>(
        &mut self,
        directory: &mut Directory<I>,
        partition: usize,
        slot: Slot,
        access: &Access,
        now: u64,
    ) -> bool {
        match (self.segments.get_mut(partition), self.programs.get_mut(partition)) {
            (Some(segment), Some(program)) => program.hit(segment, directory, slot, access, now),
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

    /// A resident frame of `partition` is referenced by a context whose blocks go to `place`.
    pub fn referred_by<I: Index>(
        &mut self,
        directory: &mut Directory<I>,
        partition: usize,
        slot: Slot,
        place: Place,
        how: Use,
    ) {
        if let (Some(segment), Some(program)) = (self.segments.get_mut(partition), self.programs.get_mut(partition)) {
            program.referred(segment, directory, slot, place, how);
        }
    }

    /// [`Replacement::remove`], also of a ghost. What no segment has is nobody's to remove.
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

    /// [`Replacement::recalls`], the same of what is fetched ahead, by a context whose blocks go to
    /// `place` if contexts have partitions.
    pub fn recalls<I: Index>(
        &mut self,
        directory: &mut Directory<I>,
        partition: usize,
        key: BlockKey,
        ghost: Option<Slot>,
        place: Option<Place>,
    ) -> Class {
        match (self.segments.get_mut(partition), self.programs.get_mut(partition), place) {
            (Some(segment), Some(program), Some(place)) => program.recalls(segment, directory, key, ghost, place),
            (Some(segment), _, _) => segment.recalls(directory, ghost),
            (None, _, _) => 0,
        }
    }

    /// [`Replacement::comes_back`], of a frame of `partition` that is about to be inserted.
    pub fn comes_back<I: Index>(&mut self, directory: &Directory<I>, partition: usize, class: Class) {
        let its = self.programs.get(partition).is_none_or(|_| Program::is_default(class));
        if let Some(segment) = self.segments.get_mut(partition).filter(|_| its) {
            segment.comes_back(directory, class & CLASS);
        }
    }

    /// A block of `partition` is wanted that is not resident, or a ghost, by a context whose blocks
    /// go to `place`. Nothing is learnt from what is fetched `ahead`.
    pub fn missed_by<I: Index>(
        &mut self,
        directory: &mut Directory<I>,
        partition: usize,
        key: BlockKey,
        ghost: Option<Slot>,
        place: Place,
        ahead: bool,
    ) -> Class {
        match (self.segments.get_mut(partition), self.programs.get_mut(partition)) {
            (Some(segment), Some(program)) => program.missed(segment, directory, key, ghost, place, ahead),
            _ => 0,
        }
    }

    /// The class of a frame of `partition` that is under way for `class`, and that a context wants
    /// whose blocks go to `place`.
    pub fn class_for(&self, partition: usize, class: Class, place: Place) -> Class {
        self.programs.get(partition).map_or(class, |program| program.class_for(class, place))
    }

    /// [`Replacement::victim`], of `partition`.
    pub fn victim<I: Index>(&mut self, directory: &mut Directory<I>, partition: usize, class: Class) -> Option<Slot> {
        let segment = self.segments.get_mut(partition)?;
        match self.programs.get_mut(partition) {
            None => segment.victim(directory, class & CLASS),
            Some(program) => program.victim(segment, directory, class),
        }
    }

    /// [`Replacement::insert`], into `partition`.
    pub fn insert<I: Index>(&mut self, directory: &mut Directory<I>, partition: usize, slot: Slot, class: Class) {
        match (self.segments.get_mut(partition), self.programs.get_mut(partition)) {
            (Some(segment), None) => segment.insert(directory, slot, class),
            (Some(segment), Some(program)) => program.insert(segment, directory, slot, class),
            _ => {}
        }
    }

    /// The same of a frame that nobody has read, and that the prefetch cache gives up.
    pub fn give_up<I: Index>(&mut self, directory: &mut Directory<I>, partition: usize, slot: Slot, class: Class) {
        match (self.segments.get_mut(partition), self.programs.get_mut(partition)) {
            (Some(segment), None) => segment.insert(directory, slot, class),
            (Some(segment), Some(program)) => program.give_up(segment, directory, slot, class),
            _ => {}
        }
    }

    /// [`Replacement::renew`]. What no segment has is nobody's to renew.
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
            if let Some(program) = self.programs.get_mut(number) {
                program.resize(size.max(1));
            }
        }
    }

    /// How blocks are told apart in all partitions from now on.
    pub(super) fn set_view(&mut self, view: View) {
        self.programs.iter_mut().for_each(|program| program.set_view(view));
    }

    /// In no partition anything is ever fetched ahead.
    pub(super) fn have_nothing_ahead(&mut self) {
        self.programs.iter_mut().for_each(Program::has_nothing_ahead);
    }

    /// How it is found out how blocks are told apart in a partition, if that is looked at.
    pub fn duel(&self, partition: usize) -> Option<&Duel<R>> {
        self.duels.get(partition)
    }

    /// The program contexts of a partition, if they have any of their own.
    pub fn program(&self, partition: usize) -> Option<&Program> {
        self.programs.get(partition)
    }

    /// Frames that are nobody's loss: where contexts have partitions, free ones and those that
    /// one-shot contexts are done with.
    pub fn spare(&self, frames: &Frames) -> Option<u32> {
        let dropped = || self.programs.iter().map(|program| program.dropped_frames(frames)).sum::<u32>();
        (!self.programs.is_empty()).then(|| frames.len(FREE) + dropped())
    }

    /// The bytes beside the slab.
    pub fn footprint(&self) -> usize {
        self.segments.capacity() * size_of::<R>()
            + self.segments.iter().map(R::footprint).sum::<usize>()
            + self.programs.iter().map(Program::footprint).sum::<usize>()
            + self.duels.iter().map(Duel::footprint).sum::<usize>()
    }
}

/// The lists of a segment beside its policy's.
fn program_lists(context: Option<&Settings>) -> u8 {
    context.map_or(0, |settings| Program::lists(settings.partitions))
}
