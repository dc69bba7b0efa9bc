//! One file read by every call that reads, at random places, byte for byte.

use std::fs::File;
use std::io::IoSliceMut;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;

use forebay_testkit::mounts;
use forebay_testkit::trees::content;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use rustix::fs::SeekFrom;
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use super::{User, limited};
use crate::{Mount, text};

/// The file's length: many blocks and a part of one.
const LEN: u64 = (6 << 20) + 1234;

/// How many calls are made on each mount.
const CALLS: usize = 400;

/// The file in the mount, the bytes that it must have, and a file to send to.
struct Reading {
    file: File,
    bytes: Vec<u8>,
    sink: File,
    random: StdRng,
    /// The place where the next read goes on.
    at: u64,
}

impl Reading {
    /// A place, mostly within the file, often near a block's edge.
    fn place(&mut self) -> u64 {
        match self.random.random_range(0..8) {
            0 => self.random.random_range(0..LEN + 10_000),
            1 => LEN - self.random.random_range(0..10_000),
            2 | 3 => self.random.random_range(0..LEN >> 12) << 12,
            4 => ((self.random.random_range(0..LEN >> 12) << 12) + 1).saturating_sub(self.random.random_range(0..3)),
            _ => self.at.min(LEN),
        }
    }

    fn len(&mut self) -> usize {
        match self.random.random_range(0..4) {
            0 => self.random.random_range(0..20),
            1 => self.random.random_range(0..10_000),
            2 => 1 << self.random.random_range(0..19),
            _ => self.random.random_range(0..300_000),
        }
    }

    /// The bytes that a read of `len` at `at` must give.
    fn expected(&self, at: u64, len: usize) -> &[u8] {
        let start = (at.min(LEN)) as usize;
        &self.bytes[start..(start + len).min(LEN as usize)]
    }

    fn check(&self, call: &str, at: u64, len: usize, got: &[u8]) {
        assert!(got == self.expected(at, len), "{call} of {len} at {at}: {} bytes, or others", got.len());
    }

    /// One call of a kind that chance decides.
    fn step(&mut self) {
        let (at, len) = (self.place(), self.len());
        let mut buffer = vec![0; len];
        match self.random.random_range(0..8) {
            0 => {
                let got = rustix::io::pread(&self.file, &mut buffer, at).expect("pread");
                self.check("pread", at, len, &buffer[..got]);
            }
            1 => {
                assert_eq!(rustix::fs::seek(&self.file, SeekFrom::Start(at)), Ok(at));
                let got = rustix::io::read(&self.file, &mut buffer).expect("read");
                self.check("read", at, len, &buffer[..got]);
                assert_eq!(rustix::fs::tell(&self.file), Ok(at + got as u64));
            }
            2 => {
                let (one, two) = buffer.split_at_mut(len / 3);
                let mut slices = [IoSliceMut::new(one), IoSliceMut::new(two)];
                let got = rustix::io::preadv(&self.file, &mut slices, at).expect("preadv");
                self.check("preadv", at, len, &buffer[..got]);
            }
            3 => assert_eq!(rustix::fs::seek(&self.file, SeekFrom::End(-10)), Ok(LEN - 10)),
            4 => self.map(at, len),
            5 => self.sends("sendfile", at, len, |reading, from, len| {
                rustix::fs::sendfile(&reading.sink, &reading.file, Some(from), len)
            }),
            6 => self.sends("copy_file_range", at, len, |reading, from, len| {
                rustix::fs::copy_file_range(&reading.file, Some(from), &reading.sink, None, len)
            }),
            _ => {
                let advice = [rustix::fs::Advice::WillNeed, rustix::fs::Advice::DontNeed, rustix::fs::Advice::Random];
                let advice = advice[self.random.random_range(0..3)];
                rustix::fs::fadvise(&self.file, at, std::num::NonZeroU64::new(len as u64), advice).expect("fadvise");
            }
        }
        self.at = at + len as u64;
    }

    /// Whole pages through a mapping, private or shared.
    fn map(&mut self, at: u64, len: usize) {
        let start = at.min(LEN - 1) & !4095;
        let len = (LEN - start).min(len.max(1) as u64) as usize;
        let flags = if self.random.random() { MapFlags::PRIVATE } else { MapFlags::SHARED };
        // SAFETY: the mapping is new, at an address that the kernel chooses.
        let mapped = unsafe { mmap(std::ptr::null_mut(), len, ProtFlags::READ, flags, self.file.as_fd(), start) };
        let mapped = mapped.expect("mmap");
        // SAFETY: `len` bytes were mapped, all within the file, which does not change. Another
        // process serves it.
        self.check("mmap", start, len, unsafe { std::slice::from_raw_parts(mapped.cast::<u8>(), len) });
        // SAFETY: nothing borrows from it any more.
        unsafe { munmap(mapped, len).expect("munmap") };
    }

    /// A call that sends bytes to a file on another file system.
    fn sends(
        &mut self,
        call: &str,
        at: u64,
        len: usize,
        send: impl FnOnce(&Reading, &mut u64, usize) -> Result<usize, Errno>,
    ) {
        self.sink.set_len(0).expect("ours");
        rustix::fs::seek(&self.sink, SeekFrom::Start(0)).expect("ours");
        let mut from = at;
        let sent = match send(self, &mut from, len) {
            Ok(sent) => sent,
            // Some kernels do not copy from one file system to another.
            Err(Errno::XDEV | Errno::OPNOTSUPP) if call == "copy_file_range" => return,
            Err(error) => panic!("{call} of {len} at {at}: {error}"),
        };
        let mut got = vec![0; sent];
        self.sink.read_exact_at(&mut got, 0).expect("what was sent is there");
        // It may send less, but not nothing.
        assert!(sent > 0 || self.expected(at, len).is_empty(), "{call} of {len} at {at} sent nothing");
        self.check(call, at, sent, &got);
    }
}

#[test]
fn every_call_reads_the_same_bytes() {
    if !mounts::possible() {
        return;
    }
    let seed = rand::random();
    println!("seed {seed}");
    let source = tempfile::tempdir().expect("a folder");
    let bytes = content(seed, LEN as usize);
    std::fs::write(source.path().join("file"), &bytes).expect("ours");
    for kernel_cache in ["off", "on"] {
        let args = [text(source.path()), "--memory", "24MiB", "--kernel-cache", kernel_cache];
        let mount = Mount::start(&args);
        let (path, bytes) = (mount.path().join("file"), bytes.clone());
        let work = move || {
            let sink = tempfile::tempfile().expect("a file");
            let file = File::open(path).expect("readable");
            let mut reading = Reading { file, bytes, sink, random: StdRng::seed_from_u64(seed), at: 0 };
            (0..CALLS).for_each(|_| reading.step());
        };
        limited(&format!("reading with --kernel-cache {kernel_cache}"), User(0), work);
    }
}
