//! A place is followed again by the one that followed it last time: starts of containers, the
//! headers of a build, the footer and the columns of a table (MITHRIL, SoCC 2017, and FlacIO, FAST
//! 2025, find the same).
//!
//! A *place* is a run of blocks that a reader takes one after another. Places are linked in the
//! order in which a reader came to them last, so that each stands in one list, a *way*:
//!
//! ```text
//!     the way      a → b → c → d → e → f → g → h
//!     a reader     a   b   d                  b, d were expected: e, f, g, h are fetched ahead
//!     then         c   e                      c came late, which is no other way
//!     then         x   f                      x stands before f from now on
//! ```
//!
//! A reader that comes to a place soon on its way doubles the number of places that are fetched
//! ahead for it; one that comes to a place elsewhere halves it, and one that does so twice begins
//! anew. So at most about as much is fetched in vain as was right before. A place that two readers
//! in turn left out goes from the way. The table has a fixed size. A place whose cell is wanted by
//! another one goes if it has not been read since it was passed over before.

use alloc::vec;
use alloc::vec::Vec;
use core::mem::size_of;

use crate::explain::Elsewhere;
use crate::seams::Visit;
use crate::types::{BlockKey, Extent, FileId, HandlerId};

/// Readers that are known at a time; one more takes the place of another.
const READERS: usize = 256;
/// Among so many cells a place may lie.
const WAYS: usize = 8;
/// A reader that leaves out fewer places than this goes on with the list.
const LEFT_OUT: usize = 8;
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
    /// Whether it was read since its cell was wanted by another one.
    used: bool,
    /// Whether the last reader that came by left it out.
    left_out: bool,
}

const FREE: Place =
    Place { key: BlockKey::new(FileId(0), 0), len: 0, before: NOWHERE, after: NOWHERE, used: false, left_out: false };

/// A reader on its way.
#[derive(Clone, Copy, Debug)]
struct Reader {
    handler: HandlerId,
    /// The place that it reads, and the end of what it read there.
    reads: u32,
    end: BlockKey,
    /// The farthest place on its way.
    at: u32,
    /// A place that it came to from there, and that is not on the way; or [`NOWHERE`].
    stray: u32,
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
        let mut known = self.readers[seat].filter(|reader| reader.handler == visit.handler);
        if !known.as_mut().is_some_and(|reader| self.reads_on(reader, first, end, visit.piece)) {
            let reads = self.place(first, visit.read.len.min(visit.piece));
            let begun =
                Reader { handler: visit.handler, reads, end, at: reads, stray: NOWHERE, depth: 0, turn: self.turns };
            known = Some(known.map_or(begun, |reader| self.comes(Reader { reads, end, ..reader }, visit, next)));
        }
        self.readers[seat] = known;
    }

    /// A reader comes to a place; appends the places that follow, if it goes on its way.
    fn comes(&mut self, mut reader: Reader, visit: &Visit<'_>, next: &mut Vec<Extent>) -> Reader {
        if self.is_further(&mut reader) {
            reader.depth = reader.depth.min(visit.abreast());
            // The others came to about one place each since this one's last: the room is for all.
            self.turns = self.turns.wrapping_add(1);
            let readers = self.turns.wrapping_sub(core::mem::replace(&mut reader.turn, self.turns)).max(1);
            self.expect(reader.at, reader.depth, &Visit { room: visit.room / readers, ..*visit }, next);
        }
        reader
    }

    /// Whether the reader takes more of the place where it is.
    fn reads_on(&mut self, reader: &mut Reader, first: BlockKey, end: BlockKey, longest: u32) -> bool {
        let Some(place) = self.places.get_mut(reader.reads as usize) else { return false };
        let same = first.file() == place.key.file() && place.key <= first && first <= reader.end;
        if same {
            reader.end = reader.end.max(end);
            let blocks = reader.end.block().saturating_sub(place.key.block());
            place.len = place.len.max(blocks.min(longest));
        }
        same
    }

    /// Whether the place that a reader comes to is further on its way, and what that changes.
    fn is_further(&mut self, reader: &mut Reader) -> bool {
        let place = reader.reads;
        let stray = core::mem::replace(&mut reader.stray, NOWHERE);
        let was_left_out = core::mem::take(&mut self.places[place as usize].left_out);
        let other_way = self.goes_on(stray, place);
        let further = other_way || self.goes_on(reader.at, place);
        if further {
            if !other_way {
                self.insert(stray, place);
            }
            (reader.at, reader.depth) = (place, (reader.depth * 2).max(2));
        } else if was_left_out && self.is_behind(reader.at, place) {
            // It comes later than last time.
        } else if stray != NOWHERE || self.after(reader.at).is_none() {
            self.link(reader.at, stray);
            self.link(if stray == NOWHERE { reader.at } else { stray }, place);
            (reader.at, reader.depth) = (place, 0);
        } else {
            (reader.stray, reader.depth) = (place, reader.depth / 2);
        }
        further
    }

    /// Whether a place comes soon after another. Those between are left out, and go if they were
    /// before.
    fn goes_on(&mut self, from: u32, place: u32) -> bool {
        let mut way = core::iter::successors(self.after(from), |&at| self.after(at)).take(LEFT_OUT);
        let Some(between) = way.position(|at| at == place) else { return false };
        let mut at = from;
        for _ in 0..between {
            let Some(after) = self.after(at) else { break };
            if core::mem::replace(&mut self.places[after as usize].left_out, true) {
                self.take_out(after);
            } else {
                at = after;
            }
        }
        true
    }

    /// Whether a place comes shortly before another.
    fn is_behind(&self, at: u32, place: u32) -> bool {
        core::iter::successors(self.before(at), |&at| self.before(at)).take(LEFT_OUT).any(|at| at == place)
    }

    /// The place after another, if they still stand together.
    fn after(&self, at: u32) -> Option<u32> {
        let after = self.places.get(at as usize)?.after;
        self.places.get(after as usize).filter(|place| place.before == at && place.len > 0)?;
        Some(after)
    }

    /// The place before another, if they still stand together.
    fn before(&self, at: u32) -> Option<u32> {
        let before = self.places.get(at as usize)?.before;
        self.places.get(before as usize).filter(|place| place.after == at && place.len > 0)?;
        Some(before)
    }

    /// A reader came from one place to another.
    fn link(&mut self, from: u32, to: u32) {
        if from != to && from != NOWHERE && to != NOWHERE {
            self.places[from as usize].after = to;
            self.places[to as usize].before = from;
        }
    }

    /// The neighbours of a place stand together from now on.
    fn take_out(&mut self, place: u32) {
        let (before, after) = (self.before(place).unwrap_or(NOWHERE), self.after(place).unwrap_or(NOWHERE));
        self.link(before, after);
        let place = &mut self.places[place as usize];
        (place.before, place.after) = (NOWHERE, NOWHERE);
    }

    /// A place, if there is one, stands before another from now on.
    fn insert(&mut self, place: u32, after: u32) {
        if place == NOWHERE || place == after {
            return;
        }
        self.take_out(place);
        let before = self.before(after).unwrap_or(NOWHERE);
        self.link(before, place);
        self.link(place, after);
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
        let free = cells.iter().position(|place| place.len == 0);
        let way = free.unwrap_or_else(|| second_chance(cells, key.block() as usize % WAYS));
        cells[way] = Place { key, len: len.max(1), used: true, ..FREE };
        (set + way) as u32
    }

    /// Appends so many places that come after one, but for itself.
    fn expect(&self, from: u32, depth: u32, visit: &Visit<'_>, next: &mut Vec<Extent>) {
        let (mut at, mut room) = (from, visit.room);
        for _ in 0..depth {
            let Some(after) = self.after(at).filter(|&after| after != from) else { return };
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

/// Which of the cells is taken: from one on, the first that was not read since it was passed over.
fn second_chance(cells: &mut [Place], from: usize) -> usize {
    let mut turns = (from..cells.len()).chain(0..from);
    turns.find(|&way| !core::mem::take(&mut cells[way].used)).unwrap_or(from)
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
        assert_eq!(reads(&mut sequel, 2, &[500, 20, 70, 310, 800]), [640, 90, 250], "310 came late");
    }

    #[test]
    fn a_reader_that_goes_the_same_way_again_is_in_a_circle() {
        let mut sequel = Sequel::new(64);
        reads(&mut sequel, 1, &START);
        assert_eq!(reads(&mut sequel, 1, &START[..2]), START[2..4]);
        assert_eq!(reads(&mut sequel, 1, &START[2..]), START[..7]);
    }

    #[test]
    fn a_place_that_two_in_turn_left_out_goes() {
        let mut sequel = Sequel::new(64);
        reads(&mut sequel, 1, &START);
        reads(&mut sequel, 2, &[500, 20, 70]);
        assert_eq!(reads(&mut sequel, 3, &[500, 20]), [310, 70]);
        reads(&mut sequel, 3, &[310, 70]);
        reads(&mut sequel, 4, &[500, 20, 70]);
        assert_eq!(reads(&mut sequel, 5, &[500, 20, 70]), [800, 640, 90, 250], "it was read in between");
        assert_eq!(reads(&mut sequel, 6, &[500, 20]), [70, 800]);
    }

    #[test]
    fn one_place_elsewhere_is_on_the_way_from_now_on() {
        let mut sequel = Sequel::new(64);
        reads(&mut sequel, 1, &START);
        assert_eq!(reads(&mut sequel, 2, &[500, 20, 310, 999]), []);
        assert_eq!(reads(&mut sequel, 2, &[70]), [800, 640, 90, 250]);
        assert_eq!(reads(&mut sequel, 3, &[500, 20, 310]), [999, 70, 800, 640]);
    }

    #[test]
    fn two_places_elsewhere_begin_another_way() {
        let mut sequel = Sequel::new(64);
        reads(&mut sequel, 1, &START);
        assert_eq!(reads(&mut sequel, 2, &[500, 20, 310, 999, 998, 800]), []);
        assert!(!reads(&mut sequel, 2, &[640]).is_empty(), "from where the ways meet again");
        assert_eq!(reads(&mut sequel, 3, &[500, 20, 310]), [999, 998, 800, 640]);
    }

    #[test]
    fn a_reader_may_change_to_another_way() {
        let mut sequel = Sequel::new(64);
        reads(&mut sequel, 1, &START);
        reads(&mut sequel, 2, &[105, 205, 305, 405]);
        assert_eq!(reads(&mut sequel, 3, &[500, 20, 310, 105]), []);
        assert_eq!(reads(&mut sequel, 3, &[205]), [305, 405]);
        assert_eq!(reads(&mut sequel, 4, &[500, 20, 310]), [70, 800, 640, 90], "both stay what they are");
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
