//! Reclaim: which prefetched, unreferenced frame to give up, and what is remembered of those that went (CPEM §4).
//!
//! ```text
//!              ┌──────── prefetch cache ────────┐    first reference
//!   prefetch ─▶│ tail ░░░░░░░░░░░░░░░░░░░░ head │───────────────────▶ replacement policy ─▶ evicted
//!              └──▲────────────────────────┬────┘          ▲                                 │
//!                 └───── second chance ────┤   given up    │                                 ▼
//!                                          └───────────────┘                        eviction history
//!                                                                                            │ missed after all
//!                              ceiling ◀───── LRU misses + prefetch misses, an epoch ◀───────┘
//! ```

mod ceiling;
mod eviction_history;
mod prefetch_cache;
mod rent;
mod second_chance;

pub use ceiling::{Ceiling, Course, ONE_MISS, Unit, Walk};
pub use eviction_history::{EvictionHistory, Was};
pub use prefetch_cache::{Misses, PrefetchCache, Settings, StreamCount};
pub use second_chance::{Fate, Marks};

/// Where prefetched, unreferenced frames live until their first reference.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Reclaim {
    /// Among the referenced ones, under the replacement policy: Linux (CPEM §2.2), and so CP.
    #[default]
    WithTheRest,
    /// In a queue of their own, the prefetch cache (CPEM §4).
    PrefetchCache(Settings),
}

impl Reclaim {
    /// With the rest, the most frames, of `frames`, that all streams together should have prefetched and not yet read: a
    /// third. A block that was prefetched A blocks ahead waits while A others are used and as many arrive, all of them more
    /// recent than it, and up to A frames are being filled. With more than a third it would be thrown out just before its use
    /// (CPEM §2.3).
    pub(crate) fn third(frames: u32) -> u32 {
        frames / 3
    }
}
