//! RA, fixed read-ahead (Smith 1982, as in SCM §5.3): "with every block request, the next 4 blocks will be prefetched,
//! regardless of whether the access pattern is sequential".

use super::{Plan, Reason, Sight};

pub(super) fn plan(sight: &Sight<'_>, degree: u32) -> Plan {
    let wanted = sight.stream.next + degree;
    Plan::one(wanted.saturating_sub(sight.from())).because(Reason::Policy, Reason::EveryAccess)
}
