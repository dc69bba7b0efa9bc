//! Open files: the stream at which each of them is read now, and what a rule knows of it. These
//! systems have one position for an open file, and a read elsewhere gives up what was fetched
//! there. Streams here are found by position, so that a reader of two places in turn has two.

use alloc::vec;
use alloc::vec::Vec;

use crate::seams::{Plan, Sight};
use crate::types::{FileId, HandlerId, StreamId};

/// The fewest that are known at a time.
const FEWEST: usize = 256;

/// A file that a handler reads, and its stream there.
#[derive(Clone, Copy, Debug)]
struct Handle {
    handler: HandlerId,
    file: FileId,
    at: StreamId,
}

/// The knowledge of each open file. Of fixed size: of two files that fall into one place the one
/// that is read later is known.
#[derive(Clone, Debug)]
pub(super) struct Handles<T> {
    places: Vec<Option<Handle>>,
    /// By the place of the stream.
    known: Vec<T>,
}

impl<T: Clone + Copy + Default> Handles<T> {
    /// The bytes that it takes for each stream, at most.
    pub(super) const BYTES_A_STREAM: u32 = (size_of::<T>() + 2 * size_of::<Option<Handle>>()) as u32;

    /// For at most so many streams.
    pub(super) fn new(streams: u32) -> Handles<T> {
        let streams = streams.max(1) as usize;
        Handles { places: vec![None; streams.next_power_of_two().max(FEWEST)], known: vec![T::default(); streams] }
    }

    /// The knowledge of the file that an access reads: that of its stream, or that of the stream
    /// that its handler read there before, if the access is within `reach` of it. `None` if neither
    /// is, so that the access begins anew.
    pub(super) fn follow(&mut self, sight: &Sight<'_>, reach: impl Fn(&T, u32) -> bool) -> Option<T> {
        let before = self.reads(sight);
        if before == Some(sight.id) && !sight.fresh {
            return self.known.get(sight.id.index()).copied();
        }
        let left = self.known.get_mut(before?.index()).map(core::mem::take)?;
        reach(&left, first_of(sight)).then_some(left)
    }

    /// Keeps what is known of a stream.
    pub(super) fn keep(&mut self, stream: StreamId, known: T) {
        if let Some(place) = self.known.get_mut(stream.index()) {
            *place = known;
        }
    }

    /// The knowledge of a stream, to be changed.
    pub(super) fn of(&mut self, stream: StreamId) -> Option<&mut T> {
        self.known.get_mut(stream.index())
    }

    /// The bytes that it takes.
    pub(super) fn footprint(&self) -> usize {
        self.places.len() * size_of::<Option<Handle>>() + self.known.len() * size_of::<T>()
    }

    /// A handler reads a stream. Returns the one that it read in this file before.
    fn reads(&mut self, sight: &Sight<'_>) -> Option<StreamId> {
        let (handler, file) = (sight.stream.handler, sight.stream.file);
        let key = u64::from(file.0) << 32 | u64::from(handler.0);
        let place = crate::random::hash(key) as usize & (self.places.len() - 1);
        let before = self.places[place].replace(Handle { handler, file, at: sight.id })?;
        (before.handler == handler && before.file == file).then_some(before.at)
    }
}

/// The first block of an access.
pub(super) fn first_of(sight: &Sight<'_>) -> u32 {
    sight.stream.next.saturating_sub(sight.request)
}

/// A plan up to block `end`, in pieces of this size. The first one has the missed blocks whole, and
/// less than a piece that is left over follows at the next access.
pub(super) fn up_to(end: u32, piece: u32, sight: &Sight<'_>) -> Plan {
    let from = sight.from();
    let ahead = end.min(sight.blocks).saturating_sub(from);
    if ahead == 0 {
        return Plan::NOTHING;
    }
    let asked = sight.stream.next.saturating_sub(from);
    let piece = piece.max(asked).clamp(1, ahead);
    Plan { piece, pieces: ahead / piece, ..Plan::NOTHING }
}
