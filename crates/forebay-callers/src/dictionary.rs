//! The dictionary: the contexts of ids, a file beside the table to which programs append lines.

use std::collections::BTreeMap;
use std::ffi::CStr;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::descriptor::{Descriptor, may_reach};
use crate::{Context, Error};

/// The most bytes of a dictionary that are written or read.
pub const MOST: u64 = 16 << 20;

/// Appends `line` (which ends in a newline) to the dictionary at `path` by one write. Failures are
/// passed over: an id without a name works as well. Once the file is 16 MiB long nothing is added.
pub fn append(path: &CStr, line: &[u8]) {
    let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE;
    let Ok(file) = Descriptor::open(path, flags) else { return };
    let Ok(stat) = rustix::fs::fstat(&file) else { return };
    let ours = stat.st_uid == rustix::process::geteuid().as_raw();
    let end = stat.st_size as u64 + line.len() as u64;
    // The room beyond is for lines that other programs append meanwhile.
    if ours && end <= MOST && may_reach(end + (1 << 20)) {
        let _ = rustix::io::write(&file, line);
    }
}

/// A dictionary that is read.
#[derive(Debug)]
pub struct Dictionary {
    path: PathBuf,
    owner: u32,
    read: u64,
    contexts: BTreeMap<u64, Context>,
}

impl Dictionary {
    /// Reads the dictionary at `path`, which user `owner` writes. An absent one is empty.
    ///
    /// # Errors
    /// If it can't be read, is not a regular file, or belongs to another user.
    pub fn open(path: &Path, owner: u32) -> Result<Dictionary, Error> {
        let mut dictionary = Dictionary { path: path.into(), owner, read: 0, contexts: BTreeMap::new() };
        dictionary.refresh()?;
        Ok(dictionary)
    }

    /// Reads the lines appended since the last call, and returns how many contexts are new.
    ///
    /// # Errors
    /// As [`Dictionary::open`].
    pub fn refresh(&mut self) -> Result<usize, Error> {
        let path = &self.path;
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32;
        let mut file = match std::fs::File::options().read(true).custom_flags(flags).open(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(0),
            opened => opened.map_err(|error| Error::system("open", path, error))?,
        };
        let metadata = file.metadata().map_err(|error| Error::system("look at", path, error))?;
        if metadata.uid() != self.owner {
            return Err(Error::Owner { path: path.clone(), owner: metadata.uid(), wanted: self.owner });
        }
        if !metadata.is_file() {
            return Err(Error::Form { path: path.clone(), wanted: "a dictionary of contexts" });
        }
        let mut bytes = Vec::new();
        let begin = if metadata.len() < self.read { 0 } else { self.read };
        let read =
            file.seek(SeekFrom::Start(begin)).and_then(|_| file.take(MOST - begin.min(MOST)).read_to_end(&mut bytes));
        read.map_err(|error| Error::system("read", path, error))?;
        // The bytes after the last newline are still being written, or were torn.
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        self.read = begin + whole as u64;
        let before = self.contexts.len();
        let lines = bytes[..whole].split(|byte| *byte == b'\n').filter_map(|line| std::str::from_utf8(line).ok());
        self.contexts.extend(lines.filter_map(Context::parse).map(|context| (context.id, context)));
        Ok(self.contexts.len() - before)
    }

    /// The context of `id`.
    pub fn context(&self, id: u64) -> Option<&Context> {
        self.contexts.get(&id)
    }

    /// All contexts, by id.
    pub fn contexts(&self) -> impl Iterator<Item = &Context> {
        self.contexts.values()
    }
}
