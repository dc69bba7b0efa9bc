//! Partitions: instances of a replacement policy, one a device, and within each of them parts for
//! program contexts (AMP §3.2).
//!
//! [`Segments`] has one instance of a replacement policy a partition, whatever policy that is: the
//! framework that SAC §7 wishes for. A [`Divider`](crate::seams::Divider) says how large each is,
//! and which one gives up a frame. [`ContextParts`](crate::papers::amp::ContextParts) divides a
//! segment among the looping contexts and the policy, if a
//! [`Placement`](crate::seams::Placement) does not object (`parted`). [`Callers`] remember the last
//! answer of [`Contexts`](crate::seams::Contexts).
//!
//! Every hit goes through callers, and through the parts for contexts. So both are known here by
//! their types. Everything that may differ is behind seams that are not asked on most hits.

mod callers;
mod parted;
mod segments;

pub use callers::Callers;
pub use segments::Segments;
