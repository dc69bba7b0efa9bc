//! No prefetching: nothing is fetched that nobody asked for.

use crate::seams::{Needs, Plan, Prefetcher, Sight};

/// Fetches what is asked for.
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
