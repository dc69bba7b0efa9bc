//! Partition: whose frame goes. Either the whole cache is one, or each device has its own (SAC §2.2); and in each of them program
//! contexts may have their own (AMP §3.2).
//!
//! ```text
//!                      ┌ partition of device 0 ┐┌ of device 1 ┐┌ of device 2 ──────┐
//!   miss on device 1 ─▶│ LRU, Clock, ARC …     ││ the same     ││ the same          │
//!                      └───────────────────────┘└──────────────┘└───────────────────┘
//!     static, eager: the victim is its own partition's, if that has its size; else one's that is over its size
//!     lazy:          a lottery draws the partition that gives up a frame, the larger its size the seldomer
//! ```
//!
//! [`Segments`] has one instance of a replacement policy a partition, whatever policy that is: the framework that SAC §7 wishes for.
//! [`Division`] says how large each shall be, and looks at it again after every W requests (SAC §3.1). Past the paper it may go by how
//! far back reuse lies ([`Distances`]), and by prices. [`Program`] divides a segment among the looping contexts and the policy,
//! as long as that pays ([`Duel`]); past AMP few new blocks may stay instead (`bimodal`).

mod bimodal;
mod costs;
mod distances;
mod division;
mod duel;
mod lottery;
mod marginal;
mod noise;
mod program;
mod random;
mod segments;
mod share;
mod weights;
mod worth;

pub use distances::Distances;
pub use division::{Cause, Change, Division, Prospect};
pub use duel::{Duel, View};
pub use lottery::Lottery;
pub use program::Program;
pub use random::Random;
pub use segments::{OUTSIDE, Segments, Use};
pub use share::{Counted, Share, State};
pub use weights::{MOST_WEIGHTS, Weights};

/// How the cache is divided.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Partition {
    /// It is not.
    #[default]
    Whole,
    /// One partition a device (SAC).
    ByDevice(Settings),
}

impl Partition {
    /// One partition a device, with SAC's own settings.
    pub const fn paper(scheme: Scheme) -> Partition {
        Partition::ByDevice(Settings::paper(scheme))
    }

    /// The settings, if it is divided.
    pub fn settings(&self) -> Option<&Settings> {
        match self {
            Partition::Whole => None,
            Partition::ByDevice(settings) => Some(settings),
        }
    }

    /// The same, to change.
    pub fn settings_mut(&mut self) -> Option<&mut Settings> {
        match self {
            Partition::Whole => None,
            Partition::ByDevice(settings) => Some(settings),
        }
    }
}

/// How sizes come about, and how they are kept (SAC §2.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Scheme {
    /// Sizes are "selected once".
    Static,
    /// "When new partition sizes are desired, the algorithm immediately reallocates pages."
    Eager,
    /// "Only removes pages from partitions when they are truly needed by another partition", which an inverse lottery chooses.
    Lazy,
    /// There are none: the partition gives a frame whose frames are worth least (past the paper).
    Worth,
}

/// From which relative wait on a partition is a page consumer (SAC §3.1, T).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Threshold {
    /// So many per cent above the mean.
    ///
    /// The paper says T = 5 and no unit. In its closed loop all requests come to wait for the slowest disk, whose relative wait is far
    /// beyond the ratio of speeds, and five times the mean (400) is the reading that gives its figures (`experiments/sac-*.toml`).
    /// But no relative wait is larger than the number of devices: under a mount of a few, nothing would ever be corrected. So 5 per
    /// cent is the default.
    Percent(u16),
    /// "The sum of the mean and the variance" of wait times (SAC §3.1, as future work); here, the mean and the root of the variance of a
    /// device's relative wait from epoch to epoch.
    Variance,
}

/// How many pages a warming partition gets at first (SAC §3.1, I).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Increment {
    /// So many thousandths of the cache.
    PerMille(u16),
    /// As many as the wait is unequal (past the paper; SAC §5.6: "an adaptive base correction amount is needed").
    Adaptive,
}

/// What one more page is taken to be worth.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Benefit {
    /// The same for every page of a device that waits long: "a linear relationship […] between cache size and hit rate" (SAC §7).
    Linear,
    /// What misses on blocks that went a short while ago show, so that waits become few and equal (past the paper).
    Ghosts,
}

/// What a request to a device costs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Cost {
    /// The time that readers waited for it (SAC §3.1).
    Wait,
    /// Energy, money: what the device's description says (SAC §7, "power as a retrieval cost"). Where none says anything, waits.
    Price,
}

/// What can be chosen of a divided cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Settings {
    /// How sizes are kept.
    pub scheme: Scheme,
    /// W: an epoch is so many requests to devices. At least 1.
    pub window: u32,
    /// T.
    pub threshold: Threshold,
    /// I.
    pub increment: Increment,
    /// Whether devices whose accesses stream through without reuse have next to no pages (SAC §3.1 names the flaw). `false`: as the
    /// paper, which doesn't detect them.
    pub reuse: bool,
    /// Whether what a partition does not use the others may have, beyond their sizes, until it wants it (past the paper). `false`: sizes hold
    /// at once, used or not.
    pub lends: bool,
    /// What one more page is worth.
    pub benefit: Benefit,
    /// What a request costs.
    pub cost: Cost,
    /// The sizes at the beginning; of [`Scheme::Static`], for good.
    pub weights: Weights,
    /// Of the lottery.
    pub seed: u32,
}

impl Settings {
    /// SAC's own: W = 1000, I = 0.2 %, and a T that suits any number of devices ([`Threshold::Percent`]).
    pub const fn paper(scheme: Scheme) -> Settings {
        Settings {
            scheme,
            window: 1000,
            threshold: Threshold::Percent(5),
            increment: Increment::PerMille(2),
            reuse: false,
            lends: false,
            benefit: Benefit::Linear,
            cost: Cost::Wait,
            weights: match scheme {
                Scheme::Static => Weights::Service(256 << 10),
                Scheme::Eager | Scheme::Lazy | Scheme::Worth => Weights::EQUAL,
            },
            seed: 1,
        }
    }
}
