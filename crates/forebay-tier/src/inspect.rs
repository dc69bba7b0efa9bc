//! A folder without a tier, for a command: its content, a check of its bytes, and its end.

use std::fs::{self, File};
use std::io;
use std::num::NonZeroU64;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use forebay_source::BLOCK;
use rustix::fs::Advice;

use crate::disk::{Disk, Local};
use crate::error::Error;
use crate::fingerprint::Key;
use crate::folder::{self, Found, file, found, is_ours, read_id, root};
use crate::layout::{SEGMENT, SEGMENTS_A_FILE, byte_at, bytes, segments_of, table_at};
use crate::table::{Entry, Table};

/// The content of a folder.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Info {
    /// Files of segments.
    pub files: u64,
    /// Bytes that the files take on the disk, with all that is beside them.
    pub disk_bytes: u64,
    /// Bytes of its file system.
    pub system_bytes: u64,
    /// Bytes of these that are free for us.
    pub system_free_bytes: u64,
    /// Segments that have pieces. One that is being written has them once its table is.
    pub segments: u64,
    /// Pieces.
    pub pieces: u64,
    /// Bytes of the pieces.
    pub piece_bytes: u64,
    /// The versions of files that the pieces are of.
    pub versions: u64,
    /// Whether the id is as it was written. If not, nothing else is known, and a tier begins anew.
    pub id_is_right: bool,
    /// Whether a tier has the folder open, and its process if that is known.
    pub owner: Option<Option<u32>>,
}

/// The findings of a check.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// Pieces whose bytes are right.
    pub right: u64,
    /// Bytes of these.
    pub right_bytes: u64,
    /// Pieces whose bytes are not those that were written. Readers get such pieces from the source.
    pub damaged: Vec<Damaged>,
    /// Segments whose table is damaged: their pieces are lost.
    pub lost_segments: u64,
    /// Segments that were written anew during the check.
    pub changed_segments: u64,
}

/// A piece whose bytes are not those that were written, or cannot be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Damaged {
    /// The file of segments.
    pub file: PathBuf,
    /// The first byte in it.
    pub offset: u64,
    /// How many bytes.
    pub len: u64,
}

/// How far a check is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Progress {
    /// Segments that were checked.
    pub segments: u64,
    /// Segments that are to be checked.
    pub of: u64,
    /// Bytes that were read.
    pub bytes: u64,
}

/// The content of a folder, which may be in use. Reads the tables, not the pieces.
pub fn info(dir: &Path) -> Result<Info, Error> {
    let files = listed(dir)?;
    let key = key(dir)?;
    let room = Local.room(&root(dir)).map_err(Error::refused(dir, "look at the free space"))?;
    let mut info = Info {
        system_bytes: room.bytes,
        system_free_bytes: room.free,
        files: files.len() as u64,
        disk_bytes: taken(dir),
        id_is_right: key.is_some(),
        owner: folder::owner(dir).map_err(Error::refused(&root(dir).join("lock"), "read"))?,
        ..Info::default()
    };
    let mut versions = std::collections::HashSet::new();
    for (found, key) in files.iter().zip(key.iter().cycle()) {
        let path = file(dir, found.number);
        let file = File::open(&path).map_err(Error::refused(&path, "open"))?;
        for segment in segments_of(found.number) {
            let Ok(Some(table)) = table_of(&file, key, segment) else { continue };
            info.segments += u64::from(!table.entries.is_empty());
            info.pieces += table.entries.len() as u64;
            info.piece_bytes += table.entries.iter().map(|entry| bytes(entry.len.into()) as u64).sum::<u64>();
            versions.extend(table.entries.iter().map(|entry| entry.fingerprint));
        }
    }
    info.versions = versions.len() as u64;
    Ok(info)
}

/// Reads every piece of a folder, which may be in use, and compares it with its checksum.
/// `progress` is called after each segment.
pub fn check(dir: &Path, mut progress: impl FnMut(Progress)) -> Result<Report, Error> {
    let files = listed(dir)?;
    let Some(key) = key(dir)? else { return Err(Error::NoTier(dir.to_path_buf())) };
    let mut report = Report::default();
    let mut told = Progress { of: files.len() as u64 * u64::from(SEGMENTS_A_FILE), ..Progress::default() };
    for Found { number, .. } in files {
        let path = file(dir, number);
        let file = File::open(&path).map_err(Error::refused(&path, "open"))?;
        for segment in segments_of(number) {
            let checked = Checked { path: &path, file: &file, key: &key, segment };
            told.bytes += checked.check(&mut report);
            told.segments += 1;
            progress(told);
        }
    }
    Ok(report)
}

/// Removes the tier of a folder. Refuses while a tier has it open. Files that are not the tier's
/// stay.
pub fn clear(dir: &Path) -> Result<(), Error> {
    let files = listed(dir)?;
    let lock = folder::locked(dir)?;
    // Before anything goes.
    if let Some(foreign) = files.iter().map(|found| file(dir, found.number)).find(|path| !is_ours(path)) {
        return Err(Error::Foreign(foreign));
    }
    for Found { number, .. } in files {
        let path = file(dir, number);
        fs::remove_file(&path).map_err(Error::refused(&path, "remove"))?;
    }
    for name in ["id", "id.new", "lock"] {
        let path = root(dir).join(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(Error::refused(&path, "remove")(error));
            }
            _ => {}
        }
    }
    // Files that are not ours stay, and with them the folders.
    let _ = fs::remove_dir(folder::segments(dir)).and_then(|()| fs::remove_dir(root(dir)));
    drop(lock);
    Ok(())
}

/// The files of segments of a folder that has a tier.
fn listed(dir: &Path) -> Result<Vec<Found>, Error> {
    match found(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(Error::NoTier(dir.to_path_buf())),
        files => files.map_err(Error::refused(&folder::segments(dir), "list")),
    }
}

/// The key of a folder; `None` if its id is damaged or missing.
fn key(dir: &Path) -> Result<Option<Key>, Error> {
    let id = read_id(dir).map_err(Error::refused(&root(dir).join("id"), "read"))?;
    Ok(id.and_then(Result::ok).map(|id| id.key))
}

/// Bytes that a folder's files take on the disk.
fn taken(dir: &Path) -> u64 {
    let of_folder = |folder: PathBuf| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.filter_map(|entry| Some(entry.metadata().ok()?.blocks() * 512)).sum::<u64>()
    };
    of_folder(root(dir)) + of_folder(folder::segments(dir))
}

/// The table of a segment; `None` if it is damaged. One without pieces stands for none.
fn table_of(file: &File, key: &Key, segment: u32) -> io::Result<Option<Table>> {
    let read = |len: usize| {
        let mut encoded = vec![0; len];
        let read = file.read_at(&mut encoded, table_at(segment))?;
        encoded.truncate(read);
        io::Result::Ok(encoded)
    };
    let mut encoded = read(BLOCK)?;
    if let Some(len) = Table::length(&encoded).filter(|&len| len > BLOCK) {
        encoded = read(len)?;
    }
    if encoded.iter().all(|&byte| byte == 0) {
        return Ok(Some(Table::default()));
    }
    Ok(Table::decode(&encoded, key, segment).ok())
}

/// A segment that is checked.
struct Checked<'a> {
    path: &'a Path,
    file: &'a File,
    key: &'a Key,
    segment: u32,
}

impl Checked<'_> {
    /// Returns how many bytes were read.
    fn check(&self, report: &mut Report) -> u64 {
        // The disk is asked, and not the page cache, which has better uses.
        let _ = rustix::fs::fadvise(self.file, table_at(self.segment), NonZeroU64::new(SEGMENT), Advice::DontNeed);
        let Ok(Some(table)) = self.table() else {
            report.lost_segments += 1;
            return BLOCK as u64;
        };
        let (right, wrong): (Vec<&Entry>, Vec<&Entry>) = table.entries.iter().partition(|entry| self.is_right(entry));
        let len = |entry: &&Entry| bytes(entry.len.into()) as u64;
        let read = table.entries.iter().map(|entry| len(&entry)).sum();
        if !wrong.is_empty() && self.table().ok().flatten() != Some(table.clone()) {
            report.changed_segments += 1;
            return read;
        }
        report.right += right.len() as u64;
        report.right_bytes += right.iter().map(len).sum::<u64>();
        report.damaged.extend(wrong.iter().map(|entry| {
            let offset = byte_at(entry.piece(self.segment).place);
            Damaged { file: self.path.to_path_buf(), offset, len: len(entry) }
        }));
        read
    }

    fn table(&self) -> io::Result<Option<Table>> {
        table_of(self.file, self.key, self.segment)
    }

    fn is_right(&self, entry: &Entry) -> bool {
        let mut read = vec![0; bytes(entry.len.into())];
        let whole = self.file.read_exact_at(&mut read, byte_at(entry.piece(self.segment).place));
        whole.is_ok() && entry.fingerprint.sum(entry.start, [&read[..]].into_iter()) == entry.sum
    }
}
