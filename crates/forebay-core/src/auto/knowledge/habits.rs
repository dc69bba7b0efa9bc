//! The habits of the streams of a device, or of a program context.

use super::lengths::Lengths;
use super::share::{Odds, Share};
use crate::hint::{OCTILES, STREAMS, Usual};

/// Habits are not known before this many streams.
pub(super) const FEW: u32 = 8;

/// Habits of streams.
#[derive(Clone, Debug, Default)]
pub struct Habits {
    /// Streams from the beginning of a file came to its end.
    pub(super) whole: Share,
    /// Streams from the same block came to the same end.
    pub(super) again: Share,
    /// Streams went beyond their first read.
    goes_on: Share,
    /// Blocks of a stream, an exponentially weighted mean (weight 1/16), in sixteenths; and how
    /// many streams.
    length: u64,
    streams: u32,
    /// The lengths of those that went on.
    lengths: Lengths,
    /// Whether all of it comes from a hint, and no stream has gone on since.
    hearsay: bool,
}

impl Habits {
    /// A stream is over that had `blocks`, and went beyond its first read.
    pub(super) fn was_long(&mut self, blocks: u32) {
        self.goes_on.saw(true);
        self.hearsay = false;
        self.had(blocks);
    }

    /// A read has brought a stream to `blocks` that went beyond its first one.
    pub(super) fn came_to(&mut self, blocks: u32) {
        self.lengths.came_to(blocks);
    }

    /// Notes the length of a stream that went on.
    pub(super) fn had(&mut self, blocks: u32) {
        self.streams = self.streams.saturating_add(1);
        // The first ones count alike.
        let weight = u64::from(self.streams.min(16));
        self.length = self.length - self.length / weight + u64::from(blocks) * 16 / weight;
        self.lengths.saw(blocks);
    }

    /// A stream is over that had one read.
    pub(super) fn went_nowhere(&mut self) {
        self.goes_on.saw(false);
    }

    /// A stream that was counted as going nowhere goes on.
    pub(super) fn went_on_after_all(&mut self) {
        self.goes_on.saw(true);
        self.hearsay = false;
    }

    /// Whether an earlier run alone says that streams go on.
    pub(crate) fn is_hearsay(&self) -> bool {
        self.hearsay
    }

    /// Whether enough streams were seen to say anything.
    pub(super) fn is_known(&self) -> bool {
        self.goes_on.seen() >= FEW
    }

    /// Whether less than one stream of eight goes on and has more than this many blocks.
    pub(crate) fn rarely_goes_beyond(&self, blocks: u32) -> bool {
        let (Odds { times: goes_on, of }, Odds { times: beyond, of: all }) =
            (self.goes_on.odds(), self.lengths.beyond_of(blocks));
        let share = u64::from(goes_on) * u64::from(beyond) / u64::from(all.max(1));
        self.is_known() && share * 8 < u64::from(of)
    }

    /// Whether less than one stream of eight goes beyond its first read.
    pub(crate) fn rarely_goes_on(&self) -> bool {
        let Odds { times: goes_on, of } = self.goes_on.odds();
        self.is_known() && u64::from(goes_on) * 8 < u64::from(of)
    }

    /// How many blocks they had in the mean; `None` before there were a few.
    pub fn mean_length(&self) -> Option<u32> {
        (self.streams >= FEW).then(|| u32::try_from(self.length / 16).ok())?
    }

    /// See [`Lengths::weigh`].
    pub(super) fn weigh(&mut self, switch: u32) {
        self.lengths.weigh(switch);
    }

    /// How often streams go beyond their first read.
    pub fn goes_on(&self) -> Odds {
        self.goes_on.odds()
    }

    /// The lengths of those that did.
    pub fn lengths(&self) -> &Lengths {
        &self.lengths
    }

    /// The bytes that it takes.
    pub(super) fn footprint(&self) -> usize {
        size_of::<Habits>() + self.lengths.footprint()
    }
}

impl Habits {
    /// The part that outlives the run; [`Usual::UNKNOWN`] if there were too few streams.
    pub fn usual(&self) -> Usual {
        if !self.is_known() {
            return Usual::UNKNOWN;
        }
        let Odds { times: goes_on, of } = self.goes_on.odds();
        let go_on = (u64::from(goes_on) * u64::from(STREAMS) + u64::from(of) / 2) / u64::from(of);
        Usual {
            streams: STREAMS,
            go_on: go_on as u8,
            whole: self.whole.is_reliable(),
            octiles: core::array::from_fn(|eighth| self.lengths.quantile(eighth as u32 * 2 + 1, OCTILES as u32 * 2)),
        }
    }
}

impl From<Usual> for Habits {
    /// As if just enough streams had been seen, one of each eighth: the streams of this run soon
    /// outweigh them.
    fn from(usual: Usual) -> Habits {
        let mut habits = Habits::default();
        if u32::from(usual.streams) < FEW {
            return habits;
        }
        habits.goes_on = Share::told(usual.go_on.into(), usual.streams.into());
        if usual.whole {
            habits.whole = Share::told(1, 1);
        }
        usual.octiles.into_iter().filter(|&blocks| blocks > 0).for_each(|blocks| habits.had(blocks));
        habits.hearsay = true;
        habits
    }
}
