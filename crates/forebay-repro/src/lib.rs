//! The claims of the papers, each checked by an experiment: a description in `experiments/` (what
//! the paper says, what is set up and why, by which rule the result is judged) and the code that
//! runs it, a file in `claims/`.
//!
//! The simulator (`forebay_sim`) runs everything and knows nothing of claims. The machines that the
//! papers measured on are `server` (CP, CPEM), `raid` and `two_levels` (SCM), `disks` (SAC) and the
//! `recorded` programs (AMP); `ground` describes any of them in a few words. `suite` is what is
//! read today.
//!
//! To add a claim: its description, its file, and its line in `claims/mod.rs`.

mod amp_streams;
mod books;
mod claims;
mod disks;
mod error;
mod experiment;
mod found;
mod given;
mod ground;
mod line;
mod mixture;
mod page;
mod raid;
mod recorded;
mod scenario;
mod scripted;
mod server;
mod sheet;
mod suite;
mod two_levels;
mod verdict;

pub use claims::{described, described_in, experiment, experiments, is_drawn, run};
pub use error::Error;
pub(crate) use experiment::Job;
pub use experiment::{CellFigure, Context, Experiment, Finding, Measure};
pub use page::{Checked, page};
pub use verdict::{Kind, Rule, Verdict};
