//! Reads through the mount give the file's bytes.

use std::fs::File;
use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use forebay_testkit::mounts;
use rand::rngs::StdRng;
use rand::{Rng, RngCore, SeedableRng};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use crate::{Mirror, MountOptions, Server, errno};

fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    StdRng::seed_from_u64(seed).fill_bytes(&mut bytes);
    bytes
}

#[test]
fn whole_files_of_odd_sizes() {
    if !mounts::possible() {
        return;
    }
    let sizes = [0, 1, 4095, 4096, 4097, 131_071, 131_072, 131_073, 1 << 20, (1 << 20) + 1, (3 << 20) + 17];
    let mirror = Mirror::new(MountOptions::default(), |source| {
        for size in sizes {
            std::fs::write(source.join(size.to_string()), noise(size as u64, size)).unwrap();
        }
    });
    for size in sizes {
        let bytes = std::fs::read(mirror.here(size.to_string())).unwrap();
        assert!(bytes == noise(size as u64, size), "{size} bytes differ");
    }
}

#[test]
fn one_read_larger_than_a_request() {
    if !mounts::possible() {
        return;
    }
    let content = noise(1, (3 << 20) + 5);
    let mirror = Mirror::new(MountOptions::default(), |source| std::fs::write(source.join("f"), &content).unwrap());
    let mut buffer = vec![0; content.len() + 100];
    let read = File::open(mirror.here("f")).unwrap().read(&mut buffer).unwrap();
    assert_eq!(read, content.len(), "one read, all there is");
    assert!(buffer[..read] == content);
}

#[test]
fn positioned_reads() {
    if !mounts::possible() {
        return;
    }
    let len = 300_001;
    let content = noise(2, len);
    let mirror = Mirror::new(MountOptions::default(), |source| std::fs::write(source.join("f"), &content).unwrap());
    let direct = rustix::fs::OFlags::DIRECT.bits() as i32;
    for flags in [0, direct] {
        let file = File::options().read(true).custom_flags(flags).open(mirror.here("f")).unwrap();
        for offset in [0, 1, 4095, 4096, 65_537, len - 1, len, len + 1, 1 << 40] {
            for want in [1, 7, 4096, 131_072, len] {
                let mut buffer = vec![0; want];
                let read = file.read_at(&mut buffer, offset as u64).unwrap();
                let expected = content.get(offset..).unwrap_or_default();
                let expected = &expected[..want.min(expected.len())];
                assert!(buffer[..read] == *expected, "{want} bytes at {offset}");
            }
        }
    }
}

#[test]
fn sparse_beyond_four_gigabytes() {
    if !mounts::possible() {
        return;
    }
    let (len, at) = (5u64 << 30, (4u64 << 30) + 3);
    let mirror = Mirror::new(MountOptions::default(), |source| {
        let file = File::create(source.join("sparse")).unwrap();
        file.set_len(len).unwrap();
        file.write_all_at(b"far out", at).unwrap();
    });
    let file = File::open(mirror.here("sparse")).unwrap();
    let found = file.metadata().unwrap();
    assert_eq!(found.len(), len);
    assert_eq!(found.blocks(), mirror.there("sparse").metadata().unwrap().blocks(), "a hole takes no space");
    let mut buffer = [1; 13];
    file.read_exact_at(&mut buffer, at - 3).unwrap();
    assert_eq!(&buffer, b"\0\0\0far out\0\0\0");
    assert_eq!(file.read_at(&mut buffer, len - 4).unwrap(), 4);
    assert_eq!(buffer[..4], [0; 4]);
}

#[test]
fn random_ranges_by_many_threads() {
    if !mounts::possible() {
        return;
    }
    let seed = u64::from(rand::random::<u32>());
    println!("seed {seed}");
    let files: Vec<Vec<u8>> = (0..4).map(|file| noise(seed + file, 1_500_000 + 77_777 * file as usize)).collect();
    let mirror = Mirror::new(MountOptions::default(), |source| {
        for (number, content) in files.iter().enumerate() {
            std::fs::write(source.join(number.to_string()), content).unwrap();
        }
    });
    std::thread::scope(|scope| {
        for thread in 0..64u64 {
            let (files, mirror) = (&files, &mirror);
            scope.spawn(move || {
                let mut random = StdRng::seed_from_u64(seed ^ (thread << 32));
                for _ in 0..20 {
                    let number = random.random_range(0..files.len());
                    let content = &files[number];
                    let file = File::open(mirror.here(number.to_string())).unwrap();
                    let offset = random.random_range(0..content.len());
                    let mut buffer = vec![0; random.random_range(1..200_000)];
                    let read = file.read_at(&mut buffer, offset as u64).unwrap();
                    let expected = &content[offset..content.len().min(offset + buffer.len())];
                    assert!(buffer[..read] == *expected, "seed {seed}: file {number} at {offset}");
                }
            });
        }
    });
}

/// A whole file, mapped. Always on the mount of another process: a page fault on the process's own
/// mount may hold a lock or thread that its server needs to answer.
struct Mapping {
    at: *mut std::ffi::c_void,
    len: usize,
}

impl Mapping {
    fn new(path: &Path, flags: MapFlags) -> Mapping {
        let file = File::open(path).unwrap();
        let len = file.metadata().unwrap().len() as usize;
        // SAFETY: a fresh mapping at a place of the kernel's choice.
        let at = unsafe { mmap(std::ptr::null_mut(), len, ProtFlags::READ, flags, file.as_fd(), 0) }.unwrap();
        Mapping { at, len }
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: mapped while we live. A file that is changed behind the mapping gets pages of its
        // own: this is the test's point.
        unsafe { std::slice::from_raw_parts(self.at.cast(), self.len) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: ours, and the slices borrow from us.
        let _ = unsafe { munmap(self.at, self.len) };
    }
}

#[test]
fn mapped_files_are_of_one_version() {
    if !mounts::possible() {
        return;
    }
    let (source, point) = (tempfile::tempdir().unwrap(), mounts::MountPoint::new().unwrap());
    let (content, changed) = (noise(3, 2_345_678), noise(4, 2_345_678));
    std::fs::write(source.path().join("f"), &content).unwrap();
    let _server = Server::start(source.path(), point.path());
    let file = point.path().join("f");
    let old = [MapFlags::PRIVATE, MapFlags::SHARED].map(|flags| Mapping::new(&file, flags));
    assert!(old.iter().all(|mapping| mapping.bytes() == content));

    std::fs::write(source.path().join("f"), &changed).unwrap();
    let new = Mapping::new(&file, MapFlags::SHARED);
    assert!(new.bytes() == changed, "a new mapping has the new bytes");
    assert!(old.iter().all(|mapping| mapping.bytes() == content), "the old ones keep theirs");
}

#[test]
fn a_file_that_changes_is_never_a_mixture() {
    if !mounts::possible() {
        return;
    }
    // The kernel may believe its answers for an hour: opening must find the new version all the
    // same.
    let hour = std::time::Duration::from_secs(3600);
    let options = MountOptions { ttl: hour, negative_ttl: hour, ..MountOptions::default() };
    let mirror = Mirror::new(options, |source| std::fs::write(source.join("f"), noise(5, 500_000)).unwrap());
    let old = File::open(mirror.here("f")).unwrap();
    let mut buffer = vec![0; 4096];
    old.read_exact_at(&mut buffer, 0).unwrap();
    assert!(buffer == noise(5, 500_000)[..4096]);

    std::fs::write(mirror.there("f"), noise(6, 500_000)).unwrap();
    assert_eq!(errno(old.read_at(&mut buffer, 400_000)), Some(libc::ESTALE), "bytes that were not read before");
    assert!(std::fs::read(mirror.here("f")).unwrap() == noise(6, 500_000), "a new open has the new bytes");
    assert_eq!(errno(old.read_at(&mut buffer, 400_000)), Some(libc::ESTALE), "the old one never");
}
