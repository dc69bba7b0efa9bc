//! DiskSim's parameter files: `X.diskspecs` with the `.model` and `.seek` files that it names
//! beside it, as a [`Description`].
//!
//! Read are blocks `disksim_disk` with their `dm_disk`, its `dm_layout_g1` and its `dm_mech_g1`; a
//! `dm_disk` alone gives a disk without a cache. Not read, and an error: the layouts `dm_layout_g2`
//! and `dm_layout_g4` (maps of single tracks), `Access time type = constant` (no mechanics). All
//! other parameters are used, except these. They do not change how long a request takes on a disk
//! that has one request at a time:
//!
//! - `Scheduler`, `Preseeking level`, `Allow write prebuffering`, `Allow sneaky intermediate read
//!   hits`, `Write initiation delay` and the like: how the disk treats a second request while it
//!   works on one. A queue in front of the model orders requests; `Max queue length` is taken.
//! - `Avg sectors per cylinder`: for schedulers outside. `Print stats`, `Calc sector by sector`:
//!   for the simulator itself.
//! - `Block count`: follows from the layout. `Number of cylinders`: the layout's zones have them,
//!   with those between zones.
//! - `Hold bus entire read xfer`, `Hold bus entire write xfer`, `Low (write) water mark`, `Immed
//!   transfer partial hit`: use of the bus meanwhile. The bus is this disk's alone, and its data
//!   come as fast as bus and media give them.
//! - `Allow sneaky partial read hits`: a read that is only partly on board waits for the arm in any
//!   case.
//! - `Read-ahead over requested` 0 and 1 are the same: read-ahead replaces the segment's oldest
//!   sectors.
//! - `Stop prefetch in sector`: less than a sector's time, and within the command's overhead.
//! - `Write hit stop prefetch`: every write stops the sweep here. `Disconnect write if seek`:
//!   likewise without a bus to share.
//! - `Read directly to buffer`: a sector's time at the end of a full segment.
//! - `Maximum number of write segments`: at most one write is on its way to the media at a time.
//! - `Fast write level` 1 and 2 are the same: both let go of the host once its data are on board.
//! - `Percent error in rpms`: DiskSim does not use it either.
//! - `Maximum read-ahead (blks)` with `Buffer continuous read` 4: DiskSim reads on to the track's
//!   end all the same, and a smaller segment keeps the last sectors.
//!
//! Added is one time that DiskSim does not have: the arm takes at least half of the shortest seek
//! to a read, even on the track under the head (`Overheads::least_read_seek_ms`).
//! `docs/notes/2026-11-28-disks.md` has the measurements.

use std::io;
use std::path::{Path, PathBuf};

use crate::{Description, ModelDescription};

mod controller;
mod model;
mod node;
mod syntax;

/// Why a parameter file gave no description.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// A file cannot be read.
    #[error("{}: {source}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file describes an impossible disk.
    #[error("{}:{line}: {reason}", .path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u32,
        /// The fault.
        reason: String,
    },
}

/// The disk of `X.diskspecs`, with every parameter of the files.
///
/// ```no_run
/// let description = forebay_device::diskspecs::import("cheetah9LP.diskspecs".as_ref())?;
/// println!("{}", toml::to_string(&description).expect("every description is TOML"));
/// # Ok::<(), forebay_device::diskspecs::ImportError>(())
/// ```
pub fn import(path: &Path) -> Result<Description, ImportError> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let bytes = std::fs::read(path).map_err(|source| ImportError::Read { path: path.to_owned(), source })?;
    read(&bytes, path, &mut |name| std::fs::read(folder.join(name)))
}

/// The same disk, by its seek curve, speed, surfaces, zones and the size of its cache alone.
pub fn import_simple(path: &Path) -> Result<Description, ImportError> {
    let mut description = import(path)?;
    if let ModelDescription::Disk(disk) = &description.model {
        description.model = ModelDescription::Disk(disk.simplified());
    }
    Ok(description)
}

/// The disk of a parameter file's bytes. `origin` names it in errors, `file` answers with the files
/// that it names.
pub fn read(
    bytes: &[u8],
    origin: &Path,
    file: &mut dyn FnMut(&str) -> io::Result<Vec<u8>>,
) -> Result<Description, ImportError> {
    let mut files = node::Files { origin: origin.to_owned(), open: file, left: 16 };
    let specs = files.parse(bytes, origin.to_owned())?;
    controller::describe(&mut files, specs)
}

#[cfg(test)]
mod tests;
