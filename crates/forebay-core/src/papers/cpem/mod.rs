//! The prefetch cache (CPEM §4): which prefetched, unreferenced frame to give up, and how many
//! there may be.
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
mod prefetch_cache;
mod second_chance;

pub use ceiling::Ceiling;
pub use prefetch_cache::{PrefetchCache, Settings};
pub use second_chance::{Fate, Marks};
