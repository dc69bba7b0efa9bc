//! The core's knowledge of each file: its device, its length, its places on the device, and the
//! first window of its streams.

use alloc::vec::Vec;

use crate::numbered::Numbered;
use crate::types::{DeviceId, Extent, FileId};

/// The initial window of a stream, in pages (CP §2, CPEM §2.2: "i.e., 16 pages").
pub const INITIAL_WINDOW: u32 = 16;

/// A stream that went nowhere takes this much from the initial window of its file's next stream,
/// and one that went on gives it back (Linux 2.6.3: the window shrinks and grows by 2 pages).
const WINDOW_STEP: u32 = 2;

/// Over which devices a file is striped (RAID-0).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stripe {
    /// Blocks of a unit, at least 1.
    pub unit: u32,
    /// How many devices, at least 1.
    pub devices: u16,
}

impl Stripe {
    /// Which of its devices a block lies on.
    fn member(self, block: u32) -> u16 {
        (block / self.unit % u32::from(self.devices)) as u16
    }

    /// The block's number on its device.
    fn own_block(self, block: u32) -> u32 {
        block / self.unit / u32::from(self.devices) * self.unit + block % self.unit
    }
}

/// Which blocks of a file lie on which device.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Home {
    device: DeviceId,
    stripe: Option<Stripe>,
}

impl Home {
    #[inline]
    pub(crate) fn device_of(self, block: u32) -> DeviceId {
        DeviceId(self.device.0 + self.stripe.map_or(0, |stripe| stripe.member(block)))
    }

    /// Whether a block begins a stripe unit: it lies on another device than the one before.
    #[inline]
    pub(crate) fn begins_unit(self, block: u32) -> bool {
        self.stripe.is_some_and(|stripe| block.is_multiple_of(stripe.unit))
    }
}

/// One version of one file.
#[derive(Clone, Debug)]
pub struct File {
    /// Where it lies; the first of its devices, if it is striped.
    pub device: DeviceId,
    /// Whether it is striped.
    pub stripe: Option<Stripe>,
    /// Its length in bytes.
    pub bytes: u64,
    /// Its length in blocks.
    pub blocks: u32,
    /// Frames that hold or are being filled with its blocks.
    pub frames: u32,
    /// Reads that are not done.
    pub reads: u32,
    /// Fetches under way.
    pub fetches: u32,
    /// Whether the driver said that no reader will read it again.
    pub forgotten: bool,
    /// How many handles are open.
    handles: u32,
    window: u32,
    runs: Vec<(u32, u32, u64)>,
}

impl File {
    /// The window, in blocks, that a new stream begins with: 16, less for every stream that went
    /// nowhere. A file that is read at random ends at 0, and nothing beyond its readers' requests
    /// is fetched ("quickly identifies the non-sequential access pattern", CP §3.2).
    pub fn initial_window(&mut self) -> u32 {
        let window = self.window;
        self.window = window.saturating_sub(WINDOW_STEP);
        window
    }

    /// Whether nearly none of its streams goes on, as far as is known.
    pub fn is_random(&self) -> bool {
        self.window <= WINDOW_STEP
    }

    /// A stream of this file went on sequentially.
    pub fn went_on(&mut self) {
        self.window = (self.window + WINDOW_STEP).min(INITIAL_WINDOW);
    }

    /// Whether no reader has it open, though one may come back.
    pub fn is_closed(&self) -> bool {
        self.handles == 0 && !self.forgotten
    }

    /// The device that a block lies on.
    #[inline]
    pub fn device_of(&self, block: u32) -> DeviceId {
        self.home().device_of(block)
    }

    /// Which blocks lie on which device.
    #[inline]
    pub(crate) fn home(&self) -> Home {
        Home { device: self.device, stripe: self.stripe }
    }

    /// The byte on its device where a block lies, if the driver said so.
    pub fn place(&self, block: u32, block_bytes: u32) -> Option<u64> {
        let block = self.stripe.map_or(block, |stripe| stripe.own_block(block));
        let after = self.runs.partition_point(|&(start, _, _)| start <= block);
        let &(start, _, at_byte) = self.runs.get(after.checked_sub(1)?)?;
        Some(at_byte + u64::from(block - start) * u64::from(block_bytes))
    }
}

/// The table of files, by number.
#[derive(Clone, Debug, Default)]
pub struct Files {
    table: Numbered<File>,
    /// The handles of all files.
    handles: u32,
}

impl Files {
    /// Adds a file. An unfinished one of that number is replaced: the driver broke its word, the
    /// new one wins.
    pub fn open(&mut self, file: FileId, device: DeviceId, bytes: u64, block_bytes: u32) {
        self.set_handles(file, 0);
        let blocks = u32::try_from(bytes.div_ceil(u64::from(block_bytes))).unwrap_or(u32::MAX);
        let entry = File {
            device,
            stripe: None,
            bytes,
            blocks,
            frames: 0,
            reads: 0,
            fetches: 0,
            forgotten: false,
            handles: 0,
            window: INITIAL_WINDOW,
            runs: Vec::new(),
        };
        self.table.insert(file.0, entry);
    }

    /// A file is striped over `devices` devices, at most as many as there are in `all`.
    pub fn stripe(&mut self, file: FileId, unit: u32, devices: u16, all: usize) {
        if let Some(entry) = self.get_mut(file) {
            let most = u16::try_from(all).unwrap_or(u16::MAX).saturating_sub(entry.device.0).max(1);
            let devices = devices.clamp(1, most);
            entry.stripe = (devices > 1).then_some(Stripe { unit: unit.max(1), devices });
        }
    }

    /// Sets how many handles of a file are open.
    pub fn set_handles(&mut self, file: FileId, handles: u32) {
        if let Some(entry) = self.table.get_mut(file.0) {
            self.handles = self.handles - entry.handles + handles;
            entry.handles = handles;
        }
    }

    /// A file is read, and so is open, whatever the driver said.
    pub fn is_read(&mut self, file: FileId) {
        if self.get(file).is_some_and(|entry| entry.handles == 0) {
            self.set_handles(file, 1);
        }
    }

    /// "The total number of opened files" (CPEM §4.2), each counted once for every handle.
    pub fn handles(&self) -> u32 {
        self.handles
    }

    /// Sets the place of a run of blocks. Runs come in order; one that doesn't is dropped.
    pub fn place(&mut self, extent: Extent, at_byte: u64) {
        if let Some(file) = self.get_mut(extent.file)
            && file.runs.last().is_none_or(|&(start, _, _)| start < extent.start)
        {
            // Most files have one run.
            file.runs.reserve_exact(usize::from(file.runs.is_empty()));
            file.runs.push((extent.start, extent.len, at_byte));
        }
    }

    /// The file of that number.
    pub fn get(&self, file: FileId) -> Option<&File> {
        self.table.get(file.0)
    }

    /// The file of that number.
    pub fn get_mut(&mut self, file: FileId) -> Option<&mut File> {
        self.table.get_mut(file.0)
    }

    /// All files.
    pub fn iter(&self) -> impl Iterator<Item = &File> {
        self.table.iter()
    }

    /// Removes a file.
    pub fn remove(&mut self, file: FileId) {
        self.set_handles(file, 0);
        self.table.remove(file.0);
    }

    /// The bytes that the table takes.
    pub fn footprint(&self) -> usize {
        let runs: usize = self.table.iter().map(|file| file.runs.capacity() * 16).sum();
        self.table.footprint() + runs
    }
}
