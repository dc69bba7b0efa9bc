//! From the options of the disk tier to the tiers, and sources behind them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use forebay_source::Source;
use forebay_source::uri::Place;
use forebay_tier::{Free, Options, TieredSource, Tiers};

use crate::failure::Failure;
use crate::options::{Amount, Tier};

/// The tiers in the folders that the options name; `None` if they name none.
pub(crate) fn open(options: &Tier) -> Result<Option<Arc<Tiers>>, Failure> {
    if options.disk.is_empty() {
        return Ok(None);
    }
    Tiers::open(planned(options)?).map(Some).map_err(Failure::input)
}

/// The folders that the options name, with what the tier may take of each.
pub(crate) fn planned(options: &Tier) -> Result<Vec<Options>, Failure> {
    let free = match options.disk_free {
        Amount::Bytes(bytes) => Free::Bytes(bytes),
        Amount::Percent(percent) => Free::Percent(percent),
    };
    let writes = options.disk_writes.map(|rate| rate.bytes());
    let folder = |dir: &Path| {
        let size = size(options.disk_size, dir)?;
        Ok::<_, Failure>(Options { free, writes, ..Options::new(dir, size) })
    };
    options.disk.iter().map(|dir| folder(dir)).collect()
}

/// A size in bytes. A share is one of the folder's file system, or of that in which it would be
/// made.
fn size(amount: Amount, dir: &Path) -> Result<u64, Failure> {
    let percent = match amount {
        Amount::Bytes(bytes) => return Ok(bytes),
        Amount::Percent(percent) => percent,
    };
    let there = dir.ancestors().find(|dir| dir.exists()).unwrap_or(Path::new("."));
    let system = rustix::fs::statvfs(there)
        .map_err(|error| Failure::input(format!("{}: cannot ask for the size of its disk: {error}", dir.display())))?;
    Ok((system.f_blocks as f64 * system.f_frsize as f64 * percent / 100.0) as u64)
}

/// A source behind the tiers, if there are any.
pub(crate) fn behind(tiers: &Option<Arc<Tiers>>, source: Arc<dyn Source>) -> Arc<dyn Source> {
    match tiers {
        Some(tiers) => Arc::new(TieredSource::new(source, Arc::clone(tiers))),
        None => source,
    }
}

/// Whether a folder of the tier lies in a source, which would then show its files and cache them.
pub(crate) fn apart(options: &Tier, place: &Place<'_>) -> Result<(), Failure> {
    for device in place.devices() {
        let Place::Folder(folder) = device else { continue };
        // A missing folder is reported by the code that opens it.
        let Ok(folder) = folder.canonicalize() else { continue };
        let inside = |dir: &&PathBuf| {
            let dir = std::path::absolute(dir).unwrap_or_else(|_| dir.to_path_buf());
            dir.ancestors().find_map(|dir| dir.canonicalize().ok()).is_some_and(|there| there.starts_with(&folder))
        };
        if let Some(dir) = options.disk.iter().find(inside) {
            return Err(Failure::input(format!(
                "--disk {}: lies in the source {}, which would show its files; name a folder outside it",
                dir.display(),
                folder.display()
            )));
        }
    }
    Ok(())
}

/// Whether a folder of the tier lies below a mount point, which would hide it from its own mount.
pub(crate) fn outside(options: &Tier, point: &Path) -> Result<(), Failure> {
    let Ok(point) = point.canonicalize() else { return Ok(()) };
    for dir in &options.disk {
        let there = dir.ancestors().find_map(|dir| dir.canonicalize().ok());
        if there.is_some_and(|there| there.starts_with(&point)) {
            return Err(Failure::input(format!(
                "--disk {}: lies in the mount point {}, which would hide it; name a folder outside it",
                dir.display(),
                point.display()
            )));
        }
    }
    Ok(())
}
