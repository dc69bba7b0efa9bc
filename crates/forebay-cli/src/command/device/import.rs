//! `forebay device import`

use forebay_device::diskspecs;

use super::figures::Figures;
use crate::failure::Failure;
use crate::options::DeviceImport;
use crate::output;

/// Makes a description of a parameter file.
pub(super) fn run(import: &DeviceImport) -> Result<(), Failure> {
    if let Some(output) = import.output.as_ref().filter(|path| path.extension().is_none_or(|ending| ending != "toml")) {
        return Err(Failure::input(format!("{}: a description's name ends in .toml", output.display())));
    }
    let read = if import.simple { diskspecs::import_simple } else { diskspecs::import };
    let description = read(&import.file).map_err(Failure::input)?;
    // A description that cannot be built is not written.
    Figures::of(&description).map_err(Failure::input)?;
    let body = toml::to_string(&description).map_err(|error| Failure::run(format!("cannot write TOML: {error}")))?;
    let name = import.file.file_name().unwrap_or(import.file.as_os_str()).to_string_lossy();
    let simple = if import.simple { ", its seek curve, speed, heads and zones alone" } else { "" };
    let text = format!("# From {}{simple}.\n{body}", name.escape_debug());
    match &import.output {
        None => output::print(&text),
        Some(path) => std::fs::write(path, text)
            .map_err(|error| Failure::run(format!("cannot write {}: {error}", path.display()))),
    }
}
