//! The names of a tree by path, symbolic links followed: for readers without a kernel that would
//! walk a path for them.
//!
//! A link is shown as its target, as far as its source lets it (never out of
//! the source). A link to a folder that the path has come through is not followed: a walk over all
//! names, as a mount of a level does it, would never end. So no folder occurs twice on any path,
//! and every walk is finite.
//!
//! Everything here blocks for as long as the source does.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use forebay_core::DeviceId;
use forebay_source::{Attributes, Error, Kind, Listed, Listing, Object, Result};

use crate::engine::OpenFile;
use crate::tree::{Branch, Tree};

/// Links that are followed on the way to one name, as many as Linux follows.
const LINKS: usize = 40;

/// How often a file is looked at anew that changes between two looks.
const LOOKS: usize = 3;

/// The names of a tree.
#[derive(Clone)]
pub struct Site {
    tree: Arc<Tree>,
}

/// The target of a name.
#[derive(Debug)]
pub enum Found {
    /// A folder.
    Folder(Folder),
    /// A regular file.
    File(Place, Box<Attributes>),
}

/// The target of a name, as far as a listing shows it.
#[derive(Debug)]
pub enum Seen {
    /// A folder.
    Folder(Folder),
    /// A regular file.
    File(Box<Attributes>),
    /// A regular file whose listing gave only its kind.
    Unmeasured,
}

impl From<Found> for Seen {
    fn from(found: Found) -> Seen {
        match found {
            Found::Folder(folder) => Seen::Folder(folder),
            Found::File(_, attributes) => Seen::File(attributes),
        }
    }
}

/// A place: the number of its source, and its path there, on which there are no links.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    branch: usize,
    path: PathBuf,
}

/// An object, and the device that it is on.
pub(crate) struct Located {
    pub(crate) device: DeviceId,
    pub(crate) object: Arc<dyn Object>,
}

/// A folder, by the way that led there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Folder {
    /// `None` is the root over several sources.
    place: Option<Place>,
    /// The folders that its path has come through, itself included.
    trail: Vec<PathBuf>,
    /// Its last modification, if its source was asked.
    modified: Option<SystemTime>,
}

impl Folder {
    /// Its last modification; `None` of a root, which its source was not asked for.
    pub fn modified(&self) -> Option<SystemTime> {
        self.modified
    }
}

impl Site {
    /// The names of this tree.
    pub fn new(tree: Arc<Tree>) -> Site {
        Site { tree }
    }

    /// The tree.
    pub fn tree(&self) -> &Arc<Tree> {
        &self.tree
    }

    /// The root.
    fn root(&self) -> Folder {
        match self.tree.branches() {
            [branch] if branch.name.is_none() => self.branch(0),
            _ => Folder { place: None, trail: Vec::new(), modified: None },
        }
    }

    /// The root of a source.
    fn branch(&self, branch: usize) -> Folder {
        Folder { place: Some(Place { branch, path: PathBuf::new() }), trail: vec![PathBuf::new()], modified: None }
    }

    fn source(&self, place: &Place) -> &Branch {
        &self.tree.branches()[place.branch]
    }

    /// Finds a file or a folder by the names on the way from the root: none of them empty, `.` or
    /// `..`.
    pub fn find(&self, mut names: &[OsString]) -> Result<Found> {
        let mut folder = self.root();
        if let (None, [first, rest @ ..]) = (&folder.place, names) {
            let Found::Folder(of_branch) = self.child(&folder, first)? else { return Err(missing(first)) };
            (folder, names) = (of_branch, rest);
        }
        if names.is_empty() {
            return Ok(Found::Folder(folder));
        }
        // Nearly no path has links, so the whole of it is tried first.
        if let Some(found) = self.straight(&folder, names)? {
            return Ok(found);
        }
        for (number, name) in names.iter().enumerate() {
            match self.child(&folder, name)? {
                Found::Folder(below) => folder = below,
                file if number + 1 == names.len() => return Ok(file),
                Found::File(..) => return Err(missing(name)),
            }
        }
        Ok(Found::Folder(folder))
    }

    /// [`find`](Site::find) for a folder that is to be listed. If its source remembers that there
    /// is none, the storage is asked for names in it.
    pub fn find_folder(&self, names: &[OsString]) -> Result<Found> {
        match self.find(names) {
            Err(Error::NotFound(_)) if self.has_names(names)? => self.find(names),
            found => found,
        }
    }

    /// Whether the storage has names below a path on which there are no links.
    fn has_names(&self, names: &[OsString]) -> Result<bool> {
        let Some(place) = self.place(names) else { return Ok(false) };
        match self.source(&place).source.listing(&place.path) {
            Err(error) if error.is_of_the_storage() => Err(error),
            listing => Ok(listing.is_ok_and(|listing| !listing.is_empty())),
        }
    }

    /// Believes nothing that was told of a path and of all below it.
    pub fn forget(&self, names: &[OsString]) {
        match self.place(names) {
            Some(place) => self.source(&place).source.forget_names(&place.path),
            None => self.tree.branches().iter().for_each(|branch| branch.source.forget_names(Path::new(""))),
        }
    }

    /// The place of a path, whether or not there is anything; `None` for the root over several
    /// sources, and for a name that is none of theirs.
    fn place(&self, names: &[OsString]) -> Option<Place> {
        let (branch, names) = match (self.root().place, names) {
            (Some(root), names) => (root.branch, names),
            (None, [first, rest @ ..]) => {
                let named = |branch: &Branch| branch.name.as_deref() == Some(first);
                (self.tree.branches().iter().position(named)?, rest)
            }
            (None, []) => return None,
        };
        Some(Place { branch, path: names.iter().collect() })
    }

    /// Finds a path below a source's root, if there is no link on it.
    fn straight(&self, folder: &Folder, names: &[OsString]) -> Result<Option<Found>> {
        let Some(root) = &folder.place else { return Ok(None) };
        let place = Place { branch: root.branch, path: names.iter().collect() };
        let attributes = match self.source(root).source.stat(&place.path) {
            Err(Error::Refused { errno: libc::ELOOP | libc::ENOTDIR, .. }) => return Ok(None),
            attributes => attributes?,
        };
        match attributes.kind {
            Kind::Link => Ok(None),
            Kind::Folder => {
                let mut trail = folder.trail.clone();
                trail.extend((1..=names.len()).map(|count| names[..count].iter().collect()));
                let modified = Some(attributes.modified);
                Ok(Some(Found::Folder(Folder { place: Some(place), trail, modified })))
            }
            Kind::File => Ok(Some(Found::File(place, Box::new(attributes)))),
            Kind::Special => Err(Error::Denied(place.path.display().to_string())),
        }
    }

    /// Finds a name in a folder.
    pub fn child(&self, folder: &Folder, name: &OsStr) -> Result<Found> {
        let Some(above) = &folder.place else {
            let named = |branch: &Branch| branch.name.as_deref() == Some(name);
            let number = self.tree.branches().iter().position(named).ok_or_else(|| missing(name))?;
            // To see whether it answers at all.
            let modified = Some(self.tree.branches()[number].source.stat(Path::new(""))?.modified);
            return Ok(Found::Folder(Folder { modified, ..self.branch(number) }));
        };
        let (path, attributes) = self.follow(above, name)?;
        let place = Place { branch: above.branch, path };
        match attributes.kind {
            Kind::File => Ok(Found::File(place, Box::new(attributes))),
            Kind::Link | Kind::Special => Err(Error::Denied(place.path.display().to_string())),
            Kind::Folder => {
                let linked = place.path.parent() != Some(&above.path) || place.path.file_name() != Some(name);
                if linked && folder.trail.iter().any(|passed| passed.starts_with(&place.path)) {
                    return Err(Error::Refused { name: name.display().to_string(), errno: libc::ELOOP });
                }
                let trail = folder.trail.iter().chain([&place.path]).cloned().collect();
                Ok(Found::Folder(Folder { place: Some(place), trail, modified: Some(attributes.modified) }))
            }
        }
    }

    /// Finds the names of the folder's listing. Asks only what the listing did not tell.
    pub fn listed_in<'a>(&'a self, folder: &'a Folder) -> impl FnMut(&Listed<'_>) -> Result<Seen> + 'a {
        let mut asks = folder.place.as_ref().map(|above| (above, self.source(above).source.listed_in(&above.path)));
        move |listed| match &mut asks {
            Some((above, ask)) if listed.kind != Kind::Link => self.seen(folder, above, listed.name, ask(listed)?),
            _ => self.child(folder, listed.name).map(Seen::from),
        }
    }

    /// A name in the folder at `above` that was listed as no link; `told` has its attributes from
    /// the source.
    fn seen(&self, folder: &Folder, above: &Place, name: &OsStr, told: Option<Attributes>) -> Result<Seen> {
        let Some(attributes) = told else {
            // In a set, one member alone does not know the target of a name.
            let is_set = !self.source(above).source.members().is_empty();
            return if is_set { self.child(folder, name).map(Seen::from) } else { Ok(Seen::Unmeasured) };
        };
        let path = above.path.join(name);
        match attributes.kind {
            Kind::File => Ok(Seen::File(Box::new(attributes))),
            Kind::Special => Err(Error::Denied(path.display().to_string())),
            // It has become one since it was listed.
            Kind::Link => self.child(folder, name).map(Seen::from),
            Kind::Folder => {
                let trail = folder.trail.iter().chain([&path]).cloned().collect();
                let place = Some(Place { branch: above.branch, path });
                Ok(Seen::Folder(Folder { place, trail, modified: Some(attributes.modified) }))
            }
        }
    }

    /// Follows a name in the folder `above`, link after link.
    fn follow(&self, above: &Place, name: &OsStr) -> Result<(PathBuf, Attributes)> {
        let source = &self.source(above).source;
        let refused = |errno| Error::Refused { name: name.display().to_string(), errno };
        let mut at = above.path.clone();
        let mut way = VecDeque::from([name.to_os_string()]);
        let mut links = 0;
        let mut attributes = None;
        while let Some(part) = way.pop_front() {
            if part == ".." {
                // Only a link that its source should have refused leads out of the root.
                if !at.pop() {
                    return Err(refused(libc::EACCES));
                }
                attributes = None;
                continue;
            }
            let next = at.join(&part);
            let found = source.stat(&next)?;
            if found.kind != Kind::Link {
                (at, attributes) = (next, Some(found));
                continue;
            }
            links += 1;
            if links > LINKS {
                return Err(refused(libc::ELOOP));
            }
            let to = source.read_link(&next)?;
            for component in to.components().rev() {
                match component {
                    Component::CurDir => {}
                    Component::ParentDir => way.push_front("..".into()),
                    Component::Normal(part) => way.push_front(part.to_owned()),
                    Component::RootDir | Component::Prefix(_) => return Err(refused(libc::EACCES)),
                }
            }
            attributes = None;
        }
        match attributes {
            Some(attributes) => Ok((at, attributes)),
            None => source.stat(&at).map(|attributes| (at, attributes)),
        }
    }

    /// The names in a folder, in the order of their bytes.
    pub fn list(&self, folder: &Folder) -> Result<Listing> {
        Ok(match &folder.place {
            Some(place) => self.source(place).source.listing(&place.path)?,
            None => self.tree.branches().iter().filter_map(Branch::entry).collect(),
        }
        .sorted())
    }

    /// Opens a file as it is now: its device, and the object.
    pub(crate) fn object(&self, place: &Place) -> Result<Located> {
        let branch = self.source(place);
        Ok(Located { device: branch.device, object: branch.source.open(&place.path)? })
    }

    /// Opens a file, and returns the attributes of exactly the version that was opened.
    pub fn open(&self, place: &Place, mut attributes: Attributes) -> Result<(OpenFile, Attributes)> {
        let branch = self.source(place);
        for _ in 0..LOOKS {
            let object = branch.source.open(&place.path)?;
            if *object.identity() == attributes.identity {
                return Ok((self.tree.engine().open(object, branch.device), attributes));
            }
            attributes = branch.source.stat(&place.path)?;
        }
        Err(Error::Stale(place.path.display().to_string()))
    }
}

fn missing(name: &OsStr) -> Error {
    Error::NotFound(name.display().to_string())
}

/// Whether an error is the name's own, so that a listing leaves the name out, or the storage's.
pub fn hides(error: &Error) -> bool {
    !error.is_of_the_storage()
}
