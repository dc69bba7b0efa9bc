//! The use of a folder.

use std::path::PathBuf;

use forebay_core::tier::Rules;

use crate::layout::{BESIDE, FILE_ROOM};

/// A folder, and what a tier may take of it.
#[derive(Clone, PartialEq, Debug)]
pub struct Options {
    /// The folder. It is made if only its last name does not exist.
    pub dir: PathBuf,
    /// The most bytes that all files of the tier take, at any moment. At least [`Options::LEAST`].
    /// If the file system has fewer bytes, these are the most.
    pub size: u64,
    /// The room that stays free in the file system.
    pub free: Free,
    /// Bytes written per second; `None`: a fifth of what the disk turns out to write.
    pub writes: Option<u64>,
    /// Which blocks are written, and which segment is given up.
    pub rules: Rules,
}

impl Options {
    /// The smallest size of a tier, bytes: one file of segments, and what is beside it.
    pub const LEAST: u64 = FILE_ROOM + BESIDE;

    /// A folder for so many bytes; a tenth of its file system stays free.
    pub fn new(dir: impl Into<PathBuf>, size: u64) -> Options {
        Options { dir: dir.into(), size, free: Free::default(), writes: None, rules: Rules::default() }
    }
}

/// The room that stays free in a file system.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Free {
    /// So many bytes.
    Bytes(u64),
    /// So many per cent of its size.
    Percent(f64),
}

impl Default for Free {
    fn default() -> Free {
        Free::Percent(10.0)
    }
}

impl Free {
    /// In bytes, of a file system of so many.
    pub(crate) fn of(self, size: u64) -> u64 {
        match self {
            Free::Bytes(bytes) => bytes,
            Free::Percent(percent) => (size as f64 * percent / 100.0) as u64,
        }
    }
}
