//! A core that is told what to do page by page, over a device that takes no time: for what does not
//! depend on time.

use forebay_core::index::Hashed;
use forebay_core::{
    Action, Actions, BlockKey, ContextId, Core, DeviceCost, DeviceId, Event, EventKind, Extent, FileId, FrameId,
    HandlerId, Instant, Policy, ReadId, Setup,
};

/// The core, and what it gave up.
pub(crate) struct Scripted {
    pub(crate) core: Box<dyn Core>,
    block_bytes: u32,
    now: Instant,
    /// The blocks in frames, by frame.
    held: Vec<Option<BlockKey>>,
    /// Blocks in the order in which they were evicted.
    pub(crate) evicted: Vec<BlockKey>,
}

impl Scripted {
    /// A core of `policy` with so many frames, over a device whose competitive depth is `depth`
    /// blocks.
    pub(crate) fn new(policy: Policy, frames: u32, block_bytes: u32, depth: u32) -> Scripted {
        // A switch takes a millisecond, in which `depth` blocks are transferred.
        let rate = u64::from(depth) * u64::from(block_bytes) * 1000;
        let device = DeviceCost::flat(1_000_000, rate, 1);
        let setup = Setup {
            frames,
            block_bytes,
            streams: (frames / 4).clamp(256, 16_384),
            devices: vec![device],
            referenced: Default::default(),
        };
        let core = policy.build::<Hashed>(setup);
        Scripted { core, block_bytes, now: Instant(0), held: vec![None; frames as usize], evicted: Vec::new() }
    }

    /// Time goes on.
    pub(crate) fn wait(&mut self, millis: u64) {
        self.now = self.now.plus(millis * 1_000_000);
    }

    /// A file of so many blocks.
    pub(crate) fn open(&mut self, file: u32, blocks: u32) {
        let bytes = u64::from(blocks) * u64::from(self.block_bytes);
        self.tell(EventKind::Open { file: FileId(file), device: DeviceId(0), bytes });
    }

    /// A handler reads blocks of a file, and is done with them.
    pub(crate) fn read(&mut self, handler: u32, file: u32, block: u32, blocks: u32) {
        let offset = u64::from(block) * u64::from(self.block_bytes);
        let (read, len) = (ReadId(0), blocks * self.block_bytes);
        let (handler, context) = (HandlerId(handler), ContextId(0));
        self.tell(EventKind::Read { read, handler, context, file: FileId(file), offset, len });
        self.tell(EventKind::Done { read });
    }

    /// Tells the core something, and that what it fetches has come.
    pub(crate) fn tell(&mut self, kind: EventKind) {
        let mut events = vec![kind];
        let mut actions = Actions::new();
        while let Some(kind) = events.pop() {
            actions.clear();
            self.core.handle(&[Event { at: self.now, kind }], &mut actions);
            for action in &actions {
                match *action {
                    Action::Evict { frame, .. } => self.evict(frame),
                    Action::Fetch { io, extent, .. } => {
                        self.fill(extent);
                        events.insert(0, EventKind::Arrived { io });
                    }
                    _ => {}
                }
            }
        }
    }

    fn fill(&mut self, extent: Extent) {
        for key in extent.keys() {
            if let Some(frame) = self.core.frame(key) {
                self.held[frame.index()] = Some(key);
            }
        }
    }

    fn evict(&mut self, frame: FrameId) {
        self.evicted.extend(self.held[frame.index()].take());
    }
}
