//! Memory: the frames, which blocks they hold, and who may hold them.
//!
//! ```text
//!                 ┌─ prefetched ──▶ prefetch cache ─┐ used, or given up
//!   free ──▶ being filled                           ▼
//!     ▲           └─ demanded ──────────────▶ a partition's segment
//!     └─────────────────── evicted, handed on, dropped ────┘
//! ```
//!
//! The room answers where a block is and whether frames for a read can be had. It keeps the frames
//! that readers hold, and takes a frame through its life. `refer` is about references, and tells
//! those that keep the block; `room` says whose frame goes for another block; `unread` has the
//! prefetched frames that nobody has referred to, and `kept` those that told lists need.

mod check;
mod kept;
mod refer;
mod room;
mod unread;

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use self::unread::Unread;
use super::{ContextSeat, Referenced, Setup};
use crate::directory::{Directory, Released, Spared};
use crate::frames::{FETCHING, FREE, Frames, Slot, UNREAD, flag};
use crate::hint::Hint;
use crate::index::Index;
use crate::inflight::Fetch;
use crate::partition::{Callers, Segments};
use crate::replacement::{Class, Replacement};
use crate::seams::{Divider, Loops, Reclaimer};
use crate::types::{BlockKey, ContextId, DeviceId, Extent, FileId, FrameId, IoId, StreamId};

pub(super) use self::room::Room;

/// Frames, and who may have them.
pub(super) struct Memory<R, I: Index> {
    directory: Directory<I>,
    segments: Segments<R>,
    divider: Option<Box<dyn Divider>>,
    callers: Option<Callers>,
    loops: Option<Loops>,
    unread: Unread,
    /// The fate of blocks that were referenced.
    referenced: Referenced,
    /// Resident frames that some read holds.
    pinned: u32,
}

/// Where a block is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Found {
    /// In no frame.
    Absent,
    /// In a frame that a fetch is filling.
    UnderWay(Slot, IoId),
    /// In a frame.
    Resident(Slot),
}

/// The way through blocks that follow each other: the frame of the one before.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Row {
    last: Slot,
}

impl<R: Replacement, I: Index> Memory<R, I> {
    /// Free frames, and nobody who has any yet.
    pub(super) fn new(
        setup: &Setup,
        reclaimer: Option<Box<dyn Reclaimer>>,
        divider: Option<Box<dyn Divider>>,
        contexts: Option<ContextSeat>,
    ) -> Memory<R, I> {
        let frames = setup.frames;
        let sizes: Vec<u32> = divider
            .as_ref()
            .map_or_else(|| vec![frames], |divider| divider.shares().iter().map(|share| share.size).collect());
        let loops = contexts.as_ref().map(|contexts| contexts.loops);
        let (callers, placements) =
            contexts.map_or((None, Vec::new()), |contexts| (Some(contexts.callers), contexts.placements));
        Memory {
            directory: Directory::new(
                Segments::<R>::lists(sizes.len(), loops),
                frames,
                Segments::<R>::ghosts(frames, sizes.len(), loops.is_some()),
            ),
            segments: Segments::<R>::new(&sizes, loops).placed_by(placements),
            divider,
            callers,
            loops,
            unread: Unread::new(reclaimer, frames),
            referenced: setup.referenced,
            pinned: 0,
        }
    }

    /// Where a block is.
    #[inline]
    pub(super) fn look_up(&self, key: BlockKey) -> Found {
        self.found(self.resident(key))
    }

    /// The same of one block of a row after the other.
    #[inline]
    pub(super) fn look_up_next(&self, key: BlockKey, row: &mut Row) -> Found {
        self.found(self.next_resident(key, row))
    }

    #[inline]
    fn found(&self, slot: Option<Slot>) -> Found {
        match slot {
            None => Found::Absent,
            Some(slot) if self.directory.frames.list(slot) == FETCHING => {
                Found::UnderWay(slot, IoId(self.directory.frames.owner(slot).0))
            }
            Some(slot) => Found::Resident(slot),
        }
    }

    /// The frame of a block that is resident or under way.
    pub(super) fn resident(&self, key: BlockKey) -> Option<Slot> {
        self.directory.find(key).filter(|&slot| !self.directory.frames.is_ghost(slot))
    }

    /// The same of one block of a row after the other.
    #[inline]
    pub(super) fn next_resident(&self, key: BlockKey, row: &mut Row) -> Option<Slot> {
        let slot = self.directory.find_next(key, row.last).filter(|&slot| !self.directory.frames.is_ghost(slot))?;
        row.last = slot;
        Some(slot)
    }

    /// The number of a frame.
    #[inline(always)]
    pub(super) fn frame(&self, slot: Slot) -> FrameId {
        self.directory.frames.frame(slot)
    }

    /// The frames as they are.
    pub(super) fn frames(&self) -> &Frames {
        &self.directory.frames
    }

    /// All frames.
    pub(super) fn size(&self) -> u32 {
        self.directory.frames.buffers()
    }

    /// Free frames.
    pub(super) fn free(&self) -> u32 {
        self.directory.frames.len(FREE)
    }

    /// Frames that could be had now: free ones, and resident ones that no read holds.
    fn available(&self) -> u32 {
        self.size() - self.directory.frames.len(FETCHING) - self.pinned
    }

    /// Pins every block of `extent` that is resident or under way, provided that frames for the
    /// others can be had.
    #[inline]
    pub(super) fn hold(&mut self, extent: Extent) -> bool {
        let mut missing = 0;
        let mut held = 0;
        let mut row = Row::default();
        for key in extent.keys() {
            match self.next_resident(key, &mut row) {
                Some(slot) if self.directory.frames.pins(slot) == u16::MAX => break,
                Some(slot) => self.pin(slot),
                None => missing += 1,
            }
            held += 1;
        }
        if held == extent.len && missing <= self.available() {
            return true;
        }
        self.let_go(Extent { len: held, ..extent });
        false
    }

    /// Ends a [`hold`](Self::hold).
    #[inline]
    pub(super) fn let_go(&mut self, extent: Extent) {
        let mut row = Row::default();
        for key in extent.keys() {
            if let Some(slot) = self.next_resident(key, &mut row) {
                self.unpin(slot);
            }
        }
    }

    /// Holds one frame.
    pub(super) fn pin(&mut self, slot: Slot) {
        let pins = self.directory.frames.pins(slot);
        self.directory.frames.set_pins(slot, pins + 1);
        if pins == 0 && self.directory.frames.list(slot) != FETCHING {
            self.pinned += 1;
        }
    }

    fn unpin(&mut self, slot: Slot) {
        let pins = self.directory.frames.pins(slot);
        debug_assert!(pins > 0, "unpinned more often than pinned");
        self.directory.frames.set_pins(slot, pins.saturating_sub(1));
        if pins == 1 && self.directory.frames.list(slot) != FETCHING {
            self.pinned -= 1;
        }
    }

    /// Holds a resident frame for a driver. `false` if too many hold it already.
    pub(super) fn pin_frame(&mut self, frame: FrameId) -> bool {
        let first = self.directory.frames.hold(self.directory.frames.slot(frame));
        self.pinned += u32::from(first == Some(true));
        first.is_some()
    }

    /// Ends a [`pin_frame`](Self::pin_frame).
    pub(super) fn unpin_frame(&mut self, frame: FrameId) {
        let last = self.directory.frames.let_go(self.directory.frames.slot(frame));
        self.pinned -= u32::from(last);
    }

    /// Whether a block has a frame that somebody holds.
    pub(super) fn is_pinned(&self, key: BlockKey) -> bool {
        self.resident(key).is_some_and(|slot| self.directory.frames.pins(slot) > 0)
    }

    /// How many blocks, from the first of `extent` on, have frames that somebody holds.
    pub(super) fn pinned_at_first(&self, extent: Extent) -> u32 {
        let mut row = Row::default();
        let pinned = |&key: &BlockKey| {
            self.next_resident(key, &mut row).is_some_and(|slot| self.directory.frames.pins(slot) > 0)
        };
        extent.keys().take_while(pinned).count() as u32
    }

    /// Gives an absent block a free frame, in the list of those being filled. `None` if there is
    /// none.
    pub(super) fn assign(&mut self, key: BlockKey, class: Class) -> Option<Slot> {
        let slot = self.directory.assign(key, FETCHING)?;
        self.directory.frames.set_count(slot, class & 0x0f);
        Some(slot)
    }

    /// A frame is assigned to a block that is fetched ahead.
    pub(super) fn is_ahead(&mut self, slot: Slot) {
        let flags = if R::SORTS { flag::PREFETCHED | flag::SEQUENTIAL } else { flag::PREFETCHED };
        self.directory.frames.set(slot, flags);
        self.unread.awaits();
    }

    /// A stream would have had a block fetched ahead that is there. If somebody read it before, its
    /// next reference tells this stream all the same.
    pub(super) fn expects(&mut self, slot: Slot, stream: StreamId) {
        let frames = &mut self.directory.frames;
        if frames.list(slot) != FETCHING && !frames.has(slot, flag::PREFETCHED) && !kept::is_lists(frames, slot) {
            frames.set(slot, flag::EXPECTED);
            frames.set_owner(slot, stream);
        }
    }

    /// The frames of `extent` learn which fetch fills them.
    pub(super) fn are_filled_by(&mut self, extent: Extent, io: IoId) {
        let mut row = Row::default();
        for key in extent.keys() {
            if let Some(slot) = self.next_resident(key, &mut row) {
                self.directory.frames.set_owner(slot, StreamId(io.0));
            }
        }
    }

    /// A fetch from a device has filled a frame, and each of its blocks took so long.
    pub(super) fn costs(&mut self, slot: Slot, device: DeviceId, nanoseconds: u64) {
        let partition = self.partition(device);
        self.segments.costs(&mut self.directory, partition, slot, nanoseconds);
    }

    /// A frame has been filled by a fetch: the prefetch cache has it, or a partition.
    pub(super) fn settles(&mut self, slot: Slot, fetch: &Fetch) {
        let frames = &mut self.directory.frames;
        let prefetched = frames.has(slot, flag::PREFETCHED);
        frames.set_owner(slot, if prefetched { fetch.stream } else { StreamId::NONE });
        if frames.pins(slot) > 0 {
            self.pinned += 1;
        }
        frames.clear(slot, flag::ABSENT);
        if !(prefetched && self.unread.enters(frames, slot, fetch)) {
            let partition = self.partition(fetch.device);
            self.hand_over(slot, partition);
            // The first reader that waits has missed the block, and the others refer to it again.
            // Which ones only passed it cannot be told, if the policy wants to know.
            let again = if R::SORTS { 0 } else { self.directory.frames.pins(slot).saturating_sub(1) };
            for _ in 0..again {
                self.segments.referred_again(&mut self.directory, partition, slot);
            }
        }
    }

    /// A frame is about to settle whose block a disk tier has: where contexts have parts it is
    /// among the first to go, unless it is referred to once more.
    pub(super) fn is_cheap(&mut self, slot: Slot, device: DeviceId) {
        if let Some(class) = self.segments.class_of_dropped(self.partition(device)) {
            self.directory.frames.set_count(slot, class);
        }
    }

    /// A fetch was called off before it brought a block. Whether nobody has asked for that
    /// meanwhile, so that it is not wasted.
    pub(super) fn calls_off(&mut self, key: BlockKey) -> bool {
        let ahead = |&slot: &Slot| self.directory.frames.has(slot, flag::PREFETCHED);
        let Some(slot) = self.resident(key).filter(ahead) else { return false };
        self.is_ahead_no_longer(slot);
        true
    }

    /// A frame that a fetch was filling will not be filled: it is free. Whether it was fetched
    /// ahead.
    pub(super) fn does_not_come(&mut self, slot: Slot, fetch: &Fetch) -> bool {
        let ahead = self.directory.frames.has(slot, flag::PREFETCHED);
        if ahead && !fetch.is_hint() {
            self.unread.awaits_no_longer();
        }
        // Until now its owner was the fetch.
        self.directory.frames.set_owner(slot, fetch.stream);
        self.directory.release(slot);
        ahead
    }

    /// A frame that is being filled with a prefetched block is prefetched no longer: somebody wants
    /// it, or it was called off.
    fn is_ahead_no_longer(&mut self, slot: Slot) {
        self.unread.awaits_no_longer();
        self.directory.frames.clear(slot, flag::PREFETCHED);
    }

    /// Frees the frame of a block that nobody will read again, and says which it was; or forgets
    /// it, if it was remembered only.
    pub(super) fn drops(&mut self, key: BlockKey) -> Option<Slot> {
        let slot = self.directory.find(key)?;
        let ghost = self.directory.frames.is_ghost(slot);
        if self.directory.frames.list(slot) == UNREAD {
            self.unread.leaves(&self.directory.frames, slot);
        } else if !self.is_lists(slot) {
            self.segments.remove(&mut self.directory, slot);
        }
        self.directory.release(slot);
        (!ghost).then_some(slot)
    }

    /// The blocks of a file that are in frames.
    pub(super) fn blocks_of(&self, file: FileId) -> Vec<BlockKey> {
        self.directory.frames.keys_in_use().filter(|key| key.file() == file).collect()
    }

    /// Whether frames leave with their last reader.
    pub(super) fn hands_on(&self) -> bool {
        self.referenced == Referenced::HandedOn
    }

    /// Frees the frame of a block that was referenced and that nobody reads from, and says which it
    /// was. It is the first to be used again.
    pub(super) fn hand_on(&mut self, key: BlockKey) -> Option<FrameId> {
        let slot = self.resident(key)?;
        let frames = &self.directory.frames;
        if frames.pins(slot) > 0 || frames.has(slot, flag::PREFETCHED | flag::ABSENT) {
            return None;
        }
        self.segments.remove(&mut self.directory, slot);
        self.directory.release(slot);
        self.directory.frames.move_to_front(slot, FREE);
        Some(self.frame(slot))
    }

    /// The block that the frame released last held.
    pub(super) fn released(&self) -> Released {
        self.directory.released()
    }

    /// [`Directory::take_spared`].
    pub(super) fn take_spared(&mut self) -> Option<Spared> {
        self.directory.take_spared()
    }

    /// The prefetched frames that nobody has referred to.
    pub(super) fn unread(&mut self) -> &mut Unread {
        &mut self.unread
    }

    /// The reclaimer, if prefetched frames are kept apart.
    pub(super) fn reclaimer(&self) -> Option<&dyn Reclaimer> {
        self.unread.reclaimer()
    }

    /// The divider, if the cache is divided.
    pub(super) fn divider(&self) -> Option<&dyn Divider> {
        self.divider.as_deref()
    }

    /// The callers, if contexts have partitions.
    pub(super) fn callers(&self) -> Option<&Callers> {
        self.callers.as_ref()
    }

    /// An earlier run learnt this of a context.
    pub(super) fn hinted(&mut self, context: ContextId, hint: Hint) {
        if let Some(callers) = &mut self.callers {
            callers.hint(context, hint);
        }
    }

    /// The segments, one a partition.
    pub(super) fn segments(&self) -> &Segments<R> {
        &self.segments
    }

    /// The bytes of bookkeeping.
    pub(super) fn footprint(&self) -> usize {
        self.directory.footprint()
            + self.unread.footprint()
            + self.segments.footprint()
            + self.callers.as_ref().map_or(0, Callers::footprint)
            + self.divider.as_ref().map_or(0, |divider| divider.footprint())
    }
}
