//! Told lists, step by step: they are heard, what they name is fetched ahead, and their frames make
//! room.
//!
//! ```text
//!   Told ─▶ items behind the list ─▶ the next: a channel is free? room ahead? ─▶ frames ─▶ Fetch
//!              ▲ moves on                                                          ▲
//!   a read of what a list names           spent ─▶ used last, if later than this ─▶ others'
//! ```
//!
//! Lists live from frames of their own: the ones that nobody needs again, then those whose next use
//! is farthest (Belady). A list takes a frame that others had only if these are idle, or have made
//! enough references since. Others take one back where they have less than half of memory, or miss
//! a block that had to go.

use alloc::vec::Vec;

use super::Engine;
use super::admit::Met;
use super::memory::Found;
use super::runs::Runs;
use super::told::Wanted;
use crate::event::{Actions, EventKind};
use crate::frames::{Slot, flag};
use crate::index::Index;
use crate::inflight::Fetch;
use crate::replacement::Replacement;
use crate::types::{BlockKey, DeviceId, Extent, HandlerId, StreamId, ToldId};

/// The blocks of the longest fetch for a list, whatever a switch is worth.
const LONGEST: u32 = 64;

/// Whose block a frame is wanted for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum For {
    /// A reader whose read a list names.
    List,
    /// Others; `again` if the block was here a short while ago.
    Others { again: bool },
}

impl<R: Replacement, I: Index> Engine<R, I> {
    /// An event of lists.
    pub(super) fn hear_of_list(&mut self, kind: EventKind) {
        match kind {
            EventKind::Told { list, extent } => {
                let Some(blocks) = self.storage.file(extent.file).map(|file| file.blocks) else { return };
                let extent = extent.within(0, blocks);
                if !extent.is_empty() {
                    self.told.tells(list, extent, self.now);
                    self.keep_for_lists(extent);
                }
            }
            EventKind::Untold { list } => self.told.clears(list),
            _ => {}
        }
        self.spend();
    }

    /// The resident blocks of an extent that a list names stay until their turn.
    fn keep_for_lists(&mut self, extent: Extent) {
        for key in extent.keys() {
            if let Found::Resident(slot) = self.memory.look_up(key) {
                self.keep_if_named(slot, key);
            }
        }
    }

    /// A resident block stays until its turn, if a list names it.
    fn keep_if_named(&mut self, slot: Slot, key: BlockKey) {
        if !self.memory.hands_on() && !self.told.is_kept(key) && self.told.keeps(key) {
            self.keep_for_list(slot);
        }
    }

    /// A resident frame is kept for a list from now on, read or not.
    fn keep_for_list(&mut self, slot: Slot) {
        let (ahead, owner) = (self.memory.is_told_ahead(slot), self.memory.frames().owner(slot));
        self.memory.keeps_for_list(slot);
        if !ahead && self.memory.is_told_ahead(slot) {
            self.told.is_ahead();
            if owner != StreamId::TOLD {
                let device = self.storage.device_of(self.memory.frames().key(slot)).unwrap_or_default();
                self.storage.counters(device).hinted += 1;
            }
        }
    }

    /// A read that is admitted: whether a list names any of it.
    pub(super) fn is_told(&mut self, extent: Extent, handler: HandlerId) -> bool {
        let first = BlockKey::new(extent.file, extent.start);
        let absent = matches!(self.memory.look_up(first), Found::Absent);
        let told = self.told.is_read(extent, handler, absent, self.now);
        self.spend();
        told
    }

    /// Blocks whose lists do not need them any more are spent, unless another list does.
    fn spend(&mut self) {
        while let Some(key) = self.told.spends() {
            let Found::Resident(slot) = self.memory.look_up(key) else { continue };
            if self.memory.is_lists(slot) && !self.told.keeps(key) {
                if self.memory.is_told_ahead(slot) {
                    self.told.is_ahead_no_longer();
                }
                self.memory.is_spent(slot);
            }
        }
    }

    /// A read refers to a frame that a list has, or had.
    pub(super) fn refer_lists(&mut self, slot: Slot, device: DeviceId, met: &Met) {
        let key = self.memory.frames().key(slot);
        let ahead = self.memory.is_told_ahead(slot);
        let needed = !self.memory.hands_on() && (self.told.is_kept(key) || self.told.keeps(key));
        let used = if needed || (met.told && !self.memory.hands_on()) {
            self.memory.is_read_of_list(slot, needed)
        } else {
            self.told.lets_go(key, false);
            self.memory.leaves_list(slot, device, met.access)
        };
        if ahead {
            self.told.is_ahead_no_longer();
        }
        if used {
            let counters = self.storage.counters(device);
            counters.used += 1;
            counters.hints_used += 1;
        }
    }

    /// A block has arrived that a list names, or that was fetched for one. `false` if it is none of
    /// a list's.
    pub(super) fn settles_for_list(&mut self, slot: Slot, key: BlockKey, fetch: &Fetch) -> bool {
        let prefetched = self.memory.frames().has(slot, flag::PREFETCHED);
        let ahead = fetch.told && prefetched;
        if !ahead && (prefetched || self.memory.hands_on()) {
            return false;
        }
        let needed = self.told.is_kept(key) || self.told.keeps(key);
        if !needed && !fetch.told {
            return false;
        }
        if ahead && !needed {
            self.told.is_ahead_no_longer();
        }
        self.memory.settles_for_list(slot, needed);
        true
    }

    /// A block that is under way for a list is wanted by a reader, or does not come.
    pub(super) fn is_told_no_longer(&mut self, key: BlockKey, unread: bool) {
        self.told.lets_go(key, unread);
        self.told.is_ahead_no_longer();
    }

    /// A block is dropped, whoever has it.
    pub(super) fn leaves_lists(&mut self, key: BlockKey) {
        let Some(slot) = self.memory.resident(key).filter(|&slot| self.memory.is_lists(slot)) else { return };
        let unread = self.memory.is_told_ahead(slot);
        if unread {
            self.told.is_ahead_no_longer();
        }
        self.told.lets_go(key, unread);
    }

    /// Lists give a frame up, if it is their turn to make room.
    pub(super) fn lists_make_room(&mut self, whose: For, out: &mut Actions) {
        if self.memory.free() > 0 {
            return;
        }
        self.told.looks(self.now);
        self.spend();
        if whose == (For::Others { again: true }) {
            self.told.regrets();
        }
        let turn = match whose {
            For::List => true,
            For::Others { again } => again || self.memory.lists_owe() || !self.told.is_followed(),
        };
        if turn {
            self.lists_give(0, out);
        }
    }

    /// Lists give up a frame of theirs that nobody holds, of a block that is used more than so many
    /// items later. Whether they had one.
    pub(super) fn lists_give(&mut self, beyond: u64, out: &mut Actions) -> bool {
        let slot = self.memory.first_spent().or_else(|| {
            let mut later = self.told.farthest(beyond);
            later.find_map(|key| self.memory.unheld(key))
        });
        let Some(slot) = slot else { return false };
        let key = self.memory.frames().key(slot);
        self.leaves_lists(key);
        self.memory.frees(slot);
        self.book_release(slot, out);
        true
    }

    /// Fetches what lists name, as far as channels and room go. Readers that wait for frames come
    /// first.
    pub(super) fn fetch_told(&mut self, out: &mut Actions) {
        // Reads that wait for frames come first, and the event that ends their wait comes here
        // again.
        self.told.falls_short(false);
        if !self.told.is_any() || self.requests.are_queued() {
            return;
        }
        self.told.looks(self.now);
        self.spend();
        let sharers = self.lookahead.sharers(&self.memory, &self.storage);
        // Lists have the room of the prefetch cache, and most of their own frames and of free ones.
        let room = self.memory.ahead(sharers).room.saturating_sub(self.memory.unread_pages());
        let theirs = self.memory.lists_have() + self.memory.free();
        let room = room.max(theirs / 4 * 3).max(self.memory.size() / 8);
        let mut busy: Vec<ToldId> = Vec::new();
        while let Some(wanted) = self.told.next(&busy) {
            let extent = wanted.extent();
            let Some(file) = self.storage.file(extent.file).filter(|file| !file.forgotten) else {
                self.told.examines(&wanted);
                continue;
            };
            let device = self.storage.device(file.device_of(extent.start));
            let at_once = self.told.at_once(device, self.storage.competitive_depth(file, extent.start));
            // Readers of the list that wait are no reason to fetch less for it.
            let taken = match device.seeks() {
                true => device.under_way >= at_once && device.told_under_way > 0,
                false => device.told_under_way >= at_once,
            };
            let deep = room.min(self.told.depth(at_once));
            if !taken && self.told.ahead() >= deep && self.told.hurries() {
                self.spend();
            }
            if taken || self.told.ahead() >= deep {
                busy.push(wanted.list);
                continue;
            }
            if !self.fetch_item(wanted, out) {
                return self.told.falls_short(true);
            }
        }
    }

    /// Fetches what is absent of an item, and of those behind it that go on with its file. `false`
    /// if there is no room for it.
    fn fetch_item(&mut self, wanted: Wanted, out: &mut Actions) -> bool {
        let start = wanted.extent();
        let depth = self.storage.file(start.file).map_or(1, |file| self.storage.competitive_depth(file, start.start));
        let longest = depth.max(LONGEST).min(self.memory.size() / 8).max(1);
        let (mut runs, mut at, mut fetched, mut there_is_room) = (Runs::default(), wanted, 0, true);
        loop {
            // A file may have come back shorter under its number.
            let blocks = self.storage.blocks(at.extent().file);
            for key in at.extent().within(0, blocks).keys().filter(|key| at.names(key.block())) {
                match self.memory.look_up(key) {
                    Found::Absent => {
                        let Some(slot) = self.assign_for_list(key, at.used_in(), out) else {
                            there_is_room = false;
                            break;
                        };
                        self.memory.is_ahead_for_list(slot);
                        self.told.fetches(&at, key);
                        self.counts_hint(key);
                        runs.append(key, self.storage.home(key.file()).begins_unit(key.block()));
                        fetched += 1;
                    }
                    Found::Resident(slot) => self.keep_if_named(slot, key),
                    Found::UnderWay(..) => {}
                }
            }
            if there_is_room {
                self.told.examines(&at);
            }
            let behind = self.told.behind(&at).filter(|next| fetched + next.extent().len <= longest);
            let Some(next) = behind.filter(|_| there_is_room && fetched > 0) else { break };
            at = next;
        }
        for &run in runs.as_slice() {
            self.told.issues(run.len);
            self.start_told(run, out);
        }
        there_is_room
    }

    fn counts_hint(&mut self, key: BlockKey) {
        let device = self.storage.device_of(key).unwrap_or_default();
        let counters = self.storage.counters(device);
        counters.prefetched += 1;
        counters.hinted += 1;
    }

    /// Gives a block a frame that is to be read in so many items. `None` if all frames are needed
    /// before.
    fn assign_for_list(&mut self, key: BlockKey, distance: u64, out: &mut Actions) -> Option<Slot> {
        let device = self.storage.device_of(key)?;
        let class = self.memory.class_of_prefetched(key, device, None);
        if self.memory.free() == 0 {
            let references: u64 = self.storage.devices().iter().map(|device| device.counters.references()).sum();
            let at_once = self.told.at_once(self.storage.device(device), 1);
            let short = self.memory.lists_have() < self.told.depth(at_once).min(self.memory.size() / 4);
            let takes = (short || self.told.may_take(references, self.now)) && self.memory.others_have_any();
            if takes {
                self.told.takes();
            } else if !self.lists_give(distance.saturating_add(1), out) {
                return None;
            }
        }
        self.assign_room(key, class, out)
    }
}
