//! `--order`: finds the mount whose files they are, and tells it their order over its socket.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use forebay_live::told::{Answer, spelt};
use forebay_live::tree::{SOCKET_XATTR, STATS_XATTR};
use forebay_serve::HINT;
use rustix::io::Errno;

use super::names::Wanted;
use super::{Failed, Report};
use crate::failure::Failure;
use crate::options::Warm;
use crate::socket;

/// The longest path of a socket.
const LONGEST: usize = 4096;

/// Tells each mount its files, in order.
pub(super) fn tell(options: &Warm, wanted: &[Wanted]) -> Result<Report, Failure> {
    let mut report = Report::default();
    let mut mounts: BTreeMap<PathBuf, Vec<u8>> = BTreeMap::new();
    let mut roots: BTreeMap<PathBuf, PathBuf> = BTreeMap::new();
    for file in wanted {
        match line(file, &mut roots) {
            Ok((root, line)) => mounts.entry(root).or_default().extend(line),
            Err(why) => report.failed.push(Failed::new(file.path.display().to_string(), why)),
        }
    }
    for (root, lines) in mounts {
        let Answer { accepted, missing } = post(&root, &options.list, &lines)?;
        report.files += accepted - (missing.len() as u64).min(accepted);
        let failed = |name: String| Failed::new(root.join(name).display().to_string(), "no such file");
        report.failed.extend(missing.into_iter().map(failed));
    }
    Ok(report)
}

/// The root of a file's mount, and its line.
fn line(file: &Wanted, roots: &mut BTreeMap<PathBuf, PathBuf>) -> Result<(PathBuf, Vec<u8>), String> {
    let name = file.path.file_name().ok_or("not a file")?;
    let folder = folder(file).canonicalize().map_err(|error| error.to_string())?;
    let root = match roots.get(&folder) {
        Some(root) => root.clone(),
        None => {
            let root = root(&folder).ok_or("not in a forebay mount")?.to_owned();
            roots.insert(folder.clone(), root.clone());
            root
        }
    };
    let path = folder.join(name);
    let inner = path.strip_prefix(&root).map_err(|_| "not below its mount")?;
    let range = file.range.as_ref().map(|range| format!(",\"start\":{},\"end\":{}", range.start, range.end));
    let line = format!("{{\"path\":{}{}}}\n", spelt(inner), range.unwrap_or_default()).into_bytes();
    Ok((root, line))
}

/// The folder that a file is in.
fn folder(file: &Wanted) -> &Path {
    file.path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The root of the mount that a folder is in.
fn root(folder: &Path) -> Option<&Path> {
    folder.ancestors().find(|at| rustix::fs::getxattr(*at, STATS_XATTR, &mut [0_u8; 0][..]).is_ok())
}

/// Those of the files whose folder is there, and on no mount.
pub(super) fn foreign(wanted: &[Wanted]) -> Vec<&Path> {
    let is_foreign = |folder: &Path| folder.canonicalize().is_ok_and(|folder| root(&folder).is_none());
    let mut known = BTreeMap::new();
    let folders = wanted.iter().map(|file| (file, folder(file)));
    let foreign = folders.filter(|&(_, folder)| *known.entry(folder).or_insert_with(|| is_foreign(folder)));
    foreign.map(|(file, _)| &*file.path).collect()
}

/// Replaces a list of a mount.
fn post(root: &Path, list: &str, lines: &[u8]) -> Result<Answer, Failure> {
    let at = root.display();
    let mut socket = vec![0; LONGEST];
    let length = rustix::fs::getxattr(root, SOCKET_XATTR, socket.as_mut_slice()).map_err(|errno| match errno {
        Errno::NODATA => Failure::input(format!(
            "{at}: the mount has no control socket; mount it with --control unix:PATH, or warm without --order"
        )),
        errno => Failure::input(format!("{at}: {}", std::io::Error::from(errno))),
    })?;
    socket.truncate(length);
    let socket = PathBuf::from(String::from_utf8_lossy(&socket).into_owned());
    let refused = |error| Failure::run(format!("{at}: its control socket {}: {error}", socket.display()));
    let list = list.bytes().map(|byte| format!("%{byte:02x}")).collect::<String>();
    let body = socket::post(&socket, &format!("{HINT}?list={list}&mode=replace"), lines).map_err(refused)?;
    serde_json::from_str(&body).map_err(|error| Failure::run(format!("{at}: an answer that makes no sense: {error}")))
}
