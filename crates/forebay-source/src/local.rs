//! A folder of this machine.
//!
//! The folder is opened once. The kernel resolves every path relative to that descriptor, without
//! following symbolic links and without leaving it (`local/resolve.rs`). So no race of renames and
//! links leads a reader out of the source. A mount of Forebay below it, and what rests on one
//! (`local/beneath.rs`), is an empty folder there, lest a server wait for itself
//! (`local/served.rs`). Bytes are read past the page cache if the
//! file system allows it (`local/object.rs`).

mod beneath;
mod layout;
mod link;
mod look;
mod names;
mod object;
mod resolve;
mod served;

use std::ffi::{CStr, OsStr, OsString};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::buffer::spare_capacity;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir, RawDirEntry, StatxFlags};
use rustix::io::Errno;

use super::{Attributes, Entry, Error, Inode, Kind, Listed, ListedIn, Listing, Object, Result, Source, Space, Then};
use crate::io::{self, Reader};
use look::{Here, Seen, kind};
use object::LocalObject;
use resolve::{Root, SERVED};

/// Bytes of a buffer for names: a few thousand names a system call.
const NAMES: usize = 64 << 10;

/// A folder of this machine.
pub struct LocalSource {
    /// As it was given, for messages.
    folder: PathBuf,
    /// Names by which absolute links may point into the source.
    aliases: Vec<PathBuf>,
    root: Root,
    here: Here,
    reader: Arc<dyn Reader>,
    direct: bool,
}

impl LocalSource {
    /// Opens a folder: with the process's reader, past the page cache.
    pub fn new(folder: impl AsRef<Path>) -> Result<LocalSource> {
        let name = || folder.as_ref().display().to_string();
        let reader = io::shared().map_err(|error| Error::Storage { name: name(), reason: error.to_string() })?;
        LocalSource::with(folder.as_ref(), reader, true)
    }

    /// Opens a folder: with a given reader, and past the page cache or not.
    pub fn with(folder: impl AsRef<Path>, reader: Arc<dyn Reader>, direct: bool) -> Result<LocalSource> {
        let folder = folder.as_ref().to_path_buf();
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = rustix::fs::open(&folder, flags, Mode::empty()).map_err(|errno| error(&folder, errno))?;
        let device = rustix::fs::fstat(&fd).map_err(|errno| error(&folder, errno))?.st_dev;
        let aliases = [std::path::absolute(&folder), std::fs::canonicalize(&folder)];
        let aliases: Vec<PathBuf> = aliases.into_iter().filter_map(std::result::Result::ok).collect();
        let address = aliases.last().unwrap_or(&folder).display().to_string().into();
        Ok(LocalSource { folder, aliases, root: Root::new(fd), here: Here { address, device }, reader, direct })
    }

    /// Whether we may list the folder; opening it does not ask.
    pub fn check(&self) -> Result<()> {
        let listed = self.root.open(Path::new(""), OFlags::RDONLY | OFlags::DIRECTORY);
        listed.map(drop).map_err(|errno| error(&self.folder, errno))
    }

    /// A descriptor that names the path but grants nothing.
    fn name(&self, path: &Path) -> Result<OwnedFd> {
        self.root.open(path, OFlags::PATH | OFlags::NOFOLLOW).map_err(|errno| error(path, errno))
    }

    /// A path of `/proc` that leads to exactly what `path` names, links included. Reading
    /// attributes needs a path, since a descriptor of a link, a pipe or an unreadable file grants
    /// nothing.
    fn by_descriptor<T>(&self, path: &Path, ask: impl FnOnce(&str) -> rustix::io::Result<T>) -> Result<T> {
        let fd = match self.root.open(path, OFlags::PATH | OFlags::NOFOLLOW) {
            Err(SERVED) => return Err(error(path, Errno::NODATA)),
            opened => opened.map_err(|errno| error(path, errno))?,
        };
        ask(&format!("/proc/self/fd/{}", fd.as_raw_fd())).map_err(|errno| error(path, errno))
    }

    fn names(&self, path: &Path) -> rustix::io::Result<Listing> {
        let fd = match self.root.open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW) {
            Err(SERVED) => return Ok(Listing::from_iter([])),
            opened => opened?,
        };
        let stat = rustix::fs::fstat(&fd)?;
        // A removed root is still open, and empty. One of its name that was made anew is another.
        if stat.st_nlink == 0 {
            return Err(Errno::STALE);
        }
        let device = stat.st_dev;
        let mut buffer = Vec::with_capacity(NAMES);
        let mut names = RawDir::new(&fd, buffer.spare_capacity_mut());
        let mut failed = Ok(());
        // Packed as they come: a hundred thousand entries would take more memory than the listing.
        let next = || {
            loop {
                match names.next()?.and_then(|entry| self.entry(&fd, device, &entry)) {
                    Ok(Some(entry)) => return Some(entry),
                    Ok(None) => {}
                    Err(errno) => {
                        failed = Err(errno);
                        return None;
                    }
                }
            }
        };
        let listing = Listing::from_iter(std::iter::from_fn(next));
        failed.map(|()| listing)
    }

    /// A name of an open folder; `None` for `.` and `..`, and for one that is gone.
    fn entry(&self, folder: &OwnedFd, device: u64, entry: &RawDirEntry<'_>) -> rustix::io::Result<Option<Entry>> {
        if [c".", c".."].contains(&entry.file_name()) {
            return Ok(None);
        }
        let kind = match entry.file_type() {
            FileType::Unknown => match kind_of(folder, entry.file_name()) {
                Err(Errno::NOENT) => return Ok(None),
                kind => kind?,
            },
            known => kind(known),
        };
        let name = OsStr::from_bytes(entry.file_name().to_bytes()).to_owned();
        let inode = self.here.number(Inode { device, number: entry.ino(), mount: 0 });
        Ok(Some(Entry { name, kind, inode, facts: None }))
    }

    fn attributes(&self, path: &Path) -> Result<Attributes> {
        let fd = match self.root.open(path, OFlags::PATH | OFlags::NOFOLLOW) {
            Err(SERVED) => return Ok(self.here.covered(path)),
            opened => opened.map_err(|errno| error(path, errno))?,
        };
        let stat = rustix::fs::fstat(&fd).map_err(|errno| error(path, errno))?;
        Ok(self.here.attributes(path, &fd, &Seen::from(&stat)))
    }

    fn file(&self, path: &Path) -> Result<Arc<dyn Object>> {
        // Opening a pipe or a device has effects, so look at its kind first.
        match self.attributes(path)?.kind {
            Kind::File => {}
            Kind::Folder => return Err(error(path, Errno::ISDIR)),
            Kind::Link => return Err(error(path, Errno::LOOP)),
            Kind::Special => return Err(error(path, Errno::OPNOTSUPP)),
        }
        let object = LocalObject::open(self, path)?;
        Ok(Arc::new(object))
    }
}

impl Source for LocalSource {
    fn describe(&self) -> String {
        self.folder.display().to_string()
    }

    fn address(&self) -> &Arc<str> {
        &self.here.address
    }

    fn stat_then(&self, path: &Path, then: Then<Attributes>) {
        then(self.attributes(path));
    }

    fn list_then(&self, path: &Path, then: Then<Listing>) {
        then(self.names(path).map_err(|errno| error(path, errno)));
    }

    fn open_then(&self, path: &Path, then: Then<Arc<dyn Object>>) {
        then(self.file(path));
    }

    fn listed(&self, folder: &Path, listed: &Listed<'_>) -> Result<Option<Attributes>> {
        self.attributes(&folder.join(listed.name)).map(Some)
    }

    fn listed_in<'a>(&'a self, folder: &'a Path) -> ListedIn<'a> {
        match names::of(self, folder) {
            Some(ask) => ask,
            None => Box::new(move |listed| self.listed(folder, listed)),
        }
    }

    fn read_link(&self, path: &Path) -> Result<PathBuf> {
        let target = rustix::fs::readlinkat(self.name(path)?, c"", Vec::new()).map_err(|errno| match errno {
            // The answer for an empty path that names no link.
            Errno::NOENT => error(path, Errno::INVAL),
            errno => error(path, errno),
        })?;
        let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
        link::confined(path, &target, &self.aliases, &self.root)
            .ok_or_else(|| Error::Refused { name: path.display().to_string(), errno: libc::EACCES })
    }

    fn xattr(&self, path: &Path, name: &OsStr) -> Result<Vec<u8>> {
        self.by_descriptor(path, |proc| grown(|buffer| rustix::fs::getxattr(proc, name, spare_capacity(buffer))))
    }

    fn xattrs(&self, path: &Path) -> Result<Vec<OsString>> {
        let listed =
            self.by_descriptor(path, |proc| grown(|buffer| rustix::fs::listxattr(proc, spare_capacity(buffer))));
        let names = match listed {
            Err(Error::Refused { errno: libc::ENODATA, .. }) => return Ok(Vec::new()),
            listed => listed?,
        };
        let names = names.split(|&byte| byte == 0).filter(|name| !name.is_empty());
        Ok(names.map(|name| OsStr::from_bytes(name).to_owned()).collect())
    }

    fn space(&self) -> Result<Space> {
        let space = rustix::fs::fstatvfs(self.root.fd()).map_err(|errno| error(&self.folder, errno))?;
        Ok(Space {
            bytes: space.f_blocks.saturating_mul(space.f_frsize),
            bytes_free: space.f_bavail.saturating_mul(space.f_frsize),
            names: space.f_files,
            names_free: space.f_favail,
        })
    }
}

/// The answer of a call that fills a buffer which may turn out too small.
fn grown(mut call: impl FnMut(&mut Vec<u8>) -> rustix::io::Result<usize>) -> rustix::io::Result<Vec<u8>> {
    /// The kernel's own bound of a value and of a list of names.
    const MOST: usize = 64 << 10;
    let mut buffer = Vec::with_capacity(256);
    loop {
        match call(&mut buffer) {
            Err(Errno::RANGE) if buffer.capacity() < MOST => buffer = Vec::with_capacity(buffer.capacity() * 4),
            outcome => return outcome.map(|_| buffer),
        }
    }
}

fn kind_of(folder: &OwnedFd, name: &CStr) -> rustix::io::Result<Kind> {
    // Without asking its file system, which may be ours.
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT | AtFlags::STATX_DONT_SYNC;
    let told = rustix::fs::statx(folder, name, flags, StatxFlags::TYPE)?;
    Ok(kind(FileType::from_raw_mode(told.stx_mode.into())))
}

/// Translates the kernel's refusal.
fn error(path: &Path, errno: Errno) -> Error {
    let name = if path.as_os_str().is_empty() { ".".into() } else { path.display().to_string() };
    match errno {
        Errno::NOENT => Error::NotFound(name),
        Errno::ACCESS | Errno::PERM => Error::Denied(name),
        Errno::STALE => Error::Stale(name),
        // It leads into a file system that we serve.
        SERVED => Error::Refused { name, errno: libc::EDEADLK },
        // The path would leave the source.
        Errno::XDEV => Error::Refused { name, errno: libc::EACCES },
        Errno::IO | Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::AGAIN | Errno::TIMEDOUT => {
            Error::Storage { name, reason: std::io::Error::from(errno).to_string() }
        }
        errno => Error::Refused { name, errno: errno.raw_os_error() },
    }
}
