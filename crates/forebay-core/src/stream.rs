//! Streams: runs of sequential access, found by position.
//!
//! Many streams may go through one file, and it doesn't matter which descriptor or thread they come
//! through. A stream is where its next access is expected:
//!
//! ```text
//!     blocks of a file ──▶
//!     ... read already ...|next             |ahead
//!             └─ lag ─────┤░░ prefetched ░░░│
//!                         └── reach ────────────┘
//! ```
//!
//! - An access at `next` goes on with the stream.
//! - An access up to `reach` blocks beyond `next` has skipped some and stays in the stream. Only
//!   the handler that read the stream last may skip, and only if it has read nothing else in the
//!   file since. (A file that is read at random is soon full of streams, and every block is near
//!   one of them.) Over prefetched blocks other handlers may skip too (one scan may be handed to
//!   many), unless the stream would then be read thinly: chance hits would keep a large window
//!   alive.
//! - An access up to `lag` blocks before `next`, a read of the largest size, is late and stays in
//!   the stream: the parts of one large read arrive in any order. Late parts come while others of
//!   their read are under way, or hardly later, and none waits for the one before it. So an access
//!   behind a silent stream, or one that goes on where a late part ended, is another stream's. A
//!   stream that has come to the end of its file, or whose file is closed, has no late parts: it
//!   begins anew there.
//!
//! Any other access begins a new stream. Streams are found through cells of the file: `next` lies
//! in a cell, and an access looks at the cells that could hold a stream within reach, three at the
//! most.

mod activity;
mod by_file;

use alloc::vec;
use alloc::vec::Vec;

use by_file::OfFile;

use crate::demand::{self, Demands};
use crate::frames::{Frames, ListId, Slot};
use crate::level::{Label, Wanted};
use crate::numbered::Numbered;
use crate::reason::Why;
use crate::types::{Caller, ContextId, DeviceId, Extent, FileId, HandlerId, Instant, StreamId};

/// A stream that has gone on once stays active for this long after its last read, nanoseconds. The
/// first of these that is at least [`PAUSES`] times the mean pause between its reads counts, else
/// the last; where reads wait long, it is longer. Readers also do other things and share a
/// processor, so short silences mean nothing.
pub const ACTIVE_FOR: [u64; 3] = [250_000_000, 1_000_000_000, 5_000_000_000];

const LONGEST: u64 = ACTIVE_FOR[2];

/// See [`ACTIVE_FOR`].
pub const PAUSES: u64 = 16;

/// A handler that reads several streams in turn comes back to each of them within so many turns.
pub const IN_TURN: u32 = 64;

/// A stream holds its unread blocks no longer than this, nanoseconds.
pub const HOLDS_FOR: u64 = 120_000_000_000;

/// Parts of a large read come no later than this after the others have been answered, nanoseconds.
pub const LATE_FOR: u64 = 10_000_000;

/// If more than this many streams have begun in a file since a stream's last read, a read by
/// another handler does not go on with it. The number doubles with each step of the stream.
const STRANGERS: u32 = 64;

/// Other handlers than the last may skip in a stream only if at least one block of this many was
/// read.
const THINNEST: u32 = 8;

/// Not in use, or idle for so long that it is taken for over.
const GONE: ListId = ListId(0);
const IDLE: ListId = ListId(1);
/// Active, and a read of it waits, for however long.
const WAITING: ListId = ListId(2);
/// Active, by how long they may be silent, each in the order of its streams' latest reads.
const ACTIVE: [ListId; 3] = [ListId(3), ListId(4), ListId(5)];
/// Silent for too long to be active, but it has unread blocks, and its reader has read nothing else
/// since: the reader may be waiting for the processor.
const HOLDING: ListId = ListId(6);
const LISTS: u8 = 7;
const NOWHERE: u32 = u32::MAX;
/// The fewest handlers and files for which the table notes the stream that was read last.
const LEAST: usize = 256;

/// The fate of the blocks prefetched for one stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Feedback {
    /// Referenced after they had arrived.
    pub used: u32,
    /// Referenced before they had arrived.
    pub late: u32,
    /// Given up unreferenced.
    pub wasted: u32,
    /// Wasted, then wanted after all.
    pub thrashed: u32,
}

/// One stream.
#[derive(Clone, Copy, Debug)]
pub struct Stream {
    /// Its file.
    pub file: FileId,
    /// Its device.
    pub device: DeviceId,
    /// The handler of the last read.
    pub handler: HandlerId,
    /// The context of the last read.
    pub context: ContextId,
    /// The first block that was read.
    pub first: u32,
    /// The block after the furthest one that was read.
    pub next: u32,
    /// The block after the furthest one that was fetched or prefetched.
    pub ahead: u32,
    /// The size of the latest piece fetched for it, in blocks: its current degree.
    pub piece: u32,
    /// The trigger distance at which that was fetched, in blocks, if the policy has one.
    pub distance: u32,
    /// Why the piece and the distance have their sizes.
    pub why: Why,
    /// The blocks of it that readers want, here and above.
    pub wanted: Wanted,
    /// How many of its blocks were read.
    pub read: u32,
    /// The block up to which the level below knows the reads.
    pub told: u32,
    /// A handler that skips fewer blocks than this goes on with it, even without blocks ahead; at
    /// most the table's depth.
    pub stride: u32,
    /// How often it went on since it began.
    pub steps: u32,
    /// How many streams had begun in its file when it was last read; the number wraps.
    begun: u32,
    /// How often its handler had turned to another stream when it was last read; the number wraps.
    turn: u32,
    /// Whether the handler reads it in turn with others.
    in_turn: bool,
    /// When it began.
    pub began: Instant,
    /// When it was last read.
    pub last: Instant,
    /// The fate of its prefetched blocks.
    pub feedback: Feedback,
    /// How long its reader works on a block, without waits: an exponentially weighted mean (weight
    /// 1/8), nanoseconds.
    pub own_time: u64,
    /// The same between two reads.
    pause: u64,
    in_use: bool,
    /// Reads of it that wait.
    waiting: u32,
    /// Whether it is at the end of its file, or the file is closed: a read behind it is then no
    /// late part.
    retired: bool,
    /// Whether its reader read elsewhere in the file before it went on.
    pub left: bool,
    /// The end of the latest late part.
    lagged: u32,
    cell_next: u32,
    file_prev: u32,
    file_next: u32,
}

impl Stream {
    /// A stream that begins with an access to `extent`, linked nowhere.
    fn new(at: Instant, extent: Extent, label: &Label, device: DeviceId, who: Caller) -> Stream {
        Stream {
            file: extent.file,
            device,
            handler: who.handler,
            context: who.context,
            first: extent.start,
            next: extent.end(),
            ahead: extent.end(),
            piece: 0,
            distance: 0,
            why: Why::default(),
            wanted: Wanted::begun(label),
            read: extent.len,
            told: extent.start,
            stride: 0,
            steps: 0,
            begun: 0,
            turn: 0,
            in_turn: false,
            began: at,
            last: at,
            feedback: Feedback::default(),
            own_time: 0,
            pause: 0,
            in_use: true,
            waiting: 0,
            retired: false,
            left: false,
            lagged: NOWHERE,
            cell_next: NOWHERE,
            file_prev: NOWHERE,
            file_next: NOWHERE,
        }
    }

    /// Blocks fetched or under way that were not read yet.
    pub fn remaining(&self) -> u32 {
        self.ahead.saturating_sub(self.next)
    }

    /// Whether reading through the skipped blocks would take longer than going around them, which
    /// costs as much a step as the transfer of `depth` blocks.
    pub fn is_sparse(&self, depth: u32) -> bool {
        u64::from(self.skipped()) > u64::from(self.steps) * u64::from(depth)
    }

    /// How many blocks a step skips in the mean.
    pub fn mean_gap(&self) -> u32 {
        self.skipped() / self.steps.max(1)
    }

    fn skipped(&self) -> u32 {
        self.next.saturating_sub(self.first).saturating_sub(self.read)
    }

    /// It is read again, `blocks` further.
    fn takes(&mut self, at: Instant, blocks: u32) {
        let pause = at.since(self.last);
        let took = pause / u64::from(blocks.max(1));
        let first = self.steps == 0;
        self.own_time = if first { took } else { self.own_time - self.own_time / 8 + took / 8 };
        self.pause = if first { pause } else { self.pause - self.pause / 8 + pause / 8 };
        self.steps += 1;
    }

    /// The index in [`ACTIVE_FOR`] of the time that it may be silent.
    fn patience(&self) -> usize {
        let enough = |&time: &u64| time >= self.pause.saturating_mul(PAUSES);
        ACTIVE_FOR.iter().position(enough).unwrap_or(ACTIVE_FOR.len() - 1)
    }

    /// How far beyond `next` an access may begin and still go on with the stream: less than the
    /// depth, or than the longest stride.
    fn reach(&self) -> u32 {
        self.remaining().max(self.piece).max(self.stride)
    }

    /// How far an access that begins at `block` is from where the stream expects it; `None` if it
    /// is another stream's.
    fn distance(&self, file: FileId, block: u32, lag: u32, at: Instant) -> Option<u32> {
        if self.file != file {
            return None;
        }
        match block.checked_sub(self.next) {
            // A retired stream goes on only at its end, and nowhere beyond.
            Some(skipped) => (skipped == 0 || (skipped < self.reach() && !self.retired)).then_some(skipped),
            None => (self.next - block <= lag && self.may_be_late(block, at)).then_some(self.next - block),
        }
    }

    /// Whether an access of `handler` to `extent`, within the blocks fetched for this stream,
    /// belongs to it although it skips some.
    fn may_skip(&self, handler: HandlerId, extent: Extent) -> bool {
        let span = extent.end().saturating_sub(self.first);
        handler == self.handler || extent.start <= self.next || span / THINNEST <= self.read
    }

    /// Whether an access that begins at `block`, behind the stream's position, may be a late part
    /// of a large read. Two accesses that share a block always stay together.
    fn may_be_late(&self, block: u32, at: Instant) -> bool {
        let fresh = at.since(self.last) <= LATE_FOR && block != self.lagged;
        self.waiting > 0 || fresh || self.next - block == 1
    }
}

/// All streams, at most as many as the table has places: the one silent for longest makes room.
#[derive(Clone, Debug)]
pub struct Streams {
    table: Vec<Stream>,
    order: Frames,
    cells: Vec<u32>,
    cell_shift: u32,
    lag: u32,
    /// How long reads of streams waited, an exponentially weighted mean (weight 1/16), nanoseconds.
    wait: u64,
    /// How long streams were silent before they went on, without waits: an exponentially weighted
    /// mean (weight 1/64), nanoseconds.
    pause: u64,
    /// How fast each is read, if that is measured.
    demands: Option<Demands>,
    /// By the file's number.
    files: Numbered<OfFile>,
    /// The stream that a handler read last in a file, by a hash of both; of two that have the same
    /// the later one is known.
    last: Vec<u32>,
    /// The stream that a handler read last, by its hash, in the same way; and how often it turned
    /// to another one.
    latest: Vec<Latest>,
}

#[derive(Clone, Copy, Debug)]
struct Latest {
    stream: u32,
    turns: u32,
}

impl Streams {
    /// A table of `places` streams whose depth stays below `max_depth` blocks, and whose reads have
    /// up to `lag` blocks.
    pub fn new(places: u32, max_depth: u32, lag: u32) -> Streams {
        let places = places.max(1);
        let nobody = Caller { handler: HandlerId(0), context: ContextId(0) };
        let blank = Stream {
            in_use: false,
            ..Stream::new(Instant(0), Extent::default(), &Label::default(), DeviceId(0), nobody)
        };
        Streams {
            table: vec![blank; places as usize],
            order: Frames::new(LISTS, places, 0),
            cells: vec![NOWHERE; (places as usize * 2).next_power_of_two()],
            cell_shift: max_depth.max(lag).next_power_of_two().trailing_zeros(),
            lag,
            wait: 0,
            pause: LONGEST / PAUSES,
            demands: None,
            files: Numbered::default(),
            last: vec![NOWHERE; (places as usize * 2).next_power_of_two().max(LEAST)],
            latest: vec![Latest { stream: NOWHERE, turns: 0 }; (places as usize * 2).next_power_of_two().max(LEAST)],
        }
    }

    /// Measures from now on how fast each stream that goes on is read.
    pub fn measure(&mut self, demands: Demands) {
        self.demands = Some(demands);
    }

    /// How fast streams are read, if that is measured.
    pub fn demands(&self) -> Option<&Demands> {
        self.demands.as_ref()
    }

    /// How fast a stream is read, blocks a second, as of `now`: as estimated, else the mean since
    /// it began.
    pub fn rate(&self, id: StreamId, now: Instant) -> u64 {
        let Some(stream) = self.get(id) else { return 0 };
        match &self.demands {
            Some(demands) => demands.of(id).rate / demand::SCALE,
            None => {
                let read = u64::from(stream.next - stream.first.min(stream.next));
                read.saturating_mul(1_000_000_000).checked_div(now.since(stream.began)).unwrap_or(0)
            }
        }
    }

    /// The same in bytes, for blocks of `block_bytes`.
    pub fn bytes_a_second(&self, id: StreamId, now: Instant, block_bytes: u64) -> u64 {
        match &self.demands {
            Some(demands) => demands.of(id).rate.saturating_mul(block_bytes) / demand::SCALE,
            None => self.rate(id, now).saturating_mul(block_bytes),
        }
    }

    /// How fast a stream was read when it was read last, bytes a second, whether it still is active
    /// or not; zero if that is not measured yet, as after one read.
    pub fn latest_rate(&self, id: StreamId, now: Instant, block_bytes: u64) -> u64 {
        match (&self.demands, self.get(id)) {
            (_, Some(stream)) if stream.steps == 0 => 0,
            (Some(demands), Some(stream)) => {
                demands.latest(id, stream.last).rate.saturating_mul(block_bytes) / demand::SCALE
            }
            _ => self.bytes_a_second(id, now, block_bytes),
        }
    }

    /// A stream, if it is in use.
    pub fn get(&self, id: StreamId) -> Option<&Stream> {
        self.table.get(id.index()).filter(|stream| stream.in_use)
    }

    /// A stream, if it is in use. `next` is changed by [`advance`](Self::advance) alone.
    pub fn get_mut(&mut self, id: StreamId) -> Option<&mut Stream> {
        self.table.get_mut(id.index()).filter(|stream| stream.in_use)
    }

    /// The streams in use, in the order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = (StreamId, &Stream)> {
        self.table.iter().enumerate().filter(|(_, s)| s.in_use).map(|(i, s)| (StreamId(i as u32), s))
    }

    /// Whether `id` is a stream that an access of `handler` to `extent` goes on with, which was
    /// fetched for it. Ids are reused: an old one may by now name another stream.
    pub fn is_at(&self, id: StreamId, handler: HandlerId, extent: Extent, at: Instant) -> bool {
        let goes_on = |stream: &Stream| stream.distance(extent.file, extent.start, self.lag, at).is_some();
        self.get(id).is_some_and(|stream| goes_on(stream) && stream.may_skip(handler, extent))
    }

    /// The stream that expects an access of `handler` at `block` of `file`: the nearest one, at
    /// most a cell away. (A block further ahead was prefetched for the stream, and its frame says
    /// so.)
    pub fn locate(&self, handler: HandlerId, file: FileId, block: u32, at: Instant) -> Option<StreamId> {
        let cell = block >> self.cell_shift;
        let cells = [Some(cell), cell.checked_sub(1), cell.checked_add(1)];
        let ids = cells.into_iter().flatten().flat_map(|cell| self.chain(self.bucket(file, cell)));
        let last = self.last[self.place(handler, file)];
        let own = |id: u32| {
            let stream = &self.table[id as usize];
            let expected = block == stream.next && self.is_expected(stream, handler, at);
            expected || block < stream.next || (id == last && stream.handler == handler)
        };
        ids.filter_map(|id| Some((self.table[id as usize].distance(file, block, self.lag, at)?, id)))
            .filter(|&(distance, id)| distance >> self.cell_shift == 0 && own(id))
            .min()
            .map(|(_, id)| StreamId(id))
    }

    /// Whether an access where a stream has ended goes on with it. One read is no sequence yet, and
    /// a much later access behind it may be chance. So may an access of another handler after many
    /// streams have begun in the file; the more often the stream went on, the less likely that is.
    fn is_expected(&self, stream: &Stream, handler: HandlerId, at: Instant) -> bool {
        let begun = self.begun(stream.file).wrapping_sub(stream.begun);
        let near = handler == stream.handler || begun <= STRANGERS << stream.steps.min(16);
        near && (stream.steps > 0 || at.since(stream.last) <= self.patience())
    }

    /// Begins a stream with an access to `extent`, of which readers want the part that `label`
    /// says.
    pub fn begin(&mut self, at: Instant, extent: Extent, label: &Label, device: DeviceId, who: Caller) -> StreamId {
        self.leaves(who.handler, extent.file);
        let lists = [GONE, IDLE, HOLDING].into_iter().chain(ACTIVE).chain([WAITING]);
        let slot = lists.filter_map(|list| self.order.back(list)).next().unwrap_or_default();
        let id = self.order.frame(slot);
        if self.table[id.index()].in_use {
            self.unlink(id.0);
            self.unlink_file(id.0);
        }
        self.table[id.index()] = Stream::new(at, extent, label, device, who);
        self.reads(StreamId(id.0), who.handler, extent.file);
        let wanted = self.table[id.index()].wanted.run;
        self.link(id.0);
        self.link_file(id.0);
        self.table[id.index()].begun = self.begun(extent.file);
        self.order.move_to_front(slot, IDLE);
        if let Some(demands) = &mut self.demands {
            demands.begins(StreamId(id.0), at, wanted, device);
        }
        StreamId(id.0)
    }

    /// An access to `extent` goes on with a stream. `false` if it brought the stream no further.
    pub fn advance(&mut self, id: StreamId, at: Instant, extent: Extent, label: &Label, who: Caller) -> bool {
        self.comes_to(id, who.handler);
        let Some(stream) = self.get_mut(id) else { return false };
        (stream.handler, stream.context) = (who.handler, who.context);
        let wanted = stream.wanted.goes_on(label);
        self.reads(id, who.handler, extent.file);
        let begun = self.begun(extent.file);
        let stream = &mut self.table[id.index()];
        stream.begun = begun;
        stream.read = stream.read.saturating_add(extent.len);
        if extent.end() <= stream.next {
            stream.lagged = extent.end();
            return false;
        }
        stream.takes(at, extent.end() - stream.next);
        let pause = at.since(core::mem::replace(&mut stream.last, at));
        self.pause = self.pause - self.pause / 64 + pause / 64;
        let stream = &mut self.table[id.index()];
        stream.retired = false;
        stream.ahead = stream.ahead.max(extent.end());
        self.move_to(id.0, extent.end());
        self.activate(id);
        if let Some(demands) = &mut self.demands {
            demands.asked(id, at, wanted);
        }
        self.expire(at);
        true
    }

    /// An access to `extent` that brought a stream no further begins it anew if it is retired: a
    /// reader reads the file again. `false`, and nothing changes, if it is not.
    pub fn restart(&mut self, id: StreamId, at: Instant, extent: Extent, label: &Label, who: Caller) -> bool {
        let Some(stream) = self.get_mut(id).filter(|stream| stream.retired) else { return false };
        let Stream { device, next, begun, turn, in_turn, waiting, cell_next, file_prev, file_next, .. } = *stream;
        // It keeps its links and its waiting reads, and `next` until the links are moved.
        let anew = Stream::new(at, extent, label, device, who);
        *stream = Stream { next, begun, turn, in_turn, waiting, cell_next, file_prev, file_next, ..anew };
        let wanted = stream.wanted.run;
        if self.order.list(self.slot(id)) == GONE {
            self.order.move_to_front(self.slot(id), IDLE);
        }
        self.move_to(id.0, extent.end());
        if let Some(demands) = &mut self.demands {
            demands.begins(id, at, wanted, device);
        }
        true
    }

    /// The bytes that the table takes.
    pub fn footprint(&self) -> usize {
        self.table.len() * core::mem::size_of::<Stream>()
            + self.order.footprint()
            + (self.cells.len() + self.last.len()) * 4
            + self.latest.len() * core::mem::size_of::<Latest>()
            + self.files.footprint()
            + self.demands.as_ref().map_or(0, Demands::footprint)
    }

    /// How long a stream may be silent and still counts as active: [`PAUSES`] times the mean
    /// silence before a stream goes on, and twice the present wait of reads. A reader of two
    /// streams in turn is silent on one while it waits for the other. A server of short tasks
    /// leaves many streams behind that no reader will read again, and each would hold its part of
    /// the memory.
    fn patience(&self) -> u64 {
        self.pause.saturating_mul(PAUSES).clamp(ACTIVE_FOR[0], LONGEST).saturating_add(self.wait * 2)
    }

    /// The place of a stream in the order of use: its frame number, behind the list heads.
    fn slot(&self, id: StreamId) -> Slot {
        id.0 + Slot::from(LISTS)
    }

    /// A handler reads a stream of a file.
    fn reads(&mut self, id: StreamId, handler: HandlerId, file: FileId) {
        let place = self.place(handler, file);
        self.last[place] = id.0;
        let place = self.place_of(handler);
        let Latest { stream: before, turns } = self.latest[place];
        let turns = if before == id.0 { turns } else { turns.wrapping_add(1) };
        self.latest[place] = Latest { stream: id.0, turns };
        self.table[id.index()].turn = turns;
        if before != id.0 {
            self.holds_no_more(StreamId(before));
        }
    }

    /// Where it is noted which stream a handler read last.
    fn place_of(&self, handler: HandlerId) -> usize {
        (u64::from(handler.0).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & (self.latest.len() - 1)
    }

    /// Where it is noted which stream a handler read last in a file.
    fn place(&self, handler: HandlerId, file: FileId) -> usize {
        let mixed = (u64::from(file.0) << 32 | u64::from(handler.0)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 32) as usize & (self.last.len() - 1)
    }

    fn bucket(&self, file: FileId, cell: u32) -> usize {
        let mixed = (u64::from(file.0) << 32 | u64::from(cell)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 32) as usize & (self.cells.len() - 1)
    }

    fn bucket_of(&self, id: u32) -> usize {
        let stream = &self.table[id as usize];
        self.bucket(stream.file, stream.next >> self.cell_shift)
    }

    fn chain(&self, bucket: usize) -> impl Iterator<Item = u32> {
        let some = |id: u32| (id != NOWHERE).then_some(id);
        core::iter::successors(some(self.cells[bucket]), move |&id| some(self.table[id as usize].cell_next))
    }

    fn move_to(&mut self, id: u32, next: u32) {
        if next >> self.cell_shift == self.table[id as usize].next >> self.cell_shift {
            self.table[id as usize].next = next;
        } else {
            self.unlink(id);
            self.table[id as usize].next = next;
            self.link(id);
        }
    }

    fn link(&mut self, id: u32) {
        let bucket = self.bucket_of(id);
        self.table[id as usize].cell_next = self.cells[bucket];
        self.cells[bucket] = id;
    }

    fn unlink(&mut self, id: u32) {
        let bucket = self.bucket_of(id);
        let after = self.table[id as usize].cell_next;
        if self.cells[bucket] == id {
            self.cells[bucket] = after;
            return;
        }
        let before = self.chain(bucket).find(|&other| self.table[other as usize].cell_next == id);
        if let Some(before) = before {
            self.table[before as usize].cell_next = after;
        }
    }
}
