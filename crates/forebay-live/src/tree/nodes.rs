//! Node ids: which id stands for which version of which name, and how often the kernel holds it.
//!
//! The table does no I/O. It grows with what the kernel remembers (its dentry cache) and shrinks as the kernel forgets.

use std::collections::{BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::sync::Arc;

use crate::source::{Attributes, Kind, Version};

/// The id of a node, unique for the life of a tree: ids are never used twice, so no generation number is needed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeId(pub u64);

impl NodeId {
    /// The root, which is always there and never forgotten.
    pub const ROOT: NodeId = NodeId(1);
}

/// A name: the branch of the tree (which source) and the path within it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Place {
    pub(super) branch: usize,
    pub(super) path: Arc<Path>,
}

/// What must stay equal for a name to keep its node id, in 16 bytes: the kernel may hold a hundred thousand names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Identity {
    pub(super) kind: Kind,
    /// The type bits of its mode: the kernel turns an inode whose type changes into a bad one. Zero for a file that was
    /// listed but not looked up.
    format: u32,
    /// A regular file's version, hashed, so that pages that the kernel caches for an id are of one version. Two
    /// versions of a name are taken for one with a chance of 2^-64. Zero for anything else.
    pub(super) version: u64,
}

impl Identity {
    /// What has these attributes.
    pub(super) fn of(attributes: &Attributes) -> Identity {
        match attributes.kind {
            Kind::File => Identity::file(&attributes.version),
            kind => Identity { kind, format: attributes.mode & libc::S_IFMT, version: 0 },
        }
    }

    /// A regular file of this version.
    pub(super) fn file(version: &Version) -> Identity {
        let mut hasher = DefaultHasher::new();
        version.hash(&mut hasher);
        Identity { kind: Kind::File, format: libc::S_IFREG, version: hasher.finish() }
    }

    /// What a listing alone tells.
    pub(super) fn unseen(kind: Kind) -> Identity {
        let format = match kind {
            Kind::File => 0,
            Kind::Folder => libc::S_IFDIR,
            Kind::Link => libc::S_IFLNK,
            Kind::Special => libc::S_IFIFO,
        };
        Identity { kind, format, version: 0 }
    }
}

/// One id.
#[derive(Debug)]
struct Node {
    place: Place,
    identity: Identity,
    lookups: u64,
}

/// The table of all ids that the kernel holds, the root apart.
#[derive(Debug)]
pub(super) struct Nodes {
    by_id: HashMap<NodeId, Node>,
    newest: HashMap<Place, NodeId>,
    next: u64,
}

impl Nodes {
    pub(super) fn new() -> Nodes {
        Nodes { by_id: HashMap::new(), newest: HashMap::new(), next: NodeId::ROOT.0 + 1 }
    }

    /// Takes one lookup reference on the id of a name as it is now: the id that it has, or a new one if it is another
    /// version than before. The old id stays until the kernel forgets it.
    pub(super) fn refer(&mut self, place: Place, identity: Identity) -> NodeId {
        if let Some(&id) = self.newest.get(&place)
            && let Some(node) = self.by_id.get_mut(&id)
            && node.identity == identity
        {
            node.lookups += 1;
            return id;
        }
        let id = NodeId(self.next);
        self.next += 1;
        self.newest.insert(place.clone(), id);
        self.by_id.insert(id, Node { place, identity, lookups: 1 });
        id
    }

    /// Gives up `lookups` references; the id goes with its last one.
    pub(super) fn forget(&mut self, id: NodeId, lookups: u64) {
        let Some(node) = self.by_id.get_mut(&id) else { return };
        node.lookups = node.lookups.saturating_sub(lookups);
        if node.lookups > 0 {
            return;
        }
        if let Some(Node { place, .. }) = self.by_id.remove(&id)
            && self.newest.get(&place) == Some(&id)
        {
            self.newest.remove(&place);
        }
    }

    /// What an id stands for.
    pub(super) fn get(&self, id: NodeId) -> Option<(Place, Identity)> {
        self.by_id.get(&id).map(|node| (node.place.clone(), node.identity))
    }

    /// Regular files of these versions, hashed as in their identity: where they are, a hard link's names all.
    pub(super) fn of_versions(&self, wanted: &BTreeSet<u64>) -> Vec<(u64, Place)> {
        let files = self.by_id.values().filter(|node| node.identity.kind == Kind::File);
        let found = files.filter(|node| wanted.contains(&node.identity.version));
        found.map(|node| (node.identity.version, node.place.clone())).collect()
    }

    /// How many ids there are.
    pub(super) fn len(&self) -> usize {
        debug_assert!(self.newest.len() <= self.by_id.len());
        self.by_id.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn place(path: u8) -> Place {
        Place { branch: usize::from(path % 2), path: Path::new(&format!("folder/{path}")).into() }
    }

    fn identity(version: u8) -> Identity {
        match version {
            0 => Identity::unseen(Kind::Folder),
            size => Identity::file(&Version { size: u64::from(size), ..Version::default() }),
        }
    }

    #[derive(Clone, Debug)]
    enum Step {
        Look { path: u8, version: u8 },
        Forget { which: prop::sample::Index, part: u64 },
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let look = (0..6u8, 0..4u8).prop_map(|(path, version)| Step::Look { path, version });
        let forget = (any::<prop::sample::Index>(), 1..4u64).prop_map(|(which, part)| Step::Forget { which, part });
        prop::collection::vec(prop_oneof![3 => look, 2 => forget], 0..200)
    }

    /// The naive twin: every id ever given, in order, with its references.
    #[derive(Default)]
    struct Twin(Vec<(NodeId, u8, u8, u64)>);

    impl Twin {
        fn refer(&mut self, path: u8, version: u8, given: NodeId) {
            // An id is kept exactly if it is the newest of its path, still held, and of the same version.
            let newest = self.0.iter_mut().rev().find(|node| node.1 == path);
            match newest {
                Some(node) if node.3 > 0 && node.2 == version => {
                    assert_eq!(node.0, given, "same path and version, same id");
                    node.3 += 1;
                }
                _ => {
                    assert!(self.0.iter().all(|node| node.0 < given), "a new id was never used before");
                    self.0.push((given, path, version, 1));
                }
            }
        }

        fn held(&self) -> impl Iterator<Item = &(NodeId, u8, u8, u64)> {
            self.0.iter().filter(|node| node.3 > 0)
        }
    }

    proptest! {
        #[test]
        fn lookups_and_forgets_balance(steps in steps()) {
            let (mut nodes, mut twin) = (Nodes::new(), Twin::default());
            for step in steps {
                match step {
                    Step::Look { path, version } => {
                        let id = nodes.refer(place(path), identity(version));
                        twin.refer(path, version, id);
                    }
                    Step::Forget { which, part } => {
                        let held = twin.held().count();
                        if held > 0 {
                            let id = twin.held().nth(which.index(held)).unwrap().0;
                            let node = twin.0.iter_mut().find(|node| node.0 == id).unwrap();
                            let part = part.min(node.3);
                            node.3 -= part;
                            nodes.forget(id, part);
                        }
                    }
                }
                prop_assert_eq!(nodes.len(), twin.held().count());
                for &(id, path, version, lookups) in &twin.0 {
                    let expected = (lookups > 0).then(|| (place(path), identity(version)));
                    prop_assert_eq!(nodes.get(id), expected);
                }
            }
            for (id, _, _, lookups) in twin.0 {
                nodes.forget(id, lookups);
            }
            prop_assert_eq!((nodes.by_id.len(), nodes.newest.len()), (0, 0));
        }
    }

    #[test]
    fn forgetting_the_old_version_keeps_the_new_one_findable() {
        let mut nodes = Nodes::new();
        let old = nodes.refer(place(1), identity(1));
        let new = nodes.refer(place(1), identity(2));
        assert_ne!(old, new);
        nodes.forget(old, 1);
        assert_eq!(nodes.refer(place(1), identity(2)), new);
    }

    #[test]
    fn too_many_forgets_are_no_harm() {
        let mut nodes = Nodes::new();
        let id = nodes.refer(place(1), identity(1));
        nodes.forget(id, u64::MAX);
        nodes.forget(id, 1);
        nodes.forget(NodeId::ROOT, 7);
        assert_eq!(nodes.len(), 0);
    }
}
