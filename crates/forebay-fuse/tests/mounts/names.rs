//! Names, attributes and refusals are those of the folder.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata, Permissions};
use std::os::fd::AsFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::sync::Arc;

use forebay_live::tree::STATS_XATTR;
use forebay_testkit::{mounts, tools};
use rustix::fs::{Dir, FileType, Mode, XattrFlags, getxattr, listxattr, setxattr, statvfs};
use rustix::mount::MountFlags;

use crate::folder::CROWD;
use crate::{Mirror, MountOptions, errno, forgetful, tree};

fn names(folder: &Path) -> BTreeSet<OsString> {
    let names: Vec<_> = folder.read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
    let set: BTreeSet<_> = names.iter().cloned().collect();
    assert_eq!(set.len(), names.len(), "no name twice");
    set
}

#[test]
fn a_hundred_thousand_names() {
    if !mounts::possible() {
        return;
    }
    let mirror = Mirror::new(MountOptions::default(), |source| {
        std::fs::create_dir(source.join("crowd")).unwrap();
        std::fs::write(source.join("crowd/one"), "of many").unwrap();
    });
    let expected = (0..CROWD).map(|number| OsString::from(format!("name {number}")));
    let expected: BTreeSet<_> = expected.chain(["one".into()]).collect();
    assert!(names(&mirror.here("crowd")) == expected);
    assert_eq!(std::fs::read(mirror.here(format!("crowd/name {}", CROWD - 1))).unwrap(), b"of many");
}

#[test]
fn names_that_are_not_text() {
    if !mounts::possible() {
        return;
    }
    let odd: [&[u8]; 5] = [b"\xff\xfe", b"a\nb", b" ", b"caf\xe9", &[b'x'; 255]];
    let mirror = Mirror::new(MountOptions::default(), |source| {
        for name in odd {
            std::fs::write(source.join(OsStr::from_bytes(name)), name).unwrap();
        }
    });
    assert_eq!(names(mirror.mounted.point()), odd.map(|name| OsString::from_vec(name.to_vec())).into());
    for name in odd {
        assert_eq!(std::fs::read(mirror.here(OsStr::from_bytes(name))).unwrap(), name);
    }
    assert_eq!(errno(mirror.here(OsStr::from_bytes(&[b'y'; 256])).metadata()), Some(libc::ENAMETOOLONG));
}

fn shown(of: &Metadata) -> impl PartialEq + std::fmt::Debug + use<> {
    let times = (of.mtime(), of.mtime_nsec(), of.ctime(), of.ctime_nsec());
    (of.ino(), of.mode(), of.uid(), of.gid(), of.len(), of.blocks(), of.nlink(), of.rdev(), times)
}

#[test]
fn attributes_as_they_are() {
    if !mounts::possible() {
        return;
    }
    let mirror = Mirror::new(MountOptions::default(), |source| {
        std::fs::write(source.join("file"), vec![1; 10_000]).unwrap();
        std::fs::set_permissions(source.join("file"), Permissions::from_mode(0o4751)).unwrap();
        std::os::unix::fs::chown(source.join("file"), Some(1234), Some(5678)).unwrap();
        std::fs::hard_link(source.join("file"), source.join("hard link")).unwrap();
        std::fs::create_dir(source.join("folder")).unwrap();
        std::fs::set_permissions(source.join("folder"), Permissions::from_mode(0o1770)).unwrap();
        symlink("file", source.join("link")).unwrap();
        let fifo = source.join("fifo");
        rustix::fs::mknodat(rustix::fs::CWD, fifo, FileType::Fifo, Mode::RUSR, 0).unwrap();
        let before_the_epoch = std::time::UNIX_EPOCH - std::time::Duration::from_millis(1500);
        File::create(source.join("old")).unwrap().set_modified(before_the_epoch).unwrap();
    });
    for name in ["file", "hard link", "folder", "link", "fifo", "old", ""] {
        let (here, there) =
            (mirror.here(name).symlink_metadata().unwrap(), mirror.there(name).symlink_metadata().unwrap());
        assert_eq!(shown(&here), shown(&there), "{name:?}");
    }
    let kinds = |folder: &Path| -> BTreeSet<_> {
        let kind = |entry: std::io::Result<std::fs::DirEntry>| {
            let entry = entry.unwrap();
            let kind = entry.file_type().unwrap();
            (entry.file_name(), kind.is_file(), kind.is_dir(), kind.is_symlink(), kind.is_fifo())
        };
        folder.read_dir().unwrap().map(kind).collect()
    };
    assert_eq!(kinds(mirror.mounted.point()), kinds(mirror.source.path()));
}

#[test]
fn symbolic_links() {
    if !mounts::possible() {
        return;
    }
    let mirror = Mirror::new(MountOptions::default(), |source| {
        std::fs::create_dir(source.join("folder")).unwrap();
        std::fs::write(source.join("folder/file"), "at the end").unwrap();
        symlink("folder/file", source.join("straight")).unwrap();
        symlink("../straight", source.join("folder/back")).unwrap();
        symlink("nowhere", source.join("dangling")).unwrap();
        symlink(OsStr::from_bytes(&[b'x'; 4000]), source.join("long")).unwrap();
    });
    for name in ["straight", "folder/back", "dangling", "long"] {
        assert_eq!(mirror.here(name).read_link().unwrap(), mirror.there(name).read_link().unwrap());
    }
    assert_eq!(std::fs::read(mirror.here("folder/back")).unwrap(), b"at the end");
    assert_eq!(errno(std::fs::read(mirror.here("dangling"))), Some(libc::ENOENT));
    assert_eq!(errno(mirror.here("folder/file").read_link()), Some(libc::EINVAL));
}

#[test]
fn what_is_not_there_and_what_cannot_be_written() {
    if !mounts::possible() {
        return;
    }
    let mirror = Mirror::new(MountOptions::default(), |source| std::fs::write(source.join("f"), "x").unwrap());
    assert_eq!(errno(mirror.here("missing").metadata()), Some(libc::ENOENT));
    assert_eq!(errno(mirror.here("f/inside").metadata()), Some(libc::ENOTDIR));
    let f = mirror.here("f");
    let refused = [
        errno(File::create(mirror.here("new"))),
        errno(File::options().write(true).open(&f)),
        errno(File::options().read(true).append(true).open(&f)),
        errno(std::fs::create_dir(mirror.here("folder"))),
        errno(std::fs::remove_file(&f)),
        errno(std::fs::rename(&f, mirror.here("g"))),
        errno(std::fs::set_permissions(&f, Permissions::from_mode(0o777))),
        errno(symlink("f", mirror.here("link"))),
        errno(setxattr(&f, c"user.x", b"y", XattrFlags::empty()).map_err(Into::into)),
    ];
    assert_eq!(refused, [Some(libc::EROFS); 9]);
    assert_eq!(std::fs::read(mirror.there("f")).unwrap(), b"x");
}

#[test]
fn names_come_and_go() {
    if !mounts::possible() {
        return;
    }
    let mirror = Mirror::new(forgetful(), |source| std::fs::write(source.join("f"), "one").unwrap());
    assert_eq!(errno(mirror.here("g").metadata()), Some(libc::ENOENT));
    std::fs::write(mirror.there("g"), "later").unwrap();
    assert_eq!(std::fs::read(mirror.here("g")).unwrap(), b"later");

    let file = File::open(mirror.here("f")).unwrap();
    let before = file.metadata().unwrap().ino();
    std::fs::write(mirror.there("f"), "another").unwrap();
    assert_eq!(errno(file.metadata()), Some(libc::ESTALE), "what is open is the old version");
    let after = mirror.here("f").metadata().unwrap();
    assert_eq!(after.len(), 7);
    assert_eq!(after.ino(), before, "the folder says that it is the same file");
    std::fs::remove_file(mirror.there("f")).unwrap();
    assert_eq!(errno(mirror.here("f").metadata()), Some(libc::ENOENT));
    assert_eq!(errno(file.metadata()), Some(libc::ENOENT));

    std::fs::create_dir(mirror.there("f")).unwrap();
    assert!(mirror.here("f").metadata().unwrap().is_dir(), "a name may become something else");
}

#[test]
fn absence_is_remembered_as_long_as_is_said() {
    if !mounts::possible() {
        return;
    }
    let hour = std::time::Duration::from_secs(3600);
    let options = MountOptions { negative_ttl: hour, ..MountOptions::default() };
    let mirror = Mirror::new(options, |_| ());
    assert_eq!(errno(mirror.here("g").metadata()), Some(libc::ENOENT));
    std::fs::write(mirror.there("g"), "later").unwrap();
    assert_eq!(errno(mirror.here("g").metadata()), Some(libc::ENOENT), "the kernel did not ask again");
    assert_eq!(names(mirror.mounted.point()), BTreeSet::from(["g".into()]), "listing is not affected");
}

#[test]
fn a_listing_stays_while_the_folder_changes_and_rewinding_renews_it() {
    if !mounts::possible() {
        return;
    }
    let old: BTreeSet<Vec<u8>> = (0..5000).map(|number| format!("{number:050}").into_bytes()).collect();
    let path = |folder: &Path, name: &[u8]| folder.join(OsStr::from_bytes(name));
    let mirror = Mirror::new(MountOptions::default(), |source| {
        old.iter().for_each(|name| drop(File::create(path(source, name)).unwrap()));
    });
    let mut open = Dir::read_from(File::open(mirror.mounted.point()).unwrap().as_fd()).unwrap();
    let name = |entry: rustix::io::Result<rustix::fs::DirEntry>| entry.unwrap().file_name().to_bytes().to_vec();
    let mut seen: Vec<Vec<u8>> = open.by_ref().take(100).map(name).collect();
    for gone in old.iter().take(2500) {
        std::fs::remove_file(path(mirror.source.path(), gone)).unwrap();
    }
    File::create(mirror.there("new")).unwrap();
    seen.extend(open.by_ref().map(name));
    let dots = [b".".to_vec(), b"..".to_vec()];
    let all: BTreeSet<_> = old.iter().cloned().chain(dots.clone()).collect();
    let left: BTreeSet<_> = old.iter().skip(2500).cloned().chain(dots.clone()).collect();
    let names: BTreeSet<_> = seen.iter().cloned().collect();
    assert_eq!(seen.len(), names.len(), "no name twice");
    assert!(names.is_subset(&all) && names.is_superset(&left), "none that came later, and none left out that is there");

    open.rewind();
    let expected: BTreeSet<_> = old.iter().skip(2500).cloned().chain(dots).chain([b"new".to_vec()]).collect();
    assert!(open.map(name).collect::<BTreeSet<_>>() == expected, "from the start, the folder as it is");
}

#[test]
fn a_name_that_cannot_be_looked_up_is_listed_all_the_same() {
    if !mounts::possible() {
        return;
    }
    let mirror = Mirror::new(MountOptions::default(), |source| {
        for name in ["a", "broken", "c"] {
            std::fs::write(source.join(name), name).unwrap();
        }
    });
    assert_eq!(names(mirror.mounted.point()), BTreeSet::from(["a", "broken", "c"].map(OsString::from)));
    assert_eq!(errno(mirror.here("broken").metadata()), Some(libc::EIO));
    assert_eq!(std::fs::read(mirror.here("c")).unwrap(), b"c");
}

#[test]
fn extended_attributes() {
    if !mounts::possible() {
        return;
    }
    let value: Vec<u8> = (0..=255).collect();
    let mut supported = true;
    let mirror = Mirror::new(MountOptions::default(), |source| {
        std::fs::write(source.join("f"), "").unwrap();
        std::fs::write(source.join("bare"), "").unwrap();
        supported = setxattr(source.join("f"), c"user.odd", &value, XattrFlags::empty()).is_ok();
    });
    let mut buffer = [0; 1000];
    let root = mirror.mounted.point();
    let stats = getxattr(root, STATS_XATTR, &mut buffer).unwrap();
    assert_eq!((buffer[0], buffer[stats - 1]), (b'{', b'}'), "the counters are one JSON object");
    let listed = listxattr(root, &mut buffer).unwrap();
    assert!(!buffer[..listed].windows(STATS_XATTR.len()).any(|window| window == STATS_XATTR.as_bytes()));
    if !supported {
        return tools::skip("a temporary folder with extended attributes");
    }
    let f = mirror.here("f");
    assert_eq!(getxattr(&f, c"user.odd", &mut buffer).unwrap(), 256);
    assert_eq!(&buffer[..256], value);
    assert_eq!(rustix::fs::getxattr_query(&f, c"user.odd").unwrap(), 256);
    assert_eq!(getxattr(&f, c"user.odd", &mut [0; 10]), Err(rustix::io::Errno::RANGE));
    assert_eq!(getxattr(&f, c"user.none", &mut buffer), Err(rustix::io::Errno::NODATA));
    let listed = listxattr(&f, &mut buffer).unwrap();
    assert_eq!(&buffer[..listed], b"user.odd\0");
    assert_eq!(listxattr(mirror.here("bare"), &mut buffer), Ok(0));
}

#[test]
fn free_space() {
    if !mounts::possible() {
        return;
    }
    let mirror = Mirror::new(MountOptions::default(), |_| ());
    let (here, there) = (statvfs(mirror.mounted.point()).unwrap(), statvfs(mirror.source.path()).unwrap());
    assert_eq!(here.f_blocks * here.f_frsize, there.f_blocks * there.f_frsize / 4096 * 4096);
    assert_eq!(here.f_files, there.f_files);
    assert_eq!(here.f_namemax, 255);
}

#[test]
fn what_the_kernel_forgets_is_forgotten() {
    if !mounts::possible() {
        return;
    }
    let (source, point) = (tempfile::tempdir().unwrap(), mounts::MountPoint::new().unwrap());
    for number in 0..500 {
        std::fs::write(source.path().join(number.to_string()), "x").unwrap();
        std::fs::write(source.path().join(format!("broken {number}")), "x").unwrap();
    }
    let tree = tree(source.path());
    let mounted = forebay_fuse::mount(Arc::clone(&tree), point.path(), MountOptions::default()).unwrap();
    // Listings with attributes give out references by the hundred, and take back those that did not
    // fit.
    for _ in 0..3 {
        for entry in mounted.point().read_dir().unwrap() {
            let _ = entry.unwrap().metadata();
        }
        assert_eq!(errno(mounted.point().join("missing").metadata()), Some(libc::ENOENT));
    }
    assert!(tree.nodes_held() >= 500);
    // A remount as it is makes the kernel drop unused names.
    let flags = MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOATIME;
    if rustix::mount::mount_remount(mounted.point(), flags, "").is_err() {
        return tools::skip("the right to remount");
    }
    // The kernel sends its notices some time later.
    for _ in 0..1000 {
        if tree.nodes_held() == 0 {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("{} nodes are still held", tree.nodes_held());
}
