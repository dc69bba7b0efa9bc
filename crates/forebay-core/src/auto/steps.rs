//! The next steps of a reader that moves through a file in equal steps, or in mostly equal ones:
//! Leap (Al Maruf and Chowdhury, ATC 2020, §3.2) takes the stride that more than half of the latest
//! moves have, by Boyer's and Moore's vote, so that a few other moves in between do no harm.
//!
//! ```text
//!     ▓▓····▓▓····▓▓··▓▓··▓▓····▓▓····▓▓····□□····□□····□□      ▓ read   □ fetched ahead
//!       6     6    4   4    6     6     majority of the last 8 moves: 6
//! ```
//!
//! A *step* is a run of blocks that a reader takes one after another; a *move* leads from the first
//! block of a step to the first one of the next. Each move that had been expected doubles the
//! number of steps that are fetched ahead, up to the device's channels; another move than expected
//! halves it. Readers that step side by side share the room, and gaps of a stream are left to it.

use alloc::vec;
use alloc::vec::Vec;
use core::mem::size_of;

use crate::explain::Elsewhere;
use crate::seams::Visit;
use crate::types::{Extent, FileId, HandlerId};

/// The moves that vote.
const MOVES: usize = 8;
/// As few as these may vote.
const FEW: usize = 3;
/// Readers that are known at a time; one more takes the place of another.
const READERS: usize = 256;

/// A reader in a file.
#[derive(Clone, Copy, Debug, Default)]
struct Walk {
    handler: HandlerId,
    file: FileId,
    /// The step that is being read: its first block, and the end of what was read of it.
    start: u32,
    end: u32,
    /// The blocks of the last whole step.
    run: u32,
    /// The latest moves, by [`Walk::moved`] modulo their number.
    moves: [i32; MOVES],
    /// How many there were.
    moved: u32,
    /// How many steps are fetched ahead.
    depth: u32,
    /// When it took its last step that had been expected, by [`Steps::turns`].
    turn: u32,
}

/// Readers that step, by handler and file.
#[derive(Clone, Debug)]
pub(super) struct Steps {
    walks: Vec<Walk>,
    /// Steps that all readers took, and that had been expected.
    turns: u32,
}

impl Steps {
    /// Knows no reader.
    pub(super) fn new() -> Steps {
        Steps { walks: vec![Walk::default(); READERS], turns: 0 }
    }

    /// A read; appends the steps that come next, if they are known.
    pub(super) fn follow(&mut self, visit: &Visit<'_>, next: &mut Vec<Extent>) {
        let Extent { file, .. } = visit.read;
        let walk = &mut self.walks[place(visit.handler, file)];
        if (walk.handler, walk.file) != (visit.handler, file) || walk.end == 0 {
            *walk = Walk::begun(visit);
            return;
        }
        if walk.goes_on(visit.read) {
            // The others took about one step each since this one's last: the room is for all.
            self.turns = self.turns.wrapping_add(u32::from(walk.depth > 0));
            let readers = self.turns.wrapping_sub(core::mem::replace(&mut walk.turn, self.turns)).max(1);
            walk.expect(visit, visit.room / readers, next);
        }
    }

    /// The steps of a reader, if some are fetched ahead.
    pub(super) fn explain(&self, handler: HandlerId, file: FileId) -> Option<Elsewhere> {
        let walk = &self.walks[place(handler, file)];
        let its = (walk.handler, walk.file) == (handler, file) && walk.depth > 0;
        let stride = walk.stride().filter(|_| its)?;
        Some(Elsewhere::Steps { stride, run: walk.run, ahead: walk.depth })
    }

    /// The bytes that it takes.
    pub(super) fn footprint(&self) -> usize {
        self.walks.len() * size_of::<Walk>()
    }
}

/// The place of a reader in the table.
fn place(handler: HandlerId, file: FileId) -> usize {
    (handler.0 ^ file.0.wrapping_mul(0x9e37_79b9)) as usize % READERS
}

impl Walk {
    fn begun(visit: &Visit<'_>) -> Walk {
        let Extent { file, start, .. } = visit.read;
        Walk { handler: visit.handler, file, start, end: visit.read.end(), ..Walk::default() }
    }

    /// Hears of a read. Whether a new step begins with it.
    fn goes_on(&mut self, read: Extent) -> bool {
        if (self.start..=self.end).contains(&read.start) {
            self.end = self.end.max(read.end());
            return false;
        }
        let way = i64::from(read.start) - i64::from(self.start);
        let way = i32::try_from(way).unwrap_or(0);
        let expected = self.stride() == Some(way);
        self.depth = if expected { (self.depth * 2).max(2) } else { self.depth / 2 };
        self.moves[self.moved as usize % MOVES] = way;
        self.moved = self.moved.saturating_add(1);
        self.run = self.end - self.start;
        (self.start, self.end) = (read.start, read.end());
        true
    }

    /// The move that more than half of the latest are.
    fn stride(&self) -> Option<i32> {
        let all = (self.moved as usize).min(MOVES);
        if all < FEW {
            return None;
        }
        let moves = &self.moves[..all];
        let (mut candidate, mut votes) = (0, 0u32);
        for &way in moves {
            if votes == 0 {
                candidate = way;
            }
            votes = if way == candidate { votes + 1 } else { votes - 1 };
        }
        let count = moves.iter().filter(|&&way| way == candidate).count();
        (candidate != 0 && count * 2 > all).then_some(candidate)
    }

    /// Appends the next steps, of at most `room` blocks.
    fn expect(&mut self, visit: &Visit<'_>, room: u32, next: &mut Vec<Extent>) {
        let Some(stride) = self.stride() else { return };
        // The gaps of a stream are read through.
        if visit.in_stream || stride.unsigned_abs() <= self.run.saturating_mul(2) {
            self.depth = 0;
            return;
        }
        self.depth = self.depth.min(visit.abreast()).min(room / self.run.max(1));
        for step in 1..=i64::from(self.depth) {
            let start = u32::try_from(i64::from(self.start) + i64::from(stride) * step);
            let Some(start) = start.ok().filter(|&start| start < visit.blocks) else { return };
            next.push(Extent::between(self.file, start, start.saturating_add(self.run).min(visit.blocks)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::DeviceId;

    fn visit(start: u32) -> Visit<'static> {
        let read = Extent { file: FileId(1), start, len: 2 };
        let (handler, missed, blocks) = (HandlerId(1), true, 1000);
        Visit {
            handler,
            read,
            missed,
            blocks,
            device: DeviceId::default(),
            channels: 16,
            room: 64,
            piece: 100,
            in_stream: false,
            length: &|_| None,
        }
    }

    /// The first blocks of the steps that are fetched ahead at the last of these reads.
    fn after(starts: &[u32]) -> Vec<u32> {
        let (mut steps, mut next) = (Steps::new(), Vec::new());
        for &start in starts {
            next.clear();
            steps.follow(&visit(start), &mut next);
        }
        assert!(next.iter().all(|extent| extent.len == 2), "{next:?}");
        next.iter().map(|extent| extent.start).collect()
    }

    #[test]
    fn equal_steps_are_fetched_twice_as_far_each_time_they_go_on() {
        assert_eq!(after(&[0, 10, 20, 30]), [], "three moves may be chance");
        assert_eq!(after(&[0, 10, 20, 30, 40]), [50, 60]);
        assert_eq!(after(&[0, 10, 20, 30, 40, 50]), [60, 70, 80, 90]);
        assert_eq!(after(&[900, 880, 860, 840, 820]), [800, 780], "backwards as well");
        assert_eq!(after(&[950, 960, 970, 980, 990]), [], "a file ends");
    }

    #[test]
    fn few_other_moves_do_no_harm_and_no_majority_is_no_stride() {
        assert_eq!(after(&[0, 10, 20, 30, 40, 47, 57]), [67, 77]);
        assert_eq!(after(&[0, 10, 13, 40, 41, 90, 100, 260]), []);
    }

    /// A step may come in several reads, and a stream in order has no steps.
    #[test]
    fn a_step_is_what_is_read_one_after_another() {
        let (mut steps, mut next) = (Steps::new(), Vec::new());
        for step in 0..6 {
            next.clear();
            steps.follow(&visit(step * 10), &mut next);
            steps.follow(&visit(step * 10 + 2), &mut next);
        }
        let step = |start| Extent { file: FileId(1), start, len: 4 };
        assert_eq!(next, [step(60), step(70), step(80), step(90)]);
        assert_eq!(after(&[0, 2, 4, 6, 8, 10, 12, 14]), []);
    }

    /// The room is for all readers that step: a second one leaves the first one half.
    #[test]
    fn readers_share_the_room() {
        let ahead = |readers: u32| {
            let (mut steps, mut next) = (Steps::new(), Vec::new());
            for step in 0..12 {
                for reader in 0..readers {
                    next.clear();
                    let visit = visit(step * 10);
                    steps.follow(&Visit { handler: HandlerId(reader), blocks: 10_000, ..visit }, &mut next);
                }
            }
            next.len()
        };
        assert_eq!([1, 2, 4].map(ahead), [32, 16, 8], "of 64 blocks");
    }

    #[test]
    fn gaps_of_a_stream_are_its_own_business() {
        let expected = |stride: u32, in_stream: bool| {
            let (mut steps, mut next) = (Steps::new(), Vec::new());
            for step in 0..8 {
                next.clear();
                steps.follow(&Visit { in_stream, ..visit(step * stride) }, &mut next);
            }
            next.len()
        };
        assert!(expected(10, false) > 0);
        assert_eq!((expected(10, true), expected(4, false)), (0, 0), "a stream; as much read as skipped");
    }
}
