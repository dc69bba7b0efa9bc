//! The table: which context each thread is in at the moment, in shared memory.
//!
//! A preloaded program writes its thread's slot before a call and clears it after, so that another
//! thread that gets the same id inherits nothing. A slot is two words, the context id and that id
//! mixed with the thread. A slot that is half written, or was written by a thread whose id ends
//! alike, does not fit together, and its reader gets no context.
//!
//! ```text
//!   0 magic … | 4096  65,536 × { id, id ^ mix(thread) } | 1 MiB + 4096  65,536 × id whose name is in the dictionary
//! ```
//!
//! Known weaknesses. Of two threads whose ids are equal modulo 65,536 and that read at the same
//! time, the later one has the slot. The slot of a thread that was killed within a call stays until
//! its id is used again.

use std::ffi::CStr;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{FallocateFlags, FileType, Mode, OFlags};
use rustix::mm::{MapFlags, ProtFlags};

use crate::descriptor::{Descriptor, may_reach};
use crate::{CONTEXTS, Error, mix};

const MAGIC: u64 = u64::from_le_bytes(*b"forebay1");
const SLOTS: usize = 1 << 16;
const SLOTS_AT: usize = 4096;
const NAMED_AT: usize = SLOTS_AT + SLOTS * 16;
const SIZE: usize = NAMED_AT + SLOTS * 8;

/// The path of the table of user `uid`: the value of `FOREBAY_CONTEXTS` if the user is ours, else
/// `/dev/shm/forebay-contexts-UID`. `None` if the variable is set and empty: there is to be no
/// table.
pub fn table_path(uid: u32) -> Option<PathBuf> {
    let own = uid == rustix::process::geteuid().as_raw();
    match std::env::var_os(CONTEXTS).filter(|_| own) {
        Some(path) if path.is_empty() => None,
        Some(path) => Some(path.into()),
        None => Some(format!("/dev/shm/forebay-contexts-{uid}").into()),
    }
}

/// The path of a table's dictionary: beside it.
pub fn names_path(table: &Path) -> PathBuf {
    let mut path = table.as_os_str().to_owned();
    path.push(".names");
    path.into()
}

/// A table that is read. Its bytes are read by system calls, never mapped: its owner may cut the
/// file short at any time.
#[derive(Debug)]
pub struct Table {
    file: OwnedFd,
    path: PathBuf,
}

impl Table {
    /// Makes our own table at `path`, or opens the one that is there.
    ///
    /// # Errors
    /// If it cannot be made, or the file there is another user's or no table.
    pub fn create(path: &Path) -> Result<Table, Error> {
        let name = std::ffi::CString::new(path.as_os_str().as_encoded_bytes())
            .map_err(|_| Error::Form { path: path.into(), wanted: "a file name" })?;
        make(&name).map_err(|error| Error::system("make", path, error))?;
        Table::open(path, rustix::process::geteuid().as_raw())
    }

    /// Opens the table at `path`, which tells of the threads of user `owner`.
    ///
    /// # Errors
    /// If there is none, or it belongs to another user, is a symbolic link, or no table.
    pub fn open(path: &Path, owner: u32) -> Result<Table, Error> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let file = rustix::fs::open(path, flags, Mode::empty()).map_err(|error| Error::system("open", path, error))?;
        let stat = rustix::fs::fstat(&file).map_err(|error| Error::system("look at", path, error))?;
        if stat.st_uid != owner {
            return Err(Error::Owner { path: path.into(), owner: stat.st_uid, wanted: owner });
        }
        let mut magic = [0; 8];
        let read = rustix::io::pread(&file, &mut magic, 0).map_err(|error| Error::system("read", path, error));
        let regular = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        if !regular || stat.st_size != SIZE as i64 || read? != 8 || u64::from_le_bytes(magic) != MAGIC {
            return Err(Error::Form { path: path.into(), wanted: "a table of contexts" });
        }
        Ok(Table { file, path: path.into() })
    }

    /// The context that thread `tid` is in; `None` if it is not within a call, or not preloaded.
    /// One short system call.
    pub fn get(&self, tid: u32) -> Option<u64> {
        let mut words = [0; 16];
        let at = SLOTS_AT + (tid as usize % SLOTS) * 16;
        if rustix::io::pread(&self.file, &mut words, at as u64) != Ok(16) {
            return None;
        }
        let [id, check] = [0, 8].map(|at| u64::from_ne_bytes(words[at..at + 8].try_into().expect("eight bytes")));
        (id != 0 && check == id ^ mix(u64::from(tid))).then_some(id)
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Opens or makes a table's file and gives it all its memory, so that touching it can't fail later.
fn make(path: &CStr) -> rustix::io::Result<Descriptor> {
    let file = Descriptor::open(path, OFlags::RDWR | OFlags::CREATE)?;
    let stat = rustix::fs::fstat(&file)?;
    let ours = stat.st_uid == rustix::process::geteuid().as_raw();
    if !ours || FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile || stat.st_size > SIZE as i64 {
        return Err(rustix::io::Errno::PERM);
    }
    if stat.st_size < SIZE as i64 {
        if !may_reach(SIZE as u64) {
            return Err(rustix::io::Errno::FBIG);
        }
        // Another program that does the same at this time writes the same bytes.
        rustix::io::pwrite(&file, &MAGIC.to_le_bytes(), 0)?;
        rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, SIZE as u64)?;
    }
    Ok(file)
}

/// A table that is written, by a program about its own threads.
#[derive(Debug)]
pub struct TableWriter {
    base: *const u8,
}

// SAFETY: the mapping is shared with other processes anyway; all access is atomic.
unsafe impl Send for TableWriter {}
// SAFETY: as above.
unsafe impl Sync for TableWriter {}

impl TableWriter {
    /// Maps our own table at `path`, which is made if it is not there. The mapping stays for the
    /// life of the process.
    pub fn create(path: &CStr) -> Option<TableWriter> {
        let file = make(path).ok()?;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a fresh mapping wherever there is room.
        let base =
            unsafe { rustix::mm::mmap(std::ptr::null_mut(), SIZE, protection, MapFlags::SHARED, &file, 0) }.ok()?;
        let table = TableWriter { base: base.cast() };
        (table.word(0).load(Ordering::Relaxed) == MAGIC).then_some(table)
    }

    /// The word at `offset`, a multiple of 8 below [`SIZE`].
    #[inline(always)]
    fn word(&self, offset: usize) -> &AtomicU64 {
        debug_assert!(offset < SIZE && offset.is_multiple_of(8));
        // SAFETY: inside the mapping, which is never taken down, and aligned.
        unsafe { &*self.base.add(offset).cast::<AtomicU64>() }
    }

    /// Puts thread `tid` into context `id` (not 0).
    #[inline(always)]
    pub fn set(&self, tid: u32, id: u64) {
        let at = SLOTS_AT + (tid as usize % SLOTS) * 16;
        self.word(at).store(id, Ordering::Relaxed);
        self.word(at + 8).store(id ^ mix(u64::from(tid)), Ordering::Relaxed);
    }

    /// Takes thread `tid` out of its context.
    #[inline(always)]
    pub fn clear(&self, tid: u32) {
        let at = SLOTS_AT + (tid as usize % SLOTS) * 16;
        self.word(at).store(0, Ordering::Relaxed);
    }

    /// Whether `id` is to be named now: true at first, as far as is remembered. Ids that are equal
    /// modulo 65,536 displace each other, and then are named twice.
    #[inline(always)]
    pub fn names(&self, id: u64) -> bool {
        let word = self.word(NAMED_AT + (id as usize % SLOTS) * 8);
        if word.load(Ordering::Relaxed) == id {
            return false;
        }
        word.store(id, Ordering::Relaxed);
        true
    }
}
