//! Files that are alike in all but their bytes: two file systems under one folder, hard links, and
//! their `stat`.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use forebay_core::{DeviceCost, DeviceId};
use forebay_fuse::{MountOptions, Mounted};
use forebay_live::engine::{Config, Engine, Referenced};
use forebay_live::tree::{Branch, Tree};
use forebay_source::local::LocalSource;
use forebay_testkit::loop_disk::{self, Ext4, LoopDevice};
use forebay_testkit::mounts::{self, MountPoint};
use forebay_testkit::trees::content;
use forebay_testkit::{need, tools};

use crate::{errno, forgetful};

const SIZE: usize = 100_000;

/// A mount of a folder as the command makes it.
fn mount(folder: &Path, point: &Path, referenced: Referenced, options: MountOptions) -> Mounted {
    let config = Config { referenced, ..Config::new(32 << 20, "competitive".parse().unwrap()) };
    let engine = Engine::start(config, vec![DeviceCost::flat(100_000, 1 << 30, 8)]).unwrap();
    let branch = Branch { name: None, source: Arc::new(LocalSource::new(folder).unwrap()), device: DeviceId(0) };
    let tree = Arc::new(Tree::new(engine, vec![branch]).unwrap());
    forebay_fuse::mount(tree, point, options).unwrap()
}

/// Sets times that only `debugfs` can set, on a file system that is not mounted.
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

/// Symbolic links that are one inode each lead on from their own place.
#[test]
fn linked_symbolic_links_lead_from_where_they_are() {
    if !mounts::possible() {
        return;
    }
    let (folder, point) = (tempfile::tempdir().unwrap(), MountPoint::new().unwrap());
    let (root, there) = (folder.path().join("root"), |name: &str| folder.path().join("root").join(name));
    fs::create_dir_all(there("d/e")).unwrap();
    fs::write(there("x"), "right").unwrap();
    fs::write(there("d/e/x"), "other").unwrap();
    fs::write(folder.path().join("x"), "outside").unwrap();
    symlink(there("x"), there("l")).unwrap();
    fs::hard_link(there("l"), there("d/e/l")).unwrap();
    symlink("../x", there("d/r")).unwrap();
    fs::hard_link(there("d/r"), there("r")).unwrap();
    for order in [["l", "d/e/l", "d/r", "r"], ["r", "d/r", "d/e/l", "l"]] {
        let mounted = mount(&root, point.path(), Referenced::Kept, MountOptions::default());
        for name in order {
            let got = fs::read(mounted.point().join(name));
            match name {
                "r" => assert_eq!(errno(got), Some(libc::EACCES), "it leads out"),
                _ => assert_eq!(got.unwrap(), b"right", "{name}"),
            }
        }
    }
}

/// A folder that another one replaced is stale, not the other one.
#[test]
fn an_open_folder_is_not_the_one_that_replaced_it() {
    if !mounts::possible() {
        return;
    }
    let (folder, point) = (tempfile::tempdir().unwrap(), MountPoint::new().unwrap());
    let there = |name: &str| folder.path().join(name);
    for name in ["d", "new"] {
        fs::create_dir(there(name)).unwrap();
        fs::write(there(name).join("f"), name).unwrap();
        fs::write(there(name).join(name), name).unwrap();
    }
    let mounted = mount(folder.path(), point.path(), Referenced::Kept, forgetful());
    let open = fs::File::open(mounted.point().join("d")).unwrap();
    fs::rename(there("d"), there("old")).unwrap();
    fs::rename(there("new"), there("d")).unwrap();
    for name in ["f", "new", "d"] {
        let found = rustix::fs::statat(&open, name, rustix::fs::AtFlags::empty());
        assert_eq!(found.unwrap_err(), rustix::io::Errno::STALE, "{name}");
    }
    let listed = rustix::fs::Dir::new(open).unwrap().find_map(Result::err);
    assert_eq!(listed, Some(rustix::io::Errno::STALE));
    assert_eq!(fs::read(mounted.point().join("d/f")).unwrap(), b"new", "by name it is the new one");
}

/// A question about an open file is answered for that file, or with ESTALE.
#[test]
fn attributes_are_not_those_of_the_file_that_took_the_name() {
    if !mounts::possible() {
        return;
    }
    let (folder, point) = (tempfile::tempdir().unwrap(), MountPoint::new().unwrap());
    let there = |name: &str| folder.path().join(name);
    let set =
        |name: &str| rustix::fs::setxattr(there(name), c"user.who", name.as_bytes(), rustix::fs::XattrFlags::empty());
    for name in ["one", "other", "first"] {
        fs::write(there(name), name).unwrap();
        if set(name).is_err() {
            return tools::skip("a temporary folder with extended attributes");
        }
    }
    fs::hard_link(there("first"), there("second")).unwrap();
    let mounted = mount(folder.path(), point.path(), Referenced::Kept, forgetful());
    let here = |name: &str| mounted.point().join(name);
    let who = |file: &fs::File| {
        let mut value = [0; 10];
        rustix::fs::fgetxattr(file, c"user.who", &mut value).map(|len| value[..len].to_vec())
    };
    let open = fs::File::open(here("one")).unwrap();
    assert_eq!(who(&open).unwrap(), b"one");
    fs::rename(there("other"), there("one")).unwrap();
    assert_eq!(who(&open), Err(rustix::io::Errno::STALE));
    assert_eq!(who(&fs::File::open(here("one")).unwrap()).unwrap(), b"other");

    // One of two names is out of reach, and the other is not.
    let link = [fs::File::open(here("first")).unwrap(), fs::File::open(here("second")).unwrap()];
    assert_eq!(who(&link[1]).unwrap(), b"first");
    fs::create_dir(there("apart")).unwrap();
    fs::rename(there("first"), there("apart/first")).unwrap();
    symlink("second", there("first")).unwrap();
    for name in ["second", "apart/first"] {
        assert_eq!(fs::read(here(name)).unwrap(), b"first", "{name}");
        assert_eq!(who(&fs::File::open(here(name)).unwrap()).unwrap(), b"first", "{name}");
    }
}

/// The next file system at the place of another may have its device number, inodes and times.
#[test]
fn a_file_system_that_follows_another_is_another() {
    if !mounts::possible() || !loop_disk::possible() {
        return;
    }
    need!("debugfs");
    let (images, folder) = (loop_disk::image_folder("forebay-identity-").unwrap(), tempfile::tempdir().unwrap());
    fs::create_dir(folder.path().join("below")).unwrap();
    for linked in [false, true] {
        let point = MountPoint::new().unwrap();
        let mounted = mount(folder.path(), point.path(), Referenced::HandedOn, forgetful());
        for seed in 1..4 {
            let image = images.path().join(format!("{linked}-{seed}.img"));
            let below = Below::new(&image, |root| {
                fs::write(root.join("data"), content(seed, SIZE)).unwrap();
                if linked {
                    fs::hard_link(root.join("data"), root.join("again")).unwrap();
                }
            });
            let place = folder.path().join("below");
            rustix::mount::mount_bind(&below.point, &place).unwrap();
            let got = fs::read(mounted.point().join("below/data"));
            mounts::lazy_unmount(&place);
            assert!(got.unwrap() == content(seed, SIZE), "file system {seed}, linked: {linked}");
        }
    }
}

/// Even if names may be remembered for long, a folder that is listed by its name is the one that
/// has it.
#[test]
fn a_replaced_folder_can_be_listed_at_once() {
    if !mounts::possible() {
        return;
    }
    let (folder, point) = (tempfile::tempdir().unwrap(), MountPoint::new().unwrap());
    let there = |name: &str| folder.path().join(name);
    fs::create_dir(there("d")).unwrap();
    fs::write(there("d/old"), "").unwrap();
    let hour = Duration::from_secs(3600);
    let options = MountOptions { ttl: hour, ..MountOptions::default() };
    let mounted = mount(folder.path(), point.path(), Referenced::Kept, options);
    let names = || {
        let entries = fs::read_dir(mounted.point().join("d")).unwrap();
        entries.map(|entry| entry.unwrap().file_name()).collect::<Vec<_>>()
    };
    assert_eq!(names(), ["old"]);
    fs::rename(there("d"), there("before")).unwrap();
    fs::create_dir(there("d")).unwrap();
    fs::write(there("d/new"), "").unwrap();
    assert_eq!(names(), ["new"]);
}

/// A name whose open failed, because the file is gone, is gone for every program.
#[test]
fn a_name_that_is_gone_when_it_is_opened_is_forgotten() {
    if !mounts::possible() {
        return;
    }
    let (folder, point) = (tempfile::tempdir().unwrap(), MountPoint::new().unwrap());
    fs::write(folder.path().join("f"), "x").unwrap();
    let options = MountOptions { ttl: Duration::from_secs(3600), ..MountOptions::default() };
    let mounted = mount(folder.path(), point.path(), Referenced::Kept, options);
    let here = mounted.point().join("f");
    assert!(here.exists());
    fs::remove_file(folder.path().join("f")).unwrap();
    assert_eq!(errno(fs::File::open(&here)), Some(libc::ENOENT));
    assert!(!here.exists());
}
