//! Trigger: how early the next piece is fetched, across streams (SCM §4.1).
//!
//! A prefetch is due when no more than T blocks of a stream are fetched and unread, its *trigger
//! distance*: in the terms of inventory theory the reorder point. T = T_C + T_S: the blocks read
//! while the next piece is under way (cycle inventory), and those that irregular readers need
//! beyond that (safety inventory).
//!
//! ```text
//!   blocks   ╲          ╲
//!   unread    ╲   P      ╲
//!           T ─╲─ due ────╲──
//!               ╲  ▲ lead  ╲       arrives: P more
//!                ╲ │ time   ╲
//! ```
//!
//! Each way to divide T_total among streams is a policy, a file each.

use super::{equal_safety, equal_time};
use crate::demand::Supply;
use crate::reason::Reason;

/// "A lower limit for trigger distances is set to 4" (SCM §4.1.4).
pub const FLOOR: u32 = 4;

/// How the sum of trigger distances is divided among streams.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Trigger {
    /// Evenly: the kernels'.
    Even,
    /// Equal Time Supplies (SCM §4.1.2).
    EqualTime,
    /// Equal Safety Factors (SCM §4.1.3).
    EqualSafety,
}

impl Trigger {
    /// T_i, between the floor and the degree: "the trigger distance needs to be bounded by the
    /// prefetching degree" (SCM §5.2.4).
    pub fn distance(self, supply: &Supply, degree: u32) -> u32 {
        let distance = match self {
            Trigger::Even => supply.total / supply.streams.max(1),
            Trigger::EqualTime => equal_time::distance(supply),
            Trigger::EqualSafety => equal_safety::distance(supply),
        };
        distance.clamp(FLOOR.min(degree), degree)
    }

    /// The reason of a distance by this trigger.
    pub(crate) fn reason(self) -> Reason {
        match self {
            Trigger::Even => Reason::Even,
            Trigger::EqualTime => Reason::EqualTime,
            Trigger::EqualSafety => Reason::EqualSafety,
        }
    }
}
