//! The places where the kernel found its nodes. Each folder is stored once, and names one behind
//! the other, since a hundred thousand of them are held at a time.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use forebay_source::Kind;

use super::nodes::{ById, Place, Spot};
use super::sameness::hash;

/// Names that are gone may take that many bytes, and as many as those that are there.
const WASTE: usize = 64 << 10;

/// The place where a node was found first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    /// The folder that it is in, by its place in the table; for a folder, itself.
    folder: u32,
    /// Its name in the text; a folder has none.
    start: u32,
    len: u16,
}

/// The table of folders, and the text of all names.
#[derive(Debug, Default)]
pub(super) struct Finds {
    folders: Vec<Folder>,
    /// Places in the table that are free.
    free: Vec<u32>,
    /// The places by the folders' hashes; of two folders with one hash, only one is in it.
    by_hash: ById<u32>,
    text: Vec<u8>,
    /// Bytes of the text that no node has any more.
    wasted: usize,
}

#[derive(Debug)]
struct Folder {
    path: Arc<Path>,
    branch: u32,
    /// How many nodes have it.
    nodes: u32,
}

impl Finds {
    /// Takes a place in.
    pub(super) fn add(&mut self, spot: Spot<'_>, kind: Kind) -> Found {
        let Spot { branch, folder, name } = spot;
        if kind == Kind::Folder {
            return Found { folder: self.folder(branch, &spot.path().into()), start: 0, len: 0 };
        }
        let folder = self.folder(branch, folder);
        // Beyond 4 GiB of names a file has its folder's place, and so is stale.
        let fits = u32::try_from(self.text.len()).ok().zip(u16::try_from(name.len()).ok());
        let Some((start, len)) = fits else { return Found { folder, start: 0, len: 0 } };
        self.text.extend_from_slice(name.as_bytes());
        Found { folder, start, len }
    }

    /// Lets a place go.
    pub(super) fn remove(&mut self, found: Found) {
        self.wasted += usize::from(found.len);
        let Some(folder) = self.folders.get_mut(found.folder as usize) else { return };
        folder.nodes -= 1;
        if folder.nodes > 0 {
            return;
        }
        let key = hash(&(folder.branch, &*folder.path));
        folder.path = Path::new("").into();
        if self.by_hash.get(&key) == Some(&found.folder) {
            self.by_hash.remove(&key);
        }
        self.free.push(found.folder);
        if self.free.len() == self.folders.len() {
            *self = Finds::default();
        }
    }

    /// Whether so much text is wasted that [`pack`](Finds::pack) pays.
    pub(super) fn is_wasteful(&self) -> bool {
        self.wasted > WASTE && self.wasted > self.text.len() / 2
    }

    /// Makes the text anew from the names of all nodes.
    pub(super) fn pack<'a>(&mut self, all: impl Iterator<Item = &'a mut Found>) {
        let mut text = Vec::with_capacity(self.text.len() - self.wasted.min(self.text.len()));
        for found in all {
            let name = self.name(*found);
            // No longer than before.
            found.start = text.len() as u32;
            text.extend_from_slice(name.as_bytes());
        }
        (self.text, self.wasted) = (text, 0);
    }

    /// Whether it was found in this spot.
    pub(super) fn is(&self, found: Found, spot: Spot<'_>) -> bool {
        let Some(folder) = self.folders.get(found.folder as usize) else { return false };
        if folder.branch as usize != spot.branch {
            return false;
        }
        if found.len == 0 {
            return *folder.path == *spot.path();
        }
        self.name(found) == spot.name && (Arc::ptr_eq(&folder.path, spot.folder) || folder.path == *spot.folder)
    }

    /// The whole path.
    pub(super) fn place(&self, found: Found) -> Place {
        let Some(Folder { path, branch, .. }) = self.folders.get(found.folder as usize) else {
            return Place { branch: 0, path: Path::new("").into() };
        };
        let (name, branch) = (self.name(found), *branch as usize);
        let path = if name.is_empty() { Arc::clone(path) } else { path.join(name).into() };
        Place { branch, path }
    }

    fn name(&self, found: Found) -> &OsStr {
        let start = found.start as usize;
        OsStr::from_bytes(self.text.get(start..start + usize::from(found.len)).unwrap_or_default())
    }

    /// The place of a folder in the table, for one node more.
    fn folder(&mut self, branch: usize, path: &Arc<Path>) -> u32 {
        let branch = branch as u32;
        let key = hash(&(branch, &**path));
        if let Some(&at) = self.by_hash.get(&key)
            && let Some(folder) = self.folders.get_mut(at as usize)
            && folder.branch == branch
            && folder.path == *path
        {
            folder.nodes += 1;
            return at;
        }
        let folder = Folder { path: Arc::clone(path), branch, nodes: 1 };
        let at = self.free.pop().unwrap_or(self.folders.len() as u32);
        match self.folders.get_mut(at as usize) {
            Some(free) => *free = folder,
            None => self.folders.push(folder),
        }
        self.by_hash.insert(key, at);
        at
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.folders.is_empty() && self.by_hash.is_empty() && self.text.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_packed_and_folders_are_shared() {
        let mut finds = Finds::default();
        let folder: Arc<Path> = Path::new("a/b").into();
        let names: Vec<String> = (0..20_000).map(|number| format!("name-{number}")).collect();
        let spot = |name| Spot { branch: 3, folder: &folder, name: OsStr::new(name) };
        let mut all: Vec<(&String, Found)> =
            names.iter().map(|name| (name, finds.add(spot(name.as_str()), Kind::File))).collect();
        let inner = finds.add(spot("inner"), Kind::Folder);
        assert_eq!(finds.folders.len(), 2);
        while all.len() > 10 {
            let (_, found) = all.swap_remove(all.len() / 3);
            finds.remove(found);
            if finds.is_wasteful() {
                finds.pack(all.iter_mut().map(|(_, found)| found));
            }
            assert!(finds.text.len() <= 2 * WASTE + 2 * all.len() * 10 + 10, "{}", finds.text.len());
        }
        for (name, found) in &all {
            assert_eq!(*finds.place(*found).path, *Path::new("a/b").join(name));
            assert!(finds.is(*found, spot(name.as_str())) && !finds.is(*found, spot("inner")));
        }
        assert_eq!(finds.place(inner), Place { branch: 3, path: Path::new("a/b/inner").into() });
        assert!(finds.is(inner, spot("inner")) && !finds.is(inner, Spot { branch: 2, ..spot("inner") }));
        all.into_iter().for_each(|(_, found)| finds.remove(found));
        finds.remove(inner);
        assert!(finds.is_empty());
    }
}
