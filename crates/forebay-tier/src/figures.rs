//! The deeds of a tier in figures, for metrics.

use std::sync::atomic::{AtomicU64, Ordering};

pub use forebay_source::TierFigures as Figures;

/// The counters among the figures.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) hit_bytes: AtomicU64,
    pub(crate) miss_bytes: AtomicU64,
    pub(crate) read_bytes: AtomicU64,
    pub(crate) written_bytes: AtomicU64,
    pub(crate) over_budget_bytes: AtomicU64,
    pub(crate) no_room_bytes: AtomicU64,
    pub(crate) damaged: AtomicU64,
    pub(crate) read_errors: AtomicU64,
    pub(crate) write_errors: AtomicU64,
}

/// Adds to a counter.
pub(crate) fn count(counter: &AtomicU64, by: usize) {
    counter.fetch_add(by as u64, Ordering::Relaxed);
}

impl Counters {
    /// The figures, of which the counters are filled in.
    pub(crate) fn figures(&self) -> Figures {
        let told = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Figures {
            hit_bytes: told(&self.hit_bytes),
            miss_bytes: told(&self.miss_bytes),
            read_bytes: told(&self.read_bytes),
            written_bytes: told(&self.written_bytes),
            over_budget_bytes: told(&self.over_budget_bytes),
            no_room_bytes: told(&self.no_room_bytes),
            damaged: told(&self.damaged),
            read_errors: told(&self.read_errors),
            write_errors: told(&self.write_errors),
            ..Figures::default()
        }
    }
}
