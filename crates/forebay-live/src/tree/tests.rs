//! The tree over sources that live in memory, so that every change of a name is a line of the test.

use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use forebay_core::DeviceId;
use forebay_source::identity::inode_number;
use forebay_source::{Entry, Fetch, Object, Source};

use super::*;
use crate::engine::Config;

/// Names and their contents; a folder has none. The version is the content itself, as an entity
/// tag.
#[derive(Default)]
struct Shelf {
    names: Mutex<BTreeMap<PathBuf, Option<&'static str>>>,
    /// It answers nothing, and callers give up.
    silent: AtomicBool,
    looks: AtomicUsize,
}

impl Shelf {
    fn with(names: &[(&str, Option<&'static str>)]) -> Arc<Shelf> {
        let shelf = Shelf::default();
        shelf.names.lock().insert(PathBuf::new(), None);
        for &(name, content) in names {
            shelf.put(name, content);
        }
        Arc::new(shelf)
    }

    fn put(&self, name: &str, content: Option<&'static str>) {
        self.names.lock().insert(name.into(), content);
    }

    fn remove(&self, name: &str) {
        self.names.lock().remove(Path::new(name));
    }

    fn content(&self, path: &Path) -> Result<Option<&'static str>> {
        self.names.lock().get(path).copied().ok_or_else(|| Error::NotFound(path.display().to_string()))
    }
}

fn identity(path: &Path, content: &str) -> Identity {
    let version = Version { size: content.len() as u64, tag: Some(content.into()), ..Version::default() };
    Identity { name: Name::path(&"shelf".into(), path), version }
}

impl Shelf {
    fn attributes(&self, path: &Path) -> Result<Attributes> {
        let content = self.content(path)?;
        let (kind, mode) = if content.is_some() { (Kind::File, libc::S_IFREG) } else { (Kind::Folder, libc::S_IFDIR) };
        let identity = identity(path, content.unwrap_or_default());
        let plain = Attributes::plain(kind, SystemTime::UNIX_EPOCH, identity);
        Ok(Attributes { allocated: 0, mode: mode | 0o755, ..plain })
    }

    fn entries(&self, path: &Path) -> Listing {
        let names = self.names.lock();
        let inside = names.iter().filter(|(name, _)| name.parent() == Some(path));
        let entry = |(name, content): (&PathBuf, &Option<_>)| Entry {
            name: name.file_name().expect("not the root").into(),
            kind: if content.is_some() { Kind::File } else { Kind::Folder },
            inode: inode_number("shelf", name),
            facts: None,
        };
        inside.map(entry).collect()
    }

    fn file(&self, path: &Path) -> Result<Arc<dyn Object>> {
        match self.content(path)? {
            Some(content) => Ok(Arc::new(Opened(content, identity(path, content)))),
            None => Err(refused(path, libc::EISDIR)),
        }
    }
}

impl Source for Shelf {
    fn describe(&self) -> String {
        "shelf".into()
    }

    fn address(&self) -> &Arc<str> {
        static ADDRESS: LazyLock<Arc<str>> = LazyLock::new(|| "shelf".into());
        &ADDRESS
    }

    fn stat_then(&self, path: &Path, then: Then<Attributes>) {
        self.looks.fetch_add(1, Ordering::SeqCst);
        let given_up = || Error::GivenUp { name: "x".into(), reason: "no answer".into(), after: Duration::ZERO };
        then(if self.silent.load(Ordering::SeqCst) { Err(given_up()) } else { self.attributes(path) });
    }

    fn list_then(&self, path: &Path, then: Then<Listing>) {
        then(Ok(self.entries(path)));
    }

    fn open_then(&self, path: &Path, then: Then<Arc<dyn Object>>) {
        then(self.file(path));
    }

    fn listed(&self, folder: &Path, listed: &Listed<'_>) -> Result<Option<Attributes>> {
        self.attributes(&folder.join(listed.name)).map(Some)
    }

    fn read_link(&self, path: &Path) -> Result<PathBuf> {
        Err(refused(path, libc::EINVAL))
    }

    fn xattr(&self, _path: &Path, name: &OsStr) -> Result<Vec<u8>> {
        if name == "user.of" { Ok(b"shelf".to_vec()) } else { Err(refused(Path::new(name), libc::ENODATA)) }
    }

    fn xattrs(&self, _path: &Path) -> Result<Vec<OsString>> {
        Ok(vec!["user.of".into()])
    }

    fn space(&self) -> Result<Space> {
        Ok(Space { bytes: 100, bytes_free: 60, names: u64::MAX, names_free: 3 })
    }
}

struct Opened(&'static str, Identity);

impl Object for Opened {
    fn identity(&self) -> &Identity {
        &self.1
    }

    fn fetch(&self, mut fetch: Fetch) {
        let from = fetch.offset as usize;
        fetch.buffer.write(0, &self.0.as_bytes()[from..from + fetch.len]);
        fetch.finish(Ok(()));
    }
}

fn tree(branches: Vec<(Option<&str>, Arc<Shelf>)>) -> std::result::Result<Arc<Tree>, BranchError> {
    let cost = forebay_core::DeviceCost::flat(100_000, 1 << 30, 8);
    let config = Config::new(64 << 20, "competitive".parse().unwrap());
    let engine = Engine::start(config, vec![cost; branches.len().max(1)]).unwrap();
    let branch = |(number, (name, source)): (usize, (Option<&str>, Arc<Shelf>))| Branch {
        name: name.map(OsString::from),
        source,
        device: DeviceId(number as u16),
    };
    Tree::new(engine, branches.into_iter().enumerate().map(branch).collect()).map(Arc::new)
}

fn names(listing: &Names) -> Vec<&str> {
    (0..listing.len()).map(|i| listing.get(i).unwrap().name.to_str().unwrap()).collect()
}

fn read(file: &OpenFile) -> Vec<u8> {
    let mut bytes = vec![0; file.size() as usize];
    assert_eq!(file.read(1, 0, &mut bytes).unwrap(), bytes.len());
    bytes
}

#[test]
fn one_source_is_the_root() {
    let shelf = Shelf::with(&[("a", None), ("a/b", Some("bee"))]);
    let tree = tree(vec![(None, shelf)]).unwrap();
    assert_eq!(names(&tree.list(NodeId::ROOT).unwrap()), ["a"]);
    let Referred { node: a, attributes: folder } = tree.lookup(NodeId::ROOT, OsStr::new("a")).unwrap();
    assert_eq!(folder.kind, Kind::Folder);
    let Referred { node: b, attributes: file } = tree.lookup(a, OsStr::new("b")).unwrap();
    assert_eq!((file.kind, file.size), (Kind::File, 3));
    assert_eq!(read(&tree.open(b).unwrap()), b"bee");
    assert_eq!(tree.open(a).map(|_| ()).unwrap_err().errno(), libc::EISDIR);
    assert_eq!(tree.open(NodeId::ROOT).map(|_| ()).unwrap_err().errno(), libc::EISDIR);
}

#[test]
fn several_sources_are_folders() {
    let hot = Shelf::with(&[("x", Some("hot"))]);
    let cold = Shelf::with(&[("x", Some("cold"))]);
    let tree = tree(vec![(Some("hot"), hot), (Some("cold"), cold)]).unwrap();
    assert_eq!(names(&tree.list(NodeId::ROOT).unwrap()), ["hot", "cold"]);
    assert_eq!(tree.attributes(NodeId::ROOT).unwrap().kind, Kind::Folder);
    for name in ["hot", "cold"] {
        let folder = tree.lookup(NodeId::ROOT, OsStr::new(name)).unwrap().node;
        let x = tree.lookup(folder, OsStr::new("x")).unwrap().node;
        assert_eq!(read(&tree.open(x).unwrap()), name.as_bytes());
    }
    assert_eq!(tree.lookup(NodeId::ROOT, OsStr::new("x")).unwrap_err().errno(), libc::ENOENT);
    let both = Space { bytes: 200, bytes_free: 120, names: u64::MAX, names_free: 6 };
    assert_eq!(tree.space(NodeId::ROOT).unwrap(), both);
    assert_eq!(tree.describe(), "hot=shelf cold=shelf");
}

#[test]
fn a_single_named_source_is_a_folder_too() {
    let tree = tree(vec![(Some("only"), Shelf::with(&[]))]).unwrap();
    assert_eq!(names(&tree.list(NodeId::ROOT).unwrap()), ["only"]);
}

#[test]
fn names_that_make_no_tree() {
    let shelf = || Shelf::with(&[]);
    let refusal = |branches| tree(branches).map(|_| ()).unwrap_err();
    assert_eq!(refusal(vec![]), BranchError::None);
    assert_eq!(refusal(vec![(None, shelf()), (Some("a"), shelf())]), BranchError::Unnamed("shelf".into()));
    assert_eq!(refusal(vec![(Some("a"), shelf()), (Some("a"), shelf())]), BranchError::Twice("a".into()));
    for bad in ["", ".", "..", "a/b", "a\0"] {
        assert_eq!(refusal(vec![(Some(bad), shelf())]), BranchError::BadName(bad.into()));
    }
}

#[test]
fn a_changed_file_is_another_node_and_the_old_one_is_stale() {
    let shelf = Shelf::with(&[("f", Some("one"))]);
    let tree = tree(vec![(None, Arc::clone(&shelf))]).unwrap();
    let look = || tree.lookup(NodeId::ROOT, OsStr::new("f")).unwrap().node;
    let one = look();
    assert_eq!(look(), one, "same version, same node");
    let open = tree.open(one).unwrap();

    shelf.put("f", Some("two"));
    assert_eq!(tree.attributes(one).unwrap_err().errno(), libc::ESTALE);
    assert_eq!(tree.open(one).map(|_| ()).unwrap_err().errno(), libc::ESTALE);
    let two = look();
    assert_ne!(two, one);
    assert_eq!(read(&tree.open(two).unwrap()), b"two");
    assert_eq!(read(&open), b"one", "what was opened is one version");

    shelf.remove("f");
    for node in [one, two] {
        assert_eq!(tree.attributes(node).unwrap_err().errno(), libc::ENOENT);
        assert_eq!(
            tree.open(node).map(|_| ()).unwrap_err().errno(),
            libc::ESTALE,
            "so that its name is asked for anew"
        );
    }
    tree.forget(one, 2);
    tree.forget(two, 1);
    assert_eq!(tree.nodes_held(), 0);
    assert_eq!(tree.attributes(one).unwrap_err().errno(), libc::ESTALE, "an id that was given up");
}

#[test]
fn a_file_that_becomes_a_folder_is_another_node() {
    let shelf = Shelf::with(&[("f", Some("file"))]);
    let tree = tree(vec![(None, Arc::clone(&shelf))]).unwrap();
    let file = tree.lookup(NodeId::ROOT, OsStr::new("f")).unwrap().node;
    shelf.put("f", None);
    assert_eq!(tree.attributes(file).unwrap_err().errno(), libc::ESTALE);
    let folder = tree.lookup(NodeId::ROOT, OsStr::new("f")).unwrap().node;
    assert_ne!(file, folder);
    shelf.put("f/inside", Some(""));
    assert_eq!(tree.lookup(NodeId::ROOT, OsStr::new("f")).unwrap().node, folder, "a folder keeps its node");
}

/// The kernel looks a name that it knew up once more.
#[test]
fn a_failure_answers_the_second_look_up_of_a_known_name_and_no_other() {
    for several in [None, Some("shelf")] {
        let shelf = Shelf::with(&[("f", Some("one")), ("g", Some("two"))]);
        let tree = tree(vec![(several, Arc::clone(&shelf))]).unwrap();
        let root = several.map_or(NodeId::ROOT, |name| tree.lookup(NodeId::ROOT, OsStr::new(name)).unwrap().node);
        // How many looks at the source the look-ups of a name take, and how many look-ups succeed.
        let looks = |name: &str, times: usize| {
            let before = shelf.looks.load(Ordering::SeqCst);
            let found = (0..times).filter(|_| tree.lookup(root, OsStr::new(name)).is_ok()).count();
            (shelf.looks.load(Ordering::SeqCst) - before, found)
        };
        assert_eq!(looks("f", 1), (1, 1));
        shelf.put("f", Some("another"));
        assert_eq!(looks("f", 1), (1, 1), "a version of another id");
        for _ in 0..3 {
            shelf.silent.store(true, Ordering::SeqCst);
            assert_eq!((looks("g", 2), looks("none", 2)), ((2, 0), (2, 0)), "names that nobody knew");
            assert_eq!(looks("f", 2), (1, 0));
            shelf.silent.store(false, Ordering::SeqCst);
            assert_eq!(looks("f", 2), (2, 2));
        }
    }
}

#[test]
fn names_that_no_file_can_have_are_not_found() {
    let tree = tree(vec![(None, Shelf::with(&[]))]).unwrap();
    for name in ["", ".", "..", "a/b", "a\0"] {
        assert_eq!(tree.lookup(NodeId::ROOT, OsStr::new(name)).unwrap_err().errno(), libc::ENOENT);
    }
    assert_eq!(tree.nodes_held(), 0, "a failed lookup takes no reference");
}

#[test]
fn a_name_that_was_only_listed_is_another_node_once_it_is_seen() {
    let tree = tree(vec![(None, Shelf::with(&[("f", Some("x")), ("d", None)]))]).unwrap();
    let (f, d) = (OsStr::new("f"), OsStr::new("d"));
    let names = tree.list(NodeId::ROOT).unwrap();
    let unseen = |name: &OsStr| {
        let listed = (0..names.len()).filter_map(|i| names.get(i)).find(|listed| listed.name == name).unwrap();
        tree.refer_unseen(&names, &listed).unwrap()
    };
    let folder = unseen(d);
    let unseen = unseen(f);
    assert_eq!(tree.attributes(unseen).unwrap_err().errno(), libc::ESTALE);
    assert_eq!(tree.open(unseen).map(|_| ()).unwrap_err().errno(), libc::ESTALE);
    let seen = tree.lookup(NodeId::ROOT, f).unwrap().node;
    assert_ne!(seen, unseen);
    assert_eq!(tree.lookup(NodeId::ROOT, d).unwrap().node, folder, "a folder has no versions");
    for (node, lookups) in [(unseen, 1), (seen, 1), (folder, 2)] {
        tree.forget(node, lookups);
    }
    assert_eq!(tree.nodes_held(), 0);
}

#[test]
fn the_root_answers_the_counters() {
    for name in [None, Some("named")] {
        let tree = tree(vec![(name, Shelf::with(&[]))]).unwrap();
        let stats = tree.xattr(NodeId::ROOT, OsStr::new(STATS_XATTR)).unwrap();
        assert!(stats.starts_with(b"{"), "the counters are a JSON object");
        assert!(!tree.xattrs(NodeId::ROOT).unwrap().iter().any(|listed| listed == STATS_XATTR));
        let explained = tree.xattr(NodeId::ROOT, OsStr::new(EXPLAIN_XATTR)).unwrap();
        assert!(explained.starts_with(b"{\"policy\":\"competitive+lru\""), "so is what explains them");
    }
    let tree = tree(vec![(None, Shelf::with(&[("f", Some(""))]))]).unwrap();
    let f = tree.lookup(NodeId::ROOT, OsStr::new("f")).unwrap().node;
    assert_eq!(tree.xattr(f, OsStr::new(STATS_XATTR)).unwrap_err().errno(), libc::ENODATA, "only the root");
    assert_eq!(tree.xattr(f, OsStr::new("user.of")).unwrap(), b"shelf");
}
