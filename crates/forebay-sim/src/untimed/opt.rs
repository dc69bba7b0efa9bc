//! OPT, the bound: the fewest misses, had the future been known.

use super::Error;
use super::moments::Moments;
use super::passes::Passes;
use super::references::{Chunk, References};

/// The block is never referred to again.
const NEVER: u32 = u32::MAX;

/// How many moments are kept together: no list moves when a trace is long.
const CHUNK: usize = 1 << 20;

/// When the block of each reference is referred to next. Four bytes a reference, and no more than
/// four a block while they are found out.
#[derive(Debug, Default)]
pub(super) struct NextUses {
    chunks: Vec<Vec<u32>>,
}

impl NextUses {
    /// Reads all of `references`. `None` if it was ended early.
    pub(super) fn of(mut references: References, passes: &Passes<'_>) -> Result<Option<(NextUses, References)>, Error> {
        let mut next = NextUses::default();
        let mut last: Vec<u32> = Vec::new();
        let mut chunk = Chunk::default();
        let mut now = 0u32;
        while references.next(&mut chunk)? {
            last.resize(references.distinct() as usize, NEVER);
            for &key in &chunk.keys {
                let before = std::mem::replace(&mut last[key as usize], now);
                next.push(NEVER);
                if before != NEVER {
                    next.chunks[before as usize / CHUNK][before as usize % CHUNK] = now;
                }
                now = now.checked_add(1).filter(|&now| now < NEVER).ok_or(Error::TooLong)?;
            }
            let (done, all) = references.progress();
            if !passes.goes_on(done, all) {
                return Ok(None);
            }
        }
        Ok(Some((next, references)))
    }

    fn push(&mut self, moment: u32) {
        match self.chunks.last_mut() {
            Some(chunk) if chunk.len() < CHUNK => chunk.push(moment),
            _ => {
                let mut chunk = Vec::with_capacity(CHUNK);
                chunk.push(moment);
                self.chunks.push(chunk);
            }
        }
    }

    fn len(&self) -> usize {
        self.chunks.iter().map(Vec::len).sum()
    }
}

/// The misses of Belady's MIN ("A study of replacement algorithms for a virtual-storage computer",
/// IBM Systems Journal 1966) in `capacity` blocks: when a block comes in, the one goes whose next
/// use is farthest. Every block that is referred to comes in, as under all other policies here; one
/// that may pass by would save a little more.
///
/// A cached block is known by its next use alone: a reference is a hit if it *is* the next use of a
/// cached block. `None` if it was ended early.
pub(super) fn misses(next: &NextUses, capacity: u64, passes: &Passes<'_>) -> Option<u64> {
    let all = next.len();
    let mut cached = Moments::new(all);
    // Cached blocks without a next use: any of them goes first.
    let mut unwanted = 0u64;
    let (mut size, mut misses) = (0u64, 0u64);
    let mut now = 0u32;
    for chunk in &next.chunks {
        for &next in chunk {
            if cached.contains(now) {
                cached.remove(now);
            } else {
                misses += 1;
                if size < capacity {
                    size += 1;
                } else if unwanted > 0 {
                    unwanted -= 1;
                } else if let Some(farthest) = cached.last() {
                    cached.remove(farthest);
                }
            }
            if next == NEVER {
                unwanted += 1;
            } else {
                cached.insert(next);
            }
            now += 1;
        }
        if !passes.goes_on(u64::from(now), all as u64) {
            return None;
        }
    }
    Some(misses)
}
