//! The simulator: the policies of `forebay-core`, driven by traces in virtual time.
//!
//! [`untimed`] replays references without time and counts hits; [`timed`] runs a whole core over
//! modelled devices. [`chart`] draws the results. `forebay-repro`, which the simulator does not
//! know, checks the papers' claims with them.

pub mod chart;
mod sweep;
pub mod timed;
pub mod untimed;
mod watch;

pub use sweep::{processors, sweep};
pub use watch::{Unwatched, Watch};
