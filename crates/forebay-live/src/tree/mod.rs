//! The names that a mount shows: one source as it is, or several as the folders of a root of our
//! own.
//!
//! The kernel speaks in node ids, sources speak in paths; [`Tree`] stands between. Two rules keep
//! versions apart:
//!
//! - a regular file keeps its node id only while its version is the same. A changed file is a *new*
//!   node, so the pages that the kernel caches for one id (of `mmap`) are all of one version;
//! - the id of an old version answers `ESTALE` (its attributes, `ENOENT` once the name is gone).
//!   The kernel then walks the path again
//!   by itself and finds the new id, so an `open` by name does not see the error.
//!
//! Inode numbers are the source's own where it has them, else a hash of its address and the path,
//! and so the same in every mount; hard links share one. Under a root over several sources, whose
//! numbers may be equal, they are hashed with the source's folder.

mod branch;
mod explain;
mod found;
mod given_up;
mod listings;
mod nodes;
mod sameness;
mod xattrs;

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use forebay_core::{Caller, ContextId, HandlerId};
use forebay_source::identity::inode_number;
use forebay_source::{
    Attributes, Error, Identity, Kind, Listed, Listing, Name, Object, Result, Space, Then, Version, waited,
};
use parking_lot::Mutex;

use crate::activity::{Proc, Watcher};
use crate::contexts::{Callers, FileName, Reader};
use crate::engine::{Engine, OpenFile};
use crate::told::Lists;

pub use branch::{Branch, BranchError};
use given_up::GivenUp;
use listings::Listings;
pub use nodes::NodeId;
use nodes::{Nodes, Place, Spot};
use sameness::Sameness;
pub use xattrs::{ADDRESS_XATTR, EXPLAIN_XATTR, SOCKET_XATTR, STATS_XATTR};

/// A tree of names over an engine. All calls may come from several threads. Calls that take a
/// [`Then`] never wait for remote storage; those without it that ask a source do.
pub struct Tree {
    engine: Arc<Engine>,
    branches: Vec<Branch>,
    nodes: Mutex<Nodes>,
    given_up: GivenUp,
    listings: Listings,
    callers: Option<Arc<Callers>>,
    told: Lists,
    /// The bytes that the engine's budget is a part of; zero if that is not known.
    given: u64,
    /// Where the mount listens for lists, if it does.
    socket: OnceLock<PathBuf>,
    /// Where it answers with its counters, beside that.
    address: OnceLock<String>,
    made: SystemTime,
}

/// The names of a folder of the tree at one moment.
#[derive(Clone, Debug)]
pub struct Names {
    listing: Listing,
    /// `None` is the root over several sources.
    folder: Option<Place>,
}

impl Names {
    /// The number of names.
    pub fn len(&self) -> usize {
        self.listing.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.listing.is_empty()
    }

    /// The name at a position, counted from zero. Its inode number is the source's; [`Tree::inode`]
    /// tells the one that the mount shows.
    pub fn get(&self, position: usize) -> Option<Listed<'_>> {
        self.listing.get(position)
    }
}

/// A node on which a look-up reference was taken, and what is shown of it.
#[derive(Clone, Debug)]
pub struct Referred {
    /// The node. [`Tree::forget`] gives the reference back.
    pub node: NodeId,
    /// Its attributes, with the inode number that the mount shows.
    pub attributes: Attributes,
}

/// A node id, resolved.
enum Node<'a> {
    /// The root over several sources.
    Top,
    /// A name of a source; the root of a source that *is* the root has no identity to keep.
    In { branch: &'a Branch, place: Place, sameness: Option<Sameness> },
}

/// A name in a folder of a branch, or the root of one.
struct Inside {
    branch: usize,
    folder: Arc<Path>,
    name: OsString,
}

impl Inside {
    fn spot(&self) -> Spot<'_> {
        Spot { branch: self.branch, folder: &self.folder, name: &self.name }
    }
}

impl Tree {
    /// A tree over sources: one unnamed source, or any number of named ones.
    pub fn new(engine: Arc<Engine>, branches: Vec<Branch>) -> std::result::Result<Tree, BranchError> {
        let mut seen = HashSet::new();
        for branch in &branches {
            match &branch.name {
                None if branches.len() > 1 => return Err(BranchError::Unnamed(branch.source.describe())),
                None => {}
                Some(name) if !is_name(name) => return Err(BranchError::BadName(name.clone())),
                Some(name) if !seen.insert(name.as_os_str()) => return Err(BranchError::Twice(name.clone())),
                Some(_) => {}
            }
        }
        if branches.is_empty() {
            return Err(BranchError::None);
        }
        Ok(Tree {
            engine,
            branches,
            nodes: Mutex::default(),
            given_up: GivenUp::default(),
            listings: Listings::default(),
            callers: None,
            told: Lists::default(),
            given: 0,
            socket: OnceLock::new(),
            address: OnceLock::new(),
            made: SystemTime::now(),
        })
    }

    /// Tells readers' program contexts to the policy from now on.
    pub fn know_callers(&mut self, callers: Arc<Callers>) {
        self.callers = Some(callers);
    }

    /// The engine's budget is a part of so many bytes, as the account of itself says.
    pub fn was_given(&mut self, bytes: u64) {
        self.given = bytes;
    }

    /// The handler and, as far as the policy asks for it, the program context of a reader. `file`
    /// is the answer of [`file_name`](Tree::file_name).
    #[inline]
    pub fn caller(&self, reader: Reader, file: Option<&FileName>) -> Caller {
        match (&self.callers, file) {
            (Some(callers), Some(file)) => callers.caller(reader, file),
            _ => Caller { handler: HandlerId(reader.thread), context: ContextId(0) },
        }
    }

    /// The name of a node's file in messages and hints, if that makes a difference to
    /// [`caller`](Tree::caller).
    pub fn file_name(&self, node: NodeId) -> Option<FileName> {
        self.callers.as_ref()?;
        let Ok(Node::In { branch, place, .. }) = self.node(node) else { return None };
        Some(FileName::new(format!("{}/{}", branch.source.describe().trim_end_matches('/'), place.path.display())))
    }

    /// The told lists.
    pub(crate) fn lists(&self) -> &Lists {
        &self.told
    }

    /// Its sources, for messages.
    pub fn describe(&self) -> String {
        let one = |branch: &Branch| match &branch.name {
            Some(name) => format!("{}={}", name.display(), branch.source.describe()),
            None => branch.source.describe(),
        };
        self.branches.iter().map(one).collect::<Vec<_>>().join(" ")
    }

    /// The sources, for callers that use paths rather than nodes.
    pub fn branches(&self) -> &[Branch] {
        &self.branches
    }

    /// The engine that reads of its files go through.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// Finds a name in a folder and takes a lookup reference on its node. The caller gives the
    /// reference back with [`forget`](Tree::forget). [`Error::Stale`] if another folder is in the
    /// folder's place.
    pub fn lookup_then(self: &Arc<Tree>, parent: NodeId, name: &OsStr, then: Then<Referred>) {
        let inside = match self.inside(parent, name) {
            Ok(found) => found,
            Err(error) => return then(Err(error)),
        };
        let (tree, path) = (Arc::clone(self), inside.spot().path());
        if let Some(error) = self.given_up.take(inside.branch, &path) {
            return then(Err(error));
        }
        let branch = &self.branches[inside.branch];
        let answer = move |found: Result<Attributes>| {
            if let Err(error @ Error::GivenUp { .. }) = &found {
                tree.keep_for_known(&inside, error);
            }
            then(tree.unchanged(parent).and_then(|()| Ok(tree.refer(inside.spot(), found?))));
        };
        branch.source.stat_then(&path, Box::new(answer));
    }

    /// Keeps the failure of a look-up if the kernel knows the name, and so looks it up twice.
    fn keep_for_known(&self, inside: &Inside, error: &Error) {
        let spot = inside.spot();
        let (branch, path) = (&self.branches[spot.branch], spot.path());
        // Sources whose look-ups may be given up have no inode numbers of their own.
        let number = branch.number(Path::new(spot.name), inode_number(branch.source.address(), &path));
        if self.nodes.lock().has(spot, number) {
            self.given_up.keep(Place { branch: spot.branch, path: path.into() }, error);
        }
    }

    /// [`lookup_then`](Tree::lookup_then), waited for.
    pub fn lookup(self: &Arc<Tree>, parent: NodeId, name: &OsStr) -> Result<Referred> {
        waited(|then| self.lookup_then(parent, name, then))
    }

    /// Takes a lookup reference on a name of a listing, if the listing or this machine's file
    /// system tells enough to show it; else `None`, without a reference. Afterwards the caller
    /// checks once for all names that the folder is still in its place
    /// ([`unchanged`](Tree::unchanged)).
    pub fn refer_listed(&self, names: &Names, listed: &Listed<'_>) -> Result<Option<Referred>> {
        self.referring(names)(listed)
    }

    /// [`refer_listed`](Tree::refer_listed) for many names of one folder.
    pub fn referring<'a>(&'a self, names: &'a Names) -> impl FnMut(&Listed<'_>) -> Result<Option<Referred>> + 'a {
        let folder = names.folder.as_ref();
        let mut ask = folder.map(|folder| self.branches[folder.branch].source.listed_in(&folder.path));
        move |listed| {
            let (Some(folder), Some(ask)) = (folder, &mut ask) else { return Ok(None) };
            let Some(found) = ask(listed)? else { return Ok(None) };
            Ok(Some(self.refer(Spot { branch: folder.branch, folder: &folder.path, name: listed.name }, found)))
        }
    }

    /// Takes a lookup reference on a listed name for which [`refer_listed`](Tree::refer_listed) has
    /// `None`, so that a listing can show it all the same. For a file, only the node's kind is
    /// known: the node is stale to every call but [`forget`](Tree::forget).
    pub fn refer_unseen(&self, names: &Names, listed: &Listed<'_>) -> Result<NodeId> {
        let inside = match &names.folder {
            Some(Place { branch, path }) => {
                Inside { branch: *branch, folder: Arc::clone(path), name: listed.name.into() }
            }
            None => self.inside(NodeId::ROOT, listed.name)?,
        };
        let name = Name::path(self.branches[inside.branch].source.address(), &inside.spot().path());
        let sameness = Sameness::unseen(inside.branch, &name, listed.kind);
        Ok(self.nodes.lock().refer(inside.spot(), self.inode(names, listed), sameness))
    }

    /// The inode number that the mount shows for a name of a listing.
    pub fn inode(&self, names: &Names, listed: &Listed<'_>) -> u64 {
        match &names.folder {
            Some(folder) => self.branches[folder.branch].number(Path::new(listed.name), listed.inode),
            None => listed.inode,
        }
    }

    fn refer(&self, spot: Spot<'_>, found: Attributes) -> Referred {
        // The only spot without a name is the root of a branch.
        let inode = self.branches[spot.branch].number(Path::new(spot.name), found.inode);
        let attributes = Attributes { inode, ..found };
        let sameness = Sameness::of(spot.branch, &attributes);
        let node = self.nodes.lock().refer(spot, inode, sameness);
        Referred { node, attributes }
    }

    /// Tells a node from later ones with the same id.
    pub fn generation(&self, node: NodeId) -> u64 {
        self.nodes.lock().generation(node)
    }

    /// [`Error::Stale`] if something else is in the place of a node and its source can tell.
    pub fn unchanged(&self, node: NodeId) -> Result<()> {
        self.of_node(node, Ok(()), |_, _| Ok(()))
    }

    /// Gives back lookup references.
    pub fn forget(&self, node: NodeId, lookups: u64) {
        self.nodes.lock().forget(node, lookups);
    }

    /// The attributes of a node; [`Error::Stale`] if its name is another version by now.
    pub fn attributes_then(self: &Arc<Tree>, node: NodeId, then: Then<Attributes>) {
        let (branch, place, sameness) = match self.node(node) {
            Err(error) => return then(Err(error)),
            Ok(Node::Top) => return then(Ok(self.top())),
            Ok(Node::In { sameness: Some(sameness), .. }) if sameness.replaceable => {
                // A node of a file system: it answers at once, and may know the file by another of
                // its names.
                return then(self.at_any_place(node, |branch, place| {
                    let attributes = self.still(branch, place, sameness)?;
                    Ok(Ok(self.shown(place, attributes)))
                }));
            }
            Ok(Node::In { branch, place, sameness }) => (branch, place, sameness),
        };
        let (tree, path) = (Arc::clone(self), Arc::clone(&place.path));
        let answer = move |found: Result<Attributes>| {
            let same = |found: &Attributes| sameness.is_none_or(|was| was == Sameness::of(place.branch, found));
            then(match found {
                Ok(found) if same(&found) => Ok(tree.shown(&place, found)),
                Ok(_) => Err(stale(&place)),
                Err(error) => Err(error),
            });
        };
        branch.source.stat_then(&path, Box::new(answer));
    }

    /// [`attributes_then`](Tree::attributes_then), waited for.
    pub fn attributes(self: &Arc<Tree>, node: NodeId) -> Result<Attributes> {
        waited(|then| self.attributes_then(node, then))
    }

    /// The answer of `ask` about a node, once it is known that its name still stands for it; `top`
    /// is the answer of the root over several sources.
    fn of_node<T>(&self, node: NodeId, top: Result<T>, ask: impl Fn(&Branch, &Place) -> Result<T>) -> Result<T> {
        match self.node(node)? {
            Node::Top => top,
            Node::In { branch, place, sameness: Some(Sameness { replaceable: false, .. }) | None } => {
                ask(branch, &place)
            }
            Node::In { sameness: Some(sameness), .. } => self.at_any_place(node, |branch, place| {
                self.still(branch, place, sameness)?;
                Ok(ask(branch, place))
            }),
        }
    }

    /// The attributes of a place if it still has that sameness.
    fn still(&self, branch: &Branch, place: &Place, sameness: Sameness) -> Result<Attributes> {
        let attributes = branch.source.stat(&place.path)?;
        if Sameness::of(place.branch, &attributes) == sameness { Ok(attributes) } else { Err(stale(place)) }
    }

    /// The answer of `ask` for the first place of a node where `ask` finds it. A hard link may be
    /// gone or out of reach while another is left.
    fn at_any_place<T>(&self, node: NodeId, ask: impl Fn(&Branch, &Place) -> Result<Result<T>>) -> Result<T> {
        let gone = || Error::Stale(format!("node {}", node.0));
        let (first, _) = self.nodes.lock().get(node).ok_or_else(gone)?;
        let mut failed = match ask(&self.branches[first.branch], &first) {
            Ok(answer) => return answer,
            Err(error) => error,
        };
        // There may be thousands, so they are fetched only if the first is of no use.
        let others = self.nodes.lock().other_places(node);
        for place in &others {
            failed = match ask(&self.branches[place.branch], place) {
                _ if failed.is_of_the_storage() => return Err(failed),
                Ok(answer) => return answer,
                Err(error) if error.errno() != failed.errno() && !error.is_transient() => stale(place),
                Err(error) => error,
            };
        }
        Err(failed)
    }

    /// Attributes with the inode number that the mount shows.
    fn shown(&self, place: &Place, attributes: Attributes) -> Attributes {
        let inode = self.branches[place.branch].number(&place.path, attributes.inode);
        Attributes { inode, ..attributes }
    }

    /// Lists the names of a folder.
    pub fn list_then(self: &Arc<Tree>, node: NodeId, then: Then<Names>) {
        let (branch, place) = match self.node(node) {
            Err(error) => return then(Err(error)),
            Ok(Node::Top) => {
                let listing = self.branches.iter().filter_map(Branch::entry).collect();
                return then(Ok(Names { listing, folder: None }));
            }
            Ok(Node::In { branch, place, .. }) => (branch, place),
        };
        if let Err(error) = self.unchanged(node) {
            return then(Err(error));
        }
        let (path, tree) = (Arc::clone(&place.path), Arc::clone(self));
        let answer = move |listing: Result<Listing>| {
            let listing = listing.map(|listing| tree.listings.share(node, listing));
            then(listing.map(|listing| Names { listing, folder: Some(place) }));
        };
        branch.source.list_then(&path, Box::new(answer));
    }

    /// [`list_then`](Tree::list_then), waited for.
    pub fn list(self: &Arc<Tree>, node: NodeId) -> Result<Names> {
        waited(|then| self.list_then(node, then))
    }

    /// The target of a symbolic link.
    pub fn read_link(&self, node: NodeId) -> Result<PathBuf> {
        let top = Err(refused(Path::new("/"), libc::EINVAL));
        self.of_node(node, top, |branch, place| branch.source.read_link(&place.path))
    }

    /// How full the source of a node is; for the root over several sources, all together.
    pub fn space(&self, node: NodeId) -> Result<Space> {
        if let Node::In { branch, .. } = self.node(node)? {
            return branch.source.space();
        }
        self.branches.iter().try_fold(Space::default(), |sum, branch| {
            let space = branch.source.space()?;
            Ok(Space {
                bytes: sum.bytes.saturating_add(space.bytes),
                bytes_free: sum.bytes_free.saturating_add(space.bytes_free),
                names: sum.names.saturating_add(space.names),
                names_free: sum.names_free.saturating_add(space.names_free),
            })
        })
    }

    /// Opens a regular file for reading; [`Error::Stale`] if its name is another version by now.
    pub fn open_then(self: &Arc<Tree>, node: NodeId, then: Then<OpenFile>) {
        let (branch, place, sameness) = match self.node(node) {
            Err(error) => return then(Err(error)),
            Ok(Node::Top) => return then(Err(refused(Path::new("/"), libc::EISDIR))),
            Ok(Node::In { branch, place, sameness }) => (branch, place, sameness),
        };
        match sameness.map(|sameness| sameness.kind) {
            None | Some(Kind::Folder) => return then(Err(refused(&place.path, libc::EISDIR))),
            Some(Kind::Link | Kind::Special) => return then(Err(refused(&place.path, libc::ENXIO))),
            Some(Kind::File) => {}
        }
        if sameness.is_some_and(|sameness| sameness.replaceable) {
            return then(self.at_any_place(node, |branch, place| {
                Ok(Ok(self.opened(place, sameness, branch.source.open(&place.path))?))
            }));
        }
        let (tree, path) = (Arc::clone(self), Arc::clone(&place.path));
        branch.source.open_then(&path, Box::new(move |object| then(tree.opened(&place, sameness, object))));
    }

    /// [`open_then`](Tree::open_then), waited for.
    pub fn open(self: &Arc<Tree>, node: NodeId) -> Result<OpenFile> {
        waited(|then| self.open_then(node, then))
    }

    /// Opens a file, if the object at its place is still the same version.
    fn opened(&self, place: &Place, was: Option<Sameness>, object: Result<Arc<dyn Object>>) -> Result<OpenFile> {
        // Stale, so that the kernel walks the path anew and forgets a name that is gone.
        let object = object.map_err(|error| match error {
            Error::NotFound(name) => Error::Stale(name),
            error => error,
        })?;
        if was != Some(Sameness::file(place.branch, object.identity())) {
            return Err(stale(place));
        }
        Ok(self.engine.open(object, self.branches[place.branch].device))
    }

    /// Watches the engine's handlers between their reads, if its policy asks for it. Handlers must
    /// be threads of this machine.
    pub fn watch_handlers(&self) -> std::io::Result<Option<Watcher>> {
        Watcher::start(&self.engine, Proc::default())
    }

    /// How many nodes the kernel holds, the root apart.
    pub fn nodes_held(&self) -> usize {
        self.nodes.lock().len()
    }

    fn node(&self, id: NodeId) -> Result<Node<'_>> {
        if id == NodeId::ROOT {
            return Ok(match self.branches.as_slice() {
                [branch] if branch.name.is_none() => {
                    let place = Place { branch: 0, path: Path::new("").into() };
                    Node::In { branch, place, sameness: None }
                }
                _ => Node::Top,
            });
        }
        let (place, sameness) = self.nodes.lock().get(id).ok_or_else(|| Error::Stale(format!("node {}", id.0)))?;
        Ok(Node::In { branch: &self.branches[place.branch], place, sameness: Some(sameness) })
    }

    /// The place of a name in a folder.
    fn inside(&self, parent: NodeId, name: &OsStr) -> Result<Inside> {
        let missing = || Error::NotFound(name.display().to_string());
        if !is_name(name) {
            return Err(missing());
        }
        match self.node(parent)? {
            Node::In { place: Place { branch, path }, .. } => Ok(Inside { branch, folder: path, name: name.into() }),
            Node::Top => {
                let named = |branch: &Branch| branch.name.as_deref() == Some(name);
                let branch = self.branches.iter().position(named).ok_or_else(missing)?;
                Ok(Inside { branch, folder: Path::new("").into(), name: OsString::new() })
            }
        }
    }

    /// The attributes of the root over several sources: a folder of ours that anyone may read.
    fn top(&self) -> Attributes {
        Attributes {
            kind: Kind::Folder,
            size: 0,
            allocated: 0,
            mode: libc::S_IFDIR | 0o755,
            uid: rustix::process::getuid().as_raw(),
            gid: rustix::process::getgid().as_raw(),
            links: 2 + self.branches.len() as u32,
            rdev: 0,
            accessed: self.made,
            modified: self.made,
            changed: self.made,
            inode: NodeId::ROOT.0,
            identity: Identity { name: Name::path(&"".into(), Path::new("")), version: Version::default() },
            told: None,
        }
    }
}

/// Whether `name` can be the name of a file.
fn is_name(name: &OsStr) -> bool {
    let bytes = name.as_bytes();
    !matches!(bytes, b"" | b"." | b"..") && !bytes.iter().any(|&byte| byte == b'/' || byte == 0)
}

fn stale(place: &Place) -> Error {
    Error::Stale(place.path.display().to_string())
}

fn refused(path: &Path, errno: i32) -> Error {
    Error::Refused { name: path.display().to_string(), errno }
}

#[cfg(test)]
mod tests;
