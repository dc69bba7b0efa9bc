//! The places of a file's bytes on its disk: the kernel's extent map (`FS_IOC_FIEMAP`).

use std::os::fd::{AsRawFd, OwnedFd};

use crate::Run;

/// The most runs that are asked for. A file in more pieces than that is known by its first ones
/// only.
const MOST: usize = 512;

/// Extents that are asked for in one call.
const BATCH: usize = 64;

/// `struct fiemap_extent` of `linux/fiemap.h`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct FiemapExtent {
    logical: u64,
    physical: u64,
    length: u64,
    reserved64: [u64; 2],
    flags: u32,
    reserved: [u32; 3],
}

/// `struct fiemap` of `linux/fiemap.h`, with room for a batch.
#[repr(C)]
struct Fiemap {
    start: u64,
    length: u64,
    flags: u32,
    mapped: u32,
    count: u32,
    reserved: u32,
    extents: [FiemapExtent; BATCH],
}

/// `FS_IOC_FIEMAP` = `_IOWR('f', 11, struct fiemap)`; the size counted is that of the head, 32
/// bytes.
const FS_IOC_FIEMAP: u32 = 3 << 30 | 32 << 16 | (b'f' as u32) << 8 | 11;
const LAST: u32 = 0x1;
/// Extents without an address of their own: unknown, not yet allocated, encoded, inside a block
/// with other data, not written.
const NOWHERE: u32 = 0x2 | 0x4 | 0x8 | 0x200 | 0x400 | 0x800;

/// The runs of a file, neighbours merged. Empty where the file system does not tell.
pub(super) fn runs(file: &OwnedFd) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    let mut start = 0;
    while runs.len() < MOST {
        let Some(extents) = extents(file, start) else { break };
        for extent in &extents {
            start = extent.logical.saturating_add(extent.length);
            if extent.flags & NOWHERE == 0 && runs.len() < MOST {
                add(&mut runs, Run { offset: extent.logical, len: extent.length, at_byte: extent.physical });
            }
        }
        if extents.last().is_none_or(|last| last.flags & LAST != 0 || last.length == 0) {
            break;
        }
    }
    runs
}

fn add(runs: &mut Vec<Run>, run: Run) {
    match runs.last_mut() {
        Some(last) if last.offset + last.len == run.offset && last.at_byte + last.len == run.at_byte => {
            last.len += run.len
        }
        _ => runs.push(run),
    }
}

fn extents(file: &OwnedFd, start: u64) -> Option<Vec<FiemapExtent>> {
    let mut map = Fiemap {
        start,
        length: u64::MAX - start,
        flags: 0,
        mapped: 0,
        count: BATCH as u32,
        reserved: 0,
        extents: [FiemapExtent::default(); BATCH],
    };
    // SAFETY: the kernel writes into the head and at most `count` extents behind it, all of which
    // are in `map`.
    let outcome = unsafe { libc::ioctl(file.as_raw_fd(), FS_IOC_FIEMAP as _, &raw mut map) };
    (outcome == 0).then(|| map.extents[..(map.mapped as usize).min(BATCH)].to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_merged_and_others_are_not() {
        let mut runs = Vec::new();
        for (offset, len, at_byte) in [(0, 4, 100), (4, 4, 104), (8, 4, 200), (20, 4, 212)] {
            add(&mut runs, Run { offset, len, at_byte });
        }
        let runs: Vec<_> = runs.iter().map(|run| (run.offset, run.len, run.at_byte)).collect();
        assert_eq!(runs, [(0, 8, 100), (8, 4, 200), (20, 4, 212)]);
    }
}
