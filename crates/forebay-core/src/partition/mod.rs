//! Partitions: instances of a replacement policy, one a device, and within each of them parts for
//! program contexts (AMP §3.2).
//!
//! [`Segments`] has one instance of a replacement policy a partition, whatever policy that is: the
//! framework that SAC §7 wishes for. How large each is, and whose frame goes, a
//! [`Divider`](crate::seams::Divider) says. [`Program`](crate::papers::amp::Program) divides a
//! segment among the looping contexts and the policy, if a [`Placement`](crate::seams::Placement)
//! does not object (`parted`). Where a block's context is told, [`Callers`] remember what was said.
//!
//! Callers and programs are part of every hit. So both are known here by their types, and what may
//! differ is behind seams that are not asked on most hits.

mod callers;
mod parted;
mod segments;

pub use callers::Callers;
pub use segments::Segments;
