//! Tiers in several folders, as one.

use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::{fs, path};

use forebay_source::{Identity, io};
use parking_lot::Mutex;

use crate::disk::{Disk, Local};
use crate::error::Error;
use crate::figures::Figures;
use crate::fingerprint::{Fingerprint, is_lasting};
use crate::folder::{Folder, found, is_ours};
use crate::layout::{FILE, SEGMENTS_A_FILE, bytes};
use crate::options::Options;
use crate::recovery;
use crate::segment::MOST as BATCH;
use crate::store::{Store, files_in};
use crate::waiting::MOST;
use crate::writer::Writer;

/// The tiers of a process, a folder each. Files are dealt to them in proportion to their sizes.
/// Dropping them closes them.
#[derive(Debug)]
pub struct Tiers {
    folders: Vec<Owned>,
}

#[derive(Debug)]
struct Owned {
    store: Arc<Store>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Tiers {
    /// Opens the tiers in these folders, and makes those that are not there. Their content from
    /// before is found out later. Fails if a folder is in use, cannot be written, or is too small.
    pub fn open(folders: Vec<Options>) -> Result<Arc<Tiers>, Error> {
        Tiers::on(folders, Arc::new(Local))
    }

    /// The same on another disk than this machine's, for tests.
    pub fn on(folders: Vec<Options>, disk: Arc<dyn Disk>) -> Result<Arc<Tiers>, Error> {
        let mut tiers = Tiers { folders: Vec::new() };
        for options in folders {
            // Those that are open already close if a later one fails.
            tiers.folders.push(Owned::open(options, Arc::clone(&disk))?);
        }
        Ok(Arc::new(tiers))
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

    /// Writes what waits and ends: readers are served by their sources from now on.
    pub fn close(&self) {
        self.folders.iter().for_each(Owned::close);
    }

    /// The tier for a file, and its name there; `None` if its blocks are not kept. By weighted
    /// rendezvous, so that a further folder takes from the others what it holds itself, and nothing
    /// else moves.
    pub(crate) fn of(&self, identity: &Identity) -> Option<(&Arc<Store>, Fingerprint)> {
        if !is_lasting(identity) {
            return None;
        }
        let fingerprints =
            self.folders.iter().map(|Owned { store, .. }| (store, store.folder.key.fingerprint(identity)));
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
    fn open(mut options: Options, disk: Arc<dyn Disk>) -> Result<Owned, Error> {
        if options.size < Options::LEAST {
            return Err(Error::TooSmall { dir: options.dir, size: options.size });
        }
        // The process may go elsewhere, as one does that leaves its terminal.
        let dir = path::absolute(&options.dir).map_err(Error::refused(&options.dir, "find"))?;
        options.dir = dir;
        let folder = Folder::open(&options.dir)?;
        let reader = io::shared().map_err(Error::Start)?;
        let mut files = found(&options.dir).map_err(Error::refused(&folder.segments(), "list"))?;
        // The index has room for what the file system can hold, whatever was asked for.
        let room = disk.room(&folder.segments()).map_err(Error::refused(&options.dir, "look at the free space"))?;
        options.size = options.size.min(room.bytes).max(Options::LEAST);
        let most = files_in(options.size);
        // Files that are too many, or not as long as they were, go before anything is added.
        for unfit in files.extract_if(.., |found| found.number >= most || found.size != FILE) {
            let path = folder.file(unfit.number);
            if !is_ours(&path) {
                return Err(Error::Foreign(path));
            }
            fs::remove_file(&path).map_err(Error::refused(&path, "remove"))?;
        }
        let store = Arc::new(Store::new(options, folder, disk, reader));
        {
            let mut state = store.state.lock();
            files.iter().for_each(|found| state.withdraw(found.number));
        }
        store.waiting.to_recover(files.len() as u32 * SEGMENTS_A_FILE);
        let owned = Owned { store, threads: Mutex::default() };
        let store = Arc::clone(&owned.store);
        owned.start("forebay-recover", move || recovery::run(&store, files))?;
        let writer = Writer::new(Arc::clone(&owned.store));
        owned.start("forebay-tier", move || writer.run())?;
        Ok(owned)
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

impl Drop for Owned {
    fn drop(&mut self) {
        self.close();
    }
}
