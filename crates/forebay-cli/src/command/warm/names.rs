//! The files that are asked for: arguments, folders walked, and a list.

use std::ffi::OsStr;
use std::io::Read;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::Failed;
use crate::failure::Failure;
use crate::options::Warm;

/// A file, and the bytes of it; without a range all.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Wanted {
    pub(super) path: PathBuf,
    pub(super) range: Option<Range<u64>>,
}

impl Wanted {
    /// The same from any working folder.
    pub(super) fn absolute(&self) -> std::io::Result<Wanted> {
        Ok(Wanted { path: std::path::absolute(&self.path)?, range: self.range.clone() })
    }
}

/// The files, in order, and what cannot be walked.
pub(super) fn wanted(options: &Warm) -> Result<(Vec<Wanted>, Vec<Failed>), Failure> {
    let (mut wanted, mut failed) = (Vec::new(), Vec::new());
    for path in &options.paths {
        walk(path, &mut wanted, &mut failed);
    }
    if let Some(from) = &options.from {
        let entries = listed(&text(from)?, if options.null { 0 } else { b'\n' });
        for entry in entries.map_err(|why| Failure::input(format!("the list {}: {why}", from.display())))? {
            match entry.range {
                None if entry.path.is_dir() => walk(&entry.path, &mut wanted, &mut failed),
                _ => wanted.push(entry),
            }
        }
    }
    Ok((wanted, failed))
}

fn text(from: &Path) -> Result<Vec<u8>, Failure> {
    let refused = |error| Failure::input(format!("cannot read the list {}: {error}", from.display()));
    if from != Path::new("-") {
        return std::fs::read(from).map_err(refused);
    }
    let mut text = Vec::new();
    std::io::stdin().lock().read_to_end(&mut text).map_err(refused)?;
    Ok(text)
}

/// The entries of a list.
fn listed(text: &[u8], end: u8) -> Result<Vec<Wanted>, String> {
    let lines = text.split(|&byte| byte == end).enumerate().filter(|(_, line)| !line.is_empty());
    lines.map(|(number, line)| entry(line).map_err(|why| format!("line {}: {why}", number + 1))).collect()
}

fn entry(line: &[u8]) -> Result<Wanted, String> {
    let parts: Vec<&[u8]> = line.split(|&byte| byte == b'\t').collect();
    let number = |part: &[u8]| std::str::from_utf8(part).ok().and_then(|part| part.parse::<u64>().ok());
    let (path, range) = match parts[..] {
        [path] => (path, None),
        [path, start, end] => match (number(start), number(end)) {
            (Some(start), Some(end)) if start < end => (path, Some(start..end)),
            _ => {
                let text = String::from_utf8_lossy;
                let (start, end) = (text(start), text(end));
                return Err(format!(
                    "{start:?} and {end:?} are no range; a path may be followed by its first byte and the byte behind the last, as in path, 0, 4096 with tabs between them"
                ));
            }
        },
        _ => return Err("a line is a path, or a path, a start and an end with tabs between them".to_owned()),
    };
    Ok(Wanted { path: OsStr::from_bytes(path).into(), range })
}

/// A file, or all files below a folder, in the order of their names.
fn walk(path: &Path, wanted: &mut Vec<Wanted>, failed: &mut Vec<Failed>) {
    if !path.is_dir() {
        return wanted.push(Wanted { path: path.to_owned(), range: None });
    }
    let mut folders = vec![path.to_owned()];
    while let Some(folder) = folders.pop() {
        let names = std::fs::read_dir(&folder).and_then(|names| names.collect::<Result<Vec<_>, _>>());
        let mut names = match names {
            Ok(names) => names,
            Err(error) => {
                failed.push(Failed { path: folder.display().to_string(), why: error.to_string() });
                continue;
            }
        };
        names.sort_by_key(std::fs::DirEntry::file_name);
        let mut below = Vec::new();
        for name in names {
            match name.file_type() {
                Ok(kind) if kind.is_dir() => below.push(name.path()),
                Ok(kind) if kind.is_file() => wanted.push(Wanted { path: name.path(), range: None }),
                _ => {}
            }
        }
        folders.extend(below.into_iter().rev());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_path_and_perhaps_a_range() {
        let wanted = |path: &str, range| Wanted { path: path.into(), range };
        let lines = listed(b"a b\nc\t5\t9\n\nd\n", b'\n').unwrap();
        assert_eq!(lines, [wanted("a b", None), wanted("c", Some(5..9)), wanted("d", None)]);
        assert_eq!(listed(b"a\nb\0c\0", 0).unwrap(), [wanted("a\nb", None), wanted("c", None)]);
        for wrong in ["a\t5", "a\t9\t5", "a\t5\tx", "a\t1\t2\t3"] {
            assert!(listed(format!("ok\n{wrong}").as_bytes(), b'\n').unwrap_err().starts_with("line 2: "));
        }
    }

    #[test]
    fn a_folder_is_all_that_is_below_it() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("b/c")).unwrap();
        for name in ["z", "b/y", "b/c/x", "a"] {
            std::fs::write(folder.path().join(name), name).unwrap();
        }
        let (mut wanted, mut failed) = (Vec::new(), Vec::new());
        walk(folder.path(), &mut wanted, &mut failed);
        let names: Vec<_> = wanted.iter().map(|it| it.path.strip_prefix(folder.path()).unwrap().to_owned()).collect();
        assert_eq!(names, ["a", "z", "b/y", "b/c/x"].map(PathBuf::from));
        assert!(failed.is_empty());
    }
}
