//! Fetches: issued, called off, arrived, failed.

use alloc::vec::Vec;
use core::mem;

use super::Engine;
use super::memory::Row;
use super::requests::Anew;
use super::runs::Runs;
use crate::event::{Action, Actions, CALLED_OFF, Cause};
use crate::index::Index;
use crate::inflight::{Fetch, Read};
use crate::replacement::Replacement;
use crate::types::{Extent, FileId, IoId, ReadId, StreamId};

impl<R: Replacement, I: Index> Engine<R, I> {
    /// Issues a fetch for each of `runs`; the read waits for those that have a part of it.
    pub(super) fn issue(&mut self, id: ReadId, read: &Read, stream: StreamId, told: bool, out: &mut Actions) {
        let runs = mem::take(&mut self.runs);
        let label = read.label();
        for &extent in runs.as_slice() {
            // A run of demand may have been lengthened by prefetch: what the read waits for is what
            // it has pinned.
            let pinned = self.memory.pinned_at_first(extent);
            let demand = label.demanded(Extent { len: pinned, ..extent });
            let Some(io) = self.start(extent, demand, stream, told, out) else { continue };
            if pinned > 0 {
                self.requests.waits_for(id, io, self.now);
            }
        }
        self.runs = runs;
    }

    /// Hands a fetch to the driver. Its frames are assigned already and learn which fetch fills
    /// them.
    fn start(
        &mut self,
        extent: Extent,
        demand: Extent,
        stream: StreamId,
        told: bool,
        out: &mut Actions,
    ) -> Option<IoId> {
        let at = self.now;
        let device = self.storage.issues(at, extent, stream, !demand.is_empty())?;
        let (handler, hits) = self.lookahead.asks_below(stream, extent.file, demand);
        let mut fetch = Fetch::new(at, extent, demand, stream, handler, device);
        fetch.told = told;
        let io = self.requests.issues(fetch);
        self.memory.are_filled_by(extent, io);
        if !fetch.is_hint() {
            self.memory.unread().fetches(handler, at);
        }
        let cause = match demand.len {
            0 if fetch.is_hint() => Cause::Hint,
            0 => Cause::Prefetch,
            len if len == extent.len => Cause::Demand,
            _ => Cause::Mixed,
        };
        out.push(Action::Fetch { io, extent, cause, demand, hits, device });
        Some(io)
    }

    /// Fetches what a list names.
    pub(super) fn start_told(&mut self, extent: Extent, out: &mut Actions) {
        let nothing = Extent { len: 0, ..extent };
        self.start(extent, nothing, StreamId::TOLD, true, out);
    }

    /// Asks for what is under way for `file` and nobody waits for not to be brought after all.
    pub(super) fn call_off(&mut self, file: FileId, out: &mut Actions) {
        if self.storage.file(file).is_some_and(|file| file.fetches > 0) {
            self.requests.call_off(file, |io| out.push(Action::CallOff { io }));
        }
    }

    /// A fetch brought everything.
    pub(super) fn arrived(&mut self, io: IoId, out: &mut Actions) {
        let mut woken = mem::take(&mut self.woken);
        woken.clear();
        if let Some(fetch) = self.requests.over(io, &mut woken) {
            self.leave_device(&fetch);
            self.storage.moves_head(&fetch);
            self.settle(&fetch, fetch.extent);
            self.lookahead.hears_arrival(&fetch);
            self.waited_for(&fetch, out);
            self.hand_on(fetch.extent, out);
            self.wake(&woken, out);
            self.forget_if_idle(fetch.extent.file, out);
        }
        self.woken = woken;
    }

    /// A fetch brought its first `valid` blocks. Readers of the next one get the error; for readers
    /// of later ones only these are fetched anew. The driver tried blocks that no read waited for
    /// only once, so they are fetched anew, too, if a read wants them by now.
    pub(super) fn failed(&mut self, io: IoId, valid: u32, error: i32, out: &mut Actions) {
        let mut waiters = Vec::new();
        let Some(fetch) = self.requests.over(io, &mut waiters) else { return };
        self.leave_device(&fetch);
        let called_off = fetch.called_off && error == CALLED_OFF;
        if !called_off {
            self.storage.moves_head(&fetch);
            self.storage.counters(fetch.device).failures += 1;
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
            // Of these blocks those that nobody has asked for meanwhile are not wasted.
            let spared = rest.keys().filter(|&key| self.memory.calls_off(key)).count();
            self.storage.counters(fetch.device).called_off += spared as u64;
        }
        self.fetch_anew(&fetch, rest, &waiters, out);
        self.lookahead.hears_loss(&fetch, bad, called_off);
        self.forget_if_idle(file, out);
    }

    /// The reads among `waiters` that want a block of `bad` have failed: they let go of their
    /// frames.
    fn fail_readers(&mut self, bad: Extent, error: i32, waiters: &[ReadId], out: &mut Actions) {
        for &id in waiters {
            if let Some(held) = self.requests.fails(id, bad, error) {
                self.memory.let_go(held);
                self.hand_on(held, out);
            }
        }
    }

    /// Of `rest`, which did not arrive, fetches again what `waiters` want and frees the frames of
    /// the others. Waiters that want none of it waited for what did arrive.
    fn fetch_anew(&mut self, old: &Fetch, rest: Extent, waiters: &[ReadId], out: &mut Actions) {
        let mut runs = Runs::default();
        for key in rest.keys() {
            if self.memory.is_pinned(key) {
                runs.append(key, false);
            } else if let Some(slot) = self.memory.resident(key) {
                if old.is_hint() && self.memory.does_not_come(slot, old) {
                    self.told.does_not_come(key);
                    self.is_told_no_longer(key, true);
                } else if !old.is_hint() {
                    self.memory.does_not_come(slot, old);
                }
                self.book_release(slot, out);
            }
        }
        let stream = if old.is_hint() { StreamId::NONE } else { old.stream };
        let runs = runs.as_slice().iter();
        let anew: Vec<Anew> = runs
            .filter_map(|&extent| Some(Anew { io: self.start(extent, extent, stream, old.told, out)?, extent }))
            .collect();
        for &id in waiters {
            self.requests.waits_anew(id, &anew, self.now);
        }
        self.wake(waiters, out);
    }

    /// The blocks of `extent`, a part of what `fetch` fetched, are valid from now on.
    fn settle(&mut self, fetch: &Fetch, extent: Extent) {
        let block_cost = self.now.since(fetch.issued) / u64::from(fetch.extent.len.max(1));
        let mut row = Row::default();
        for key in extent.keys() {
            let Some(slot) = self.memory.next_resident(key, &mut row) else { continue };
            self.memory.costs(slot, fetch.device, block_cost);
            if (fetch.told || self.told.is_any()) && self.settles_for_list(slot, key, fetch) {
                continue;
            }
            if fetch.near {
                self.memory.is_cheap(slot, fetch.device);
            }
            self.memory.settles(slot, fetch);
        }
        if !fetch.is_hint() {
            self.memory.unread().fetched(fetch.handler);
        }
        self.storage.counters(fetch.device).fetched += u64::from(extent.len);
    }

    /// A fetch is over: its device's partition hears how long readers have waited for it, and
    /// whatever partitions have beyond their new sizes goes.
    fn waited_for(&mut self, fetch: &Fetch, out: &mut Actions) {
        self.lookahead.hears_served(fetch, &self.storage, self.memory.tally(fetch.device));
        if !self.memory.waited_for(fetch, &self.storage, self.now) {
            return;
        }
        for partition in 0..self.storage.devices().len() {
            while let Some(victim) = self.memory.sheds(partition, &self.storage) {
                self.gives_up(victim, out);
            }
        }
    }

    /// One fetch fewer to wait for, for each of `readers`, the latest of which is first.
    fn wake(&mut self, readers: &[ReadId], out: &mut Actions) {
        for &id in readers.iter().rev() {
            let Some(read) = self.requests.waits_no_longer(id) else { continue };
            self.lookahead.waits_no_longer(read.stream, self.now);
            match read.error {
                None => out.push(Action::Ready { read: id }),
                Some(error) => {
                    if let Some(read) = self.requests.ends(id) {
                        self.release(read, out);
                    }
                    out.push(Action::Error { read: id, error });
                }
            }
        }
    }

    /// A fetch is over: its device and file have one fewer.
    fn leave_device(&mut self, fetch: &Fetch) {
        self.storage.is_over(fetch, self.now);
    }
}
