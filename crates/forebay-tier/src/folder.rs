//! A folder of segments: its lock, its id, and the names of its files.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use rustix::fs::FlockOperation;
use rustix::io::Errno;

use crate::disk::{Claim, Disk};
use crate::error::Error;
use crate::fingerprint::Key;
use crate::id::{self, Damage, Id};
use crate::layout::{LAYOUT, SEGMENTS_A_FILE, table_at};
use crate::table;

/// How often the lock is tried, and how long is waited between: whoever looks at a folder holds its
/// lock for a moment.
const TRIES: u32 = 10;
const BETWEEN: Duration = Duration::from_millis(20);

/// A folder that this process owns.
#[derive(Debug)]
pub(crate) struct Folder {
    /// As it was given.
    pub(crate) dir: PathBuf,
    lock: Mutex<Option<File>>,
    pub(crate) key: Key,
}

/// A file of segments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Found {
    /// Its number.
    pub number: u32,
    /// Bytes.
    pub size: u64,
    /// When it was written last.
    pub modified: SystemTime,
}

impl Folder {
    /// Opens a folder, or makes it.
    pub(crate) fn open(dir: &Path, disk: &dyn Disk) -> Result<Folder, Error> {
        let Claim { key, lock } = disk.claim(dir)?;
        Ok(Folder { dir: dir.to_path_buf(), lock: Mutex::new(lock), key })
    }

    /// Another process may have it from now on.
    pub(crate) fn release(&self) {
        self.lock.lock().take();
    }

    /// The folder of the files of segments.
    pub(crate) fn segments(&self) -> PathBuf {
        segments(&self.dir)
    }

    /// The path of a file of segments.
    pub(crate) fn file(&self, number: u32) -> PathBuf {
        file(&self.dir, number)
    }
}

/// Takes a folder of this machine. Files of a tier whose id is lost are removed, since nothing in
/// them can be told from other bytes.
pub(crate) fn claim(dir: &Path) -> Result<Claim, Error> {
    for folder in [dir.to_path_buf(), root(dir), segments(dir)] {
        match fs::DirBuilder::new().mode(0o700).create(&folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(Error::refused(&folder, "make this folder")(error));
            }
            _ => {}
        }
    }
    let lock = locked(dir)?;
    let key = match read_id(dir) {
        Ok(Some(Ok(id))) => id.key,
        Ok(Some(Err(Damage::Layout(_)))) => return Err(Error::Foreign(root(dir).join("id"))),
        Ok(Some(Err(Damage::Bytes)) | None) => renewed(dir)?,
        Err(error) => return Err(Error::refused(&root(dir).join("id"), "read")(error)),
    };
    Ok(Claim { key, lock: Some(lock) })
}

/// The folder of this layout.
pub(crate) fn root(dir: &Path) -> PathBuf {
    dir.join(format!("forebay-{LAYOUT}"))
}

pub(crate) fn segments(dir: &Path) -> PathBuf {
    root(dir).join("segments")
}

pub(crate) fn file(dir: &Path, number: u32) -> PathBuf {
    segments(dir).join(format!("{number:08}"))
}

/// Takes the lock of a folder, and writes this process's number into it.
pub(crate) fn locked(dir: &Path) -> Result<File, Error> {
    let path = root(dir).join("lock");
    let mut options = fs::OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    let mut pid = None;
    for _ in 0..TRIES {
        let mut lock = options.open(&path).map_err(Error::refused(&path, "open"))?;
        match rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) if is_at(&lock, &path) => {
                // For messages only.
                let _ = lock.set_len(0).and_then(|()| writeln!(lock, "{}", std::process::id()));
                return Ok(lock);
            }
            // The process that had it removed it, to clear the folder.
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => {
                pid = pid_in(&mut lock);
                thread::sleep(BETWEEN);
            }
            Err(errno) => return Err(Error::refused(&path, "lock")(errno.into())),
        }
    }
    Err(Error::InUse { dir: dir.to_path_buf(), pid })
}

fn is_at(file: &File, path: &Path) -> bool {
    let identity = |about: fs::Metadata| (about.dev(), about.ino());
    let (one, other) = (file.metadata().map(identity), fs::metadata(path).map(identity));
    one.ok().is_some_and(|one| other.ok() == Some(one))
}

/// The owner of a folder, if it has one: its process, if that is known.
pub(crate) fn owner(dir: &Path) -> io::Result<Option<Option<u32>>> {
    let mut lock = match File::open(root(dir).join("lock")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        lock => lock?,
    };
    match rustix::fs::flock(&lock, FlockOperation::NonBlockingLockShared) {
        Err(Errno::WOULDBLOCK) => Ok(Some(pid_in(&mut lock))),
        outcome => outcome.map(|()| None).map_err(io::Error::from),
    }
}

fn pid_in(lock: &mut File) -> Option<u32> {
    let mut pid = String::new();
    Read::take(lock, 20).read_to_string(&mut pid).ok()?;
    pid.trim().parse().ok()
}

/// The id of a folder; `None` if there is none.
pub(crate) fn read_id(dir: &Path) -> io::Result<Option<Result<Id, Damage>>> {
    let mut bytes = Vec::new();
    match File::open(root(dir).join("id")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?.take(id::LEN as u64 + 1).read_to_end(&mut bytes)?,
    };
    Ok(Some(Id::decode(&bytes)))
}

/// Makes a new id, after the files of segments have gone that nothing is known of.
fn renewed(dir: &Path) -> Result<Key, Error> {
    let files = found(dir).map_err(Error::refused(&segments(dir), "list"))?;
    if let Some(foreign) = files.iter().find(|found| !is_ours(&file(dir, found.number))) {
        return Err(Error::Foreign(file(dir, foreign.number)));
    }
    if !files.is_empty() {
        log::warn!("{}: the id of this disk tier is damaged: it begins anew", dir.display());
    }
    for found in files {
        let path = file(dir, found.number);
        fs::remove_file(&path).map_err(Error::refused(&path, "remove"))?;
    }
    let id = Id { key: Key::random() };
    let (path, new) = (root(dir).join("id"), root(dir).join("id.new"));
    let private = || fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new);
    let written = private().and_then(|mut file| {
        file.write_all(&id.encode())?;
        file.sync_all()?;
        fs::rename(&new, &path)?;
        File::open(root(dir))?.sync_all()
    });
    written.map_err(Error::refused(&path, "write"))?;
    Ok(id.key)
}

/// The files of segments, by their names; others are left alone.
pub(crate) fn found(dir: &Path) -> io::Result<Vec<Found>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(segments(dir))? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_str().filter(|name| name.len() == 8 && name.bytes().all(|byte| byte.is_ascii_digit()));
        let Some(number) = name.and_then(|name| name.parse().ok()) else { continue };
        let about = entry.metadata()?;
        let modified = about.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        if about.is_file() {
            files.push(Found { number, size: about.len(), modified });
        }
    }
    Ok(files)
}

/// Whether a file has a segment's table, or nothing yet.
pub(crate) fn is_ours(path: &Path) -> bool {
    use std::os::unix::fs::FileExt;
    let Ok(file) = File::open(path) else { return false };
    let mut nothing = true;
    for segment in 0..SEGMENTS_A_FILE {
        let mut head = [0; table::MAGIC.len()];
        match file.read_at(&mut head, table_at(segment)) {
            Ok(_) if head == table::MAGIC => return true,
            Ok(_) => nothing &= head.iter().all(|&byte| byte == 0),
            Err(_) => return false,
        }
    }
    nothing
}
