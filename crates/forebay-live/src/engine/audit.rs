//! An engine, audited between two events: for tests and soaks, which do so after every one.
//!
//! The core has its own invariants. These are about what stands around it: nothing is locked, no
//! decision is left lying, every read is waited for by exactly one closure or lease, and the tables
//! of files agree with each other.

use std::sync::Arc;

use forebay_core::{Action, Cause, Event, EventKind, ToldList};

use super::{Engine, State};

/// The engine's occupation at a moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Audit {
    /// Reads that wait for an answer.
    pub waiting: usize,
    /// Reads that were answered, and whose leases live.
    pub leased: usize,
    /// Fetches that sources were asked for.
    pub under_way: usize,
    /// Files that readers have open.
    pub open: usize,
    /// Files that told lists hold.
    pub held: usize,
    /// References to blocks until now. Lists may take frames of others for them.
    pub references: u64,
}

impl Audit {
    /// Whether nothing is under way, open or held.
    pub fn is_idle(&self) -> bool {
        *self == Audit { references: self.references, ..Audit::default() }
    }
}

impl Engine {
    /// Panics unless every invariant holds; walks over everything. No other thread may use the
    /// engine meanwhile.
    pub fn audit(&self) -> Audit {
        let state = self.state.try_lock().expect("the engine is locked between two events");
        state.core.check();
        assert!(state.actions.is_empty(), "decisions that nobody carries out: {:?}", state.actions);
        assert_eq!(state.core.frames().0, self.budget.frames, "frames of the budget");
        assert!(self.arena.is_still(), "a copy out of a frame has no end");
        let under_way: u32 = state.core.devices().iter().map(|device| device.under_way).sum();
        assert_eq!(under_way as usize, state.under_way.len(), "fetches that the core and the engine know");
        assert!(state.closed.len() <= self.budget.closed_files, "more closed files are kept than the budget allows");
        let (waiting, leased) = state.audit_reads();
        let (open, held) = state.audit_files();
        assert_eq!(open as u64, state.open, "open files");
        let references = state.core.counters().references();
        Audit { waiting, leased, under_way: state.under_way.len(), open, held, references }
    }

    /// The told lists.
    pub fn audit_lists(&self) -> Vec<ToldList> {
        self.state.lock().core.told_lists()
    }

    /// Panics if no fetch is under way, so that no further event is certain, and the core would do
    /// something now that it has not done yet. A list that has blocks ahead may get more of them as
    /// time passes: its reader comes for those that it has.
    pub fn audit_stillness(self: &Arc<Self>) {
        let mut state = self.state.try_lock().expect("the engine is locked between two events");
        if !state.under_way.is_empty() {
            return;
        }
        let (at, counters) = (self.now(), state.core.counters());
        let ahead = counters.hinted > counters.hints_used + counters.hints_wasted;
        state.handle(Event { at, kind: EventKind::Tick });
        let asked = |action: &Action| match action {
            Action::Fetch { cause, .. } => !ahead || *cause != Cause::Hint,
            action => matches!(action, Action::Ready { .. }),
        };
        let left: Vec<Action> = state.actions.iter().copied().filter(asked).collect();
        assert!(left.is_empty(), "work lay undone until the next event: {left:?}");
        self.carry_out(state);
    }
}

impl State {
    /// How many reads wait, and how many are leased.
    fn audit_reads(&self) -> (usize, usize) {
        let waiting = self.reads.iter().flatten().count();
        let mut free = vec![false; self.reads.len()];
        for read in &self.free_reads {
            assert!(self.reads[read.index()].is_none(), "the number of a read that waits is free");
            assert!(!std::mem::replace(&mut free[read.index()], true), "the number of a read is free twice");
        }
        (waiting, self.reads.len() - waiting - self.free_reads.len())
    }

    /// How many files readers have open, and how many lists hold.
    fn audit_files(&self) -> (usize, usize) {
        let (mut open, mut held) = (0, 0);
        for (place, &file) in &self.closed {
            let entry = self.files.get(file.0).expect("a closed file is known");
            assert_eq!(entry.closed, Some(*place), "the place of a closed file");
        }
        for (known, &file) in &self.known {
            let entry = self.files.get(file.0).expect("a file that can be found by version is known");
            assert!(entry.known == *known, "a file is known as another one");
            let used = entry.handles > 0 || entry.holds > 0;
            assert_eq!(used, entry.object.is_some(), "a file has an object while somebody uses it");
            assert!(used != entry.closed.is_some(), "a file is used, or among the closed ones");
            open += usize::from(entry.handles > 0);
            held += usize::from(entry.holds > 0);
        }
        (open, held)
    }
}
