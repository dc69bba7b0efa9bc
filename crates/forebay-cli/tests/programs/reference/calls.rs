//! Calls that change nothing, each with what it tells.

use std::ffi::CString;
use std::io::IoSliceMut;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{self, RawDir, ResolveFlags, SeekFrom};
use rustix::fs::{Access, AtFlags, CWD, FileType, FlockOperation, Mode, OFlags, Stat};
use rustix::io::Errno;

/// The answer of a call in words, or its error.
pub(super) type Outcome = Result<String, Errno>;

/// A call on a name below a root.
type Call = fn(&Path, &str) -> Outcome;

/// All of them.
pub(super) const CALLS: &[(&str, Call)] = &[
    ("stat", |root, name| fs::stat(root.join(name)).map(|stat| shown(&stat))),
    ("lstat", |root, name| fs::lstat(root.join(name)).map(|stat| shown(&stat))),
    ("statx", statx),
    ("access f", |root, name| access(root, name, Access::EXISTS)),
    ("access r", |root, name| access(root, name, Access::READ_OK)),
    ("access x", |root, name| access(root, name, Access::EXEC_OK)),
    ("access rx", |root, name| access(root, name, Access::READ_OK | Access::EXEC_OK)),
    ("eaccess r", |root, name| at(root, name, Access::READ_OK, AtFlags::EACCESS)),
    ("eaccess x", |root, name| at(root, name, Access::EXEC_OK, AtFlags::EACCESS)),
    ("lookup without links", |root, name| at(root, name, Access::READ_OK, AtFlags::SYMLINK_NOFOLLOW)),
    ("open", |root, name| told(open(root, name, OFlags::RDONLY))),
    ("open a folder", |root, name| told(open(root, name, OFlags::DIRECTORY))),
    ("open no link", |root, name| told(open(root, name, OFlags::NOFOLLOW))),
    ("open a path", |root, name| told(open(root, name, OFlags::PATH))),
    ("open a path, no link", |root, name| told(open(root, name, OFlags::PATH | OFlags::NOFOLLOW))),
    ("open and keep the time", |root, name| told(open(root, name, OFlags::NOATIME))),
    ("openat2 beneath", |root, name| beneath(root, name, ResolveFlags::BENEATH)),
    ("openat2 in root", |root, name| beneath(root, name, ResolveFlags::IN_ROOT)),
    ("openat2 without links", |root, name| beneath(root, name, ResolveFlags::NO_SYMLINKS)),
    ("read", |root, name| read(root, name, 0, 1 << 16)),
    ("read one byte", |root, name| read(root, name, 0, 1)),
    ("read in the middle", |root, name| read(root, name, 4090, 100)),
    ("read at the end", |root, name| read(root, name, 300_001, 10)),
    ("read far beyond", |root, name| read(root, name, i64::MAX as u64 - 1, 1)),
    ("read at no place", |root, name| read(root, name, u64::MAX, 1)),
    ("readv", readv),
    ("write to a reader", write_to_reader),
    ("list", list),
    ("readlink", readlink),
    ("realpath", realpath),
    ("statfs", statfs),
    ("getxattr", |root, name| xattr(root, name, "user.colour")),
    ("getxattr of none", |root, name| xattr(root, name, "user.none")),
    ("getxattr of no kind", |root, name| xattr(root, name, "colour")),
    ("seek the end", |root, name| seek(root, name, SeekFrom::End(0))),
    ("seek before", |root, name| seek(root, name, SeekFrom::Current(-1))),
    ("seek far", |root, name| seek(root, name, SeekFrom::Start(1 << 40))),
    ("flock", |root, name| lock(root, name, FlockOperation::NonBlockingLockShared)),
    ("flock alone", |root, name| lock(root, name, FlockOperation::NonBlockingLockExclusive)),
    ("fsync", |root, name| fs::fsync(open(root, name, OFlags::RDONLY)?).map(|()| String::new())),
    ("fdatasync", |root, name| fs::fdatasync(open(root, name, OFlags::RDONLY)?).map(|()| String::new())),
    ("advise", advise),
    ("map", |root, name| map(root, name, false)),
    ("map to write privately", |root, name| map(root, name, true)),
    ("watch", watch),
    ("walk on from it", |root, name| walk_on(root, name, "inner")),
    ("walk up from it", |root, name| walk_on(root, name, "..")),
];

/// The facts that two file systems must agree on. A folder's size and links are a matter of taste.
fn shown(stat: &Stat) -> String {
    let kind = FileType::from_raw_mode(stat.st_mode);
    let (size, links) = if kind == FileType::Directory { (0, 0) } else { (stat.st_size, stat.st_nlink) };
    let Stat { st_mode, st_uid, st_gid, st_ino, st_rdev, st_mtime, st_mtime_nsec, .. } = *stat;
    format!("{st_mode:o} {st_uid}:{st_gid} {st_ino} {st_rdev} {size} {links} {st_mtime}.{st_mtime_nsec}")
}

fn statx(root: &Path, name: &str) -> Outcome {
    let told = fs::statx(CWD, root.join(name), AtFlags::SYMLINK_NOFOLLOW, fs::StatxFlags::BASIC_STATS)?;
    Ok(format!("{:o} {} {}", told.stx_mode, told.stx_ino, told.stx_mtime.tv_sec))
}

fn access(root: &Path, name: &str, access: Access) -> Outcome {
    fs::access(root.join(name), access).map(|()| String::new())
}

fn at(root: &Path, name: &str, access: Access, flags: AtFlags) -> Outcome {
    fs::accessat(CWD, root.join(name), access, flags).map(|()| String::new())
}

/// Without waiting: a pipe has no writer.
fn open(root: &Path, name: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
    fs::open(root.join(name), flags | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())
}

/// The file that was opened.
fn told(opened: Result<OwnedFd, Errno>) -> Outcome {
    opened.and_then(fs::fstat).map(|stat| shown(&stat))
}

fn beneath(root: &Path, name: &str, how: ResolveFlags) -> Outcome {
    /// A path with `..` is to be tried again whenever anybody mounts or renames anything meanwhile
    /// (openat2(2), EAGAIN), as other tests do.
    const TRIES: usize = 1000;
    let root = fs::open(root, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    let open = || fs::openat2(&root, name, OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty(), how);
    let mut tries = (0..TRIES).map(|_| open());
    told(tries.find(|opened| !matches!(opened, Err(Errno::AGAIN))).unwrap_or(Err(Errno::AGAIN)))
}

fn read(root: &Path, name: &str, at: u64, len: usize) -> Outcome {
    let file = open(root, name, OFlags::RDONLY)?;
    let mut bytes = vec![0; len];
    let read = rustix::io::pread(&file, &mut bytes, at)?;
    Ok(format!("{read} {:?}", &bytes[..read.min(64)]))
}

fn readv(root: &Path, name: &str) -> Outcome {
    let file = open(root, name, OFlags::RDONLY)?;
    let (mut one, mut two) = ([0; 3], [0; 5000]);
    let read = rustix::io::readv(&file, &mut [IoSliceMut::new(&mut one), IoSliceMut::new(&mut two)])?;
    Ok(format!("{read} {one:?} {:?}", &two[..64]))
}

fn write_to_reader(root: &Path, name: &str) -> Outcome {
    rustix::io::write(open(root, name, OFlags::RDONLY)?, b"x").map(|count| count.to_string())
}

/// Names and kinds, in order.
fn list(root: &Path, name: &str) -> Outcome {
    let folder = open(root, name, OFlags::DIRECTORY)?;
    let mut buffer = Vec::with_capacity(8192);
    let mut entries = RawDir::new(&folder, buffer.spare_capacity_mut());
    let mut names = Vec::new();
    while let Some(entry) = entries.next() {
        let entry = entry?;
        names.push(format!("{:?} {:?}", entry.file_name(), entry.file_type()));
    }
    names.sort();
    Ok(names.join("\n"))
}

fn readlink(root: &Path, name: &str) -> Outcome {
    fs::readlink(root.join(name), Vec::new()).map(|to| format!("{to:?}"))
}

fn realpath(root: &Path, name: &str) -> Outcome {
    let real = std::fs::canonicalize(root.join(name));
    let real = real.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    Ok(real.strip_prefix(root).map_or_else(|_| "outside".to_owned(), |path| format!("{path:?}")))
}

/// Only whether it can be told: a mount has numbers of its own.
fn statfs(root: &Path, name: &str) -> Outcome {
    fs::statfs(root.join(name)).map(|_| String::new())
}

fn xattr(root: &Path, name: &str, attribute: &str) -> Outcome {
    let mut value = [0; 64];
    let len = fs::getxattr(root.join(name), attribute, &mut value[..])?;
    Ok(format!("{:?}", &value[..len]))
}

fn seek(root: &Path, name: &str, to: SeekFrom) -> Outcome {
    let file = open(root, name, OFlags::RDONLY)?;
    let folder = FileType::from_raw_mode(fs::fstat(&file)?.st_mode) == FileType::Directory;
    let place = fs::seek(&file, to);
    // Places in a folder have no meaning, and some file systems take none.
    if folder { Ok("a folder".into()) } else { place.map(|place| place.to_string()) }
}

fn lock(root: &Path, name: &str, how: FlockOperation) -> Outcome {
    fs::flock(open(root, name, OFlags::RDONLY)?, how).map(|()| String::new())
}

fn advise(root: &Path, name: &str) -> Outcome {
    let file = open(root, name, OFlags::RDONLY)?;
    fs::fadvise(&file, 0, None, fs::Advice::WillNeed).map(|()| String::new())
}

/// The first bytes through a private mapping. The file lies in a mount that another process serves.
fn map(root: &Path, name: &str, write: bool) -> Outcome {
    use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
    let file = open(root, name, OFlags::RDONLY)?;
    let protection = if write { ProtFlags::READ | ProtFlags::WRITE } else { ProtFlags::READ };
    // SAFETY: the mapping is new and private, at an address that the kernel chooses.
    let at = unsafe { mmap(std::ptr::null_mut(), 4096, protection, MapFlags::PRIVATE, file.as_fd(), 0)? };
    let size = fs::fstat(&file)?.st_size.min(4096) as usize;
    // SAFETY: the file has `size` bytes, does not change, and the mapping is as long.
    let bytes = unsafe { std::slice::from_raw_parts(at.cast::<u8>(), size) };
    let seen = format!("{:?}", &bytes[..size.min(64)]);
    // SAFETY: nothing borrows from it any more.
    unsafe { munmap(at, 4096)? };
    Ok(seen)
}

fn watch(root: &Path, name: &str) -> Outcome {
    use rustix::fs::inotify;
    let watcher = inotify::init(inotify::CreateFlags::CLOEXEC)?;
    inotify::add_watch(watcher, root.join(name), inotify::WatchFlags::ACCESS).map(|_| String::new())
}

fn walk_on(root: &Path, name: &str, next: &str) -> Outcome {
    let from = open(root, name, OFlags::PATH)?;
    let next = CString::new(Path::new(next).as_os_str().as_bytes()).map_err(|_| Errno::INVAL)?;
    let stat = fs::statat(from, next.as_c_str(), AtFlags::SYMLINK_NOFOLLOW)?;
    // Above the root the two differ.
    Ok(if next.as_bytes() == b".." { String::new() } else { format!("{:o}", stat.st_mode) })
}
