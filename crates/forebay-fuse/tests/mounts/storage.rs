//! Storage that waits or fails, behind a mount; and several of them.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use forebay_core::{DeviceCost, DeviceId};
use forebay_fuse::MountOptions;
use forebay_live::engine::{Config, Engine};
use forebay_live::tree::{Branch, Tree};
use forebay_source::{Attributes, Error, Fetch, Identity, Listed, Listing, Object, Result, Source, Space, Then};
use forebay_testkit::mounts::{self, MountPoint};
use parking_lot::{Condvar, Mutex};

use crate::errno;
use crate::folder::Folder;

/// The storage's treatment of fetches.
#[derive(Clone, Copy, PartialEq)]
enum Mood {
    Serve,
    Hold,
    Fail,
}

/// A folder whose bytes come when the test says so.
struct Moody {
    folder: Folder,
    state: Arc<State>,
}

struct State {
    mood: Mutex<Mood>,
    held: Mutex<Vec<(Arc<dyn Object>, Fetch)>>,
    arrived: Condvar,
}

impl State {
    fn set(&self, mood: Mood) {
        *self.mood.lock() = mood;
        let held = std::mem::take(&mut *self.held.lock());
        held.into_iter().for_each(|(object, fetch)| object.fetch(fetch));
    }

    /// Waits until so many fetches are held.
    fn wait_for(&self, fetches: usize) {
        self.arrived.wait_while(&mut self.held.lock(), |held| held.len() < fetches);
    }
}

struct Opened {
    object: Arc<dyn Object>,
    state: Arc<State>,
}

impl Object for Opened {
    fn identity(&self) -> &Identity {
        self.object.identity()
    }

    fn fetch(&self, fetch: Fetch) {
        let mood = *self.state.mood.lock();
        match mood {
            Mood::Serve => self.object.fetch(fetch),
            Mood::Fail => fetch.finish(Err(Error::Storage { name: "moody".into(), reason: "on purpose".into() })),
            Mood::Hold => {
                self.state.held.lock().push((Arc::clone(&self.object), fetch));
                self.state.arrived.notify_all();
            }
        }
    }
}

impl Source for Moody {
    fn describe(&self) -> String {
        self.folder.describe()
    }
    fn address(&self) -> &Arc<str> {
        self.folder.address()
    }
    fn stat_then(&self, path: &Path, then: Then<Attributes>) {
        self.folder.stat_then(path, then);
    }
    fn list_then(&self, path: &Path, then: Then<Listing>) {
        self.folder.list_then(path, then);
    }
    fn open_then(&self, path: &Path, then: Then<Arc<dyn Object>>) {
        let state = Arc::clone(&self.state);
        let opened = |object| Arc::new(Opened { object, state }) as Arc<dyn Object>;
        self.folder.open_then(path, Box::new(|object| then(object.map(opened))));
    }
    fn listed(&self, folder: &Path, listed: &Listed<'_>) -> Result<Option<Attributes>> {
        self.folder.listed(folder, listed)
    }
    fn read_link(&self, path: &Path) -> Result<PathBuf> {
        self.folder.read_link(path)
    }
    fn xattr(&self, path: &Path, name: &OsStr) -> Result<Vec<u8>> {
        self.folder.xattr(path, name)
    }
    fn xattrs(&self, path: &Path) -> Result<Vec<OsString>> {
        self.folder.xattrs(path)
    }
    fn space(&self) -> Result<Space> {
        self.folder.space()
    }
}

/// A moody source in a mood, and the state that sets it.
fn moody(folder: &Path, mood: Mood) -> (Moody, Arc<State>) {
    let state = Arc::new(State { mood: Mutex::new(mood), held: Mutex::default(), arrived: Condvar::new() });
    (Moody { folder: Folder::new(folder), state: Arc::clone(&state) }, state)
}

fn tree(sources: Vec<(Option<&str>, Moody)>) -> Arc<Tree> {
    let config = Config::new(64 << 20, "competitive".parse().expect("a policy that exists"));
    let devices = vec![DeviceCost::flat(100_000, 1 << 30, 8); sources.len()];
    let engine = Engine::start(config, devices).unwrap();
    let branch = |(number, (name, source)): (usize, (Option<&str>, Moody))| Branch {
        name: name.map(OsString::from),
        source: Arc::new(source),
        device: DeviceId(number as u16),
    };
    Arc::new(Tree::new(engine, sources.into_iter().enumerate().map(branch).collect()).unwrap())
}

#[test]
fn readers_that_wait_hold_no_thread() {
    if !mounts::possible() {
        return;
    }
    let (folder, point) = (tempfile::tempdir().unwrap(), MountPoint::new().unwrap());
    let (readers, content) = (16, |reader: usize| vec![reader as u8; 10_000]);
    for reader in 0..readers {
        std::fs::write(folder.path().join(reader.to_string()), content(reader)).unwrap();
    }
    let (source, state) = moody(folder.path(), Mood::Hold);
    let options = MountOptions { threads: 1, ..MountOptions::default() };
    let _mounted = forebay_fuse::mount(tree(vec![(None, source)]), point.path(), options).unwrap();
    std::thread::scope(|scope| {
        for reader in 0..readers {
            let file = point.path().join(reader.to_string());
            scope.spawn(move || assert!(std::fs::read(file).unwrap() == content(reader)));
        }
        state.wait_for(readers);
        // All readers wait, and the only thread is free to answer this.
        assert_eq!(point.path().read_dir().unwrap().count(), readers);
        state.set(Mood::Serve);
    });
}

#[test]
fn failing_storage_is_an_error_and_passes() {
    if !mounts::possible() {
        return;
    }
    let (folder, point) = (tempfile::tempdir().unwrap(), MountPoint::new().unwrap());
    std::fs::write(folder.path().join("f"), "in the end").unwrap();
    let (source, state) = moody(folder.path(), Mood::Fail);
    let options = MountOptions::default();
    let _mounted = forebay_fuse::mount(tree(vec![(None, source)]), point.path(), options).unwrap();
    assert_eq!(errno(std::fs::read(point.path().join("f"))), Some(libc::EIO));
    state.set(Mood::Serve);
    assert_eq!(std::fs::read(point.path().join("f")).unwrap(), b"in the end");
}

#[test]
fn several_sources_are_folders_of_one_mount() {
    if !mounts::possible() {
        return;
    }
    let (hot, cold, point) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), MountPoint::new().unwrap());
    std::fs::write(hot.path().join("f"), "hot").unwrap();
    std::fs::write(cold.path().join("f"), "cold").unwrap();
    let (sources, options) = ([("hot", &hot), ("cold", &cold)], MountOptions::default());
    let sources = sources.map(|(name, folder)| (Some(name), moody(folder.path(), Mood::Serve).0));
    let _mounted = forebay_fuse::mount(tree(sources.into()), point.path(), options).unwrap();
    for name in ["hot", "cold"] {
        assert_eq!(std::fs::read(point.path().join(name).join("f")).unwrap(), name.as_bytes());
    }
    let mut names: Vec<_> = point.path().read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["cold", "hot"]);
    assert_eq!(errno(std::fs::read(point.path().join("f"))), Some(libc::ENOENT));
    assert!(rustix::fs::statvfs(point.path()).unwrap().f_blocks > 0);
}
