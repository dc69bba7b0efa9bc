//! `forebay disk`

use std::path::PathBuf;

use clap::Args;
use forebay_device::scheduler::SchedulerKind;

/// `forebay disk`
#[derive(Debug, Args)]
pub(crate) struct Disk {
    /// The bytes of the disk: a file as large as the disk is to be, made with `truncate -s 10G IMAGE`
    #[arg(value_name = "IMAGE")]
    pub(crate) image: PathBuf,

    /// The empty folder to show it at, as one file `disk`, with what it did in a file `stats` (JSON). For a block device,
    /// `losetup --find --show --direct-io=on MOUNTPOINT/disk`
    #[arg(value_name = "MOUNTPOINT")]
    pub(crate) mountpoint: PathBuf,

    /// Which device it is: a name (`forebay device list`), or one's own description by the path of its file, which ends in
    /// .toml
    #[arg(long, value_name = "DEVICE")]
    pub(crate) device: String,

    /// The order in which the device serves what waits: none, elevator, anticipatory, deadline or cfq
    #[arg(long, value_name = "NAME", default_value = "elevator")]
    pub(crate) scheduler: SchedulerKind,

    /// Let the device be so many times as fast
    #[arg(long, value_name = "NUMBER", default_value = "1", value_parser = speed)]
    pub(crate) scale: f64,

    /// Fixes what is random in the device
    #[arg(long, value_name = "NUMBER", default_value = "1")]
    pub(crate) seed: u64,
}

fn speed(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number| (0.001..=1000.0).contains(number));
    number.ok_or_else(|| "a number from 0.001 to 1000".to_owned())
}
