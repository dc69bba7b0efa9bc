//! `forebay device`

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::Report;

/// `forebay device`
#[derive(Debug, Args)]
pub(crate) struct Device {
    /// The command
    #[command(subcommand)]
    pub(crate) command: DeviceCommand,
}

/// `forebay device …`
#[derive(Debug, Subcommand)]
pub(crate) enum DeviceCommand {
    /// List the devices that are shipped
    List(DeviceList),
    /// Show a device: its description, and the figures that follow from it
    Show(DeviceShow),
    /// Make a description from a parameter file of DiskSim
    Import(DeviceImport),
    /// Compare a modelled disk with measured times of the real one
    Check(DeviceCheck),
    /// List the schedulers that can stand before a device
    Schedulers(DeviceSchedulers),
}

/// `forebay device list`
#[derive(Debug, Args)]
pub(crate) struct DeviceList {
    /// Seed of the random part of the picture
    #[arg(long, value_name = "NUMBER", default_value = "1")]
    pub(crate) seed: u64,

    /// How to show them
    #[command(flatten)]
    pub(crate) report: Report,
}

/// `forebay device show`
#[derive(Debug, Args)]
pub(crate) struct DeviceShow {
    /// A device by its name, or a description by its path
    ///
    /// A description ends in .toml. Example: `ibm-10k` or `./mine.toml`
    #[arg(value_name = "DEVICE")]
    pub(crate) device: String,

    /// Seed of the random part of the picture
    #[arg(long, value_name = "NUMBER", default_value = "1")]
    pub(crate) seed: u64,

    /// How to show it; the picture is a disk's seek curve, or the time of a read by its size.
    #[command(flatten)]
    pub(crate) report: Report,
}

/// `forebay device import`
#[derive(Debug, Args)]
pub(crate) struct DeviceImport {
    /// DiskSim's parameter file, X.diskspecs
    ///
    /// The .model and .seek files that it names lie beside it.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// Write the description into this file instead of standard output
    ///
    /// The name must end in .toml. Example: `--output mine.toml`
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Take only its seek curve, speed, heads and zones
    #[arg(long)]
    pub(crate) simple: bool,
}

/// `forebay device check`
#[derive(Debug, Args)]
pub(crate) struct DeviceCheck {
    /// A disk by its name, or a description by its path
    ///
    /// A description ends in .toml. Example: `cheetah-9lp` or `./mine.toml`
    #[arg(value_name = "DEVICE")]
    pub(crate) device: String,

    /// The requests of the real disk and their measured times
    ///
    /// Each line is a request: R or W, Hit or Miss, first block, blocks of 512 bytes, measured
    /// service time, and time to the next request. Both times are in microseconds. The file may be
    /// plain, gzip, xz or zstd. Example: `--trace measured.zst`
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: PathBuf,

    /// How to show it; the picture has the distributions of measured and modelled times
    #[command(flatten)]
    pub(crate) report: Report,
}

/// `forebay device schedulers`
#[derive(Debug, Args)]
pub(crate) struct DeviceSchedulers {
    /// How to show them
    #[command(flatten)]
    pub(crate) report: Report,
}
