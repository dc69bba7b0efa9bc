//! Steps 4 and 5 of a read: the stream that it belongs to, and what is fetched for that stream now.

use super::Engine;
use super::admit::Met;
use super::lookahead::{Followed, Turn};
use super::storage::Storage;
use super::tell::For;
use crate::event::Actions;
use crate::files::Home;
use crate::index::Index;
use crate::inflight::Read;
use crate::replacement::Replacement;
use crate::seams::{Access, Near, Plan};
use crate::types::{BlockKey, FileId, StreamId};

/// No fetch for a stream is for a list.
const OTHERS: For = For::Others { again: false };

/// For whom something is fetched ahead.
#[derive(Clone, Copy, Debug)]
struct Ahead {
    /// The stream.
    id: StreamId,
    /// The file.
    file: FileId,
    /// Where its blocks lie.
    home: Home,
    /// Where its reader's blocks go, if contexts have partitions.
    access: Option<Access>,
}

impl Ahead {
    /// The same, in a file.
    fn of(self, file: FileId, storage: &Storage) -> Ahead {
        Ahead { file, home: storage.home(file), ..self }
    }
}

impl<R: Replacement, I: Index> Engine<R, I> {
    /// Moves the read's stream on, gives frames to what its policy wants fetched and appends that
    /// to `runs`. Returns the stream, or `NONE` if the read tells nothing about any.
    pub(super) fn look_ahead(&mut self, read: &Read, met: Met, out: &mut Actions) -> StreamId {
        let tells = met.stream.is_some() || met.missed.is_some() || self.lookahead.needs().every_reference;
        if !tells || read.extent.is_empty() {
            return StreamId::NONE;
        }
        let followed = self.lookahead.follow(read, met.stream, met.missed, &mut self.storage, self.now);
        let Followed { id, turn } = followed;
        self.sort(id, read);
        // Readers that wait for frames come first.
        let plan = if self.requests.are_queued() || turn == Turn::Lags {
            None
        } else {
            self.lookahead.plan(&followed, read, met.missed, &self.memory, &mut self.storage)
        };
        self.lookahead.hears_read(id, read, met.missed.is_some() && turn != Turn::Lags);
        let file = read.extent.file;
        let ahead = Ahead { id, file, home: self.storage.home(file), access: met.access };
        self.fetch_planned(ahead, read, met, &followed, plan, out);
        self.fetch_elsewhere(ahead, read, met.missed.is_some(), turn, out);
        id
    }

    /// The extents that the plan of a read's stream wants fetched.
    fn fetch_planned(
        &mut self,
        ahead: Ahead,
        read: &Read,
        met: Met,
        followed: &Followed,
        plan: Option<Plan>,
        out: &mut Actions,
    ) {
        let Followed { id, turn } = *followed;
        if self.load_near(ahead, read, met.missed.filter(|_| turn.may_miss_near()), plan, out) {
            return;
        }
        let Some(plan) = plan else { return };
        let from = met.missed.unwrap_or_else(|| self.lookahead.ahead_of(id));
        if R::SORTS && met.missed.is_none() {
            self.memory.renew(self.lookahead.unread(id));
        }
        if turn != Turn::Begins {
            self.storage.follows(id, BlockKey::new(read.extent.file, from));
        }
        let end = self.fetch_ahead(ahead, from, plan, out);
        self.lookahead.hears_asked(id, from, end);
        self.lookahead.is_fetched(followed, end, &plan, read);
    }

    /// Has fetched what the read's reader will read next elsewhere, as far as that is known.
    fn fetch_elsewhere(&mut self, ahead: Ahead, read: &Read, missed: bool, turn: Turn, out: &mut Actions) {
        if self.lookahead.needs().elsewhere.is_none() || self.requests.are_queued() {
            return;
        }
        let mut next = core::mem::take(&mut self.elsewhere);
        next.clear();
        let followed = Followed { id: ahead.id, turn };
        self.lookahead.elsewhere(read, missed, &followed, &self.memory, &self.storage, &mut next);
        for &extent in &next {
            let mut apart = true;
            let ahead = ahead.of(extent.file, &self.storage);
            if !extent.keys().all(|key| self.fetch_block(key, ahead, &mut apart, out)) {
                break;
            }
        }
        self.elsewhere = next;
    }

    /// Flags the blocks in `runs`, which a read has missed, that end a run of at least the
    /// threshold: a replacement policy may keep them apart.
    fn sort(&mut self, id: StreamId, read: &Read) {
        if !R::SORTS {
            return;
        }
        let Some(first) = self.lookahead.first_sequential(id) else { return };
        if let Some(key) = self.memory.sort(self.runs.as_slice(), first, read.label().demand) {
            self.memory.sequential_miss(self.storage.device_of(key).unwrap_or_default());
        }
    }

    /// Fetches the neighbourhood of the block that a read has `missed`, if its stream's plan would
    /// bring less. Whether it did.
    fn load_near(
        &mut self,
        ahead: Ahead,
        read: &Read,
        missed: Option<u32>,
        plan: Option<Plan>,
        out: &mut Actions,
    ) -> bool {
        let asked = self.lookahead.needs().near && !self.requests.are_queued();
        let Some(missed) = missed.filter(|_| asked) else { return false };
        let near = self.lookahead.near(read.extent, missed, &self.memory, &self.storage);
        let Some(Near { region, piece }) = near else { return false };
        let planned = plan.map_or(0, |plan| plan.piece.saturating_mul(plan.pieces));
        if region.end().saturating_sub(missed) <= planned {
            return false;
        }
        // In pieces, since a reader of a block waits for all of its piece.
        let pieces = |rest: u32| Plan { piece: piece.min(rest), pieces: rest.div_ceil(piece), ..Plan::NOTHING };
        let ahead = ahead.of(region.file, &self.storage);
        // The blocks behind come with the demand.
        self.fetch_ahead(ahead, missed, pieces(region.end() - missed), out);
        let before = read.extent.start.saturating_sub(region.start);
        self.fetch_ahead(ahead, region.start, pieces(before), out);
        true
    }

    /// Gives frames to the absent blocks of a plan and appends them to `runs`, one run or more a
    /// piece. Returns the block up to which everything is there or under way.
    fn fetch_ahead(&mut self, ahead: Ahead, from: u32, plan: Plan, out: &mut Actions) -> u32 {
        let Some(blocks) = self.storage.file(ahead.file).map(|file| file.blocks) else { return from };
        let mut at = from;
        for piece in 0..plan.pieces {
            let piece_end = from.saturating_add(plan.piece.saturating_mul(piece + 1)).min(blocks);
            // The first piece goes on with the demand; a later one is a fetch of its own.
            let mut apart = piece > 0;
            while at < piece_end {
                if !self.fetch_block(BlockKey::new(ahead.file, at), ahead, &mut apart, out) {
                    return at;
                }
                at += 1;
            }
        }
        at.max(from)
    }

    /// Has a block fetched ahead, if it is not there or under way. `false` if there is no frame for
    /// it.
    fn fetch_block(&mut self, key: BlockKey, ahead: Ahead, apart: &mut bool, out: &mut Actions) -> bool {
        if let Some(slot) = self.memory.resident(key) {
            self.memory.expects(slot, ahead.id);
            return true;
        }
        let device = ahead.home.device_of(key.block());
        let class = self.memory.class_of_prefetched(key, device, ahead.access);
        let Some(slot) = self.assign(key, class, OTHERS, out) else { return false };
        self.memory.is_ahead(slot);
        self.storage.counters(device).prefetched += 1;
        self.runs.append_to_piece(key, ahead.home.begins_unit(key.block()), apart);
        true
    }
}
