//! The invariants, checked by walking over everything. For tests.

use super::Engine;
use crate::index::Index;
use crate::replacement::Replacement;

impl<R: Replacement, I: Index> Engine<R, I> {
    /// Each frame in exactly one list; the index right; pins, files and devices counted right; no
    /// read forgotten.
    pub(super) fn check_invariants(&self) {
        self.memory.check(&self.storage, self.requests.inflight());
        let under_way: u32 = self.storage.devices().iter().map(|device| device.under_way).sum();
        assert_eq!(under_way as usize, self.requests.inflight().under_way(), "fetches under way");
        let progress = under_way > 0 || self.memory.is_held() || !self.requests.are_queued();
        assert!(progress, "reads wait for frames that nobody will free");
    }
}
