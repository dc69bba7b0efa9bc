//! A folder's names at one moment, packed: 100,000 of them are three allocations and some megabytes.

use std::ffi::OsStr;
use std::mem::size_of;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::time::Instant;

use super::{Entry, Facts, Kind};

/// A name of a listing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Listed<'a> {
    /// The name.
    pub name: &'a OsStr,
    /// What it stands for.
    pub kind: Kind,
    /// The inode number that it shows.
    pub inode: u64,
    /// What the listing said of it beyond that.
    pub facts: Option<Facts>,
    /// When the storage said so.
    pub told: Instant,
}

/// A name as it is packed.
#[derive(Clone, Debug)]
struct Packed {
    /// Where the name ends in the text; its tag follows.
    name_end: u32,
    /// Where the tag ends, and the next name begins.
    tag_end: u32,
    inode: u64,
    kind: Kind,
    has_facts: bool,
    has_tag: bool,
    has_time: bool,
    size: u64,
    /// Nanoseconds since the epoch.
    modified: i64,
}

/// The names of a folder when it was listed. Positions don't move, whatever happens to the folder.
/// Clones share the names.
#[derive(Clone, Debug)]
pub struct Listing {
    names: Arc<Names>,
    told: Instant,
}

#[derive(Debug, Default)]
struct Names {
    /// All names, each with its tag behind it.
    text: Vec<u8>,
    entries: Vec<Packed>,
}

impl Listing {
    /// Packs names that a storage told at that moment. Names and tags of more than 4 GiB are cut off.
    pub fn new(entries: impl IntoIterator<Item = Entry>, told: Instant) -> Listing {
        let mut names = Names::default();
        for entry in entries {
            if !names.push(&entry) {
                log::warn!("a listing of more than 4 GiB of names is cut off at {}", names.entries.len());
                break;
            }
        }
        names.text.shrink_to_fit();
        names.entries.shrink_to_fit();
        Listing { names: Arc::new(names), told }
    }

    /// When the storage was asked.
    pub fn told(&self) -> Instant {
        self.told
    }

    /// How many names there are.
    pub fn len(&self) -> usize {
        self.names.entries.len()
    }

    /// Whether the folder was empty.
    pub fn is_empty(&self) -> bool {
        self.names.entries.is_empty()
    }

    /// The memory that it takes, in bytes.
    pub fn bytes(&self) -> usize {
        size_of::<Names>() + self.names.text.capacity() + self.names.entries.capacity() * size_of::<Packed>()
    }

    /// The name at a position, counted from zero.
    pub fn get(&self, position: usize) -> Option<Listed<'_>> {
        let Packed { inode, kind, .. } = *self.names.entries.get(position)?;
        Some(Listed {
            name: self.names.name(position),
            kind,
            inode,
            facts: self.names.facts(position),
            told: self.told,
        })
    }

    /// All names in order.
    pub fn iter(&self) -> impl Iterator<Item = Listed<'_>> {
        (0..self.len()).filter_map(|position| self.get(position))
    }

    /// A name of a listing that is in the order of the names' bytes.
    pub fn find(&self, name: &OsStr) -> Option<Listed<'_>> {
        let mut range = 0..self.len();
        while !range.is_empty() {
            let middle = range.start + range.len() / 2;
            match self.names.name(middle).as_bytes().cmp(name.as_bytes()) {
                std::cmp::Ordering::Equal => return self.get(middle),
                std::cmp::Ordering::Less => range.start = middle + 1,
                std::cmp::Ordering::Greater => range.end = middle,
            }
        }
        None
    }
}

impl Names {
    /// Whether there was room.
    fn push(&mut self, entry: &Entry) -> bool {
        let Entry { name, kind, inode, facts } = entry;
        let tag = facts.as_ref().and_then(|facts| facts.tag.as_deref());
        let at = self.text.len();
        let ends = (at + name.len(), at + name.len() + tag.map_or(0, str::len));
        let (Ok(name_end), Ok(tag_end)) = (u32::try_from(ends.0), u32::try_from(ends.1)) else { return false };
        self.text.extend_from_slice(name.as_bytes());
        self.text.extend_from_slice(tag.unwrap_or_default().as_bytes());
        let modified = facts.as_ref().and_then(|facts| facts.modified);
        self.entries.push(Packed {
            name_end,
            tag_end,
            inode: *inode,
            kind: *kind,
            has_facts: facts.is_some(),
            has_tag: tag.is_some(),
            has_time: modified.is_some(),
            size: facts.as_ref().map_or(0, |facts| facts.size),
            modified: modified.unwrap_or(0),
        });
        true
    }

    fn start(&self, position: usize) -> usize {
        position.checked_sub(1).map_or(0, |before| self.entries[before].tag_end as usize)
    }

    fn name(&self, position: usize) -> &OsStr {
        OsStr::from_bytes(&self.text[self.start(position)..self.entries[position].name_end as usize])
    }

    fn facts(&self, position: usize) -> Option<Facts> {
        let packed = self.entries.get(position).filter(|packed| packed.has_facts)?;
        let tag = &self.text[packed.name_end as usize..packed.tag_end as usize];
        let tag = packed.has_tag.then(|| String::from_utf8_lossy(tag).into_owned().into_boxed_str());
        Some(Facts { size: packed.size, modified: packed.has_time.then_some(packed.modified), tag })
    }
}

impl FromIterator<Entry> for Listing {
    /// Packs names that were told just now.
    fn from_iter<I: IntoIterator<Item = Entry>>(entries: I) -> Listing {
        Listing::new(entries, Instant::now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;

    fn facts() -> impl Strategy<Value = Option<Facts>> {
        let facts = (any::<u64>(), any::<Option<i64>>(), prop::option::of("[a-z\"]{0,9}"));
        let facts = facts.prop_map(|(size, modified, tag)| Facts { size, modified, tag: tag.map(String::into) });
        prop::option::of(facts)
    }

    fn entries() -> impl Strategy<Value = Vec<Entry>> {
        let name = prop::collection::vec(any::<u8>(), 0..20).prop_map(OsString::from_vec);
        let kind = prop::sample::select(vec![Kind::File, Kind::Folder, Kind::Link, Kind::Special]);
        let entry = (name, kind, any::<u64>(), facts());
        let entry = entry.prop_map(|(name, kind, inode, facts)| Entry { name, kind, inode, facts });
        prop::collection::vec(entry, 0..50)
    }

    fn listed(entry: &Entry, told: Instant) -> Listed<'_> {
        let Entry { name, kind, inode, facts } = entry;
        Listed { name, kind: *kind, inode: *inode, facts: facts.clone(), told }
    }

    proptest! {
        #[test]
        fn packs_what_it_was_given(entries in entries()) {
            let listing: Listing = entries.iter().cloned().collect();
            prop_assert_eq!(listing.len(), entries.len());
            prop_assert_eq!(listing.is_empty(), entries.is_empty());
            let all: Vec<_> = listing.iter().collect();
            prop_assert_eq!(all, entries.iter().map(|entry| listed(entry, listing.told())).collect::<Vec<_>>());
            prop_assert_eq!(listing.get(entries.len()), None);
        }

        #[test]
        fn finds_what_is_in_order(mut entries in entries(), other in prop::collection::vec(any::<u8>(), 0..3)) {
            entries.sort_by(|a, b| a.name.as_bytes().cmp(b.name.as_bytes()));
            entries.dedup_by(|a, b| a.name == b.name);
            let listing: Listing = entries.iter().cloned().collect();
            for entry in &entries {
                prop_assert_eq!(listing.find(&entry.name), Some(listed(entry, listing.told())));
            }
            let other = OsString::from_vec(other);
            let there = entries.iter().any(|entry| entry.name == other);
            prop_assert_eq!(listing.find(&other).is_some(), there);
        }
    }
}
