//! A place is followed again by the one that followed it last time: starts of containers, the
//! headers of a build, the footer and the columns of a table (MITHRIL, SoCC 2017, and FlacIO, FAST
//! 2025, find the same).
//!
//! A *place* is a run of blocks that a reader takes one after another. Places are linked in the
//! order in which a reader came to them last, so that each stands in one list:
//!
//! ```text
//!     last time    a → b → c → d → e → f
//!     now          a   b   d                 b, d were expected: e, f are fetched ahead
//!     from now on  a → b → d → …             c is left out until somebody comes to it again
//! ```
//!
//! A reader that comes to a place among those that were expected doubles the number of places that
//! are fetched ahead for it; one that comes to another place starts anew. So at most about as much
//! is fetched in vain as was right before. The table has a fixed size. A place whose cell is wanted
//! by another one goes if it has not been read since it was passed over before.

use alloc::vec;
use alloc::vec::Vec;
use core::mem::size_of;

use crate::explain::Elsewhere;
use crate::seams::Visit;
use crate::types::{BlockKey, Extent, FileId, HandlerId};

/// Readers that are known at a time; one more takes the place of another.
const READERS: usize = 256;
/// Among so many cells a place may lie.
const WAYS: usize = 4;
/// A reader that leaves out fewer places than this goes on with the list.
const LEFT_OUT: u32 = 8;
/// No place is linked here.
const NOWHERE: u32 = u32::MAX;

/// A place, and what was read before and after it last time.
#[derive(Clone, Copy, Debug)]
struct Place {
    key: BlockKey,
    /// Blocks; zero in a cell that is free.
    len: u32,
    before: u32,
    after: u32,
    /// Whether it was read since it was passed over.
    used: bool,
}

const FREE: Place = Place { key: BlockKey::new(FileId(0), 0), len: 0, before: NOWHERE, after: NOWHERE, used: false };

/// A reader on its way.
#[derive(Clone, Copy, Debug)]
struct Reader {
    handler: HandlerId,
    /// The place that it reads.
    at: u32,
    /// The end of what it read there.
    end: BlockKey,
    /// How many places are fetched ahead.
    depth: u32,
    /// When it came to its last place that had been expected, by [`Sequel::turns`].
    turn: u32,
}

/// Places in the order in which they were read last.
#[derive(Clone, Debug)]
pub(super) struct Sequel {
    places: Vec<Place>,
    readers: Vec<Option<Reader>>,
    /// Places that readers came to, and that had been expected.
    turns: u32,
}

impl Sequel {
    /// For so many places, about.
    pub(super) fn new(places: u32) -> Sequel {
        let cells = (places as usize / WAYS).next_power_of_two() * WAYS;
        Sequel { places: vec![FREE; cells], readers: vec![None; READERS], turns: 0 }
    }

    /// A read; appends the places that followed it last time, if its reader goes the same way.
    pub(super) fn follow(&mut self, visit: &Visit<'_>, next: &mut Vec<Extent>) {
        let Extent { file, start, .. } = visit.read;
        let (first, end) = (BlockKey::new(file, start), BlockKey::new(file, visit.read.end()));
        let seat = visit.handler.0 as usize % READERS;
        let reader = self.readers[seat].filter(|reader| reader.handler == visit.handler);
        if let Some(mut reader) = reader
            && self.reads_on(&mut reader, first, end, visit.piece)
        {
            self.readers[seat] = Some(reader);
            return;
        }
        let depth = reader.map_or(0, |reader| self.depth(&reader, first));
        let at = self.place(first, visit.read.len.min(visit.piece));
        if let Some(reader) = reader {
            self.link(reader.at, at);
        }
        let depth = depth.min(visit.abreast());
        // The others came to about one place each since this one's last: the room is for all.
        self.turns = self.turns.wrapping_add(u32::from(depth > 0));
        let readers = reader.map_or(1, |reader| self.turns.wrapping_sub(reader.turn)).max(1);
        self.readers[seat] = Some(Reader { handler: visit.handler, at, end, depth, turn: self.turns });
        self.expect(at, depth, &Visit { room: visit.room / readers, ..*visit }, next);
    }

    /// Whether the reader takes more of the place where it is.
    fn reads_on(&mut self, reader: &mut Reader, first: BlockKey, end: BlockKey, longest: u32) -> bool {
        let Some(place) = self.places.get_mut(reader.at as usize) else { return false };
        let same = first.file() == place.key.file() && place.key <= first && first <= reader.end;
        if same {
            reader.end = reader.end.max(end);
            let blocks = reader.end.block().saturating_sub(place.key.block());
            place.len = place.len.max(blocks.min(longest));
        }
        same
    }

    /// How many places are fetched ahead of a reader that comes to `key`.
    fn depth(&self, reader: &Reader, key: BlockKey) -> u32 {
        let mut at = reader.at;
        for _ in 0..LEFT_OUT {
            let Some(after) = self.after(at) else { return 0 };
            if self.places[after as usize].key == key {
                return (reader.depth * 2).max(2);
            }
            at = after;
        }
        0
    }

    /// The place after another, if they still stand together.
    fn after(&self, at: u32) -> Option<u32> {
        let after = self.places.get(at as usize)?.after;
        self.places.get(after as usize).filter(|place| place.before == at && place.len > 0)?;
        Some(after)
    }

    /// The cell of a place, which is known from now on.
    fn place(&mut self, key: BlockKey, len: u32) -> u32 {
        let sets = self.places.len() / WAYS;
        let set = (crate::random::hash(key.raw()) as usize & (sets - 1)) * WAYS;
        let cells = &mut self.places[set..set + WAYS];
        if let Some(way) = cells.iter().position(|place| place.len > 0 && place.key == key) {
            cells[way].used = true;
            cells[way].len = cells[way].len.max(len);
            return (set + way) as u32;
        }
        // Second chance, from a way that goes by the key.
        let from = key.block() as usize % WAYS;
        let turn = |step: usize| (from + step) % WAYS;
        let free = (0..WAYS).map(turn).find(|&way| cells[way].len == 0 || !cells[way].used);
        let way = free.unwrap_or(from);
        cells.iter_mut().for_each(|place| place.used = false);
        cells[way] = Place { key, len: len.max(1), used: true, ..FREE };
        (set + way) as u32
    }

    /// A reader came from one place to another.
    fn link(&mut self, from: u32, to: u32) {
        if from != to {
            self.places[from as usize].after = to;
            self.places[to as usize].before = from;
        }
    }

    /// Appends so many places that come after `at`.
    fn expect(&self, at: u32, depth: u32, visit: &Visit<'_>, next: &mut Vec<Extent>) {
        let (mut at, mut room) = (at, visit.room);
        for _ in 0..depth {
            let Some(after) = self.after(at) else { return };
            let Place { key, len, .. } = self.places[after as usize];
            let Some(left) = room.checked_sub(len) else { return };
            if let Some(blocks) = (visit.length)(key.file()) {
                let end = key.block().saturating_add(len).min(blocks);
                next.push(Extent::between(key.file(), key.block(), end));
            }
            (at, room) = (after, left);
        }
    }

    /// Whether a reader that is in a file goes the way of the last one, and some places are fetched
    /// ahead for it.
    pub(super) fn explain(&self, handler: HandlerId, file: FileId) -> Option<Elsewhere> {
        let reader = self.readers[handler.0 as usize % READERS].filter(|reader| reader.handler == handler)?;
        let there = reader.end.file() == file && reader.depth > 0;
        there.then_some(Elsewhere::Sequel { ahead: reader.depth })
    }

    /// The bytes that it takes.
    pub(super) fn footprint(&self) -> usize {
        self.places.len() * size_of::<Place>() + self.readers.len() * size_of::<Option<Reader>>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::DeviceId;

    /// The fetches ahead when `handler` reads a block of a file of so many.
    fn read(sequel: &mut Sequel, handler: u32, blocks: u32, start: u32) -> Vec<Extent> {
        let mut next = Vec::new();
        let visit = Visit {
            handler: HandlerId(handler),
            read: Extent { file: FileId(1), start, len: 1 },
            missed: true,
            blocks,
            device: DeviceId::default(),
            channels: 16,
            room: 64,
            piece: 100,
            in_stream: false,
            length: &|_| Some(blocks),
        };
        sequel.follow(&visit, &mut next);
        next
    }

    /// The first blocks of the fetches ahead at the last of these reads, of one block each.
    fn reads(sequel: &mut Sequel, handler: u32, starts: &[u32]) -> Vec<u32> {
        let last = starts.iter().fold(Vec::new(), |_, &start| read(sequel, handler, 1000, start));
        last.iter().map(|extent| extent.start).collect()
    }

    const START: [u32; 8] = [500, 20, 310, 70, 800, 640, 90, 250];

    #[test]
    fn a_reader_that_goes_the_same_way_has_more_and_more_ahead() {
        let mut sequel = Sequel::new(64);
        assert_eq!(reads(&mut sequel, 1, &START), []);
        assert_eq!(reads(&mut sequel, 2, &START[..1]), [], "one place may be chance");
        assert_eq!(reads(&mut sequel, 2, &START[1..2]), START[2..4]);
        assert_eq!(reads(&mut sequel, 2, &START[2..3]), START[3..7]);
    }

    #[test]
    fn places_left_out_or_swapped_do_no_harm() {
        let mut sequel = Sequel::new(64);
        reads(&mut sequel, 1, &START);
        assert_eq!(reads(&mut sequel, 2, &[500, 20, 70]), [800, 640, 90, 250], "310 is left out");
        let mut sequel = Sequel::new(64);
        reads(&mut sequel, 1, &START);
        reads(&mut sequel, 2, &[500, 20, 70, 310, 800, 640]);
        assert_eq!(reads(&mut sequel, 3, &[500, 20, 310]), [800, 640, 90, 250], "by the second time");
    }

    #[test]
    fn another_way_starts_anew() {
        let mut sequel = Sequel::new(64);
        reads(&mut sequel, 1, &START);
        assert_eq!(reads(&mut sequel, 2, &[500, 20, 310, 999, 70]), []);
        assert!(!reads(&mut sequel, 2, &[800]).is_empty(), "from where the ways meet again");
    }

    #[test]
    fn a_place_is_as_long_as_it_was_read() {
        let mut sequel = Sequel::new(64);
        for handler in 1..3 {
            for start in [10, 11, 12, 50, 51, 90] {
                let next = read(&mut sequel, handler, 91, start);
                if handler == 2 && start == 50 {
                    assert_eq!(next, [Extent { file: FileId(1), start: 90, len: 1 }]);
                }
            }
        }
        let at = sequel.places.iter().find(|place| place.len > 0 && place.key.block() == 10).unwrap();
        assert_eq!(at.len, 3);
    }

    /// However many places there are, and of however many readers.
    #[test]
    fn memory_is_bounded() {
        let mut sequel = Sequel::new(64);
        let before = sequel.footprint();
        for at in 0..10_000u32 {
            reads(&mut sequel, at % 999, &[at * 7 % 991]);
        }
        assert_eq!(sequel.footprint(), before);
    }
}
