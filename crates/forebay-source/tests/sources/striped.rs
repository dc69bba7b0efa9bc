//! Sets of folders against a tree that was dealt out naively.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use forebay_source::faulty::{FaultPlan, FaultySource};
use forebay_source::local::LocalSource;
use forebay_source::object::StoreOptions;
use forebay_source::striped::{DealError, Dealt, StripedSource, deal};
use forebay_source::uri::open_source;
use forebay_source::{Entry, Error, Kind, Source};
use forebay_testkit::trees::content;
use proptest::prelude::*;
use tempfile::TempDir;

use crate::{fetch, read_all};

/// Folders of members, and their paths.
fn folders(members: usize) -> (TempDir, Vec<PathBuf>) {
    let at = tempfile::tempdir().unwrap();
    let paths: Vec<PathBuf> = (0..members).map(|member| at.path().join(format!("d{member}"))).collect();
    paths.iter().for_each(|path| fs::create_dir(path).unwrap());
    (at, paths)
}

/// Writes a file into the members, chunk after chunk.
fn deal_naively(members: &[PathBuf], unit: usize, name: &str, bytes: &[u8]) {
    let mut parts = vec![Vec::new(); members.len()];
    for (number, chunk) in bytes.chunks(unit).enumerate() {
        parts[number % members.len()].extend_from_slice(chunk);
    }
    for (member, part) in members.iter().zip(parts) {
        fs::write(member.join(name), part).unwrap();
    }
}

fn local(path: &Path) -> Arc<dyn Source> {
    Arc::new(LocalSource::new(path).unwrap())
}

fn set(unit: u64, members: &[PathBuf]) -> StripedSource {
    StripedSource::new(unit, members.iter().map(|path| local(path)).collect()).unwrap()
}

fn reason<T>(outcome: Result<T, Error>) -> String {
    match outcome {
        Err(error @ Error::Storage { .. }) => error.to_string(),
        Err(error) => panic!("{error:?}"),
        Ok(_) => panic!("it fits"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn any_range_of_any_file_in_any_set(
        members in 1usize..7, blocks in 1u64..4, sizes in prop::collection::vec(0usize..70_000, 1..4),
        reads in prop::collection::vec((0.0f64..1.0, 1usize..60_000), 1..12),
    ) {
        let unit = blocks * 4096;
        let (_at, paths) = folders(members);
        let files: Vec<(String, Vec<u8>)> =
            sizes.iter().enumerate().map(|(file, &size)| (format!("f{file}"), content(file as u64, size))).collect();
        files.iter().for_each(|(name, bytes)| deal_naively(&paths, unit as usize, name, bytes));
        let set = set(unit, &paths);
        prop_assert_eq!(set.list(Path::new("")).unwrap().len(), files.len());
        for (name, bytes) in &files {
            let (attributes, object) = (set.stat(Path::new(name)).unwrap(), set.open(Path::new(name)).unwrap());
            prop_assert_eq!((attributes.kind, attributes.size), (Kind::File, bytes.len() as u64));
            prop_assert_eq!(&attributes.identity, object.identity());
            let stripes = object.stripes().unwrap();
            prop_assert_eq!((stripes.unit(), usize::from(stripes.members())), (unit, members));
            prop_assert!(read_all(&set, Path::new(name)).unwrap() == *bytes);
            for &(place, len) in &reads {
                let from = (bytes.len() as f64 * place) as usize / 4096 * 4096;
                let to = (from + len).min(bytes.len());
                if from < to {
                    prop_assert!(fetch(&*object, from as u64, to - from).unwrap() == bytes[from..to]);
                }
            }
        }
        // The set that we deal out ourselves is the same, part by part.
        let (whole, (_also, others)) = (tempfile::tempdir().unwrap(), folders(members));
        files.iter().for_each(|(name, bytes)| fs::write(whole.path().join(name), bytes).unwrap());
        let dealt = deal(&*local(whole.path()), unit, &others, &|_, _| false).unwrap();
        let bytes = files.iter().map(|(_, bytes)| bytes.len() as u64).sum();
        prop_assert_eq!(dealt, Dealt { files: files.len() as u64, bytes, ..Dealt::default() });
        for (path, other) in paths.iter().zip(&others) {
            for (name, _) in &files {
                prop_assert!(fs::read(path.join(name)).unwrap() == fs::read(other.join(name)).unwrap(), "{}", name);
            }
        }
    }
}

/// A tree with a bit of everything.
fn tree(root: &Path) {
    fs::create_dir_all(root.join("a/empty")).unwrap();
    fs::write(root.join("a/large"), content(1, 9_000_001)).unwrap();
    fs::write(root.join("a/none"), "").unwrap();
    fs::write(root.join("small"), "hello").unwrap();
    symlink("a/large", root.join("link")).unwrap();
    symlink("nowhere", root.join("a/dangling")).unwrap();
    fs::set_permissions(root.join("small"), fs::Permissions::from_mode(0o440)).unwrap();
    fs::set_permissions(root.join("a"), fs::Permissions::from_mode(0o555)).unwrap();
    let old = SystemTime::UNIX_EPOCH + Duration::new(1_000_000_000, 123_456_789);
    for name in ["a/none", "small", "a"] {
        fs::File::open(root.join(name)).unwrap().set_modified(old).unwrap();
    }
    // Where the file system has such attributes.
    let _ = rustix::fs::setxattr(root.join("a/large"), "user.colour", b"blue", rustix::fs::XattrFlags::empty());
}

#[test]
fn a_tree_is_the_same_as_a_set() {
    let whole = tempfile::tempdir().unwrap();
    tree(whole.path());
    let (at, paths) = folders(2);
    let paths: Vec<PathBuf> = paths.into_iter().chain([at.path().join("new")]).collect();
    let source = local(whole.path());
    let seen = std::sync::Mutex::new(Vec::new());
    let dealt = deal(&*source, 65_536, &paths, &|done, all| {
        seen.lock().unwrap().push((done, all));
        false
    });
    assert_eq!(dealt.unwrap(), Dealt { files: 3, folders: 2, links: 2, bytes: 9_000_006 });
    let seen = seen.into_inner().unwrap();
    assert!(seen.is_sorted() && seen.iter().all(|&(_, all)| all == 9_000_006));
    assert!(seen.len() > 5 && seen.last() == Some(&(9_000_006, 9_000_006)));

    let argument =
        format!("set=stripe:64KiB:{}", paths.iter().map(|path| path.to_str().unwrap()).collect::<Vec<_>>().join(","));
    let (name, set) = open_source(argument.as_ref(), &StoreOptions::default()).unwrap();
    assert_eq!((name.as_deref(), format!("set={}", set.describe())), (Some("set"), argument));
    assert_eq!(set.members().len(), 3);
    let mut folders = vec![PathBuf::new()];
    let mut names = 0;
    while let Some(folder) = folders.pop() {
        let mut expected = source.list(&folder).unwrap();
        expected.sort_by(|a, b| a.name.cmp(&b.name));
        let shown =
            |entries: &[Entry]| entries.iter().map(|entry| (entry.name.clone(), entry.kind)).collect::<Vec<_>>();
        assert_eq!(shown(&set.list(&folder).unwrap()), shown(&expected));
        for entry in expected {
            names += 1;
            let path = folder.join(&entry.name);
            let (one, other) = (source.stat(&path).unwrap(), set.stat(&path).unwrap());
            assert_eq!(
                (one.kind, one.mode, one.uid, one.gid),
                (other.kind, other.mode, other.uid, other.gid),
                "{path:?}"
            );
            assert_eq!(one.modified, other.modified, "{path:?}");
            assert_eq!(source.xattrs(&path).unwrap(), set.xattrs(&path).unwrap(), "{path:?}");
            match entry.kind {
                Kind::File => {
                    assert_eq!(one.size, other.size);
                    assert!(read_all(&*source, &path).unwrap() == read_all(&*set, &path).unwrap(), "{path:?}");
                }
                Kind::Folder => folders.push(path),
                _ => assert_eq!(source.read_link(&path).unwrap(), set.read_link(&path).unwrap()),
            }
        }
    }
    assert_eq!(names, 7);
    let colour = source.xattr(Path::new("a/large"), "user.colour".as_ref()).ok();
    assert_eq!(set.xattr(Path::new("a/large"), "user.colour".as_ref()).ok(), colour);
    // The space of the set: one member's, times the members.
    let (one, all) = (local(&paths[0]).space().unwrap(), set.space().unwrap());
    assert_eq!((all.bytes, all.names), (one.bytes * 3, one.names));
    // So that root's permissions don't leave the folder behind.
    for path in paths.iter().chain([&whole.path().to_owned()]) {
        fs::set_permissions(path.join("a"), fs::Permissions::from_mode(0o755)).unwrap();
    }
}

#[test]
fn what_does_not_fit_names_the_member() {
    let (_at, paths) = folders(3);
    for name in ["good", "missing", "short", "long", "kind", "gone"] {
        deal_naively(&paths, 4096, name, &content(3, 50_000));
    }
    let name = |member: usize| paths[member].display().to_string();
    fs::remove_file(paths[1].join("missing")).unwrap();
    fs::write(paths[2].join("short"), "x").unwrap();
    fs::write(paths[0].join("long"), content(3, 90_000)).unwrap();
    fs::remove_file(paths[2].join("kind")).unwrap();
    fs::create_dir(paths[2].join("kind")).unwrap();
    paths.iter().for_each(|path| fs::remove_file(path.join("gone")).unwrap());
    fs::create_dir(paths[0].join("folder")).unwrap();
    paths.iter().zip(["good", "good", "short"]).for_each(|(path, to)| symlink(to, path.join("link")).unwrap());

    let set = set(4096, &paths);
    let names: Vec<_> = set.list(Path::new("")).unwrap().into_iter().map(|entry| entry.name).collect();
    assert_eq!(names, ["folder", "good", "kind", "link", "long", "missing", "short"]);
    assert!(read_all(&set, Path::new("good")).unwrap() == content(3, 50_000));
    let refused = |path: &str, member: usize, what: &str| {
        for error in [reason(set.stat(Path::new(path))), reason(set.open(Path::new(path)))] {
            assert!(error.starts_with(path) && error.contains(&format!(" in {},", name(member))), "{error}");
            assert!(error.contains(what) && !error.contains('\n'), "{error}");
        }
    };
    refused("missing", 1, "is missing");
    refused("short", 2, "has 1 bytes where 16384 fit");
    refused("long", 0, "has 90000 bytes where");
    let error = reason(set.stat(Path::new("kind")));
    assert!(error.contains("is a folder and not, as in") && error.contains("a file"), "{error}");
    assert_eq!(set.open(Path::new("kind")).err().unwrap().errno(), libc::EISDIR);
    let error = reason(set.list(Path::new("folder")));
    assert!(error.contains("is missing") && error.contains(&name(1)), "{error}");
    let error = reason(set.read_link(Path::new("link")));
    assert!(error.contains("points elsewhere") && error.contains(&name(2)), "{error}");
    assert!(matches!(set.stat(Path::new("gone")), Err(Error::NotFound(_))));
    assert!(matches!(set.open(Path::new("gone")), Err(Error::NotFound(_))));
}

#[test]
fn a_changed_member_is_another_version() {
    let (_at, paths) = folders(3);
    deal_naively(&paths, 4096, "x", &content(4, 50_000));
    let set = set(4096, &paths);
    let object = set.open(Path::new("x")).unwrap();
    assert_eq!(set.stat(Path::new("x")).unwrap().identity, *object.identity());
    // As many bytes as before: only the times and the inode differ.
    fs::remove_file(paths[1].join("x")).unwrap();
    fs::write(paths[1].join("x"), content(5, 16_384)).unwrap();
    assert_ne!(set.stat(Path::new("x")).unwrap().identity, *object.identity());
    // The open version is read on, until the change shows.
    assert!(fetch(&*object, 0, 4096).unwrap() == content(4, 50_000)[..4096]);
    let error = fetch(&*object, 4096, 4096).unwrap_err();
    assert!(matches!(&error, Error::Stale(what) if what.contains("d1")), "{error}");
    assert!(matches!(fetch(&*object, 0, 4096), Err(Error::Stale(_))), "and is not read any more then");
    let new = read_all(&set, Path::new("x")).unwrap();
    assert!(new[4096..8192] == content(5, 16_384)[..4096] && new[..4096] == content(4, 50_000)[..4096]);
}

/// Members that fail, answer late and stop early: all bytes with a good outcome are right, and
/// asking again helps.
#[test]
fn bad_members_bring_right_bytes_or_an_error() {
    let (_at, paths) = folders(4);
    let bytes = content(6, 600_000);
    deal_naively(&paths, 8192, "x", &bytes);
    let members: Vec<Arc<FaultySource>> = (0..)
        .zip(&paths)
        .map(|(seed, path)| {
            let often = if seed == 2 { 0.1 } else { 0.0 };
            let delay = Duration::from_millis(2);
            let plan = FaultPlan { seed, transient: often, short: often, delayed: 0.5, delay, ..FaultPlan::default() };
            Arc::new(FaultySource::new(local(path), plan))
        })
        .collect();
    let switch = members[2].switch();
    let set = StripedSource::new(8192, members.into_iter().map(|member| member as Arc<dyn Source>).collect()).unwrap();
    let object = set.open(Path::new("x")).unwrap();
    let mut failed = 0;
    for from in (0..bytes.len()).step_by(12_288) {
        let len = 40_000.min(bytes.len() - from);
        let brought = loop {
            match fetch(&*object, from as u64, len) {
                Ok(brought) => break brought,
                Err(error) => {
                    assert!(error.is_transient() && error.to_string().contains("d2"), "{error}");
                    failed += 1;
                }
            }
        };
        assert!(brought == bytes[from..from + len], "at {from}");
    }
    assert!(failed > 3, "only {failed} failed: the test shows little");
    // A member that is gone takes its chunks with it, and no others.
    switch.set_down(true);
    assert!(fetch(&*object, 0, 8192).unwrap() == bytes[..8192]);
    assert!(fetch(&*object, 2 * 8192, 4096).unwrap_err().to_string().contains("d2"));
    assert!(reason(set.stat(Path::new("x"))).contains("d2"));
    switch.set_down(false);
    assert_eq!(set.stat(Path::new("x")).unwrap().size, 600_000);
}

#[test]
fn nothing_is_overwritten_and_nothing_left_out() {
    let whole = tempfile::tempdir().unwrap();
    fs::write(whole.path().join("file"), content(1, 100_000)).unwrap();
    let source = local(whole.path());
    let (at, paths) = folders(2);
    let go = |unit, members: &[PathBuf]| deal(&*source, unit, members, &|_, _| false).unwrap_err();
    assert!(go(4097, &paths).to_string().contains("multiple of 4096"));
    assert!(go(4096, &[]).to_string().contains("0 members"));

    fs::write(paths[1].join("precious"), "mine").unwrap();
    let error = go(4096, &paths);
    assert!(matches!(&error, DealError::NotEmpty(path) if *path == paths[1]) && !error.has_begun(), "{error}");
    assert_eq!(fs::read(paths[1].join("precious")).unwrap(), b"mine");
    assert_eq!(fs::read_dir(&paths[0]).unwrap().count(), 0);
    fs::remove_file(paths[1].join("precious")).unwrap();

    symlink(&paths[0], at.path().join("same")).unwrap();
    let error = go(4096, &[paths[0].clone(), at.path().join("same")]);
    assert!(matches!(error, DealError::Twice(_)), "{error}");
    assert!(matches!(go(4096, &[at.path().join("no/such/place")]), DealError::Write { .. }));

    let pipe = whole.path().join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0).unwrap();
    assert!(matches!(go(4096, &paths), DealError::Special(_)));
    fs::remove_file(pipe).unwrap();
    symlink("/etc", whole.path().join("out")).unwrap();
    assert!(matches!(go(4096, &paths), DealError::Read(Error::Refused { .. })));
    fs::remove_file(whole.path().join("out")).unwrap();
    assert_eq!(fs::read_dir(&paths[0]).unwrap().count(), 0, "everything is looked at before anything is written");

    let stopped = deal(&*source, 4096, &paths, &|done, _| done > 0).unwrap_err();
    assert!(matches!(stopped, DealError::Stopped) && stopped.has_begun());
    let parts: u64 = paths.iter().map(|path| fs::metadata(path.join("file")).map_or(0, |file| file.size())).sum();
    assert!(parts <= 100_000);
}

/// Files whose parts are one file in some members only are two files.
#[test]
fn files_are_linked_if_they_are_in_all_members() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    for (member, folder) in folders.iter().enumerate() {
        let place = |name: &str| folder.path().join(name);
        std::fs::write(place("a"), [1; 4096]).unwrap();
        std::fs::hard_link(place("a"), place("linked")).unwrap();
        match member {
            0 => std::fs::hard_link(place("a"), place("b")).unwrap(),
            _ => std::fs::write(place("b"), [2; 4096]).unwrap(),
        }
    }
    let members = folders.iter().map(|folder| Arc::new(LocalSource::new(folder.path()).unwrap()) as _).collect();
    let set = StripedSource::new(4096, members).unwrap();
    let [a, linked, b] = ["a", "linked", "b"].map(|name| set.stat(Path::new(name)).unwrap());
    assert_eq!((a.inode, &a.identity), (linked.inode, &linked.identity));
    assert!(a.links > 1);
    assert_ne!(a.inode, b.inode);
    assert_ne!(a.identity, b.identity);
    assert_eq!(b.links, 1);
}
