//! Mounts whose kernel keeps the bytes of reads: the same bytes, the same versions, and each
//! fetched once.

use std::fs::File;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

use forebay_live::engine::Referenced;
use forebay_live::stats::Stats;
use forebay_live::tree::STATS_XATTR;
use forebay_testkit::mounts;
use forebay_testkit::trees::content;
use rustix::fs::{Advice, OFlags};

use crate::{Mirror, MountOptions, errno, forgetful};

const LEN: usize = 3_000_017;

fn mirror(options: MountOptions, fill: impl FnOnce(&Path)) -> Mirror {
    Mirror::with(options, Referenced::HandedOn, fill)
}

fn write(file: &Path, version: u64) {
    std::fs::write(file, content(version, LEN)).unwrap();
}

fn stats(mirror: &Mirror) -> Stats {
    let mut value = vec![0; 64 << 10];
    let len = rustix::fs::getxattr(mirror.mounted.point(), STATS_XATTR, value.as_mut_slice()).unwrap();
    serde_json::from_slice(&value[..len]).unwrap()
}

#[test]
fn the_kernel_keeps_what_was_read_and_the_engine_does_not() {
    if !mounts::possible() {
        return;
    }
    let mirror = mirror(MountOptions::default(), |source| write(&source.join("f"), 1));
    for _ in 0..3 {
        assert!(std::fs::read(mirror.here("f")).unwrap() == content(1, LEN));
    }
    let seen = stats(&mirror);
    assert_eq!(seen.referenced, Referenced::HandedOn);
    let blocks = LEN.div_ceil(4096) as u64;
    assert_eq!(seen.counts.fetched_bytes, blocks * 4096, "once");
    let references = seen.counts.hits + seen.counts.misses + seen.counts.joined + seen.counts.late;
    assert_eq!(references, blocks, "what the kernel has it does not ask for");
    assert_eq!(seen.frames, seen.frames_free, "all of it was read");
}

/// Reads of any shape, by the page cache and past it.
#[test]
fn positioned_reads_by_the_page_cache_and_past_it() {
    if !mounts::possible() {
        return;
    }
    let whole = content(2, LEN);
    let mirror = mirror(MountOptions::default(), |source| write(&source.join("f"), 2));
    for flags in [0, OFlags::DIRECT.bits() as i32] {
        let file = File::options().read(true).custom_flags(flags).open(mirror.here("f")).unwrap();
        for offset in [0, 1, 4095, 4096, 1 << 20, 2_000_001, LEN - 1, LEN, LEN + 1] {
            for want in [1, 7, 4096, 131_072, LEN] {
                let mut buffer = vec![0; want];
                let mut read = 0;
                // Past the page cache a read may be cut short at the largest request.
                while read < want {
                    match file.read_at(&mut buffer[read..], (offset + read) as u64).unwrap() {
                        0 => break,
                        got => read += got,
                    }
                }
                let expected = whole.get(offset..).unwrap_or_default();
                assert!(buffer[..read] == expected[..want.min(expected.len())], "{want} bytes at {offset}");
            }
        }
    }
}

/// The kernel serves its pages of an old version to programs that have that open, as Forebay's own
/// cache does. Other pages of that version are `ESTALE`. The two versions are never mixed.
#[test]
fn pages_of_two_versions_are_never_mixed() {
    if !mounts::possible() {
        return;
    }
    let hour = Duration::from_secs(3600);
    for options in [forgetful(), MountOptions { ttl: hour, negative_ttl: hour, ..MountOptions::default() }] {
        let mirror = mirror(options, |source| write(&source.join("f"), 3));
        let old = File::open(mirror.here("f")).unwrap();
        let mut page = vec![0; 4096];
        old.read_exact_at(&mut page, 0).unwrap();
        write(&mirror.there("f"), 4);
        assert!(std::fs::read(mirror.here("f")).unwrap() == content(4, LEN), "a new open has the new bytes");
        old.read_exact_at(&mut page, 0).unwrap();
        assert!(page == content(3, LEN)[..4096], "the old one keeps what was read");
        assert_eq!(errno(old.read_at(&mut page, 2 << 20)), Some(libc::ESTALE), "and has no more of it");
        rustix::fs::fadvise(&old, 0, None, Advice::DontNeed).unwrap();
        assert_eq!(errno(old.read_at(&mut page, 0)), Some(libc::ESTALE), "what the kernel drops is gone");
        assert!(std::fs::read(mirror.here("f")).unwrap() == content(4, LEN));
    }
}

#[test]
fn a_truncated_file_has_its_new_end() {
    if !mounts::possible() {
        return;
    }
    let mirror = mirror(forgetful(), |source| write(&source.join("f"), 5));
    let old = File::open(mirror.here("f")).unwrap();
    assert!(std::fs::read(mirror.here("f")).unwrap() == content(5, LEN));
    let there = File::options().write(true).open(mirror.there("f")).unwrap();
    for len in [1_000_001, 4096, 0, 5000] {
        there.set_len(len).unwrap();
        let mut expected = content(5, LEN);
        // Bytes that were cut off are zero if they come back.
        expected.truncate(if len == 5000 { 0 } else { len as usize });
        expected.resize(len as usize, 0);
        assert!(std::fs::read(mirror.here("f")).unwrap() == expected, "{len} bytes");
    }
    let mut page = vec![0; 4096];
    old.read_exact_at(&mut page, 2 << 20).unwrap();
    assert!(page == content(5, LEN)[2 << 20..][..4096], "who has the old version open has its pages");
}
