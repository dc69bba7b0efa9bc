//! The segments of a tier: which is written, and which is given up.

use alloc::vec;
use alloc::vec::Vec;

use super::{Evict, Place};

/// A segment is over that was not read for so many times its longest pause.
const PAUSES: u64 = 4;
/// One in so many segments takes what was fetched once. A start and a query are then there after a
/// restart, also if memory kept them from a second fetch, and a scan writes no more than that,
/// and what waits to be written meanwhile.
const FIRST: u64 = 16;
/// How many offers pass before another victim is looked for.
const OFFERS: u32 = 256;

/// One segment is sealed, another one opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Turn {
    /// The segment that is full, and its number among all that were sealed.
    pub sealed: Option<Sealed>,
    /// The segment that is written from now on, from its first block.
    pub opened: u32,
}

/// A segment that is full.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sealed {
    /// The segment.
    pub segment: u32,
    /// Its number among all that were sealed, which orders them.
    pub number: u64,
}

/// The state of a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// It may not be written.
    Withdrawn,
    Free,
    Open,
    Sealed {
        /// Its number among all that were sealed.
        number: u64,
        /// When it was read last, or sealed.
        read: u64,
        /// The longest time between two reads of it.
        pause: u64,
    },
}

/// The segment that would be given up next.
#[derive(Clone, Copy, Debug)]
struct Victim {
    segment: u32,
    /// How often its pieces were fetched in the mean, in sixteenths.
    mean: u32,
    /// Offers until it is looked for again.
    offers: u32,
}

#[derive(Clone, Debug)]
pub(super) struct Segments {
    states: Vec<State>,
    /// Blocks in a segment.
    blocks: u32,
    open: Option<u32>,
    /// The next block of the open segment.
    next: u32,
    /// Whether a segment was given up for the open one.
    replaces: bool,
    /// How many were sealed.
    sealed: u64,
    /// Blocks that fetches have asked for: the clock of reads.
    now: u64,
    free: u32,
    victim: Option<Victim>,
}

impl Segments {
    /// So many free segments of `blocks`.
    pub(super) fn new(count: u32, blocks: u32) -> Segments {
        Segments {
            states: vec![State::Free; count as usize],
            blocks,
            open: None,
            next: 0,
            replaces: false,
            sealed: 0,
            now: 0,
            free: count,
            victim: None,
        }
    }

    /// A fetch asks for so many blocks.
    pub(super) fn asked(&mut self, blocks: u32) {
        self.now += u64::from(blocks);
    }

    /// A piece of a segment is read.
    pub(super) fn read(&mut self, segment: u32) {
        if let Some(State::Sealed { read, pause, .. }) = self.states.get_mut(segment as usize) {
            *pause = (*pause).max(self.now - *read);
            *read = self.now;
        }
    }

    pub(super) fn reserve(&mut self, blocks: u32) -> Option<Place> {
        let place = Place { segment: self.open?, block: self.next };
        let next = self.next.checked_add(blocks).filter(|&next| next <= self.blocks)?;
        self.next = next;
        Some(place)
    }

    /// Whether there is room for a piece of so many blocks, and no segment was or would be given up
    /// for it.
    pub(super) fn has_room(&self, blocks: u32) -> bool {
        self.free > 0 || self.open.is_some() && !self.replaces && self.next + blocks <= self.blocks
    }

    /// Blocks that there is room for in the first segments that are written.
    pub(super) fn room_at_first(&self) -> u64 {
        let (count, blocks) = (self.states.len() as u64, u64::from(self.blocks));
        let left = if self.open.is_some() { blocks - u64::from(self.next) } else { 0 };
        (count / FIRST * blocks + left).saturating_sub((count - u64::from(self.free)) * blocks)
    }

    /// How often the pieces of the segment were fetched that would be given up next, as `mean`
    /// counts; zero if it has not been read for far longer than ever before: a log's window has
    /// passed on.
    pub(super) fn victim_mean(&mut self, evict: Evict, mean: impl FnOnce(u32) -> u32) -> Option<u32> {
        let victim = match self.victim.filter(|victim| victim.offers > 0) {
            Some(victim) => Victim { offers: victim.offers - 1, ..victim },
            None => {
                let segment = self.least(evict)?;
                let mean = if self.is_over(segment) { 0 } else { mean(segment) };
                Victim { segment, mean, offers: OFFERS }
            }
        };
        self.victim = Some(victim);
        Some(victim.mean)
    }

    fn is_over(&self, segment: u32) -> bool {
        let State::Sealed { read, pause, .. } = self.states[segment as usize] else { return false };
        pause > 0 && self.now - read > PAUSES * pause
    }

    /// Seals the open segment and opens the first free one, or else the victim; the victim also if
    /// `full`, that is if there are as many pieces as there may be.
    pub(super) fn turn(&mut self, evict: Evict, full: bool) -> Option<Turn> {
        let free = self.states.iter().position(|&state| state == State::Free).map(|free| free as u32);
        let victim = if free.is_none() || full { self.least(evict) } else { None };
        let opened = victim.or(free)?;
        self.free -= u32::from(self.states[opened as usize] == State::Free);
        let sealed = self.open.map(|segment| {
            self.sealed += 1;
            self.states[segment as usize] = State::Sealed { number: self.sealed, read: self.now, pause: 0 };
            Sealed { segment, number: self.sealed }
        });
        self.states[opened as usize] = State::Open;
        (self.open, self.next, self.replaces, self.victim) = (Some(opened), 0, victim.is_some(), None);
        Some(Turn { sealed, opened })
    }

    /// The segment to be given up next: the sealed one of the least age.
    fn least(&self, evict: Evict) -> Option<u32> {
        let ages = (0..).zip(&self.states).filter_map(|(segment, state)| match (*state, evict) {
            (State::Sealed { number, .. }, Evict::Fifo) => Some((0, number, segment)),
            (State::Sealed { number, read, .. }, Evict::Lru) => Some((read, number, segment)),
            (State::Withdrawn | State::Free | State::Open, _) => None,
        });
        ages.min().map(|(_, _, segment)| segment)
    }

    pub(super) fn restore(&mut self, segment: u32, number: u64) {
        self.leave(segment);
        self.sealed = self.sealed.max(number);
        self.states[segment as usize] = State::Sealed { number, read: 0, pause: 0 };
    }

    pub(super) fn withdraw(&mut self, segment: u32) {
        self.leave(segment);
        self.states[segment as usize] = State::Withdrawn;
    }

    pub(super) fn grant(&mut self, segment: u32) {
        if self.states[segment as usize] == State::Withdrawn {
            self.states[segment as usize] = State::Free;
            self.free += 1;
        }
    }

    /// A segment is no longer as it was.
    fn leave(&mut self, segment: u32) {
        self.free -= u32::from(self.states[segment as usize] == State::Free);
        self.open.take_if(|open| *open == segment);
        self.victim.take_if(|victim| victim.segment == segment);
    }

    pub(super) fn footprint(&self) -> usize {
        self.states.capacity() * size_of::<State>()
    }
}
