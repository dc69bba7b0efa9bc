//! Lists of objects that count their bytes, over one table of links.
//!
//! ```text
//!   newest → … younger ← object → older … ← oldest
//! ```

/// No object.
const NONE: u32 = u32::MAX;

/// No list.
const NOWHERE: u8 = u8::MAX;

/// An object, in one list at most.
#[derive(Clone, Copy, Debug)]
struct Link {
    list: u8,
    uses: u8,
    bytes: u32,
    younger: u32,
    older: u32,
}

const ABSENT: Link = Link { list: NOWHERE, uses: 0, bytes: 0, younger: NONE, older: NONE };

#[derive(Clone, Copy, Debug)]
struct Ends {
    newest: u32,
    oldest: u32,
    bytes: u64,
}

/// An object that left its list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Object {
    pub(super) key: u32,
    pub(super) bytes: u64,
    /// As often as [`Lists::uses`] was told.
    pub(super) uses: u8,
}

pub(super) struct Lists<const N: usize> {
    /// By key.
    links: Vec<Link>,
    ends: [Ends; N],
}

impl<const N: usize> Lists<N> {
    pub(super) fn new() -> Lists<N> {
        Lists { links: Vec::new(), ends: [Ends { newest: NONE, oldest: NONE, bytes: 0 }; N] }
    }

    /// The list that has an object.
    pub(super) fn list(&self, key: u32) -> Option<usize> {
        let list = self.links.get(key as usize)?.list;
        (list != NOWHERE).then_some(list.into())
    }

    /// The bytes of all objects of a list.
    pub(super) fn bytes(&self, list: usize) -> u64 {
        self.ends[list].bytes
    }

    /// The object that has been in a list for longest.
    pub(super) fn oldest(&self, list: usize) -> Option<u32> {
        some(self.ends[list].oldest)
    }

    /// The object that came into its list after this one.
    pub(super) fn younger(&self, key: u32) -> Option<u32> {
        some(self.links[key as usize].younger)
    }

    /// A count of an object that is there; it begins at zero.
    pub(super) fn uses(&mut self, key: u32) -> &mut u8 {
        &mut self.links[key as usize].uses
    }

    /// Puts an object that is in no list at the front of one. A request has 32 bits of bytes.
    pub(super) fn put(&mut self, list: usize, key: u32, bytes: u64) {
        if self.links.len() <= key as usize {
            self.links.resize(key as usize + 1, ABSENT);
        }
        let ends = &mut self.ends[list];
        let older = std::mem::replace(&mut ends.newest, key);
        ends.bytes += bytes;
        if older == NONE {
            ends.oldest = key;
        } else {
            self.links[older as usize].younger = key;
        }
        self.links[key as usize] = Link { list: list as u8, uses: 0, bytes: bytes as u32, younger: NONE, older };
    }

    /// Takes an object out of its list.
    pub(super) fn take(&mut self, key: u32) -> Object {
        let Link { list, uses, bytes, younger, older } = std::mem::replace(&mut self.links[key as usize], ABSENT);
        let ends = &mut self.ends[usize::from(list)];
        ends.bytes -= u64::from(bytes);
        if younger == NONE {
            ends.newest = older;
        } else {
            self.links[younger as usize].older = older;
        }
        let ends = &mut self.ends[usize::from(list)];
        if older == NONE {
            ends.oldest = younger;
        } else {
            self.links[older as usize].younger = younger;
        }
        Object { key, bytes: bytes.into(), uses }
    }

    /// Takes the oldest object of a list out.
    pub(super) fn take_oldest(&mut self, list: usize) -> Option<Object> {
        self.oldest(list).map(|key| self.take(key))
    }

    /// Moves an object to the front of a list. Its count stays.
    pub(super) fn move_to(&mut self, list: usize, key: u32) {
        let Object { bytes, uses, .. } = self.take(key);
        self.put(list, key, bytes);
        *self.uses(key) = uses;
    }
}

fn some(key: u32) -> Option<u32> {
    (key != NONE).then_some(key)
}
