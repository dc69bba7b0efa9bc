//! The local disk of a life, in memory: it outlives the tiers that are opened on it, one after the
//! other.
//!
//! An operation of it may fail, be done in part, or be done elsewhere or not at all though the disk
//! says so. Bits of it flip, other programs fill its file system. When the machine stops, whatever
//! was not synced is there, lost or torn, block by block; nothing that the tier does afterwards
//! reaches the disk.
//!
//! While an operation is under way the world goes on: jobs of the agenda are done within it.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use forebay_live::world::World;
use forebay_source::Segments;
use forebay_source::io::{Read, Reader};
use forebay_tier::disk::{Claim, Clock, Disk, Found, Local, Room};
use forebay_tier::layout::{BESIDE, FILE, FILE_ROOM};
use forebay_tier::{Error, Free, Key, Options};
use parking_lot::Mutex;

use crate::agenda::Agenda;
use crate::bounds::Fault;
use crate::dice::Dice;
use crate::memory::File;
use crate::scenario::Scenario;

/// The world's jobs that may be done while an operation is under way.
pub(crate) type Meanwhile = Arc<dyn Fn() + Send + Sync>;

/// See the file's head.
pub(crate) struct LocalDisk {
    agenda: Agenda,
    scenario: Arc<Scenario>,
    pub(crate) key: Key,
    pub(crate) state: Mutex<State>,
}

pub(crate) struct State {
    pub(crate) dice: Dice,
    pub(crate) files: BTreeMap<u32, File>,
    /// Files that were removed; a stop of the machine may bring them back.
    removed: BTreeMap<u32, File>,
    meanwhile: Option<Meanwhile>,
    /// The tier whose operations reach the disk, by its number.
    session: u64,
    /// Its limits, and what it has written.
    limits: Option<Limits>,
    /// Operations until the tier is stopped within one.
    until_stop: Option<UntilStop>,
    /// Bytes of the file system, and those that others take.
    room: u64,
    others: u64,
    /// How far the clock has jumped, in nanoseconds.
    jumped: u64,
    /// Reads under way.
    reads: usize,
}

/// The limits that a tier was told, and what it has written since.
struct Limits {
    options: Options,
    began: Duration,
    written: u64,
    /// Bytes that it may still take, as it was told last.
    usable: u64,
}

/// A tier is stopped within an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct UntilStop {
    /// How many operations there are until then.
    pub(crate) left: u64,
    pub(crate) stop: Stop,
}

/// How a tier's operations cease to reach the disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stop {
    /// It is closed, or its process is killed: what was written stays.
    Process,
    /// The machine stops.
    Machine,
}

impl LocalDisk {
    pub(crate) fn new(scenario: &Arc<Scenario>, agenda: &Agenda, mut dice: Dice) -> Arc<LocalDisk> {
        let key = Key(std::array::from_fn(|_| dice.below(256) as u8));
        let room = if scenario.often(Fault::Full) > 0 { dice.from(2 * FILE, 5 * FILE) } else { 1 << 40 };
        let state = State {
            dice,
            files: BTreeMap::new(),
            removed: BTreeMap::new(),
            meanwhile: None,
            session: 0,
            limits: None,
            until_stop: None,
            room,
            others: 0,
            jumped: 0,
            reads: 0,
        };
        let (scenario, agenda) = (Arc::clone(scenario), agenda.clone());
        Arc::new(LocalDisk { agenda, scenario, key, state: Mutex::new(state) })
    }

    /// The disk for the next tier, which has these limits. It may be stopped within an
    /// operation.
    pub(crate) fn attach(self: &Arc<Self>, options: &Options, until_stop: Option<UntilStop>) -> Arc<Attached> {
        let began = self.now();
        let mut state = self.state.lock();
        state.session += 1;
        state.limits = Some(Limits { options: options.clone(), began, written: 0, usable: 0 });
        state.until_stop = until_stop;
        Arc::new(Attached { disk: Arc::clone(self), session: state.session })
    }

    /// From now on this is done while operations are under way.
    pub(crate) fn meanwhile(&self, meanwhile: Option<Meanwhile>) {
        self.state.lock().meanwhile = meanwhile;
    }

    /// The tier's operations reach the disk no more.
    pub(crate) fn detach(&self, stop: Stop) {
        self.state.lock().stop(stop);
    }

    /// Whether a tier's operations reach the disk.
    pub(crate) fn is_attached(&self) -> bool {
        self.state.lock().limits.is_some()
    }

    /// Reads under way.
    pub(crate) fn reads(&self) -> usize {
        self.state.lock().reads
    }

    /// Time for the tier, which may jump ahead.
    fn now(&self) -> Duration {
        Duration::from_nanos(self.agenda.now().0 + self.state.lock().jumped)
    }

    fn often(&self, fault: Fault) -> u64 {
        self.scenario.often(fault)
    }

    /// An operation begins. Returns whether it reaches the disk.
    fn begins(&self, session: u64) -> bool {
        let meanwhile = {
            let mut state = self.state.lock();
            let (jumps, flips) = (self.often(Fault::Jump) / 4, self.often(Fault::Flip) / 4);
            if state.dice.chance(jumps) {
                state.jumped += state.dice.scale(1_000_000_000, 100_000_000_000_000);
            }
            if state.dice.chance(flips) {
                state.flip();
            }
            let times = state.dice.below(8).saturating_sub(4);
            state.meanwhile.clone().map(|meanwhile| (meanwhile, times))
        };
        if let Some((meanwhile, times)) = meanwhile {
            (0..times).for_each(|_| meanwhile());
        }
        let mut state = self.state.lock();
        if let Some(until) = &mut state.until_stop {
            until.left = until.left.saturating_sub(1);
        }
        state.session == session && state.limits.is_some()
    }

    /// The error of an operation, if it fails.
    fn fails(&self, state: &mut State) -> io::Result<()> {
        if state.meanwhile.is_some() && state.dice.chance(self.often(Fault::Disk) / 8) {
            let errno = *state.dice.pick(&[libc::EIO, libc::ENOSPC, libc::EROFS]);
            return Err(io::Error::from_raw_os_error(errno));
        }
        Ok(())
    }

    /// The disk says that something was done, and it was not.
    fn lies(&self, state: &mut State) -> bool {
        state.dice.chance(self.often(Fault::Disk) / 8)
    }
}

impl State {
    /// Nothing that the tier does from now on reaches the disk.
    fn stop(&mut self, stop: Stop) {
        if self.limits.take().is_none() || stop == Stop::Process {
            return;
        }
        self.until_stop = None;
        let State { dice, files, removed, .. } = self;
        while let Some((number, file)) = removed.pop_first() {
            if dice.chance(300) {
                files.entry(number).or_insert(file);
            }
        }
        files.retain(|_, file| file.survives(dice));
    }

    /// How the tier is to be stopped within this operation, if it is.
    fn last(&self) -> Option<Stop> {
        self.until_stop.filter(|until| until.left == 0).map(|until| until.stop)
    }

    /// A bit flips, wherever something was written.
    fn flip(&mut self) {
        let count = self.files.len() as u64;
        if count > 0 {
            let which = self.dice.below(count) as usize;
            let file = self.files.values().nth(which).expect("one of them");
            file.flip(&mut self.dice);
        }
    }

    /// The limits hold, now that so much more is written.
    fn writes(&mut self, bytes: usize, now: Duration) {
        let Some(limits) = &mut self.limits else { return };
        limits.written += bytes as u64;
        let Some(rate) = limits.options.writes else { return };
        let passed = now.saturating_sub(limits.began).as_secs_f64();
        // The bucket at the beginning, what comes, and tables, which do not wait.
        let most = (16u64 << 20).max(rate.saturating_mul(2)) as f64 + rate as f64 * passed + f64::from(1 << 20);
        assert!(limits.written as f64 <= most, "{} bytes written after {passed} s of {rate} each", limits.written);
    }
}

/// The disk as one tier has it.
pub(crate) struct Attached {
    disk: Arc<LocalDisk>,
    session: u64,
}

impl std::fmt::Debug for Attached {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a disk in memory")
    }
}

impl Clock for Attached {
    fn now(&self) -> Duration {
        self.disk.now()
    }
}

impl Disk for Attached {
    fn open(&self, path: &Path) -> io::Result<OwnedFd> {
        self.disk.begins(self.session);
        let mut state = self.disk.state.lock();
        self.disk.fails(&mut state)?;
        let file = state.files.get(&number(path)).ok_or(io::ErrorKind::NotFound)?;
        file.handle()
    }

    fn create(&self, path: &Path, bytes: u64) -> io::Result<OwnedFd> {
        let reaches = self.disk.begins(self.session);
        assert_eq!(bytes, FILE, "the length of a file");
        let mut state = self.disk.state.lock();
        self.disk.fails(&mut state)?;
        let file = File::new(bytes)?;
        let handle = file.handle()?;
        if !reaches {
            return Ok(handle);
        }
        let (files, number) = (state.files.len() as u64, number(path));
        if state.files.contains_key(&number) {
            return Err(io::Error::from_raw_os_error(libc::EEXIST));
        }
        if state.others + (files + 1) * FILE > state.room {
            return Err(io::Error::from_raw_os_error(libc::ENOSPC));
        }
        let (size, usable) = state.limits.as_ref().map_or((0, 0), |limits| (limits.options.size, limits.usable));
        assert!(usable >= FILE, "a file is made where {usable} bytes are to be had");
        assert!((files + 1) * FILE_ROOM + BESIDE <= size, "{} files in {size} bytes", files + 1);
        state.files.insert(number, file);
        Ok(handle)
    }

    fn read(&self, file: &OwnedFd, offset: u64, into: &mut Segments) -> io::Result<()> {
        self.disk.begins(self.session);
        self.disk.fails(&mut self.disk.state.lock())?;
        Local.read(file, offset, into)
    }

    fn write(&self, file: &OwnedFd, offset: u64, from: &Segments, len: usize) -> io::Result<()> {
        let reaches = self.disk.begins(self.session);
        assert!(
            offset + len as u64 <= FILE && offset.is_multiple_of(4096) && len.is_multiple_of(4096),
            "a write beyond"
        );
        let now = self.disk.now();
        let mut state = self.disk.state.lock();
        if !reaches {
            return Ok(());
        }
        state.writes(len, now);
        let failed = self.disk.fails(&mut state);
        let (last, lies, astray) = (state.last(), self.disk.lies(&mut state), state.dice.chance(500));
        let blocks = len as u64 / 4096;
        let done = if last.is_some() || failed.is_err() { state.dice.below(blocks + 1) as usize * 4096 } else { len };
        let elsewhere = state.dice.below((FILE - len as u64) / 4096 + 1) * 4096;
        let offset = if lies && astray { elsewhere } else { offset };
        if !lies || astray {
            let modified = UNIX_EPOCH + Duration::from_secs(state.dice.below(1 << 32));
            let to = state.files.values_mut().find(|other| other.is(file));
            match to {
                Some(to) => to.write(offset, from, done, modified)?,
                // It was removed.
                None => Local.write(file, offset, from, done)?,
            }
        }
        if let Some(stop) = last {
            state.stop(stop);
        }
        failed
    }

    fn sync(&self, file: &OwnedFd) -> io::Result<()> {
        let reaches = self.disk.begins(self.session);
        let mut state = self.disk.state.lock();
        self.disk.fails(&mut state)?;
        if let Some(stop) = state.last() {
            state.stop(stop);
        }
        let lies = self.disk.lies(&mut state);
        if reaches && state.limits.is_some() && !lies {
            state.files.values_mut().filter(|other| other.is(file)).for_each(File::sync);
        }
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let reaches = self.disk.begins(self.session);
        let mut state = self.disk.state.lock();
        self.disk.fails(&mut state)?;
        if !reaches {
            return Ok(());
        }
        let number = number(path);
        let file = state.files.remove(&number).ok_or(io::ErrorKind::NotFound)?;
        state.removed.insert(number, file);
        Ok(())
    }

    fn room(&self, _folder: &Path) -> io::Result<Room> {
        self.disk.begins(self.session);
        let mut state = self.disk.state.lock();
        self.disk.fails(&mut state)?;
        let full = self.disk.often(Fault::Full);
        if state.dice.chance(full * 2) {
            let room = state.room;
            state.others = state.dice.below(room);
        }
        let ours = state.files.len() as u64 * FILE;
        let room = Room { bytes: state.room, free: state.room.saturating_sub(state.others + ours) };
        if let Some(limits) = &mut state.limits {
            let kept = match limits.options.free {
                Free::Bytes(bytes) => bytes,
                Free::Percent(percent) => (room.bytes as f64 * percent / 100.0) as u64,
            };
            limits.usable = room.free.saturating_sub(kept);
        }
        Ok(room)
    }

    fn claim(&self, _dir: &Path) -> Result<Claim, Error> {
        Ok(Claim { key: self.disk.key, lock: None })
    }

    fn files(&self, _dir: &Path) -> io::Result<Vec<Found>> {
        let state = self.disk.state.lock();
        let found = |(&number, file): (&u32, &File)| Found { number, size: file.size, modified: file.modified };
        Ok(state.files.iter().map(found).collect())
    }

    fn is_ours(&self, _path: &Path) -> bool {
        true
    }

    fn reader(&self) -> io::Result<Arc<dyn Reader>> {
        Ok(Arc::new(Reading(Arc::clone(&self.disk))))
    }
}

/// Reads for fetches: some bytes are read when the read begins, others when it ends.
struct Reading(Arc<LocalDisk>);

impl Reader for Reading {
    fn read(&self, mut read: Read) {
        let disk = Arc::clone(&self.0);
        let mut state = disk.state.lock();
        state.reads += 1;
        let (early, delay) = (state.dice.chance(500), state.dice.scale(1000, 100_000_000));
        let faults = disk.often(Fault::Disk) / 2;
        let (fails, short, cut) = (state.dice.chance(faults), state.dice.chance(faults), state.dice.below(16) * 4096);
        drop(state);
        let before = early.then(|| read.fill());
        let agenda = disk.agenda.clone();
        agenda.later(delay, move || {
            let outcome = before.unwrap_or_else(|| read.fill());
            disk.state.lock().reads -= 1;
            let outcome = match outcome {
                Ok(_) if fails => Err(io::Error::from_raw_os_error(libc::EIO)),
                Ok(filled) if short => Ok(filled.saturating_sub(cut as usize)),
                outcome => outcome,
            };
            read.finish(outcome);
        });
    }

    fn name(&self) -> &'static str {
        "simulated"
    }
}

/// The number of a file of segments.
fn number(path: &Path) -> u32 {
    let name = path.file_name().and_then(|name| name.to_str());
    name.and_then(|name| name.parse().ok()).expect("files of segments have numbers")
}
