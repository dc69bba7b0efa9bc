//! One version of a local file.
//!
//! The file is opened past the page cache (`O_DIRECT`), so that memory is not spent twice. If the
//! file system refuses that, the bytes read are dropped from the page cache afterwards. After every
//! read the file is looked at again: bytes count only if it still is the version that was opened.
//!
//! Known weaknesses. Dropping from the page cache also drops pages that other programs may have
//! wanted there. And size and times identify a version. A change that leaves all of them alone goes
//! unnoticed. One such change is a write within the same tick of a kernel's clock as the opening
//! (before Linux 6.13, a few milliseconds). Another is a store through a mapping to a page that is
//! dirty already.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{Advice, OFlags};
use rustix::io::Errno;

use super::look::Seen;
use super::{LocalSource, error, layout};
use crate::io::{Read, Reader};
use crate::{Error, Fetch, Identity, Kind, Object, Result, Run};

/// One version of a local file.
pub(super) struct LocalObject {
    file: Arc<File>,
    reader: Arc<dyn Reader>,
}

struct File {
    fd: Arc<OwnedFd>,
    name: String,
    identity: Identity,
    /// Whether reads bypass the page cache.
    direct: AtomicBool,
}

impl LocalObject {
    pub(super) fn open(source: &LocalSource, path: &Path) -> Result<LocalObject> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        let (root, mut direct) = (&source.root, source.direct);
        let fd = match direct.then(|| root.open(path, flags | OFlags::DIRECT)) {
            None => root.open(path, flags),
            Some(Err(Errno::INVAL)) => {
                direct = false;
                root.open(path, flags)
            }
            Some(opened) => opened,
        };
        let fd = fd.map_err(|errno| error(path, errno))?;
        let seen = settled(&fd).map_err(|errno| error(path, errno))?;
        if seen.kind() != Kind::File {
            // It became something else since it was looked at.
            return Err(Error::Stale(path.display().to_string()));
        }
        if !direct {
            no_readahead(&fd);
        }
        let name = path.display().to_string();
        let identity = source.here.identity(path, source.here.inode(&fd, &seen), &seen);
        let file = File { fd: Arc::new(fd), name, identity, direct: AtomicBool::new(direct) };
        Ok(LocalObject { file: Arc::new(file), reader: Arc::clone(&source.reader) })
    }
}

/// Makes reads wait again: only the opening must not wait, if the name has become a pipe. Then
/// looks at the opened file.
fn settled(fd: &OwnedFd) -> rustix::io::Result<Seen> {
    let flags = rustix::fs::fcntl_getfl(fd)?;
    rustix::fs::fcntl_setfl(fd, flags.difference(OFlags::NONBLOCK))?;
    rustix::fs::fstat(fd).map(|stat| Seen::from(&stat))
}

/// Looking ahead is our business: the kernel's read-ahead would only be dropped.
fn no_readahead(fd: &OwnedFd) {
    let _ = rustix::fs::fadvise(fd, 0, None, Advice::Random);
}

impl Object for LocalObject {
    fn identity(&self) -> &Identity {
        &self.file.identity
    }

    fn layout(&self) -> Vec<Run> {
        layout::runs(&self.file.fd)
    }

    fn fetch(&self, fetch: Fetch) {
        start(Arc::clone(&self.file), Arc::clone(&self.reader), fetch);
    }
}

fn start(file: Arc<File>, reader: Arc<dyn Reader>, fetch: Fetch) {
    let Fetch { id, offset, buffer, len, urgent, label, done } = fetch;
    let fd = Arc::clone(&file.fd);
    let direct = file.direct.load(Ordering::Relaxed);
    let again = Arc::downgrade(&reader);
    let judge = Box::new(move |buffer, outcome: io::Result<usize>| {
        let refused = matches!(&outcome, Err(error) if error.raw_os_error() == Some(libc::EINVAL));
        if direct
            && refused
            && file.give_up_direct().is_ok()
            && let Some(reader) = again.upgrade()
        {
            return start(file, reader, Fetch { id, offset, buffer, len, urgent, label, done });
        }
        let outcome = file.judge(offset, len, outcome);
        done(buffer, outcome);
    });
    reader.read(Read::new(fd, offset, buffer, len, urgent, judge));
}

impl File {
    /// Goes on through the page cache: some file systems accept `O_DIRECT` when opening and refuse
    /// the reads.
    fn give_up_direct(&self) -> rustix::io::Result<()> {
        let flags = rustix::fs::fcntl_getfl(&self.fd)?;
        rustix::fs::fcntl_setfl(&self.fd, flags.difference(OFlags::DIRECT))?;
        self.direct.store(false, Ordering::Relaxed);
        no_readahead(&self.fd);
        Ok(())
    }

    /// Judges a read: its bytes do not count if the file has changed.
    fn judge(&self, offset: u64, len: usize, outcome: io::Result<usize>) -> Result<()> {
        if !self.direct.load(Ordering::Relaxed) {
            // Advice: if it is not taken, memory is spent twice and nothing else happens.
            let _ = rustix::fs::fadvise(&self.fd, offset, std::num::NonZeroU64::new(len as u64), Advice::DontNeed);
        }
        let now = rustix::fs::fstat(&self.fd).map(|stat| Seen::from(&stat).version());
        let storage = |error: io::Error| Error::Storage { name: self.name.clone(), reason: error.to_string() };
        match (outcome, now) {
            (_, Ok(now)) if now != self.identity.version => Err(Error::Stale(self.name.clone())),
            (_, Err(Errno::STALE)) => Err(Error::Stale(self.name.clone())),
            (Err(error), _) if error.raw_os_error() == Some(libc::ESTALE) => Err(Error::Stale(self.name.clone())),
            (Err(error), _) => Err(storage(error)),
            (_, Err(errno)) => Err(storage(errno.into())),
            (Ok(bytes), _) if bytes < len => Err(Error::Stale(self.name.clone())),
            (Ok(_), Ok(_)) => Ok(()),
        }
    }
}
