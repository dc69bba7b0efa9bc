//! Files that are alike in all but their bytes: two file systems under one folder, hard links, and
//! what `stat` says of them.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use forebay_core::{DeviceCost, DeviceId};
use forebay_fuse::{MountOptions, Mounted};
use forebay_live::engine::{Config, Engine, Referenced};
use forebay_live::source::local::LocalSource;
use forebay_live::tree::{Branch, Tree};
use forebay_testkit::loop_disk::{self, Ext4, LoopDevice};
use forebay_testkit::mounts::{self, MountPoint};
use forebay_testkit::trees::content;
use forebay_testkit::{need, tools};

use crate::forgetful;

const SIZE: usize = 100_000;

/// A mount of a folder as the command makes it.
fn mount(folder: &Path, point: &Path, referenced: Referenced, options: MountOptions) -> Mounted {
    let config = Config { referenced, ..Config::new(32 << 20, "competitive".parse().unwrap()) };
    let engine = Engine::start(config, vec![DeviceCost::flat(100_000, 1 << 30, 8)]).unwrap();
    let branch = Branch { name: None, source: Arc::new(LocalSource::new(folder).unwrap()), device: DeviceId(0) };
    let tree = Arc::new(Tree::new(engine, vec![branch]).unwrap());
    forebay_fuse::mount(tree, point, options).unwrap()
}

/// Sets what `debugfs` alone can set, of a file system that is not mounted.
fn set_times(image: &Path, file: &str) {
    for (field, value) in
        [("ctime", "@1700000000"), ("mtime", "@1700000000"), ("ctime_extra", "0"), ("mtime_extra", "0")]
    {
        let request = format!("set_inode_field {file} {field} {value}");
        let debugfs = tools::find("debugfs").expect("the caller looked");
        let said = Command::new(debugfs).args(["-w", "-R", &request]).arg(image).output().unwrap();
        assert!(said.status.success(), "{request}: {}", String::from_utf8_lossy(&said.stderr));
    }
}

/// An ext4 file system in an image, mounted below a folder; made the same way, two of them have
/// equal inode numbers.
struct Below {
    point: PathBuf,
    _mounted: Ext4,
    _device: LoopDevice,
}

impl Below {
    fn new(image: &Path, fill: impl FnOnce(&Path)) -> Below {
        loop_disk::make_image(image, 16 << 20, |root| {
            fill(root);
            Ok(())
        })
        .unwrap();
        set_times(image, "data");
        let device = LoopDevice::attach(image, false).unwrap();
        let mounted = Ext4::mount(device.path(), true).unwrap();
        Below { point: mounted.path().to_owned(), _mounted: mounted, _device: device }
    }
}

/// Shows a file system at one more place, until it is dropped.
struct Bind(PathBuf);

impl Bind {
    fn new(from: &Path, to: PathBuf) -> Bind {
        fs::create_dir(&to).unwrap();
        rustix::mount::mount_bind(from, &to).unwrap();
        Bind(to)
    }
}

impl Drop for Bind {
    fn drop(&mut self) {
        mounts::lazy_unmount(&self.0);
    }
}

#[test]
fn two_file_systems_under_one_folder() {
    if !mounts::possible() || !loop_disk::possible() {
        return;
    }
    need!("debugfs");
    let images = loop_disk::image_folder("forebay-identity-").unwrap();
    let bytes = |seed| content(seed, SIZE);
    let below: Vec<Below> = (1..3)
        .map(|seed| {
            let image = images.path().join(format!("{seed}.img"));
            Below::new(&image, |root| fs::write(root.join("data"), bytes(seed)).unwrap())
        })
        .collect();
    let folder = tempfile::tempdir().unwrap();
    let binds = ["a", "b"].iter().zip(&below).map(|(name, fs)| Bind::new(&fs.point, folder.path().join(name)));
    let _binds: Vec<Bind> = binds.collect();
    let stats = ["a/data", "b/data"].map(|name| fs::metadata(folder.path().join(name)).unwrap());
    let alike = |of: &fs::Metadata| (of.ino(), of.len(), of.mtime(), of.mtime_nsec(), of.ctime(), of.ctime_nsec());
    assert_eq!(alike(&stats[0]), alike(&stats[1]), "this is what the test is about");
    assert_ne!(stats[0].dev(), stats[1].dev());

    for referenced in [Referenced::Kept, Referenced::HandedOn] {
        let point = MountPoint::new().unwrap();
        let mounted = mount(folder.path(), point.path(), referenced, MountOptions::default());
        for _ in 0..2 {
            for (name, seed) in [("a", 1), ("b", 2)] {
                let path = mounted.point().join(name).join("data");
                assert!(fs::read(path).unwrap() == bytes(seed), "{name}, {referenced:?}");
            }
        }
        let numbers = ["a/data", "b/data"].map(|name| fs::metadata(mounted.point().join(name)).unwrap().ino());
        assert_ne!(numbers[0], numbers[1]);
    }
}

/// The numbers that programs keep: in the mount, in the next one, and once the kernel has forgotten
/// them.
#[test]
fn numbers_are_the_folders() {
    if !mounts::possible() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let there = |name: &str| folder.path().join(name);
    fs::create_dir(there("folder")).unwrap();
    fs::write(there("folder/file"), "x").unwrap();
    fs::hard_link(there("folder/file"), there("again")).unwrap();
    symlink("folder/file", there("link")).unwrap();
    let names = ["", "folder", "folder/file", "again", "link"];
    for options in [MountOptions::default(), forgetful(), forgetful()] {
        let point = MountPoint::new().unwrap();
        let mounted = mount(folder.path(), point.path(), Referenced::Kept, options);
        for round in 0..2 {
            for name in names {
                let (here, there) = (mounted.point().join(name), there(name));
                let number = |path: &Path| fs::symlink_metadata(path).unwrap().ino();
                assert_eq!(number(&here), number(&there), "{name}, look {round}");
            }
            let listed = |folder: &Path| {
                let entries = folder.read_dir().unwrap().map(|entry| entry.unwrap());
                let mut listed: Vec<_> = entries.map(|entry| (entry.file_name(), ino(&entry))).collect();
                listed.sort();
                listed
            };
            assert_eq!(listed(mounted.point()), listed(folder.path()));
            fs::write("/proc/sys/vm/drop_caches", "2").unwrap_or_default();
        }
    }
}

fn ino(entry: &fs::DirEntry) -> u64 {
    std::os::unix::fs::DirEntryExt::ino(entry)
}

/// The old version of a file is held, so the new one has another node; `stat` shows the file's own
/// number all the same.
#[test]
fn a_changed_file_keeps_its_number() {
    if !mounts::possible() {
        return;
    }
    let (folder, point) = (tempfile::tempdir().unwrap(), MountPoint::new().unwrap());
    let there = folder.path().join("file");
    let options = MountOptions { ttl: Duration::ZERO, ..MountOptions::default() };
    for referenced in [Referenced::Kept, Referenced::HandedOn] {
        let mounted = mount(folder.path(), point.path(), referenced, options.clone());
        let here = mounted.point().join("file");
        let mut held = Vec::new();
        for version in 0..4u8 {
            fs::write(&there, vec![version; SIZE]).unwrap();
            held.push(fs::File::open(&here).unwrap());
            let (here, there) = (fs::metadata(&here).unwrap(), fs::metadata(&there).unwrap());
            assert_eq!(here.ino(), there.ino(), "version {version}");
            assert!(fs::read(mounted.point().join("file")).unwrap() == vec![version; SIZE]);
        }
        drop(held);
    }
}

/// A hard link is there though the name under which the kernel found the file first is gone.
#[test]
fn one_hard_link_goes_and_the_other_stays() {
    if !mounts::possible() {
        return;
    }
    let (folder, point) = (tempfile::tempdir().unwrap(), MountPoint::new().unwrap());
    let there = |name: &str| folder.path().join(name);
    fs::write(there("one"), vec![1; SIZE]).unwrap();
    fs::hard_link(there("one"), there("other")).unwrap();
    let mounted = mount(folder.path(), point.path(), Referenced::Kept, forgetful());
    let here = |name: &str| mounted.point().join(name);
    for name in ["one", "other"] {
        assert_eq!(fs::metadata(here(name)).unwrap().nlink(), 2);
    }
    fs::remove_file(there("one")).unwrap();
    assert_eq!(fs::metadata(here("one")).unwrap_err().kind(), std::io::ErrorKind::NotFound);
    assert!(fs::read(here("other")).unwrap() == vec![1; SIZE]);
    assert_eq!(fs::metadata(here("other")).unwrap().nlink(), 1);
}
