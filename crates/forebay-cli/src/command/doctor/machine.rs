//! Checks of this machine: FUSE, the limits of processes, the folders of the user.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::Access;
use rustix::process::{Resource, getrlimit};

use super::Finding;
use crate::listen;

const DEVICE: &str = "/dev/fuse";
const CONFIGURATION: &str = "/etc/fuse.conf";

/// Descriptors without which a mount of a store fails under load: 64 connections, and its own.
const LEAST: u64 = 128;
/// Descriptors for many files of folders at once; it is also the usual limit.
const ENOUGH: u64 = 1024;

/// The findings about this machine.
pub(super) fn findings(allow_other: bool) -> Vec<Finding> {
    let root = rustix::process::geteuid().is_root();
    let mut findings = vec![device(root)];
    if !root {
        findings.push(mount_program());
        findings.push(other_users(allow_other));
    }
    findings.extend([descriptors(), cache_folder()]);
    findings
}

fn device(root: bool) -> Finding {
    let check = "fuse";
    match File::options().read(true).write(true).open(DEVICE) {
        Ok(_) => Finding::ok(check, format!("{DEVICE} can be opened")),
        Err(error) if error.kind() == ErrorKind::NotFound => Finding::failed(
            check,
            format!("{DEVICE} is missing"),
            "load it with `modprobe fuse`, or give the container `--device /dev/fuse`",
        ),
        // fusermount3 opens it with the user's rights.
        Err(error) if !root && error.kind() == ErrorKind::PermissionDenied => {
            Finding::failed(check, format!("{DEVICE} may not be opened"), "`chmod 666 /dev/fuse`, its usual mode")
        }
        Err(error) => Finding::failed(
            check,
            format!("{DEVICE}: {error}"),
            "give the container `--device /dev/fuse --cap-add SYS_ADMIN`, or hand a descriptor over (docs/operating.md)",
        ),
    }
}

/// The program that mounts for those who are not root. It must belong to root and be setuid.
fn mount_program() -> Finding {
    const SETUID: u32 = 0o4000;
    let (check, install) = ("fusermount3", "install the package fuse3, or mount as root");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join(check)).find_map(|program| {
        let metadata = program.metadata().ok()?;
        Some((program, metadata))
    });
    match found {
        None => Finding::failed(check, "it is not on the PATH", install),
        Some((program, metadata)) if metadata.mode() & SETUID == 0 || metadata.uid() != 0 => {
            let advice = format!("`chown root {0} && chmod u+s {0}`, or {install}", program.display());
            Finding::failed(check, format!("{} is not setuid root, so it cannot mount", program.display()), advice)
        }
        Some((program, _)) => Finding::ok(check, format!("{} can mount", program.display())),
    }
}

fn other_users(wanted: bool) -> Finding {
    let check = "other users";
    let text = fs::read_to_string(CONFIGURATION).unwrap_or_default();
    if text.lines().any(|line| line.trim() == "user_allow_other") {
        return Finding::ok(check, "--allow-other is permitted");
    }
    let about = format!("{CONFIGURATION} does not permit --allow-other");
    let advice = format!("add the line user_allow_other to {CONFIGURATION}, or mount as root");
    if wanted { Finding::failed(check, about, advice) } else { Finding::warning(check, about, advice) }
}

/// A mount raises its limit to the hard one by itself.
fn descriptors() -> Finding {
    let (check, limit) = ("descriptors", getrlimit(Resource::Nofile).maximum);
    let about = limit.map_or_else(|| "as many as are wanted".to_owned(), |limit| format!("at most {limit}"));
    let advice = "raise the hard limit: LimitNOFILE=65536 in the unit, or /etc/security/limits.conf";
    match limit {
        Some(limit) if limit < LEAST => Finding::failed(check, about, advice),
        Some(limit) if limit < ENOUGH => Finding::warning(check, about, advice),
        _ => Finding::ok(check, about),
    }
}

/// The folder in which a mount has its control socket if no place is said.
pub(super) fn control_socket() -> Finding {
    let check = "control socket";
    let advice = "give --control unix:PATH, or set XDG_RUNTIME_DIR to a folder that only the user can enter";
    match std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from) {
        None => Finding::warning(check, "XDG_RUNTIME_DIR is not set, so mounts have no control socket", advice),
        Some(folder) => {
            let fit = listen::own(&folder).map_err(|error| error.to_string()).and_then(|()| writable(&folder));
            match fit {
                Ok(()) => Finding::ok(check, format!("{} can be written", folder.display())),
                Err(reason) => Finding::warning(check, reason, advice),
            }
        }
    }
}

/// The folder of profiles, and of hints about program contexts.
fn cache_folder() -> Finding {
    let check = "cache folder";
    let advice = "set XDG_CACHE_HOME or HOME; until then each mount measures its storage anew";
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    match absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache"))) {
        None => Finding::warning(check, "neither XDG_CACHE_HOME nor HOME is set", advice),
        Some(folder) => match writable(&folder) {
            Ok(()) => Finding::ok(check, format!("{} can be written", folder.display())),
            Err(reason) => Finding::warning(check, reason, advice),
        },
    }
}

/// Whether a folder, or the one in which it would be made, can be written.
pub(super) fn writable(folder: &Path) -> Result<(), String> {
    let there = folder.ancestors().find(|folder| folder.exists()).unwrap_or(Path::new("/"));
    let access = rustix::fs::access(there, Access::WRITE_OK | Access::EXEC_OK);
    access.map_err(|errno| format!("{} cannot be written: {}", folder.display(), std::io::Error::from(errno)))
}
