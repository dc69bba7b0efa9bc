//! Second-chance page reclamation (CPEM §4.1): which handler prefetched a page, when, and what
//! follows from that at the head of the queue.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

use crate::types::{HandlerId, Instant};

/// The fate of the page at the head of the queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// Its handler has exited, or it has been here for far too long: it goes in any case.
    Abandoned,
    /// Its handler "has had significant opportunity to reference the prefetched page but it did
    /// not", or its mark is invalid, since it had its second chance: it goes if the queue is too
    /// long.
    PassedOver,
    /// None of this. If the queue is too long "its pid and timestamp fields are invalidated and it
    /// is re-attached to the tail".
    SecondChance,
}

/// "The OS also marks each page with the pid of the prefetching process and a timestamp indicating
/// the prefetching time." Eight bytes a frame.
#[derive(Clone, Copy, Debug)]
struct Mark {
    /// The place of the handler in the table, or `INVALID`.
    handler: u32,
    /// Milliseconds; they wrap after 49 days.
    at: u32,
}

const INVALID: u32 = u32::MAX;

/// A page that waits for longer than this is abandoned, whatever its handler does: two minutes, in
/// milliseconds. The paper has no such rule, and a page whose handler sleeps for ever would stay
/// for as long.
const LIFETIME: u32 = 120_000;

/// A handler that has marked pages.
#[derive(Clone, Copy, Debug)]
struct Handler {
    id: HandlerId,
    /// Its last execution time, milliseconds.
    ran: u32,
    exited: bool,
    /// Marked pages, and fetches under way that bring some; a handler without either is forgotten.
    pages: u32,
    fetches: u32,
}

/// The marks of all frames and the handlers that they name.
#[derive(Clone, Debug)]
pub struct Marks {
    marks: Vec<Mark>,
    handlers: Vec<Handler>,
    free: Vec<u32>,
    known: BTreeMap<HandlerId, u32>,
    /// A handler that has run this many milliseconds longer than a prefetch has had its
    /// opportunity.
    opportunity: u32,
}

impl Marks {
    /// No marks on `frames` frames.
    pub fn new(frames: u32, opportunity_ms: u32) -> Marks {
        Marks {
            marks: vec![Mark { handler: INVALID, at: 0 }; frames as usize],
            handlers: Vec::new(),
            free: Vec::new(),
            known: BTreeMap::new(),
            opportunity: opportunity_ms,
        }
    }

    /// The place of a handler that is about to mark pages. It prefetched the first of them at `at`,
    /// so it ran then, at least.
    pub fn enlist(&mut self, id: HandlerId, at: Instant) -> u32 {
        let (handlers, free) = (&mut self.handlers, &mut self.free);
        *self.known.entry(id).or_insert_with(|| {
            let handler = Handler { id, ran: millis(at), exited: false, pages: 0, fetches: 0 };
            match free.pop() {
                Some(place) => {
                    handlers[place as usize] = handler;
                    place
                }
                None => {
                    handlers.push(handler);
                    handlers.len() as u32 - 1
                }
            }
        })
    }

    /// Marks the page in frame `frame` with the handler at `place`, just enlisted, and the
    /// prefetching time.
    pub fn mark(&mut self, frame: usize, place: u32, at: Instant) {
        self.handlers[place as usize].pages += 1;
        self.marks[frame] = Mark { handler: place, at: millis(at) };
    }

    /// Invalidates the mark of a page, but for the time, from which its stay here counts.
    pub fn invalidate(&mut self, frame: usize) {
        let place = core::mem::replace(&mut self.marks[frame].handler, INVALID);
        let Some(handler) = self.handlers.get_mut(place as usize) else { return };
        handler.pages -= 1;
        self.forget_if_done(place);
    }

    /// A handler fetches pages at `at`. If it exits before they arrive, they are pages of an exited
    /// handler.
    pub fn awaits(&mut self, id: HandlerId, at: Instant) {
        let place = self.enlist(id, at);
        self.handlers[place as usize].fetches += 1;
    }

    /// A fetch of a handler is over, and its pages are marked.
    pub fn awaits_no_longer(&mut self, id: HandlerId) {
        if let Some(&place) = self.known.get(&id) {
            let fetches = &mut self.handlers[place as usize].fetches;
            *fetches = fetches.saturating_sub(1);
            self.forget_if_done(place);
        }
    }

    fn forget_if_done(&mut self, place: u32) {
        let Handler { id, pages, fetches, .. } = self.handlers[place as usize];
        if pages == 0 && fetches == 0 {
            self.known.remove(&id);
            self.free.push(place);
        }
    }

    /// A handler was seen running, or reads: it is alive.
    pub fn ran(&mut self, id: HandlerId, at: Instant) {
        if let Some(&place) = self.known.get(&id) {
            let handler = &mut self.handlers[place as usize];
            (handler.ran, handler.exited) = (millis(at), false);
        }
    }

    /// "A process is considered inactive if it has exited or it is in the ZOMBIE state."
    pub fn exited(&mut self, id: HandlerId) {
        if let Some(&place) = self.known.get(&id) {
            self.handlers[place as usize].exited = true;
        }
    }

    /// The fate of the page in frame `frame`, at the head of the queue.
    pub fn judge(&self, frame: usize, now: Instant) -> Fate {
        let mark = self.marks[frame];
        if millis(now).wrapping_sub(mark.at) > LIFETIME {
            return Fate::Abandoned;
        }
        let Some(handler) = self.handlers.get(mark.handler as usize) else { return Fate::PassedOver };
        if handler.exited {
            return Fate::Abandoned;
        }
        // The prefetching timestamp "is compared against the last execution time of the prefetching
        // process".
        let ran_after = handler.ran.wrapping_sub(mark.at) as i32;
        if ran_after > self.opportunity as i32 { Fate::PassedOver } else { Fate::SecondChance }
    }

    /// Whether the page in frame `frame` was prefetched before.
    pub fn is_older(&self, frame: usize, than: Instant) -> bool {
        (millis(than).wrapping_sub(self.marks[frame].at) as i32) > 0
    }

    /// Appends at most `most` handlers that have marked pages, in order, behind `after`. Handlers
    /// that have exited are left out: there is nothing to ask of them.
    pub fn in_question(&self, after: HandlerId, most: usize, out: &mut Vec<HandlerId>) {
        use core::ops::Bound::{Excluded, Unbounded};
        let behind = self.known.range((Excluded(after), Unbounded));
        out.extend(behind.filter(|&(_, &place)| !self.handlers[place as usize].exited).map(|(&id, _)| id).take(most));
    }

    /// How many pages are marked. Walks over the handlers.
    pub fn marked(&self) -> u32 {
        self.known.values().map(|&place| self.handlers[place as usize].pages).sum()
    }

    /// The bytes that marks and handlers take.
    pub fn footprint(&self) -> usize {
        self.marks.len() * size_of::<Mark>()
            + self.handlers.capacity() * size_of::<Handler>()
            // A node of the tree holds eleven pairs and is two thirds full.
            + self.known.len() * 16
            + self.free.capacity() * 4
    }
}

fn millis(at: Instant) -> u32 {
    (at.0 / 1_000_000) as u32
}
