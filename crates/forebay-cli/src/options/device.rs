//! `forebay device`

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::Report;

/// `forebay device`
#[derive(Debug, Args)]
pub(crate) struct Device {
    /// What to do with devices
    #[command(subcommand)]
    pub(crate) command: DeviceCommand,
}

/// `forebay device …`
#[derive(Debug, Subcommand)]
pub(crate) enum DeviceCommand {
    /// List the devices that are shipped
    List(DeviceList),
    /// Show a device: what it is described by, and what follows from it
    Show(DeviceShow),
    /// Make a description from a parameter file of DiskSim
    Import(DeviceImport),
    /// Compare a modelled disk with what the real one was measured to do
    Check(DeviceCheck),
    /// List the schedulers that can stand before a device
    Schedulers(DeviceSchedulers),
}

/// `forebay device list`
#[derive(Debug, Args)]
pub(crate) struct DeviceList {
    /// Fixes what is random in the picture
    #[arg(long, value_name = "NUMBER", default_value = "1")]
    pub(crate) seed: u64,

    /// How to show them
    #[command(flatten)]
    pub(crate) report: Report,
}

/// `forebay device show`
#[derive(Debug, Args)]
pub(crate) struct DeviceShow {
    /// A device by its name, or one's own description by the path of its file, which ends in .toml
    #[arg(value_name = "DEVICE")]
    pub(crate) device: String,

    /// Fixes what is random in the picture
    #[arg(long, value_name = "NUMBER", default_value = "1")]
    pub(crate) seed: u64,

    /// How to show it; the picture is a disk's seek curve, or how long reads take against their size
    #[command(flatten)]
    pub(crate) report: Report,
}

/// `forebay device import`
#[derive(Debug, Args)]
pub(crate) struct DeviceImport {
    /// The parameter file, X.diskspecs, with the .model and .seek files that it names beside it
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// Write the description into this file, which must end in .toml, instead of standard output
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Take only its seek curve, speed, heads and zones
    #[arg(long)]
    pub(crate) simple: bool,
}

/// `forebay device check`
#[derive(Debug, Args)]
pub(crate) struct DeviceCheck {
    /// A disk by its name, or one's own description by the path of its file, which ends in .toml
    #[arg(value_name = "DEVICE")]
    pub(crate) device: String,

    /// What the real disk was asked and how long it took: R or W, Hit or Miss, first block, blocks of 512 bytes, measured
    /// service time, time to the next request, both in microseconds, a line a request; plain, gzip, xz or zstd
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
