//! One instance of a replacement policy for each partition, in one slab.

use alloc::vec::Vec;

use crate::directory::Directory;
use crate::frames::{FIRST_POLICY_LIST, Slot};
use crate::index::Index;
use crate::replacement::{Class, Replacement};

/// The segments of a cache. The list that a slot is in says which one has it.
#[derive(Clone, Debug)]
pub struct Segments<R> {
    segments: Vec<R>,
}

impl<R: Replacement> Segments<R> {
    /// The most partitions for which the slab has lists.
    pub const MOST: usize = ((u8::MAX - FIRST_POLICY_LIST) / R::LISTS) as usize;

    /// A segment for each of `sizes`, at most [`MOST`](Self::MOST), with so many frames.
    pub fn new(sizes: &[u32]) -> Segments<R> {
        let first = |number: usize| FIRST_POLICY_LIST + number as u8 * R::LISTS;
        let segments = sizes.iter().take(Self::MOST).enumerate();
        Segments { segments: segments.map(|(number, &size)| R::new(first(number), size.max(1))).collect() }
    }

    /// The lists of a slab with so many partitions.
    pub fn lists(partitions: usize) -> u8 {
        FIRST_POLICY_LIST + R::LISTS * partitions.min(Self::MOST) as u8
    }

    /// The ghosts of a slab of `frames` with so many partitions: each may round up.
    pub fn ghosts(frames: u32, partitions: usize) -> u32 {
        let ghosts = R::ghosts(frames);
        if ghosts == 0 || partitions < 2 { ghosts } else { ghosts + partitions as u32 }
    }

    #[inline(always)]
    fn of<I>(&self, directory: &Directory<I>, slot: Slot) -> usize {
        usize::from(directory.frames.list(slot).0.wrapping_sub(FIRST_POLICY_LIST) / R::LISTS)
    }

    /// [`Replacement::hit`]
    #[inline(always)]
    pub fn hit<I: Index>(&mut self, directory: &mut Directory<I>, slot: Slot) {
        let at = self.of(directory, slot);
        if let Some(segment) = self.segments.get_mut(at) {
            segment.hit(directory, slot);
        }
    }

    /// [`Replacement::first_use`]
    pub fn first_use<I: Index>(&mut self, directory: &mut Directory<I>, slot: Slot) {
        let at = self.of(directory, slot);
        if let Some(segment) = self.segments.get_mut(at) {
            segment.first_use(directory, slot);
        }
    }

    /// [`Replacement::remove`], also of a ghost. What no segment has is nobody's to remove.
    pub fn remove<I: Index>(&mut self, directory: &mut Directory<I>, slot: Slot) {
        let at = self.of(directory, slot);
        if let Some(segment) = self.segments.get_mut(at) {
            segment.remove(directory, slot);
        }
    }

    /// [`Replacement::miss`], on a block of `partition`.
    pub fn miss<I: Index>(&mut self, directory: &mut Directory<I>, partition: usize, ghost: Option<Slot>) -> Class {
        self.segments.get_mut(partition).map_or(0, |segment| segment.miss(directory, ghost))
    }

    /// [`Replacement::victim`], of `partition`.
    pub fn victim<I: Index>(&mut self, directory: &mut Directory<I>, partition: usize, class: Class) -> Option<Slot> {
        self.segments.get_mut(partition)?.victim(directory, class)
    }

    /// [`Replacement::insert`], into `partition`.
    pub fn insert<I: Index>(&mut self, directory: &mut Directory<I>, partition: usize, slot: Slot, class: Class) {
        if let Some(segment) = self.segments.get_mut(partition) {
            segment.insert(directory, slot, class);
        }
    }

    /// [`Replacement::passed`]
    pub fn passed<I: Index>(&mut self, directory: &mut Directory<I>, slot: Slot) {
        let at = self.of(directory, slot);
        if let Some(segment) = self.segments.get_mut(at) {
            segment.passed(directory, slot);
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
        self.segments.iter_mut().zip(sizes).for_each(|(segment, size)| segment.resize(size.max(1)));
    }

    /// The bytes beside the slab.
    pub fn footprint(&self) -> usize {
        self.segments.capacity() * size_of::<R>() + self.segments.iter().map(R::footprint).sum::<usize>()
    }
}
