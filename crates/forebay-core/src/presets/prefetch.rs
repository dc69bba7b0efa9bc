//! The prefetchers as values: which one, and its settings.

use alloc::boxed::Box;
use core::fmt;
use core::mem::discriminant;

use crate::auto::{Auto, Parts};
use crate::engine::Setup;
use crate::papers::cp::Competitive;
use crate::papers::fixed::Fixed;
use crate::papers::gill::Gill;
use crate::papers::none::Demand;
use crate::papers::sarc::Sarc;
use crate::papers::scm::{Degree, SupplyChain, Total, Trigger};
use crate::peers::arrow::Arrow;
use crate::peers::gcsfs::Gcsfs;
use crate::peers::mithril::{self, Mithril};
use crate::peers::mountpoint::Mountpoint;
use crate::seams::{MAX_PIECE_BYTES, Prefetcher};

/// A prefetcher without settings. Two of the same name are the same.
#[derive(Clone, Copy)]
pub struct Plain {
    name: &'static str,
    build: fn() -> Box<dyn Prefetcher>,
}

impl Plain {
    pub(super) const fn new(name: &'static str, build: fn() -> Box<dyn Prefetcher>) -> Plain {
        Plain { name, build }
    }
}

impl PartialEq for Plain {
    fn eq(&self, other: &Plain) -> bool {
        self.name == other.name
    }
}

impl Eq for Plain {}

impl fmt::Debug for Plain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// How much to prefetch, and when.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Prefetch {
    /// Only demanded blocks are fetched.
    #[default]
    None,
    /// A prefetcher without settings.
    Plain(Plain),
    /// RA: the next `degree` blocks after every access.
    Fixed {
        /// How many blocks ahead.
        degree: u32,
    },
    /// Competitive prefetching.
    Competitive {
        /// Whether a device with several channels is fetched from over all of them (CP §4).
        channels: bool,
        /// Whether a stream keeps to its share of the room for blocks ahead.
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
    /// Gill and Bathen's: degree and trigger distance learnt by stream.
    Gill {
        /// No degree is larger, in blocks.
        most: u32,
    },
    /// The read window of Mountpoint for Amazon S3.
    Mountpoint,
    /// The adaptive prefetcher of gcsfs.
    Gcsfs,
    /// Arrow's merging of ranges.
    Arrow {
        /// The largest hole that is read through, bytes.
        hole: u32,
    },
    /// MITHRIL's associations.
    Mithril,
    /// `auto`.
    Auto(Parts),
}

impl Prefetch {
    /// Whether the two are of the same kind, whatever their settings.
    pub fn is_like(&self, other: &Prefetch) -> bool {
        match (self, other) {
            (
                Prefetch::Supply { trigger, degree, .. },
                Prefetch::Supply { trigger: other_trigger, degree: other_degree, .. },
            ) => trigger == other_trigger && discriminant(degree) == discriminant(other_degree),
            (Prefetch::Plain(own), Prefetch::Plain(other)) => own == other,
            (Prefetch::Arrow { hole }, Prefetch::Arrow { hole: other }) => hole == other,
            _ => discriminant(self) == discriminant(other),
        }
    }

    /// Whether it remembers how far streams came.
    pub fn remembers_streams(&self) -> bool {
        matches!(self, Prefetch::Auto(Parts { whole, lengths, habits, .. }) if *whole || *lengths || *habits)
    }

    /// The bytes that the tables of other systems' rules take for each frame, if there is a stream
    /// for each four frames.
    pub fn bytes_a_frame(&self) -> u32 {
        match self {
            Prefetch::Mountpoint => Mountpoint::BYTES_A_STREAM.div_ceil(4),
            Prefetch::Gcsfs => Gcsfs::BYTES_A_STREAM.div_ceil(4),
            Prefetch::Arrow { .. } => 1,
            Prefetch::Mithril => mithril::BYTES_A_FRAME,
            _ => 0,
        }
    }

    /// Makes it, for a cache that tells program contexts apart or does not.
    pub(super) fn build(self, setup: &Setup, by_context: bool) -> Box<dyn Prefetcher> {
        match self {
            Prefetch::None => Box::new(Demand),
            Prefetch::Plain(plain) => (plain.build)(),
            Prefetch::Fixed { degree } => Box::new(Fixed { degree }),
            Prefetch::Competitive { channels, shares } => Box::new(Competitive { channels, shares }),
            Prefetch::Supply { trigger, degree, total, slot_ms } => {
                Box::new(SupplyChain { trigger, degree, total, slot_ms })
            }
            Prefetch::Sarc { threshold, degree, distance } => Box::new(Sarc { threshold, degree, distance }),
            Prefetch::Gill { most } => {
                let longest = MAX_PIECE_BYTES / setup.block_bytes.max(1).next_power_of_two();
                Box::new(Gill::new(setup.streams, most.min(longest)))
            }
            Prefetch::Mountpoint => Box::new(Mountpoint::new(setup.streams, setup.block_bytes)),
            Prefetch::Gcsfs => Box::new(Gcsfs::new(setup.streams, setup.block_bytes)),
            Prefetch::Arrow { hole } => Box::new(Arrow::new(setup.streams, setup.block_bytes, hole)),
            Prefetch::Mithril => Box::new(Mithril::new(setup.frames)),
            Prefetch::Auto(parts) => {
                let (devices, frames) = (setup.devices.len().max(1), setup.frames);
                Box::new(Auto::new(parts, setup.streams, devices, by_context, frames))
            }
        }
    }
}
