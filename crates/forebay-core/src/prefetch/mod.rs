//! Degree and trigger: how much to fetch for a stream, and when. One algorithm a file.
//!
//! A policy sees one stream at one access ([`Sight`]) and answers up to which block the stream's data should be fetched
//! ([`Plan`]). The engine skips what is there already and joins demand and prefetch of one extent into one fetch. How much
//! memory the stream may use a policy is told; the kernels' own policies, the baselines, do not ask.
//!
//! To add one: a file here, an arm in [`Prefetch::plan`], a line in [`presets`](crate::presets).

mod aggressive;
mod competitive;
mod fixed;
mod gill;
mod habits;
mod joined;
mod linux;
mod one_block;
mod reason;
mod sarc;
pub(crate) mod supply;

use core::mem::discriminant;

use crate::files::INITIAL_WINDOW;
use crate::knowledge::Habits;
use crate::stream::Stream;
use crate::trigger::{Supply, Trigger};

pub use gill::Pace;
pub use joined::Joined;
pub use reason::{Reason, Size, Why};
pub use sarc::THRESHOLD;
pub use supply::{Degree, Total};

/// What [`Sight::interrupted`] is in parts of.
pub(crate) const ALWAYS: u32 = 256;

/// A stream at the moment of an access, and what surrounds it. Everything in blocks.
#[derive(Clone, Copy, Debug)]
pub struct Sight<'a> {
    /// The stream; `next` is already behind the access.
    pub stream: &'a Stream,
    /// How many blocks the access asks for.
    pub request: u32,
    /// Whether readers want any of it. What a level above prefetches may trigger a fetch, but "the lower-level trigger distance and
    /// prefetch degree will not be affected" (SCM §4.2).
    pub adapts: bool,
    /// The first block of the access that must be fetched for the reader, if any must.
    pub missed: Option<u32>,
    /// Whether the stream begins with this access.
    pub fresh: bool,
    /// Whether the missed block had been fetched before, and was given up.
    pub lost: bool,
    /// The window that a stream of this file begins with (slow start).
    pub initial_window: u32,
    /// C_switch · R_tr at the place of the next fetch, at least 1.
    pub competitive_depth: u32,
    /// How often, of 256, somebody else uses the device between two pieces of a stream, so that a switch is paid.
    pub interrupted: u32,
    /// How many blocks all streams together may have ahead.
    pub room: u32,
    /// How many blocks the stream may have ahead: its part of what memory allows for all, at least 1.
    pub share: u32,
    /// How many a piece may have: Ŝp of CPEM §4.2, or what of `share` leaves room for the next piece; at least 1.
    pub longest_piece: u32,
    /// The block up to which the stream's readers are known to want it, if anybody knows.
    pub wanted_end: Option<u32>,
    /// How long streams of the device were so far, in the mean, if anybody knows.
    pub mean_length: Option<u32>,
    /// What is known of streams like this one, if the policy goes by it.
    pub habits: Option<&'a Habits>,
    /// Whether that is of the stream's own program context, not of its device as a whole.
    pub of_context: bool,
    /// Whether nearly none of the file's streams goes on.
    pub is_random: bool,
    /// How many the file has.
    pub blocks: u32,
    /// How many of the device's channels have nothing to do.
    pub idle: u32,
    /// How many, in 1/256, the device transfers while the reader works on one.
    pub own_time: u64,
    /// How many, in 1/256, it transfers in the time after which it is usually needed again, if that is known.
    pub respite: Option<u64>,
    /// The most that a piece may have, whatever memory there is.
    pub most: u32,
    /// How many requests the device serves at once.
    pub channels: u32,
    /// How many streams are active on all devices, at least 1.
    pub active: u32,
    /// The stream's demand among the others', if the policy goes by that.
    pub supply: Supply,
}

impl Sight<'_> {
    /// Where fetching goes on: the end of what was fetched, or the miss, where fetched blocks were lost or skipped over.
    pub fn from(&self) -> u32 {
        self.missed.unwrap_or(self.stream.ahead)
    }

    /// Whether memory is so short that a piece holds no more than one request, or hardly more, of a stream that has gone on a few times. Blocks
    /// ahead save no switch then unless all of the next request is among them.
    fn is_short(&self) -> bool {
        self.stream.steps > 2 && self.longest_piece <= self.request.saturating_add(self.request / 4)
    }

    /// The piece on a miss then: what is asked for, and as many whole requests more as come nearest to what may be ahead. There is no
    /// other: who enters the latest piece would get what little it has left free, by a switch of its own.
    fn short_piece(&self) -> u32 {
        let more = self.share.saturating_add(self.request / 2) / self.request.max(1);
        self.request.saturating_mul(more.saturating_add(1))
    }

    /// Up to where a stream is fetched that is expected to go to `end`. What an earlier run says of its program is believed for no more than a
    /// switch is worth, until a stream of this run has gone on.
    fn believed(&self, end: u32) -> u32 {
        let hearsay = self.fresh && self.of_context && self.habits.is_some_and(Habits::is_hearsay);
        if hearsay { end.min(self.stream.next.saturating_add(self.competitive_depth)) } else { end }
    }

    /// How many channels of the device are the stream's part.
    fn lanes(&self) -> u32 {
        self.channels / self.active
    }

    /// The size of the next piece: `grown` gives it from that of the latest, where this access may change it.
    pub fn next_piece(&self, grown: impl Fn(u32) -> u32) -> u32 {
        if self.adapts || self.stream.piece == 0 { grown(self.stream.piece) } else { self.stream.piece }
    }

    /// How many blocks are enough at once, S_p being `depth`, of what is wanted for certain. Pieces of n take interrupted · S_p / n in switches
    /// of what they transfer; of 16 · S_p · i / (1 - i) that is less than a sixteenth of the share i. Who is always interrupted can
    /// never have enough, and who is never has it with two pieces.
    fn enough(&self) -> u32 {
        let paid = u64::from(self.interrupted.min(ALWAYS));
        let enough = (u64::from(self.competitive_depth) * 16 * paid).checked_div(u64::from(ALWAYS) - paid);
        let enough = enough.and_then(|blocks| u32::try_from(blocks).ok()).unwrap_or(u32::MAX);
        enough.max(self.competitive_depth.saturating_mul(2))
    }

    /// The window of a stream that begins, of which no piece has more than `depth`.
    fn first_window(&self, depth: Size) -> Size {
        let shrunk = self.initial_window < INITIAL_WINDOW;
        let reason = if shrunk { Reason::Nowhere } else { Reason::FirstWindow };
        depth.at_most(self.initial_window, reason)
    }

    /// Slow start: twice the latest piece, "until it reaches the desired" size.
    fn slow_start(&self, depth: Size) -> Size {
        depth.at_most(self.next_piece(|piece| piece.max(INITIAL_WINDOW / 2) * 2), Reason::SlowStart)
    }

    /// Whether the access has entered the latest piece, which Linux calls the ahead window (CPEM §2.2).
    pub fn in_ahead_window(&self) -> bool {
        self.stream.remaining() < self.stream.piece
    }
}

/// What a policy wants.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Plan {
    /// The size of a piece; each piece is one fetch.
    pub piece: u32,
    /// How many pieces.
    pub pieces: u32,
    /// The trigger distance that this went by, if the policy has one.
    pub distance: u32,
    /// Why the two are what they are.
    pub why: Why,
}

impl Plan {
    /// Nothing beyond what the reader asked for.
    pub const NOTHING: Plan =
        Plan { piece: 0, pieces: 0, distance: 0, why: Why { piece: Reason::Nothing, distance: Reason::Nothing } };

    /// One piece.
    pub fn one(piece: u32) -> Plan {
        Plan { piece, pieces: u32::from(piece > 0), ..Plan::NOTHING }
    }

    /// One piece of this size, as the stream begins. The next one is due when the reader enters it.
    fn first(window: Size) -> Plan {
        Plan::one(window.blocks).because(window.reason, Reason::AheadWindow)
    }

    /// Where streams usually end is not where they are known to; and that they rarely go on is a reason to fetch nothing.
    #[must_use]
    fn by_odds(self) -> Plan {
        let of = |reason| if matches!(reason, Reason::KnownEnd | Reason::Nothing) { Reason::Odds } else { reason };
        self.because(of(self.why.piece), of(self.why.distance))
    }

    /// Says why the piece and the distance are what they are.
    #[must_use]
    fn because(self, piece: Reason, distance: Reason) -> Plan {
        Plan { why: Why { piece, distance }, ..self }
    }
}

/// The prefetch policies.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Prefetch {
    /// Nothing is fetched that nobody asked for.
    #[default]
    None,
    /// One block lookahead.
    OneBlock,
    /// RA: the next `degree` blocks after every access.
    Fixed {
        /// How many blocks ahead.
        degree: u32,
    },
    /// Linux 2.6: 16 → 18 → 32 pages.
    Linux,
    /// Linux with a maximum of 256 pages.
    Aggressive,
    /// Competitive prefetching.
    Competitive {
        /// Whether a device with several channels is fetched from over all of them (CP §4).
        channels: bool,
        /// Whether a stream keeps to its part of what memory allows.
        shares: bool,
    },
    /// Pieces of one degree, at trigger distances that streams share.
    Supply {
        /// How the distances are divided.
        trigger: Trigger,
        /// P.
        degree: Degree,
        /// T_total.
        total: Total,
        /// The slots in which demand is counted, milliseconds.
        slot_ms: u32,
    },
    /// SARC: pieces of one degree at one trigger distance, for streams of some length.
    Sarc {
        /// How many blocks must have been wanted one after another.
        threshold: u32,
        /// m: how many are prefetched at a time.
        degree: u32,
        /// g: how many are unread of a group when the next one is prefetched.
        distance: u32,
    },
    /// Competitive depth, distances by demand, ends by what is known: `auto`.
    Joined(Joined),
    /// Gill and Bathen's: degree and trigger distance learnt by stream.
    Gill {
        /// No degree is larger.
        most: u32,
    },
}

impl Prefetch {
    /// Whether the two are of the same kind, whatever was chosen of either.
    pub fn is_like(&self, other: &Prefetch) -> bool {
        match (self, other) {
            (
                Prefetch::Supply { trigger, degree, .. },
                Prefetch::Supply { trigger: other_trigger, degree: other_degree, .. },
            ) => trigger == other_trigger && discriminant(degree) == discriminant(other_degree),
            _ => discriminant(self) == discriminant(other),
        }
    }

    /// The slots in which demand is to be counted, nanoseconds, if the policy goes by it.
    pub(crate) fn measures(self) -> Option<u64> {
        match self {
            Prefetch::Supply { slot_ms, .. } => Some(u64::from(slot_ms) * 1_000_000),
            Prefetch::Joined(Joined { demand: true, .. }) => Some(joined::SLOT),
            _ => None,
        }
    }

    /// What to fetch now, from [`Sight::from`] on. For a missed read the first piece contains the missed blocks.
    pub fn plan(self, sight: &Sight<'_>) -> Plan {
        match self {
            Prefetch::None => Plan::NOTHING,
            Prefetch::OneBlock => one_block::plan(sight),
            Prefetch::Fixed { degree } => fixed::plan(sight, degree),
            Prefetch::Linux => linux::plan(sight),
            Prefetch::Aggressive => aggressive::plan(sight),
            Prefetch::Competitive { channels, shares } => competitive::plan(sight, channels, shares),
            Prefetch::Supply { trigger, degree, total, .. } => supply::plan(sight, trigger, degree, total),
            Prefetch::Sarc { threshold, degree, distance } => sarc::plan(sight, threshold, degree, distance),
            Prefetch::Joined(parts) => joined::plan(sight, parts),
            Prefetch::Gill { .. } => gill::plan(sight),
        }
    }

    /// Whether an access a little behind where a stream is may be a late part of a large read, which tells nothing. To the policies of block
    /// caches, which know of no streams, it is an access like any other (but the block that two requests share, if those are no
    /// whole blocks).
    pub(crate) fn knows_late_parts(self) -> bool {
        !matches!(self, Prefetch::OneBlock | Prefetch::Fixed { .. } | Prefetch::Sarc { .. } | Prefetch::Gill { .. })
    }

    /// Whether the policy must see every reference, not only misses and first references.
    pub fn every_reference(self) -> bool {
        matches!(self, Prefetch::Fixed { .. } | Prefetch::Sarc { .. })
    }

    /// From how many blocks on that were wanted one after another a stream is sequential.
    pub(crate) fn threshold(self) -> u32 {
        match self {
            Prefetch::Sarc { threshold, .. } => threshold,
            _ => sarc::THRESHOLD,
        }
    }

    /// The largest degree, if streams learn theirs.
    pub(crate) fn learns(self) -> Option<u32> {
        match self {
            Prefetch::Gill { most } => Some(most),
            _ => None,
        }
    }

    /// Whether the policy wants [`Sight::wanted_end`], [`Sight::mean_length`] or [`Sight::habits`].
    pub fn wants_to_know(self) -> bool {
        self.goes_by_ends() || self.goes_by_lengths() || self.goes_by_habits()
    }

    /// Whether it goes by the odds of lengths, and by context.
    pub(crate) fn goes_by_habits(self) -> bool {
        matches!(self, Prefetch::Joined(Joined { habits: true, .. }))
    }

    /// A handler that skips fewer blocks goes on with its stream, although nothing was fetched for that: the first window, or as many as it
    /// asks for at a time (`request`). Where there always is a first window, or nothing is fetched without it, that is what tells. To read
    /// through a gap must be worth it: no longer than a switch.
    pub(crate) fn longest_stride(self, request: u32, depth: u32) -> u32 {
        if self.goes_by_habits() { INITIAL_WINDOW.max(request).min(depth) } else { 0 }
    }

    /// Whether it counts who else uses a device: for the size of pieces, and for the lead time.
    pub(crate) fn minds_company(self) -> bool {
        matches!(self, Prefetch::Joined(Joined { company: true, .. }))
    }

    /// Whether it loads what lies near misses.
    pub(crate) fn loads_near(self) -> bool {
        matches!(self, Prefetch::Joined(Joined { near: true, .. }))
    }

    /// Whether it leaves out what lies between equal steps.
    pub(crate) fn leaves_out_gaps(self) -> bool {
        matches!(self, Prefetch::Joined(Joined { gaits: true, .. }))
    }

    /// Whether it goes by where streams end.
    pub(crate) fn goes_by_ends(self) -> bool {
        matches!(self, Prefetch::Joined(Joined { whole: true, .. }))
    }

    /// Whether it goes by how long they are.
    pub(crate) fn goes_by_lengths(self) -> bool {
        matches!(self, Prefetch::Joined(Joined { lengths: true, .. }))
    }
}
