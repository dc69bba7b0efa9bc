//! The cost of a cache divided among devices (SAC), in instructions counted by callgrind as
//! differences of two lengths: a hit and a miss under `lazy-clock` against `clock`, a draw of the
//! lottery by the number of partitions, a repartitioning; and a hit and a miss of LANDLORD by the
//! number of frames.

use std::hint::black_box;

use anyhow::{Context, bail};
use forebay_core::directory::Directory;
use forebay_core::frames::{FETCHING, FIRST_POLICY_LIST, flag};
use forebay_core::index::Hashed;
use forebay_core::papers::sac::{Division, Lottery, Scheme, Settings};
use forebay_core::replacement::{Landlord, Lru, Replacement};
use forebay_core::{
    Action, Actions, BlockKey, Caller, ContextId, Core, DeviceCost, DeviceId, Event, EventKind, FileId, HandlerId,
    Instant, Policy, ReadId, Setup,
};

use crate::hit::{Rounds, each};
use crate::report::Row;

/// The prefix of this benchmark's loops in `--count`.
pub(crate) const PREFIX: &str = "partitions/";

/// The policy for the whole cache, and the one that divides it.
const WHOLE: &str = "clock";
const DIVIDED: &str = "lazy-clock";

/// Counts all figures.
pub(crate) fn run(smoke: bool) -> anyhow::Result<Vec<Row>> {
    let lengths = if smoke { Rounds::new(1_000, 2_000) } else { Rounds::new(50_000, 150_000) };
    let counted = |what: &str, size: u32| each(&format!("{PREFIX}{what}/{size}"), lengths);
    let mut rows = Vec::new();
    for devices in [2, 64] {
        for (what, loop_name, wanted) in [
            ("a hit by the short cut", "short-cut", Some(1.1)),
            ("a hit that is an event", "event", Some(1.1)),
            ("a miss, its fetch and its victim", "miss", None),
        ] {
            let divided = counted(&format!("{loop_name}:{DIVIDED}"), devices)?;
            let whole = counted(&format!("{loop_name}:{WHOLE}"), devices)?;
            rows.push(Row {
                what: format!("instructions of {DIVIDED}, {what}, {devices} devices"),
                against: WHOLE.into(),
                ratio: divided / whole,
                wanted,
                detail: format!("{divided:.0} and {whole:.0}"),
                ..row()
            });
        }
    }
    rows.push(draws(&counted)?);
    let repartitioning = counted("repartition", 64)?;
    rows.push(Row {
        what: "instructions of a repartitioning, 64 devices, by request".into(),
        against: "an epoch of 1000 requests (figure in detail)".into(),
        ratio: repartitioning / 1000.0,
        detail: format!("{repartitioning:.0} an epoch"),
        ..row()
    });
    let (small, large) = if smoke { (100, 1_000) } else { (1_000, 1_000_000) };
    for what in ["hit", "miss"] {
        let [few, many] = [small, large].map(|frames| counted(&format!("landlord-{what}"), frames));
        let [lru_few, lru_many] = [small, large].map(|frames| counted(&format!("lru-{what}"), frames));
        let (few, many) = (few?, many?);
        // In a binary heap, ten times as many levels would be a thousand times as many frames.
        rows.push(Row {
            what: format!("instructions of a {what} of LANDLORD, {large} frames"),
            against: format!("{small} frames"),
            ratio: many / few,
            wanted: Some(f64::from(large).ln() / f64::from(small).ln()),
            detail: format!("{many:.0} and {few:.0}; of LRU {:.0} and {:.0}", lru_many?, lru_few?),
            ..row()
        });
    }
    Ok(rows)
}

fn row() -> Row {
    Row {
        bench: "partitions",
        what: String::new(),
        against: String::new(),
        ratio: 0.0,
        wanted: None,
        detail: String::new(),
        point: None,
    }
}

/// Thirty-two times as many partitions are six times as many levels, and a step more of the sum.
fn draws(counted: &impl Fn(&str, u32) -> anyhow::Result<f64>) -> anyhow::Result<Row> {
    let (two, sixteen, most) = (counted("draw", 2)?, counted("draw", 16)?, counted("draw", 64)?);
    Ok(Row {
        what: "instructions of a draw of the lottery, 64 partitions".into(),
        against: "2 partitions".into(),
        ratio: most / two,
        wanted: Some(64f64.log2() / 2f64.log2()),
        detail: format!("{two:.0}, {sixteen:.0} of 16, {most:.0}"),
        ..row()
    })
}

/// One loop, to be counted from outside: its kind, and the number of devices, partitions or frames.
pub(crate) fn count(what: &str, rounds: u64) -> anyhow::Result<()> {
    let (what, size) = what.rsplit_once('/').context("a loop of `partitions` ends with a size")?;
    let size: u32 = size.parse()?;
    if let Some((what, policy)) = what.split_once(':') {
        let mut server = Server::new(policy, size)?;
        match what {
            "short-cut" => (0..rounds).for_each(|nth| server.short_cut(nth)),
            "event" => (0..rounds).for_each(|nth| server.hit(nth)),
            "miss" => (0..rounds).for_each(|nth| server.miss(nth)),
            other => bail!("there is no loop named {other}"),
        }
        return Ok(());
    }
    match what {
        "draw" => draw(size, rounds),
        "repartition" => repartition(size, rounds),
        "landlord-hit" => Segment::<Landlord>::new(size).hits(rounds),
        "landlord-miss" => Segment::<Landlord>::new(size).misses(rounds),
        "lru-hit" => Segment::<Lru>::new(size).hits(rounds),
        "lru-miss" => Segment::<Lru>::new(size).misses(rounds),
        other => bail!("there is no loop named {other}"),
    }
    Ok(())
}

/// Partition sizes of all kinds.
fn sizes(partitions: u32) -> impl Iterator<Item = u32> + Clone {
    (0..partitions).map(|partition| 100 + partition * 37 % 1000)
}

fn draw(partitions: u32, rounds: u64) {
    let mut lottery = Lottery::new(partitions as usize, 1);
    lottery.issue(sizes(partitions), sizes(partitions).sum());
    for _ in 0..rounds {
        black_box(lottery.draw());
    }
}

/// Every round is an epoch in which some devices wait too long and others supply them.
fn repartition(devices: u32, rounds: u64) {
    let settings = Settings { window: devices, ..Settings::paper(Scheme::Lazy) };
    let costs = vec![DeviceCost::flat(10_000_000, 200_000_000, 1); devices as usize];
    let mut division = Division::new(64 * 1024, &costs, settings);
    for round in 0..rounds {
        for device in 0..u64::from(devices) {
            let wait = 1_000_000 + mix(round * 64 + device) % 10_000_000;
            black_box(division.has_waited(device as usize, wait));
        }
    }
}

/// One policy in a slab, without an engine.
struct Segment<R> {
    directory: Directory<Hashed>,
    policy: R,
    frames: u64,
}

impl<R: Replacement> Segment<R> {
    /// A full segment, of blocks of sixteen costs.
    fn new(frames: u32) -> Segment<R> {
        let directory = Directory::new(FIRST_POLICY_LIST + R::LISTS, frames, R::ghosts(frames));
        let policy = R::new(FIRST_POLICY_LIST, frames);
        let mut segment = Segment { directory, policy, frames: u64::from(frames) };
        (0..u64::from(frames)).for_each(|block| segment.bring(block));
        segment
    }

    fn bring(&mut self, block: u64) {
        let directory = &mut self.directory;
        let key = BlockKey::new(FileId((block >> 32) as u32), block as u32);
        let class = self.policy.miss(directory, None);
        let slot = directory.assign(key, FETCHING).or_else(|| {
            self.policy.victim(directory, class)?;
            directory.assign(key, FETCHING)
        });
        if let Some(slot) = slot {
            directory.frames.clear(slot, flag::ABSENT);
            self.policy.costs(directory, slot, 1_000_000 * (1 + mix(block) % 16));
            self.policy.insert(directory, slot, class);
        }
    }

    fn hits(&mut self, rounds: u64) {
        for nth in 0..rounds {
            let key = BlockKey::new(FileId(0), (mix(nth) % self.frames) as u32);
            if let Some(slot) = black_box(&self.directory).find(key) {
                self.policy.hit(&mut self.directory, slot);
            }
        }
    }

    fn misses(&mut self, rounds: u64) {
        (0..rounds).for_each(|nth| self.bring(self.frames + nth));
    }
}

const BLOCK: u64 = 65536;
/// A gigabyte of memory.
const FRAMES: u32 = 16_384;

/// A core over devices with a file each, whose fetches arrive at once.
struct Server {
    core: Box<dyn Core>,
    at: Instant,
    actions: Actions,
    devices: u64,
}

impl Server {
    /// A full server, of blocks that are hit in turn.
    fn new(policy: &str, devices: u32) -> anyhow::Result<Server> {
        let policy: Policy = policy.parse()?;
        let core = policy.build::<Hashed>(Setup {
            frames: FRAMES,
            block_bytes: BLOCK as u32,
            streams: 1024,
            devices: vec![DeviceCost::flat(10_000_000, 200_000_000, 1); devices as usize],
            referenced: Default::default(),
        });
        let mut server = Server { core, at: Instant(0), actions: Vec::new(), devices: u64::from(devices) };
        for device in 0..devices {
            let kind = EventKind::Open { file: FileId(device), device: DeviceId(device as u16), bytes: 1 << 47 };
            server.tell(kind);
        }
        (0..u64::from(FRAMES)).for_each(|nth| server.read(nth));
        Ok(server)
    }

    fn tell(&mut self, kind: EventKind) {
        self.at = self.at.plus(100_000);
        self.actions.clear();
        self.core.handle(&[Event { at: self.at, kind }], &mut self.actions);
    }

    /// Reads one block: the `nth` of all, in turn from every device.
    fn read(&mut self, nth: u64) {
        let (read, handler, context) = (ReadId(0), HandlerId(0), ContextId(0));
        let (file, offset) = (FileId((nth % self.devices) as u32), nth / self.devices * BLOCK);
        self.tell(EventKind::Read { read, handler, context, file, offset, len: BLOCK as u32 });
        let fetch = self.actions.iter().find_map(|action| match action {
            Action::Fetch { io, .. } => Some(*io),
            _ => None,
        });
        if let Some(io) = fetch {
            self.tell(EventKind::Arrived { io });
        }
        self.tell(EventKind::Done { read });
    }

    fn hit(&mut self, nth: u64) {
        self.read(mix(nth) % u64::from(FRAMES));
    }

    fn miss(&mut self, nth: u64) {
        self.read(u64::from(FRAMES) + nth);
    }

    fn short_cut(&mut self, nth: u64) {
        let nth = mix(nth) % u64::from(FRAMES);
        let device = (nth % self.devices) as u16;
        let key = BlockKey::new(FileId(device.into()), (nth / self.devices) as u32);
        black_box(self.core.hit(key, DeviceId(device), Caller::default()));
    }
}

/// Numbers in an order that no prefetcher of the processor knows.
fn mix(nth: u64) -> u64 {
    nth.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20
}
