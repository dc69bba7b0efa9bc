//! The mounts that are looked at, and what they say of themselves.

use std::fmt;
use std::path::{Path, PathBuf};

use forebay_live::explain::Explained;
use forebay_live::stats::Stats;
use forebay_live::tree::{EXPLAIN_XATTR, SOCKET_XATTR, STATS_XATTR};
use forebay_serve::CONTROL;
use serde::de::DeserializeOwned;

use crate::command::stats::published;
use crate::failure::Failure;
use crate::listen;
use crate::socket;

/// A mount, by its mount point or by its control socket.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Mount {
    Point(PathBuf),
    Socket(PathBuf),
}

/// What a mount says of itself.
#[derive(Clone, Debug)]
pub(super) struct Said {
    pub(super) stats: Stats,
    pub(super) explained: Explained,
}

impl fmt::Display for Mount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Mount::Point(path) | Mount::Socket(path)) = self;
        path.display().fmt(f)
    }
}

impl Mount {
    /// A mount that is named on the command line.
    pub(super) fn named(path: &Path) -> Mount {
        use std::os::unix::fs::FileTypeExt;
        // A dead mount can't be looked at, and is no socket.
        let is_socket = std::fs::metadata(path).is_ok_and(|found| found.file_type().is_socket());
        if is_socket { Mount::Socket(path.into()) } else { Mount::Point(path.into()) }
    }

    /// All mounts that this process sees, and sockets of mounts that it does not see.
    pub(super) fn all() -> std::io::Result<Vec<Mount>> {
        let points = forebay_fuse::mounts()?;
        let known: Vec<PathBuf> = points.iter().filter_map(|point| socket_of(point)).collect();
        let folder = listen::sockets().and_then(|folder| std::fs::read_dir(folder).ok());
        let names = folder.into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
        let others = names.filter(|path| !known.contains(path)).map(|path| Mount::named(&path));
        // One that does not answer was left by a crash.
        let mut others: Vec<Mount> =
            others.filter(|mount| matches!(mount, Mount::Socket(path) if socket::get(path, CONTROL).is_ok())).collect();
        others.sort_by_key(ToString::to_string);
        Ok(points.into_iter().map(Mount::Point).chain(others).collect())
    }

    /// Asks it. It may take as long as a mount that hangs.
    pub(super) fn ask(&self) -> Result<Said, Failure> {
        Ok(Said { stats: self.one(STATS_XATTR, "stats")?, explained: self.one(EXPLAIN_XATTR, "explain")? })
    }

    fn one<T: DeserializeOwned>(&self, attribute: &str, route: &str) -> Result<T, Failure> {
        let text = match self {
            Mount::Point(point) => published(point, attribute)?,
            Mount::Socket(path) => socket::get(path, &format!("{CONTROL}{route}"))
                .map_err(|error| Failure::input(format!("{}: {error}", path.display())))?,
        };
        serde_json::from_str(&text)
            .map_err(|error| Failure::run(format!("{self}: its {route} are not understood: {error}")))
    }
}

fn socket_of(point: &Path) -> Option<PathBuf> {
    published(point, SOCKET_XATTR).ok().map(PathBuf::from)
}
