//! Told lists: what readers said that they will read, in order.
//!
//! The room knows places in lists and names of blocks, and no frame. It answers whether a read is
//! one that a list names, which item is fetched next, and which of the kept blocks is used last.
//!
//! A list is an order with a cursor. A reader of the blocks that it names moves the cursor, past
//! entries that nobody reads as well (`list`). So nothing is fetched for a list that nobody
//! follows.
//!
//! The room holds a window of each list: the driver has the rest, and tells it as the cursor moves.
//! All windows together have at most one item for four frames, and 1,024 at least; an item is up to
//! 64 blocks of a file, and takes about 80 bytes.

mod list;
#[cfg(test)]
mod twin;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::cmp::Reverse;

use list::{List, Next, chunks, mask};

use crate::devices::Device;
use crate::files::INITIAL_WINDOW;
use crate::types::{BlockKey, Extent, FileId, HandlerId, Instant, ToldId};

/// The most lists at a time. One more, and the one that was silent for longest is over.
const MOST_LISTS: usize = 256;

/// A read of a block that is here moves the cursor at most so many items behind the last one that
/// was looked at: else a second look at a block would use up its next place in the list. A read of
/// an absent one moves it to wherever the window names that.
const LEAP: u64 = 64;

/// An unread item this far behind every reader of its list is passed over; any behind them, if
/// those hold all that may be fetched ahead.
const SKIP: u64 = 64;

/// Requests under way for lists, on a device that does not serve more at once.
const MOST_REQUESTS: u32 = 64;

/// A list of which nothing was read for so long is asleep, in nanoseconds.
const SLEEP: u64 = 60_000_000_000;

/// A list is over if nothing was read of it for so long, in nanoseconds.
const OVER: u64 = 3_600_000_000_000;

/// Where a list names blocks of a chunk.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Place {
    file: u32,
    chunk: u32,
    list: ToldId,
    at: u64,
}

/// The lists.
pub(super) struct Told {
    lists: BTreeMap<ToldId, List>,
    /// Where blocks are named.
    index: BTreeSet<Place>,
    /// The most items of all lists together.
    most: usize,
    /// Blocks that were fetched ahead for lists, or are under way, and that nobody has read.
    ahead: u32,
    /// Blocks of a fetch for a list, a mean.
    piece: u32,
    /// References to blocks that lists name, and to others, when somebody looked last.
    own_references: u64,
    others: Others,
    /// Blocks whose lists do not need them any more: their frames are to be spent first.
    spent: Vec<BlockKey>,
    /// Whether there was no frame for what a list names next, when it was looked at last.
    short: bool,
}

/// The debt of lists to readers without one.
#[derive(Clone, Copy, Debug)]
struct Others {
    /// Their references when somebody looked last, and since when they have made no more.
    references: u64,
    since: Instant,
    /// References that were not paid for with a frame.
    credit: u64,
    /// How many a frame costs.
    price: u64,
}

/// A list may take a frame of others for so many references to blocks that they have made. Each of
/// these frames makes one of their reads miss, or none; a read has some 20 blocks, and one in 20
/// may miss.
const PRICE: u64 = 400;

/// Whenever they miss a block that had to go, the price doubles, up to so much. It falls with each
/// frame that is taken.
const HIGHEST_PRICE: u64 = PRICE * 256;

/// Others are idle if they have made no reference for so long, in nanoseconds.
const IDLE: u64 = 1_000_000_000;

/// An item to be fetched, and whose it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    pub(super) list: ToldId,
    next: Next,
}

impl Wanted {
    /// Its blocks, from the first to the last that nobody has read.
    pub(super) fn extent(&self) -> Extent {
        self.next.extent()
    }

    /// Whether nobody has read a block since it was told.
    pub(super) fn names(&self, block: u32) -> bool {
        self.next.names(block)
    }

    /// How many items lie between it and its reader.
    fn distance(&self) -> u64 {
        self.next.distance
    }

    /// How many lie between it and the last of the list's readers.
    pub(super) fn used_in(&self) -> u64 {
        self.next.used_in
    }
}

/// The state of a told list, in blocks where nothing else is said.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ToldList {
    /// The list.
    pub list: ToldId,
    /// Extents that it was told.
    pub entries: u32,
    /// Extents that its readers have passed, read or not.
    pub passed: u32,
    /// Blocks that it was told.
    pub told: u64,
    /// Blocks that were read since.
    pub read: u64,
    /// Blocks that were fetched ahead for it.
    pub fetched: u64,
    /// Blocks that were fetched ahead for it, and given up unread.
    pub wasted: u64,
    /// Whether nobody has read any of it for long, so that nothing is fetched for it.
    pub asleep: bool,
}

impl Told {
    /// No list, in a cache of so many frames.
    pub(super) fn new(frames: u32) -> Told {
        Told {
            lists: BTreeMap::new(),
            index: BTreeSet::new(),
            most: (frames as usize / 4).max(1024),
            ahead: 0,
            piece: 0,
            own_references: 0,
            others: Others { references: 0, since: Instant(0), credit: 0, price: PRICE },
            spent: Vec::new(),
            short: false,
        }
    }

    /// Whether there is a list.
    #[inline(always)]
    pub(super) fn is_any(&self) -> bool {
        !self.lists.is_empty()
    }

    /// Whether somebody follows a list.
    pub(super) fn is_followed(&self) -> bool {
        self.lists.values().any(|list| !list.is_asleep())
    }

    /// Whether lists wait for frames.
    pub(super) fn is_short(&self) -> bool {
        self.short
    }

    /// Lists have been looked at, and wait for frames from now on, or not.
    pub(super) fn falls_short(&mut self, short: bool) {
        self.short = short;
    }

    /// How many items more a list may have.
    pub(super) fn room(&self, list: ToldId) -> u32 {
        let others = self.lists.len() + usize::from(!self.lists.contains_key(&list));
        let all = self.lists.values().map(List::len).sum::<usize>();
        let own = self.lists.get(&list).map_or(0, List::len);
        (self.most / others.max(1)).saturating_sub(own).min(self.most.saturating_sub(all)) as u32
    }

    /// A list is told an extent, behind its items. Blocks beyond all bounds are left out.
    pub(super) fn tells(&mut self, number: ToldId, extent: Extent, now: Instant) {
        if !self.lists.contains_key(&number) && self.lists.len() >= MOST_LISTS {
            let silent = self.lists.iter().min_by_key(|(_, list)| list.read_at());
            if let Some(silent) = silent.map(|(&number, _)| number) {
                self.clears(silent);
            }
        }
        let all = self.lists.values().map(List::len).sum::<usize>();
        let list = self.lists.entry(number).or_insert_with(|| List::new(now));
        list.begins_entry();
        // Twice what the driver is asked for: an extent may be long.
        for chunk in chunks(extent).take((self.most * 2).saturating_sub(all)) {
            let at = list.append(extent.file, chunk, mask(extent, chunk));
            self.index.insert(Place { file: extent.file.0, chunk, list: number, at });
        }
    }

    /// A list is over.
    pub(super) fn clears(&mut self, number: ToldId) {
        let Some(list) = self.lists.remove(&number) else { return };
        let (index, spent) = (&mut self.index, &mut self.spent);
        list.dissolve(|at, file, chunk, kept| {
            index.remove(&Place { file: file.0, chunk, list: number, at });
            spent.extend(kept);
        });
    }

    /// Where lists name blocks of a chunk, each list in its order.
    fn places(&self, file: FileId, chunk: u32) -> impl Iterator<Item = Place> {
        let place = |list, at| Place { file: file.0, chunk, list, at };
        self.index.range(place(ToldId(0), 0)..=place(ToldId(u32::MAX), u64::MAX)).copied()
    }

    /// A handler reads an extent, which begins `absent` or not. Whether a list names any of it:
    /// each that does moves on.
    pub(super) fn is_read(&mut self, extent: Extent, handler: HandlerId, absent: bool, now: Instant) -> bool {
        let (mut named, leap) = (false, if absent { u64::MAX } else { LEAP });
        if extent.is_empty() {
            return named;
        }
        for chunk in chunks(extent) {
            let bits = mask(extent, chunk);
            let places: Vec<Place> = self.places(extent.file, chunk).collect();
            // Each list has its first mention of a block read, and no other.
            let mut left = (None, bits);
            for Place { list: number, at, .. } in places {
                if left.0 != Some(number) {
                    left = (Some(number), bits);
                }
                let Some(list) = self.lists.get_mut(&number) else { continue };
                if at <= list.reach().saturating_add(leap) {
                    let read = list.is_read(at, left.1, handler, now);
                    left.1 &= !read;
                    named |= read != 0;
                }
            }
        }
        if named {
            self.own_references += u64::from(extent.len);
            self.trim(SKIP);
        }
        named
    }

    /// Lists pass over what they have waited for until now. Whether that had blocks.
    pub(super) fn hurries(&mut self) -> bool {
        self.trim(0);
        !self.spent.is_empty()
    }

    /// Forgets what its readers have passed.
    fn trim(&mut self, skip: u64) {
        let lag = self.most as u64 / 2;
        for (&number, list) in &mut self.lists {
            let (index, spent) = (&mut self.index, &mut self.spent);
            list.trim(lag, skip, |at, file, chunk, kept| {
                index.remove(&Place { file: file.0, chunk, list: number, at });
                spent.extend(kept);
            });
        }
    }

    /// Lists that nobody has read for long fall asleep, or are over.
    pub(super) fn looks(&mut self, now: Instant) {
        let silent = |list: &List, long: u64| now.since(list.read_at()) > long;
        let over: Vec<ToldId> = self.lists.iter().filter(|(_, list)| silent(list, OVER)).map(|(&it, _)| it).collect();
        over.into_iter().for_each(|list| self.clears(list));
        for list in self.lists.values_mut().filter(|list| !list.is_asleep() && silent(list, SLEEP)) {
            self.spent.extend(list.falls_asleep());
        }
    }

    /// A block whose list does not need it any more, if there is one.
    pub(super) fn spends(&mut self) -> Option<BlockKey> {
        self.spent.pop()
    }

    /// A block is here, or on its way: whether a list names it, which keeps it from now on.
    pub(super) fn keeps(&mut self, key: BlockKey) -> bool {
        let (chunk, bits) = place_of(key);
        let least = self.places(key.file(), chunk).filter(|place| self.names(place, bits)).min_by_key(|place| place.at);
        let Some(Place { list, at, .. }) = least else { return false };
        if let Some(list) = self.lists.get_mut(&list) {
            list.keeps(at, bits);
        }
        true
    }

    fn names(&self, place: &Place, bits: u64) -> bool {
        self.lists.get(&place.list).is_some_and(|list| !list.is_asleep() && list.names(place.at, bits))
    }

    /// The list that keeps a block, and where.
    fn keeper(&self, key: BlockKey) -> Option<Place> {
        let (chunk, bits) = place_of(key);
        self.places(key.file(), chunk)
            .find(|place| self.lists.get(&place.list).is_some_and(|it| it.has(place.at, bits)))
    }

    /// Whether a list keeps a block.
    pub(super) fn is_kept(&self, key: BlockKey) -> bool {
        self.keeper(key).is_some()
    }

    /// No list keeps a block any more. If it was `unread`, it is wasted.
    pub(super) fn lets_go(&mut self, key: BlockKey, unread: bool) {
        let Some(Place { list, at, .. }) = self.keeper(key) else { return };
        if let Some(list) = self.lists.get_mut(&list) {
            list.lets_go(at, place_of(key).1);
            list.tally.wasted += u64::from(unread);
        }
    }

    /// A block that is fetched for a list does not come: its item is not looked at again, also if
    /// there was no room for all of it. A storage that fails would be asked for ever.
    pub(super) fn does_not_come(&mut self, key: BlockKey) {
        let Some(Place { list, at, .. }) = self.keeper(key) else { return };
        if let Some(list) = self.lists.get_mut(&list) {
            list.examines(at);
        }
    }

    /// The item to look at next, of a list that is not in `busy`.
    pub(super) fn next(&mut self, busy: &[ToldId]) -> Option<Wanted> {
        let lists = self.lists.iter_mut().filter(|(number, _)| !busy.contains(number));
        let wanted = lists.filter_map(|(&list, of)| Some(Wanted { list, next: of.next()? }));
        wanted.min_by_key(Wanted::distance)
    }

    /// The item behind one, if it goes on with the same file and was not looked at.
    pub(super) fn behind(&self, wanted: &Wanted) -> Option<Wanted> {
        let next = self.lists.get(&wanted.list)?.behind(wanted.next.at)?;
        let (before, behind) = (wanted.extent(), next.extent());
        (behind.file == before.file && behind.start == before.end()).then_some(Wanted { next, ..*wanted })
    }

    /// An item was looked at.
    pub(super) fn examines(&mut self, wanted: &Wanted) {
        if let Some(list) = self.lists.get_mut(&wanted.list) {
            list.examines(wanted.next.at);
        }
    }

    /// A block is fetched for the list of an item.
    pub(super) fn fetches(&mut self, wanted: &Wanted, key: BlockKey) {
        self.ahead += 1;
        if let Some(list) = self.lists.get_mut(&wanted.list) {
            list.keeps(wanted.next.at, place_of(key).1);
            list.tally.fetched += 1;
        }
    }

    /// A fetch of so many blocks is issued for a list.
    pub(super) fn issues(&mut self, blocks: u32) {
        self.piece = if self.piece == 0 { blocks } else { self.piece - self.piece / 8 + blocks.div_ceil(8) };
    }

    /// A block that was fetched ahead, for whomever, is kept for a list, and nobody has read it.
    pub(super) fn is_ahead(&mut self) {
        self.ahead += 1;
    }

    /// A block that was fetched ahead is so no longer: somebody wants it, it is spent or does not
    /// come.
    pub(super) fn is_ahead_no_longer(&mut self) {
        debug_assert!(self.ahead > 0, "more blocks are read than were fetched ahead");
        self.ahead = self.ahead.saturating_sub(1);
    }

    /// Blocks fetched ahead that nobody has read.
    pub(super) fn ahead(&self) -> u32 {
        self.ahead
    }

    /// How many requests under way keep a device busy on which a switch is worth so many blocks:
    /// switch cost × rate × channels, and what is being transferred. The switch cost counts twice:
    /// it is a median, and answers come unevenly. Requests that wait for one arm do not come sooner
    /// for being many.
    pub(super) fn at_once(&self, device: &Device, worth_a_switch: u32) -> u32 {
        let (channels, piece) = (device.cost.channels.max(1), self.piece.max(1));
        if device.seeks() {
            return channels;
        }
        let busy = u64::from(channels) * (2 * u64::from(worth_a_switch) + u64::from(piece)) / u64::from(piece);
        u32::try_from(busy).unwrap_or(u32::MAX).min(channels.max(MOST_REQUESTS))
    }

    /// Enough blocks ahead for a device with so many requests under way: what comes with these, and
    /// as much again that is being read.
    pub(super) fn depth(&self, at_once: u32) -> u32 {
        at_once.saturating_mul(2).saturating_mul(self.piece.max(INITIAL_WINDOW))
    }

    /// The kept blocks, farthest next use first, list by list, down to those that are used in so
    /// many items.
    pub(super) fn farthest(&self, beyond: u64) -> impl Iterator<Item = BlockKey> {
        let farthest = |list: &List| list.farthest().next().map_or(0, |(_, distance, _)| distance);
        let mut lists: Vec<&List> = self.lists.values().collect();
        lists.sort_by_key(|list| Reverse(farthest(list)));
        let later = move |&(_, distance, _): &(u64, u64, BlockKey)| distance >= beyond;
        lists.into_iter().flat_map(move |list| list.farthest().take_while(later)).map(|(_, _, key)| key)
    }

    /// Whether a list may have a frame that others had, who have made so many references in all,
    /// lists' own included.
    pub(super) fn may_take(&mut self, references: u64, now: Instant) -> bool {
        let made = references.saturating_sub(self.own_references);
        let new = made.saturating_sub(self.others.references);
        if new > 0 {
            self.others.credit = self.others.credit.saturating_add(new).min(HIGHEST_PRICE);
            (self.others.references, self.others.since) = (made, now);
        }
        self.others.credit >= self.others.price || now.since(self.others.since) > IDLE
    }

    /// When lists that wait for frames may take those of others, since these are idle by then,
    /// unless they have made references meanwhile. `None` if no list waits for that at `now`.
    pub(super) fn deadline(&self, now: Instant) -> Option<Instant> {
        let idle = self.others.since.plus(IDLE + 1);
        (self.short && now < idle).then_some(idle)
    }

    /// A list has taken a frame that others had.
    pub(super) fn takes(&mut self) {
        let Others { credit, price, .. } = &mut self.others;
        *credit = credit.saturating_sub(*price);
        *price = (*price - *price / 16).max(PRICE);
    }

    /// Others miss a block that had to go a short while ago.
    pub(super) fn regrets(&mut self) {
        self.others.price = (self.others.price * 2).min(HIGHEST_PRICE);
    }

    /// The lists.
    pub(super) fn views(&self) -> Vec<ToldList> {
        let view = |(&number, list): (&ToldId, &List)| ToldList {
            list: number,
            entries: list.entries(),
            passed: list.passed(),
            told: list.tally.told,
            read: list.tally.read,
            fetched: list.tally.fetched,
            wasted: list.tally.wasted,
            asleep: list.is_asleep(),
        };
        self.lists.iter().map(view).collect()
    }

    /// The bytes of bookkeeping.
    pub(super) fn footprint(&self) -> usize {
        self.index.len() * 80 + self.lists.len() * size_of::<List>()
    }

    /// The blocks that lists keep.
    pub(super) fn kept(&self) -> impl Iterator<Item = BlockKey> {
        self.lists.values().flat_map(|list| list.farthest().map(|(_, _, key)| key))
    }

    /// Panics unless its books agree. For tests.
    pub(super) fn check(&self) {
        self.lists.values().for_each(List::check);
        let items: usize = self.lists.values().map(List::len).sum();
        assert_eq!(items, self.index.len(), "items that the index knows");
        assert!(self.spent.is_empty(), "blocks that are neither kept nor spent");
    }
}

/// The chunk of a block, and its bit there.
fn place_of(key: BlockKey) -> (u32, u64) {
    let extent = Extent { file: key.file(), start: key.block(), len: 1 };
    let chunk = key.block() / list::SPAN;
    (chunk, mask(extent, chunk))
}
