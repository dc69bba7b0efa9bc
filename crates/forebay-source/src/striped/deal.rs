//! Dealing a tree out over empty folders, which are the members of a set then.

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::time::SystemTime;

use rustix::fs::{AtFlags, CWD, Gid, Mode, Timespec, Timestamps, Uid, XattrFlags};

use super::{Stripes, StripesError};
use crate::{self as source, Attributes, Fetch, FetchId, Kind, Label, Object, Segments, Source};

/// Bytes that are read at a time.
const PIECE: u64 = 4 << 20;

/// Bytes that are written to a member at a time, at least.
const WRITE: usize = 64 << 10;

/// Why a tree is not dealt out, or not whole.
#[derive(Debug, thiserror::Error)]
pub enum DealError {
    /// No such set is possible.
    #[error(transparent)]
    Stripes(#[from] StripesError),
    /// Two members are the same folder.
    #[error("{}: twice among the members; each part needs a folder of its own", .0.display())]
    Twice(PathBuf),
    /// A member holds something that would be mixed with the set, or overwritten.
    #[error("{}: not empty; a member of a new set is an empty folder, or one that is not there yet", .0.display())]
    NotEmpty(PathBuf),
    /// A file that cannot be copied.
    #[error("{}: a pipe, socket or device cannot be striped", .0.display())]
    Special(PathBuf),
    /// The source failed.
    #[error(transparent)]
    Read(#[from] source::Error),
    /// A member failed.
    #[error("{}: {reason}", .path.display())]
    Write {
        /// The file that was to be written.
        path: PathBuf,
        /// Why it was not written.
        reason: io::Error,
    },
    /// It was told to stop.
    #[error("interrupted")]
    Stopped,
}

impl DealError {
    /// Whether something may have been written by then.
    pub fn has_begun(&self) -> bool {
        matches!(self, DealError::Read(_) | DealError::Write { .. } | DealError::Stopped)
    }
}

/// The files dealt out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Dealt {
    /// Files.
    pub files: u64,
    /// Folders, without the root.
    pub folders: u64,
    /// Symbolic links.
    pub links: u64,
    /// Bytes of the files.
    pub bytes: u64,
}

/// A name of the source.
struct Item {
    path: PathBuf,
    attributes: Attributes,
    /// The target of a link.
    target: PathBuf,
}

/// Copies everything in `source` to the folders `members`, dealt out in chunks of `unit` bytes,
/// with modes, times and `user.` attributes, and with owners if we are root. Members are made if
/// they are not there, and must be empty: nothing is overwritten. Everything is looked at before
/// anything is written. Hard links become files of their own, holes become zeros. `progress` is
/// told how many bytes are done, of how many; if it answers `true`, the copy stops.
pub fn deal(
    source: &dyn Source,
    unit: u64,
    members: &[PathBuf],
    progress: &dyn Fn(u64, u64) -> bool,
) -> Result<Dealt, DealError> {
    let stripes = Stripes::new(unit, members.len())?;
    let items = walk(source)?;
    members.iter().try_for_each(|member| prepared(member))?;
    let mut seen = HashSet::new();
    for member in members {
        if !seen.insert(done(member, fs::canonicalize(member))?) {
            return Err(DealError::Twice(member.clone()));
        }
    }
    let all = items.iter().filter(|item| item.attributes.kind == Kind::File).map(|item| item.attributes.size).sum();
    let mut dealer = Dealer { source, stripes, members, progress, all, dealt: Dealt::default() };
    items.iter().try_for_each(|item| dealer.item(item))?;
    // Filling a folder changes its time, and may need permissions that its mode does not give. So
    // folders get theirs last, and inner ones first.
    items.iter().rev().filter(|item| item.attributes.kind == Kind::Folder).try_for_each(|item| dealer.dressed(item))?;
    Ok(dealer.dealt)
}

/// A folder without anything in it.
fn prepared(member: &Path) -> Result<(), DealError> {
    match fs::read_dir(member) {
        Ok(mut names) => names.next().map_or(Ok(()), |_| Err(DealError::NotEmpty(member.to_owned()))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => done(member, fs::create_dir(member)),
        Err(error) => done(member, Err(error)),
    }
}

fn done<T>(path: &Path, outcome: io::Result<T>) -> Result<T, DealError> {
    outcome.map_err(|reason| DealError::Write { path: path.to_owned(), reason })
}

/// Everything in a source, each folder before its content, the root first.
fn walk(source: &dyn Source) -> Result<Vec<Item>, DealError> {
    let mut items = Vec::new();
    let mut left = vec![PathBuf::new()];
    while let Some(path) = left.pop() {
        let attributes = source.stat(&path)?;
        let mut target = PathBuf::new();
        match attributes.kind {
            Kind::File => {}
            Kind::Folder => left.extend(source.list(&path)?.into_iter().map(|entry| path.join(entry.name))),
            Kind::Link => target = source.read_link(&path)?,
            Kind::Special => return Err(DealError::Special(path)),
        }
        items.push(Item { path, attributes, target });
    }
    Ok(items)
}

struct Dealer<'a> {
    source: &'a dyn Source,
    stripes: Stripes,
    members: &'a [PathBuf],
    progress: &'a dyn Fn(u64, u64) -> bool,
    all: u64,
    dealt: Dealt,
}

impl Dealer<'_> {
    fn item(&mut self, item: &Item) -> Result<(), DealError> {
        self.stop()?;
        match item.attributes.kind {
            Kind::File => {
                self.file(item)?;
                self.dressed(item)?;
                self.dealt.files += 1;
            }
            Kind::Folder if item.path.as_os_str().is_empty() => {}
            Kind::Folder => {
                self.each(item, |path| fs::create_dir(path))?;
                self.dealt.folders += 1;
            }
            Kind::Link => {
                self.each(item, |path| std::os::unix::fs::symlink(&item.target, path))?;
                self.dressed(item)?;
                self.dealt.links += 1;
            }
            Kind::Special => return Err(DealError::Special(item.path.clone())),
        }
        Ok(())
    }

    fn stop(&self) -> Result<(), DealError> {
        if (self.progress)(self.dealt.bytes, self.all) { Err(DealError::Stopped) } else { Ok(()) }
    }

    /// Does the same to a name in each member.
    fn each(&self, item: &Item, act: impl Fn(&Path) -> io::Result<()>) -> Result<(), DealError> {
        self.members.iter().try_for_each(|member| {
            let path = member.join(&item.path);
            done(&path, act(&path))
        })
    }

    /// The bytes of a file, dealt out.
    fn file(&mut self, item: &Item) -> Result<(), DealError> {
        let object = self.source.open(&item.path)?;
        let mut parts = Vec::new();
        for path in self.members.iter().map(|member| member.join(&item.path)) {
            let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
            parts.push((BufWriter::with_capacity(WRITE, done(&path, file)?), path));
        }
        let size = object.version().size;
        let mut at = 0;
        while at < size {
            let end = size.min(at + PIECE);
            let bytes = read(&*object, at, (end - at) as usize)?;
            for (member, chunk) in self.stripes.chunks(at..end) {
                let (part, path) = &mut parts[member];
                done(path, part.write_all(&bytes[(chunk.start - at) as usize..(chunk.end - at) as usize]))?;
            }
            self.dealt.bytes += end - at;
            at = end;
            self.stop()?;
        }
        parts.into_iter().try_for_each(|(part, path)| done(&path, written(part)))
    }

    /// Gives a name in each member the original's attributes.
    fn dressed(&self, item: &Item) -> Result<(), DealError> {
        let attributes = &item.attributes;
        let link = attributes.kind == Kind::Link;
        if !link {
            self.attributes(item)?;
        }
        self.each(item, |path| {
            if rustix::process::geteuid().is_root() {
                let (owner, group) = (Uid::from_raw(attributes.uid), Gid::from_raw(attributes.gid));
                rustix::fs::chownat(CWD, path, Some(owner), Some(group), AtFlags::SYMLINK_NOFOLLOW)?;
            }
            if !link {
                rustix::fs::chmod(path, Mode::from_raw_mode(attributes.mode & 0o7777))?;
            }
            let times =
                Timestamps { last_access: time(attributes.accessed), last_modification: time(attributes.modified) };
            Ok(rustix::fs::utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW)?)
        })
    }

    /// The extended attributes that are the user's own; a set shows those of its first member.
    fn attributes(&self, item: &Item) -> Result<(), DealError> {
        for name in self.source.xattrs(&item.path)?.iter().filter(|name| name.as_bytes().starts_with(b"user.")) {
            let (value, path) = (self.source.xattr(&item.path, name)?, self.members[0].join(&item.path));
            let set = rustix::fs::setxattr(&path, name.as_bytes(), &value, XattrFlags::empty());
            done(&path, set.map_err(io::Error::from))?;
        }
        Ok(())
    }
}

fn written(part: BufWriter<File>) -> io::Result<()> {
    part.into_inner().map(drop).map_err(io::IntoInnerError::into_error)
}

/// `len` bytes from `offset`.
fn read(object: &dyn Object, offset: u64, len: usize) -> source::Result<Vec<u8>> {
    let (send, receive) = channel();
    let done = Box::new(move |buffer: Segments, outcome: source::Result<()>| {
        // We wait for it below.
        let _ = send.send(outcome.map(|()| buffer.to_vec()));
    });
    let (id, label) = (FetchId::unique(), Label::all(offset..offset + len as u64));
    object.fetch(Fetch { id, offset, buffer: Segments::own(len), len, urgent: true, label, done });
    let dropped =
        || source::Error::Storage { name: object.identity().name.to_string(), reason: "gave no answer".into() };
    let mut bytes = receive.recv().map_err(|_| dropped())??;
    bytes.truncate(len);
    Ok(bytes)
}

/// A time that may lie before the epoch, as the system takes it.
fn time(time: SystemTime) -> Timespec {
    let (seconds, nanos) = match time.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(after) => (after.as_secs() as i64, after.subsec_nanos()),
        Err(error) => {
            let before = error.duration();
            match before.subsec_nanos() {
                0 => (-(before.as_secs() as i64), 0),
                nanos => (-(before.as_secs() as i64) - 1, 1_000_000_000 - nanos),
            }
        }
    };
    Timespec { tv_sec: seconds, tv_nsec: nanos.into() }
}
