//! Is this a place to mount on? A dead mount of ours, left behind by `kill -9`, is cleared away
//! first.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use crate::mount::MountError;
use crate::{device, handed, table};

/// How many dead mounts may lie on top of each other before we give up.
const STACKED_MAX: usize = 64;

/// Fails if `point` is no folder to mount on, so that a mistake is known before a source is waited
/// for. A mount that is there already may still go: its server may just have been killed.
pub fn check(point: &Path) -> Result<(), MountError> {
    if handed::is_one(point) {
        return Ok(());
    }
    match prepare(point) {
        Ok(_) | Err(MountError::AlreadyMounted { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Checks that `point` is an empty folder, which may be a volume of its own; returns its absolute
/// path without links.
pub(crate) fn prepare(point: &Path) -> Result<PathBuf, MountError> {
    let absolute = absolute(point)?;
    for _ in 0..STACKED_MAX {
        let Some(mounted) = table::at(&absolute).map_err(|error| MountError::io(point, error))? else { break };
        if is_volume(&mounted.kind, &absolute) {
            break;
        }
        if !mounted.is_forebays() || !is_dead(&absolute) {
            let what = format!("{} {}", mounted.kind, mounted.source.display());
            return Err(MountError::AlreadyMounted { point: absolute, what });
        }
        log::info!("clearing the dead mount at {}", absolute.display());
        device::detach(&absolute)?;
    }
    let mut names = std::fs::read_dir(&absolute).map_err(|error| refusal(point, error))?;
    if names.next().is_some() { Err(MountError::NotEmpty(absolute)) } else { Ok(absolute) }
}

/// File systems of local disks and of memory, as the volumes of containers are. One of a program or
/// of another machine may hang.
const VOLUMES: [&str; 12] =
    ["bcachefs", "btrfs", "ext2", "ext3", "ext4", "f2fs", "jfs", "overlay", "ramfs", "tmpfs", "xfs", "zfs"];

/// Whether the file system at `point` may be mounted over while it is empty. Those of the system
/// itself may not.
fn is_volume(kind: &str, point: &Path) -> bool {
    VOLUMES.contains(&kind) && !["/dev", "/proc", "/sys"].iter().any(|system| point.starts_with(system))
}

fn absolute(point: &Path) -> Result<PathBuf, MountError> {
    match std::fs::canonicalize(point) {
        Ok(absolute) => Ok(absolute),
        // A mount there may be dead, or refuse a look: then its parent knows its name.
        Err(error) if error.kind() != ErrorKind::NotFound => {
            let (Some(parent), Some(name)) = (point.parent(), point.file_name()) else {
                return Err(refusal(point, error));
            };
            let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
            std::fs::canonicalize(parent).map(|parent| parent.join(name)).map_err(|_| refusal(point, error))
        }
        Err(error) => Err(refusal(point, error)),
    }
}

fn refusal(point: &Path, error: std::io::Error) -> MountError {
    match error.kind() {
        ErrorKind::NotFound => MountError::Missing(point.into()),
        ErrorKind::NotADirectory => MountError::NotAFolder(point.into()),
        _ => MountError::io(point, error),
    }
}

/// Whether no process serves the mount at `point` any more. Asks for its free space, which the
/// kernel never answers from memory.
pub(crate) fn is_dead(point: &Path) -> bool {
    matches!(rustix::fs::statfs(point), Err(Errno::NOTCONN | Errno::CONNABORTED))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_volume_is_local_and_not_of_the_system() {
        let is = |kind, point| is_volume(kind, Path::new(point));
        assert!(is("tmpfs", "/mnt") && is("ext4", "/device/data") && is("overlay", "/srv"));
        for kind in ["fuse.forebay", "fuse.sshfs", "fuse", "fuseblk", "nfs4", "cifs", "9p", "ceph", "autofs", "proc"] {
            assert!(!is(kind, "/mnt"), "{kind}");
        }
        for point in ["/dev", "/dev/shm", "/sys/fs/cgroup", "/proc/acpi"] {
            assert!(!is("tmpfs", point), "{point}");
        }
    }
}
