//! What is known of the streams of a device, or of a program context.

use super::lengths::Lengths;
use super::share::Share;

/// Before so many streams nothing is known.
pub(super) const FEW: u32 = 8;

/// What is known of streams.
#[derive(Clone, Debug, Default)]
pub struct Habits {
    /// Streams from the beginning of a file came to its end.
    pub(super) whole: Share,
    /// Streams from the same block came to the same end.
    pub(super) again: Share,
    /// Streams went beyond their first read.
    goes_on: Share,
    /// Blocks of a stream, an exponentially weighted mean (weight 1/16), in sixteenths; and how many streams.
    length: u64,
    streams: u32,
    /// How long those were that went on.
    lengths: Lengths,
}

impl Habits {
    /// A stream is over that had `blocks`, and went beyond its first read.
    pub(super) fn was_long(&mut self, blocks: u32) {
        self.streams = self.streams.saturating_add(1);
        // The first ones count alike.
        let weight = u64::from(self.streams.min(16));
        self.length = self.length - self.length / weight + u64::from(blocks) * 16 / weight;
        self.goes_on.saw(true);
        self.lengths.saw(blocks);
    }

    /// A stream is over that had one read.
    pub(super) fn went_nowhere(&mut self) {
        self.goes_on.saw(false);
    }

    /// Whether enough streams were seen to say anything.
    pub(super) fn is_known(&self) -> bool {
        self.goes_on.seen() >= FEW
    }

    /// Whether less than one stream of eight goes on and has more than so many blocks.
    pub(crate) fn rarely_goes_beyond(&self, blocks: u32) -> bool {
        let ((goes_on, of), (beyond, all)) = (self.goes_on.parts(), self.lengths.beyond_of(blocks));
        let share = u64::from(goes_on) * u64::from(beyond) / u64::from(all.max(1));
        self.is_known() && share * 8 < u64::from(of)
    }

    pub(super) fn mean_length(&self) -> Option<u32> {
        (self.streams >= FEW).then(|| u32::try_from(self.length / 16).ok())?
    }

    /// See [`Lengths::weigh`].
    pub(super) fn weigh(&mut self, switch: u32) {
        self.lengths.weigh(switch);
    }

    /// How often streams go beyond their first read: so many times of so many.
    pub fn goes_on(&self) -> (u32, u32) {
        self.goes_on.parts()
    }

    /// How long those were that did.
    pub fn lengths(&self) -> &Lengths {
        &self.lengths
    }

    /// The bytes that it takes.
    pub(super) fn footprint(&self) -> usize {
        size_of::<Habits>() + self.lengths.footprint()
    }
}
