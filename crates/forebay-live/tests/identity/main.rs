//! Trees in which many names share one length, tag, time or inode, behind every kind of source and
//! wrapper: whatever is cached, readers get the file's own bytes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use forebay_core::{DeviceCost, DeviceId};
use forebay_device::device;
use forebay_testkit::trees::content;
use object_store::path::Path as Key;
use proptest::prelude::*;
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};

use forebay_live::engine::{Config, Engine, Referenced};
use forebay_live::tree::{Branch, NodeId, Tree};
use forebay_source::faulty::{FaultPlan, FaultySource};
use forebay_source::local::LocalSource;
use forebay_source::memory::MemorySource;
use forebay_source::object::StoreOptions;
use forebay_source::paced::PacedSource;
use forebay_source::striped::{StripedSource, Stripes};
use forebay_source::{RemoteSource, Source};

mod alike;

use alike::AlikeStore;

/// A stripe unit and the length of every file: a few chunks, the last one cut.
const UNIT: u64 = 4096;
const SIZE: usize = 5 * UNIT as usize + 123;

/// A source, the content of its files, and the folders that it lies on.
struct Case {
    source: Arc<dyn Source>,
    files: BTreeMap<PathBuf, Vec<u8>>,
    /// Names that are one file, in pairs.
    linked: Vec<[PathBuf; 2]>,
    kept: Vec<tempfile::TempDir>,
}

/// The innermost source.
#[derive(Clone, Copy, Debug)]
enum Bottom {
    /// A folder whose files have one time of modification; some are hard links.
    Folder,
    /// A store whose objects have one time and one tag, or none.
    Store { tag: Option<&'static str> },
}

/// A wrapper around it.
#[derive(Clone, Copy, Debug)]
enum Wrapper {
    Paced,
    Faulty,
}

/// The names of files, and the seed of each one's bytes. Hard links come in pairs.
struct Plan {
    seed: u64,
    names: Vec<PathBuf>,
}

impl Plan {
    fn new(seed: u64) -> Plan {
        let name =
            |number: u64| PathBuf::from(format!("{}/{number}", if number.is_multiple_of(2) { "even" } else { "odd" }));
        Plan { seed, names: (0..12).map(name).collect() }
    }

    /// The content under all names, of which the member of a set has its share.
    fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let bytes = |number| content(self.seed.wrapping_mul(1000) + number, SIZE);
        self.names.iter().zip(0..).map(|(name, number)| (name.clone(), bytes(number))).collect()
    }
}

/// The part of a file that a member of a set has.
fn share(bytes: &[u8], stripes: &Stripes, member: usize) -> Vec<u8> {
    let chunks = stripes.chunks(0..bytes.len() as u64).filter(|(of, _)| *of == member);
    chunks.flat_map(|(_, chunk)| &bytes[chunk.start as usize..chunk.end as usize]).copied().collect()
}

/// A file has one more name, `again` behind its own, if its number is a multiple of three.
fn linked(plan: &Plan) -> Vec<[PathBuf; 2]> {
    let again = |name: &PathBuf| [name.clone(), name.with_extension("again")];
    plan.names.iter().step_by(3).map(again).collect()
}

fn folder(plan: &Plan, files: &BTreeMap<PathBuf, Vec<u8>>) -> Case {
    let folder = tempfile::tempdir().unwrap();
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_795_000_000);
    for (name, bytes) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
    }
    let (mut files, linked) = (files.clone(), linked(plan));
    for [name, again] in &linked {
        fs::hard_link(folder.path().join(name), folder.path().join(again)).unwrap();
        files.insert(again.clone(), files[name].clone());
    }
    let source = Arc::new(LocalSource::new(folder.path()).unwrap());
    Case { source, files, linked, kept: vec![folder] }
}

fn store(files: &BTreeMap<PathBuf, Vec<u8>>, tag: Option<&'static str>) -> Case {
    let store = Arc::new(AlikeStore::new(tag));
    for (name, bytes) in files {
        store.put(&Key::from(name.to_str().unwrap()), bytes.clone());
    }
    let source = Arc::new(
        RemoteSource::of_store(
            "alike://bucket",
            store,
            None,
            Key::default(),
            &StoreOptions { ttl: Duration::ZERO, ..StoreOptions::default() },
        )
        .unwrap(),
    );
    Case { source, files: files.clone(), linked: Vec::new(), kept: Vec::new() }
}

fn bottom(bottom: Bottom, plan: &Plan, files: &BTreeMap<PathBuf, Vec<u8>>) -> Case {
    match bottom {
        Bottom::Folder => folder(plan, files),
        Bottom::Store { tag } => store(files, tag),
    }
}

/// One bottom as it is, or several as the members of a set.
fn set(bottoms: &[Bottom], plan: &Plan) -> Case {
    let whole = plan.files();
    let [_, _, ..] = bottoms else { return bottom(bottoms[0], plan, &whole) };
    let stripes = Stripes::new(UNIT, bottoms.len()).unwrap();
    let member = |(member, &of): (usize, &Bottom)| {
        let files = whole.iter().map(|(name, bytes)| (name.clone(), share(bytes, &stripes, member))).collect();
        bottom(of, plan, &files)
    };
    let members: Vec<Case> = bottoms.iter().enumerate().map(member).collect();
    let sources = members.iter().map(|member| Arc::clone(&member.source)).collect();
    let source = Arc::new(StripedSource::new(UNIT, sources).unwrap());
    // A name that one member lacks is none of the set's.
    let (mut files, linked) = match members.iter().all(|member| !member.linked.is_empty()) {
        true => (whole, linked(plan)),
        false => (whole, Vec::new()),
    };
    for [name, again] in &linked {
        files.insert(again.clone(), files[name].clone());
    }
    Case { source, files, linked, kept: members.into_iter().flat_map(|member| member.kept).collect() }
}

fn wrapped(case: Case, wrappers: &[Wrapper], seed: u64) -> Case {
    // Each fails at times of its own: the engine asks four times, and two of one seed fail in turn.
    let wrap = |inner: Arc<dyn Source>, (wrapper, number): (&Wrapper, u64)| -> Arc<dyn Source> {
        match wrapper {
            Wrapper::Paced => {
                let queue = device("ibm-9lzx").unwrap().queue(1, &Default::default()).unwrap();
                Arc::new(PacedSource::behind(inner, queue, 1e6).unwrap())
            }
            Wrapper::Faulty => {
                let delay = Duration::from_millis(2);
                let seed = seed.wrapping_add(number);
                let plan = FaultPlan { seed, short: 0.01, delayed: 0.1, delay, ..FaultPlan::default() };
                Arc::new(FaultySource::new(inner, plan))
            }
        }
    };
    let source = wrappers.iter().zip(0..).fold(Arc::clone(&case.source), wrap);
    Case { source, ..case }
}

/// A tree over the source, twice as a folder of one root if `twice`: then it lies on two devices.
fn tree(case: &Case, referenced: Referenced, twice: bool) -> Arc<Tree> {
    let devices = case.source.members().len().max(1);
    let config = Config { referenced, ..Config::new(24 << 20, "competitive".parse().unwrap()) };
    let cost = DeviceCost::flat(100_000, 1 << 30, 8);
    let engine = Engine::start(config, vec![cost; 2 * devices]).unwrap();
    let branch = |(name, first): (Option<&str>, usize)| Branch {
        name: name.map(Into::into),
        source: Arc::clone(&case.source),
        device: DeviceId(first as u16),
    };
    let names = if twice { vec![(Some("one"), 0), (Some("other"), devices)] } else { vec![(None, 0)] };
    Arc::new(Tree::new(engine, names.into_iter().map(branch).collect()).unwrap())
}

/// The node of a path, and the inode number that it shows.
fn find(tree: &Arc<Tree>, path: &Path) -> (NodeId, u64) {
    path.iter().fold((NodeId::ROOT, 0), |(above, _), name| {
        let found = tree.lookup(above, name).unwrap();
        (found.node, found.attributes.inode)
    })
}

/// 32 readers, each in an order of its own, with reads that begin anywhere.
fn all_read_their_own_bytes(tree: &Arc<Tree>, files: &[(PathBuf, Vec<u8>)], seed: u64) {
    std::thread::scope(|scope| {
        for reader in 0..32 {
            scope.spawn(move || {
                let mut random = SmallRng::seed_from_u64(seed ^ (reader << 32));
                let mut order: Vec<_> = files.iter().collect();
                order.shuffle(&mut random);
                for (path, bytes) in order {
                    let file = tree.open(find(tree, path).0).unwrap();
                    assert_eq!(file.size(), bytes.len() as u64, "{}", path.display());
                    let from = random.random_range(0..bytes.len());
                    for range in [from..bytes.len(), 0..from] {
                        let mut got = vec![0; range.len()];
                        let read = file.read(reader as u32, range.start as u64, &mut got).unwrap();
                        assert!(read == got.len() && got == bytes[range], "{}: other bytes", path.display());
                    }
                }
            });
        }
    });
}

/// Numbers are those of the files: as many as there are files, and the same in the next mount.
fn numbers_are_the_files(case: &Case, tree: &Arc<Tree>, again: &Arc<Tree>, files: &[(PathBuf, Vec<u8>)]) {
    let numbers: BTreeMap<&Path, u64> = files.iter().map(|(path, _)| (&**path, find(tree, path).1)).collect();
    for (path, number) in &numbers {
        assert_eq!(find(again, path).1, *number, "{}: another number in the next mount", path.display());
    }
    let branches = if files.len() > case.files.len() { 2 } else { 1 };
    let distinct: BTreeSet<u64> = numbers.values().copied().collect();
    assert_eq!(distinct.len(), files.len() - branches * case.linked.len(), "hard links share one, nothing else does");
}

fn check(case: &Case, seed: u64, referenced: Referenced, twice: bool) {
    let under = |folder: &str| {
        let placed = move |(path, bytes): (&PathBuf, &Vec<u8>)| (Path::new(folder).join(path), bytes.clone());
        case.files.iter().map(placed).collect::<Vec<_>>()
    };
    let files = if twice { [under("one"), under("other")].concat() } else { under("") };
    let (one, again) = (tree(case, referenced, twice), tree(case, referenced, twice));
    all_read_their_own_bytes(&one, &files, seed);
    numbers_are_the_files(case, &one, &again, &files);
}

fn bottoms() -> impl Strategy<Value = Vec<Bottom>> {
    let tags = prop_oneof![Just(None), Just(Some("\"one\"")), Just(Some("W/\"one\"")), Just(Some("no tag"))];
    let bottom = prop_oneof![Just(Bottom::Folder), tags.prop_map(|tag| Bottom::Store { tag })];
    prop::collection::vec(bottom, 1..4)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn readers_get_their_own_files_bytes(
        seed in any::<u64>(),
        bottoms in bottoms(),
        wrappers in prop::collection::vec(prop_oneof![Just(Wrapper::Paced), Just(Wrapper::Faulty)], 0..3),
        kept in any::<bool>(),
        twice in any::<bool>(),
    ) {
        let case = wrapped(set(&bottoms, &Plan::new(seed)), &wrappers, seed);
        let referenced = if kept { Referenced::Kept } else { Referenced::HandedOn };
        check(&case, seed, referenced, twice);
    }
}

/// The source of the other tests, too.
#[test]
fn files_in_memory_are_told_apart_by_name() {
    let source = MemorySource::of(&["a", "b", "c"], SIZE as u64);
    let bytes = |name: &str| (PathBuf::from(name), forebay_source::memory::pattern(name, 0, SIZE));
    let files = ["a", "b", "c"].map(bytes).into();
    let case = Case { source: Arc::new(source), files, linked: Vec::new(), kept: Vec::new() };
    check(&case, 1, Referenced::Kept, true);
}

/// Bytes that were read of one hard link are there for the other.
#[test]
fn hard_links_share_their_blocks() {
    let case = set(&[Bottom::Folder], &Plan::new(7));
    let tree = tree(&case, Referenced::Kept, false);
    let fetched = || tree.engine().stats(&[]).counts.fetched_bytes;
    let read = |path: &Path| {
        let file = tree.open(find(&tree, path).0).unwrap();
        let mut bytes = vec![0; SIZE];
        assert_eq!(file.read(1, 0, &mut bytes).unwrap(), SIZE);
        assert!(bytes == case.files[path]);
    };
    let [name, again] = &case.linked[0];
    read(name);
    let before = fetched();
    read(again);
    assert_eq!(fetched(), before);
    assert_eq!(find(&tree, name), find(&tree, again), "one node, so that the kernel's pages are shared as well");
}

/// A file that takes the place of another with its length and times is another file.
#[test]
fn a_file_that_was_replaced_is_another() {
    let case = set(&[Bottom::Folder], &Plan::new(8));
    let (name, other) = (Path::new("odd/1"), Path::new("odd/5"));
    let before = case.source.stat(name).unwrap();
    let folder = case.kept[0].path();
    fs::rename(folder.join(other), folder.join(name)).unwrap();
    let after = case.source.stat(name).unwrap();
    assert_eq!((before.size, before.modified), (after.size, after.modified));
    assert_ne!(before.identity.name, after.identity.name);
    assert_ne!(before.inode, after.inode);
}
