//! The simulator: the policies of `forebay-core`, driven by traces in virtual time.
//!
//! [`untimed`] replays references without time and counts hits; [`timed`] runs a whole core over modelled devices.
//! [`chart`] draws what came out.

pub mod chart;
pub mod timed;
pub mod untimed;
mod watch;

pub use watch::{Unwatched, Watch};
