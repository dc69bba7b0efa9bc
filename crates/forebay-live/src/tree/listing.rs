//! A folder's names at one moment, packed: 100,000 of them are two or three allocations and a few megabytes.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use crate::source::{Entry, Kind};

/// A name of a listing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Listed<'a> {
    /// The name.
    pub name: &'a OsStr,
    /// What it stands for.
    pub kind: Kind,
    /// The inode number that it shows.
    pub inode: u64,
}

#[derive(Clone, Copy, Debug)]
struct End {
    /// Where the name ends.
    at: u64,
    inode: u64,
    kind: Kind,
}

/// The names of a folder when it was listed. Positions don't move, whatever happens to the folder.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    /// All names, one after the other.
    names: Vec<u8>,
    /// Where each name ends, and what else is known of it.
    ends: Vec<End>,
}

impl Listing {
    /// How many names there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether the folder was empty.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The name at a position, counted from zero.
    pub fn get(&self, position: usize) -> Option<Listed<'_>> {
        let &End { at, inode, kind } = self.ends.get(position)?;
        let start = position.checked_sub(1).map_or(0, |before| self.ends[before].at);
        Some(Listed { name: OsStr::from_bytes(&self.names[start as usize..at as usize]), kind, inode })
    }
}

impl FromIterator<Entry> for Listing {
    fn from_iter<I: IntoIterator<Item = Entry>>(entries: I) -> Listing {
        let mut listing = Listing::default();
        for Entry { name, kind, inode } in entries {
            listing.names.extend_from_slice(name.as_bytes());
            listing.ends.push(End { at: listing.names.len() as u64, inode, kind });
        }
        listing.names.shrink_to_fit();
        listing.ends.shrink_to_fit();
        listing
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;

    proptest! {
        #[test]
        fn packs_what_it_was_given(names in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..20), 0..50)) {
            let kinds = [Kind::File, Kind::Folder, Kind::Link, Kind::Special];
            let entries: Vec<Entry> = names
                .into_iter()
                .enumerate()
                .map(|(i, name)| Entry { name: OsString::from_vec(name), kind: kinds[i % 4], inode: i as u64 * 7 })
                .collect();
            let listing: Listing = entries.iter().cloned().collect();
            prop_assert_eq!(listing.len(), entries.len());
            prop_assert_eq!(listing.is_empty(), entries.is_empty());
            for (position, entry) in entries.iter().enumerate() {
                let listed = Listed { name: &entry.name, kind: entry.kind, inode: entry.inode };
                prop_assert_eq!(listing.get(position), Some(listed));
            }
            prop_assert_eq!(listing.get(entries.len()), None);
        }
    }
}
