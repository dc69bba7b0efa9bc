//! A whole file, decompressed if it is compressed: for texts that are no traces of requests, such
//! as those of measured disks.

use std::io;
use std::path::Path;

use crate::input::Input;

/// More than this is not held in memory: a few kilobytes of compressed zeros would ask for it.
const MOST: usize = 2 << 30;

/// The contents of a file; plain, gzip, bzip2, xz, zstd or a zip of one file, recognized by its
/// first bytes.
pub fn contents(path: &Path) -> io::Result<Vec<u8>> {
    let mut input = Input::open(path)?;
    let mut bytes = Vec::new();
    loop {
        let window = input.window();
        if bytes.len() + window.len() > MOST {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it holds more than two gigabytes"));
        }
        bytes.extend_from_slice(window);
        if input.ended() {
            return Ok(bytes);
        }
        let all = window.len();
        input.consume(all);
        input.fill()?;
    }
}
