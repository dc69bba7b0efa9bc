//! `forebay device`: models of devices: listed, shown, imported, checked.

use crate::failure::Failure;
use crate::options::Device;

/// Does what was asked.
pub(crate) fn run(device: &Device) -> Result<(), Failure> {
    let _ = device;
    Err(Failure::run("not there yet"))
}
