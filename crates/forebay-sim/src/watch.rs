//! An observer of a running simulation, which may end it early.

/// Observes a run, from the threads that do its work.
pub trait Watch: Sync {
    /// `done` of `all` units of this run are done; called now and then, with growing `done`.
    fn progress(&self, done: u64, all: u64);
    /// Whether to stop as soon as possible: finished results are reported, the rest is left out.
    fn stopped(&self) -> bool;
}

/// No observer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unwatched;

impl Watch for Unwatched {
    fn progress(&self, _done: u64, _all: u64) {}

    fn stopped(&self) -> bool {
        false
    }
}
