//! Node ids: which id stands for which version of which file, and how often the kernel holds it.
//!
//! An id is the inode number that the file shows, so that it is the same in the next mount and
//! after it was forgotten. Where that number is another's (of an older version of the file that the
//! kernel still holds, or of a file whose number happens to be equal) the id is one that is free,
//! and only `stat` shows the number.
//!
//! The table does no I/O. It grows with what the kernel remembers (its dentry cache) and shrinks as the kernel forgets.

use std::collections::{BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::sync::Arc;

use crate::source::{self, Attributes, Identity, Inode, Kind, Name};

/// The id of a node. It stands for one version of a file as long as the kernel holds it: no id is
/// given to another before all references to it are given back. Who keeps it for longer needs the
/// generation, too ([`Tree::generation`](super::Tree::generation)).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeId(pub u64);

impl NodeId {
    /// The root, which is always there and never forgotten.
    pub const ROOT: NodeId = NodeId(1);
}

/// A name: the branch of the tree (which source) and the path within it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Place {
    pub(super) branch: usize,
    pub(super) path: Arc<Path>,
}

/// What must stay equal for a name to keep its node id, in 16 bytes: the kernel may hold a hundred thousand names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Sameness {
    pub(super) kind: Kind,
    /// Whether something else may be put in its place: it is one of the files of a file system.
    pub(super) replaceable: bool,
    /// The type bits of its mode: the kernel turns an inode whose type changes into a bad one. Zero for a file that was
    /// listed but not looked up.
    format: u32,
    /// What it is, hashed: of a regular file its identity, so that pages that the kernel caches for
    /// an id are of one version of one file; of anything else its name, since a folder stays the
    /// same when names in it change. Two are taken for one with a chance of 2^-64.
    pub(super) identity: u64,
}

impl Sameness {
    /// What has these attributes, in that branch.
    pub(super) fn of(branch: usize, attributes: &Attributes) -> Sameness {
        match attributes.kind {
            Kind::File => Sameness::file(branch, &attributes.identity),
            kind => {
                let name = &attributes.identity.name;
                let (replaceable, identity) = (name.inode() != Inode::NONE, hash(&(branch, name)));
                Sameness { kind, replaceable, format: attributes.mode & libc::S_IFMT, identity }
            }
        }
    }

    /// This version of a regular file.
    pub(super) fn file(branch: usize, of: &Identity) -> Sameness {
        let (replaceable, identity) = (of.name.inode() != Inode::NONE, file_hash(branch, of.fingerprint()));
        Sameness { kind: Kind::File, replaceable, format: libc::S_IFREG, identity }
    }

    /// What a listing alone tells.
    pub(super) fn unseen(branch: usize, name: &Name, kind: Kind) -> Sameness {
        let format = match kind {
            Kind::File => 0,
            Kind::Folder => libc::S_IFDIR,
            Kind::Link => libc::S_IFLNK,
            Kind::Special => libc::S_IFIFO,
        };
        Sameness { kind, replaceable: false, format, identity: hash(&(branch, name)) }
    }
}

/// The identity of a regular file in a [`Sameness`].
pub(super) fn file_hash(branch: usize, of: source::Fingerprint) -> u64 {
    hash(&(branch, of))
}

fn hash(what: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

/// One id.
#[derive(Debug)]
struct Node {
    /// Where the kernel found it first.
    place: Place,
    /// Where else, of a file with hard links.
    others: BTreeSet<Place>,
    sameness: Sameness,
    lookups: u64,
}

impl Node {
    fn places(&self) -> impl Iterator<Item = &Place> {
        std::iter::once(&self.place).chain(&self.others)
    }
}

/// The table of all ids that the kernel holds, the root apart.
#[derive(Debug, Default)]
pub(super) struct Nodes {
    by_id: HashMap<NodeId, Node>,
    newest: HashMap<Place, NodeId>,
}

impl Nodes {
    /// Takes one lookup reference on the id of a name as it is now: the id that it has, or another
    /// one if it is another version than before. The old id stays until the kernel forgets it.
    /// `number` is the inode number that it shows.
    pub(super) fn refer(&mut self, place: Place, number: u64, sameness: Sameness) -> NodeId {
        if let Some(&id) = self.newest.get(&place)
            && let Some(node) = self.by_id.get_mut(&id)
            && node.sameness == sameness
        {
            node.lookups += 1;
            return id;
        }
        let id = self.id_for(number, sameness);
        self.newest.insert(place.clone(), id);
        match self.by_id.get_mut(&id) {
            // Another of its hard links was looked up.
            Some(node) => {
                node.lookups += 1;
                if node.place != place {
                    node.others.insert(place);
                }
            }
            None => drop(self.by_id.insert(id, Node { place, others: BTreeSet::new(), sameness, lookups: 1 })),
        }
        id
    }

    /// The inode number if that is free or stands for the same, else the first such id of those
    /// that follow from the sameness.
    fn id_for(&self, number: u64, sameness: Sameness) -> NodeId {
        let fits = |&id: &NodeId| {
            // The kernel takes zero for no inode, and the root's id is the root's.
            let usable = id.0 > NodeId::ROOT.0;
            usable && self.by_id.get(&id).is_none_or(|node| node.sameness == sameness)
        };
        let others = (0..).map(|step| hash(&(number, sameness.identity)).wrapping_add(step));
        std::iter::once(number).chain(others).map(NodeId).find(fits).expect("fewer than 2^64 ids are held")
    }

    /// Gives up `lookups` references; the id goes with its last one.
    pub(super) fn forget(&mut self, id: NodeId, lookups: u64) {
        let Some(node) = self.by_id.get_mut(&id) else { return };
        node.lookups = node.lookups.saturating_sub(lookups);
        if node.lookups > 0 {
            return;
        }
        let Some(node) = self.by_id.remove(&id) else { return };
        for place in node.places() {
            if self.newest.get(place) == Some(&id) {
                self.newest.remove(place);
            }
        }
    }

    /// What an id stands for, and the first place where it was found.
    pub(super) fn get(&self, id: NodeId) -> Option<(Place, Sameness)> {
        self.by_id.get(&id).map(|node| (node.place.clone(), node.sameness))
    }

    /// What tells apart, for those who keep a file's handle, the files that an id stands for one
    /// after the other. The kernel takes 32 bits of it, as a number with a sign.
    pub(super) fn generation(&self, id: NodeId) -> u64 {
        self.by_id.get(&id).map_or(0, |node| node.sameness.identity >> 33)
    }

    /// All places where an id was found but the first.
    pub(super) fn other_places(&self, id: NodeId) -> Vec<Place> {
        self.by_id.get(&id).map(|node| node.others.iter().cloned().collect()).unwrap_or_default()
    }

    /// Where the kernel found these, by the hash of their identity.
    pub(super) fn of_identities(&self, wanted: &BTreeSet<u64>) -> Vec<(u64, Place)> {
        let found = self.by_id.values().filter(|node| wanted.contains(&node.sameness.identity));
        found.flat_map(|node| node.places().map(|place| (node.sameness.identity, place.clone()))).collect()
    }

    /// How many ids there are.
    pub(super) fn len(&self) -> usize {
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

    /// Files 4 and 5 are two names of one, and all other things have numbers of which some are
    /// equal.
    fn number(path: u8) -> u64 {
        u64::from(path.min(4) / 2)
    }

    fn sameness(path: u8, version: u8) -> Sameness {
        match version {
            0 => Sameness::unseen(0, &Name::path(&"store".into(), &place(path).path), Kind::Folder),
            version => {
                let identity = hash(&(path.min(4), version));
                Sameness { kind: Kind::File, replaceable: false, format: libc::S_IFREG, identity }
            }
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

    /// The naive twin: what the kernel holds, and every answer that it got.
    #[derive(Default)]
    struct Twin {
        held: Vec<Held>,
        given: Vec<(Place, NodeId)>,
    }

    #[derive(Debug)]
    struct Held {
        id: NodeId,
        sameness: Sameness,
        places: Vec<Place>,
        lookups: u64,
    }

    impl Twin {
        /// An id that is held stands for the same as ever; one that is not held may stand for
        /// anything.
        fn refer(&mut self, place: Place, sameness: Sameness, given: NodeId) {
            assert!(given > NodeId::ROOT);
            let last = self.given.iter().rev().find(|(of, _)| *of == place).map(|&(_, id)| id);
            let same = |held: &&Held| held.sameness == sameness && held.places.contains(&place);
            let kept = self.held.iter().filter(same).find(|held| Some(held.id) == last);
            assert!(kept.is_none_or(|held| held.id == given), "what is held under that name has another id");
            self.given.push((place.clone(), given));
            match self.held.iter_mut().find(|held| held.id == given) {
                Some(held) => {
                    assert_eq!(held.sameness, sameness, "an id that is held was given to another");
                    held.lookups += 1;
                    if !held.places.contains(&place) {
                        held.places.push(place);
                    }
                }
                None => self.held.push(Held { id: given, sameness, places: vec![place], lookups: 1 }),
            }
        }
    }

    proptest! {
        #[test]
        fn lookups_and_forgets_balance(steps in steps()) {
            let (mut nodes, mut twin) = (Nodes::default(), Twin::default());
            for step in steps {
                match step {
                    Step::Look { path, version } => {
                        let id = nodes.refer(place(path), number(path), sameness(path, version));
                        twin.refer(place(path), sameness(path, version), id);
                    }
                    Step::Forget { which, part } if !twin.held.is_empty() => {
                        let which = which.index(twin.held.len());
                        let held = &mut twin.held[which];
                        let part = part.min(held.lookups);
                        held.lookups -= part;
                        nodes.forget(held.id, part);
                        twin.held.retain(|held| held.lookups > 0);
                    }
                    Step::Forget { .. } => {}
                }
                prop_assert_eq!(nodes.len(), twin.held.len());
                for held in &twin.held {
                    prop_assert_eq!(nodes.get(held.id), Some((held.places[0].clone(), held.sameness)));
                    let mut others = held.places[1..].to_vec();
                    others.sort();
                    prop_assert_eq!(nodes.other_places(held.id), others);
                }
            }
            for held in twin.held {
                nodes.forget(held.id, held.lookups);
            }
            prop_assert_eq!((nodes.by_id.len(), nodes.newest.len()), (0, 0));
        }
    }

    #[test]
    fn forgetting_the_old_version_keeps_the_new_one_findable() {
        let mut nodes = Nodes::default();
        let old = nodes.refer(place(1), 77, sameness(1, 1));
        let new = nodes.refer(place(1), 77, sameness(1, 2));
        assert_eq!(old, NodeId(77));
        assert_ne!(old, new);
        nodes.forget(old, 1);
        assert_eq!(nodes.refer(place(1), 77, sameness(1, 2)), new);
    }

    #[test]
    fn what_was_forgotten_has_its_number_again() {
        let mut nodes = Nodes::default();
        for version in 1..4 {
            let id = nodes.refer(place(1), 77, sameness(1, version));
            assert_eq!(id, NodeId(77));
            nodes.forget(id, 1);
        }
    }

    #[test]
    fn hard_links_are_one_node_and_files_that_share_a_number_are_two() {
        let mut nodes = Nodes::default();
        assert_eq!(nodes.refer(place(4), 2, sameness(4, 1)), nodes.refer(place(5), 2, sameness(5, 1)));
        assert_eq!(nodes.other_places(NodeId(2)), [place(5)]);
        assert_ne!(nodes.refer(place(1), 2, sameness(1, 1)), NodeId(2));
        for number in [0, NodeId::ROOT.0] {
            assert!(nodes.refer(place(3), number, sameness(3, 1)) > NodeId::ROOT);
        }
    }

    /// Who kept a file's handle is not given the next file of its id.
    #[test]
    fn an_id_that_is_used_again_is_of_another_generation() {
        let mut nodes = Nodes::default();
        let generations = [1, 2].map(|version| {
            let id = nodes.refer(place(1), 77, sameness(1, version));
            let generation = nodes.generation(id);
            nodes.forget(id, 1);
            (id, generation)
        });
        assert_eq!(generations[0].0, generations[1].0);
        assert_ne!(generations[0].1, generations[1].1);
        assert!(generations.iter().all(|&(_, generation)| generation < 1 << 31));
    }

    #[test]
    fn too_many_forgets_are_no_harm() {
        let mut nodes = Nodes::default();
        let id = nodes.refer(place(1), 77, sameness(1, 1));
        nodes.forget(id, u64::MAX);
        nodes.forget(id, 1);
        nodes.forget(NodeId::ROOT, 7);
        assert_eq!(nodes.len(), 0);
    }
}
