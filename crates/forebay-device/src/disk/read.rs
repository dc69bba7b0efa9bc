//! How a disk reads: from the cache, from the sweep under way, or from the media; and how far the
//! head reads on.

use super::Disk;
use crate::arm::{Bound, Landing, Sweep};
use crate::segment_cache::{ReadAhead, Run, sectors};

impl Disk {
    /// Reads `first..end`, asked for at `now`; returns when the host has them.
    pub(super) fn read(&mut self, now: f64, first: u64, end: u64) -> f64 {
        self.catch_up(now);
        let done = match self.on_board(first) {
            Some(run) if end <= run.high => self.hit(now, first, end, run),
            Some(run) => self.partial_hit(now, first, end, run),
            None => self.miss(now, first, end),
        };
        if !self.cache.keeps_read {
            self.segments.drop_before(end);
        }
        done + 1e6 * self.overheads.end_ms.0
    }

    /// The run that `first` is in, or that the head is about to read `first` into.
    fn on_board(&mut self, first: u64) -> Option<Run> {
        if let Some(run) = self.segments.find(first) {
            return Some(run);
        }
        let next = self.sweeping() && self.cache.joins_sweep && self.sweep.sector == first;
        if next { self.segments.ending(first) } else { None }
    }

    /// All of the request is on board.
    fn hit(&mut self, now: f64, first: u64, end: u64, run: Run) -> f64 {
        let bus = self.answer(now);
        if self.cache.read_ahead_on_hit {
            self.read_on(now, end, run);
        }
        bus + (end - first) as f64 * self.bus
    }

    /// When the first data that are on board go over the bus.
    fn answer(&self, now: f64) -> f64 {
        let data = 1e6 * self.overheads.data_ms;
        if self.busy > now && !self.cache.hits_while_writing {
            let (miss, disconnect) = (self.overheads.read_miss_ms, self.overheads.read_disconnect_ms);
            let command = now + miss.nanos(self.was_write) + disconnect.nanos(self.was_write);
            return command.max(self.busy) + 1e6 * self.overheads.reselect_ms.0 + data;
        }
        now + self.overheads.read_hit_ms.nanos(self.was_write) + data
    }

    /// After a hit, the head reads on from the end of the run, unless it is at work elsewhere.
    fn read_on(&mut self, now: f64, end: u64, run: Run) {
        let limit = self.read_limit(end, run.low);
        if self.sweeping() {
            if self.sweep.sector == run.high {
                self.sweep.limit = self.sweep.limit.max(limit);
            }
        } else if limit > run.high {
            // The segment was full and has room again: the head waits for the next sector to come
            // round.
            let at = self.land(now, run.high).begin;
            self.sweep = Sweep { sector: run.high, at, done: at, limit, write: false };
        }
    }

    /// The beginning is on board, or the head is at it.
    fn partial_hit(&mut self, now: f64, first: u64, end: u64, run: Run) -> f64 {
        let bus = self.answer(now);
        let joins = self.sweeping() && self.sweep.sector == run.high;
        let limit = if joins { self.sweep.limit } else { end };
        // A read that continues the sweep loses no revolution.
        let begin = if joins { self.sweep.at } else { self.land(now, run.high).begin };
        let sector = self.revolution() / self.arm.map.locate(run.high).sectors as f64;
        let media = self.take(begin, run.high, end, limit);
        // The sectors on board go first, the rest as the head reads them.
        let rest = (bus + (run.high - first) as f64 * self.bus).max(begin + sector);
        (rest + (end - run.high) as f64 * self.bus).max(media + self.bus)
    }

    /// Nothing is on board.
    fn miss(&mut self, now: f64, first: u64, end: u64) -> f64 {
        let command = now + self.overheads.read_miss_ms.nanos(self.was_write);
        let landing = self.land(now, first);
        if self.cache.reads_before && self.segments.exist() {
            let low = self.before(first, &landing);
            if low < first {
                self.segments.begin(low, first, false);
            }
        }
        let asked = end - first;
        let whole = self.take(landing.begin, first, end, end);
        let media = if self.cache.reads_on_arrival { self.on_arrival(&landing, asked, whole) } else { whole };
        // The first share of the request goes over the bus while the head reads the rest.
        let size = self.segments.size.max(1);
        let share = if self.cache.watermark_of_segment { size } else { asked.min(size) };
        let enough = ((share as f64 * self.cache.watermark) as u64).clamp(1, asked);
        let early = if enough < asked { (landing.begin + enough as f64 * landing.sector).min(media) } else { media };
        let disconnected = command + self.overheads.read_disconnect_ms.nanos(self.was_write);
        let bus = early.max(disconnected) + 1e6 * (self.overheads.reselect_ms.0 + self.overheads.data_ms);
        (bus + asked as f64 * self.bus).max(media + self.bus)
    }

    /// When the head is at `sector`, for a read that was asked for at `now`.
    fn land(&mut self, now: f64, sector: u64) -> Landing {
        let ready = (now + self.overheads.read_miss_ms.nanos(self.was_write)).max(self.busy);
        let from = self.head();
        let least = 1e6 * self.overheads.least_read_seek_ms;
        self.arm.land(&from, ready, sector, false, Bound { least, ..Bound::default() })
    }

    /// The head reads `from..end`, beginning at `begin`, and goes on to `limit` at least; returns
    /// when it is at `end`.
    fn take(&mut self, begin: f64, from: u64, end: u64, limit: u64) -> f64 {
        let sweep = Sweep { sector: from, at: begin, done: begin, limit: end, write: false };
        self.sweep = self.arm.advance(sweep, end, f64::INFINITY);
        self.segments.grow(from, end);
        let low = self.segments.ending(end).map_or(from, |run| run.low);
        self.sweep.limit = self.read_limit(end, low).max(limit);
        self.least = (end + sectors(self.cache.least_read_ahead_kib)).min(self.sweep.limit);
        self.sweep.done
    }

    /// How far the head reads on after a request that ended at `end`, in a run that begins at
    /// `low`.
    fn read_limit(&self, end: u64, low: u64) -> u64 {
        if !self.segments.exist() {
            return end;
        }
        let map = &self.arm.map;
        let most = match (self.cache.most_read_ahead_kib, self.cache.read_ahead) {
            (Some(kib), _) => sectors(kib),
            // The segment slides over the track.
            (None, ReadAhead::NextTrack) => u64::MAX,
            (None, _) => self.segments.size,
        };
        let limit = match self.cache.read_ahead {
            ReadAhead::None => end,
            ReadAhead::Segment => u64::MAX,
            ReadAhead::Track => map.track(end - 1).1,
            ReadAhead::Cylinder => map.cylinder(end - 1).1,
            ReadAhead::NextTrack => {
                let (first, last) = map.track(end);
                if low < first { map.track(last).1 } else { last }
            }
        };
        limit.min(end.saturating_add(most)).min(map.sectors()).max(end)
    }

    /// The first of the sectors that pass under the head, on the same track, while it waits for
    /// `first`.
    fn before(&self, first: u64, landing: &Landing) -> u64 {
        let passed = (landing.wait / landing.sector).floor() as u64;
        first - passed.min(first - self.arm.map.track(first).0)
    }

    /// The end of a read or write that takes `asked` sectors in the order in which they pass. If
    /// the head lands among them, those before that place come last, a revolution later. `whole` is
    /// the end in plain order. Sectors on several tracks gain nothing.
    pub(super) fn on_arrival(&self, landing: &Landing, asked: u64, whole: f64) -> f64 {
        let inside = self.revolution() - landing.wait;
        if asked > landing.place.left || inside >= asked as f64 * landing.sector {
            return whole;
        }
        (landing.begin + (inside / landing.sector).ceil() * landing.sector).min(whole)
    }
}
