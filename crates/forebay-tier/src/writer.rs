//! The one thread that writes to a folder.
//!
//! ```text
//!   waiting ──▶ batch ──▶ write ──▶ the policy hears of its pieces
//!                 │
//!                 └ segment full: data on disk, table; the next one: its table is emptied, its
//!                   pieces stay until they are written over
//! ```

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use forebay_core::tier::{Place, Turn};
use forebay_source::{BLOCK, Segments};

use crate::figures::count;
use crate::layout::{byte_at, bytes, file_of, table_at};
use crate::room;
use crate::segment::{Batch, Open};
use crate::store::Store;
use crate::table::{Entry, Table};
use crate::waiting::Item;

/// How long a piece may be missing in its segment's table: a crash loses it until then.
const SAVED: Duration = Duration::from_secs(5);

/// How often the file system's room is looked at.
const LOOKS: Duration = Duration::from_secs(5);

/// See the file's head.
pub struct Writer {
    pub(crate) store: Arc<Store>,
    pub(crate) open: Option<Open>,
    batch: Batch,
    looked: Option<Duration>,
}

impl Writer {
    pub(crate) fn new(store: Arc<Store>) -> Writer {
        Writer { store, open: None, batch: Batch::new(), looked: None }
    }

    /// Writes until it is told to stop.
    pub(crate) fn run(mut self) {
        while self.round(SAVED.min(LOOKS)) {}
    }

    /// Waits for work no longer than that, and does what there is. Returns whether to go on.
    pub fn round(&mut self, longest: Duration) -> bool {
        let orders = self.store.waiting.wait(longest);
        if let Err(error) = self.work(orders.tend, orders.stop) {
            self.fail(&error);
        }
        !orders.stop
    }

    /// The time that passed since then.
    fn since(&self, then: Duration) -> Duration {
        self.store.clock.now().saturating_sub(then)
    }

    /// Writes what waits, and sees to the rest.
    fn work(&mut self, tend: bool, stop: bool) -> io::Result<()> {
        let due = self.looked.is_none_or(|looked| self.since(looked) >= LOOKS);
        if (tend || due) && self.store.ends.writes() {
            self.looked = Some(self.store.clock.now());
            room::tend(self)?;
        }
        while let Some(item) = self.store.waiting.take() {
            let (run, outcome) = (item.run, self.put(item));
            self.store.waiting.over(run);
            outcome?;
        }
        self.flush()?;
        let due = |open: &&Open| stop || open.unsaved.is_some_and(|unsaved| self.since(unsaved) >= SAVED);
        let Some(open) = self.open.as_ref().filter(due) else { return Ok(()) };
        // Pieces from before may be written over while the table is on the disk.
        let entries = if stop { None } else { Some(open.entries.clone()) };
        let number = self.store.state.lock().next_number();
        self.save(number, entries)
    }

    /// A write failed: there are no more.
    fn fail(&mut self, error: &io::Error) {
        count(&self.store.counters.write_errors, 1);
        self.abandon();
        self.store.end_writes(&error.to_string());
    }

    /// Forgets the open segment, and what was to be written to it.
    pub(crate) fn abandon(&mut self) {
        self.batch.clear();
        self.open = None;
    }

    /// A piece goes to the open segment.
    fn put(&mut self, item: Item) -> io::Result<()> {
        let Item { of, run, bytes: from } = item;
        if !self.store.ends.writes() {
            return Ok(());
        }
        let mut place = self.reserve(run.len);
        if place.is_none() && self.turn()? {
            place = self.reserve(run.len);
        }
        let Some(place) = place else {
            count(&self.store.counters.no_room_bytes, from.len());
            return Ok(());
        };
        let sum = of.sum(run.start, [&from[..]].into_iter());
        let entry = Entry { fingerprint: of, start: run.start, len: run.len as u8, block: place.block as u16, sum };
        self.add(place, entry, &from)
    }

    fn reserve(&self, blocks: u32) -> Option<Place> {
        self.store.state.lock().tier.reserve(blocks)
    }

    fn add(&mut self, place: Place, entry: Entry, from: &[u8]) -> io::Result<()> {
        if !self.batch.fits(entry.len.into()) {
            self.flush()?;
        }
        self.batch.put(place, entry, from);
        Ok(())
    }

    /// Writes the batch, and lets the policy know.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        let Some(open) = self.open.as_mut().filter(|_| self.batch.blocks > 0) else { return Ok(()) };
        let (len, began) = (bytes(self.batch.blocks), self.store.clock.now());
        self.store.disk.write(&open.file, byte_at(self.batch.at), &self.batch.buffer, len)?;
        let now = self.store.clock.now();
        self.store.waiting.measured(len, now.saturating_sub(began));
        count(&self.store.counters.written_bytes, len);
        let pieces = self.batch.clear();
        let mut state = self.store.state.lock();
        pieces.iter().for_each(|entry| state.tier.insert(entry.piece(open.segment)));
        open.entries.extend(pieces);
        open.unsaved.get_or_insert(now);
        Ok(())
    }

    /// Seals the open segment and begins another one. Returns whether there is one.
    fn turn(&mut self) -> io::Result<bool> {
        self.flush()?;
        loop {
            let Some(Turn { sealed, opened }) = self.turned() else { return Ok(false) };
            if let Some(sealed) = sealed {
                self.save(sealed.number, None)?;
            }
            self.open = None;
            let Some(file) = room::file(&self.store, file_of(opened))? else { continue };
            // Pieces that it does not name are lost with this process.
            let before = read_table(&self.store, &file, opened).ok().flatten().unwrap_or_default().entries;
            self.write_table(&file, opened, &Table::default())?;
            // If power fails, no old table may speak of new bytes.
            self.store.disk.sync(&file)?;
            self.open = Some(Open::new(opened, file, before));
            return Ok(true);
        }
    }

    fn turned(&self) -> Option<Turn> {
        let mut state = self.store.state.lock();
        let turn = state.tier.turn()?;
        if let Some(sealed) = turn.sealed {
            state.sealed(sealed.segment, sealed.number);
        }
        state.begins(turn.opened);
        Some(turn)
    }

    /// Writes the table of the open segment, behind its data: of these pieces, or of all.
    fn save(&mut self, number: u64, entries: Option<Vec<Entry>>) -> io::Result<()> {
        let Some(open) = self.open.as_mut() else { return Ok(()) };
        let began = self.store.clock.now();
        self.store.disk.sync(&open.file)?;
        self.store.waiting.measured(0, self.store.clock.now().saturating_sub(began));
        open.unsaved = None;
        let entries = entries.unwrap_or_else(|| open.all(&self.store.state.lock().tier));
        let table = Table { number, entries };
        let (file, segment) = (Arc::clone(&open.file), open.segment);
        self.write_table(&file, segment, &table)
    }

    fn write_table(&self, file: &OwnedFd, segment: u32, table: &Table) -> io::Result<()> {
        let encoded = table.encode(&self.store.folder.key, segment);
        let mut buffer = Segments::own(encoded.len());
        buffer.write(0, &encoded);
        self.store.waiting.spend(buffer.len());
        count(&self.store.counters.written_bytes, buffer.len());
        self.store.disk.write(file, table_at(segment), &buffer, buffer.len())
    }
}

/// The table of a segment on disk; `None` if there is none.
pub(crate) fn read_table(store: &Store, file: &OwnedFd, segment: u32) -> io::Result<Option<Table>> {
    let mut head = Segments::own(BLOCK);
    store.disk.read(file, table_at(segment), &mut head)?;
    let mut encoded = head.to_vec();
    let len = Table::length(&encoded).unwrap_or(0);
    if len > BLOCK {
        let mut whole = Segments::own(len);
        store.disk.read(file, table_at(segment), &mut whole)?;
        encoded = whole.to_vec();
    }
    Ok(Table::decode(&encoded, &store.folder.key, segment).ok())
}
