//! The progress of a run that reads its trace more than once.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::Watch;

/// A number of passes, which count as equally long.
pub(super) struct Passes<'a> {
    watch: &'a dyn Watch,
    of: u64,
    done: AtomicU64,
}

impl<'a> Passes<'a> {
    pub(super) fn new(watch: &'a dyn Watch, of: u64) -> Passes<'a> {
        Passes { watch, of, done: AtomicU64::new(0) }
    }

    /// Reports how much of the present pass is done; returns whether it shall go on.
    pub(super) fn goes_on(&self, done: u64, all: u64) -> bool {
        let before = self.done.load(Ordering::Relaxed).saturating_mul(all);
        self.watch.progress(before.saturating_add(done.min(all)), all.saturating_mul(self.of));
        !self.watch.stopped()
    }

    /// The present pass is over.
    pub(super) fn next(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }
}
