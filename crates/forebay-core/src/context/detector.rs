//! The access pattern detector (AMP Fig. 3, §3.1): which contexts there are, what patterns they have, which of them have a partition.

use super::{Access, Caller, Hint, Settings};
use crate::types::{BlockKey, ContextId};

/// The detector of a cache.
#[derive(Clone, Debug)]
pub struct Detector {
    settings: Settings,
    now: u64,
}

impl Detector {
    /// Nothing is known.
    pub fn new(settings: Settings) -> Detector {
        Detector { settings, now: 0 }
    }

    /// What was chosen.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// A block is accessed: where does it go?
    pub fn access(&mut self, caller: Caller, key: BlockKey) -> Access {
        let _ = (caller, key);
        self.now += 1;
        Access { now: self.now, ..Access::default() }
    }

    /// Takes over what an earlier run learnt.
    pub fn hint(&mut self, context: ContextId, hint: Hint) {
        let _ = (context, hint);
    }

    /// What was learnt, in the order of contexts.
    pub fn hints(&self) -> impl Iterator<Item = (ContextId, Hint)> {
        core::iter::empty()
    }

    /// The bytes that it takes.
    pub fn footprint(&self) -> usize {
        0
    }
}
