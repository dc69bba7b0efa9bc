//! How a disk writes: its data come over the bus into a segment, and go from there to the media.
//! With write-back the host is done once they are in the segment, and the arm is busy for as long
//! as it takes; the next request but one that continues has to wait for it.

use super::Disk;
use crate::arm::{Bound, Sweep};

/// The moments of a write's command.
struct Command {
    /// The arm may start.
    ready: f64,
    /// The data come over the bus.
    bus: f64,
    /// How long the disk takes to let go of the bus after the data, and to take it again for the
    /// end.
    release: f64,
    again: f64,
}

impl Disk {
    /// Writes `first..end`, asked for at `now`; returns when the host's part is over.
    pub(super) fn write(&mut self, now: f64, first: u64, end: u64) -> f64 {
        self.catch_up(now);
        let back = self.cache.write_back && self.segments.exist();
        let follows = self.was_write && self.sweep.write && self.sweep.sector == first;
        let joins = back && follows && self.cache.appends && self.busy > now;
        let command = self.command(now, back, follows, joins);
        let asked = end - first;
        let data = command.bus + asked as f64 * self.bus;
        let media = if joins && self.sweep.at >= command.bus + self.bus {
            // The data are there before the head is.
            self.put(self.sweep.at, first, end)
        } else {
            self.place(&command, first, end, follows)
        };
        self.remember(first, end, joins);
        let ended = 1e6 * self.overheads.end_ms.1;
        if back {
            self.busy = media;
            return self.room(data, media, asked) + ended;
        }
        self.busy = 0.0;
        (data + command.release).max(media) + command.again + ended
    }

    fn command(&self, now: f64, back: bool, follows: bool, joins: bool) -> Command {
        let o = &self.overheads;
        let prepare = 1e6 * (o.reselect_ms.0 + o.data_ms);
        if let Some(early) = o.early_disconnect.filter(|_| self.was_write && !follows) {
            let command = now + 1e6 * early.command_ms;
            let again = command + 1e6 * (early.disconnect_ms + early.between_ms);
            let ready = command + 1e6 * early.seek_ms;
            let (release, later) = (1e6 * early.second_ms, 1e6 * o.reselect_ms.1);
            return Command { ready, bus: again.max(self.busy) + prepare, release, again: later };
        }
        let over = if back { o.write_hit_ms } else { o.write_miss_ms };
        let ready = now + over.nanos(self.was_write);
        let (release, again) = (1e6 * o.write_disconnect_ms, 1e6 * o.reselect_ms.0);
        let bus = match joins || self.busy <= now {
            true => ready + 1e6 * o.data_ms,
            false => (ready + release).max(self.busy) + prepare,
        };
        Command { ready, bus, release, again }
    }

    /// The arm goes to `first` and writes; it writes no sector before the sector's data are there.
    fn place(&mut self, command: &Command, first: u64, end: u64, follows: bool) -> f64 {
        let from = self.head();
        let asked = end - first;
        let sector = self.revolution() / self.arm.map.locate(first).sectors as f64;
        // If the bus is the slower one, the last sector's data must be there in time as well.
        let lag = (self.bus - sector).max(0.0) * (asked - 1) as f64;
        let least = if follows { 0.0 } else { 1e6 * self.overheads.least_write_seek_ms };
        let earliest = command.bus + self.bus + lag;
        let ready = command.ready.max(self.busy);
        let landing = self.arm.land(&from, ready, first, true, Bound { least, earliest });
        let whole = self.put(landing.begin, first, end);
        if self.cache.writes_on_arrival { self.on_arrival(&landing, asked, whole) } else { whole }
    }

    fn put(&mut self, begin: f64, first: u64, end: u64) -> f64 {
        let sweep = Sweep { sector: first, at: begin, done: begin, limit: end, write: true };
        self.sweep = self.arm.advance(sweep, end, f64::INFINITY);
        self.sweep.done
    }

    /// Puts the written run on board.
    fn remember(&mut self, first: u64, end: u64, joins: bool) {
        let before = if joins { self.segments.ending(first).map_or(first, |run| run.low) } else { first };
        self.segments.invalidate(before, end);
        // Written data take a segment even if they may not be read.
        self.segments.begin(if self.cache.keeps_written { before } else { end }, end, true);
    }

    /// When all data are on board of a write that is larger than a segment: the media must have
    /// taken some.
    fn room(&self, data: f64, media: f64, asked: u64) -> f64 {
        if asked <= self.segments.size {
            return data;
        }
        let sector = self.revolution() / self.head().sectors as f64;
        data.max(media - self.segments.size as f64 * sector + self.bus)
    }
}
