//! `forebay explain`

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use forebay_core::Policy;
use forebay_sim::untimed::Capacity;

use super::sim::{Sim, Span, Time};
use super::trace::Reading;
use super::{Access, Report};
use crate::near;
use crate::period::{Period, PeriodError};
use crate::size::Size;

/// `forebay explain`
#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// A mount, or a trace to simulate up to a moment
    ///
    /// A mount is its folder, its control socket or an address, as in `forebay stats`. A trace is a
    /// file in any format that `forebay trace info` knows, or a synthetic one. Example:
    /// `/mnt/data`, `http://host:7680` or `one-whole-0`
    #[arg(value_name = "MOUNTPOINT|TRACE")]
    pub(crate) what: PathBuf,

    #[command(flatten)]
    pub(crate) access: Access,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,

    /// The moment to explain: this long after the beginning, as in 30s, or the end
    #[arg(long, value_name = "TIME", default_value = "end", help_heading = TRACE, conflicts_with = "limit")]
    pub(crate) at: At,

    /// The policy that the trace is simulated under
    #[arg(long, short, value_name = "NAME", default_value = "auto", value_parser = near::Policies, hide_possible_values = true, help_heading = TRACE)]
    pub(crate) policy: Policy,

    /// The size of the cache: 5% of the distinct blocks, 512MiB, or 3537b for blocks
    #[arg(long, short, value_name = "SIZE", default_value = "10%", help_heading = TRACE)]
    pub(crate) memory: Capacity,

    /// The block that ranges are split into
    #[arg(long, value_name = "SIZE", default_value = "4KiB", help_heading = TRACE)]
    pub(crate) block_bytes: Size,

    /// Leave out writes
    #[arg(long, help_heading = TRACE)]
    pub(crate) reads_only: bool,

    /// How to read it
    #[command(flatten, next_help_heading = TRACE)]
    pub(crate) reading: Reading,

    /// The seed of everything random: synthetic traces, places of files, devices
    #[arg(long, value_name = "NUMBER", default_value = "1", help_heading = TRACE)]
    pub(crate) seed: u64,

    /// Time
    #[command(flatten)]
    pub(crate) time: Time,
}

impl Explain {
    /// The simulation of a trace up to the moment, as `forebay sim` would run it.
    pub(crate) fn simulation(self) -> Sim {
        let limit = match self.at {
            At::End => self.time.limit,
            At::After(period) => Some(Span::Time(period)),
        };
        Sim {
            given: None,
            trace: self.what,
            policy: vec![self.policy.to_string()],
            memory: vec![self.memory],
            curve: Vec::new(),
            sample: None,
            sample_size: None,
            points: 0,
            no_opt: false,
            block_bytes: Some(self.block_bytes),
            reads_only: self.reads_only,
            sizes: false,
            admit_below: None,
            reading: self.reading,
            threads: Some(1),
            seed: self.seed,
            time: Time { limit, ..self.time },
            report: Report { json: self.json, csv: false, plot: None },
        }
    }
}

/// The heading of the options for traces only.
const TRACE: &str = "Options of a trace";

/// The moment to explain.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum At {
    /// After the last request has been answered.
    End,
    /// This long after the beginning.
    After(Period),
}

impl FromStr for At {
    type Err = PeriodError;

    fn from_str(text: &str) -> Result<At, PeriodError> {
        if text == "end" { Ok(At::End) } else { text.parse().map(At::After) }
    }
}
