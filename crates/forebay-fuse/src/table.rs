//! The mounts that matter here, by the table of mounts.

use std::io;
use std::path::{Path, PathBuf};

use forebay_source::mounts::{Entry, table};

/// The visible mount at `point` (an absolute path without links), if it is a mount point.
pub(crate) fn at(point: &Path) -> io::Result<Option<Entry>> {
    Ok(table()?.into_iter().rfind(|entry| entry.point == point))
}

/// A mount whose files have this device number, if this process sees one.
pub(crate) fn of_device(device: &str) -> io::Result<Option<Entry>> {
    Ok(table()?.into_iter().find(|entry| entry.device == device))
}

/// The visible mount at `point` if it is one of Forebay. What lies beneath one, such as a volume,
/// is none.
pub(crate) fn ours_at(point: &Path) -> io::Result<Option<Entry>> {
    Ok(at(point)?.filter(Entry::is_forebays))
}

/// Whether the mount `id` is still there, seen or covered by another.
pub(crate) fn has(id: u64) -> io::Result<bool> {
    Ok(table()?.iter().any(|entry| entry.id == id))
}

/// The mount points of Forebay that this process sees, in the order in which they were mounted.
pub fn mounts() -> io::Result<Vec<PathBuf>> {
    let mut points: Vec<PathBuf> = Vec::new();
    for entry in table()?.into_iter().filter(Entry::is_forebays) {
        if !points.contains(&entry.point) {
            points.push(entry.point);
        }
    }
    Ok(points)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_that_proc_is_a_mount_and_its_folders_are_not() {
        assert_eq!(at(Path::new("/proc")).unwrap().map(|entry| entry.kind), Some("proc".into()));
        assert_eq!(at(Path::new("/proc/self")).unwrap(), None);
        assert_eq!(ours_at(Path::new("/proc")).unwrap(), None);
    }
}
