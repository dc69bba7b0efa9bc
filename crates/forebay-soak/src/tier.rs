//! The disk tier of a life: opened, closed, killed and opened again on the same disk.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use forebay_core::tier::{Admit, Evict, Rules};
use forebay_source::{BLOCK, Segments, TierFigures};
use forebay_tier::disk::{Disk, Host};
use forebay_tier::layout::{BESIDE, CHUNK_BLOCKS, FILE, FILE_ROOM, SEGMENT, SEGMENT_BLOCKS, SEGMENTS_A_FILE, TABLE};
use forebay_tier::table::{Entry, Table};
use forebay_tier::{Free, Options, Recovery, Rounds, Tiers, Writer};
use parking_lot::Mutex;

use crate::agenda::Agenda;
use crate::bounds::Fault;
use crate::dice::{Dice, Who};
use crate::disk::{LocalDisk, Meanwhile, Stop, UntilStop};
use crate::memory::File;
use crate::reference::Edition;
use crate::scenario::Scenario;
use crate::storage::Storage;

/// The most files of segments that a tier has.
const FILES: u64 = 3;

/// See the file's head.
pub(crate) struct Tier {
    agenda: Agenda,
    scenario: Arc<Scenario>,
    pub(crate) disk: Arc<LocalDisk>,
    dice: Mutex<Dice>,
    limits: Options,
    /// Pieces that the last tier had when it was closed, if all of them are to be found again.
    kept: Mutex<Option<u32>>,
}

/// A tier that is open.
pub(crate) struct Session {
    tier: Arc<Tier>,
    pub(crate) tiers: Arc<Tiers>,
    /// Pieces that are to be found again; `None` if some may be lost.
    lie: Option<u32>,
    recovered: AtomicBool,
    end: End,
}

/// How a session ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    Close,
    Stop(Stop),
}

impl Tier {
    /// The tier of a scenario, if it has one; maybe with what a former life left.
    pub(crate) fn new(scenario: &Arc<Scenario>, agenda: &Agenda, storage: &Storage) -> Option<Arc<Tier>> {
        if scenario.often(Fault::Tier) == 0 {
            return None;
        }
        let mut dice = Dice::of(scenario.seed, Who::Tier);
        let disk = LocalDisk::new(scenario, agenda, Dice::of(scenario.seed ^ 1, Who::Tier));
        let limits = limits(&mut dice);
        // A set has names of its own.
        if dice.chance(600) && scenario.stripes.is_none() {
            former(&disk, scenario, storage, &mut dice);
        }
        let (scenario, agenda) = (Arc::clone(scenario), agenda.clone());
        let (dice, kept) = (Mutex::new(dice), Mutex::new(None));
        Some(Arc::new(Tier { agenda, scenario, disk, dice, limits, kept }))
    }

    /// Opens it. Its work is on the agenda from now on.
    pub(crate) fn open(self: &Arc<Self>, meanwhile: Meanwhile) -> Arc<Session> {
        let (options, end, until_stop) = self.draw();
        if let Some(kept) = self.kept.lock().take() {
            let lie = self.disk.pieces();
            assert!(kept <= lie, "{kept} pieces were kept, and {lie} lie on the disk");
        }
        let attached = self.disk.attach(&options, until_stop);
        let host = Host { disk: Arc::clone(&attached) as Arc<dyn Disk>, clock: attached };
        let opened = Tiers::in_rounds(options, &host);
        let (tiers, Rounds { writer, recovery }) = opened.unwrap_or_else(|error| panic!("no tier: {error}"));
        // Files that are too many are gone now.
        let lie = self.trusts().then(|| self.disk.pieces()).filter(|_| self.has_room());
        self.disk.meanwhile(Some(meanwhile));
        let session = Arc::new(Session { tier: Arc::clone(self), tiers, lie, recovered: AtomicBool::new(false), end });
        session.writes_later(writer);
        session.recovers_later(recovery);
        session
    }

    /// The limits of the next session, how it ends, and whether it does within an operation.
    fn draw(&self) -> (Options, End, Option<UntilStop>) {
        let mut dice = self.dice.lock();
        let mut options = self.limits.clone();
        if dice.chance(150) {
            options.size = size(&mut dice);
        }
        let (crashes, machine, midst) = (dice.chance(600), dice.chance(700), dice.chance(600));
        let (crashes, left) = (crashes && self.scenario.often(Fault::Crash) > 0, dice.scale(1, 60));
        let stop = if machine { Stop::Machine } else { Stop::Process };
        let end = if crashes { End::Stop(stop) } else { End::Close };
        (options, end, (crashes && midst).then_some(UntilStop { left, stop }))
    }

    /// Whether the disk does what it is told to, and nothing else.
    fn trusts(&self) -> bool {
        [Fault::Disk, Fault::Flip].iter().all(|&fault| self.scenario.often(fault) == 0)
    }

    /// Whether others leave the tier its room.
    fn has_room(&self) -> bool {
        self.scenario.often(Fault::Full) == 0
    }

    /// Events of the next session.
    pub(crate) fn length(&self) -> u64 {
        self.dice.lock().scale(60, 4000)
    }
}

impl Session {
    fn writes_later(self: &Arc<Self>, mut writer: Writer) {
        let pause = self.tier.dice.lock().scale(1000, 2_000_000_000);
        let session = Arc::clone(self);
        self.tier.agenda.later(pause, move || {
            let more = writer.round(Duration::ZERO);
            let TierFigures { pieces, files, .. } = session.figures();
            assert!(files > 0 || pieces == 0, "{pieces} pieces are in no file");
            if more {
                session.writes_later(writer);
            }
        });
    }

    fn recovers_later(self: &Arc<Self>, mut recovery: Recovery) {
        let pause = self.tier.dice.lock().scale(1000, 30_000_000);
        let session = Arc::clone(self);
        self.tier.agenda.later(pause, move || {
            let more = recovery.round();
            session.has_recovered();
            if more && !session.recovered.load(Ordering::Relaxed) {
                session.recovers_later(recovery);
            }
        });
    }

    pub(crate) fn figures(&self) -> TierFigures {
        self.tiers.figures().remove(0)
    }

    /// Once all segments were looked at, each piece is found: nothing is written before.
    fn has_recovered(&self) {
        let TierFigures { pieces, recovered_segments, segments_before, .. } = self.figures();
        let complete = recovered_segments == segments_before;
        if complete
            && !self.recovered.swap(true, Ordering::Relaxed)
            && segments_before > 0
            && self.tier.disk.is_attached()
        {
            assert!(self.lie.is_none_or(|lie| pieces == u64::from(lie)), "{pieces} pieces are found of {:?}", self.lie);
        }
    }

    /// It is to end: nothing more is put on the agenda once its work is done.
    pub(crate) fn ends(&self) {
        if let End::Stop(stop) = self.end {
            self.tier.disk.detach(stop);
        }
        self.tiers.stop();
    }

    /// Everything of it is done.
    pub(crate) fn is_over(&self) {
        let (tier, attached) = (&self.tier, self.tier.disk.is_attached());
        self.tiers.close();
        tier.disk.meanwhile(None);
        assert_eq!(tier.disk.reads(), 0, "reads that nobody answers");
        let figures = self.figures();
        if tier.trusts() && attached {
            assert_eq!((figures.damaged, figures.read_errors, figures.write_errors), (0, 0, 0), "{figures:?}");
            *tier.kept.lock() = u32::try_from(figures.pieces).ok().filter(|_| tier.has_room());
        }
        tier.disk.detach(Stop::Process);
    }
}

/// The size of a tier.
fn size(dice: &mut Dice) -> u64 {
    dice.from(1, FILES) * FILE_ROOM + BESIDE + dice.below(FILE_ROOM)
}

fn limits(dice: &mut Dice) -> Options {
    let rules = Rules {
        admit: *dice.pick(&[Admit::All, Admit::All, Admit::Second, Admit::Often]),
        evict: *dice.pick(&[Evict::Lru, Evict::Fifo]),
    };
    let rate = dice.scale(1 << 14, 1 << 28);
    let writes = *dice.pick(&[None, Some(u64::MAX), Some(u64::MAX), Some(rate)]);
    let free = *dice.pick(&[Free::Bytes(0), Free::Bytes(FILE / 2), Free::Percent(10.0)]);
    Options { free, writes, rules, ..Options::new("/simulated", size(dice)) }
}

/// Leaves files of segments as a former life would: each segment sealed, with a few pieces.
fn former(disk: &LocalDisk, scenario: &Scenario, storage: &Storage, dice: &mut Dice) {
    for number in 0..dice.from(1, FILES) as u32 {
        let mut file = File::new(FILE).expect("there is memory");
        for segment in number * SEGMENTS_A_FILE..(number + 1) * SEGMENTS_A_FILE {
            if dice.chance(850) {
                seals(disk, scenario, storage, &mut file, segment, dice);
            }
        }
        file.sync();
        disk.state.lock().files.insert(number, file);
    }
}

fn seals(disk: &LocalDisk, scenario: &Scenario, storage: &Storage, to: &mut File, segment: u32, dice: &mut Dice) {
    let table_at = u64::from(segment % SEGMENTS_A_FILE) * SEGMENT;
    let mut table = Table { number: u64::from(dice.from(1, 40) as u32), entries: Vec::new() };
    let mut block = 0;
    for _ in 0..dice.from(1, 30) {
        let file = dice.below(scenario.files.len() as u64) as u32;
        let blocks = scenario.files[file as usize].div_ceil(BLOCK as u64);
        if blocks == 0 {
            continue;
        }
        let start = dice.below(blocks) as u32 / CHUNK_BLOCKS * CHUNK_BLOCKS;
        let len = CHUNK_BLOCKS.min(blocks as u32 - start);
        block += dice.below(20) as u32;
        if block + len > SEGMENT_BLOCKS {
            break;
        }
        let bytes = piece(Edition { file, version: 1 }, scenario.files[file as usize], start, len);
        let fingerprint = disk.key.fingerprint(&storage.identity(file));
        let sum = fingerprint.sum(start, [&bytes[..]].into_iter());
        table.entries.push(Entry { fingerprint, start, len: len as u8, block: block as u16, sum });
        put(to, table_at + TABLE + u64::from(block) * BLOCK as u64, &bytes);
        block += len;
    }
    put(to, table_at, &table.encode(&disk.key, segment));
}

/// Blocks of an edition; what follows its end is zeros.
fn piece(edition: Edition, size: u64, start: u32, len: u32) -> Vec<u8> {
    let from = u64::from(start) * BLOCK as u64;
    let mut bytes = vec![0; len as usize * BLOCK];
    let within = (size - from).min(bytes.len() as u64) as usize;
    edition.fill(from, &mut bytes[..within]);
    bytes
}

fn put(to: &mut File, offset: u64, bytes: &[u8]) {
    let mut from = Segments::own(bytes.len());
    from.write(0, bytes);
    to.write(offset, &from, from.len(), std::time::UNIX_EPOCH).expect("there is memory");
}

impl LocalDisk {
    /// Pieces that the tables on the disk tell of, all of which were written.
    fn pieces(&self) -> u32 {
        let state = self.state.lock();
        let whole = state.files.iter().filter(|(_, file)| file.size == FILE);
        let segments = whole.flat_map(|(&number, file)| {
            (number * SEGMENTS_A_FILE..(number + 1) * SEGMENTS_A_FILE).map(move |segment| (segment, file))
        });
        segments.map(|(segment, file)| self.pieces_in(segment, file)).sum()
    }

    fn pieces_in(&self, segment: u32, file: &File) -> u32 {
        let table_at = u64::from(segment % SEGMENTS_A_FILE) * SEGMENT;
        let table = Table::decode(&file.bytes(table_at, TABLE as usize), &self.key, segment).unwrap_or_default();
        for Entry { fingerprint, start, len, block, sum } in &table.entries {
            let at = table_at + TABLE + u64::from(*block) * BLOCK as u64;
            let bytes = file.bytes(at, usize::from(*len) * BLOCK);
            let right = fingerprint.sum(*start, [&bytes[..]].into_iter()) == *sum;
            assert!(right, "the table of segment {segment} tells of what was not written");
        }
        table.entries.len() as u32
    }
}
