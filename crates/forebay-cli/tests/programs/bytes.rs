//! Byte identity of reads by this process itself: a tree of odd files, random ranges, mapped files.

use std::ffi::c_void;
use std::fs::{self, File};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

use forebay_testkit::mounts;
use forebay_testkit::need;
use forebay_testkit::s3::{BUCKET, S3};
use forebay_testkit::trees::{self, OddTree, SPARSE};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use crate::{Mount, text};

fn seed() -> u64 {
    let seed = u64::from(rand::random::<u32>());
    println!("seed {seed}");
    seed
}

/// The attributes of a name, without numbers that every file system chooses for itself. Times are
/// in nanoseconds.
fn shown(path: &Path) -> (u32, u32, u32, u64, [i64; 4]) {
    let of = path.symlink_metadata().unwrap_or_else(|error| panic!("{path:?}: {error}"));
    let size = if of.is_dir() { 0 } else { of.size() };
    (of.mode(), of.uid(), of.gid(), size, [of.mtime(), of.mtime_nsec(), of.ctime(), of.ctime_nsec()])
}

/// The names of a folder, in order.
fn names(folder: &Path) -> Vec<std::ffi::OsString> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    let mut names: Vec<_> = entries.map(|entry| entry.expect("listed").file_name()).collect();
    names.sort();
    names
}

fn xattr(path: &Path, name: &str) -> Result<Vec<u8>, rustix::io::Errno> {
    let mut value = Vec::with_capacity(1000);
    rustix::fs::lgetxattr(path, name, rustix::buffer::spare_capacity(&mut value))?;
    Ok(value)
}

/// Everything below two folders is the same, except for the odd tree's deliberate oddities.
fn same_names(there: &Path, here: &Path) -> usize {
    let names = names(there);
    assert_eq!(names, self::names(here));
    for name in &names {
        let (there, here) = (there.join(name), here.join(name));
        assert_eq!(shown(&there), shown(&here), "{here:?}");
        assert_eq!(xattr(&there, trees::ATTRIBUTE.0), xattr(&here, trees::ATTRIBUTE.0), "{here:?}");
        if there.symlink_metadata().expect("listed").is_dir() {
            same_names(&there, &here);
        }
    }
    names.len()
}

/// All bytes of a file, or of a large one the bytes around its islands.
fn bytes(path: &Path) -> Vec<u8> {
    let file = File::open(path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    if file.metadata().expect("open").len() != SPARSE {
        return fs::read(path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    }
    let mut bytes = vec![0; 3 << 20];
    let parts = bytes.chunks_mut(1 << 20).zip([1 << 19, (4 << 30) + 4096 - (1 << 20), SPARSE - (1 << 20)]);
    parts.for_each(|(part, at)| file.read_exact_at(part, at).expect("readable"));
    bytes
}

#[test]
fn a_tree_of_odd_files_is_the_same() {
    if !mounts::possible() {
        return;
    }
    let tree = OddTree::new(seed()).expect("a tree");
    let source = tree.root();
    for (policy, kernel_cache) in [("competitive", "on"), ("linux+arc", "off")] {
        let how = ["--memory", "32MiB", "--policy", policy, "--kernel-cache", kernel_cache];
        let mount = Mount::start(&[&[text(&source)], &how[..]].concat());
        assert!(same_names(&source, mount.path()) > 20);
        for file in &tree.files {
            assert!(bytes(&mount.path().join(file)) == bytes(&source.join(file)), "{file:?}");
        }
        for link in &tree.links {
            let through =
                |root: &Path| fs::metadata(root.join(link)).map(|found| found.len()).map_err(|e| e.raw_os_error());
            assert_eq!(through(mount.path()), through(&source), "{link:?}");
        }
        for escape in &tree.escapes {
            let refused = fs::read(mount.path().join(escape)).expect_err("leads out");
            assert_eq!(refused.raw_os_error(), Some(rustix::io::Errno::ACCESS.raw_os_error()), "{escape:?}");
        }
    }
}

/// Files of the random readers: larger together than the mount's memory, and of odd sizes.
fn files(seed: u64) -> Vec<(String, Vec<u8>)> {
    (0..7).map(|n| (format!("file-{n}"), trees::content(seed ^ n, (4 << 20) + 999_983 * n as usize))).collect()
}

/// 64 threads read ranges: most at random places, some a few in a row, a few beyond the end.
fn random_ranges(root: &Path, files: &[(String, Vec<u8>)], ranges: usize, seed: u64) {
    std::thread::scope(|scope| {
        for thread in 0..64 {
            scope.spawn(move || {
                let mut random = StdRng::seed_from_u64(seed ^ thread << 32);
                let mut buffer = vec![0; 400_000];
                for _ in 0..ranges {
                    let (name, content) = &files[random.random_range(0..files.len())];
                    let file = File::open(root.join(name)).expect("there");
                    let (mut at, len) = (random.random_range(0..content.len()), random.random_range(1..buffer.len()));
                    let len = if random.random() { len } else { len % 5000 + 1 };
                    for _ in 0..random.random_range(1..4) {
                        let got = file.read_at(&mut buffer[..len], at as u64).expect("readable");
                        let rest = content.get(at..).unwrap_or_default();
                        assert!(buffer[..got] == rest[..len.min(rest.len())], "seed {seed}: {name}, {len} at {at}");
                        at += got;
                    }
                }
            });
        }
    });
}

#[test]
fn random_ranges_by_64_threads_are_the_same_under_every_policy() {
    if !mounts::possible() {
        return;
    }
    let seed = seed();
    let (source, files) = (tempfile::tempdir().expect("a folder"), files(seed));
    files.iter().for_each(|(name, content)| fs::write(source.path().join(name), content).expect("written"));
    for (policy, kernel_cache) in [
        ("competitive", "on"),
        ("competitive-em", "on"),
        ("competitive", "off"),
        ("linux+arc", "off"),
        ("aggressive+s3-fifo", "off"),
        ("none+sieve", "off"),
    ] {
        let how = ["--memory", "24MiB", "--policy", policy, "--kernel-cache", kernel_cache];
        let mount = Mount::start(&[&[text(source.path())], &how[..]].concat());
        random_ranges(mount.path(), &files, 20, seed);
        // The files are larger than the memory, so some blocks were given up and fetched again. The
        // kernel has room for all.
        let fetched: usize = files.iter().map(|(_, content)| content.len()).sum();
        let again = mount.counter("fetched_bytes") > fetched as u64;
        assert!(again || kernel_cache == "on", "{policy}");
    }
}

#[test]
fn random_ranges_of_objects_are_the_same() {
    if !mounts::possible() {
        return;
    }
    let (seed, server) = (seed(), S3::start(&need!("versitygw")).expect("a server"));
    let files = files(seed);
    files.iter().for_each(|(name, content)| server.put(&format!("prefix/{name}"), content).expect("stored"));
    let bucket = format!("s3://{BUCKET}/prefix");
    let mount =
        Mount::start(&[&bucket, "--endpoint", &server.endpoint(), "--region", "us-east-1", "--memory", "32MiB"]);
    random_ranges(mount.path(), &files, 10, seed);
}

/// A whole file, mapped.
struct Mapping {
    at: *mut c_void,
    len: usize,
}

// SAFETY: the memory is only read.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    fn new(path: &Path, flags: MapFlags) -> Mapping {
        let file = File::open(path).expect("there");
        let len = file.metadata().expect("open").len() as usize;
        // SAFETY: a fresh mapping at a place of the kernel's choice.
        let at = unsafe { mmap(std::ptr::null_mut(), len, ProtFlags::READ, flags, file.as_fd(), 0) }.expect("mapped");
        Mapping { at, len }
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: mapped as long as `self` lives, and the file does not change.
        unsafe { std::slice::from_raw_parts(self.at.cast(), self.len) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and the slices borrow from `self`.
        let _ = unsafe { munmap(self.at, self.len) };
    }
}

#[test]
fn mapped_files_are_the_same() {
    if !mounts::possible() {
        return;
    }
    let seed = seed();
    let (source, files) = (tempfile::tempdir().expect("a folder"), files(seed));
    files.iter().for_each(|(name, content)| fs::write(source.path().join(name), content).expect("written"));
    for kernel_cache in ["on", "off"] {
        mapped_files(source.path(), &files, seed, kernel_cache);
    }
}

fn mapped_files(source: &Path, files: &[(String, Vec<u8>)], seed: u64, kernel_cache: &str) {
    let mount = Mount::start(&[text(source), "--memory", "24MiB", "--kernel-cache", kernel_cache]);
    let map = |(name, _): &(String, Vec<u8>)| {
        [MapFlags::SHARED, MapFlags::PRIVATE].map(|flags| Mapping::new(&mount.path().join(name), flags))
    };
    let mappings: Vec<_> = files.iter().map(map).collect();
    std::thread::scope(|scope| {
        for (number, ([shared, private], (name, content))) in mappings.iter().zip(files).enumerate() {
            // One thread goes from front to back while another touches the same file here and
            // there.
            scope.spawn(move || assert!(shared.bytes() == content, "{name} from front to back"));
            scope.spawn(move || {
                let mut random = StdRng::seed_from_u64(seed ^ number as u64);
                for _ in 0..2000 {
                    let at = random.random_range(0..content.len());
                    assert_eq!(private.bytes()[at], content[at], "seed {seed}: {name} at {at}");
                }
            });
        }
    });
}
