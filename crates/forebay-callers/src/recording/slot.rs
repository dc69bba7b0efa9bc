//! One slot of a log: six words.
//!
//! ```text
//!   log     MAGIC            pid           began: monotonic ns   parent pid     version         0
//!   call    kind | tid << 32 at: ns        context               file           offset          length
//!   file    64 | …           number        device                inode          size            born: ns since 1970
//!   text    65 | …           subject: the file's number, the context's id, or 0 for the program; 32 bytes of text
//! ```

/// The first word of a log.
pub(crate) const MAGIC: u64 = u64::from_le_bytes(*b"fbcalls1");
/// Words of a slot.
pub(crate) const WORDS: usize = 6;
/// Bytes of a slot.
pub(crate) const BYTES: usize = WORDS * 8;
/// Bytes of text in a slot.
pub(crate) const TEXT: usize = 32;

pub(crate) const FILE: u8 = 64;
pub(crate) const PIECE: u8 = 65;

/// The kind of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Kind {
    /// A file was opened.
    Open = 1,
    /// `read`, at the descriptor's position.
    Read = 2,
    /// `pread`, at a position of its own.
    Pread = 3,
    /// `readv`.
    Readv = 4,
    /// `preadv` and `preadv2`.
    Preadv = 5,
    /// A stream of the C library filled its buffer: `fread`, `fgets`, `getline`, `fscanf` …
    Stdio = 6,
    /// A file was mapped: the range that may be touched from then on.
    Mmap = 7,
    /// The source of `sendfile`.
    Sendfile = 8,
    /// The source of `copy_file_range`.
    CopyFileRange = 9,
    /// The source of `splice`.
    Splice = 10,
    /// Bytes were written, by any call.
    Write = 32,
}

impl Kind {
    /// Every kind, in the order of their numbers.
    pub const ALL: [Kind; 11] = [
        Kind::Open,
        Kind::Read,
        Kind::Pread,
        Kind::Readv,
        Kind::Preadv,
        Kind::Stdio,
        Kind::Mmap,
        Kind::Sendfile,
        Kind::CopyFileRange,
        Kind::Splice,
        Kind::Write,
    ];

    pub(crate) fn of(number: u8) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| *kind as u8 == number)
    }

    /// Whether bytes were read by the call itself: neither opened, mapped nor written.
    pub fn reads(self) -> bool {
        !matches!(self, Kind::Open | Kind::Mmap | Kind::Write)
    }
}

/// The subject of a piece of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Subject {
    /// The path of the file with this number.
    File = 1,
    /// The line of the context with this id.
    Context = 2,
    /// The process's program: `path TAB build`.
    Program = 3,
}

impl Subject {
    pub(crate) fn of(number: u8) -> Option<Subject> {
        [Subject::File, Subject::Context, Subject::Program].into_iter().find(|subject| *subject as u8 == number)
    }
}

/// A file as a process numbers it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileName {
    /// Its number in this process.
    pub number: u32,
    /// The device that it is on.
    pub device: u64,
    /// Its inode.
    pub inode: u64,
    /// Its length when it was first seen, bytes.
    pub size: u64,
    /// When it was made, nanoseconds since 1970; 0 where the file system doesn't say. Inode numbers
    /// are used again, so the time tells files apart.
    pub born: u64,
}
