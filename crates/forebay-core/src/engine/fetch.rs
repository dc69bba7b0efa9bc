//! Fetches: issued, called off, arrived, failed.

use alloc::vec::Vec;
use core::mem;

use super::Engine;
use crate::event::{Action, Actions, CALLED_OFF, Cause};
use crate::frames::flag;
use crate::index::Index;
use crate::inflight::Fetch;
use crate::level;
use crate::replacement::Replacement;
use crate::types::{BlockKey, Extent, FileId, Instant, IoId, ReadId, StreamId};

impl<R: Replacement, I: Index> Engine<R, I> {
    /// Issues a fetch for each of `runs`; the read waits for those that have a part of it.
    pub(super) fn issue(&mut self, at: Instant, read: ReadId, stream: StreamId, out: &mut Actions) {
        let runs = mem::take(&mut self.runs);
        let label = self.inflight.read(read).map(|read| read.label()).unwrap_or_default();
        for &extent in &runs {
            // A run of demand may have been lengthened by prefetch: what the read waits for is what
            // it has pinned.
            let pinned = extent.keys().take_while(|&key| self.is_pinned(key)).count() as u32;
            let demand = label.demanded(Extent { len: pinned, ..extent });
            let Some(io) = self.start(at, extent, demand, stream, out) else { continue };
            if pinned > 0 {
                self.inflight.wait(at, read, io);
            }
        }
        self.runs = runs;
    }

    fn is_pinned(&self, key: BlockKey) -> bool {
        self.resident(key).is_some_and(|slot| self.directory.frames.pins(slot) > 0)
    }

    /// Hands a fetch to the driver. Its frames are assigned already and learn which fetch fills
    /// them.
    fn start(
        &mut self,
        at: Instant,
        extent: Extent,
        demand: Extent,
        stream: StreamId,
        out: &mut Actions,
    ) -> Option<IoId> {
        let file = self.files.get_mut(extent.file)?;
        file.fetches += 1;
        let device = file.device_of(extent.start);
        let known = self.streams.get_mut(stream).filter(|stream| stream.file == extent.file);
        let (handler, hits) = known.map(|stream| (stream.handler, level::note(stream, demand))).unwrap_or_default();
        let io = self.inflight.issue(Fetch::new(at, extent, demand, stream, handler, device));
        for key in extent.keys() {
            if let Some(slot) = self.resident(key) {
                self.directory.frames.set_owner(slot, StreamId(io.0));
            }
        }
        if let Some(reclaimer) = &mut self.reclaimer {
            reclaimer.fetches(handler, at);
        }
        let entry = &mut self.devices[device.index()];
        entry.company.uses(stream, entry.under_way);
        entry.under_way += 1;
        entry.counters.fetches += 1;
        if !demand.is_empty() {
            entry.is_needed(at);
        }
        let cause = match demand.len {
            0 => Cause::Prefetch,
            len if len == extent.len => Cause::Demand,
            _ => Cause::Mixed,
        };
        out.push(Action::Fetch { io, extent, cause, demand, hits, device });
        Some(io)
    }

    /// Asks for what is under way for `file` and nobody waits for not to be brought after all.
    pub(super) fn call_off(&mut self, file: FileId, out: &mut Actions) {
        if self.files.get(file).is_some_and(|file| file.fetches > 0) {
            self.inflight.call_off(file, |io| out.push(Action::CallOff { io }));
        }
    }

    /// A fetch brought everything.
    pub(super) fn arrived(&mut self, io: IoId, out: &mut Actions) {
        let mut woken = mem::take(&mut self.woken);
        woken.clear();
        if let Some(fetch) = self.inflight.over(io, &mut woken) {
            self.leave_device(&fetch);
            self.move_head(&fetch);
            self.settle(&fetch, fetch.extent);
            self.hears_arrival(&fetch);
            self.waited_for(&fetch, out);
            self.hand_on(fetch.extent, out);
            self.wake(&woken, out);
            self.forget_if_idle(fetch.extent.file, out);
        }
        self.woken = woken;
    }

    /// A fetch brought its first `valid` blocks. Readers of the next one get the error; for whoever
    /// wants only later ones these are fetched anew. What nobody waited for when the fetch was
    /// issued the driver tried but once, so for whoever wants it by now it is fetched anew, too.
    pub(super) fn failed(&mut self, at: Instant, io: IoId, valid: u32, error: i32, out: &mut Actions) {
        let mut waiters = Vec::new();
        let Some(fetch) = self.inflight.over(io, &mut waiters) else { return };
        self.leave_device(&fetch);
        let called_off = fetch.called_off && error == CALLED_OFF;
        if !called_off {
            self.move_head(&fetch);
            self.devices[fetch.device.index()].counters.failures += 1;
        }
        let Extent { file, start, .. } = fetch.extent;
        let bad = start + valid.min(fetch.extent.len);
        let good = Extent::between(file, start, bad);
        self.settle(&fetch, good);
        if !called_off {
            self.waited_for(&fetch, out);
        }
        if bad < fetch.demand.end() {
            self.fail_readers(Extent::between(file, bad, bad + 1), error, &waiters, out);
        }
        self.hand_on(good, out);
        let rest = Extent::between(file, bad, fetch.extent.end());
        if called_off {
            self.spare(&fetch, rest);
        }
        self.fetch_anew(at, &fetch, rest, &waiters, out);
        if let Some(stream) = self.streams.get_mut(fetch.stream).filter(|stream| stream.file == file) {
            self.prefetcher.lost(fetch.stream, bad);
            if called_off {
                // Should it go on after all, it misses here, and has lost nothing.
                stream.ahead = stream.ahead.min(bad).max(stream.next);
            } else {
                // Back to slow start.
                stream.piece = 0;
            }
        }
        self.forget_if_idle(file, out);
    }

    /// Books the blocks of `rest` that nobody has asked for meanwhile as called off: they are not
    /// wasted.
    fn spare(&mut self, fetch: &Fetch, rest: Extent) {
        for key in rest.keys() {
            let Some(slot) = self.resident(key) else { continue };
            if self.directory.frames.has(slot, flag::PREFETCHED) {
                self.no_longer_under_way(slot);
                self.directory.frames.clear(slot, flag::PREFETCHED);
                self.devices[fetch.device.index()].counters.called_off += 1;
            }
        }
    }

    /// The reads among `waiters` that want a block of `bad` have failed: they let go of their
    /// frames.
    fn fail_readers(&mut self, bad: Extent, error: i32, waiters: &[ReadId], out: &mut Actions) {
        for &id in waiters {
            let Some(read) = self.inflight.read_mut(id).filter(|read| overlap(read.extent, bad)) else { continue };
            read.error = Some(error);
            if mem::take(&mut read.admitted) {
                let extent = read.extent;
                self.unpin_all(extent);
                self.hand_on(extent, out);
            }
        }
    }

    /// Of `rest`, which did not arrive, fetches again what `waiters` want and frees the frames of
    /// the others. Waiters that want none of it waited for what did arrive.
    fn fetch_anew(&mut self, at: Instant, old: &Fetch, rest: Extent, waiters: &[ReadId], out: &mut Actions) {
        let mut runs: Vec<Extent> = Vec::new();
        for key in rest.keys() {
            let Some(slot) = self.resident(key) else { continue };
            if self.directory.frames.pins(slot) > 0 {
                Self::append(&mut runs, key, false);
            } else {
                self.no_longer_under_way(slot);
                // Until now its owner was the fetch.
                self.directory.frames.set_owner(slot, old.stream);
                self.directory.release(slot);
                self.book_release(slot, out);
            }
        }
        let ios: Vec<(IoId, Extent)> =
            runs.into_iter().filter_map(|run| Some((self.start(at, run, run, old.stream, out)?, run))).collect();
        for &id in waiters {
            let Some(extent) = self.inflight.read(id).filter(|read| read.admitted).map(|read| read.extent) else {
                continue;
            };
            for &(io, _) in ios.iter().filter(|(_, run)| overlap(*run, extent)) {
                self.inflight.wait(at, id, io);
            }
        }
        self.wake(waiters, out);
    }

    /// The blocks of `extent`, a part of what `fetch` fetched, are valid from now on.
    fn settle(&mut self, fetch: &Fetch, extent: Extent) {
        let partition = self.partition(fetch.device);
        let block_cost = self.now.since(fetch.issued) / u64::from(fetch.extent.len.max(1));
        for key in extent.keys() {
            let Some(slot) = self.resident(key) else { continue };
            self.segments.costs(&mut self.directory, partition, slot, block_cost);
            if self.passes_over(slot) {
                continue;
            }
            let frames = &mut self.directory.frames;
            let prefetched = frames.has(slot, flag::PREFETCHED);
            frames.set_owner(slot, if prefetched { fetch.stream } else { StreamId::NONE });
            if frames.pins(slot) > 0 {
                self.pinned += 1;
            }
            frames.clear(slot, flag::ABSENT);
            if let Some(reclaimer) = self.reclaimer.as_mut().filter(|_| prefetched) {
                reclaimer.awaits_no_longer();
                reclaimer.enters(&mut self.directory.frames, slot, fetch.handler, fetch.issued);
            } else {
                self.hand_over(slot, partition);
            }
        }
        if let Some(reclaimer) = &mut self.reclaimer {
            reclaimer.fetched(fetch.handler);
        }
        self.devices[fetch.device.index()].counters.fetched += u64::from(extent.len);
    }

    /// One fetch fewer to wait for, for each of `readers`, the latest of which is first.
    fn wake(&mut self, readers: &[ReadId], out: &mut Actions) {
        for &id in readers.iter().rev() {
            let Some(read) = self.inflight.read_mut(id) else { continue };
            read.pending -= 1;
            if read.pending == 0 {
                self.streams.waits_no_longer(read.stream, self.now);
            }
            match (read.pending, read.error) {
                (0, None) => out.push(Action::Ready { read: id }),
                (0, Some(error)) => {
                    if let Some(read) = self.inflight.end(id) {
                        self.release(read, out);
                    }
                    out.push(Action::Error { read: id, error });
                }
                _ => {}
            }
        }
    }

    /// A fetch is over: its device and file have one fewer.
    fn leave_device(&mut self, fetch: &Fetch) {
        let now = self.now;
        let device = &mut self.devices[fetch.device.index()];
        device.under_way = device.under_way.saturating_sub(1);
        if !fetch.demand.is_empty() {
            device.has_served(now);
        }
        // A head serves one after the other. What waited behind what was fetched for the same
        // stream would do so however early it was issued.
        let one_by_one = device.seeks() && device.cost.channels <= 1 && self.needs.company;
        let mut since = fetch.issued;
        if let Some(stream) = self.streams.get_mut(fetch.stream).filter(|_| one_by_one) {
            since = since.max(stream.came);
            stream.came = now;
        }
        if fetch.demand.len < fetch.extent.len {
            device.took(now.since(since));
        }
        if let Some(file) = self.files.get_mut(fetch.extent.file) {
            file.fetches -= 1;
        }
    }

    /// The device has served a fetch, and its head has moved (CP §2, D_seek). The order of
    /// completions is the order of service, which a scheduler may have chosen.
    fn move_head(&mut self, fetch: &Fetch) {
        let block = self.setup.block_bytes;
        let device = &mut self.devices[fetch.device.index()];
        let Some(file) = self.files.get(fetch.extent.file) else { return };
        let Some(place) = file.place(fetch.extent.start, block) else { return };
        if let Some(distance) = device.head.map(|head| head.abs_diff(place)).filter(|&distance| distance > 0) {
            let old = device.seek_distance;
            device.seek_distance = if distance > old { old + (distance - old) / 8 } else { old - (old - distance) / 8 };
        }
        device.head = Some(place + u64::from(fetch.extent.len) * u64::from(block));
    }
}

fn overlap(a: Extent, b: Extent) -> bool {
    a.file == b.file && a.start < b.end() && b.start < a.end()
}
