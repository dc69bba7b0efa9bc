//! A disk's on-board cache: a few segments, each a run of sectors that was read or written last,
//! with those that the head went on to read after it. The least recently used segment is given to
//! the next new run.

use serde::{Deserialize, Serialize};

use crate::zones::SECTOR;

/// The cache as it is written in a description. No segments: no cache, no read-ahead, and writes go
/// to the media at once.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cache {
    /// How many runs it holds.
    pub segments: u32,
    /// KiB of each.
    pub segment_kib: f64,
    /// How far the head reads on after a request.
    #[serde(default)]
    pub read_ahead: ReadAhead,
    /// KiB beyond a request that it reads at the most. If not given: a segment, or with
    /// `next-track` to the end of that track. A segment that is smaller keeps the last sectors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_read_ahead_kib: Option<f64>,
    /// KiB beyond a request that it reads before anything else.
    #[serde(default)]
    pub least_read_ahead_kib: f64,
    /// Whether it reads on after a request that was on board as a whole, too.
    #[serde(default = "yes")]
    pub read_ahead_on_hit: bool,
    /// Whether a request for the sector under the head joins the sweep, rather than only those for
    /// sectors before it.
    #[serde(default = "yes")]
    pub joins_sweep: bool,
    /// Whether the sectors that pass under the head before the request, on the same track, are
    /// kept.
    #[serde(default)]
    pub reads_before: bool,
    /// Whether the host's data stay on board once the host has them.
    #[serde(default = "yes")]
    pub keeps_read: bool,
    /// Whether a write is done as soon as its data are on board.
    #[serde(default = "yes")]
    pub write_back: bool,
    /// Whether a write that continues the one under way joins it.
    #[serde(default = "yes")]
    pub appends: bool,
    /// Whether written data may be read from the cache.
    #[serde(default = "yes")]
    pub keeps_written: bool,
    /// Whether reads are answered from the cache while the arm writes.
    #[serde(default = "yes")]
    pub hits_while_writing: bool,
    /// Whether all writes share one segment of their own.
    #[serde(default)]
    pub own_write_segment: bool,
    /// The share of a request (at most a segment) that must be on board before its data go over the
    /// bus.
    #[serde(default)]
    pub watermark: f64,
    /// Whether that is a share of a segment instead.
    #[serde(default)]
    pub watermark_of_segment: bool,
    /// Whether the sectors of a read within one track are taken as they come, the first one last if
    /// the head lands in it.
    #[serde(default)]
    pub reads_on_arrival: bool,
    /// The same of a write.
    #[serde(default)]
    pub writes_on_arrival: bool,
}

/// How far a head reads on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReadAhead {
    /// Not at all.
    None,
    /// To the end of the track.
    Track,
    /// To the end of the cylinder.
    Cylinder,
    /// Until the segment is full.
    #[default]
    Segment,
    /// To the end of the track, or of the next one if the run began on an earlier track: a track
    /// ahead of a sequential reader.
    NextTrack,
}

fn yes() -> bool {
    true
}

impl Cache {
    /// `segments` of `segment_kib` each that behave as most do.
    pub fn new(segments: u32, segment_kib: f64) -> Cache {
        Cache {
            segments,
            segment_kib,
            read_ahead: ReadAhead::Segment,
            most_read_ahead_kib: None,
            least_read_ahead_kib: 0.0,
            read_ahead_on_hit: true,
            joins_sweep: true,
            reads_before: false,
            keeps_read: true,
            write_back: true,
            appends: true,
            keeps_written: true,
            hits_while_writing: true,
            own_write_segment: false,
            watermark: 0.0,
            watermark_of_segment: false,
            reads_on_arrival: false,
            writes_on_arrival: false,
        }
    }

    /// Whether the cache keeps anything.
    pub fn is_there(&self) -> bool {
        self.segments > 0 && sectors(self.segment_kib) > 0
    }

    /// The fault in it, if any.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        let sizes = [self.segment_kib, self.least_read_ahead_kib, self.most_read_ahead_kib.unwrap_or(0.0)];
        if !sizes.iter().all(|kib| (0.0..=1e10).contains(kib)) {
            return Err("sizes in `cache` must be 0 to 10,000,000,000 KiB");
        }
        if !(0.0..=1.0).contains(&self.watermark) {
            return Err("`cache.watermark` must be 0 to 1");
        }
        if self.segments > 1 << 16 {
            return Err("`cache.segments` must be at most 65,536");
        }
        Ok(())
    }
}

impl Default for Cache {
    /// No cache.
    fn default() -> Cache {
        Cache::new(0, 0.0)
    }
}

/// Whole sectors of so many KiB.
pub(crate) fn sectors(kib: f64) -> u64 {
    (kib * 1024.0 / SECTOR as f64).round() as u64
}

/// A run of sectors on board: `low..high`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Run {
    pub(crate) low: u64,
    pub(crate) high: u64,
    written: bool,
}

/// The runs, most recently used last.
#[derive(Clone, Debug)]
pub(crate) struct Segments {
    runs: Vec<Run>,
    most: usize,
    /// Sectors of a segment.
    pub(crate) size: u64,
    own_write_segment: bool,
}

impl Segments {
    pub(crate) fn new(cache: &Cache) -> Segments {
        let most = if cache.is_there() { cache.segments as usize } else { 0 };
        let own_write_segment = cache.own_write_segment && most > 1;
        Segments { runs: Vec::with_capacity(most), most, size: sectors(cache.segment_kib), own_write_segment }
    }

    /// Whether there are any.
    pub(crate) fn exist(&self) -> bool {
        self.most > 0
    }

    /// The run that holds `sector`, and the most after it; it becomes the most recently used.
    pub(crate) fn find(&mut self, sector: u64) -> Option<Run> {
        let holds = |(_, run): &(usize, &Run)| run.low <= sector && sector < run.high;
        let (at, _) = self.runs.iter().enumerate().filter(holds).max_by_key(|(_, run)| run.high)?;
        Some(self.touch(at))
    }

    /// The run that ends at `sector`; it becomes the most recently used.
    pub(crate) fn ending(&mut self, sector: u64) -> Option<Run> {
        let at = self.runs.iter().rposition(|run| run.high == sector)?;
        Some(self.touch(at))
    }

    fn touch(&mut self, at: usize) -> Run {
        self.runs[at..].rotate_left(1);
        self.runs[self.runs.len() - 1]
    }

    /// The head has read on from `from` to `to`: the run that ends at `from` grows and loses its
    /// oldest sectors, or a new one begins.
    pub(crate) fn grow(&mut self, from: u64, to: u64) {
        if self.most == 0 || from >= to {
            return;
        }
        match self.runs.iter().rposition(|run| run.high == from && !run.written) {
            Some(at) => {
                self.touch(at);
                let size = self.size;
                if let Some(run) = self.runs.last_mut() {
                    (run.low, run.high) = (run.low.max(to.saturating_sub(size)), to);
                }
            }
            None => self.begin(from, to, false),
        }
    }

    /// A new run, in the place of the least recently used one; of a long one, the end stays.
    pub(crate) fn begin(&mut self, low: u64, high: u64, written: bool) {
        if self.most == 0 {
            return;
        }
        let of_its_kind = |run: &Run| run.written == written;
        let room = match self.own_write_segment {
            true if written => 1,
            true => self.most - 1,
            false => self.most,
        };
        let held = match self.own_write_segment {
            true => self.runs.iter().filter(|run| of_its_kind(run)).count(),
            false => self.runs.len(),
        };
        if held >= room {
            let oldest = self.runs.iter().position(|run| !self.own_write_segment || of_its_kind(run));
            self.runs.remove(oldest.unwrap_or(0));
        }
        self.runs.push(Run { low: low.max(high.saturating_sub(self.size)), high, written });
    }

    /// `first..end` has been written: other runs' data of it are out of date.
    pub(crate) fn invalidate(&mut self, first: u64, end: u64) {
        self.runs.retain(|run| run.high <= first || end <= run.low);
    }

    /// The host has the data before `sector` of the run in use: they may go.
    pub(crate) fn drop_before(&mut self, sector: u64) {
        if let Some(run) = self.runs.last_mut() {
            run.low = run.low.max(sector.min(run.high));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn high(run: Option<Run>) -> Option<u64> {
        run.map(|run| run.high)
    }

    #[test]
    fn runs_grow_slide_and_are_replaced() {
        let mut cache = Segments::new(&Cache::new(2, 1.0)); // two sectors each
        cache.grow(10, 11);
        cache.grow(11, 13);
        assert_eq!([10, 11, 13].map(|sector| high(cache.find(sector))), [None, Some(13), None]);
        assert_eq!(high(cache.ending(13)), Some(13));
        cache.grow(50, 51);
        cache.find(12);
        cache.grow(90, 91);
        assert_eq!([12, 50, 90].map(|sector| high(cache.find(sector))), [Some(13), None, Some(91)]);
    }

    #[test]
    fn writes_make_runs_stale_and_may_have_a_segment_of_their_own() {
        let mut cache = Segments::new(&Cache { own_write_segment: true, ..Cache::new(3, 8.0) });
        cache.grow(0, 8);
        cache.grow(100, 108);
        for first in [200, 300, 400] {
            cache.begin(first, first + 4, true);
        }
        assert_eq!([0, 100, 200, 300, 400].map(|s| cache.find(s).is_some()), [true, true, false, false, true]);
        cache.invalidate(7, 9);
        assert_eq!([0, 100].map(|s| cache.find(s).is_some()), [false, true]);
    }

    #[test]
    fn nothing_is_kept_without_segments() {
        let mut cache = Segments::new(&Cache::default());
        cache.grow(1, 2);
        cache.begin(5, 6, true);
        assert!(!cache.exist() && cache.find(1).is_none() && cache.find(5).is_none());
    }
}
