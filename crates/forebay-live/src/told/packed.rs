//! Names that wait to be told to the core, packed: a list may have millions.
//!
//! ```text
//!   folder (4 bytes) │ length of the name (2) │ ranged (1) │ start (8) end (8), if it is │ name
//! ```
//!
//! A name takes its own length and 7 bytes, and 16 more with a range. A folder is kept once.

use std::collections::{HashMap, VecDeque};
use std::ffi::OsStr;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file that is named, and the bytes of it; without a range all.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Named {
    /// Its path from the root of the tree.
    pub path: PathBuf,
    /// The bytes.
    pub range: Option<Range<u64>>,
}

impl Named {
    /// All of a file.
    pub fn whole(path: impl Into<PathBuf>) -> Named {
        Named { path: path.into(), range: None }
    }
}

/// Names in their order, the first one out first.
#[derive(Default)]
pub(super) struct Packed {
    bytes: VecDeque<u8>,
    names: usize,
    folders: Vec<Arc<Path>>,
    numbers: HashMap<Arc<Path>, u32>,
    folder_bytes: usize,
}

/// The most bytes of a name in its folder.
const LONGEST: usize = u16::MAX as usize;

/// The bytes that a folder takes beside its path, which two tables share.
const FOLDER: usize = 64;

impl Packed {
    /// How many names wait.
    pub(super) fn len(&self) -> usize {
        self.names
    }

    /// The bytes that it takes, about.
    pub(super) fn footprint(&self) -> usize {
        self.bytes.capacity() + self.folder_bytes
    }

    /// Appends a name. `false` if no file can have it.
    pub(super) fn push(&mut self, named: &Named) -> bool {
        let Some(name) = named.path.file_name().map(OsStr::as_bytes).filter(|name| name.len() <= LONGEST) else {
            return false;
        };
        let folder = self.folder(named.path.parent().unwrap_or(Path::new("")));
        self.bytes.extend(folder.to_le_bytes());
        self.bytes.extend((name.len() as u16).to_le_bytes());
        self.bytes.push_back(named.range.is_some().into());
        if let Some(range) = &named.range {
            self.bytes.extend(range.start.to_le_bytes());
            self.bytes.extend(range.end.to_le_bytes());
        }
        self.bytes.extend(name);
        self.names += 1;
        true
    }

    fn folder(&mut self, folder: &Path) -> u32 {
        if let Some(&number) = self.numbers.get(folder) {
            return number;
        }
        let (folder, number): (Arc<Path>, u32) = (folder.into(), self.folders.len() as u32);
        self.folder_bytes += folder.as_os_str().len() + FOLDER;
        self.folders.push(Arc::clone(&folder));
        self.numbers.insert(folder, number);
        number
    }

    /// Takes the first name.
    pub(super) fn pop(&mut self) -> Option<Named> {
        let folder = u32::from_le_bytes(self.take()?);
        let len = u16::from_le_bytes(self.take()?);
        let [ranged] = self.take()?;
        let range =
            if ranged == 0 { None } else { Some(u64::from_le_bytes(self.take()?)..u64::from_le_bytes(self.take()?)) };
        let name: Vec<u8> = self.bytes.drain(..usize::from(len).min(self.bytes.len())).collect();
        self.names -= 1;
        let path = self.folders.get(folder as usize)?.join(OsStr::from_bytes(&name));
        if self.bytes.is_empty() {
            *self = Packed::default();
        } else if self.bytes.capacity() > 1 << 20 && self.bytes.len() < self.bytes.capacity() / 4 {
            self.bytes.shrink_to(self.bytes.len() * 2);
        }
        Some(Named { path, range })
    }

    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let mut taken = [0; N];
        for byte in &mut taken {
            *byte = self.bytes.pop_front()?;
        }
        Some(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// What goes in comes out, in its order.
        #[test]
        fn it_is_a_queue(steps in proptest::collection::vec((0u8..4, "[a-z/]{0,9}[a-z]{1,6}", any::<Option<(u64, u64)>>()), 0..60)) {
            let (mut packed, mut twin) = (Packed::default(), VecDeque::new());
            for (step, path, range) in steps {
                if step == 0 {
                    prop_assert_eq!(packed.pop(), twin.pop_front());
                } else {
                    let path: PathBuf = Path::new(&path).components().collect();
                    let named = Named { path, range: range.map(|(start, end)| start..end) };
                    prop_assert!(packed.push(&named));
                    twin.push_back(named);
                }
                prop_assert_eq!(packed.len(), twin.len());
            }
        }
    }

    /// Ten million names of twenty letters in a thousand folders are 270 MB.
    #[test]
    fn a_name_takes_little() {
        let mut packed = Packed::default();
        for nth in 0..100_000_u32 {
            assert!(packed.push(&Named::whole(format!("train/n{:06}/{nth:020}", nth % 10))));
        }
        assert!(packed.footprint() < 100_000 * 60, "{} bytes", packed.footprint());
        assert_eq!(packed.bytes.len(), 100_000 * 27);
    }

    #[test]
    fn what_no_file_can_be_called_is_refused() {
        let mut packed = Packed::default();
        assert!(!packed.push(&Named::whole("")));
        assert!(!packed.push(&Named::whole("a/..")));
        assert!(!packed.push(&Named::whole("a".repeat(70_000))));
        assert_eq!(packed.pop(), None);
    }
}
