//! The mounts that are looked at, and what they say of themselves.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use forebay_live::explain::Explained;
use forebay_live::stats::Stats;
use forebay_live::tree::{EXPLAIN_XATTR, SOCKET_XATTR, STATS_XATTR};
use serde::de::DeserializeOwned;

use crate::failure::Failure;
use crate::listen;
use crate::options::Access;
use crate::published::{is_socket, published};

/// A mount's answer about itself.
#[derive(Clone, Debug)]
pub(super) struct Said {
    pub(super) stats: Stats,
    pub(super) explained: Explained,
}

/// All mounts that this process sees and may look into, by mount point, and by their sockets those
/// that it does not see.
pub(super) fn all() -> std::io::Result<Vec<PathBuf>> {
    let mut mounts = forebay_fuse::mounts()?;
    // The kernel keeps other users, root included, out of a mount without --allow-other.
    mounts.retain(|point| !std::fs::metadata(point).is_err_and(|error| error.kind() == ErrorKind::PermissionDenied));
    let nearby = Access::default();
    let socket_of = |point: &PathBuf| published(point, SOCKET_XATTR, &nearby).ok().map(PathBuf::from);
    let known: Vec<PathBuf> = mounts.iter().filter_map(socket_of).collect();
    let folder = listen::sockets().and_then(|folder| std::fs::read_dir(folder).ok());
    let names = folder.into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
    // One that does not answer was left by a crash.
    let answers = |path: &PathBuf| is_socket(path) && published(path, STATS_XATTR, &nearby).is_ok();
    let mut others: Vec<PathBuf> = names.filter(|path| !known.contains(path)).filter(answers).collect();
    others.sort();
    mounts.append(&mut others);
    Ok(mounts)
}

/// Asks a mount, by its mount point or its control socket, or an address. It may take as long as a
/// mount that hangs.
pub(super) fn ask(mount: &Path, access: &Access) -> Result<Said, Failure> {
    Ok(Said { stats: one(mount, STATS_XATTR, access)?, explained: one(mount, EXPLAIN_XATTR, access)? })
}

fn one<T: DeserializeOwned>(mount: &Path, attribute: &str, access: &Access) -> Result<T, Failure> {
    let text = published(mount, attribute, access)?;
    serde_json::from_str(&text)
        .map_err(|error| Failure::run(format!("{}: {attribute} is not understood: {error}", mount.display())))
}
