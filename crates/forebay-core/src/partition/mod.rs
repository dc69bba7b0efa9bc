//! Partitions: instances of a replacement policy, one a device, and within each of them parts for
//! program contexts (AMP §3.2).
//!
//! [`Segments`] has one instance of a replacement policy a partition, whatever policy that is: the
//! framework that SAC §7 wishes for. How large each is, and whose frame goes, a
//! [`Divider`](crate::seams::Divider) says. [`Program`] divides a segment among the looping
//! contexts and the policy, as long as that pays ([`Duel`]); past AMP few new blocks may stay
//! instead (`bimodal`).

mod bimodal;
mod duel;
mod program;
mod segments;

pub use duel::{Duel, View};
pub use program::Program;
pub use segments::{OUTSIDE, Segments, Use};
