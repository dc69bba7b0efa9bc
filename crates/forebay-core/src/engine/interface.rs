//! The engine, as drivers see it.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::hit::ShortCut;
use super::{Engine, ToldList};
use crate::counters::Counters;
use crate::devices::Device;
use crate::event::{Actions, Event};
use crate::explain::{Cache, Explanation};
use crate::hint::Hint;
use crate::index::Index;
use crate::partition::Callers;
use crate::replacement::Replacement;
use crate::seams::{By, Divider, Reclaimer};
use crate::stream::Streams;
use crate::types::{BlockKey, Caller, ContextId, DeviceId, FileId, FrameId, HandlerId, Instant, ToldId};

/// The policy core behind one interface, whatever its replacement and index are.
pub trait Core: Send {
    /// Handles events in order and appends what is to be done.
    fn handle(&mut self, events: &[Event], out: &mut Actions);
    /// When the core wants a [`Tick`](crate::EventKind::Tick), if at all.
    fn deadline(&self) -> Option<Instant>;
    /// A read within one block that is resident and tells nobody anything new: the same as `Read`,
    /// `Ready` and `Done` at one moment, without the ceremony. `device` is that of the block's
    /// file. `None`: send a `Read`. A driver that copies from the frame afterwards pins
    /// it, or makes sure that it is not filled anew before the copy is done.
    ///
    /// But a read also says that its handler runs ([`Ran`](crate::EventKind::Ran)). Where there is
    /// a prefetch cache, a driver that takes the short cut says so itself, now and then.
    fn hit(&mut self, key: BlockKey, device: DeviceId, caller: Caller) -> Option<FrameId>;
    /// From now on [`hit`](Self::hit) answers `None`: a recorder wants every reference to be an
    /// event.
    fn no_short_cut(&mut self);
    /// Holds the frame of a [`hit`](Self::hit), at the same moment, until [`unpin`](Self::unpin).
    /// `false` if too many hold it already.
    fn pin(&mut self, frame: FrameId) -> bool;
    /// Ends a [`pin`](Self::pin). `true` if reads or told lists wait for frames, or a forgotten
    /// file for this one: send a `Tick`.
    fn unpin(&mut self, frame: FrameId) -> bool;
    /// The frame that holds a block or is being filled with it.
    fn frame(&self, key: BlockKey) -> Option<FrameId>;
    /// The longest read that the core takes, in blocks.
    fn max_read(&self) -> u32;
    /// Counts over all devices.
    fn counters(&self) -> Counters;
    /// The devices.
    fn devices(&self) -> &[Device];
    /// The streams.
    fn streams(&self) -> &Streams;
    /// The reclaimer, if the policy keeps prefetched frames apart.
    fn reclaimer(&self) -> Option<&dyn Reclaimer>;
    /// Where the prefetch cache stands, if the policy has one.
    fn prefetch_cache(&self) -> Option<Cache>;
    /// How many pages that has, those under way included.
    fn unread(&self) -> u32;
    /// The record of program contexts, if they have partitions.
    fn contexts(&self) -> Option<&Callers>;
    /// The hints for the next run, in the order of contexts, if contexts are told apart.
    fn hints(&self) -> Vec<(ContextId, Hint)>;
    /// Appends how many frames the partitions of program contexts have, if there are any: the
    /// default one, one-shot blocks, each loop. Of a divided cache, those of partition `partition`;
    /// else that is zero.
    fn part_sizes(&self, partition: usize, sizes: &mut Vec<u32>);
    /// How the cache is divided among devices, if it is.
    fn divider(&self) -> Option<&dyn Divider>;
    /// Appends handlers whose running and exiting matters, at most so many, in the order of their
    /// numbers behind `after`; none that exited.
    fn handlers_in_question(&self, after: HandlerId, most: usize, out: &mut Vec<HandlerId>);
    /// How many items more a told list may have: for each extent that it is
    /// [told](crate::EventKind::Told) one, and one more for each 64 blocks.
    fn told_room(&self, list: ToldId) -> u32;
    /// The told lists, in the order of their numbers.
    fn told_lists(&self) -> Vec<ToldList>;
    /// How many frames hold or are being filled with blocks of a file.
    fn frames_of(&self, file: FileId) -> u32;
    /// Frames in all, and free ones.
    fn frames(&self) -> (u32, u32);
    /// The bytes of bookkeeping.
    fn footprint(&self) -> usize;
    /// Why streams, the `most` most active ones, devices and partitions are as they are, as of
    /// `now`.
    fn explain(&self, now: Instant, most: usize) -> Explanation;
    /// Panics unless every invariant holds. For tests; walks over everything.
    fn check(&self);
}

impl<R: Replacement + Send, I: Index + Send> Core for Engine<R, I> {
    fn handle(&mut self, events: &[Event], out: &mut Actions) {
        for &event in events {
            self.handle_one(event, out);
        }
    }

    fn deadline(&self) -> Option<Instant> {
        self.told.deadline(self.now)
    }

    fn hit(&mut self, key: BlockKey, device: DeviceId, caller: Caller) -> Option<FrameId> {
        if self.short_cut.is_plain() { self.plain_hit(key, device) } else { self.heard_hit(key, device, caller) }
    }

    fn no_short_cut(&mut self) {
        self.short_cut = ShortCut::NONE;
        self.memory.tells_sample(u64::MAX);
    }

    fn pin(&mut self, frame: FrameId) -> bool {
        self.memory.pin_frame(frame)
    }

    fn unpin(&mut self, frame: FrameId) -> bool {
        self.memory.unpin_frame(frame);
        self.requests.are_queued() || self.told.is_short() || !self.lingering.is_empty()
    }

    fn frame(&self, key: BlockKey) -> Option<FrameId> {
        self.memory.resident(key).map(|slot| self.memory.frame(slot))
    }

    fn max_read(&self) -> u32 {
        self.longest_read()
    }

    fn counters(&self) -> Counters {
        let mut sum = Counters::default();
        for device in self.storage.devices() {
            sum += device.counters;
        }
        sum
    }

    fn devices(&self) -> &[Device] {
        self.storage.devices()
    }

    fn streams(&self) -> &Streams {
        self.lookahead.streams()
    }

    fn reclaimer(&self) -> Option<&dyn Reclaimer> {
        self.memory.reclaimer()
    }

    fn prefetch_cache(&self) -> Option<Cache> {
        Some(self.memory.reclaimer()?.explain(self.memory.frames()))
    }

    fn divider(&self) -> Option<&dyn Divider> {
        self.memory.divider()
    }

    fn contexts(&self) -> Option<&Callers> {
        self.memory.callers()
    }

    fn hints(&self) -> Vec<(ContextId, Hint)> {
        let Some(callers) = self.memory.callers().filter(|callers| callers.by() == By::Context) else {
            return Vec::new();
        };
        let mut hints: BTreeMap<ContextId, Hint> = callers.hints().into_iter().collect();
        for (context, usual) in self.lookahead.learnt() {
            hints.entry(context).or_insert(Hint::NOTHING).usual = usual;
        }
        hints.into_iter().collect()
    }

    fn part_sizes(&self, partition: usize, sizes: &mut Vec<u32>) {
        if let Some(parts) = self.memory.segments().context_parts(partition) {
            sizes.extend(parts.sizes(self.memory.frames()));
        }
    }

    fn unread(&self) -> u32 {
        self.memory.reclaimer().map_or(0, |reclaimer| reclaimer.len(self.memory.frames()))
    }

    fn handlers_in_question(&self, after: HandlerId, most: usize, out: &mut Vec<HandlerId>) {
        if let Some(reclaimer) = self.memory.reclaimer() {
            reclaimer.in_question(after, most, out);
        }
    }

    fn told_room(&self, list: ToldId) -> u32 {
        self.told.room(list)
    }

    fn told_lists(&self) -> Vec<ToldList> {
        self.told.views()
    }

    fn frames_of(&self, file: FileId) -> u32 {
        self.storage.file(file).map_or(0, |file| file.frames)
    }

    fn frames(&self) -> (u32, u32) {
        (self.memory.size(), self.memory.free())
    }

    fn footprint(&self) -> usize {
        let below = self.memory.footprint() + self.storage.footprint();
        below + self.lookahead.footprint() + self.told.footprint() + self.requests.footprint()
    }

    fn explain(&self, now: Instant, most: usize) -> Explanation {
        self.explanation(now, most)
    }

    fn check(&self) {
        self.check_invariants();
    }
}
