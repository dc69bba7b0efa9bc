//! `forebay soak`

use clap::{Args, value_parser};
use forebay_soak::{Bounds, Fault};

/// `forebay soak`
#[derive(Debug, Args)]
pub(crate) struct Soak {
    /// How many seeds to live through
    ///
    /// Each is a life of its own; they follow each other from the first one on.
    #[arg(long, value_name = "COUNT", default_value = "1000", conflicts_with = "seed")]
    pub(crate) seeds: u64,

    /// Live through this seed alone
    ///
    /// A failure prints the options that repeat it. Example: `--seed 17 --events 300`
    #[arg(long, value_name = "NUMBER")]
    pub(crate) seed: Option<u64>,

    /// The first of several seeds; by default the clock chooses it
    #[arg(long, value_name = "NUMBER", conflicts_with = "seed")]
    pub(crate) from: Option<u64>,

    /// Events of each life until its readers go away
    #[arg(long, value_name = "COUNT", default_value_t = Bounds::default().events)]
    pub(crate) events: u64,

    /// The most readers of a life
    #[arg(long, value_name = "COUNT", default_value_t = Bounds::default().readers, value_parser = value_parser!(u32).range(1..))]
    pub(crate) readers: u32,

    /// The most files of a life
    #[arg(long, value_name = "COUNT", default_value_t = Bounds::default().files, value_parser = value_parser!(u32).range(1..))]
    pub(crate) files: u32,

    /// Kinds of faults to leave out
    ///
    /// They are transient, permanent, short, hang, outage, change, away, inline, told, lease, label
    /// and near; set, of devices that make one; of the disk tier, tier, disk, flip, full, crash and
    /// jump. Example: `--without hang,told`
    #[arg(long, value_name = "FAULT", value_delimiter = ',')]
    pub(crate) without: Vec<Fault>,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl Soak {
    /// The bounds of each life.
    pub(crate) fn bounds(&self) -> Bounds {
        let Soak { events, readers, files, .. } = *self;
        Bounds { events, readers, files, without: self.without.clone() }
    }
}
