//! AP, aggressive prefetching: Linux "with a maximum prefetching depth of 256 pages (about twice
//! that of competitive prefetching)" (CP §3.2). Windows double from 16, the slow start "used in all
//! kernels".

use super::linux;
use crate::files::INITIAL_WINDOW;
use crate::seams::{Plan, Prefetcher, Sight};

const MAXIMUM: u32 = 256;

/// Linux with larger windows.
#[derive(Clone, Copy, Debug)]
pub struct Aggressive;

impl Prefetcher for Aggressive {
    fn plan(&mut self, sight: &Sight<'_>) -> Plan {
        linux::plan_up_to(sight, |piece| (piece * 2).clamp(INITIAL_WINDOW, MAXIMUM))
    }
}
