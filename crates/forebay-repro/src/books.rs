//! The tale of a run's events and actions beyond its outcome: which prefetched pages were lost
//! before anybody read them, how large the fetches were, where the ceiling of the prefetch cache
//! went.
//!
//! Thrashing is counted exactly here: a page that was prefetched, is fetched again because somebody
//! waits for it, and was not read in between, however long ago it went. The core's own count is
//! what its eviction history still knows, which is short.

use std::collections::BTreeMap;

use forebay_core::{Action, Event, EventKind, Extent, FileId, Instant};

use forebay_sim::timed::{Outcome, Record};

/// Pages of a bucket of CPEM Fig. 11.
pub(crate) const BUCKET: u32 = 8;

/// The books of one run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Books {
    /// By file, a bit a block: prefetched, and not read since.
    unread: Vec<Vec<u64>>,
    /// Pages lost, by second of the run.
    lost: Vec<u32>,
    /// How many fetches, by size in buckets of [`BUCKET`] pages: 1 to 8, 9 to 16, …
    pub(crate) sizes: BTreeMap<u32, u64>,
    /// Open handles by file, and all.
    handles: BTreeMap<FileId, u32>,
    open: u32,
    /// The ceiling in blocks, from when on, in seconds.
    pub(crate) ceiling: Vec<(f64, u32)>,
    /// The most that a prefetch had, in pages, times the open files, over the ceiling at that
    /// moment: at most 1 by CPEM §4.2.
    pub(crate) most_of_share: f64,
}

impl Record for Books {
    fn record(&mut self, _level: usize, event: Event, actions: &[Action]) {
        for action in actions {
            if let Action::Fetch { extent, demand, .. } = action {
                self.fetched(event.at, *extent, *demand);
            }
        }
        match event.kind {
            EventKind::Read { file, offset, len, .. } => {
                let (from, to) = ((offset / PAGE) as u32, ((offset + u64::from(len)).div_ceil(PAGE)) as u32);
                (from..to).for_each(|block| self.note(file, block, false));
            }
            EventKind::Handles { file, handles } => self.opened(file, handles),
            EventKind::Close { file } => self.opened(file, 0),
            _ => {}
        }
    }

    fn ceiling(&mut self, _level: usize, at: Instant, blocks: u32) {
        self.ceiling.push((at.0 as f64 / 1e9, blocks));
    }
}

/// Bytes of a page: the servers of the papers have no other.
const PAGE: u64 = 4096;

impl Books {
    fn fetched(&mut self, at: Instant, extent: Extent, demand: Extent) {
        *self.sizes.entry(extent.len.saturating_sub(1) / BUCKET).or_default() += 1;
        let second = (at.0 / 1_000_000_000) as usize;
        if self.lost.len() <= second {
            self.lost.resize(second + 1, 0);
        }
        for block in extent.start..extent.end() {
            let wanted = (demand.start..demand.end()).contains(&block);
            if wanted && self.is_unread(extent.file, block) {
                self.lost[second] += 1;
            }
            self.note(extent.file, block, !wanted);
        }
        if extent.len > demand.len
            && let Some(&(_, ceiling)) = self.ceiling.last()
        {
            let share = f64::from(extent.len) * f64::from(self.open.max(1)) / f64::from(ceiling.max(1));
            self.most_of_share = self.most_of_share.max(share);
        }
    }

    fn opened(&mut self, file: FileId, handles: u32) {
        let before = self.handles.insert(file, handles).unwrap_or(0);
        self.open = self.open + handles - before;
    }

    fn is_unread(&self, file: FileId, block: u32) -> bool {
        let word = self.unread.get(file.index()).and_then(|blocks| blocks.get(block as usize / 64));
        word.is_some_and(|word| word >> (block % 64) & 1 == 1)
    }

    fn note(&mut self, file: FileId, block: u32, unread: bool) {
        let (file, word) = (file.index(), block as usize / 64);
        if !unread && self.unread.get(file).is_none_or(|blocks| blocks.len() <= word) {
            return;
        }
        if self.unread.len() <= file {
            self.unread.resize(file + 1, Vec::new());
        }
        let blocks = &mut self.unread[file];
        if blocks.len() <= word {
            blocks.resize(word + 1, 0);
        }
        let bit = 1 << (block % 64);
        blocks[word] = if unread { blocks[word] | bit } else { blocks[word] & !bit };
    }

    /// The run is over: what is needed no longer is let go.
    pub(crate) fn close(mut self) -> Books {
        (self.unread, self.handles) = (Vec::new(), BTreeMap::new());
        self
    }

    /// Pages lost a second, in the time that counts: the end of the run.
    pub(crate) fn thrashing(&self, outcome: &Outcome) -> f64 {
        let seconds = (outcome.seconds.ceil() as usize).clamp(1, self.lost.len().max(1));
        let counted: u32 = self.lost.iter().rev().take(seconds).sum();
        f64::from(counted) / seconds as f64
    }

    /// The share of fetches with at most `pages`.
    pub(crate) fn small(&self, pages: u32) -> f64 {
        let all: u64 = self.sizes.values().sum();
        let small: u64 = self.sizes.range(..pages.div_ceil(BUCKET)).map(|(_, count)| count).sum();
        if all == 0 { 0.0 } else { small as f64 / all as f64 }
    }

    /// The pages that all but a thousandth of the fetches do not exceed, rounded up to a bucket.
    pub(crate) fn largest(&self) -> u32 {
        let mut beyond = self.sizes.values().sum::<u64>() / 1000;
        for (&bucket, &count) in self.sizes.iter().rev() {
            if count > beyond {
                return (bucket + 1) * BUCKET;
            }
            beyond -= count;
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_core::{Cause, DeviceId, HandlerId, IoId, ReadId};

    fn extent(start: u32, len: u32) -> Extent {
        Extent { file: FileId(3), start, len }
    }

    fn fetch(books: &mut Books, demand: u32, len: u32) {
        let fetch = Action::Fetch {
            io: IoId(0),
            extent: extent(0, len),
            cause: Cause::Mixed,
            demand: extent(0, demand),
            hits: extent(0, 0),
            device: DeviceId(0),
        };
        books.record(0, Event { at: Instant(5_500_000_000), kind: EventKind::Tick }, &[fetch]);
    }

    #[test]
    fn a_page_is_lost_if_it_is_fetched_again_for_a_reader_and_was_not_read_in_between() {
        let mut books = Books::default();
        fetch(&mut books, 1, 16);
        let page = |offset| EventKind::Read {
            read: ReadId(0),
            handler: HandlerId(0),
            context: forebay_core::ContextId(0),
            file: FileId(3),
            offset,
            len: 4096,
        };
        books.record(0, Event { at: Instant(0), kind: page(4096) }, &[]);
        fetch(&mut books, 4, 4);
        assert_eq!(books.lost.iter().sum::<u32>(), 2, "the third and the fourth page");
        assert_eq!(books.thrashing(&Outcome { seconds: 2.0, ..Outcome::default() }), 1.0);
        assert_eq!((books.small(8), books.largest()), (0.5, 16));
    }
}
