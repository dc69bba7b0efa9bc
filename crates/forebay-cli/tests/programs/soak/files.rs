//! The files of the soak: bytes that the name and the version determine, and what is known of
//! versions.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How many files there are.
pub(super) const FILES: usize = 160;

/// Names and attributes may count as unchanged for a second (`--ttl`), from an answer on that a
/// faulty store may have delayed by its patience. An open gets no version that was replaced before.
const FRESH: Duration = Duration::from_secs(60);

const PAGE: usize = 4096;
const BASE: usize = 1 << 20;

/// Draws from a seed.
#[derive(Clone, Debug)]
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        (mixed(self.0) % bound as u64) as usize
    }
}

/// The finaliser of SplitMix64.
fn mixed(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

pub(super) fn name(file: usize) -> String {
    format!("file-{file:03}")
}

/// Between 1 and 3 MiB, of any number of bytes; another one for each version.
pub(super) fn len(file: usize, version: usize) -> usize {
    (1 << 20) + mixed((file as u64) << 32 | version as u64) as usize % (2 << 20)
}

/// A page of a file is a piece of one random megabyte, from a place that file, version and page
/// choose. So a page is compared by one call.
pub(super) struct Bytes {
    base: Vec<u8>,
}

impl Bytes {
    pub(super) fn new() -> Bytes {
        Bytes { base: forebay_testkit::trees::content(1, BASE + PAGE) }
    }

    fn page(&self, file: usize, version: usize, page: usize) -> &[u8] {
        let place = mixed((file as u64) << 48 | (version as u64) << 24 | page as u64) as usize % BASE;
        &self.base[place..][..PAGE]
    }

    /// A version as a whole.
    pub(super) fn whole(&self, file: usize, version: usize) -> Vec<u8> {
        let len = len(file, version);
        let pages = (0..len.div_ceil(PAGE)).flat_map(|page| self.page(file, version, page).iter().copied());
        pages.take(len).collect()
    }

    /// Whether a read of at most `asked` bytes at a place gives these bytes of a version.
    pub(super) fn are(&self, file: usize, version: usize, at: usize, asked: usize, got: &[u8]) -> bool {
        if got.len() != len(file, version).saturating_sub(at).min(asked) {
            return false;
        }
        let (mut at, mut rest) = (at, got);
        while !rest.is_empty() {
            let inside = at % PAGE;
            let (now, later) = rest.split_at(rest.len().min(PAGE - inside));
            if now != &self.page(file, version, at / PAGE)[inside..][..now.len()] {
                return false;
            }
            (at, rest) = (at + now.len(), later);
        }
        true
    }
}

/// When the versions of a file were made. The first ones were there before.
#[derive(Debug, Default)]
struct Made {
    begun: Vec<Instant>,
    done: Vec<Instant>,
}

/// The versions of all files, numbered from 0 on.
#[derive(Debug)]
pub(super) struct Versions(Vec<Mutex<Made>>);

impl Versions {
    pub(super) fn new() -> Versions {
        Versions((0..FILES).map(|_| Mutex::default()).collect())
    }

    fn of<T>(&self, file: usize, with: impl FnOnce(&mut Made) -> T) -> T {
        with(&mut self.0[file].lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A version begins to replace the one before. Returns its number.
    pub(super) fn begin(&self, file: usize) -> usize {
        self.of(file, |made| {
            made.begun.push(Instant::now());
            made.begun.len() - 1
        })
    }

    /// The version that was begun last is there.
    pub(super) fn done(&self, file: usize) {
        self.of(file, |made| made.done.push(Instant::now()));
    }

    /// The versions that one may read that opened the file at that time, until now.
    pub(super) fn possible(&self, file: usize, opened: Instant) -> std::ops::Range<usize> {
        self.of(file, |made| {
            let old = made.done.iter().rposition(|&done| done + FRESH <= opened);
            old.unwrap_or(0)..made.begun.len()
        })
    }

    /// Whether a version came since a moment, or shortly before.
    pub(super) fn changed(&self, file: usize, since: Instant) -> bool {
        self.of(file, |made| made.begun.iter().skip(1).any(|&begun| begun + FRESH > since))
    }

    /// How many versions followed the first ones.
    pub(super) fn changes(&self) -> usize {
        (0..FILES).map(|file| self.of(file, |made| made.done.len()) - 1).sum()
    }

    /// The newest version.
    pub(super) fn newest(&self, file: usize) -> usize {
        self.of(file, |made| made.done.len()) - 1
    }
}
