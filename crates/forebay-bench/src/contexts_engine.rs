//! The cost of partitions of program contexts (AMP §3.2, §4.4), in instructions counted by
//! callgrind as differences of two lengths: a hit of an engine under `amp` and under `auto` against
//! one under `arc`, detection included; a read that mostly misses under `auto` against one under
//! `competitive+arc`; and a hit and a miss of the cache manager with ten loops, by the number of
//! frames: it is O(1).

use std::hint::black_box;

use anyhow::{Context, bail};
use forebay_core::directory::Directory;
use forebay_core::frames::{FETCHING, FREE, flag};
use forebay_core::index::Hashed;
use forebay_core::papers::amp::Settings;
use forebay_core::partition::Segments;
use forebay_core::replacement::Arc;
use forebay_core::seams::Use;
use forebay_core::seams::{Access, Place};
use forebay_core::{
    Action, Actions, BlockKey, Caller, ContextId, Core, DeviceCost, DeviceId, Event, EventKind, FileId, HandlerId,
    Instant, IoId, Policy, ReadId, Setup,
};
use forebay_core::{Hint, Pattern, Rhythm};

use crate::hit::{Rounds, each};
use crate::report::Row;

/// The prefix of this benchmark's loops in `--count`.
pub(crate) const PREFIX: &str = "contexts-engine/";

/// Counts all figures.
pub(crate) fn run(smoke: bool) -> anyhow::Result<Vec<Row>> {
    let lengths = if smoke { Rounds::new(1_000, 2_000) } else { Rounds::new(200_000, 600_000) };
    let counted = |what: &str| each(&format!("{PREFIX}{what}"), lengths);
    let nothing = counted("nothing")?;
    let hit = counted("hit:arc")? - nothing;
    let mut rows = Vec::new();
    for (what, name) in [("hit:amp", "of a context that does not loop"), ("loop:amp", "of a loop, in its partition")] {
        let ours = counted(what)? - nothing;
        rows.push(Row {
            what: format!("instructions of a hit under amp, {name}, detection included"),
            against: "a hit under arc by the short cut".into(),
            ratio: ours / hit,
            wanted: Some(1.1),
            detail: format!("{ours:.0} and {hit:.0}"),
            ..row()
        });
    }
    for devices in [1, 3] {
        let plain = counted(&format!("hit-{devices}:arc"))? - nothing;
        for (what, name) in [("hit", "of a context that does not loop"), ("loop", "of a loop, in its partition")] {
            let ours = counted(&format!("{what}-{devices}:auto"))? - nothing;
            rows.push(Row {
                what: format!("instructions of a hit under auto, {name}, {devices} devices"),
                against: "a hit under arc by the short cut".into(),
                ratio: ours / plain,
                wanted: Some(1.6),
                detail: format!("{ours:.0} and {plain:.0}"),
                ..row()
            });
        }
    }
    for (what, name) in [("miss", "at random"), ("scan", "in order")] {
        let [ours, plain] = ["auto", "competitive+arc"].map(|policy| counted(&format!("{what}:{policy}")));
        let (ours, plain) = (ours? - nothing, plain? - nothing);
        rows.push(Row {
            what: format!("instructions of a read {name} of far more than memory, under auto"),
            against: "the same under competitive+arc".into(),
            ratio: ours / plain,
            wanted: Some(1.5),
            detail: format!("{ours:.0} and {plain:.0}"),
            ..row()
        });
    }
    let (few, many) = if smoke { (1_000, 4_000) } else { (10_000, 1_000_000) };
    for what in ["hits", "misses"] {
        let [small, large] = [few, many].map(|frames| counted(&format!("{what}/{frames}")));
        let (small, large) = (small? - nothing, large? - nothing);
        rows.push(Row {
            what: format!("instructions of the manager, {what} with ten loops, {many} frames"),
            against: format!("{few} frames"),
            ratio: large / small,
            wanted: Some(1.1),
            detail: format!("{large:.0} and {small:.0}"),
            ..row()
        });
    }
    Ok(rows)
}

fn row() -> Row {
    Row {
        bench: "contexts-engine",
        what: String::new(),
        against: String::new(),
        ratio: 0.0,
        wanted: None,
        detail: String::new(),
        point: None,
    }
}

/// One loop, to be counted from outside: its kind, and the policy or the number of frames.
pub(crate) fn count(what: &str, rounds: u64) -> anyhow::Result<()> {
    if let Some((what, policy)) = what.split_once(':') {
        if let "miss" | "scan" = what {
            return reads(policy, what == "scan", rounds);
        }
        let (what, devices) = what.split_once('-').unwrap_or((what, "1"));
        return hits(Hits { policy, devices: devices.parse()?, loops: what == "loop" }, rounds);
    }
    match what.split_once('/') {
        Some(("hits", frames)) => Manager::new(frames.parse()?)?.hits(rounds),
        Some(("misses", frames)) => Manager::new(frames.parse()?)?.misses(rounds),
        None if what == "nothing" => (0..rounds).for_each(|nth| _ = black_box(key(nth, FRAMES))),
        _ => bail!("there is no loop named {what}"),
    }
    Ok(())
}

const BLOCK: u64 = 65536;
/// A gigabyte of memory.
pub(crate) const FRAMES: u32 = 16_384;

/// The blocks that are hit: as many as frames, without a reserve for prefetching and partitions.
const HELD: u32 = FRAMES / 8 * 7;

/// Hits that are no events, of an engine over this many devices with a file on each. An earlier
/// run's hint says whether their context loops.
pub(crate) struct Hits<'a> {
    pub(crate) policy: &'a str,
    /// So many, a file on each.
    pub(crate) devices: u32,
    /// Whether the context loops, as is known from an earlier run.
    pub(crate) loops: bool,
}

/// An engine whose fetches arrive at once.
struct Filled {
    core: Box<dyn Core>,
    actions: Actions,
    at: Instant,
    /// Of the blocks that it holds, so many on each device.
    devices: u32,
    each: u32,
}

/// Where in a program all reads come from.
const FROM: ContextId = ContextId(1);

impl Filled {
    fn new(policy: Policy, devices: u32) -> Filled {
        let core = policy.build::<Hashed>(Setup {
            frames: FRAMES,
            block_bytes: BLOCK as u32,
            streams: 1024,
            devices: vec![DeviceCost::flat(10_000_000, 200_000_000, 1); devices as usize],
            referenced: Default::default(),
        });
        Filled { core, actions: Actions::new(), at: Instant(0), devices, each: HELD / devices }
    }

    /// How many blocks it holds.
    fn held(&self) -> u64 {
        u64::from(self.each * self.devices)
    }

    fn tell(&mut self, kind: EventKind) -> Vec<IoId> {
        self.at = self.at.plus(100_000);
        self.actions.clear();
        self.core.handle(&[Event { at: self.at, kind }], &mut self.actions);
        let fetched = self.actions.iter().filter_map(|action| match action {
            Action::Fetch { io, .. } => Some(*io),
            _ => None,
        });
        fetched.collect()
    }

    /// The file and the block in it, device by device in turn.
    fn place(&self, block: u64) -> BlockKey {
        let devices = u64::from(self.devices);
        BlockKey::new(FileId((block % devices) as u32), (block / devices) as u32)
    }

    fn open(&mut self) {
        for file in 0..self.devices {
            let bytes = u64::from(self.each) * BLOCK;
            self.tell(EventKind::Open { file: FileId(file), device: DeviceId(file as u16), bytes });
        }
    }

    /// Reads all its blocks once.
    fn fill(&mut self) {
        (0..self.held()).for_each(|nth| self.read(nth));
    }

    /// Reads a block. All that is fetched arrives at once.
    fn read(&mut self, block: u64) {
        let key = self.place(block);
        let (read, file, len) = (ReadId(0), key.file(), BLOCK as u32);
        let (handler, offset) = (HandlerId(file.0), u64::from(key.block()) * BLOCK);
        for io in self.tell(EventKind::Read { read, handler, context: FROM, file, offset, len }) {
            self.tell(EventKind::Arrived { io });
        }
        self.tell(EventKind::Done { read });
    }

    /// Whether a block is there, without an event.
    fn hit(&mut self, block: u64) -> bool {
        let key = self.place(block);
        let caller = Caller { handler: HandlerId(0), context: FROM };
        self.core.hit(key, DeviceId(key.file().0 as u16), caller).is_some()
    }

    /// Blocks in partitions of loops.
    fn in_loops(&self) -> u32 {
        let of = |device: u32| {
            let mut sizes = Vec::new();
            self.core.part_sizes(device as usize, &mut sizes);
            sizes.get(2).copied().unwrap_or(0)
        };
        (0..self.devices).map(of).sum()
    }
}

/// Hits that are no events.
pub(crate) fn hits(Hits { policy, devices, loops }: Hits<'_>, rounds: u64) -> anyhow::Result<()> {
    let policy: Policy = policy.parse()?;
    let mut engine = Filled::new(policy, devices);
    engine.open();
    if loops {
        let rhythm = Rhythm { size: FRAMES, time: FRAMES.into(), deviation: 0 };
        engine.tell(EventKind::Hinted { context: FROM, hint: Hint::of(Pattern::Looping, rhythm) });
    }
    engine.fill();
    let held = engine.held();
    // A loop goes through its blocks in turn; whatever else there is, in an order that no
    // prefetcher of the processor knows.
    let block = |nth: u64| if loops { nth % held } else { scattered(nth) % held };
    let hits = (0..rounds).filter(|&nth| engine.hit(block(nth))).count();
    if (hits as u64) < rounds {
        bail!("of {rounds} hits {hits} took the short cut");
    }
    let in_loops = engine.in_loops();
    if loops && policy.context.is_some() && in_loops < FRAMES / 2 {
        bail!("the loop is not in its partition, which has {in_loops} frames");
    }
    Ok(())
}

/// Reads of single blocks of 64 times the memory, in order or at random: with what is fetched for
/// them, arrives and is given up.
fn reads(policy: &str, in_order: bool, rounds: u64) -> anyhow::Result<()> {
    let mut engine = Filled::new(policy.parse()?, 1);
    engine.each = FRAMES * 64;
    engine.open();
    let all = engine.held();
    // The memory is full, and the policy knows its readers, before it counts.
    for nth in 0..u64::from(FRAMES) * 2 + rounds {
        engine.read(if in_order { nth % all } else { scattered(nth) % all });
    }
    Ok(())
}

/// The cache manager alone, with accesses of ten loops and others in turn.
struct Manager {
    directory: Directory<Hashed>,
    segments: Segments<Arc>,
    frames: u32,
    now: u64,
}

/// The ten loops, and the accesses that do not loop.
const WHO: u64 = 11;

impl Manager {
    /// A full manager.
    fn new(frames: u32) -> anyhow::Result<Manager> {
        let loops = Some(Settings::AMP.loops());
        let (lists, ghosts) = (Segments::<Arc>::lists(1, loops), Segments::<Arc>::ghosts(frames, 1, true));
        let (directory, segments) = (Directory::new(lists, frames, ghosts), Segments::new(&[frames], loops));
        let mut manager = Manager { directory, segments, frames, now: 0 };
        (0..u64::from(frames)).for_each(|nth| manager.access(nth));
        let free = manager.directory.frames.len(FREE);
        (free == 0).then_some(manager).with_context(|| format!("{free} frames are still free"))
    }

    /// An access to the `nth` of all blocks, which belongs to the loops and the rest in turn.
    fn access(&mut self, nth: u64) {
        self.now += 1;
        let (directory, segments) = (&mut self.directory, &mut self.segments);
        let place = match nth % WHO {
            0 => Place::Default,
            loops => Place::Loop((loops - 1) as u8),
        };
        let rhythm = Rhythm { size: self.frames / 5, time: u64::from(self.frames) * 2, deviation: 9 };
        let access = Access { place, rhythm, now: self.now };
        let key = BlockKey::new(FileId((nth >> 32) as u32), nth as u32);
        _ = segments.accessed(directory, 0, key, &access);
        let ghost = match directory.find(key) {
            Some(slot) if !directory.frames.is_ghost(slot) => {
                return segments.referred_by(directory, 0, slot, place, Use::Hit);
            }
            ghost => ghost,
        };
        let class = segments.missed_by(directory, 0, key, ghost, place, false);
        if let Some(ghost) = ghost {
            segments.remove(directory, ghost);
            directory.release(ghost);
        }
        if directory.frames.len(FREE) == 0 {
            segments.victim(directory, 0, class);
        }
        if let Some(slot) = directory.assign(key, FETCHING) {
            directory.frames.clear(slot, flag::ABSENT);
            segments.insert(directory, 0, slot, class);
        }
    }

    fn hits(mut self, rounds: u64) {
        (0..rounds).for_each(|nth| self.access(scattered(nth) % u64::from(self.frames)));
    }

    fn misses(mut self, rounds: u64) {
        (0..rounds).for_each(|nth| self.access(u64::from(self.frames) + nth));
    }
}

pub(crate) fn key(nth: u64, blocks: u32) -> BlockKey {
    BlockKey::new(FileId(0), (scattered(nth) % u64::from(blocks)) as u32)
}

/// Numbers in an order that no prefetcher of the processor knows.
fn scattered(nth: u64) -> u64 {
    // A multiple alone comes back nearly in order, so the detector takes it for a loop.
    let mixed = nth.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 20
}
