//! The progress of a run that reads its trace more than once.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::Watch;

/// How much of a pass is done.
#[derive(Clone, Copy)]
pub(super) struct Progress {
    pub(super) done: u64,
    pub(super) all: u64,
}

impl From<(u64, u64)> for Progress {
    fn from((done, all): (u64, u64)) -> Progress {
        Progress { done, all }
    }
}

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

    /// Reports how far the present pass is; returns whether it shall go on.
    pub(super) fn goes_on(&self, present: impl Into<Progress>) -> bool {
        let Progress { done, all } = present.into();
        let before = self.done.load(Ordering::Relaxed).saturating_mul(all);
        self.watch.progress(before.saturating_add(done.min(all)), all.saturating_mul(self.of));
        !self.watch.stopped()
    }

    /// The present pass is over.
    pub(super) fn next(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }
}
