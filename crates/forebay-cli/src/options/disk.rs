//! `forebay disk`

use std::path::PathBuf;

use clap::Args;
use forebay_device::scheduler::SchedulerKind;

/// `forebay disk`
#[derive(Debug, Args)]
pub(crate) struct Disk {
    /// The bytes of the disk: a file as large as the disk is to be
    ///
    /// Example: `truncate -s 10G disk.img` makes one.
    #[arg(value_name = "IMAGE")]
    pub(crate) image: PathBuf,

    /// The empty folder to show the disk at
    ///
    /// The folder has one file `disk`, and a file `stats` with its counters (JSON). Example:
    /// `losetup --find --show --direct-io=on MOUNTPOINT/disk` makes a block device of it.
    #[arg(value_name = "MOUNTPOINT")]
    pub(crate) mountpoint: PathBuf,

    /// The modelled device: a name, or a description by its path
    ///
    /// `forebay device list` has the names. A description ends in .toml. Example: `--device
    /// ibm-10k`
    #[arg(long, value_name = "DEVICE")]
    pub(crate) device: String,

    /// The scheduler of the device
    ///
    /// It orders the requests that wait: none, elevator, anticipatory, deadline or cfq. Example:
    /// `--scheduler deadline`
    #[arg(long, value_name = "NAME", default_value = "elevator")]
    pub(crate) scheduler: SchedulerKind,

    /// Run the device this many times as fast
    #[arg(long, value_name = "NUMBER", default_value = "1", value_parser = speed)]
    pub(crate) scale: f64,

    /// Seed of the random part of the device
    #[arg(long, value_name = "NUMBER", default_value = "1")]
    pub(crate) seed: u64,
}

fn speed(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number| (0.001..=1000.0).contains(number));
    number.ok_or_else(|| "a number from 0.001 to 1000".to_owned())
}
