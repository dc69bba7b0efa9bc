//! `/dev/fuse`: mounting and unmounting, by mount(2) where that is allowed, else through the setuid
//! program `fusermount3`.

use std::ffi::CString;
use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};

use forebay_source::mounts::FOREBAY;
use rustix::fs::{Access, Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags};

use crate::mount::{MountError, MountOptions};

const DEVICE: &str = "/dev/fuse";
const FUSERMOUNT: &str = "fusermount3";

/// Mounts at `point` (absolute); the kernel's requests come through the descriptor.
pub(crate) fn attach(point: &Path, options: &MountOptions, writable: bool) -> Result<OwnedFd, MountError> {
    if !Path::new(DEVICE).exists() {
        return Err(MountError::NoFuse);
    }
    match attach_directly(point, options, writable) {
        Ok(device) => Ok(device),
        Err(Errno::PERM | Errno::ACCESS) => attach_by_fusermount(point, options, writable),
        Err(errno) => Err(MountError::io(point, errno.into())),
    }
}

/// Whether each thread may have a descriptor of its own, so that threads do not queue for one: that
/// takes opening the device again.
pub(crate) fn can_clone() -> bool {
    rustix::fs::access(DEVICE, Access::READ_OK | Access::WRITE_OK).is_ok()
}

fn attach_directly(point: &Path, options: &MountOptions, writable: bool) -> Result<OwnedFd, Errno> {
    let device = rustix::fs::open(DEVICE, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    let (uid, gid) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    let access = if options.allow_other { ",allow_other,default_permissions" } else { "" };
    let data = format!("fd={},rootmode=40000,user_id={uid},group_id={gid}{access}", device.as_raw_fd());
    let data = CString::new(data).map_err(|_| Errno::INVAL)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOATIME;
    let flags = if writable { flags } else { flags | MountFlags::RDONLY };
    let flags = if options.noexec { flags | MountFlags::NOEXEC } else { flags };
    rustix::mount::mount(options.fs_name.as_str(), point, FOREBAY, flags, data.as_c_str())?;
    Ok(device)
}

/// `fusermount3` opens the device, mounts, and sends the descriptor through the socket that
/// `_FUSE_COMMFD` names: its own standard input, so that no other process can inherit our end's
/// peer and keep it open.
fn attach_by_fusermount(point: &Path, options: &MountOptions, writable: bool) -> Result<OwnedFd, MountError> {
    let (ours, theirs) = UnixStream::pair().map_err(|error| MountError::io(point, error))?;
    let name = options.fs_name.replace('\\', r"\\").replace(',', r"\,");
    let access = if options.allow_other { ",allow_other,default_permissions" } else { "" };
    let mode = if writable { "rw" } else { "ro" };
    let exec = if options.noexec { ",noexec" } else { "" };
    let child = Command::new(FUSERMOUNT)
        .arg("-o")
        .arg(format!("{mode},nosuid,nodev,noatime{exec},fsname={name},subtype=forebay{access}"))
        .arg("--")
        .arg(point)
        .env("_FUSE_COMMFD", "0")
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| MountError::no_fusermount(point, error))?;
    // The command is dropped by now, and our copy of the child's end with it: if the child fails,
    // there is an end of file.
    let device = receive_descriptor(&ours);
    let output = child.wait_with_output().map_err(|error| MountError::io(point, error))?;
    match device {
        Ok(Some(device)) => Ok(device),
        Ok(None) => {
            let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            if said.contains("user_allow_other") {
                return Err(MountError::AllowOther);
            }
            Err(MountError::Fusermount { point: point.into(), said })
        }
        Err(errno) => Err(MountError::io(point, errno.into())),
    }
}

fn receive_descriptor(socket: &UnixStream) -> Result<Option<OwnedFd>, Errno> {
    let mut byte = [0];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    rustix::io::retry_on_intr(|| {
        rustix::net::recvmsg(socket, &mut [IoSliceMut::new(&mut byte)], &mut ancillary, RecvFlags::CMSG_CLOEXEC)
    })?;
    let mut descriptors = ancillary.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
        _ => None,
    });
    Ok(descriptors.next().and_then(|mut descriptors| descriptors.next()))
}

/// Takes a mount off its point at once. Files that are open in it go on being served until they are
/// closed.
pub(crate) fn detach(point: &Path) -> Result<(), MountError> {
    match rustix::mount::unmount(point, UnmountFlags::DETACH | UnmountFlags::NOFOLLOW) {
        Ok(()) => return Ok(()),
        Err(Errno::PERM) => {}
        Err(errno) => return Err(MountError::Unmount { point: point.into(), reason: errno.to_string() }),
    }
    let output = Command::new(FUSERMOUNT)
        .args(["-u", "-z", "--"])
        .arg(point)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| MountError::no_fusermount(point, error))?;
    if output.status.success() {
        return Ok(());
    }
    Err(MountError::Unmount { point: point.into(), reason: String::from_utf8_lossy(&output.stderr).trim().to_owned() })
}
