//! The faults of the store: one after the other, with quiet times between them.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use forebay_testkit::breaking::{BreakingProxy, Fault, Which};

use super::files::Dice;

/// A mount may give up for as long after a fault as it was patient, and this machine may be busy.
const AFTER: Duration = Duration::from_secs(20);

/// A time in which the store was faulty.
#[derive(Clone, Debug)]
struct Spell {
    fault: String,
    over: Option<Instant>,
}

/// All faults so far.
#[derive(Debug, Default)]
pub(super) struct Spells(Mutex<Vec<Spell>>);

impl Spells {
    fn with<T>(&self, with: impl FnOnce(&mut Vec<Spell>) -> T) -> T {
        with(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn begin(&self, proxy: &BreakingProxy, fault: Fault) {
        let spell = Spell { fault: format!("{fault:?}"), over: None };
        self.with(|spells| spells.push(spell));
        proxy.set(fault);
    }

    pub(super) fn end(&self, proxy: &BreakingProxy) {
        proxy.set(Fault::None);
        self.with(|spells| {
            let Some(last) = spells.last_mut() else { return };
            last.over.get_or_insert_with(Instant::now);
        });
    }

    /// The last fault that a call which began at that time, and is over now, can have met.
    pub(super) fn met(&self, begun: Instant) -> Option<String> {
        self.with(|spells| {
            let met = |spell: &&Spell| spell.over.is_none_or(|over| over + AFTER > begun);
            spells.last().filter(met).map(|spell| spell.fault.clone())
        })
    }

    pub(super) fn count(&self) -> usize {
        self.with(|spells| spells.len())
    }
}

/// All faults that the testkit knows, each as it stands and, so that readers still get on, for some
/// of the requests.
pub(super) fn all(dice: &mut Dice) -> Vec<Fault> {
    let every = Fault::every().into_iter().filter(|fault| *fault != Fault::None);
    let slow = [Fault::Silent(Which::All), Fault::Silent(Which::Ranges)];
    let some = every.clone().chain(slow).filter(|fault| !matches!(fault, Fault::First(..) | Fault::EveryNth(..)));
    let some: Vec<Fault> = some.map(|fault| Fault::EveryNth(2 + dice.below(5), Box::new(fault))).collect();
    let mut all: Vec<Fault> = every.chain(some).collect();
    (1..all.len()).rev().for_each(|at| all.swap(at, dice.below(at + 1)));
    all
}
