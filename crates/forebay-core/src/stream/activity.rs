//! Which streams are active, and which are over.

use super::{ACTIVE, ACTIVE_FOR, GONE, HOLDING, HOLDS_FOR, IDLE, IN_TURN, Stream, Streams, WAITING};
use crate::types::{FileId, HandlerId, Instant, StreamId};

impl Streams {
    /// How many streams have gone on, and were read within [`ACTIVE_FOR`] or so, as of the last
    /// `advance`, or have a read that waits.
    pub fn active(&self) -> u32 {
        ACTIVE.iter().chain([&WAITING]).map(|&list| self.order.len(list)).sum()
    }

    /// How many more are silent, but have unread blocks: their readers may be waiting for the
    /// processor.
    pub fn holding(&self) -> u32 {
        self.order.len(HOLDING)
    }

    /// A read of a stream waits. An active stream stays active until no read of it waits.
    pub fn waits(&mut self, id: StreamId) {
        let Some(stream) = self.get_mut(id) else { return };
        stream.waiting += 1;
        if self.is_active(id) {
            self.activate(id);
        }
    }

    /// A read that waited does so no longer. (If its stream's place was taken meanwhile, which
    /// happens while the table is full, the new stream may count one too few.)
    pub fn waits_no_longer(&mut self, id: StreamId, at: Instant) {
        let Some(stream) = self.get_mut(id) else { return };
        stream.waiting = stream.waiting.saturating_sub(1);
        let waited = at.since(core::mem::replace(&mut stream.last, at));
        self.wait = self.wait - self.wait / 16 + waited / 16;
        if self.is_active(id) {
            self.activate(id);
        }
    }

    /// Whether a stream is among those that [`active`](Self::active) counts.
    pub fn is_active(&self, id: StreamId) -> bool {
        !matches!(self.order.list(self.slot(id)), GONE | IDLE | HOLDING)
    }

    /// Puts a stream among the active ones, as the one read last: so those are in the order of
    /// `last`.
    pub(super) fn activate(&mut self, id: StreamId) {
        let stream = &self.table[id.index()];
        let list = if stream.waiting > 0 { WAITING } else { ACTIVE[stream.patience()] };
        self.order.move_to_front(self.slot(id), list);
    }

    /// A stream is no longer active, unless it goes on.
    pub fn retire(&mut self, id: StreamId) {
        let slot = self.slot(id);
        if let Some(stream) = self.get_mut(id) {
            stream.retired = true;
        }
        self.holds_no_more(id);
        if self.is_active(id) {
            self.order.move_to_front(slot, IDLE);
            self.asks_no_more(id);
        }
    }

    /// The next stream that is taken for over: silent for so long that it would not count as
    /// active, or the next one to make room. `None` if there is none such, or it was over before.
    /// It may go on all the same.
    pub fn gives_up(&mut self, now: Instant) -> Option<&Stream> {
        loop {
            let slot = self.order.back(IDLE)?;
            let stream = &self.table[self.order.frame(slot).index()];
            if self.order.len(GONE) > 0 && now.since(stream.last) <= self.patience() {
                return None;
            }
            self.order.move_to_front(slot, GONE);
            if !stream.retired {
                return Some(stream);
            }
        }
    }

    /// The stream that a handler leaves behind in a file, once, if it has read it only once: the
    /// handler now reads elsewhere.
    pub fn leaves_behind(&mut self, handler: HandlerId, file: FileId) -> Option<&Stream> {
        let id = StreamId(self.last[self.place(handler, file)]);
        let stream = self.get_mut(id).filter(|stream| stream.handler == handler && stream.file == file)?;
        let one_read = stream.steps == 0 && !stream.retired;
        (one_read && !core::mem::replace(&mut stream.left, true)).then_some(&*stream)
    }

    pub(super) fn asks_no_more(&mut self, id: StreamId) {
        if let Some(demands) = &mut self.demands {
            demands.rests(id);
        }
    }

    /// Streams silent for longer than that no longer count as active.
    pub(super) fn expire(&mut self, now: Instant) {
        for (list, time) in ACTIVE.into_iter().zip(ACTIVE_FOR) {
            while let Some(slot) = self.order.back(list) {
                let id = StreamId(self.order.frame(slot).0);
                let stream = &self.table[id.index()];
                if now.since(stream.last) <= time.saturating_add(self.wait * 2) {
                    break;
                }
                let its = self.latest[self.place_of(stream.handler)].stream == id.0;
                let holds = its && stream.remaining() > 0 && !stream.retired;
                self.order.move_to_front(slot, if holds { HOLDING } else { IDLE });
                self.asks_no_more(id);
            }
        }
        while let Some(slot) = self.order.back(HOLDING) {
            if now.since(self.table[self.order.frame(slot).index()].last) <= HOLDS_FOR {
                break;
            }
            self.order.move_to_front(slot, IDLE);
        }
    }

    /// The blocks held for a stream go unread, or its reader reads another: a reader that has
    /// stayed away for so long is not waited for.
    pub fn holds_no_more(&mut self, id: StreamId) {
        if self.get(id).is_some() && self.order.list(self.slot(id)) == HOLDING {
            self.order.move_to_front(self.slot(id), IDLE);
        }
    }

    /// A handler is gone: streams that it read last are no longer active, unless another handler
    /// goes on with them. Walks over active and holding streams.
    pub fn exited(&mut self, handler: HandlerId) {
        for list in ACTIVE.into_iter().chain([HOLDING]) {
            let mut at = self.order.back(list);
            while let Some(slot) = at {
                at = self.order.towards_front(slot);
                let id = StreamId(self.order.frame(slot).0);
                if self.table[id.index()].handler == handler {
                    self.order.move_to_front(slot, IDLE);
                    self.asks_no_more(id);
                }
            }
        }
    }

    /// A handler goes on with a stream. It has left the one that it read before in the file, unless
    /// it reads that in turn with others: it came back to it soon the last time.
    ///
    /// A reader that skips about in a file comes upon streams of those before it. If each of them
    /// counted as active from then on, hundreds of them would leave four readers no memory.
    pub(super) fn comes_to(&mut self, id: StreamId, handler: HandlerId) {
        let Some(&Stream { file, handler: reader, turn, .. }) = self.get(id) else { return };
        let before = StreamId(self.last[self.place(handler, file)]);
        if before == id {
            return;
        }
        if self.get(before).is_some_and(|before| !before.in_turn) {
            self.leaves(handler, file);
        }
        let turns = self.latest[self.place_of(handler)].turns.wrapping_sub(turn);
        self.table[id.index()].in_turn = reader == handler && turns <= IN_TURN;
    }

    /// A handler begins to read elsewhere in a file. The stream that it was the last to read there
    /// is no longer active, unless it goes on: a server of short tasks leaves one behind with each
    /// task.
    pub(super) fn leaves(&mut self, handler: HandlerId, file: FileId) {
        let id = StreamId(self.last[self.place(handler, file)]);
        let its = |stream: &Stream| stream.handler == handler && stream.file == file && stream.waiting == 0;
        if self.get(id).is_some_and(its) {
            self.holds_no_more(id);
            if self.is_active(id) {
                self.order.move_to_front(self.slot(id), IDLE);
                self.asks_no_more(id);
            }
        }
    }
}
