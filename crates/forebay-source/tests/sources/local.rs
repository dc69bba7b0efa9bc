//! A local folder as a source: byte identity with `std::fs` under every engine, one version or
//! none, and no way out.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

use crate::{fetch, read_all};
use forebay_source::io::{Pool, Read, Reader, Ring};
use forebay_source::local::LocalSource;
use forebay_source::{BLOCK, Error, Fetch, FetchId, Keeper, Kind, Label, Segments, Source};
use forebay_testkit::trees::{ATTRIBUTE, OddTree, SPARSE, content};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// Memory that fetches have pieces of.
#[derive(Debug)]
struct Pages {
    _memory: Mutex<Segments>,
}

impl Keeper for Pages {}

/// So many pieces of a block, none beside the one before it.
fn scattered(pieces: usize) -> Segments {
    let memory = Segments::own(2 * pieces * BLOCK);
    let start = memory.parts()[0].cast::<u8>();
    let part = |piece: usize| ptr::slice_from_raw_parts_mut(start.wrapping_add(2 * piece * BLOCK), BLOCK);
    let parts = (0..pieces).rev().map(part).collect();
    // SAFETY: the pieces lie within the memory, which is theirs alone, and do not overlap.
    unsafe { Segments::over(parts, Arc::new(Pages { _memory: Mutex::new(memory) })) }
}

/// Every engine of this machine, each through and past the page cache.
fn engines() -> Vec<(Arc<dyn Reader>, bool)> {
    let mut readers: Vec<Arc<dyn Reader>> = vec![Arc::new(Pool::new(4).unwrap())];
    match Ring::new() {
        Ok(ring) => readers.push(Arc::new(ring)),
        Err(error) => eprintln!("\n=== no io_uring here ({error}): only the pool is tested ===\n"),
    }
    readers.into_iter().flat_map(|reader| [(Arc::clone(&reader), true), (reader, false)]).collect()
}

#[test]
fn every_odd_file_reads_as_it_is() {
    let tree = OddTree::new(1).unwrap();
    for (reader, direct) in engines() {
        let what = format!("{} direct={direct}", reader.name());
        let source = LocalSource::with(tree.root(), reader, direct).unwrap();
        for file in tree.files.iter().filter(|file| *file != Path::new("sparse")) {
            match fs::read(tree.root().join(file)) {
                Ok(expected) => assert!(read_all(&source, file).unwrap() == expected, "{what}: {}", file.display()),
                // Root reads everything; other users are refused here as there.
                Err(error) => assert_eq!(error.raw_os_error(), Some(read_all(&source, file).unwrap_err().errno())),
            }
        }
    }
}

#[test]
fn random_ranges_of_a_sparse_file_beyond_4_gib_read_as_they_are() {
    const SEED: u64 = 7;
    println!("seed {SEED}");
    let tree = OddTree::new(2).unwrap();
    let file = fs::File::open(tree.root().join("sparse")).unwrap();
    for (reader, direct) in engines() {
        let mut random = StdRng::seed_from_u64(SEED);
        let source = LocalSource::with(tree.root(), reader, direct).unwrap();
        let object = source.open(Path::new("sparse")).unwrap();
        assert_eq!(object.version().size, SPARSE);
        let near = [0, 1 << 20, (4 << 30) - 8192, SPARSE / 4096 * 4096];
        for round in 0..40 {
            let offset = (near[round % 4] + random.random_range(0..4) * 4096).min(SPARSE / 4096 * 4096);
            let len = random.random_range(1..100_000).min((SPARSE - offset) as usize);
            let mut expected = vec![0; len];
            file.read_exact_at(&mut expected, offset).unwrap();
            assert!(fetch(&*object, offset, len).unwrap() == expected, "{len} bytes from {offset}");
        }
    }
}

#[test]
fn scattered_frames_are_filled_in_order() {
    let folder = tempfile::tempdir().unwrap();
    // More pieces than one system call takes.
    let bytes = content(3, 3000 * 4096 - 77);
    fs::write(folder.path().join("file"), &bytes).unwrap();
    for (reader, direct) in engines() {
        let source = LocalSource::with(folder.path(), reader, direct).unwrap();
        let object = source.open(Path::new("file")).unwrap();
        let buffer = scattered(3000);
        let (send, receive) = channel();
        let done = Box::new(move |buffer: Segments, outcome| send.send((buffer.to_vec(), outcome)).unwrap());
        object.fetch(Fetch {
            id: FetchId::unique(),
            offset: 0,
            buffer,
            len: bytes.len(),
            urgent: true,
            label: Label::default(),
            done,
        });
        let (got, outcome) = receive.recv().unwrap();
        outcome.unwrap();
        assert!(got[..bytes.len()] == bytes[..]);
    }
}

#[test]
fn a_changed_file_is_stale_and_never_mixed() {
    type Change = fn(&Path);
    let changes: [(&str, Change); 6] = [
        ("rewritten", |path| fs::write(path, content(11, 100_000)).unwrap()),
        ("written in place", |path| {
            let file = fs::OpenOptions::new().write(true).open(path).unwrap();
            file.write_all_at(b"x", 50_000).unwrap();
        }),
        ("replaced by rename", |path| {
            let new = path.with_extension("new");
            fs::write(&new, content(11, 100_000)).unwrap();
            fs::rename(new, path).unwrap();
        }),
        ("truncated", |path| fs::OpenOptions::new().write(true).open(path).unwrap().set_len(10).unwrap()),
        ("grown", |path| fs::OpenOptions::new().write(true).open(path).unwrap().set_len(200_000).unwrap()),
        ("deleted", |path| fs::remove_file(path).unwrap()),
    ];
    for (reader, direct) in engines() {
        for (change, apply) in &changes {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("file");
            fs::write(&path, content(10, 100_000)).unwrap();
            // The documented weakness: kernels before 6.13 tell times in ticks.
            std::thread::sleep(std::time::Duration::from_millis(20));
            let source = LocalSource::with(folder.path(), Arc::clone(&reader), direct).unwrap();
            let object = source.open(Path::new("file")).unwrap();
            assert!(fetch(&*object, 0, 100_000).unwrap() == content(10, 100_000));
            apply(&path);
            let outcome = fetch(&*object, 4096, 50_000);
            assert!(matches!(outcome, Err(Error::Stale(_))), "{change}, {} direct={direct}", reader.name());
            if *change != "deleted" {
                let now = source.open(Path::new("file")).unwrap();
                assert_ne!(now.version(), object.version(), "{change}");
                assert!(read_all(&source, Path::new("file")).unwrap() == fs::read(&path).unwrap(), "{change}");
            }
        }
    }
}

#[test]
fn names_kinds_and_attributes_are_those_of_the_folder() {
    let tree = OddTree::new(4).unwrap();
    let source = LocalSource::new(tree.root()).unwrap();
    for folder in tree.folders.iter().map(PathBuf::as_path).chain([Path::new("")]) {
        let expected: BTreeMap<_, _> = fs::read_dir(tree.root().join(folder))
            .unwrap()
            .map(|entry| entry.unwrap())
            .map(|entry| (entry.file_name(), entry.metadata().unwrap()))
            .collect();
        let got = source.list(folder).unwrap();
        assert_eq!(got.len(), expected.len(), "{folder:?}");
        for entry in got {
            let there = &expected[&entry.name];
            let stat = source.stat(&folder.join(&entry.name)).unwrap();
            assert_eq!(stat.kind, entry.kind, "{:?}", entry.name);
            assert_eq!(entry.kind == Kind::Folder, there.is_dir(), "{:?}", entry.name);
            assert_eq!(entry.kind == Kind::Link, there.is_symlink(), "{:?}", entry.name);
            assert_eq!(entry.kind == Kind::File, there.is_file(), "{:?}", entry.name);
            let got = (stat.size, stat.mode, stat.uid, stat.gid, stat.links, stat.allocated, stat.inode);
            let nlink = there.nlink() as u32;
            let expected =
                (there.size(), there.mode(), there.uid(), there.gid(), nlink, there.blocks() * 512, there.ino());
            assert_eq!(got, expected, "{:?}", entry.name);
            assert_eq!(stat.modified, there.modified().unwrap());
        }
    }
    let space = source.space().unwrap();
    assert!(space.bytes > 0 && space.bytes_free <= space.bytes);
}

/// Empty would be a lie that programs which delete believe.
#[test]
fn a_root_that_was_removed_and_made_anew_is_stale() {
    let home = tempfile::tempdir().unwrap();
    let root = home.path().join("root");
    fs::create_dir(&root).unwrap();
    let source = LocalSource::new(&root).unwrap();
    assert!(source.list(Path::new("")).unwrap().is_empty());
    fs::remove_dir(&root).unwrap();
    fs::create_dir(&root).unwrap();
    fs::write(root.join("new"), "new").unwrap();
    assert!(matches!(source.list(Path::new("")), Err(Error::Stale(_))));
}

#[test]
fn links_lead_nowhere_outside() {
    let tree = OddTree::new(5).unwrap();
    let source = LocalSource::new(tree.root()).unwrap();
    for escape in &tree.escapes {
        let refused = source.read_link(escape).expect_err(&escape.display().to_string());
        assert_eq!(refused.errno(), libc::EACCES, "{escape:?}");
    }
    for link in &tree.links {
        let target = source.read_link(link).unwrap();
        assert!(target.is_relative(), "{link:?} → {target:?}");
        let (shown, real) = (tree.root().join(link.parent().unwrap()).join(&target), tree.root().join(link));
        assert_eq!(fs::canonicalize(shown).ok(), fs::canonicalize(real).ok(), "{link:?} → {target:?}");
    }
    for path in ["out/x", "../secret", "level0/../../secret", "/etc/passwd", "to folder/level2", ".."] {
        assert!(source.stat(Path::new(path)).is_err(), "{path}");
        assert!(source.open(Path::new(path)).is_err(), "{path}");
        assert!(source.list(Path::new(path)).is_err(), "{path}");
    }
    assert_eq!(source.open(Path::new("link")).err().map(|error| error.errno()), Some(libc::ELOOP));
    assert_eq!(source.read_link(Path::new("bytes-1")).unwrap_err().errno(), libc::EINVAL);
}

#[test]
fn what_cannot_be_opened_says_why() {
    let tree = OddTree::new(6).unwrap();
    let source = LocalSource::new(tree.root()).unwrap();
    let errno = |path: &str| source.open(Path::new(path)).err().map(|error| error.errno());
    assert_eq!(errno("missing"), Some(libc::ENOENT));
    assert_eq!(errno("bytes-1/below"), Some(libc::ENOTDIR));
    assert_eq!(errno("level0"), Some(libc::EISDIR));
    assert_eq!(errno("pipe"), Some(libc::EOPNOTSUPP));
    assert_eq!(errno("nul\0byte"), Some(libc::EINVAL));
    assert_eq!(LocalSource::new(tree.root().join("missing")).err().map(|error| error.errno()), Some(libc::ENOENT));
    assert_eq!(LocalSource::new(tree.root().join("bytes-1")).err().map(|error| error.errno()), Some(libc::ENOTDIR));
}

#[test]
fn attributes_are_read_without_following_links() {
    let tree = OddTree::new(7).unwrap();
    let source = LocalSource::new(tree.root()).unwrap();
    let (name, value) = ATTRIBUTE;
    if !tree.attributes {
        return forebay_testkit::tools::skip("a file system with user attributes");
    }
    std::os::unix::fs::symlink("attributed", tree.root().join("link to attributed")).unwrap();
    assert_eq!(source.xattr(Path::new("attributed"), OsStr::new(name)).unwrap(), value);
    assert!(source.xattrs(Path::new("attributed")).unwrap().contains(&name.into()));
    assert!(source.xattrs(Path::new("level0")).unwrap().is_empty());
    let missing = source.xattr(Path::new("link to attributed"), OsStr::new(name)).unwrap_err();
    assert!([libc::ENODATA, libc::EACCES].contains(&missing.errno()), "{missing}");
    assert_eq!(source.xattr(Path::new("bytes-1"), OsStr::new(name)).unwrap_err().errno(), libc::ENODATA);
}

#[test]
fn a_hundred_thousand_names_are_listed() {
    let folder = tempfile::tempdir().unwrap();
    // Hard links are the quickest to make and to remove. ext4 allows 65,000 to a file.
    for i in 0..100_000 {
        let (name, first) = (folder.path().join(format!("name-{i}")), folder.path().join(format!("name-{}", i % 4)));
        if i < 4 { fs::write(name, "x").unwrap() } else { fs::hard_link(first, name).unwrap() }
    }
    let entries = LocalSource::new(folder.path()).unwrap().list(Path::new("")).unwrap();
    let mut names: Vec<_> = entries.into_iter().map(|entry| entry.name).collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 100_000);
}

#[test]
fn a_vanished_folder_gives_errors() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "x").unwrap();
    let source = LocalSource::new(folder.path()).unwrap();
    let object = source.open(Path::new("file")).unwrap();
    folder.close().unwrap();
    assert_eq!(source.stat(Path::new("file")).unwrap_err().errno(), libc::ENOENT);
    assert!(source.list(Path::new("")).map_or(true, |entries| entries.is_empty()));
    assert!(matches!(fetch(&*object, 0, 1), Err(Error::Stale(_))));
}

#[test]
fn the_layout_covers_what_is_written_and_nothing_else() {
    let tree = OddTree::new(8).unwrap();
    let source = LocalSource::new(tree.root()).unwrap();
    fs::File::open(tree.root().join("sparse")).unwrap().sync_all().unwrap();
    let object = source.open(Path::new("sparse")).unwrap();
    let layout = object.layout();
    if layout.is_empty() {
        return eprintln!("this file system does not tell where files lie");
    }
    assert!(layout.windows(2).all(|pair| pair[0].offset + pair[0].len <= pair[1].offset), "{layout:?}");
    for written in [1 << 20, (4 << 30) - 5, SPARSE - 100] {
        assert!(
            layout.iter().any(|run| (run.offset..run.offset + run.len).contains(&written)),
            "{written}: {layout:?}"
        );
    }
    assert!(layout.iter().map(|run| run.len).sum::<u64>() < 1 << 20, "holes have no place: {layout:?}");
    assert!(source.open(Path::new("bytes-0")).unwrap().layout().is_empty());
}

#[test]
fn dropping_a_reader_finishes_what_it_was_given() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), content(9, 1 << 20)).unwrap();
    for threads in [Some(2), None] {
        let reader: Box<dyn Reader> = match threads.map(Pool::new) {
            Some(pool) => Box::new(pool.unwrap()),
            None => match Ring::new() {
                Ok(ring) => Box::new(ring),
                Err(_) => continue,
            },
        };
        let file = Arc::new(fs::File::open(folder.path().join("file")).unwrap().into());
        let (send, receive) = channel();
        // More than can be under way at once.
        for i in 0..1000 {
            let send = send.clone();
            let done =
                Box::new(move |_: Segments, outcome: std::io::Result<usize>| send.send(outcome.unwrap()).unwrap());
            reader.read(Read::new(Arc::clone(&file), i * 512, Segments::own(4096), 4096, i % 2 == 0, done));
        }
        drop((reader, send));
        assert_eq!(receive.iter().filter(|&bytes| bytes == 4096).count(), 1000);
    }
}

#[test]
fn a_reader_outlives_the_threads_that_submit_and_receivers_that_panic() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = content(12, 300_000);
    fs::write(folder.path().join("file"), &bytes).unwrap();
    for (reader, direct) in engines() {
        let source = LocalSource::with(folder.path(), Arc::clone(&reader), direct).unwrap();
        let object = source.open(Path::new("file")).unwrap();
        let (send, receive) = channel();
        for _ in 0..50 {
            let (object, send) = (Arc::clone(&object), send.clone());
            std::thread::spawn(move || {
                let done = Box::new(move |buffer: Segments, outcome| send.send((buffer.to_vec(), outcome)).unwrap());
                object.fetch(Fetch {
                    id: FetchId::unique(),
                    offset: 0,
                    buffer: Segments::own(300_000),
                    len: 300_000,
                    urgent: false,
                    label: Label::default(),
                    done,
                });
            });
        }
        drop(send);
        let got: Vec<_> = receive.iter().collect();
        assert_eq!(got.len(), 50);
        for (got, outcome) in got {
            outcome.unwrap_or_else(|error| panic!("{} direct={direct}: {error}", reader.name()));
            assert!(got[..300_000] == bytes[..], "{} direct={direct}", reader.name());
        }
        let done = Box::new(|_: Segments, _| panic!("on purpose: a receiver that panics"));
        object.fetch(Fetch {
            id: FetchId::unique(),
            offset: 0,
            buffer: Segments::own(4096),
            len: 4096,
            urgent: true,
            label: Label::default(),
            done,
        });
        assert!(fetch(&*object, 0, 300_000).unwrap() == bytes);
    }
}

#[test]
fn a_folder_that_is_swapped_for_a_link_while_it_is_resolved_leads_nowhere() {
    let tree = tempfile::tempdir().unwrap();
    let (root, outside) = (tree.path().join("root"), tree.path().join("outside"));
    for folder in [&root, &root.join("a"), &outside] {
        fs::create_dir(folder).unwrap();
    }
    fs::write(root.join("a/file"), "inside").unwrap();
    fs::write(outside.join("file"), "secret").unwrap();
    std::os::unix::fs::symlink(&outside, root.join("b")).unwrap();
    let source = LocalSource::new(&root).unwrap();
    let swaps = std::thread::spawn(move || {
        for _ in 0..4000 {
            let cwd = rustix::fs::CWD;
            let flags = rustix::fs::RenameFlags::EXCHANGE;
            rustix::fs::renameat_with(cwd, root.join("a"), cwd, root.join("b"), flags).unwrap();
        }
    });
    let (mut inside, mut refused) = (0, 0);
    while !swaps.is_finished() || inside + refused == 0 {
        match read_all(&source, Path::new("a/file")) {
            Ok(bytes) => {
                assert_eq!(bytes, b"inside");
                inside += 1;
            }
            Err(_) => refused += 1,
        }
    }
    swaps.join().unwrap();
    println!("{inside} times inside, {refused} times refused");
}

#[test]
fn local_sources_share_one_reader() {
    let first = forebay_source::io::shared().unwrap();
    assert!(Arc::ptr_eq(&first, &forebay_source::io::shared().unwrap()));
}

/// How many pages of a file are in the page cache.
fn cached_pages(path: &Path) -> usize {
    use std::os::fd::AsRawFd;
    let file = fs::File::open(path).unwrap();
    let len = file.metadata().unwrap().len() as usize;
    let mut resident = vec![0u8; len.div_ceil(4096)];
    // SAFETY: a private mapping of our own, unmapped below; `mincore` writes one byte a page into
    // `resident`.
    unsafe {
        let at = libc::mmap(std::ptr::null_mut(), len, libc::PROT_READ, libc::MAP_PRIVATE, file.as_raw_fd(), 0);
        assert_ne!(at, libc::MAP_FAILED);
        assert_eq!(libc::mincore(at, len, resident.as_mut_ptr()), 0);
        libc::munmap(at, len);
    }
    resident.iter().filter(|&&page| page & 1 == 1).count()
}

#[test]
fn what_was_read_is_not_in_the_page_cache_as_well() {
    const PAGES: usize = 2000;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    fs::write(&path, content(13, PAGES * 4096)).unwrap();
    let file = fs::File::open(&path).unwrap();
    file.sync_all().unwrap();
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
    if cached_pages(&path) > PAGES / 10 {
        return eprintln!("this file system lives in the page cache");
    }
    for (reader, direct) in engines() {
        let source = LocalSource::with(folder.path(), Arc::clone(&reader), direct).unwrap();
        assert!(read_all(&source, Path::new("file")).unwrap() == content(13, PAGES * 4096));
        let cached = cached_pages(&path);
        assert!(cached <= PAGES / 10, "{} direct={direct}: {cached} of {PAGES} pages", reader.name());
    }
}

/// A reader for which direct reads are refused, or every read fails.
struct Refusing {
    inner: Pool,
    only_direct: bool,
    errno: i32,
}

impl Reader for Refusing {
    fn read(&self, read: Read) {
        let direct = rustix::fs::fcntl_getfl(read.file()).unwrap().contains(rustix::fs::OFlags::DIRECT);
        if direct || !self.only_direct {
            return read.finish(Err(std::io::Error::from_raw_os_error(self.errno)));
        }
        self.inner.read(read);
    }

    fn name(&self) -> &'static str {
        "refusing"
    }
}

#[test]
fn refused_direct_reads_go_through_the_page_cache() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), content(14, 1 << 20)).unwrap();
    let reader = Refusing { inner: Pool::new(2).unwrap(), only_direct: true, errno: libc::EINVAL };
    let source = LocalSource::with(folder.path(), Arc::new(reader), true).unwrap();
    assert!(read_all(&source, Path::new("file")).unwrap() == content(14, 1 << 20));
}

#[test]
fn errors_of_the_disk_are_storage_errors() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), content(14, 5000)).unwrap();
    for (errno, expected) in [(libc::EIO, libc::EIO), (libc::EINVAL, libc::EIO), (libc::ESTALE, libc::ESTALE)] {
        let reader = Refusing { inner: Pool::new(1).unwrap(), only_direct: false, errno };
        let source = LocalSource::with(folder.path(), Arc::new(reader), true).unwrap();
        let object = source.open(Path::new("file")).unwrap();
        assert_eq!(fetch(&*object, 0, 5000).unwrap_err().errno(), expected);
    }
}
