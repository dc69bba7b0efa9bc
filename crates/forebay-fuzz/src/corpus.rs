//! Examples of what a target decodes: files in the repository, a folder a target.

use std::io;
use std::path::{Path, PathBuf};

/// The folder of all examples.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus")
}

/// The examples of a target in the order of their names. A target without any has the empty one.
///
/// # Errors
/// If a folder is there and cannot be read.
pub fn examples(folder: &Path, target: &str) -> io::Result<Vec<Vec<u8>>> {
    let entries = match std::fs::read_dir(folder.join(target)) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(vec![Vec::new()]),
        Err(error) => return Err(error),
    };
    let mut paths = entries.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    let mut examples = paths.iter().map(std::fs::read).collect::<io::Result<Vec<_>>>()?;
    examples.push(Vec::new());
    Ok(examples)
}
