//! Checks of the mount that the options and the configuration file describe: all that `forebay
//! mount` refuses before and after it asks the sources. Nothing is made or changed.

use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf, absolute};

use forebay_fuse::MountError;
use forebay_serve::{At, StartError};
use forebay_source::uri;
use forebay_tier::{Error, Options};
use rustix::io::Errno;

use super::{Finding, SAME, machine};
use crate::command::mount::{how_read, outside};
use crate::failure::Failure;
use crate::options::{ControlAt, Mount};
use crate::{listen, published, reading, tier};

/// The findings about a mount of these sources.
pub(super) fn findings(mount: &Mount, sources: &[OsString]) -> Vec<Finding> {
    let mut findings = vec![control(mount), budget(mount, sources)];
    findings.extend(mount.mountpoint.as_deref().map(point));
    let pace = mount.reading.pace.as_deref().and_then(|device| reading::queue(device).err());
    findings.extend(pace.map(|failure| refused("pace", failure)));
    match tier::planned(&mount.reading.tier) {
        Ok(folders) => findings.extend(folders.iter().map(folder)),
        Err(failure) => findings.push(refused("disk tier", failure)),
    }
    findings.extend(apart(mount, sources).err().map(|failure| refused("folders", failure)));
    findings
}

fn refused(check: &str, reason: impl ToString) -> Finding {
    Finding::failed(check, reason.to_string(), SAME)
}

/// The control channels, with the token and the encryption of an address.
fn control(mount: &Mount) -> Finding {
    let check = "control socket";
    if let Err(failure) = listen::planned(&mount.control, &mount.clients) {
        return refused("control", failure);
    }
    let socket = mount.control.iter().find_map(|at| if let ControlAt::Unix(path) = at { Some(path) } else { None });
    match socket {
        Some(path) => {
            let folder = above(path);
            if let Err(source) = is_folder(&folder) {
                return refused(check, StartError::Listen { at: At::Socket(path.clone()), source });
            }
            match machine::writable(&folder) {
                Ok(()) => Finding::ok(check, format!("{} can be made", path.display())),
                Err(reason) => refused(check, reason),
            }
        }
        None if mount.control.contains(&ControlAt::Off) => Finding::ok(check, "--control off wants none"),
        None => machine::control_socket(),
    }
}

/// Whether the memory is enough for an engine.
fn budget(mount: &Mount, sources: &[OsString]) -> Finding {
    let enough = how_read(mount).and_then(|(reading, shows)| reading::has_room(&reading, sources, shows.apart));
    match enough {
        Ok(()) => Finding::ok("least memory", format!("--memory {} is enough", mount.reading.memory)),
        Err(failure) => refused("least memory", failure),
    }
}

/// The place to mount at, in the words of a mount that is refused there. A mount clears a dead one
/// away; this does not.
fn point(point: &Path) -> Finding {
    let check = "mount point";
    let shown = point.display();
    let ours = forebay_fuse::mounts().unwrap_or_default();
    if absolute(point).is_ok_and(|point| ours.contains(&point)) {
        return match std::fs::metadata(point) {
            Err(error) if published::is_gone(&error) => {
                Finding::ok(check, format!("{shown}: a dead mount, which the next one replaces"))
            }
            _ => Finding::warning(check, format!("{shown}: a mount is there now"), "unmount it before the next mount"),
        };
    }
    if point.starts_with("/dev/fd") {
        return Finding::ok(check, format!("{shown} is for the parent process to open"));
    }
    match std::fs::read_dir(point).map(|mut names| names.next().is_some()) {
        Ok(false) => Finding::ok(check, format!("{shown} is an empty folder")),
        Ok(true) => refused(check, MountError::NotEmpty(point.into())),
        Err(error) if error.kind() == ErrorKind::NotFound => refused(check, MountError::Missing(point.into())),
        Err(error) if error.kind() == ErrorKind::NotADirectory => refused(check, MountError::NotAFolder(point.into())),
        Err(reason) => refused(check, MountError::System { point: point.into(), reason }),
    }
}

/// A folder of the disk tier, in the words of a tier that is refused.
fn folder(options: &Options) -> Finding {
    let check = "disk tier";
    let (dir, shown) = (&options.dir, options.dir.display());
    let amiss = |doing, reason| refused(check, Error::Refused { path: dir.clone(), doing, reason });
    if options.size < Options::LEAST {
        return refused(check, Error::TooSmall { dir: dir.clone(), size: options.size });
    }
    // The tier makes one folder, not those above it.
    let there = if dir.exists() { dir.clone() } else { above(dir) };
    if let Err(reason) = is_folder(&there) {
        return amiss("make this folder", reason);
    }
    match machine::writable(&there) {
        Ok(()) if there == *dir => Finding::ok(check, format!("{shown} can be written")),
        Ok(()) => Finding::ok(check, format!("{shown} can be made")),
        Err(reason) => refused(check, reason),
    }
}

/// The system's error if a folder is not there.
fn is_folder(path: &Path) -> io::Result<()> {
    if std::fs::metadata(path)?.is_dir() { Ok(()) } else { Err(Errno::NOTDIR.into()) }
}

/// The folder that a path lies in.
fn above(folder: &Path) -> PathBuf {
    absolute(folder).ok().and_then(|folder| Some(folder.parent()?.to_owned())).unwrap_or_default()
}

/// Whether sources, tier and mount point lie outside each other.
fn apart(mount: &Mount, sources: &[OsString]) -> Result<(), Failure> {
    let point = mount.mountpoint.as_deref();
    if let Some(point) = point {
        reading::outside(&mount.reading, point)?;
    }
    for source in sources {
        // The check of the source tells why it makes no sense.
        let Ok((_, place)) = uri::parse(source) else { continue };
        tier::apart(&mount.reading.tier, &place)?;
        if let Some(point) = point {
            outside(&place, point)?;
        }
    }
    Ok(())
}
