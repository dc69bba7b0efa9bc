//! A mount over the last two minutes: what it said, and what follows from two sayings.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use forebay_live::stats::{Counts, Stats};
use serde::Serialize;

use super::mounts::Said;

/// Sayings that are kept.
const KEPT: usize = 121;

/// A mount, and what it said lately.
#[derive(Debug)]
pub(super) struct History {
    /// Its mount point, its control socket, or an address.
    pub(super) mount: PathBuf,
    /// When, and what, the latest last.
    pub(super) said: VecDeque<(Instant, Said)>,
    /// Since when it does not answer, and why.
    pub(super) gone: Option<(Instant, String)>,
}

/// Figures of the time between two sayings, of a mount or of one device.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub(super) struct Rates {
    /// Bytes a second of blocks that were read.
    pub(super) read_bytes: f64,
    /// Bytes a second that came from sources.
    pub(super) fetched_bytes: f64,
    /// Hits by all blocks that were read, if any was.
    pub(super) hit_ratio: Option<f64>,
    /// Blocks a second.
    pub(super) late_blocks: f64,
    /// Blocks a second.
    pub(super) wasted_blocks: f64,
}

impl History {
    pub(super) fn new(mount: PathBuf) -> History {
        History { mount, said: VecDeque::new(), gone: None }
    }

    /// Takes in an answer, or why there is none.
    pub(super) fn take(&mut self, at: Instant, answer: Result<Said, String>) {
        let said = match answer {
            Err(why) => {
                let since = self.gone.take().map_or(at, |(since, _)| since);
                self.gone = Some((since, why));
                return;
            }
            Ok(said) => said,
        };
        self.gone = None;
        // Counters that have gone down are another process'.
        if self.said.back().is_some_and(|(_, last)| referred(&said.stats.counts) < referred(&last.stats.counts)) {
            self.said.clear();
        }
        self.said.push_back((at, said));
        if self.said.len() > KEPT {
            self.said.pop_front();
        }
    }

    /// The latest saying.
    pub(super) fn last(&self) -> Option<&Said> {
        self.said.back().map(|(_, said)| said)
    }

    /// Rates from saying to saying, the latest last, of the counts that `of` picks.
    pub(super) fn rates(&self, of: impl Fn(&Stats) -> Option<Counts>) -> Vec<Rates> {
        let pairs = self.said.iter().zip(self.said.iter().skip(1));
        let rates = pairs.filter_map(|((before, was), (after, is))| {
            let block = is.stats.block_bytes;
            Some(Rates::between(&of(&was.stats)?, &of(&is.stats)?, after.duration_since(*before), block))
        });
        rates.collect()
    }

    /// The latest rates of the whole mount.
    pub(super) fn now(&self) -> Option<Rates> {
        let from = self.said.len().checked_sub(2)?;
        let ((before, was), (after, is)) = (&self.said[from], &self.said[from + 1]);
        let span = after.duration_since(*before);
        Some(Rates::between(&was.stats.counts, &is.stats.counts, span, is.stats.block_bytes))
    }
}

/// Blocks that were read.
pub(super) fn referred(counts: &Counts) -> u64 {
    counts.hits + counts.misses + counts.joined + counts.late
}

/// Hits by all blocks that were read, if any was.
pub(super) fn hit_ratio(counts: &Counts) -> Option<f64> {
    let all = referred(counts);
    (all > 0).then(|| counts.hits as f64 / all as f64)
}

impl Rates {
    fn between(before: &Counts, after: &Counts, span: Duration, block_bytes: u64) -> Rates {
        let seconds = span.as_secs_f64().max(1e-3);
        let more = |before: u64, after: u64| after.saturating_sub(before);
        let a_second = |before, after| more(before, after) as f64 / seconds;
        let read = more(referred(before), referred(after));
        Rates {
            read_bytes: (read * block_bytes) as f64 / seconds,
            fetched_bytes: a_second(before.fetched_bytes, after.fetched_bytes),
            hit_ratio: (read > 0).then(|| more(before.hits, after.hits) as f64 / read as f64),
            late_blocks: a_second(before.late, after.late),
            wasted_blocks: a_second(before.wasted, after.wasted),
        }
    }
}
