//! Storage-aware caching (SAC): a partition of the cache for each device, the larger the longer
//! readers wait for the device.
//!
//! ```text
//!                      ┌ partition of device 0 ┐┌ of device 1 ┐┌ of device 2 ──────┐
//!   miss on device 1 ─▶│ LRU, Clock, ARC …     ││ the same     ││ the same          │
//!                      └───────────────────────┘└──────────────┘└───────────────────┘
//!     static, eager: a partition that has its size gives a frame of its own; else the one furthest over its size
//!     lazy:          a lottery draws the partition that gives up a frame, the larger its size the seldomer
//! ```
//!
//! [`Division`] says how large each shall be, and looks at it again after every W requests (§3.1,
//! the four steps); [`Epochs`] measures the waits, [`Lottery`] draws, [`Weights`] are the sizes at
//! first.

mod division;
mod epochs;
mod lottery;
mod weights;

pub use division::Division;
pub use epochs::Epochs;
pub use lottery::Lottery;
pub use weights::{MOST_WEIGHTS, Weights};

/// How sizes come about, and how they are kept (SAC §2.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Scheme {
    /// Sizes are "selected once".
    Static,
    /// "When new partition sizes are desired, the algorithm immediately reallocates pages."
    Eager,
    /// "Only removes pages from partitions when they are truly needed by another partition", which
    /// an inverse lottery chooses.
    Lazy,
}

/// The settings of a divided cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Settings {
    /// How sizes are kept.
    pub scheme: Scheme,
    /// W: an epoch is this many requests to devices. At least 1.
    pub window: u32,
    /// T: a partition with a larger relative wait is a page consumer (SAC §3.1), in per cent above
    /// the mean.
    ///
    /// The paper says T = 5 and no unit. In its closed loop all requests come to wait for the
    /// slowest disk, whose relative wait is far beyond the ratio of speeds, and five times the mean
    /// (400) is the reading that gives its figures (`experiments/sac-*.toml`). But no relative wait
    /// is larger than the number of devices: under a mount of a few, nothing would ever be
    /// corrected. So 5 per cent is the default.
    pub threshold: u16,
    /// I: how many pages a warming partition gets at first (SAC §3.1), in thousandths of the cache.
    pub increment: u16,
    /// The sizes at the beginning; of [`Scheme::Static`], for good.
    pub weights: Weights,
    /// The seed of the lottery.
    pub seed: u32,
}

impl Settings {
    /// SAC's own: W = 1000, I = 0.2 %, and a T that suits any number of devices.
    pub const fn paper(scheme: Scheme) -> Settings {
        Settings {
            scheme,
            window: 1000,
            threshold: 5,
            increment: 2,
            weights: match scheme {
                Scheme::Static => Weights::Service(256 << 10),
                Scheme::Eager | Scheme::Lazy => Weights::EQUAL,
            },
            seed: 1,
        }
    }
}
