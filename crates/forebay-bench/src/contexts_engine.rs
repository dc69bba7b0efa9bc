//! What partitions of program contexts cost (AMP §3.2, §4.4), in instructions counted by callgrind as differences of two lengths: a hit of an
//! engine under `amp` against one under `arc`, detection included; and a hit and a miss of the cache manager with ten loops, by the number of
//! frames: it is O(1).

use std::hint::black_box;

use anyhow::{Context, bail};
use forebay_core::context::{Access, Hint, Pattern, Place, Rhythm, Settings};
use forebay_core::directory::Directory;
use forebay_core::frames::{FETCHING, FREE, flag};
use forebay_core::index::Hashed;
use forebay_core::partition::{Segments, Use};
use forebay_core::replacement::Arc;
use forebay_core::{
    Action, Actions, BlockKey, Caller, ContextId, Core, DeviceCost, DeviceId, Event, EventKind, FileId, HandlerId,
    Instant, Policy, ReadId, Setup,
};

use crate::hit::each;
use crate::report::Row;

/// Loops of this benchmark, as `--count` has them.
pub(crate) const PREFIX: &str = "contexts-engine/";

/// Counts everything.
pub(crate) fn run(smoke: bool) -> anyhow::Result<Vec<Row>> {
    let lengths = if smoke { (1_000, 2_000) } else { (200_000, 600_000) };
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

/// One loop, to be counted from outside: what is done, and by which policy or among how many frames.
pub(crate) fn count(what: &str, rounds: u64) -> anyhow::Result<()> {
    if let Some((what, policy)) = what.split_once(':') {
        return hits(policy, what == "loop", rounds);
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

/// Hits of an engine that are no events, of a context that loops or not, as is known from an earlier run.
pub(crate) fn hits(policy: &str, loops: bool, rounds: u64) -> anyhow::Result<()> {
    let policy: Policy = policy.parse()?;
    let mut core = policy.build::<Hashed>(Setup {
        frames: FRAMES,
        block_bytes: BLOCK as u32,
        streams: 1024,
        devices: vec![DeviceCost::flat(10_000_000, 200_000_000, 1)],
        prefetch: policy.prefetch,
        reclaim: policy.reclaim,
        partition: policy.partition,
        context: policy.context,
        referenced: Default::default(),
    });
    let (mut actions, mut at) = (Actions::new(), Instant(0));
    let mut tell = |core: &mut dyn Core, kind| {
        at = at.plus(100_000);
        actions.clear();
        core.handle(&[Event { at, kind }], &mut actions);
        actions.iter().find_map(|action| match action {
            Action::Fetch { io, .. } => Some(*io),
            _ => None,
        })
    };
    let (file, read, context) = (FileId(0), ReadId(0), ContextId(1));
    tell(&mut *core, EventKind::Open { file, device: DeviceId(0), bytes: 1 << 47 });
    let rhythm = Rhythm { size: FRAMES, time: FRAMES.into(), deviation: 0 };
    if loops {
        tell(&mut *core, EventKind::Hinted { context, hint: Hint::of(Pattern::Looping, rhythm) });
    }
    for nth in 0..u64::from(FRAMES) {
        let kind =
            EventKind::Read { read, handler: HandlerId(0), context, file, offset: nth * BLOCK, len: BLOCK as u32 };
        if let Some(io) = tell(&mut *core, kind) {
            tell(&mut *core, EventKind::Arrived { io });
        }
        tell(&mut *core, EventKind::Done { read });
    }
    let caller = Caller { handler: HandlerId(0), context };
    // A loop goes through its blocks in turn; whatever else there is, in an order that no prefetcher of the processor knows.
    let block = |nth: u64| match loops {
        true => BlockKey::new(file, (nth % u64::from(FRAMES)) as u32),
        false => key(nth, FRAMES),
    };
    let hits = (0..rounds).filter(|&nth| core.hit(block(nth), DeviceId(0), caller).is_some()).count();
    if (hits as u64) < rounds {
        bail!("of {rounds} hits {hits} took the short cut");
    }
    let mut sizes = Vec::new();
    core.program(0, &mut sizes);
    if loops && sizes.get(2).is_none_or(|&size| size < FRAMES / 2) {
        bail!("the loop is not in its partition: {sizes:?}");
    }
    Ok(())
}

/// The cache manager alone, told of ten loops and other accesses in turn.
struct Manager {
    directory: Directory<Hashed>,
    segments: Segments<Arc>,
    frames: u32,
    now: u64,
}

/// The loops, and what does not loop.
const WHO: u64 = 11;

impl Manager {
    /// Full.
    fn new(frames: u32) -> anyhow::Result<Manager> {
        let context = Some(&Settings::AMP);
        let (lists, ghosts) = (Segments::<Arc>::lists(1, context), Segments::<Arc>::ghosts(frames, 1, context));
        let (directory, segments) = (Directory::new(lists, frames, ghosts), Segments::new(&[frames], context));
        let mut manager = Manager { directory, segments, frames, now: 0 };
        (0..u64::from(frames)).for_each(|nth| manager.access(nth));
        let free = manager.directory.frames.len(FREE);
        (free == 0).then_some(manager).with_context(|| format!("{free} frames are still free"))
    }

    /// The `nth` of all blocks, which belongs to one of those who take turns.
    fn access(&mut self, nth: u64) {
        self.now += 1;
        let (directory, segments) = (&mut self.directory, &mut self.segments);
        let place = match nth % WHO {
            0 => Place::Default,
            loops => Place::Loop((loops - 1) as u8),
        };
        let rhythm = Rhythm { size: self.frames / 5, time: u64::from(self.frames) * 2, deviation: 9 };
        let access = Access { place, rhythm, now: self.now };
        segments.accessed(directory, 0, &access);
        let key = BlockKey::new(FileId((nth >> 32) as u32), nth as u32);
        let ghost = match directory.find(key) {
            Some(slot) if !directory.frames.is_ghost(slot) => {
                return segments.referred_by(directory, 0, slot, place, Use::Hit);
            }
            ghost => ghost,
        };
        let class = segments.missed_by(directory, 0, ghost, place, false);
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
    nth.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20
}
