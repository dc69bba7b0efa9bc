//! Node ids: the version of a file that each id stands for, and how often the kernel holds it.
//!
//! An id is the inode number that the file shows, so that it is the same in the next mount and
//! after it was forgotten. That number may belong to another node: to an older version of the file
//! that the kernel still holds, or to a file whose number happens to be equal. Then the id is one
//! that is free, and only `stat` shows the number.
//!
//! The table does no I/O. It grows with the kernel's memory of names (its dentry cache) and shrinks
//! as the kernel forgets. A file takes some 60 bytes and its name.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use forebay_source::Kind;

use super::found::{Finds, Found};
use super::sameness::{Sameness, hash};

/// The id of a node. It stands for one version of a file as long as the kernel holds it: no id is
/// given to another before all references to it are given back. A holder that keeps it for longer
/// needs the generation, too ([`Tree::generation`](super::Tree::generation)).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeId(pub u64);

impl NodeId {
    /// The root, which is always there and never forgotten.
    pub const ROOT: NodeId = NodeId(1);
}

/// A name: the branch of the tree, which stands for a source, and the path within it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Place {
    pub(super) branch: usize,
    pub(super) path: Arc<Path>,
}

/// A name in a folder of a branch; the root of a branch has neither.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spot<'a> {
    pub(super) branch: usize,
    pub(super) folder: &'a Arc<Path>,
    pub(super) name: &'a OsStr,
}

impl Spot<'_> {
    pub(super) fn path(&self) -> PathBuf {
        // Joining an empty name would add a slash.
        if self.name.is_empty() { self.folder.to_path_buf() } else { self.folder.join(self.name) }
    }
}

/// One id. A hundred thousand of them are held at a time, so each byte counts.
#[derive(Debug)]
struct Node {
    lookups: u64,
    /// As in [`Sameness`]; so are the three fields at the end.
    identity: u64,
    /// The place where the kernel found it first.
    found: Found,
    format: u16,
    kind: Kind,
    replaceable: bool,
}

impl Node {
    fn sameness(&self) -> Sameness {
        let Node { kind, replaceable, format, identity, .. } = *self;
        Sameness { kind, replaceable, format, identity }
    }
}

/// The table of all ids that the kernel holds, the root apart. No two stand for the same version.
#[derive(Debug, Default)]
pub(super) struct Nodes {
    by_id: HashMap<NodeId, Node, Mixed>,
    finds: Finds,
    /// Nodes whose id is not their inode number.
    displaced: HashMap<Sameness, NodeId>,
    /// The further places of nodes that were found in several.
    others: HashMap<NodeId, BTreeSet<Place>>,
}

impl Nodes {
    /// Takes one lookup reference on the id of a name as it is now. It is the id that the name has,
    /// or another one if the version changed. The old id stays until the kernel forgets it.
    /// `number` is the inode number that the name shows, always the same for one sameness.
    pub(super) fn refer(&mut self, spot: Spot<'_>, number: u64, sameness: Sameness) -> NodeId {
        let id = self.id_for(number, sameness);
        let Some(node) = self.by_id.get_mut(&id) else {
            let found = self.finds.add(spot, sameness.kind);
            let Sameness { kind, replaceable, format, identity } = sameness;
            self.by_id.insert(id, Node { lookups: 1, identity, found, format, kind, replaceable });
            if id.0 != number {
                self.displaced.insert(sameness, id);
            }
            return id;
        };
        node.lookups += 1;
        if !self.finds.is(node.found, spot) {
            // Another of its hard links was looked up.
            let place = Place { branch: spot.branch, path: spot.path().into() };
            self.others.entry(id).or_default().insert(place);
        }
        id
    }

    /// The id that stands for the same version; else the inode number if that is free, else the
    /// first free id of those that follow from the sameness.
    fn id_for(&self, number: u64, sameness: Sameness) -> NodeId {
        if !self.displaced.is_empty()
            && let Some(&id) = self.displaced.get(&sameness)
        {
            return id;
        }
        let fits = |&id: &NodeId| {
            // The kernel takes zero for no inode, and the root's id is the root's.
            let usable = id.0 > NodeId::ROOT.0;
            usable && self.by_id.get(&id).is_none_or(|node| node.sameness() == sameness)
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
        self.finds.remove(node.found);
        if self.finds.is_wasteful() {
            self.finds.pack(self.by_id.values_mut().map(|node| &mut node.found));
        }
        if !self.others.is_empty() {
            self.others.remove(&id);
        }
        if !self.displaced.is_empty() {
            self.displaced.remove(&node.sameness());
        }
        // After a walk over a whole tree the table would stay as large as that.
        if self.by_id.capacity() > ROOMY && self.by_id.len() < self.by_id.capacity() / 8 {
            self.by_id.shrink_to(self.by_id.len() * 2);
        }
    }

    /// Whether the kernel holds a node that was found in this spot first; `number` is the inode
    /// number of that name.
    pub(super) fn has(&self, spot: Spot<'_>, number: u64) -> bool {
        let mut ids = std::iter::once(NodeId(number)).chain(self.displaced.values().copied());
        ids.any(|id| self.by_id.get(&id).is_some_and(|node| self.finds.is(node.found, spot)))
    }

    /// The sameness that an id stands for, and the first place where it was found.
    pub(super) fn get(&self, id: NodeId) -> Option<(Place, Sameness)> {
        self.by_id.get(&id).map(|node| (self.finds.place(node.found), node.sameness()))
    }

    /// Tells apart the files that an id stands for one after the other, for callers that keep a
    /// file's handle. The kernel takes 32 bits of it, as a number with a sign.
    pub(super) fn generation(&self, id: NodeId) -> u64 {
        self.by_id.get(&id).map_or(0, |node| node.identity >> 33)
    }

    /// All places where an id was found but the first.
    pub(super) fn other_places(&self, id: NodeId) -> Vec<Place> {
        self.others.get(&id).map(|others| others.iter().cloned().collect()).unwrap_or_default()
    }

    /// The places where the kernel found the nodes with these identities.
    pub(super) fn of_identities(&self, wanted: &BTreeSet<u64>) -> Vec<(u64, Place)> {
        let found = self.by_id.iter().filter(|(_, node)| wanted.contains(&node.identity));
        let places = |(id, node): (&NodeId, &Node)| {
            let identity = node.identity;
            let places = std::iter::once(self.finds.place(node.found)).chain(self.other_places(*id));
            places.map(move |place| (identity, place)).collect::<Vec<_>>()
        };
        found.flat_map(places).collect()
    }

    /// How many ids there are.
    pub(super) fn len(&self) -> usize {
        self.by_id.len()
    }
}

/// A table that has room for fewer ids is left as it is.
const ROOMY: usize = 1 << 12;

/// A table by ids, or by hashes.
pub(super) type ById<T> = HashMap<u64, T, Mixed>;

/// Hashes ids, which are hashes or inode numbers, by one multiplication.
#[derive(Clone, Debug)]
pub(super) struct Mixed {
    key: u64,
}

impl Default for Mixed {
    fn default() -> Mixed {
        // Odd, so that no two ids have one product.
        Mixed { key: RandomState::new().hash_one(0) | 1 }
    }
}

impl BuildHasher for Mixed {
    type Hasher = Mixing;

    fn build_hasher(&self) -> Mixing {
        Mixing { key: self.key, hash: 0 }
    }
}

#[derive(Debug)]
pub(super) struct Mixing {
    key: u64,
    hash: u64,
}

impl Hasher for Mixing {
    fn finish(&self) -> u64 {
        self.hash
    }

    fn write_u64(&mut self, id: u64) {
        let product = u128::from(id ^ self.key.rotate_left(32)) * u128::from(self.key);
        self.hash = product as u64 ^ (product >> 64) as u64;
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(self.hash ^ u64::from(byte)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_source::Name;
    use proptest::prelude::*;

    /// Looks a place up.
    fn refer(nodes: &mut Nodes, place: &Place, number: u64, sameness: Sameness) -> NodeId {
        let folder: Arc<Path> = place.path.parent().unwrap().into();
        let name = place.path.file_name().unwrap();
        nodes.refer(Spot { branch: place.branch, folder: &folder, name }, number, sameness)
    }

    fn place(path: u8) -> Place {
        Place { branch: usize::from(path % 2), path: Path::new(&format!("folder/{path}")).into() }
    }

    /// Files 4 and 5 are two names of one file, and all other names have numbers of which some are
    /// equal.
    fn number(path: u8) -> u64 {
        u64::from(path.min(4) / 2)
    }

    fn sameness(path: u8, version: u8) -> Sameness {
        match version {
            0 => Sameness::unseen(0, &Name::path(&"store".into(), &place(path).path), Kind::Folder),
            version => {
                let identity = hash(&(path.min(4), version));
                Sameness::of_hash(identity)
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

    /// The naive twin: the nodes that the kernel holds, and every answer that it got.
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
                        let id = refer(&mut nodes, &place(path), number(path), sameness(path, version));
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
            prop_assert_eq!((nodes.by_id.len(), nodes.displaced.len(), nodes.others.len()), (0, 0, 0));
            prop_assert!(nodes.finds.is_empty());
        }
    }

    #[test]
    fn forgetting_the_old_version_keeps_the_new_one_findable() {
        let mut nodes = Nodes::default();
        let old = refer(&mut nodes, &place(1), 77, sameness(1, 1));
        let new = refer(&mut nodes, &place(1), 77, sameness(1, 2));
        assert_eq!(old, NodeId(77));
        assert_ne!(old, new);
        nodes.forget(old, 1);
        assert_eq!(refer(&mut nodes, &place(1), 77, sameness(1, 2)), new);
    }

    #[test]
    fn what_was_forgotten_has_its_number_again() {
        let mut nodes = Nodes::default();
        for version in 1..4 {
            let id = refer(&mut nodes, &place(1), 77, sameness(1, version));
            assert_eq!(id, NodeId(77));
            nodes.forget(id, 1);
        }
    }

    #[test]
    fn hard_links_are_one_node_and_files_that_share_a_number_are_two() {
        let mut nodes = Nodes::default();
        assert_eq!(refer(&mut nodes, &place(4), 2, sameness(4, 1)), refer(&mut nodes, &place(5), 2, sameness(5, 1)));
        assert_eq!(nodes.other_places(NodeId(2)), [place(5)]);
        assert_ne!(refer(&mut nodes, &place(1), 2, sameness(1, 1)), NodeId(2));
        for number in [0, NodeId::ROOT.0] {
            assert!(refer(&mut nodes, &place(3), number, sameness(3, 1)) > NodeId::ROOT);
        }
    }

    /// The holder of a file's handle is not given the next file of its id.
    #[test]
    fn an_id_that_is_used_again_is_of_another_generation() {
        let mut nodes = Nodes::default();
        let generations = [1, 2].map(|version| {
            let id = refer(&mut nodes, &place(1), 77, sameness(1, version));
            let generation = nodes.generation(id);
            nodes.forget(id, 1);
            (id, generation)
        });
        assert_eq!(generations[0].0, generations[1].0);
        assert_ne!(generations[0].1, generations[1].1);
        assert!(generations.iter().all(|&(_, generation)| generation < 1 << 31));
    }

    #[test]
    fn a_held_name_is_small() {
        assert!(size_of::<(NodeId, Node)>() <= 40, "{}", size_of::<(NodeId, Node)>());
    }

    #[test]
    fn too_many_forgets_are_no_harm() {
        let mut nodes = Nodes::default();
        let id = refer(&mut nodes, &place(1), 77, sameness(1, 1));
        nodes.forget(id, u64::MAX);
        nodes.forget(id, 1);
        nodes.forget(NodeId::ROOT, 7);
        assert_eq!(nodes.len(), 0);
    }
}
