//! `forebay device`

use clap::{Args, Subcommand};

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
    List,
}
