//! A source whose bytes are known, in several versions, and a tier in front of it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::sync_channel;
use std::time::SystemTime;

use forebay_core::tier::{Admit, Evict, Rules};
use forebay_source::{
    Attributes, BLOCK, Error, Fetch, FetchId, Identity, Kind, Label, Listed, Listing, Name, Object, Result, Segments,
    Source, Then, Version,
};
use forebay_tier::layout::{BESIDE, FILE_ROOM};
use forebay_tier::{Free, Options, TieredSource, Tiers};
use parking_lot::Mutex;

pub(crate) const MIB: u64 = 1 << 20;

/// See the file's head. Files are by name; a version is any number.
#[derive(Clone)]
pub(crate) struct Known(Arc<Shared>);

struct Shared {
    address: Arc<str>,
    files: Mutex<BTreeMap<String, About>>,
    asked: AtomicU64,
    failing: AtomicBool,
    asks: Mutex<Vec<Ask>>,
}

/// A call of an object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Ask {
    Fetch { id: FetchId, offset: u64, len: usize, urgent: bool, label: Label },
    CallOff(FetchId),
}

#[derive(Clone, Copy)]
struct About {
    size: u64,
    version: u64,
}

impl Known {
    pub(crate) fn new(address: &str) -> Known {
        let (files, asked, failing) = (Mutex::default(), AtomicU64::new(0), AtomicBool::new(false));
        Known(Arc::new(Shared { address: address.into(), files, asked, failing, asks: Mutex::default() }))
    }

    /// Puts a version of a file in place of the one before.
    pub(crate) fn put(&self, name: &str, size: u64, version: u64) {
        self.0.files.lock().insert(name.to_owned(), About { size, version });
    }

    /// The bytes that readers asked for since the last call.
    pub(crate) fn asked(&self) -> u64 {
        self.0.asked.swap(0, Ordering::SeqCst)
    }

    /// The calls of objects since this was asked last.
    pub(crate) fn asks(&self) -> Vec<Ask> {
        std::mem::take(&mut self.0.asks.lock())
    }

    /// From now on all reads fail, or none.
    pub(crate) fn fail(&self, failing: bool) {
        self.0.failing.store(failing, Ordering::SeqCst);
    }

    fn about(&self, path: &Path) -> Result<About> {
        let name = path.display().to_string();
        self.0.files.lock().get(&name).copied().ok_or(Error::NotFound(name))
    }

    fn identity(&self, path: &Path, about: About) -> Identity {
        let tag = Some(format!("v{}", about.version).into());
        Identity {
            name: Name::path(&self.0.address, path),
            version: Version { size: about.size, tag, ..Version::default() },
        }
    }
}

/// The bytes of a version of a file.
pub(crate) fn bytes(address: &str, name: &str, version: u64, offset: u64, len: usize) -> Vec<u8> {
    let salt = [address, name].concat().bytes().fold(version, |salt, byte| mix(salt ^ u64::from(byte)));
    let (first, last) = (offset / 8, (offset + len as u64).div_ceil(8));
    let words: Vec<u8> = (first..last).flat_map(|word| mix(salt.wrapping_add(word)).to_le_bytes()).collect();
    let skip = (offset % 8) as usize;
    words[skip..skip + len].to_vec()
}

/// The last step of splitmix64.
pub(crate) fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

impl Source for Known {
    fn describe(&self) -> String {
        self.0.address.to_string()
    }

    fn address(&self) -> &Arc<str> {
        &self.0.address
    }

    fn stat_then(&self, path: &Path, then: Then<Attributes>) {
        let plain = |about| Attributes::plain(Kind::File, SystemTime::UNIX_EPOCH, self.identity(path, about));
        then(self.about(path).map(plain));
    }

    fn list_then(&self, _path: &Path, then: Then<Listing>) {
        then(Ok([].into_iter().collect()));
    }

    fn open_then(&self, path: &Path, then: Then<Arc<dyn Object>>) {
        then(self.about(path).map(|about| {
            let (identity, name) = (self.identity(path, about), path.display().to_string());
            Arc::new(File { source: self.clone(), identity, name, version: about.version }) as Arc<dyn Object>
        }));
    }

    fn listed(&self, _folder: &Path, _listed: &Listed<'_>) -> Result<Option<Attributes>> {
        Ok(None)
    }
}

struct File {
    source: Known,
    identity: Identity,
    name: String,
    version: u64,
}

impl Object for File {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn fetch(&self, mut fetch: Fetch) {
        self.source.0.asked.fetch_add(fetch.len as u64, Ordering::SeqCst);
        let Fetch { id, offset, len, urgent, label, .. } = &fetch;
        let ask = Ask::Fetch { id: *id, offset: *offset, len: *len, urgent: *urgent, label: label.clone() };
        self.source.0.asks.lock().push(ask);
        if self.source.0.failing.load(Ordering::SeqCst) {
            return fetch.finish(Err(Error::Storage { name: self.name.clone(), reason: "told to fail".into() }));
        }
        let bytes = bytes(&self.source.0.address, &self.name, self.version, fetch.offset, fetch.len);
        fetch.buffer.write(0, &bytes);
        fetch.finish(Ok(()));
    }

    fn call_off(&self, fetch: FetchId) {
        self.source.0.asks.lock().push(Ask::CallOff(fetch));
    }
}

/// Reads so many blocks of an object, or as many as it has.
pub(crate) fn read(object: &dyn Object, block: u64, blocks: u64) -> Result<Vec<u8>> {
    let offset = block * BLOCK as u64;
    let len = (blocks * BLOCK as u64).min(object.version().size.saturating_sub(offset)) as usize;
    let mut buffer = Segments::own(len);
    // Bytes from before are no answer.
    buffer.bytes_mut().for_each(|part| part.fill(0xA5));
    let (send, receive) = sync_channel(1);
    let done = move |buffer: Segments, outcome: Result<()>| {
        let _ = send.send(outcome.map(|()| buffer.to_vec()));
    };
    let label = Label::all(offset..offset + len as u64);
    object.fetch(Fetch { id: FetchId::unique(), offset, buffer, len, urgent: true, label, done: Box::new(done) });
    let mut read = receive.recv().expect("every fetch ends")?;
    read.truncate(len);
    Ok(read)
}

/// Reads blocks of a file through a source, and compares them with those that the version has.
pub(crate) fn check(source: &dyn Source, name: &str, version: u64, block: u64, blocks: u64) {
    let object = source.open(Path::new(name)).unwrap();
    let read = read(object.as_ref(), block, blocks).unwrap();
    let expected = bytes(source.address(), name, version, block * BLOCK as u64, read.len());
    if let Some(wrong) = read.iter().zip(&expected).position(|(one, other)| one != other) {
        panic!("{name} version {version}: byte {wrong} of {blocks} blocks from {block} is wrong");
    }
}

/// Reads a whole file a MiB at a time, and compares it.
pub(crate) fn check_all(source: &dyn Source, name: &str, version: u64) {
    let size = source.stat(Path::new(name)).unwrap().size;
    (0..size.div_ceil(MIB)).for_each(|mib| check(source, name, version, mib * 256, 256));
}

/// The same, but no faster than the tier writes, so that nothing is dropped.
pub(crate) fn fill(source: &dyn Source, tiers: &Tiers, name: &str, version: u64) {
    let size = source.stat(Path::new(name)).unwrap().size;
    for mib in 0..size.div_ceil(MIB) {
        check(source, name, version, mib * 256, 256);
        if mib % 8 == 7 {
            tiers.settle();
        }
    }
    tiers.settle();
}

/// A tier that writes all that it can.
pub(crate) fn eager(dir: &Path, files: u64) -> Options {
    Options {
        free: Free::Bytes(0),
        writes: Some(u64::MAX),
        rules: Rules { admit: Admit::All, evict: Evict::Lru },
        ..Options::new(dir, files * FILE_ROOM + BESIDE)
    }
}

/// A source with tiers in front of it.
pub(crate) fn tiered(source: &Known, tiers: &Arc<Tiers>) -> TieredSource {
    TieredSource::new(Arc::new(source.clone()), Arc::clone(tiers))
}
