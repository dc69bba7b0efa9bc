//! A core of which files are read, stream by stream.

use forebay_core::index::Hashed;
use forebay_core::{
    Action, Actions, ContextId, Core, DeviceCost, DeviceId, Event, EventKind, FileId, HandlerId, Instant, Policy,
    ReadId, Setup,
};

/// A core whose fetches arrive at once.
pub(crate) struct Bench {
    pub(crate) core: Box<dyn Core>,
    /// From where reads come.
    pub(crate) context: u32,
    at: u64,
    pub(crate) fetches: Vec<(u32, u32)>,
    opened: u32,
}

impl Bench {
    pub(crate) fn new(policy: &str) -> Bench {
        // 131 pages in the time of a switch.
        Bench::on(policy, DeviceCost::flat(10_530_000, 51_300_000, 1))
    }

    pub(crate) fn on(policy: &str, device: DeviceCost) -> Bench {
        let policy: Policy = policy.parse().unwrap();
        let setup = Setup {
            frames: 2_000,
            block_bytes: 4096,
            streams: 1000,
            devices: vec![device],
            referenced: Default::default(),
        };
        Bench { core: policy.build::<Hashed>(setup), context: 0, at: 0, fetches: vec![], opened: 0 }
    }

    pub(crate) fn tell(&mut self, kind: EventKind) {
        self.at += 100_000;
        let mut actions = Actions::new();
        self.core.handle(&[Event { at: Instant(self.at), kind }], &mut actions);
        for action in actions {
            match action {
                Action::Fetch { io, extent, .. } => {
                    self.fetches.push((extent.start, extent.len));
                    self.tell(EventKind::Arrived { io });
                }
                Action::Ready { read } => self.tell(EventKind::Done { read }),
                _ => {}
            }
        }
    }

    /// A file of so many pages is read from a page up to another, and closed. Returns what was
    /// fetched for it. Memory is for less than the files of a test, so that none is there any more
    /// when it is read again.
    pub(crate) fn read(&mut self, file: u32, pages: u32, from: u32, to: u32) -> Vec<(u32, u32)> {
        self.fetches.clear();
        if file >= self.opened {
            self.opened = file + 1;
            self.tell(EventKind::Open { file: FileId(file), device: DeviceId(0), bytes: u64::from(pages) * 4096 });
        }
        let file = FileId(file);
        for page in from..to {
            let (read, handler, context) = (ReadId(0), HandlerId(1), ContextId(self.context));
            let (offset, len) = (u64::from(page) * 4096, 4096);
            self.tell(EventKind::Read { read, handler, context, file, offset, len });
        }
        self.tell(EventKind::Close { file });
        self.core.check();
        self.fetches.clone()
    }
}
