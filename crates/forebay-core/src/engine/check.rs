//! The invariants, checked by walking over everything. For tests.

use super::Engine;
use crate::index::Index;
use crate::replacement::Replacement;

impl<R: Replacement, I: Index> Engine<R, I> {
    /// Each frame in exactly one list; the index right; pins, files and devices counted right; no
    /// read forgotten.
    pub(super) fn check_invariants(&self) {
        let told = self.memory.check(&self.storage, self.requests.inflight());
        assert_eq!(told, self.told.ahead(), "blocks fetched ahead for lists and unread");
        self.told.check();
        let kept = self.told.kept().filter(|&key| self.memory.resident(key).is_none()).count();
        assert_eq!(kept, 0, "lists keep blocks that are not here");
        let under_way: u32 = self.storage.devices().iter().map(|device| device.under_way).sum();
        assert_eq!(under_way as usize, self.requests.inflight().under_way(), "fetches under way");
        let progress = under_way > 0 || self.memory.is_held() || !self.requests.are_queued();
        assert!(progress, "reads wait for frames that nobody will free");
    }
}
