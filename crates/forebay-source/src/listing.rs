//! A folder's names at one moment, packed: 100,000 of them are three allocations and some
//! megabytes.

use std::ffi::OsStr;
use std::mem::size_of;
use std::os::unix::ffi::OsStrExt;
use std::sync::{Arc, Weak};
use std::time::Instant;

use super::{Entry, Facts, Kind};

/// A name of a listing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Listed<'a> {
    /// The name.
    pub name: &'a OsStr,
    /// The kind of file.
    pub kind: Kind,
    /// The inode number that it shows.
    pub inode: u64,
    /// Further facts from the listing.
    pub facts: Option<Facts>,
    /// When the storage told the name.
    pub told: Instant,
}

/// A name as it is packed, in 32 bytes. A byte of the text holds the rest.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Packed {
    /// Where that byte is; the name follows, and the tag.
    start: u32,
    name_len: u16,
    tag_len: u16,
    inode: u64,
    size: u64,
    /// Nanoseconds since the epoch.
    modified: i64,
}

/// The bits of the byte before a name, beside those of its kind.
mod bits {
    pub(super) const KIND: u8 = 3;
    pub(super) const FACTS: u8 = 1 << 2;
    pub(super) const TAG: u8 = 1 << 3;
    pub(super) const TIME: u8 = 1 << 4;
}

/// The kinds by the bits of the byte.
const KINDS: [Kind; 4] = [Kind::File, Kind::Folder, Kind::Link, Kind::Special];

/// The names of a folder when it was listed. Positions don't move, whatever happens to the folder.
/// Clones share the names.
#[derive(Clone, Debug)]
pub struct Listing {
    names: Arc<Names>,
    told: Instant,
}

/// The names of a listing, as long as somebody has it.
#[derive(Clone, Debug, Default)]
pub struct Held(Weak<Names>);

#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Names {
    /// All names, each with a byte before it and its tag behind it.
    text: Vec<u8>,
    entries: Vec<Packed>,
    /// Whether the storage may have left out names.
    may_lack: bool,
}

impl Held {
    /// Whether nobody has the listing any more.
    pub fn is_gone(&self) -> bool {
        self.0.strong_count() == 0
    }
}

impl Listing {
    /// Packs names that a storage told at that moment. Names and tags of more than 4 GiB are cut
    /// off.
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

    /// The same names in the order of their bytes, each once. Where one is a file and a folder, the
    /// folder stays.
    pub(crate) fn in_order(mut names: Gathered, told: Instant) -> Listing {
        names.put_in_order();
        let Names { text, entries, .. } = &mut names.0;
        text.shrink_to_fit();
        entries.shrink_to_fit();
        Listing { names: Arc::new(names.0), told }
    }

    /// The same names in the order of their bytes. Those of a listing that is in it are shared.
    pub fn sorted(self) -> Listing {
        let name = |packed: &Packed| self.names.of(packed).as_bytes();
        if self.names.entries.is_sorted_by_key(name) {
            return self;
        }
        let mut names = Arc::unwrap_or_clone(self.names);
        let Names { text, entries, .. } = &mut names;
        entries.sort_unstable_by(|a, b| a.name(text).cmp(b.name(text)));
        Listing { names: Arc::new(names), told: self.told }
    }

    /// The names, for listings that come later.
    pub fn held(&self) -> Held {
        Held(Arc::downgrade(&self.names))
    }

    /// Shares the memory of names that somebody still has, if they are the same.
    #[must_use]
    pub fn sharing(self, held: &Held) -> Listing {
        let names = held.0.upgrade().filter(|names| *names == self.names).unwrap_or(self.names);
        Listing { names, told: self.told }
    }

    /// When the storage was asked.
    pub fn told(&self) -> Instant {
        self.told
    }

    /// Whether the storage may have left out names that are there, so that a missing one has to be
    /// asked for.
    pub fn may_lack(&self) -> bool {
        self.names.may_lack
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
        let packed = self.names.entries.get(position)?;
        Some(Listed {
            name: self.names.name(position),
            kind: packed.kind(&self.names.text),
            inode: packed.inode,
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

/// Names as they come, in no more memory than the listing will take.
#[derive(Debug, Default)]
pub(crate) struct Gathered(Names);

impl Gathered {
    /// Adds a name. Names beyond 4 GiB are left out.
    pub(crate) fn push(&mut self, entry: &Entry) {
        self.0.push(entry);
    }

    /// Adds the names of a page, which cost nothing more if they are the first. A page beyond 4 GiB
    /// of names is left out.
    pub(crate) fn append(&mut self, page: Gathered) {
        let may_lack = self.0.may_lack || page.0.may_lack;
        if self.0.entries.is_empty() {
            *self = page;
            self.0.may_lack = may_lack;
            return;
        }
        self.0.may_lack = may_lack;
        let Names { text, entries, .. } = &mut self.0;
        let behind = u32::try_from(text.len() + page.0.text.len()).is_ok();
        if let Some(by) = u32::try_from(text.len()).ok().filter(|_| behind) {
            text.extend_from_slice(&page.0.text);
            entries.extend(page.0.entries.iter().map(|packed| packed.behind(by)));
        }
    }

    /// Gives each name the inode number that `number` says, and leaves out those that get none.
    pub(crate) fn number(&mut self, mut number: impl FnMut(&OsStr) -> Option<u64>) {
        let Names { text, entries, .. } = &mut self.0;
        entries.retain_mut(|packed| match number(OsStr::from_bytes(packed.name(text))) {
            Some(inode) => {
                packed.inode = inode;
                true
            }
            None => false,
        });
    }

    /// Puts the names in the order of their bytes, each once. Where one is a file and a folder, the
    /// folder stays.
    pub(crate) fn put_in_order(&mut self) {
        let Names { text, entries, .. } = &mut self.0;
        let name = |packed: &Packed| packed.name(text);
        entries.sort_unstable_by(|a, b| {
            let rank = |packed: &Packed| packed.kind(text) != Kind::Folder;
            let folder_first = || rank(a).cmp(&rank(b));
            name(a).cmp(name(b)).then_with(folder_first).then(a.start.cmp(&b.start))
        });
        entries.dedup_by(|later, earlier| name(later) == name(earlier));
    }

    /// Notes that there may be names which were not told.
    pub(crate) fn may_lack_names(&mut self) {
        self.0.may_lack = true;
    }

    /// Whether there are no names.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.entries.is_empty()
    }

    /// The file with this number, counted from zero among the files that have facts.
    pub(crate) fn file(&self, number: usize) -> Option<(&OsStr, Facts)> {
        let text = &self.0.text;
        let file = |packed: &Packed| packed.kind(text) == Kind::File && packed.has(text, bits::FACTS);
        let files = self.0.entries.iter().enumerate().filter(|(_, packed)| file(packed));
        let position = files.map(|(position, _)| position).nth(number)?;
        Some((self.0.name(position), self.0.facts(position)?))
    }

    /// Forgets the facts of files.
    pub(crate) fn forget_facts(&mut self) {
        let Names { text, entries, .. } = &mut self.0;
        for packed in entries {
            if packed.kind(text) == Kind::File {
                text[packed.start as usize] &= !bits::FACTS;
            }
        }
    }

    /// Forgets the tags of files that have a time.
    pub(crate) fn forget_tags(&mut self) {
        let Names { text, entries, .. } = &mut self.0;
        for packed in entries {
            if packed.has(text, bits::TIME) {
                text[packed.start as usize] &= !bits::TAG;
            }
        }
    }
}

impl Packed {
    fn name<'a>(&self, text: &'a [u8]) -> &'a [u8] {
        let start = self.start as usize + 1;
        &text[start..start + usize::from(self.name_len)]
    }

    fn tag<'a>(&self, text: &'a [u8]) -> &'a [u8] {
        let start = self.start as usize + 1 + usize::from(self.name_len);
        &text[start..start + usize::from(self.tag_len)]
    }

    fn kind(&self, text: &[u8]) -> Kind {
        KINDS[usize::from(text[self.start as usize] & bits::KIND)]
    }

    fn has(&self, text: &[u8], bit: u8) -> bool {
        text[self.start as usize] & bit != 0
    }

    /// The same with all offsets moved by `by` bytes, which the text has room for.
    fn behind(&self, by: u32) -> Packed {
        Packed { start: self.start + by, ..self.clone() }
    }
}

impl Names {
    /// Whether there was room. A name that no file system can hold is left out, and so is a tag of
    /// 64 KiB.
    fn push(&mut self, entry: &Entry) -> bool {
        let Entry { name, kind, inode, facts } = entry;
        let tag = facts.as_ref().and_then(|facts| facts.tag.as_deref());
        let tag = tag.filter(|tag| tag.len() <= usize::from(u16::MAX));
        let Ok(name_len) = u16::try_from(name.len()) else {
            self.may_lack = true;
            return true;
        };
        let tag_len = tag.map_or(0, str::len) as u16;
        let end = self.text.len() + 1 + usize::from(name_len) + usize::from(tag_len);
        if u32::try_from(end).is_err() {
            return false;
        }
        // No more than the end.
        let start = self.text.len() as u32;
        let modified = facts.as_ref().and_then(|facts| facts.modified);
        let bit = |is: bool, bit: u8| if is { bit } else { 0 };
        let known =
            bit(facts.is_some(), bits::FACTS) | bit(tag.is_some(), bits::TAG) | bit(modified.is_some(), bits::TIME);
        let kind = KINDS.iter().position(|of| of == kind).unwrap_or(0) as u8;
        self.text.push(kind | known);
        self.text.extend_from_slice(name.as_bytes());
        self.text.extend_from_slice(tag.unwrap_or_default().as_bytes());
        let size = facts.as_ref().map_or(0, |facts| facts.size);
        self.entries.push(Packed { start, name_len, tag_len, inode: *inode, size, modified: modified.unwrap_or(0) });
        true
    }

    fn name(&self, position: usize) -> &OsStr {
        self.of(&self.entries[position])
    }

    fn of(&self, packed: &Packed) -> &OsStr {
        OsStr::from_bytes(packed.name(&self.text))
    }

    fn facts(&self, position: usize) -> Option<Facts> {
        let packed = self.entries.get(position).filter(|packed| packed.has(&self.text, bits::FACTS))?;
        let tag = || String::from_utf8_lossy(packed.tag(&self.text)).into_owned().into_boxed_str();
        Some(Facts {
            size: packed.size,
            modified: packed.has(&self.text, bits::TIME).then_some(packed.modified),
            tag: packed.has(&self.text, bits::TAG).then(tag),
        })
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
        let name = prop::collection::vec(any::<u8>(), 1..20).prop_map(OsString::from_vec);
        let kind = prop::sample::select(vec![Kind::File, Kind::Folder, Kind::Link, Kind::Special]);
        let entry = (name, kind, any::<u64>(), facts());
        let entry = entry.prop_map(|(name, kind, inode, facts)| Entry { name, kind, inode, facts });
        prop::collection::vec(entry, 0..50)
    }

    fn listed(entry: &Entry, told: Instant) -> Listed<'_> {
        let Entry { name, kind, inode, facts } = entry;
        Listed { name, kind: *kind, inode: *inode, facts: facts.clone(), told }
    }

    #[test]
    fn a_packed_name_is_small_and_no_length_is_cut() {
        assert_eq!(size_of::<Packed>(), 32);
        let long = |len: usize| OsString::from("n".repeat(len));
        let facts = |tag: usize| Some(Facts { size: 1, modified: None, tag: Some("t".repeat(tag).into()) });
        let entry = |name, tag| Entry { name: long(name), kind: Kind::File, inode: 1, facts: facts(tag) };
        let listing: Listing = [entry(70_000, 1), entry(60_000, 65_535), entry(1, 65_536)].into_iter().collect();
        let tags: Vec<_> = listing.iter().map(|listed| (listed.name.len(), listed.facts.unwrap().tag)).collect();
        assert_eq!(tags, [(60_000, Some("t".repeat(65_535).into())), (1, None)]);
        assert!(listing.may_lack());
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
        fn gathered_names_are_in_order_and_each_is_there_once(entries in entries(), page in 1usize..60) {
            let mut gathered = Gathered::default();
            for page in entries.chunks(page) {
                let mut names = Gathered::default();
                page.iter().for_each(|entry| names.push(entry));
                gathered.append(names);
            }
            let listing = Listing::in_order(gathered, Instant::now());
            let mut expected = std::collections::BTreeMap::<_, &Entry>::new();
            for entry in &entries {
                let known = expected.entry(entry.name.as_bytes()).or_insert(entry);
                if entry.kind == Kind::Folder && known.kind != Kind::Folder {
                    *known = entry;
                }
            }
            let all: Vec<_> = listing.iter().collect();
            prop_assert_eq!(all, expected.values().map(|entry| listed(entry, listing.told())).collect::<Vec<_>>());
        }

        #[test]
        fn sorts_what_is_in_no_order(mut entries in entries()) {
            entries.sort_by_key(|entry| entry.inode);
            let mut seen = std::collections::HashSet::new();
            entries.retain(|entry| seen.insert(entry.name.clone()));
            let listing: Listing = entries.iter().cloned().collect();
            let sorted = listing.clone().sorted();
            entries.sort_by(|a, b| a.name.as_bytes().cmp(b.name.as_bytes()));
            let all: Vec<_> = sorted.iter().collect();
            prop_assert_eq!(all, entries.iter().map(|entry| listed(entry, listing.told())).collect::<Vec<_>>());
            prop_assert!(Arc::ptr_eq(&sorted.clone().sorted().names, &sorted.names));
        }

        #[test]
        fn numbers_and_forgets(entries in entries()) {
            let mut names = Gathered::default();
            entries.iter().for_each(|entry| names.push(entry));
            names.number(|name| (name.len() % 2 == 0).then_some(name.len() as u64));
            names.forget_tags();
            let kept = entries.iter().filter(|entry| entry.name.len() % 2 == 0);
            let expected = kept.map(|entry| {
                let facts = entry.facts.clone().map(|facts| match facts.modified {
                    Some(_) => Facts { tag: None, ..facts },
                    None => facts,
                });
                Entry { inode: entry.name.len() as u64, facts, ..entry.clone() }
            });
            let expected: Vec<Entry> = expected.collect();
            let first = expected.iter().find(|entry| entry.kind == Kind::File && entry.facts.is_some());
            let first = first.map(|entry| (entry.name.as_os_str(), entry.facts.clone().unwrap()));
            prop_assert_eq!(names.file(0), first);
            prop_assert_eq!(names.is_empty(), expected.is_empty());
            let all = |names: &Names| (0..names.entries.len()).map(|position| names.facts(position)).collect::<Vec<_>>();
            prop_assert_eq!(all(&names.0), expected.iter().map(|entry| entry.facts.clone()).collect::<Vec<_>>());
            prop_assert_eq!(
                names.0.entries.iter().map(|packed| packed.inode).collect::<Vec<_>>(),
                expected.iter().map(|entry| entry.inode).collect::<Vec<_>>()
            );
            names.forget_facts();
            prop_assert_eq!(names.file(0), None);
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
