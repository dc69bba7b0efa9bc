//! Runs: which blocks are fetched together.
//!
//! Demand and prefetch that touch are one run, and one fetch; a piece, or a stripe unit, begins
//! another.

use alloc::vec::Vec;
use core::mem;

use crate::types::{BlockKey, Extent};

/// The runs of a read that is being admitted, in the order in which they are fetched.
#[derive(Default)]
pub(super) struct Runs {
    runs: Vec<Extent>,
}

impl Runs {
    /// None.
    pub(super) fn clear(&mut self) {
        self.runs.clear();
    }

    /// Appends a block to the last run, or begins a new one: always, if it must be `apart` from
    /// what lies before.
    pub(super) fn append(&mut self, key: BlockKey, apart: bool) {
        match self.runs.last_mut() {
            Some(run) if run.is_empty() && run.start == key.block() && run.file == key.file() => run.len = 1,
            Some(run) if !apart && run.end() == key.block() && run.file == key.file() => run.len += 1,
            _ => self.runs.push(Extent { file: key.file(), start: key.block(), len: 1 }),
        }
    }

    /// Appends a block to the run that its piece has, or begins one, if it is to be `apart` from
    /// what lies before, and the next one is not.
    pub(super) fn append_to_piece(&mut self, key: BlockKey, begins_unit: bool, apart: &mut bool) {
        if mem::take(apart) {
            self.runs.push(Extent { file: key.file(), start: key.block(), len: 0 });
        }
        self.append(key, begins_unit);
    }

    /// The runs.
    pub(super) fn as_slice(&self) -> &[Extent] {
        &self.runs
    }
}
