//! The cost of the prefetch cache (CPEM §4): instructions of the core for a prefetched block and
//! for a hit, against a core without prefetch cache. Callgrind counts them as differences of two
//! lengths. Also its bookkeeping in bytes.

use std::hint::black_box;

use anyhow::bail;
use forebay_core::frames::{FIRST_POLICY_LIST, Frames};
use forebay_core::history::EvictionHistory;
use forebay_core::index::Hashed;
use forebay_core::{
    Action, Actions, Caller, ContextId, Core, DeviceCost, DeviceId, Event, EventKind, FileId, HandlerId, Instant,
    Policy, ReadId, Setup,
};

use crate::hit::{self, Rounds, each};
use crate::report::Row;

/// With the prefetch cache, and without.
const WITH: &str = "competitive-em+lru";
const WITHOUT: &str = "competitive+lru";

/// Readers, each of a file of its own.
const READERS: u32 = 8;

/// Counts instructions and bytes.
pub(crate) fn run(smoke: bool) -> anyhow::Result<Vec<Row>> {
    let blocks = if smoke { Rounds::new(1_000, 2_000) } else { Rounds::new(50_000, 150_000) };
    let mut rows = Vec::new();
    let costs = [
        ("instructions a block fetched ahead, reads of 1 block", "ahead-1", 1.25),
        ("instructions a block fetched ahead, reads of 16", "ahead-16", 1.25),
        ("instructions a hit that is an event", "event", 1.15),
        ("instructions a hit by the short cut", "short-cut", 1.15),
        ("instructions a 4 KiB hit in the library, with its copy", "library", 1.15),
    ];
    for (what, loop_name, wanted) in costs {
        let with = each(&format!("{loop_name}:{WITH}"), blocks)?;
        let without = each(&format!("{loop_name}:{WITHOUT}"), blocks)?;
        rows.push(Row {
            bench: "prefetch-cache",
            what: what.into(),
            against: WITHOUT.into(),
            ratio: with / without,
            wanted: Some(wanted),
            detail: format!("{with:.0} and {without:.0}"),
            point: None,
        });
    }
    for block_bytes in [65536, 4096] {
        rows.push(space(block_bytes)?);
    }
    Ok(rows)
}

/// The bytes that the core keeps for each byte of a gigabyte, by purpose (em-space: "0.2 %" of
/// marks and "0.2 %" of history at 4 KiB, CPEM §4.1).
fn space(block_bytes: u32) -> anyhow::Result<Row> {
    let memory = 1u64 << 30;
    let frames = (memory / u64::from(block_bytes)) as u32;
    let core = |policy: &str| core(policy, frames, block_bytes);
    let em = core(WITH)?;
    let total = em.footprint();
    let marks = em.reclaimer().map_or(0, |reclaimer| reclaimer.footprint());
    let history = EvictionHistory::new(frames).footprint();
    let slots = Frames::new(FIRST_POLICY_LIST + 1, frames, 0).footprint();
    let streams = em.streams().footprint();
    let index = total - marks - history - slots - streams;
    let percent = |bytes: usize| 100.0 * bytes as f64 / memory as f64;
    let parts = [("marks", marks), ("history", history), ("frames", slots), ("index", index), ("streams", streams)];
    let parts: Vec<String> = parts.iter().map(|(name, bytes)| format!("{name} {:.3}", percent(*bytes))).collect();
    Ok(Row {
        bench: "prefetch-cache",
        what: format!("bookkeeping, % of memory, blocks of {} KiB", block_bytes >> 10),
        against: "0.4 % (em-space)".into(),
        ratio: percent(total),
        wanted: (block_bytes == 65536).then_some(0.4),
        detail: parts.join(", "),
        point: None,
    })
}

/// A core with as many streams as in the live engine and the simulator.
fn core(policy: &str, frames: u32, block_bytes: u32) -> anyhow::Result<Box<dyn Core>> {
    let policy: Policy = policy.parse()?;
    Ok(policy.build::<Hashed>(Setup {
        frames,
        block_bytes,
        streams: (frames / 4).clamp(256, 16_384),
        devices: vec![DeviceCost::flat(10_000_000, 200_000_000, 1)],
        referenced: Default::default(),
    }))
}

/// One loop, to be counted from outside: its kind, and the policy.
pub(crate) fn count(what: &str, policy: &str, blocks: u64) -> anyhow::Result<()> {
    if what == "library" {
        return hit::library(policy, blocks);
    }
    let mut core = Driver::new(policy)?;
    match what {
        "ahead-1" => (0..blocks).for_each(|block| core.ahead(block, 1)),
        "ahead-16" => (0..blocks / 16).for_each(|read| core.ahead(read, 16)),
        "event" => {
            core.warm();
            (0..blocks).for_each(|block| core.hit(block));
        }
        "short-cut" => {
            core.warm();
            (0..blocks).for_each(|block| core.short_cut(block));
        }
        other => bail!("there is no loop named {other}"),
    }
    Ok(())
}

const BLOCK: u64 = 65536;
/// A gigabyte of memory.
const FRAMES: u32 = 16_384;

/// A core whose fetches arrive at the next event.
struct Driver {
    core: Box<dyn Core>,
    at: Instant,
    actions: Actions,
    arrived: Vec<Event>,
}

impl Driver {
    fn new(policy: &str) -> anyhow::Result<Driver> {
        let core = core(policy, FRAMES, BLOCK as u32)?;
        let mut driver = Driver { core, at: Instant(0), actions: Vec::new(), arrived: Vec::new() };
        for reader in 0..READERS {
            let file = FileId(reader);
            driver.tell(EventKind::Open { file, device: DeviceId(0), bytes: 1 << 45 });
        }
        Ok(driver)
    }

    fn tell(&mut self, kind: EventKind) {
        self.at = self.at.plus(100_000);
        self.actions.clear();
        self.core.handle(&[Event { at: self.at, kind }], &mut self.actions);
        for &action in &self.actions {
            match action {
                Action::Fetch { io, .. } => self.arrived.push(Event { at: self.at, kind: EventKind::Arrived { io } }),
                Action::Ready { read } => self.arrived.push(Event { at: self.at, kind: EventKind::Done { read } }),
                _ => {}
            }
        }
        while let Some(event) = self.arrived.pop() {
            self.actions.clear();
            self.core.handle(&[event], &mut self.actions);
            for &action in &self.actions {
                if let Action::Ready { read } = action {
                    self.arrived.push(Event { at: self.at, kind: EventKind::Done { read } });
                }
            }
        }
    }

    fn read(&mut self, reader: u32, block: u64, blocks: u64) {
        let (read, handler, context) = (ReadId(reader), HandlerId(reader), ContextId(0));
        let (offset, len) = (block * BLOCK, (blocks * BLOCK) as u32);
        self.tell(EventKind::Read { read, handler, context, file: FileId(reader), offset, len });
    }

    /// The `nth` read of this many blocks: every reader in turn continues its stream.
    fn ahead(&mut self, nth: u64, blocks: u64) {
        let (reader, read) = ((nth % u64::from(READERS)) as u32, nth / u64::from(READERS));
        self.read(reader, read * blocks, blocks);
    }

    /// Every reader has read a thousand blocks and has others ahead.
    fn warm(&mut self) {
        (0..1000 * u64::from(READERS)).for_each(|nth| self.ahead(nth, 1));
    }

    /// Reads a block that was read before.
    fn hit(&mut self, nth: u64) {
        let (reader, block) = scattered(nth);
        self.read(reader, block, 1);
    }

    fn short_cut(&mut self, nth: u64) {
        let (reader, block) = scattered(nth);
        black_box(self.core.hit(
            forebay_core::BlockKey::new(FileId(reader), block as u32),
            DeviceId(0),
            Caller::default(),
        ));
    }
}

/// A reader and a block, in an order that no prefetcher of the processor knows.
fn scattered(nth: u64) -> (u32, u64) {
    let mixed = nth.wrapping_mul(0x9e37_79b9);
    ((mixed % u64::from(READERS)) as u32, (mixed >> 8) % 1000)
}
