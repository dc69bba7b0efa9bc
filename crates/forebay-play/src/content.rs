//! The content of a workload's files, and making them.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use forebay_trace::Workload;
use serde::Serialize;

use super::{Error, Watch, files};

/// The content of files, so that a reader can check the bytes that it gets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Content {
    /// Every word of eight bytes follows from the file's number and its place in the file: no block
    /// equals another.
    Pattern,
    /// Zeros. Files are sparse: they take no room, and reading them does not touch the disk.
    Zeros,
}

impl Content {
    /// Fills a buffer with the content of a file from `offset` on.
    pub fn fill(self, file: u64, offset: u64, buffer: &mut [u8]) {
        match self {
            Content::Zeros => buffer.fill(0),
            Content::Pattern => each(file, offset, buffer.len(), |at, bytes| {
                buffer[at..at + bytes.len()].copy_from_slice(bytes);
                true
            }),
        }
    }

    /// The first place in the file where a buffer that was read from `offset` on differs from the
    /// file's content.
    pub fn difference(self, file: u64, offset: u64, buffer: &[u8]) -> Option<u64> {
        let mut differs = None;
        match self {
            Content::Zeros => differs = buffer.iter().position(|&byte| byte != 0),
            Content::Pattern => each(file, offset, buffer.len(), |at, bytes| {
                let read = &buffer[at..at + bytes.len()];
                if read != bytes {
                    differs = read.iter().zip(bytes).position(|(one, other)| one != other).map(|place| at + place);
                }
                differs.is_none()
            }),
        }
        differs.map(|place| offset + place as u64)
    }
}

/// Calls `each` with the words of a file from `offset` on, and their places in `len` bytes from
/// there, until it answers `false`. Only the first and the last may have fewer than eight bytes.
fn each(file: u64, offset: u64, len: usize, mut each: impl FnMut(usize, &[u8]) -> bool) {
    let mut done = 0;
    while done < len {
        let place = offset + done as u64;
        let bytes = word(file, place / 8).to_le_bytes();
        let from = (place % 8) as usize;
        let some = &bytes[from..(from + len - done).min(8)];
        if !each(done, some) {
            return;
        }
        done += some.len();
    }
}

/// The word at a place of a file: files differ by a bijection of their numbers, places by another.
fn word(file: u64, index: u64) -> u64 {
    let mixed = (file.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ index).wrapping_mul(0xff51_afd7_ed55_8ccd);
    mixed ^ (mixed >> 32)
}

/// The result of laying files.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Laid {
    /// How many files there are.
    pub files: u64,
    /// How many of them were there already, as they must be.
    pub kept: u64,
    /// Bytes of all files.
    pub bytes: u64,
}

/// Bytes that are written at a time.
const PIECE: usize = 1 << 20;

/// Makes the files of a workload in a folder, which is made if it is not there. These are the files
/// that are read and those that the trace only lists, each of its size, named by their numbers. A
/// file that is there is kept if its size is right, and so are its first and last few kilobytes;
/// else it is made anew. `watch` is told the bytes that are done, and of how many, and says whether
/// to stop.
pub fn lay(workload: &Workload, folder: &Path, content: Content, watch: Watch<'_>) -> Result<Laid, Error> {
    let failed = |name: &Path, what: &str| {
        let (name, what) = (name.display().to_string(), what.to_owned());
        move |source| Error::File { name, what, source }
    };
    fs::create_dir_all(folder).map_err(failed(folder, "making the folder"))?;
    let (mut laid, all) = (Laid::default(), workload.bytes());
    for file in workload.file_table() {
        let path = folder.join(files::name(file.name));
        if is_laid(&path, file.name, file.bytes, content) {
            laid.kept += 1;
        } else {
            let mut stopped = false;
            let mut watch = |done| {
                stopped = stopped || watch(laid.bytes + done, all);
                stopped
            };
            make(&path, file.name, file.bytes, content, &mut watch).map_err(failed(&path, "making it"))?;
            if stopped {
                return Err(Error::Stopped);
            }
        }
        laid.files += 1;
        laid.bytes += file.bytes;
    }
    Ok(laid)
}

/// Whether a file is there as it must be, as far as its size and its two ends tell.
fn is_laid(path: &Path, number: u64, bytes: u64, content: Content) -> bool {
    const END: u64 = 4096;
    let right = || -> io::Result<bool> {
        let file = File::open(path)?;
        if file.metadata()?.len() != bytes {
            return Ok(false);
        }
        let mut buffer = vec![0; bytes.min(END) as usize];
        for offset in [0, bytes - bytes.min(END)] {
            file.read_exact_at(&mut buffer, offset)?;
            if content.difference(number, offset, &buffer).is_some() {
                return Ok(false);
            }
        }
        Ok(true)
    };
    right().unwrap_or(false)
}

/// Makes one. If `watch` stops it, the file is left shorter than it must be, so that it is not
/// taken for whole.
fn make(path: &Path, number: u64, bytes: u64, content: Content, watch: &mut dyn FnMut(u64) -> bool) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).open(path)?;
    if content == Content::Zeros {
        watch(0);
        return file.set_len(bytes);
    }
    let mut buffer = vec![0; bytes.min(PIECE as u64) as usize];
    let mut done = 0;
    while done < bytes && !watch(done) {
        let piece = &mut buffer[..(bytes - done).min(PIECE as u64) as usize];
        content.fill(number, done, piece);
        file.write_all(piece)?;
        done += piece.len() as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The bytes at a place do not depend on where a read begins, and a changed byte is found
        /// at its place.
        #[test]
        fn content_is_the_same_however_it_is_read(
            file in any::<u64>(), offset in 0u64..1 << 40, len in 1usize..200, from in 0usize..200, changed in 0usize..200,
        ) {
            let mut whole = vec![0; len];
            Content::Pattern.fill(file, offset, &mut whole);
            let from = from % len;
            let mut part = vec![0; len - from];
            Content::Pattern.fill(file, offset + from as u64, &mut part);
            prop_assert_eq!(&whole[from..], &part[..]);
            prop_assert_eq!(Content::Pattern.difference(file, offset, &whole), None);
            let changed = changed % len;
            whole[changed] ^= 0x40;
            prop_assert_eq!(Content::Pattern.difference(file, offset, &whole), Some(offset + changed as u64));
        }
    }

    #[test]
    fn no_block_equals_another() {
        let mut blocks = std::collections::HashSet::new();
        for file in 0..20 {
            for block in 0..50 {
                let mut bytes = vec![0; 512];
                Content::Pattern.fill(file, block * 512, &mut bytes);
                assert!(blocks.insert(bytes), "{file} {block}");
            }
        }
        assert_eq!(Content::Zeros.difference(1, 5, &[0, 0, 3]), Some(7));
    }
}
