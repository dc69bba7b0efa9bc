//! RA, fixed read-ahead (Smith 1982, as in SCM §5.3): "with every block request, the next 4 blocks
//! will be prefetched, regardless of whether the access pattern is sequential".

use crate::reason::Reason;
use crate::seams::{Needs, Plan, Prefetcher, Sight};

/// The next `degree` blocks, always.
#[derive(Clone, Copy, Debug)]
pub struct Fixed {
    /// How many.
    pub degree: u32,
}

impl Prefetcher for Fixed {
    fn needs(&self) -> Needs {
        Needs { every_reference: true, late_parts: false, ..Needs::default() }
    }

    fn plan(&mut self, sight: &Sight<'_>) -> Plan {
        let wanted = sight.stream.next + self.degree;
        Plan::one(wanted.saturating_sub(sight.from())).because(Reason::Policy, Reason::EveryAccess)
    }
}
