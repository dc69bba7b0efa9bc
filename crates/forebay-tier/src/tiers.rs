//! Tiers in several folders, as one.
//!
//! A process opens a folder once: all its `Tiers` share what is open there, whichever sources they
//! stand in front of. Pieces are told apart by the identity of their files. The last of them closes
//! it.

use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};
use std::time::Instant;
use std::{fs, path};

use forebay_source::Identity;
use parking_lot::Mutex;

use crate::disk::{Disk, Host, Local};
use crate::error::Error;
use crate::figures::Figures;
use crate::fingerprint::{Fingerprint, is_lasting};
use crate::folder::Folder;
use crate::layout::{FILE, SEGMENTS_A_FILE, bytes};
use crate::options::Options;
use crate::recovery::Recovery;
use crate::room;
use crate::segment::MOST as BATCH;
use crate::store::{Store, files_in};
use crate::waiting::MOST;
use crate::writer::Writer;

/// The folders that this process has open. A forked child finds its parent's here, and leaves them
/// alone.
static OPEN: Mutex<Vec<Shared>> = Mutex::new(Vec::new());

/// A folder that is open.
struct Shared {
    process: u32,
    folder: Place,
    owned: Weak<Owned>,
    /// How many have it open.
    users: usize,
}

/// A folder, whichever path leads to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Place {
    device: u64,
    inode: u64,
}

/// Tiers, a folder each. Files are dealt to them in proportion to their sizes.
/// Dropping them closes them.
#[derive(Debug)]
pub struct Tiers {
    folders: Vec<Arc<Owned>>,
    closed: AtomicBool,
}

#[derive(Debug)]
struct Owned {
    store: Arc<Store>,
    /// As they were given.
    asked: Options,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// The work of a tier's two threads, for a world that does it round by round.
pub struct Rounds {
    /// The writer's.
    pub writer: Writer,
    /// Finds out the content from before.
    pub recovery: Recovery,
}

impl Tiers {
    /// Opens the tiers in these folders, and makes those that are not there. Their content from
    /// before is found out later. Fails if a folder is in use by another process, open here with
    /// other limits, given twice, not to be written to, or too small.
    pub fn open(folders: Vec<Options>) -> Result<Arc<Tiers>, Error> {
        Tiers::on(folders, Arc::new(Local))
    }

    /// The same on another disk than this machine's, for tests.
    pub fn on(folders: Vec<Options>, disk: Arc<dyn Disk>) -> Result<Arc<Tiers>, Error> {
        let mut tiers = Tiers { folders: Vec::new(), closed: AtomicBool::new(false) };
        let host = Host { disk, clock: Arc::new(Instant::now()) };
        for options in folders {
            let dir = options.dir.clone();
            // Those that are open already close if a later one fails.
            let owned = Owned::shared(options, &host)?;
            let twice = tiers.folders.iter().any(|other| Arc::ptr_eq(other, &owned));
            tiers.folders.push(owned);
            if twice {
                return Err(Error::Twice(dir));
            }
        }
        Ok(Arc::new(tiers))
    }

    /// A tier in one folder that starts no thread. Its rounds are to be done until they are over
    /// before it is closed.
    pub fn in_rounds(options: Options, host: &Host) -> Result<(Arc<Tiers>, Rounds), Error> {
        let (owned, rounds) = Owned::open(options, host)?;
        Ok((Arc::new(Tiers { folders: vec![Arc::new(owned)], closed: AtomicBool::new(false) }), rounds))
    }

    /// Asks the rounds to end, once what waits is written.
    pub fn stop(&self) {
        self.folders.iter().for_each(|owned| owned.store.waiting.stop());
    }

    /// The figures of each, in the order of their folders.
    pub fn figures(&self) -> Vec<Figures> {
        self.folders.iter().map(|owned| owned.store.figures()).collect()
    }

    /// Bytes of memory that their indexes take.
    pub fn footprint(&self) -> usize {
        self.folders.iter().map(|owned| owned.store.footprint()).sum()
    }

    /// The most bytes of memory that they take: their indexes, and what waits to be written.
    pub fn memory(&self) -> u64 {
        (self.footprint() + self.folders.len() * (MOST + bytes(BATCH))) as u64
    }

    /// Waits until all that is to be written is written, the limits hold, and everything from
    /// before has been found.
    pub fn settle(&self) {
        self.folders.iter().for_each(|owned| owned.store.waiting.settle());
    }

    /// Writes what waits and ends, unless others have the folder open as well: readers are served
    /// by their sources from now on.
    pub fn close(&self) {
        if !self.closed.swap(true, Ordering::Relaxed) {
            self.folders.iter().for_each(|owned| owned.leave());
        }
    }

    /// The tier for a file, and its name there; `None` if its blocks are not kept. By weighted
    /// rendezvous, so that a further folder takes from the others what it holds itself, and nothing
    /// else moves.
    pub(crate) fn of(&self, identity: &Identity) -> Option<(&Arc<Store>, Fingerprint)> {
        if !is_lasting(identity) {
            return None;
        }
        let stores = self.folders.iter().map(|owned| &owned.store);
        let fingerprints = stores.map(|store| (store, store.folder.key.fingerprint(identity)));
        let score = |(store, fingerprint): &(&Arc<Store>, Fingerprint)| {
            let draw = (fingerprint.draw() as f64 + 1.0) / (u64::MAX as f64 + 2.0);
            f64::from(files_in(store.options.size)) / -draw.ln()
        };
        fingerprints.max_by(|one, other| score(one).total_cmp(&score(other)))
    }
}

impl Drop for Tiers {
    fn drop(&mut self) {
        self.close();
    }
}

impl Owned {
    /// The folder as this process has it open, or else opened.
    fn shared(options: Options, host: &Host) -> Result<Arc<Owned>, Error> {
        let process = std::process::id();
        let mut open = OPEN.lock();
        open.retain(|shared| shared.owned.strong_count() > 0);
        let place = Place::of(&options.dir);
        let here = open.iter_mut().find(|shared| shared.process == process && Some(shared.folder) == place);
        if let Some(shared) = here
            && let Some(owned) = shared.owned.upgrade()
        {
            owned.fits(&options)?;
            shared.users += 1;
            return Ok(owned);
        }
        let (owned, Rounds { writer, recovery }) = Owned::open(options, host)?;
        owned.start("forebay-recover", move || recovery.run())?;
        owned.start("forebay-tier", move || writer.run())?;
        let owned = Arc::new(owned);
        if let Some(folder) = Place::of(&owned.store.folder.dir) {
            open.push(Shared { process, folder, owned: Arc::downgrade(&owned), users: 1 });
        }
        Ok(owned)
    }

    /// Whether it is open with these limits.
    fn fits(&self, wanted: &Options) -> Result<(), Error> {
        let asked = &self.asked;
        let other = [
            ("size", asked.size != wanted.size),
            ("free space", asked.free != wanted.free),
            ("rate of writes", asked.writes != wanted.writes),
            ("rules", asked.rules != wanted.rules),
        ];
        match other.into_iter().find(|(_, differs)| *differs) {
            Some((limit, _)) => Err(Error::Differs { dir: wanted.dir.clone(), limit }),
            None => Ok(()),
        }
    }

    /// One user less; the last one closes it.
    fn leave(self: &Arc<Owned>) {
        // Locked until it is closed, so that whoever opens it next finds it free.
        let mut open = OPEN.lock();
        let Some(at) = open.iter().position(|shared| std::ptr::eq(shared.owned.as_ptr(), Arc::as_ptr(self))) else {
            return self.close();
        };
        open[at].users -= 1;
        if open[at].users == 0 {
            open.swap_remove(at);
            self.close();
        }
    }

    fn open(mut options: Options, host: &Host) -> Result<(Owned, Rounds), Error> {
        if options.size < Options::LEAST {
            return Err(Error::TooSmall { dir: options.dir, size: options.size });
        }
        // The process may go elsewhere, as one does that leaves its terminal.
        let dir = path::absolute(&options.dir).map_err(Error::refused(&options.dir, "find"))?;
        options.dir = dir;
        let asked = options.clone();
        let disk = &host.disk;
        let folder = Folder::open(&options.dir, &**disk)?;
        let reader = disk.reader().map_err(Error::Start)?;
        let mut files = disk.files(&options.dir).map_err(Error::refused(&folder.segments(), "list"))?;
        // The index has room for what the file system can hold, whatever was asked for.
        let room = disk.room(&folder.segments()).map_err(Error::refused(&options.dir, "look at the free space"))?;
        options.size = options.size.min(room.bytes).max(Options::LEAST);
        let most = files_in(options.size);
        // Files that are too many, or not as long as they were, go before anything is added.
        for unfit in files.extract_if(.., |found| found.number >= most || found.size != FILE) {
            let path = folder.file(unfit.number);
            if !disk.is_ours(&path) {
                return Err(Error::Foreign(path));
            }
            disk.remove(&path).map_err(Error::refused(&path, "remove"))?;
        }
        let store = Arc::new(Store::new(options, folder, host, reader));
        {
            let mut state = store.state.lock();
            files.iter().for_each(|found| state.withdraw(found.number));
        }
        room::tell_of_none(&store, files.len(), room);
        store.waiting.to_recover(files.len() as u32 * SEGMENTS_A_FILE);
        let (writer, recovery) = (Writer::new(Arc::clone(&store)), Recovery::new(Arc::clone(&store), files));
        Ok((Owned { store, asked, threads: Mutex::default() }, Rounds { writer, recovery }))
    }

    fn start(&self, name: &str, run: impl FnOnce() + Send + 'static) -> Result<(), Error> {
        let thread = thread::Builder::new().name(name.into()).spawn(run).map_err(Error::Start)?;
        self.threads.lock().push(thread);
        Ok(())
    }

    fn close(&self) {
        self.store.waiting.stop();
        for thread in self.threads.lock().drain(..) {
            let _ = thread.join();
        }
        self.store.end();
        self.store.folder.release();
    }
}

impl Place {
    /// That of a path; `None` if there is nothing.
    fn of(dir: &path::Path) -> Option<Place> {
        let about = fs::metadata(dir).ok()?;
        Some(Place { device: about.dev(), inode: about.ino() })
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        self.close();
    }
}
