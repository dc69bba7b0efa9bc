//! A descriptor that is closed by a system call of our own: the C library's `close` is a
//! cancellation point, and the program may have replaced it.

use std::ffi::CStr;
use std::mem::ManuallyDrop;

use rustix::fd::{AsFd, BorrowedFd, IntoRawFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use rustix::io::Result;

/// Whether this process may make files so long. A process that writes beyond its limit gets a
/// signal.
pub(crate) fn may_reach(size: u64) -> bool {
    rustix::process::getrlimit(rustix::process::Resource::Fsize).current.is_none_or(|most| size <= most)
}

/// An open file.
pub(crate) struct Descriptor(ManuallyDrop<OwnedFd>);

impl Descriptor {
    /// Opens `path`, not through a symbolic link, for this process alone, without waiting.
    pub(crate) fn open(path: &CStr, flags: OFlags) -> Result<Descriptor> {
        let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        let opened = rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)?;
        Ok(Descriptor(ManuallyDrop::new(opened)))
    }
}

impl AsFd for Descriptor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        // SAFETY: the value is taken once, here, and not used again.
        let fd = unsafe { ManuallyDrop::take(&mut self.0) }.into_raw_fd();
        // SAFETY: the descriptor is ours, and nothing else closes it.
        unsafe { rustix::io::close(fd) };
    }
}
