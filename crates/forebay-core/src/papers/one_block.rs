//! One block lookahead (Smith 1978): a block that is fetched or referenced for the first time
//! brings the next one.

use crate::reason::Reason;
use crate::seams::{Needs, Plan, Prefetcher, Sight};

/// One block ahead.
#[derive(Clone, Copy, Debug)]
pub struct OneBlock;

impl Prefetcher for OneBlock {
    fn needs(&self) -> Needs {
        Needs { late_parts: false, ..Needs::default() }
    }

    fn plan(&mut self, sight: &Sight<'_>) -> Plan {
        let wanted = sight.stream.next + 1;
        Plan::one(wanted.saturating_sub(sight.from())).because(Reason::Policy, Reason::EveryAccess)
    }
}
