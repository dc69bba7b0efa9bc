//! A segment whose program contexts have parts of their own: AMP's cache manager, and the placement
//! that has the last word on where blocks go.

use alloc::boxed::Box;

use crate::directory::Directory;
use crate::explain::Duel;
use crate::frames::{FREE, Frames, Slot};
use crate::index::Index;
use crate::papers::amp::ContextParts;
use crate::replacement::{Class, Replacement};
use crate::seams::{Access, Place, Placement, Tally, Use};
use crate::types::BlockKey;

/// The parts of a segment.
pub(super) struct Parted {
    parts: ContextParts,
    placement: Option<Box<dyn Placement>>,
    /// Whether blocks of loops go to their parts for now, as the placement says.
    has_loops: bool,
    /// Whether it wants to hear of every use.
    hears_uses: bool,
}

impl Parted {
    /// Blocks go where their contexts say.
    pub(super) fn new(parts: ContextParts) -> Parted {
        Parted { parts, placement: None, has_loops: true, hears_uses: false }
    }

    /// Blocks go where the placement says.
    pub(super) fn place_by(&mut self, placement: Box<dyn Placement>) {
        self.placement = Some(placement);
        self.look();
    }

    /// Asks again for the wishes of the placement, which may have changed.
    fn look(&mut self) {
        let Some(placement) = &self.placement else { return };
        self.hears_uses = placement.hears_uses();
        if placement.has_loops() != self.has_loops {
            self.has_loops = !self.has_loops;
            self.parts.forgets_coupons();
        }
    }

    pub(super) fn parts(&self) -> &ContextParts {
        &self.parts
    }

    /// A block is accessed, which may be in the placement's sample. Returns whether the placement
    /// wants to know the cost.
    pub(super) fn accessed<I: Index>(
        &mut self,
        directory: &mut Directory<I>,
        key: BlockKey,
        access: &Access,
        sampled: bool,
    ) -> bool {
        let mut charged = false;
        if let Some(placement) = &mut self.placement {
            let (frames, parts) = (&directory.frames, &self.parts);
            let held = || parts.sizes(frames).sum::<u32>() + frames.len(FREE);
            let is_there = || directory.find(key).is_some_and(|slot| !frames.is_ghost(slot));
            charged = sampled && placement.heard(key, access, &held, &is_there);
            placement.set_time(access.now);
        }
        self.parts.accessed(directory, access);
        charged
    }

    pub(super) fn tally(&self) -> Tally {
        self.placement.as_ref().map_or(Tally::default(), |placement| placement.tally())
    }

    pub(super) fn charge<R: Replacement, I: Index>(
        &mut self,
        policy: &mut R,
        directory: &mut Directory<I>,
        switch: u32,
    ) {
        let Some(placement) = &mut self.placement else { return };
        if let Some(balance) = placement.charged(switch) {
            policy.begin_anew(directory, balance);
        }
        self.look();
    }

    /// [`ContextParts::hit`].
    #[inline(always)]
    pub(super) fn hit<R: Replacement, I: Index>(
        &mut self,
        policy: &mut R,
        directory: &mut Directory<I>,
        slot: Slot,
        access: &Access,
        now: u64,
    ) -> bool {
        let hit = match access.place {
            Place::Loop(number) if self.has_loops => {
                self.parts.hit_in_loop(directory, slot, number, &access.rhythm, now)
            }
            // Where loops have no parts the default policy has their blocks.
            Place::Default | Place::Loop(_) => self.parts.hit(policy, directory, slot, now),
            Place::Dropped => false,
        };
        if hit && self.hears_uses {
            self.used(slot, now);
        }
        hit
    }

    #[inline(never)]
    fn used(&mut self, slot: Slot, now: u64) {
        if let Some(placement) = &mut self.placement {
            placement.set_time(now);
            placement.used(slot, false);
        }
    }

    /// [`ContextParts::referred`].
    pub(super) fn referred<R: Replacement, I: Index>(
        &mut self,
        policy: &mut R,
        directory: &mut Directory<I>,
        slot: Slot,
        place: Place,
        how: Use,
    ) {
        if let Some(placement) = self.placement.as_mut().filter(|_| self.hears_uses) {
            let waits = how == Use::Hit && self.parts.place(&directory.frames, slot) == Place::Dropped;
            placement.used(slot, waits);
        }
        let place = self.of_used(place, how).unwrap_or_else(|| self.parts.place(&directory.frames, slot));
        self.parts.referred(policy, directory, slot, place, how);
    }

    /// A block is referenced again in the part where it is.
    pub(super) fn referred_again<R: Replacement, I: Index>(
        &mut self,
        policy: &mut R,
        directory: &mut Directory<I>,
        slot: Slot,
    ) {
        let place = self.parts.place(&directory.frames, slot);
        self.referred(policy, directory, slot, place, Use::Hit);
    }

    /// Where a used block goes, or `None` if it stays.
    fn of_used(&self, place: Place, how: Use) -> Option<Place> {
        self.placement.as_ref().map_or(Some(place), |placement| placement.of_used(place, how))
    }

    /// Where a new block goes.
    fn of_new(&mut self, key: BlockKey, place: Place) -> Place {
        match &mut self.placement {
            Some(placement) => placement.of_new(key, place, self.parts.random()),
            None => place,
        }
    }

    /// [`ContextParts::missed`].
    pub(super) fn missed<R: Replacement, I: Index>(
        &mut self,
        policy: &mut R,
        directory: &mut Directory<I>,
        key: BlockKey,
        ghost: Option<Slot>,
        place: Place,
        ahead: bool,
    ) -> Class {
        let place = self.of_new(key, place);
        self.parts.missed(policy, directory, ghost, place, ahead)
    }

    /// [`ContextParts::recalls`].
    pub(super) fn recalls<R: Replacement, I: Index>(
        &mut self,
        policy: &mut R,
        directory: &mut Directory<I>,
        key: BlockKey,
        ghost: Option<Slot>,
        place: Place,
    ) -> Class {
        let place = self.of_new(key, place);
        self.parts.recalls(policy, directory, ghost, place)
    }

    /// The class of blocks that go first.
    pub(super) fn class_of_dropped(&self) -> Class {
        self.parts.class_of_dropped()
    }

    /// [`ContextParts::class_for`].
    pub(super) fn class_for(&self, old: Class, place: Place) -> Class {
        self.of_used(place, Use::First).map_or(old, |place| self.parts.class_for(old, place))
    }

    /// [`ContextParts::victim`].
    pub(super) fn victim<R: Replacement, I: Index>(
        &mut self,
        policy: &mut R,
        directory: &mut Directory<I>,
        class: Class,
    ) -> Option<Slot> {
        if let Some(placement) = &mut self.placement {
            placement.fill();
        }
        let victim = self.parts.victim(policy, directory, class, self.waiting())?;
        if let Some(placement) = self.placement.as_mut().filter(|_| victim.default) {
            placement.given_up(victim.slot);
        }
        Some(victim.slot)
    }

    /// [`ContextParts::insert`].
    pub(super) fn insert<R: Replacement, I: Index>(
        &mut self,
        policy: &mut R,
        directory: &mut Directory<I>,
        slot: Slot,
        class: Class,
    ) {
        if let Some(placement) = self.placement.as_mut().filter(|_| self.hears_uses) {
            placement.comes(slot);
        }
        self.parts.insert(policy, directory, slot, class);
    }

    /// [`ContextParts::give_up`].
    pub(super) fn give_up<R: Replacement, I: Index>(
        &mut self,
        policy: &mut R,
        directory: &mut Directory<I>,
        slot: Slot,
        class: Class,
    ) {
        self.parts.give_up(policy, directory, slot, class);
    }

    /// The segment is to have this many frames from now on.
    pub(super) fn resize(&mut self, frames: u32) {
        self.parts.resize(frames);
        if let Some(placement) = &mut self.placement {
            placement.resized(frames);
        }
    }

    pub(super) fn has_nothing_ahead(&mut self) {
        self.parts.has_nothing_ahead();
    }

    /// How many dropped blocks are as good as free.
    pub(super) fn done_with(&self, frames: &Frames) -> u32 {
        self.parts.dropped_frames(frames).saturating_sub(self.waiting())
    }

    fn waiting(&self) -> u32 {
        self.placement.as_ref().map_or(0, |placement| placement.waiting())
    }

    pub(super) fn explain(&self) -> Option<Duel> {
        self.placement.as_ref()?.explain()
    }

    /// The bytes beside the slab.
    pub(super) fn footprint(&self) -> usize {
        size_of::<Parted>() + self.parts.footprint() - size_of::<ContextParts>()
            + self.placement.as_ref().map_or(0, |placement| placement.footprint())
    }
}
