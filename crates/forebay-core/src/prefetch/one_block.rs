//! One block lookahead (Smith 1978): a block that is fetched or referenced for the first time brings the next one.

use super::{Plan, Reason, Sight};

pub(super) fn plan(sight: &Sight<'_>) -> Plan {
    let wanted = sight.stream.next + 1;
    Plan::one(wanted.saturating_sub(sight.from())).because(Reason::Policy, Reason::EveryAccess)
}
