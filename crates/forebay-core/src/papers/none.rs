//! No prefetching: only demanded blocks are fetched.

use crate::seams::{Needs, Plan, Prefetcher, Sight};

/// Fetches only demanded blocks.
#[derive(Clone, Copy, Debug)]
pub struct Demand;

impl Prefetcher for Demand {
    fn needs(&self) -> Needs {
        Needs { looks_ahead: false, ..Needs::default() }
    }

    fn plan(&mut self, _: &Sight<'_>) -> Plan {
        Plan::NOTHING
    }
}
