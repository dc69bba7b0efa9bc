//! Storage that is late, fails, hangs and comes back, brings less than it was asked for, answers
//! out of order, and whose files change.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use forebay_core::Instant;
use forebay_live::world::World;
use forebay_source::{
    Attributes, BLOCK, Entry, Error, Fetch, FetchId, Identity, Kind, Listed, Listing, Name, Object, Result, Run,
    Source, Then, Version,
};
use parking_lot::Mutex;

use crate::agenda::Agenda;
use crate::bounds::Fault;
use crate::dice::{Dice, Who, mix};
use crate::reference::{Edition, Mishap, Mishaps};
use crate::scenario::Scenario;

/// How long an outage lasts, in nanoseconds.
const OUTAGE: u64 = 1_500_000_000;

/// The longest that a request hangs, in nanoseconds.
const HANG: u64 = 200_000_000_000;

/// All devices of a life.
pub(crate) struct Storage {
    scenario: Arc<Scenario>,
    agenda: Agenda,
    state: Mutex<State>,
}

struct State {
    files: Vec<Now>,
    dice: Vec<Dice>,
    pending: BTreeMap<u64, Pending>,
    number: u64,
    mishaps: Mishaps,
}

/// A file as it is now.
#[derive(Clone, Copy, Debug)]
struct Now {
    version: u32,
    size: u64,
}

/// A request that waits for its answer.
struct Pending {
    fetch: Fetch,
    edition: Edition,
    device: usize,
    answer: Answer,
}

/// An answer, drawn when the request is made.
#[derive(Clone, Copy, Debug)]
enum Answer {
    Bytes {
        near: bool,
    },
    /// So many bytes, and an error that may pass.
    Some(usize),
    Errno(i32),
    GivenUp,
    CalledOff,
}

impl Storage {
    pub(crate) fn new(scenario: &Arc<Scenario>, agenda: &Agenda) -> Arc<Storage> {
        let files = scenario.files.iter().map(|&size| Now { version: 1, size }).collect();
        let dice = (0..scenario.devices.len() as u64).map(|device| Dice::of(scenario.seed, Who::Device(device)));
        let state =
            State { files, dice: dice.collect(), pending: BTreeMap::new(), number: 0, mishaps: Mishaps::default() };
        Arc::new(Storage { scenario: Arc::clone(scenario), agenda: agenda.clone(), state: Mutex::new(state) })
    }

    /// The source of a device.
    pub(crate) fn source(self: &Arc<Self>, device: usize) -> Arc<dyn Source> {
        Arc::new(Device { storage: Arc::clone(self), device, address: address(device) })
    }

    /// A file has another version from now on.
    pub(crate) fn change(&self, file: u32, size: u64) {
        let now = &mut self.state.lock().files[file as usize];
        *now = Now { version: now.version + 1, size };
    }

    /// Whether an edition is what its file is now.
    pub(crate) fn is_current(&self, edition: Edition) -> bool {
        self.state.lock().files[edition.file as usize].version == edition.version
    }

    /// Whether a file has changed since the beginning.
    pub(crate) fn has_changed(&self, file: u32) -> bool {
        self.state.lock().files[file as usize].version > 1
    }

    /// Whether a request failed so: see [`Mishaps::explain`].
    pub(crate) fn explains(&self, edition: Edition, bytes: &Range<u64>, since: Instant, errno: i32) -> bool {
        self.state.lock().mishaps.explain(edition, bytes, since, errno)
    }

    /// The identity of a file as it is now.
    pub(crate) fn identity(&self, file: u32) -> Identity {
        let now = self.state.lock().files[file as usize];
        let device = file as usize % self.scenario.devices.len();
        identity(&address(device), format!("f{file}").as_ref(), now)
    }

    /// Requests that wait for their answers.
    pub(crate) fn pending(&self) -> usize {
        self.state.lock().pending.len()
    }

    /// The answer to a request of so many bytes, and after how many nanoseconds it comes: `None` is
    /// at once.
    fn draw(&self, state: &mut State, device: usize, len: usize) -> (Answer, Option<u64>) {
        let (scenario, dice) = (&self.scenario, &mut state.dice[device]);
        let cost = &scenario.devices[device];
        let transfer = len as u64 * 1_000_000_000 / cost.transfer_rate(0).max(1);
        let mut delay = dice.scale(1000, 2000 + 2 * cost.switch_cost(cost.mean_distance())) + transfer;
        // All are drawn, so that a fault left out changes nothing else.
        let [transient, permanent, short, hang, inline, near] =
            [Fault::Transient, Fault::Permanent, Fault::Short, Fault::Hang, Fault::Inline, Fault::Near]
                .map(|fault| dice.chance(scenario.often(fault)));
        let (hung, some, errno) = (dice.scale(1_000_000_000, HANG), dice.below(len as u64 + 1), dice.below(4));
        let window = self.agenda.now().0 / OUTAGE;
        let out = mix(scenario.seed ^ mix(window << 8 | device as u64)) % 1000 < scenario.often(Fault::Outage);
        let errno = [libc::EIO, libc::ENOENT, libc::EACCES, 0][errno as usize];
        let answer = match () {
            () if permanent && errno == 0 => Answer::GivenUp,
            () if permanent => Answer::Errno(errno),
            () if transient || out => Answer::Some(0),
            () if short => Answer::Some(some as usize),
            () => Answer::Bytes { near },
        };
        if hang {
            delay += hung;
        }
        (answer, (!inline).then_some(delay))
    }

    fn fetch(self: &Arc<Self>, object: &File, fetch: Fetch) {
        let mut state = self.state.lock();
        let (answer, delay) = self.draw(&mut state, object.device, fetch.len);
        state.number += 1;
        let number = state.number;
        state.pending.insert(number, Pending { fetch, edition: object.edition, device: object.device, answer });
        drop(state);
        match delay {
            None => self.complete(number),
            Some(delay) => {
                let storage = Arc::clone(self);
                self.agenda.later(delay, move || storage.complete(number));
            }
        }
    }

    fn complete(&self, number: u64) {
        let Some(Pending { mut fetch, edition, device, answer }) = self.state.lock().pending.remove(&number) else {
            return;
        };
        let name = || format!("f{}", edition.file);
        let outcome = match answer {
            _ if !self.is_current(edition) => Err(Error::Stale(name())),
            Answer::CalledOff => Err(Error::CalledOff),
            Answer::Errno(libc::ENOENT) => Err(Error::NotFound(name())),
            Answer::Errno(libc::EACCES) => Err(Error::Denied(name())),
            Answer::Errno(errno) => Err(Error::Refused { name: name(), errno }),
            Answer::GivenUp => {
                Err(Error::GivenUp { name: name(), reason: "told to".into(), after: Duration::from_secs(9) })
            }
            Answer::Some(bytes) => {
                self.write(&mut fetch, edition, device, bytes);
                Err(Error::Storage { name: name(), reason: "told to fail".into() })
            }
            Answer::Bytes { near } => {
                let len = fetch.len;
                self.write(&mut fetch, edition, device, len);
                if near {
                    fetch.buffer.set_near();
                }
                Ok(())
            }
        };
        self.finish(fetch, edition, device, outcome);
    }

    fn finish(&self, fetch: Fetch, edition: Edition, device: usize, outcome: Result<()>) {
        if let Err(error) = &outcome {
            let last = fetch.offset + (fetch.len as u64).max(1) - 1;
            let bytes = self.place(device, fetch.offset)..self.place(device, last) + 1;
            let mishap = Mishap { edition, bytes, at: self.agenda.now(), errno: error.errno(), worn: true };
            self.state.lock().mishaps.add(mishap);
        }
        fetch.finish(outcome);
    }

    /// Writes the first `len` bytes of what was asked for.
    fn write(&self, fetch: &mut Fetch, edition: Edition, device: usize, len: usize) {
        let mut offset = fetch.offset;
        let mut left = len;
        for block in fetch.buffer.bytes_mut().flat_map(|part| part.chunks_mut(BLOCK)) {
            let n = block.len().min(left);
            edition.fill(self.place(device, offset), &mut block[..n]);
            (offset, left) = (offset + n as u64, left - n);
        }
    }

    /// The byte of a file that is the one at `offset` on a device.
    fn place(&self, device: usize, offset: u64) -> u64 {
        let Some(stripes) = self.scenario.stripes else { return offset };
        let (chunk, within) = (offset / stripes.unit(), offset % stripes.unit());
        (chunk * u64::from(stripes.members()) + device as u64) * stripes.unit() + within
    }

    /// Bytes of a file on a device.
    fn share(&self, device: usize, size: u64) -> u64 {
        self.scenario.stripes.map_or(size, |stripes| stripes.share(size, device))
    }

    /// Most requests can be called off as long as they wait; of some that is heard later.
    fn call_off(&self, device: usize, id: FetchId) {
        let mut state = self.state.lock();
        let found = state.pending.iter().find(|(_, pending)| pending.fetch.id == id).map(|(&number, _)| number);
        let Some(number) = found else { return };
        match state.dice[device].below(10) {
            0..4 => {}
            4..8 => {
                let pending = state.pending.get_mut(&number).expect("it was found");
                pending.answer = Answer::CalledOff;
                return;
            }
            _ => return,
        }
        let Some(Pending { fetch, edition, device, .. }) = state.pending.remove(&number) else { return };
        drop(state);
        self.finish(fetch, edition, device, Err(Error::CalledOff));
    }
}

fn address(device: usize) -> Arc<str> {
    format!("simulated{device}").into()
}

/// The number of the file of a name.
pub(crate) fn number(path: &Path) -> Option<u32> {
    path.to_str()?.strip_prefix('f')?.parse().ok()
}

fn identity(address: &Arc<str>, path: &Path, now: Now) -> Identity {
    let version = Version { size: now.size, modified: i128::from(now.version), ..Version::default() };
    Identity { name: Name::path(address, path), version }
}

/// A device, as a source: file f is the name `ff` of device f mod devices.
struct Device {
    storage: Arc<Storage>,
    device: usize,
    address: Arc<str>,
}

impl Device {
    fn number(&self, path: &Path) -> Result<u32> {
        let (files, devices) = (self.storage.scenario.files.len(), self.storage.scenario.devices.len());
        let set = self.storage.scenario.stripes.is_some();
        let here = |&number: &u32| (number as usize) < files && (set || number as usize % devices == self.device);
        number(path).filter(here).ok_or_else(|| Error::NotFound(path.display().to_string()))
    }

    fn file(&self, path: &Path) -> Result<File> {
        let number = self.number(path)?;
        let now = self.storage.state.lock().files[number as usize];
        let now = Now { size: self.storage.share(self.device, now.size), ..now };
        let edition = Edition { file: number, version: now.version };
        let (storage, device) = (Arc::clone(&self.storage), self.device);
        Ok(File { storage, device, edition, identity: identity(&self.address, path, now) })
    }

    fn attributes(&self, path: &Path) -> Result<Attributes> {
        if path.as_os_str().is_empty() {
            let identity = identity(&self.address, path, Now { version: 0, size: 0 });
            return Ok(Attributes::plain(Kind::Folder, SystemTime::UNIX_EPOCH, identity));
        }
        let file = self.file(path)?;
        Ok(Attributes::plain(Kind::File, SystemTime::UNIX_EPOCH, file.identity))
    }
}

impl Source for Device {
    fn describe(&self) -> String {
        self.address.to_string()
    }

    fn address(&self) -> &Arc<str> {
        &self.address
    }

    fn stat_then(&self, path: &Path, then: Then<Attributes>) {
        then(self.attributes(path));
    }

    fn list_then(&self, _path: &Path, then: Then<Listing>) {
        then(Ok(std::iter::empty::<Entry>().collect()));
    }

    fn open_then(&self, path: &Path, then: Then<Arc<dyn Object>>) {
        let delay = {
            let dice = &mut self.storage.state.lock().dice[self.device];
            dice.chance(600).then(|| dice.scale(1000, 50_000_000))
        };
        let Some(delay) = delay else { return then(self.file(path).map(|file| Arc::new(file) as Arc<dyn Object>)) };
        let (storage, device, address) = (Arc::clone(&self.storage), self.device, Arc::clone(&self.address));
        let path = path.to_owned();
        let source = Device { storage, device, address };
        let open = move || then(source.file(&path).map(|file| Arc::new(file) as Arc<dyn Object>));
        self.storage.agenda.later(delay, open);
    }

    fn listed(&self, folder: &Path, listed: &Listed<'_>) -> Result<Option<Attributes>> {
        self.attributes(&folder.join(listed.name)).map(Some)
    }
}

/// One version of a file.
struct File {
    storage: Arc<Storage>,
    device: usize,
    edition: Edition,
    identity: Identity,
}

impl Object for File {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn layout(&self) -> Vec<Run> {
        let cost = &self.storage.scenario.devices[self.device];
        let len = self.identity.version.size;
        if cost.capacity == 0 || len == 0 {
            return Vec::new();
        }
        let at_byte = mix(u64::from(self.edition.file)) % (cost.capacity / 2) / BLOCK as u64 * BLOCK as u64;
        vec![Run { offset: 0, len, at_byte }]
    }

    fn fetch(&self, fetch: Fetch) {
        self.storage.fetch(self, fetch);
    }

    fn call_off(&self, fetch: FetchId) {
        self.storage.call_off(self.device, fetch);
    }
}
