//! Reclaim: which prefetched, unreferenced frame to give up, and what is remembered of those that went.

mod eviction_history;

pub use eviction_history::EvictionHistory;

/// Where prefetched, unreferenced frames live until their first reference.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Reclaim {
    /// Among the referenced ones, under the replacement policy: Linux (CPEM §2.2), and so CP.
    #[default]
    WithTheRest,
}

impl Reclaim {
    /// The most frames, of `frames`, that all streams together should have prefetched and not yet read. With the rest,
    /// a third: a block that was prefetched A blocks ahead waits while A others are used and as many arrive, all of them more
    /// recent than it, and up to A frames are being filled. With more than a third it would be thrown out just before its use
    /// (CPEM §2.3).
    pub fn ceiling(self, frames: u32) -> u32 {
        match self {
            Reclaim::WithTheRest => frames / 3,
        }
    }
}
