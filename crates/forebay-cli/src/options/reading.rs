//! How sources are read: the options that all commands over sources share.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use forebay_core::Policy;

use super::{Stores, Tier};
use crate::near;
use crate::period::Period;
use crate::size::Size;

/// How sources are read.
#[derive(Clone, Debug, Args)]
pub(crate) struct Reading {
    /// Memory for everything: data, blocks under way, and bookkeeping
    #[arg(long, short, value_name = "SIZE", default_value = "512MiB")]
    pub(crate) memory: Size,

    /// The policy of prefetching and of keeping blocks
    ///
    /// `forebay policies` lists and explains them. Example: `--policy linux+lru`
    #[arg(long, short, value_name = "NAME", default_value = "auto", value_parser = near::Policies, hide_possible_values = true)]
    pub(crate) policy: Policy,

    #[command(flatten)]
    pub(crate) stores: Stores,

    /// The disk tier.
    #[command(flatten)]
    pub(crate) tier: Tier,

    /// How long names and attributes count as unchanged
    ///
    /// The default is 1s for folders, and 10s for object stores and web servers. Example: `--ttl
    /// 1m`
    #[arg(long, value_name = "TIME")]
    pub(crate) ttl: Option<Period>,

    /// Write every event that the policies get into this file
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,

    /// Slow the sources down to the pace of this modelled device
    #[arg(long, value_name = "DEVICE")]
    pub(crate) pace: Option<String>,
}

impl Reading {
    /// How long a name of a folder counts as unchanged: asking again costs little.
    pub(crate) fn ttl(&self) -> Duration {
        self.ttl.map_or(Duration::from_secs(1), Period::duration)
    }

    /// The same for a name of an object store or a web server.
    pub(crate) fn ttl_of_stores(&self) -> Duration {
        self.ttl.map_or(Duration::from_secs(10), Period::duration)
    }
}
