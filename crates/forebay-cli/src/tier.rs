//! From the options of the disk tier to the tiers, and sources behind them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use forebay_source::Source;
use forebay_source::uri::Place;
use forebay_tier::{Error, Free, Options, TieredSource, Tiers};

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
    let mut seen = Vec::new();
    for dir in &options.disk {
        let there = found(dir);
        if seen.contains(&there) {
            return Err(Failure::input(Error::Twice(dir.clone())));
        }
        seen.push(there);
    }
    options.disk.iter().map(|dir| folder(dir)).collect()
}

/// The path of a folder without links, as far as it is there.
fn found(dir: &Path) -> PathBuf {
    let dir = std::path::absolute(dir).unwrap_or_else(|_| dir.to_path_buf());
    let there = dir.ancestors().find_map(|above| Some((above, above.canonicalize().ok()?)));
    match there {
        Some((above, real)) => real.join(dir.strip_prefix(above).unwrap_or(Path::new(""))),
        None => dir,
    }
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
        let inside = |dir: &&PathBuf| found(dir).starts_with(&folder);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{Command, parse};

    fn planned(disks: &[&Path]) -> Result<usize, String> {
        let mut args: Vec<_> = ["forebay", "--config", "/dev/null", "mount", "a", "b"].map(Into::into).into();
        args.extend(disks.iter().flat_map(|dir| ["--disk".into(), dir.as_os_str().to_owned()]));
        let Command::Mount(mount) = parse(args).map_err(|error| error.to_string())?.command else { unreachable!() };
        super::planned(&mount.reading.tier).map(|folders| folders.len()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_folder_is_given_once() {
        let dir = tempfile::tempdir().unwrap();
        let (real, link) = (dir.path().join("real"), dir.path().join("link"));
        std::os::unix::fs::symlink(&real, &link).unwrap();
        assert_eq!(planned(&[&real, &dir.path().join("other")]), Ok(2));
        let twice = |one: &Path, other: &Path| planned(&[one, other]).unwrap_err();
        assert!(twice(&real, &real).contains("given twice"), "before it is made");
        std::fs::create_dir(&real).unwrap();
        for other in [&real, &link, &dir.path().join("link/../real/.")] {
            assert_eq!(
                twice(&real, other),
                format!("{}: given twice; name each folder of the disk tier once", other.display())
            );
        }
        assert!(twice(&link.join("new"), &real.join("new")).contains("given twice"));
    }
}
