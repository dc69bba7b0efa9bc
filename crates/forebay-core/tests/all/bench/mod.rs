//! A core without a driver: a policy is named and blocks are read; fetches arrive at once, unless
//! they are held or take time.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;

use forebay_core::index::Hashed;
use forebay_core::level::Label;
use forebay_core::{
    Action, Actions, Cause, ContextId, Core, DeviceCost, DeviceId, Event, EventKind, Extent, FileId, HandlerId,
    Instant, IoId, Policy, ReadId, Referenced, Setup,
};

pub(crate) const PAGE: u64 = 4096;
/// A millisecond.
pub(crate) const MS: u64 = 1_000_000;

/// CP §2: the IBM drive, on which 131 pages are transferred in the time of a switch.
pub(crate) fn ibm() -> DeviceCost {
    DeviceCost {
        seek: vec![(0, 0), (12_000_000_000, 7_530_000), (36_000_000_000, 13_000_000)],
        half_revolution: 3_000_000,
        zones: vec![(0, 51_300_000)],
        capacity: 36_000_000_000,
        channels: 1,
    }
}

/// A setup of pages: this many frames, and devices.
pub(crate) fn setup(frames: u32, devices: Vec<DeviceCost>) -> Setup {
    Setup { frames, block_bytes: PAGE as u32, streams: 100, devices, referenced: Referenced::Kept }
}

/// How time goes on, nanoseconds.
#[derive(Clone, Copy)]
pub(crate) struct Pace {
    /// Before each event.
    pub(crate) event: u64,
    /// Before each read, beside that.
    pub(crate) read: u64,
    /// From a fetch to its arrival; `None`: at once.
    pub(crate) fetch: Option<u64>,
}

impl Pace {
    /// A tenth of a millisecond a read.
    pub(crate) const READS: Pace = Pace { event: 0, read: MS / 10, fetch: None };
    /// As much an event.
    pub(crate) const EVENTS: Pace = Pace { event: MS / 10, read: 0, fetch: None };
}

/// A fetch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Fetched {
    pub(crate) io: IoId,
    pub(crate) extent: Extent,
    pub(crate) cause: Cause,
    pub(crate) label: Label,
}

pub(crate) struct Bench {
    pub(crate) core: Box<dyn Core>,
    /// The moment, nanoseconds.
    pub(crate) at: u64,
    /// The reader; `None`: the first one, or another one for each file.
    pub(crate) handler: Option<HandlerId>,
    pub(crate) context: ContextId,
    /// Everything that was fetched.
    pub(crate) fetches: Vec<Fetched>,
    /// Whether fetches wait for [`arrive`](Self::arrive).
    pub(crate) held: bool,
    pub(crate) under_way: VecDeque<IoId>,
    pub(crate) called_off: Vec<IoId>,
    /// Reads that were answered.
    pub(crate) answered: Vec<ReadId>,
    pub(crate) reads: u32,
    /// The most frames that were in use after an event.
    pub(crate) most: u32,
    block_bytes: u64,
    pub(crate) pace: Pace,
    opened: BTreeSet<u32>,
    /// Fetches that will arrive, by moment and order.
    coming: BTreeMap<(u64, u64), IoId>,
    asked: u64,
    told: u32,
}

impl Bench {
    /// Two thousand pages over a disk that has 131 of them in the time of a switch.
    pub(crate) fn new(policy: &str) -> Bench {
        Bench::on(policy, setup(2_000, vec![DeviceCost::flat(10_530_000, 51_300_000, 1)]), Pace::EVENTS)
    }

    /// The same memory over this disk.
    pub(crate) fn over(policy: &str, device: DeviceCost) -> Bench {
        Bench::on(policy, setup(2_000, vec![device]), Pace::EVENTS)
    }

    pub(crate) fn on(policy: &str, setup: Setup, pace: Pace) -> Bench {
        let policy: Policy = policy.parse().unwrap_or_else(|error| panic!("{error}"));
        let block_bytes = setup.block_bytes;
        Bench::around(policy.build::<Hashed>(setup), block_bytes, pace)
    }

    /// Around a core of blocks of this many bytes.
    pub(crate) fn around(core: Box<dyn Core>, block_bytes: u32, pace: Pace) -> Bench {
        Bench {
            core,
            at: 0,
            handler: Some(HandlerId(1)),
            context: ContextId(0),
            fetches: Vec::new(),
            held: false,
            under_way: VecDeque::new(),
            called_off: Vec::new(),
            answered: Vec::new(),
            reads: 0,
            most: 0,
            block_bytes: block_bytes.into(),
            pace,
            opened: BTreeSet::new(),
            coming: BTreeMap::new(),
            asked: 0,
            told: 0,
        }
    }

    /// With this many files of this many blocks, which lie on the devices in turn.
    #[must_use]
    pub(crate) fn with_files(mut self, files: u32, blocks: u64) -> Bench {
        let devices = self.core.devices().len() as u32;
        (0..files).for_each(|file| self.open_on(file, (file % devices) as u16, blocks));
        self
    }

    pub(crate) fn open(&mut self, file: u32, blocks: u64) {
        self.open_on(file, 0, blocks);
    }

    pub(crate) fn open_on(&mut self, file: u32, device: u16, blocks: u64) {
        let bytes = blocks * self.block_bytes;
        self.opened.insert(file);
        self.tell(EventKind::Open { file: FileId(file), device: DeviceId(device), bytes });
    }

    pub(crate) fn close(&mut self, file: u32) -> Actions {
        self.tell(EventKind::Close { file: FileId(file) })
    }

    /// Tells the core an event. Returns the core's actions, which are carried out, too.
    pub(crate) fn tell(&mut self, kind: EventKind) -> Actions {
        self.at += self.pace.event;
        let mut actions = Actions::new();
        self.core.handle(&[Event { at: Instant(self.at), kind }], &mut actions);
        let (all, free) = self.core.frames();
        self.most = self.most.max(all - free);
        // It walks over all frames: not every time.
        self.told += 1;
        if self.told.is_multiple_of(997) {
            self.core.check();
        }
        for &action in &actions {
            self.asked += 1;
            match action {
                Action::Fetch { io, extent, cause, demand, hits, .. } => {
                    self.fetches.push(Fetched { io, extent, cause, label: Label { demand, hits } });
                    match self.pace.fetch {
                        Some(takes) => drop(self.coming.insert((self.at + takes, self.asked), io)),
                        None if self.held => self.under_way.push_back(io),
                        None => drop(self.tell(EventKind::Arrived { io })),
                    }
                }
                Action::CallOff { io } => self.called_off.push(io),
                Action::Ready { read } => {
                    self.answered.push(read);
                    self.tell(EventKind::Done { read });
                }
                _ => {}
            }
        }
        actions
    }

    /// The fetches under way arrive, in order.
    pub(crate) fn arrive(&mut self) {
        while let Some(io) = self.under_way.pop_front() {
            self.tell(EventKind::Arrived { io });
        }
    }

    /// Time goes on, and fetches that take time arrive.
    pub(crate) fn wait(&mut self, nanoseconds: u64) {
        let until = self.at + nanoseconds;
        while let Some(entry) = self.coming.first_entry().filter(|entry| entry.key().0 <= until) {
            self.at = entry.key().0;
            let io = entry.remove();
            self.tell(EventKind::Arrived { io });
        }
        self.at = until;
    }

    /// Blocks of a file are read. Returns the fetches that follow.
    pub(crate) fn read(&mut self, file: u32, block: u64, blocks: u64) -> Vec<Fetched> {
        self.read_labelled(file, block, blocks, None)
    }

    /// The same by a level above, which may label the wanted blocks.
    pub(crate) fn read_labelled(&mut self, file: u32, block: u64, blocks: u64, label: Option<Label>) -> Vec<Fetched> {
        self.at += self.pace.read;
        self.reads += 1;
        let (read, before) = (ReadId(self.reads % 256), self.fetches.len());
        if let Some(Label { demand, hits }) = label {
            self.tell(EventKind::Labelled { read, demand, hits });
        }
        let handler = self.handler.unwrap_or(HandlerId(file + 10));
        let (offset, len) = (block * self.block_bytes, (blocks * self.block_bytes) as u32);
        self.tell(EventKind::Read { read, handler, context: self.context, file: FileId(file), offset, len });
        self.fetches[before..].to_vec()
    }

    /// One handler reads a page of a file.
    pub(crate) fn read_by(&mut self, who: u32, file: u32, page: u64) {
        let before = self.handler.replace(HandlerId(who));
        self.read(file, page, 1);
        self.handler = before;
    }

    /// A file of this many pages is read from a page up to another, page by page, and closed.
    /// Returns its fetches, by first page and number.
    pub(crate) fn read_through(&mut self, file: u32, pages: u64, from: u32, to: u32) -> Vec<(u32, u32)> {
        if !self.opened.contains(&file) {
            self.open(file, pages);
        }
        let fetches: Vec<Fetched> = (from..to).flat_map(|page| self.read(file, page.into(), 1)).collect();
        self.close(file);
        self.core.check();
        runs(&fetches)
    }

    /// Reads pages of a file, one after the other. Returns which page had which fetches issued, by
    /// first block and number.
    pub(crate) fn issued(&mut self, file: u32, pages: Range<u64>) -> Vec<(u64, (u32, u32))> {
        let of = |page| runs(&self.read(file, page, 1)).into_iter().map(move |run| (page, run)).collect::<Vec<_>>();
        pages.flat_map(of).collect()
    }

    /// Everything that was fetched, by first block and number.
    pub(crate) fn runs(&self) -> Vec<(u32, u32)> {
        runs(&self.fetches)
    }

    pub(crate) fn sizes(&self) -> Vec<u32> {
        self.fetches.iter().map(|fetch| fetch.extent.len).collect()
    }
}

/// A label: of the blocks of file 0 that a level above reads, its readers want `len` from `start`
/// on.
pub(crate) fn demand(start: u64, len: u64) -> Label {
    Label { demand: Extent { file: FileId(0), start: start as u32, len: len as u32 }, hits: Extent::default() }
}

/// Fetches by first block and number.
pub(crate) fn runs(fetches: &[Fetched]) -> Vec<(u32, u32)> {
    fetches.iter().map(|fetch| (fetch.extent.start, fetch.extent.len)).collect()
}
