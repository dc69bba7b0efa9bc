//! Who looks on while a simulation runs, and may end it early.

/// Looks on, from whatever thread does the work.
pub trait Watch: Sync {
    /// `done` of `all` units of this run are done; called now and then, with growing `done`.
    fn progress(&self, done: u64, all: u64);
    /// Whether to stop as soon as possible: what is finished is reported, the rest is left out.
    fn stopped(&self) -> bool;
}

/// Nobody looks on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unwatched;

impl Watch for Unwatched {
    fn progress(&self, _done: u64, _all: u64) {}

    fn stopped(&self) -> bool {
        false
    }
}
