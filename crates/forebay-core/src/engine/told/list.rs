//! One told list: its items in order, and where its readers are.
//!
//! ```text
//!   base          head a    head b       front of a and b         end
//!    ▼              ▼         ▼                  ▼                  ▼
//!   ░░░░░▓░░░░░░░░░░▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒                  │
//!        └ passed over        └ fetched ahead ──┘  not looked at yet
//! ```
//!
//! Each handler that reads what the list names has a head of its own. Workers that take the next
//! entry from one pool have heads side by side, and their parts ahead are one. Workers that each
//! have a batch have heads far apart, and the requests ahead are dealt among these.

use alloc::collections::{BTreeSet, VecDeque};
use alloc::vec::Vec;

use crate::types::{BlockKey, Extent, FileId, HandlerId, Instant};

/// The blocks of an item: at most so many, from a multiple of it on.
pub(super) const SPAN: u32 = 64;

/// Readers of a list that are told apart.
const MOST_HEADS: usize = 64;

/// Some blocks of a file that the list names at one place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    file: FileId,
    /// Its blocks begin at this many times [`SPAN`].
    chunk: u32,
    /// The blocks that nobody has read since they were told, as bits.
    left: u64,
    /// The blocks that are kept, or under way, for this item.
    here: u64,
    /// Which of the extents told it is of.
    entry: u32,
    /// Whether it was looked at, and what it lacks was fetched.
    examined: bool,
}

impl Item {
    fn key(&self, bit: u32) -> BlockKey {
        BlockKey::new(self.file, self.chunk * SPAN + bit)
    }

    /// The blocks of a mask.
    fn keys(self, mask: u64) -> impl Iterator<Item = BlockKey> {
        (0..SPAN).filter(move |bit| mask >> bit & 1 == 1).map(move |bit| self.key(bit))
    }
}

/// The blocks of an extent that lie in one chunk, as bits.
pub(super) fn mask(extent: Extent, chunk: u32) -> u64 {
    let first = u64::from(chunk) * u64::from(SPAN);
    let start = u64::from(extent.start).max(first) - first;
    let end = (u64::from(extent.start) + u64::from(extent.len)).min(first + u64::from(SPAN)).saturating_sub(first);
    match end.saturating_sub(start) {
        0 => 0,
        len => (u64::MAX >> (64 - len)) << start,
    }
}

/// The chunks of an extent that is not empty.
pub(super) fn chunks(extent: Extent) -> impl Iterator<Item = u32> {
    let last = extent.start.saturating_add(extent.len.saturating_sub(1));
    extent.start / SPAN..=last / SPAN
}

/// Where a handler is.
#[derive(Clone, Copy, Debug)]
struct Head {
    /// `None` before anybody reads.
    handler: Option<HandlerId>,
    /// The item behind the one that it read last.
    at: u64,
    /// The item up to which everything was looked at.
    front: u64,
}

/// The fate of what a list named, in blocks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    pub(super) told: u64,
    pub(super) read: u64,
    pub(super) fetched: u64,
    pub(super) wasted: u64,
}

/// A told list.
#[derive(Debug)]
pub(super) struct List {
    /// The place of the first item that is still known.
    base: u64,
    items: VecDeque<Item>,
    heads: Vec<Head>,
    /// Places of items that have blocks here.
    here: BTreeSet<u64>,
    /// How many extents it was told.
    entries: u32,
    /// When an entry was read last; when it was told, before that.
    read_at: Instant,
    /// Whether nobody has read it for long.
    asleep: bool,
    pub(super) tally: Tally,
}

impl List {
    pub(super) fn new(now: Instant) -> List {
        List {
            base: 0,
            items: VecDeque::new(),
            heads: alloc::vec![Head { handler: None, at: 0, front: 0 }],
            here: BTreeSet::new(),
            entries: 0,
            read_at: now,
            asleep: false,
            tally: Tally::default(),
        }
    }

    /// Items that are known.
    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    /// How many extents it was told.
    pub(super) fn entries(&self) -> u32 {
        self.entries
    }

    /// How many of these its readers have passed.
    pub(super) fn passed(&self) -> u32 {
        let at = self.least();
        self.items.get((at - self.base) as usize).map_or(self.entries, |item| item.entry)
    }

    /// Whether nobody has read it for long.
    pub(super) fn is_asleep(&self) -> bool {
        self.asleep
    }

    /// When an entry of it was read last.
    pub(super) fn read_at(&self) -> Instant {
        self.read_at
    }

    /// Another extent is told. Its items come with [`append`](Self::append).
    pub(super) fn begins_entry(&mut self) {
        self.entries = self.entries.wrapping_add(1);
    }

    /// Appends blocks of a chunk to the extent told last. Returns their place.
    pub(super) fn append(&mut self, file: FileId, chunk: u32, left: u64) -> u64 {
        let entry = self.entries.wrapping_sub(1);
        self.items.push_back(Item { file, chunk, left, here: 0, entry, examined: false });
        self.tally.told += u64::from(left.count_ones());
        self.base + self.items.len() as u64 - 1
    }

    fn item(&self, at: u64) -> Option<&Item> {
        self.items.get(usize::try_from(at.checked_sub(self.base)?).ok()?)
    }

    fn item_mut(&mut self, at: u64) -> Option<&mut Item> {
        self.items.get_mut(usize::try_from(at.checked_sub(self.base)?).ok()?)
    }

    /// Whether an item names a block of a mask that nobody has read since.
    pub(super) fn names(&self, at: u64, mask: u64) -> bool {
        self.item(at).is_some_and(|item| item.left & mask != 0)
    }

    /// Whether a block of a mask is kept for an item.
    pub(super) fn has(&self, at: u64, mask: u64) -> bool {
        self.item(at).is_some_and(|item| item.here & mask != 0)
    }

    /// The blocks of a mask are kept for an item from now on.
    pub(super) fn keeps(&mut self, at: u64, mask: u64) {
        if let Some(item) = self.item_mut(at) {
            item.here |= mask;
            self.here.insert(at);
        }
    }

    /// They are so no longer.
    pub(super) fn lets_go(&mut self, at: u64, mask: u64) {
        let Some(item) = self.item_mut(at) else { return };
        item.here &= !mask;
        if item.here == 0 {
            self.here.remove(&at);
        }
    }

    /// How far behind the last item that was looked at a read is one of the list.
    pub(super) fn reach(&self) -> u64 {
        self.heads.iter().map(|head| head.front).max().unwrap_or(self.base)
    }

    /// A handler reads blocks of a mask. Says which of them an item names.
    pub(super) fn is_read(&mut self, at: u64, mask: u64, handler: HandlerId, now: Instant) -> u64 {
        let Some(item) = self.item_mut(at) else { return 0 };
        let read = item.left & mask;
        if read == 0 {
            return 0;
        }
        item.left &= !read;
        self.lets_go(at, read);
        self.tally.read += u64::from(read.count_ones());
        (self.read_at, self.asleep) = (now, false);
        let next = at + 1;
        let known = self.heads.iter().position(|head| head.handler == Some(handler));
        let free = || self.heads.iter().position(|head| head.handler.is_none());
        match known.or_else(free) {
            Some(known) => {
                let head = &mut self.heads[known];
                let at = if head.handler.is_some() { head.at.max(next) } else { next };
                *head = Head { handler: Some(handler), at, front: head.front.max(next) };
            }
            None => {
                if self.heads.len() == MOST_HEADS {
                    self.drop_last_head();
                }
                self.heads.push(Head { handler: Some(handler), at: next, front: next });
            }
        }
        read
    }

    /// The head that is furthest behind is no more.
    fn drop_last_head(&mut self) {
        let last = (0..self.heads.len()).min_by_key(|&number| self.heads[number].at);
        if let Some(last) = last {
            self.heads.swap_remove(last);
        }
    }

    /// The place of the head that is furthest behind.
    fn least(&self) -> u64 {
        self.heads.iter().map(|head| head.at).min().unwrap_or(self.base).max(self.base)
    }

    /// Forgets items that were read, or are unread more than `skip` items behind every head (the
    /// one that a head is at apart), and heads that are `lag` items behind the first. Of the former
    /// says where they stood, and which blocks are still kept.
    pub(super) fn trim(&mut self, lag: u64, skip: u64, mut over: impl FnMut(u64, FileId, u32, Vec<BlockKey>)) {
        let furthest = self.heads.iter().map(|head| head.at).max().unwrap_or(0);
        if self.heads.len() > 1 {
            self.heads.retain(|head| head.at.saturating_add(lag) >= furthest);
        }
        let least = self.least();
        while let Some(&item) = self.items.front() {
            if self.base >= least || (item.left != 0 && self.base + skip.max(1) >= least) {
                return;
            }
            self.here.remove(&self.base);
            over(self.base, item.file, item.chunk, item.keys(item.here).collect());
            self.items.pop_front();
            self.base += 1;
        }
    }

    /// Everything that it knows, as [`trim`](Self::trim) says it.
    pub(super) fn dissolve(self, mut over: impl FnMut(u64, FileId, u32, Vec<BlockKey>)) {
        for (number, item) in self.items.iter().enumerate() {
            over(self.base + number as u64, item.file, item.chunk, item.keys(item.here).collect());
        }
    }

    /// Nobody has read it for long: nothing is fetched for it until somebody does. Says which
    /// blocks were kept for it.
    pub(super) fn falls_asleep(&mut self) -> Vec<BlockKey> {
        self.asleep = true;
        let mut kept = Vec::new();
        for item in &mut self.items {
            kept.extend(item.keys(item.here));
            (item.here, item.examined) = (0, false);
        }
        self.here.clear();
        self.heads.iter_mut().for_each(|head| head.front = head.at);
        kept
    }

    /// How far ahead of its readers it was looked at, and the item there; `None` if there is
    /// nothing to look at.
    pub(super) fn next(&mut self) -> Option<Next> {
        if self.asleep {
            return None;
        }
        let (base, end, least) = (self.base, self.base + self.items.len() as u64, self.least());
        let items = &self.items;
        for head in &mut self.heads {
            head.front = head.front.max(base);
            while head.front < end && items[(head.front - base) as usize].examined {
                head.front += 1;
            }
        }
        let open = self.heads.iter().filter(|head| head.front < end);
        let head = open.min_by_key(|head| head.front.saturating_sub(head.at))?;
        let item = items[(head.front - base) as usize];
        let distance = head.front.saturating_sub(head.at);
        let used_in = head.front.saturating_sub(least);
        Some(Next { at: head.front, file: item.file, chunk: item.chunk, left: item.left, distance, used_in })
    }

    /// The item behind another, if it was not looked at.
    pub(super) fn behind(&self, at: u64) -> Option<Next> {
        let item = self.item(at + 1).filter(|item| !item.examined)?;
        let used_in = (at + 1).saturating_sub(self.least());
        Some(Next { at: at + 1, file: item.file, chunk: item.chunk, left: item.left, distance: used_in, used_in })
    }

    /// An item was looked at.
    pub(super) fn examines(&mut self, at: u64) {
        if let Some(item) = self.item_mut(at) {
            item.examined = true;
        }
    }

    /// The kept blocks whose use is farthest, those of one item at a time, and how far that is.
    pub(super) fn farthest(&self) -> impl Iterator<Item = (u64, u64, BlockKey)> {
        let least = self.least();
        let items = self.here.iter().rev().filter_map(move |&at| Some((at, self.item(at)?)));
        items.flat_map(move |(at, item)| {
            let distance = at.saturating_sub(least);
            (0..SPAN).rev().filter(|bit| item.here >> bit & 1 == 1).map(move |bit| (at, distance, item.key(bit)))
        })
    }

    /// Panics unless its books agree. For tests.
    pub(super) fn check(&self) {
        for (number, item) in self.items.iter().enumerate() {
            let at = self.base + number as u64;
            assert_eq!(item.here != 0, self.here.contains(&at), "item {at} is among those that have blocks here");
        }
        assert!(self.here.len() <= self.items.len(), "items that are no more have blocks here");
    }
}

/// An item that is to be looked at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Next {
    pub(super) at: u64,
    file: FileId,
    chunk: u32,
    left: u64,
    /// How many items lie between it and its reader.
    pub(super) distance: u64,
    /// How many lie between it and the last of the list's readers, as [`farthest`](List::farthest)
    /// counts.
    pub(super) used_in: u64,
}

impl Next {
    /// From its first block to its last that nobody has read.
    pub(super) fn extent(&self) -> Extent {
        let first = self.chunk * SPAN;
        let (start, end) = (self.left.trailing_zeros().min(SPAN), SPAN - self.left.leading_zeros().min(SPAN));
        Extent::between(self.file, first + start, first + end)
    }

    /// Whether nobody has read a block of it.
    pub(super) fn names(&self, block: u32) -> bool {
        block / SPAN == self.chunk && self.left >> (block % SPAN) & 1 == 1
    }
}
