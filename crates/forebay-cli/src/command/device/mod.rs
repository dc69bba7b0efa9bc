//! `forebay device`: models of devices: listed, shown, imported, checked.

mod check;
mod figures;
mod import;
mod latency;
mod list;
mod parameters;
mod schedulers;
mod show;

use crate::failure::Failure;
use crate::options::{Device, DeviceCommand};

/// Runs the command.
pub(crate) fn run(device: &Device) -> Result<(), Failure> {
    match &device.command {
        DeviceCommand::List(list) => list::run(list),
        DeviceCommand::Show(show) => show::run(show),
        DeviceCommand::Import(import) => import::run(import),
        DeviceCommand::Check(check) => check::run(check),
        DeviceCommand::Schedulers(schedulers) => schedulers::run(schedulers),
    }
}
