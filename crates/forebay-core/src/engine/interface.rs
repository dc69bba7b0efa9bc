//! What drivers see of the engine.

use alloc::vec::Vec;

use crate::counters::Counters;
use crate::devices::Device;
use crate::event::{Actions, Event};
use crate::explain::{Cache, Explanation};
use crate::hint::Hint;
use crate::partition::Callers;
use crate::seams::{Divider, Reclaimer};
use crate::stream::Streams;
use crate::types::{BlockKey, Caller, ContextId, DeviceId, FileId, FrameId, HandlerId, Instant};

/// The policy core behind one interface, whatever its replacement and index are.
pub trait Core: Send {
    /// Handles events in order and appends what is to be done.
    fn handle(&mut self, events: &[Event], out: &mut Actions);
    /// When the core wants a [`Tick`](crate::EventKind::Tick), if at all.
    fn deadline(&self) -> Option<Instant>;
    /// A read within one block that is resident and tells nobody anything new: the same as `Read`,
    /// `Ready` and `Done` at one moment, without the ceremony. `device` is that of the block's
    /// file. `None`: send a `Read`. Whoever copies from the frame afterwards either pins it, or
    /// makes sure that it is not filled anew before the copy is done.
    ///
    /// But a read also says that its handler runs ([`Ran`](crate::EventKind::Ran)). Where there is
    /// a prefetch cache, a driver that takes the short cut says so itself, now and then.
    fn hit(&mut self, key: BlockKey, device: DeviceId, caller: Caller) -> Option<FrameId>;
    /// From now on [`hit`](Self::hit) answers `None`: whoever records wants every reference to be
    /// an event.
    fn no_short_cut(&mut self);
    /// Holds the frame of a [`hit`](Self::hit), at the same moment, until [`unpin`](Self::unpin).
    /// `false` if too many hold it already.
    fn pin(&mut self, frame: FrameId) -> bool;
    /// Ends a [`pin`](Self::pin). `true` if reads wait for frames: send a `Tick`.
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
    /// Who keeps prefetched frames apart, if the policy does.
    fn reclaimer(&self) -> Option<&dyn Reclaimer>;
    /// Where the prefetch cache stands, if the policy has one.
    fn prefetch_cache(&self) -> Option<Cache>;
    /// How many pages that has, those under way included.
    fn unread(&self) -> u32;
    /// What is known of program contexts, if they have partitions.
    fn contexts(&self) -> Option<&Callers>;
    /// What was learnt of contexts that the next run could use, in their order, if they are told
    /// apart.
    fn hints(&self) -> Vec<(ContextId, Hint)>;
    /// Appends how many frames the partitions of program contexts have, if there are any: the
    /// default one, one-shot blocks, each loop. Of a divided cache, those of partition `partition`;
    /// else that is zero.
    fn program(&self, partition: usize, sizes: &mut Vec<u32>);
    /// How the cache is divided among devices, if it is.
    fn divider(&self) -> Option<&dyn Divider>;
    /// Appends handlers whose running and exiting matters, at most so many, in the order of their
    /// numbers behind `after`; none that exited.
    fn handlers_in_question(&self, after: HandlerId, most: usize, out: &mut Vec<HandlerId>);
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
