//! The life of a mount: options, errors, and a value that unmounts when it is dropped.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use forebay_live::activity::Watcher;
use forebay_live::tree::Tree;
use forebay_source::disk::PacedDisk;
use fuser::{Filesystem, Session, SessionACL};
use parking_lot::{Condvar, Mutex};

use crate::disk::DiskAdapter;
use crate::filesystem::Adapter;
use crate::{device, handed, point, table};

/// How long an unmount waits for requests under way. A file that is still open after that is served
/// until it is closed or the process ends.
const GRACE: Duration = Duration::from_secs(1);

/// How a tree is shown.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MountOptions {
    /// Whether others than the owner of this process may look. The kernel then checks owners and
    /// modes.
    pub allow_other: bool,
    /// Threads that take requests. Requests to a remote source do not hold them. A look at the
    /// names of a folder of this machine does, as long as its file system takes.
    pub threads: usize,
    /// How long the kernel may believe a name or its attributes. A changed file is seen that much
    /// later, never mixed.
    pub ttl: Duration,
    /// How long the kernel may believe that there is no such name; zero for not at all.
    pub negative_ttl: Duration,
    /// Whether no program of the mount may be run.
    pub noexec: bool,
    /// The source that the table of mounts shows.
    pub fs_name: String,
    /// The kernel's own read-ahead, bytes. It works for mapped files and, if the kernel keeps the
    /// bytes of reads, for all. Only root can set it; else it is 128 KiB.
    pub read_ahead: u32,
}

impl Default for MountOptions {
    fn default() -> MountOptions {
        MountOptions {
            allow_other: false,
            threads: 8,
            ttl: Duration::from_secs(1),
            negative_ttl: Duration::from_secs(1),
            noexec: false,
            fs_name: "forebay".into(),
            read_ahead: 1 << 20,
        }
    }
}

/// Why a mount or unmount failed, and the remedy.
#[derive(Debug, thiserror::Error)]
pub enum MountError {
    /// The mount point is not there.
    #[error("{}: no such folder; create it first (mkdir -p)", .0.display())]
    Missing(PathBuf),
    /// The mount point is something else.
    #[error("{}: not a folder; mount on an empty folder", .0.display())]
    NotAFolder(PathBuf),
    /// The mount point is not empty, and the mount would hide its contents.
    #[error("{}: not empty; mount on an empty folder", .0.display())]
    NotEmpty(PathBuf),
    /// The mount point is one already.
    #[error("{}: already a mount point (of {what}); unmount it or choose another folder", .point.display())]
    AlreadyMounted {
        /// The mount point.
        point: PathBuf,
        /// The mount there: type and source.
        what: String,
    },
    /// The machine has no FUSE.
    #[error("/dev/fuse is missing; load it with `modprobe fuse`, or give the container `--device /dev/fuse`")]
    NoFuse,
    /// Not root, and the program that mounts for users is not there.
    #[error("fusermount3 is missing; install the package fuse3, or mount as root")]
    NoFusermount,
    /// Not root, and the machine does not let users show mounts to others.
    #[error("others may not be allowed in: add the line user_allow_other to /etc/fuse.conf, or mount as root")]
    AllowOther,
    /// fusermount3 refused.
    #[error("{}: fusermount3 could not mount: {said}; `forebay doctor` says what a mount needs", .point.display())]
    Fusermount {
        /// The mount point.
        point: PathBuf,
        /// Its message.
        said: String,
    },
    /// A descriptor from the parent process is not one that can be served.
    #[error("{}: {reason}", .point.display())]
    Handed {
        /// Its path.
        point: PathBuf,
        /// The fault.
        reason: &'static str,
    },
    /// The mount could not be taken off.
    #[error("{}: cannot unmount: {reason}", .point.display())]
    Unmount {
        /// The mount point.
        point: PathBuf,
        /// Why.
        reason: String,
    },
    /// The system refused.
    #[error("{}: cannot mount: {reason}", .point.display())]
    System {
        /// The mount point.
        point: PathBuf,
        /// The system's error.
        reason: io::Error,
    },
}

impl MountError {
    /// The system's number for it.
    pub fn errno(&self) -> i32 {
        match self {
            MountError::Missing(_) | MountError::NoFuse | MountError::NoFusermount => libc::ENOENT,
            MountError::NotAFolder(_) => libc::ENOTDIR,
            MountError::NotEmpty(_) => libc::ENOTEMPTY,
            MountError::AlreadyMounted { .. } | MountError::Unmount { .. } => libc::EBUSY,
            MountError::AllowOther => libc::EPERM,
            MountError::Fusermount { .. } | MountError::Handed { .. } => libc::EIO,
            MountError::System { reason, .. } => reason.raw_os_error().unwrap_or(libc::EIO),
        }
    }

    pub(crate) fn io(point: &Path, reason: io::Error) -> MountError {
        MountError::System { point: point.into(), reason }
    }

    pub(crate) fn no_fusermount(point: &Path, error: io::Error) -> MountError {
        match error.kind() {
            io::ErrorKind::NotFound => MountError::NoFusermount,
            _ => MountError::io(point, error),
        }
    }
}

/// Shows `tree` at `point`, which must be an empty folder; it is served when this returns. A dead
/// mount that an earlier process left at `point` is replaced.
///
/// The `point` `/dev/fd/N` is a mount that the parent process has made, by its descriptor. The
/// parent decides its options and unmounts it; `allow_other`, `noexec` and `fs_name` count for
/// nothing.
pub fn mount(tree: Arc<Tree>, point: &Path, options: MountOptions) -> Result<Mounted, MountError> {
    // The handlers of a mount are threads of its readers.
    let watcher = tree.watch_handlers().map_err(|error| MountError::io(point, error))?;
    let adapter = Adapter::new(tree, &options).map_err(|error| MountError::io(point, error))?;
    let mut mounted = start(adapter, point, &options, false)?;
    mounted._watcher = watcher;
    Ok(mounted)
}

/// Shows `disk` at `point`, an empty folder, as one file `disk` that can be read and written,
/// beside a file `stats` of the disk's statistics in JSON. A program that holds the file open (a
/// loop device) is served after an unmount until this process ends.
pub fn mount_disk(disk: Arc<PacedDisk>, point: &Path, options: MountOptions) -> Result<Mounted, MountError> {
    start(DiskAdapter::new(disk), point, &options, true)
}

fn start(
    filesystem: impl Filesystem,
    point: &Path,
    options: &MountOptions,
    writable: bool,
) -> Result<Mounted, MountError> {
    if let Some(device) = handed::device(point)? {
        handed::warn_of_options(point, &device);
        let life = Life::new(point.to_owned(), None);
        // The kernel has checked who may read, by the options of the parent.
        return serve(filesystem, device, life, SessionACL::All, options);
    }
    let point = point::prepare(point)?;
    room(options.threads).map_err(|error| MountError::io(&point, error))?;
    let device = device::attach(&point, options, writable)?;
    let entry = match table::ours_at(&point) {
        Ok(Some(entry)) => entry,
        // The mount over it is not ours to take off, nor is a volume beneath it.
        Ok(None) => return Err(MountError::io(&point, io::Error::other("it was unmounted or mounted over at once"))),
        Err(error) => {
            device::detach(&point)?;
            return Err(MountError::io(&point, error));
        }
    };
    let acl = if options.allow_other { SessionACL::All } else { SessionACL::Owner };
    let mounted = serve(filesystem, device, Life::new(point, Some(entry.id)), acl, options)?;
    set_read_ahead(&entry.device, options.read_ahead);
    Ok(mounted)
}

/// Whether the address space has room for the threads that take requests, which reserve theirs once
/// the mount is there. A process that finds none then ends at once, and leaves a dead mount.
fn room(threads: usize) -> io::Result<()> {
    /// The buffer of fuser, and a stack.
    const THREAD: usize = (16 << 20) + 4096 + (2 << 20);
    /// The allocator reserves in steps.
    const BESIDE: usize = 64 << 20;
    let mut room: Vec<u8> = Vec::new();
    room.try_reserve_exact(threads.saturating_mul(THREAD).saturating_add(BESIDE))
        .map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
    std::hint::black_box(&room);
    Ok(())
}

/// Serves a mount by its descriptor. From here on dropping its `life` unmounts, so a failure leaves
/// no mount.
fn serve(
    filesystem: impl Filesystem,
    device: OwnedFd,
    life: Arc<Life>,
    acl: SessionACL,
    options: &MountOptions,
) -> Result<Mounted, MountError> {
    let mounted = Mounted { unmounter: Unmounter { life: Arc::clone(&life) }, _watcher: None };
    let failed = |error: io::Error| match error.kind() {
        // The kernel's answer to a descriptor without a mount.
        io::ErrorKind::PermissionDenied if life.id.is_none() => {
            let reason = "is not mounted; the parent mounts before it hands the descriptor over";
            MountError::Handed { point: life.point.clone(), reason }
        }
        _ => MountError::io(&life.point, error),
    };

    let mut config = fuser::Config::default();
    config.acl = acl;
    config.n_threads = Some(options.threads.max(1));
    config.clone_fd = device::can_clone();
    let session = Session::from_fd(filesystem, device, acl, config).map_err(failed)?;

    let served = Arc::clone(&life);
    std::thread::Builder::new()
        .name("forebay-mount".into())
        .spawn(move || served.end(session.run()))
        .map_err(failed)?;
    life.state.lock().serving = true;
    Ok(mounted)
}

/// Tells the kernel how far to read ahead, where we may.
fn set_read_ahead(device: &str, bytes: u32) {
    let path = format!("/sys/class/bdi/{device}/read_ahead_kb");
    if let Err(error) = std::fs::write(&path, (bytes / 1024).to_string()) {
        log::debug!("{path}: {error}");
    }
}

/// The state of a mount, shared by all its holders.
#[derive(Debug)]
struct Life {
    point: PathBuf,
    /// Its id in the table of mounts. It tells this mount from others that are made at the same
    /// point later. None for a mount of the parent process.
    id: Option<u64>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// There is a thread that will say how it ended.
    serving: bool,
    detached: bool,
    ended: Option<io::Result<()>>,
}

impl Life {
    fn new(point: PathBuf, id: Option<u64>) -> Arc<Life> {
        Arc::new(Life { point, id, state: Mutex::default(), changed: Condvar::new() })
    }

    fn end(&self, outcome: io::Result<()>) {
        let mut state = self.state.lock();
        // Once it is off its point the kernel may cut the connection while a request is being read
        // from it. That is no failure.
        let cut = |error: &io::Error| error.raw_os_error() == Some(libc::ECONNABORTED);
        let ours = state.detached && outcome.as_ref().is_err_and(cut);
        state.ended = Some(if ours { Ok(()) } else { outcome });
        drop(state);
        self.changed.notify_all();
    }

    fn detach(&self) -> Result<(), MountError> {
        let mut state = self.state.lock();
        if !state.detached {
            // The parent unmounts its mount.
            if let Some(id) = self.id {
                self.take_off(id, state.ended.is_some())?;
            }
            state.detached = true;
            self.changed.notify_all();
        }
        Ok(())
    }

    /// Takes the mount `id` off its point, unless another process has done so.
    ///
    /// The kernel gives the id of a mount that is gone to the next one, which may be at the same
    /// point by now. So a mount that `ended` is taken off only if it is there and dead.
    fn take_off(&self, id: u64, ended: bool) -> Result<(), MountError> {
        let refused = |reason: String| MountError::Unmount { point: self.point.clone(), reason };
        let unknown = |error: io::Error| refused(error.to_string());
        match table::at(&self.point).map_err(unknown)? {
            Some(top) if top.id == id && (!ended || point::is_dead(&self.point)) => device::detach(&self.point),
            Some(top) if top.id != id && !ended && table::has(id).map_err(unknown)? => {
                Err(refused(format!("{} {} is mounted over it", top.kind, top.source.display())))
            }
            _ => Ok(()),
        }
    }

    /// Waits until the requests under way are answered and no file is open, but not longer than the
    /// grace.
    fn drain(&self) -> Option<io::Result<()>> {
        let mut state = self.state.lock();
        if state.serving {
            self.changed.wait_while_for(&mut state, |state| state.ended.is_none(), GRACE);
        }
        // Waited for once: a file that is open now may stay open for long.
        state.serving = false;
        state.ended.take()
    }
}

/// A mount that is served. Dropping it unmounts.
#[derive(Debug)]
pub struct Mounted {
    unmounter: Unmounter,
    _watcher: Option<Watcher>,
}

impl Mounted {
    /// Its path, absolute and without links.
    pub fn point(&self) -> &Path {
        &self.unmounter.life.point
    }

    /// A value that unmounts it from another thread.
    pub fn unmounter(&self) -> Unmounter {
        self.unmounter.clone()
    }

    /// Waits until it is unmounted, by an [`Unmounter`] or from outside (`umount`).
    pub fn wait(self) -> Result<(), MountError> {
        let life = &self.unmounter.life;
        let mut state = life.state.lock();
        life.changed.wait_while(&mut state, |state| state.ended.is_none() && !state.detached);
        drop(state);
        self.finish()
    }

    /// Unmounts. The name is gone when this returns; programs that have files open go on reading
    /// until they close them or this process ends.
    pub fn unmount(self) -> Result<(), MountError> {
        self.finish()
    }

    fn finish(self) -> Result<(), MountError> {
        let life = &self.unmounter.life;
        life.detach()?;
        match life.drain() {
            Some(Err(error)) => {
                Err(MountError::Unmount { point: life.point.clone(), reason: format!("serving it failed: {error}") })
            }
            _ => Ok(()),
        }
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        if let Err(error) = self.unmounter.life.detach() {
            log::warn!("{error}");
        }
        if let Some(Err(error)) = self.unmounter.life.drain() {
            log::warn!("{}: serving it failed: {error}", self.unmounter.life.point.display());
        }
    }
}

/// Unmounts a [`Mounted`] from any thread, such as one that waits for signals. Does nothing the
/// second time.
#[derive(Clone, Debug)]
pub struct Unmounter {
    life: Arc<Life>,
}

impl Unmounter {
    /// Takes the mount off its point; [`Mounted::wait`] then returns.
    pub fn unmount(&self) -> Result<(), MountError> {
        self.life.detach()
    }
}
