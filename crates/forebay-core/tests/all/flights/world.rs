//! A small world by seed: devices that take their time, readers in a closed loop, and events of
//! files.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use forebay_core::index::Hashed;
use forebay_core::{
    Action, Actions, CALLED_OFF, ContextId, Core, DeviceCost, DeviceId, Event, EventKind, Extent, FileId, HandlerId,
    Instant, IoId, Policy, ReadId, Referenced, Setup,
};
use forebay_core::{Hint, Pattern};

const MILLI: u64 = 1_000_000;
const SEED: u64 = 20_261_126;
/// Reads of a flight, all readers together.
const READS: u32 = 2500;

/// The machine of a flight.
pub(crate) struct Machine {
    pub(crate) name: &'static str,
    frames: u32,
    block_bytes: u32,
    devices: fn() -> Vec<DeviceCost>,
    referenced: Referenced,
    /// Whether every fourth file is striped over all devices.
    striped: bool,
}

/// A disk of 2006: 10.5 ms a switch, 51 MB/s outside.
fn disk() -> DeviceCost {
    DeviceCost {
        seek: vec![(0, 800_000), (4_000_000_000, 5_000_000), (36_000_000_000, 11_000_000)],
        half_revolution: 3_000_000,
        zones: vec![(0, 51_300_000), (20_000_000_000, 33_000_000)],
        capacity: 36_000_000_000,
        channels: 1,
    }
}

fn flash() -> DeviceCost {
    DeviceCost::flat(90_000, 500_000_000, 8)
}

fn store() -> DeviceCost {
    DeviceCost::flat(20 * MILLI, 90_000_000, 16)
}

/// All kinds of storage that a policy tells apart.
pub(crate) const MACHINES: &[Machine] = &[
    Machine { name: "disk", frames: 600, block_bytes: 4096, devices: || vec![disk()], ..KEPT },
    Machine { name: "roomy", frames: 12_000, block_bytes: 4096, devices: || vec![disk()], ..KEPT },
    Machine { name: "store", frames: 700, block_bytes: 65_536, devices: || vec![store()], ..KEPT },
    Machine { name: "unequal", frames: 900, block_bytes: 4096, devices: || vec![disk(), flash(), store()], ..KEPT },
    Machine { name: "set", frames: 800, block_bytes: 4096, devices: || vec![disk(); 4], striped: true, ..KEPT },
    Machine {
        name: "mount",
        frames: 500,
        block_bytes: 4096,
        devices: || vec![flash()],
        referenced: Referenced::HandedOn,
        ..KEPT
    },
];

const KEPT: Machine =
    Machine { name: "", frames: 0, block_bytes: 0, devices: Vec::new, referenced: Referenced::Kept, striped: false };

/// Random numbers: splitmix64.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }
}

/// FNV-1a over numbers.
struct Digest(u64);

impl Digest {
    fn take(&mut self, numbers: &[u64]) {
        for byte in numbers.iter().flat_map(|number| number.to_le_bytes()) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn extent(&mut self, extent: Extent) {
        self.take(&[u64::from(extent.file.0), u64::from(extent.start), u64::from(extent.len)]);
    }
}

/// How a reader moves.
#[derive(Clone, Copy)]
enum Manner {
    /// A large file from front to back.
    Forward,
    /// A file of 150 blocks, again and again.
    Around,
    /// Anywhere in a file of 900 blocks.
    Anywhere,
    /// Every fifth block.
    Steps,
    /// From back to front.
    Backward,
    /// Small files, whole, one after the other; each is closed.
    Small,
    /// Two places of one file by turns.
    Two,
}

const MANNERS: [Manner; 7] =
    [Manner::Forward, Manner::Around, Manner::Anywhere, Manner::Steps, Manner::Backward, Manner::Small, Manner::Two];

/// A reader in a closed loop.
struct Reader {
    manner: Manner,
    steps: u64,
    think: u64,
    request: u64,
}

/// An event that comes due.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    Reads { reader: usize },
    Done { read: u32, reader: usize },
    Served { io: u32 },
}

struct World {
    core: Box<dyn Core>,
    dice: Dice,
    digest: Digest,
    now: u64,
    due: BinaryHeap<Reverse<(u64, u64, Due)>>,
    sequence: u64,
    readers: Vec<Reader>,
    /// The reader of each unfinished read.
    reads: BTreeMap<u32, usize>,
    issued: u32,
    /// Fetches under way: extent, and whether called off.
    fetches: BTreeMap<u32, (Extent, bool)>,
    costs: Vec<DeviceCost>,
    /// When each channel of each device is free.
    free: Vec<Vec<u64>>,
    block_bytes: u64,
    striped: bool,
    small: u32,
}

/// Files: a large one a reader, then small ones.
const LARGE: u32 = 12;
const SMALL: u32 = 40;
const LARGE_BLOCKS: u64 = 5000;

impl World {
    fn new(policy: &str, machine: &Machine) -> World {
        let costs = (machine.devices)();
        let setup = Setup {
            frames: machine.frames,
            block_bytes: machine.block_bytes,
            streams: 64,
            devices: costs.clone(),
            referenced: machine.referenced,
        };
        let policy: Policy = policy.parse().expect("a policy that there is");
        let manners = MANNERS.iter().chain(&MANNERS[..5]).enumerate();
        let readers = manners.map(|(i, &manner)| Reader {
            manner,
            steps: 0,
            think: [0, 200_000, 3 * MILLI, 20 * MILLI][i % 4],
            request: [1, 4, 8, 2, 16][i % 5],
        });
        let free = costs.iter().map(|cost| vec![0; cost.channels.max(1) as usize]).collect();
        let mut world = World {
            core: policy.build::<Hashed>(setup),
            dice: Dice(SEED),
            digest: Digest(0xcbf2_9ce4_8422_2325),
            now: 0,
            due: BinaryHeap::new(),
            sequence: 0,
            readers: readers.collect(),
            reads: BTreeMap::new(),
            issued: 0,
            fetches: BTreeMap::new(),
            costs,
            free,
            block_bytes: machine.block_bytes.into(),
            striped: machine.striped,
            small: 0,
        };
        (0..LARGE + SMALL).for_each(|file| world.open(file));
        world.tell(EventKind::Hinted {
            context: ContextId(2),
            hint: Hint { pattern: Pattern::Looping, ..Hint::NOTHING },
        });
        (0..world.readers.len()).for_each(|reader| world.later(0, Due::Reads { reader }));
        world
    }

    fn open(&mut self, file: u32) {
        let devices = self.costs.len() as u32;
        let blocks = if file < LARGE { LARGE_BLOCKS } else { 3 + u64::from(file) % 29 };
        let (file, device) = (FileId(file), DeviceId((file % devices) as u16));
        self.tell(EventKind::Open { file, device, bytes: blocks * self.block_bytes - 17 });
        if self.striped && file.0 % 4 == 3 {
            self.tell(EventKind::Striped { file, unit: 8, devices: devices as u16 });
        }
        let at_byte = u64::from(file.0) * 600_000_000;
        self.tell(EventKind::Placed { extent: Extent { file, start: 0, len: blocks as u32 }, at_byte });
    }

    fn later(&mut self, after: u64, due: Due) {
        self.sequence += 1;
        self.due.push(Reverse((self.now + after, self.sequence, due)));
    }

    fn tell(&mut self, kind: EventKind) {
        let mut actions = Actions::new();
        self.core.handle(&[Event { at: Instant(self.now), kind }], &mut actions);
        for action in actions {
            self.digest.take(&[self.now]);
            self.act(action);
        }
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Fetch { io, extent, cause, demand, hits, device } => {
                self.digest.take(&[1, io.0.into(), cause as u64, device.0.into()]);
                [extent, demand, hits].into_iter().for_each(|extent| self.digest.extent(extent));
                self.serve(io, extent, device);
            }
            Action::CallOff { io } => {
                self.digest.take(&[2, io.0.into()]);
                if let Some(fetch) = self.fetches.get_mut(&io.0) {
                    fetch.1 = true;
                }
            }
            Action::Ready { read } => {
                self.digest.take(&[3, read.0.into()]);
                let Some(&reader) = self.reads.get(&read.0) else { return };
                self.later(20_000, Due::Done { read: read.0, reader });
            }
            Action::Error { read, error } => {
                self.digest.take(&[4, read.0.into(), error as u64]);
                if let Some(reader) = self.reads.remove(&read.0) {
                    self.later(MILLI, Due::Reads { reader });
                }
            }
            Action::Emptied { file } => self.digest.take(&[5, file.0.into()]),
            Action::Forgotten { file } => {
                self.digest.take(&[6, file.0.into()]);
                self.open(file.0);
            }
            Action::Evict { frame, .. } => self.digest.take(&[7, frame.0.into()]),
        }
    }

    /// A device begins with a fetch as soon as a channel is free.
    fn serve(&mut self, io: IoId, extent: Extent, device: DeviceId) {
        self.fetches.insert(io.0, (extent, false));
        let cost = &self.costs[device.index()];
        let bytes = u64::from(extent.len) * self.block_bytes;
        let time = cost.switch_cost(cost.mean_distance()) / 2 + bytes * 1_000_000_000 / cost.transfer_rate(0);
        let channel = self.free[device.index()].iter_mut().min().expect("a device has a channel");
        *channel = (*channel).max(self.now) + time;
        let after = *channel - self.now;
        self.later(after, Due::Served { io: io.0 });
    }

    fn served(&mut self, io: u32) {
        let Some((extent, called_off)) = self.fetches.remove(&io) else { return };
        let (fails, io) = (self.dice.below(60) == 0, IoId(io));
        let valid = self.dice.below(u64::from(extent.len)) as u32;
        self.tell(match (called_off, fails) {
            (true, _) => EventKind::Failed { io, valid: 0, error: CALLED_OFF },
            (false, true) => EventKind::Failed { io, valid, error: 5 },
            _ => EventKind::Arrived { io },
        });
    }

    /// Where a reader reads next: file, block.
    fn place(&mut self, reader: usize) -> (u32, u64) {
        let (manner, steps, request) = {
            let it = &mut self.readers[reader];
            it.steps += 1;
            (it.manner, it.steps - 1, it.request)
        };
        let file = reader as u32;
        match manner {
            Manner::Forward => (file, steps * request % LARGE_BLOCKS),
            Manner::Around => (file, steps * request % 150),
            Manner::Anywhere => (file, self.dice.below(900)),
            Manner::Steps => (file, steps * 5 % LARGE_BLOCKS),
            Manner::Backward => (file, LARGE_BLOCKS - 1 - steps * request % (LARGE_BLOCKS - 20)),
            Manner::Two => {
                (file, if steps.is_multiple_of(2) { steps / 2 * request } else { 2500 + steps / 2 * request })
            }
            Manner::Small => {
                let place = steps % 4 * 8;
                if place == 0 {
                    let file = FileId(LARGE + self.small % SMALL);
                    self.small += 1;
                    self.tell(EventKind::Close { file });
                    if self.small.is_multiple_of(16) {
                        self.tell(EventKind::Forget { file });
                    }
                }
                (LARGE + self.small % SMALL, place)
            }
        }
    }

    fn reads(&mut self, reader: usize) {
        if self.issued == READS {
            return;
        }
        let (file, block) = self.place(reader);
        let request = self.readers[reader].request;
        let read = (0..).find(|read| !self.reads.contains_key(read)).expect("few reads are unfinished");
        self.issued += 1;
        self.reads.insert(read, reader);
        let file = FileId(file);
        if reader == 8 && self.dice.below(3) == 0 {
            let demand = Extent { file, start: block as u32, len: self.dice.below(request + 1) as u32 };
            self.tell(EventKind::Labelled { read: ReadId(read), demand, hits: Extent::default() });
        }
        match self.dice.below(200) {
            0 => self.tell(EventKind::Ran { handler: HandlerId(reader as u32) }),
            1 => self.tell(EventKind::Exited { handler: HandlerId(900 + reader as u32) }),
            2 => self.tell(EventKind::Handles { file, handles: 2 }),
            _ => {}
        }
        let (handler, context) = (HandlerId(reader as u32), ContextId(reader as u32 % 6));
        let (offset, len) = (block * self.block_bytes, (request * self.block_bytes) as u32);
        self.tell(EventKind::Read { read: ReadId(read), handler, context, file, offset, len });
    }

    fn run(&mut self) {
        while let Some(Reverse((at, _, due))) = self.due.pop() {
            self.now = at;
            match due {
                Due::Reads { reader } => self.reads(reader),
                Due::Served { io } => self.served(io),
                Due::Done { read, reader } => {
                    if self.reads.remove(&read).is_some() {
                        self.tell(EventKind::Done { read: ReadId(read) });
                        let think = self.readers[reader].think;
                        self.later(think, Due::Reads { reader });
                    }
                }
            }
        }
    }
}

/// The digest of one flight.
pub(crate) fn digest(policy: &str, machine: &Machine) -> u64 {
    let mut world = World::new(policy, machine);
    world.run();
    world.core.check();
    let counters = world.core.counters();
    world.digest.take(&[counters.hits, counters.misses, counters.used, counters.wasted, counters.late]);
    world.digest.take(&[counters.fetched, counters.prefetched, counters.thrashed, world.now]);
    world.digest.0
}
