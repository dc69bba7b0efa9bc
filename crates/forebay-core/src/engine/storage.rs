//! Storage, as the engine knows it: the files, and the devices that they lie on.
//!
//! The room answers where a block lies and what a switch is worth there. It counts the reads and
//! fetches of each file, the fetches under way of each device, and whose blocks the frames hold.

use alloc::vec::Vec;

use crate::counters::Counters;
use crate::device::DeviceCost;
use crate::devices::Device;
use crate::files::{File, Files, Home};
use crate::inflight::Fetch;
use crate::seams::MAX_PIECE_BYTES;
use crate::types::{BlockKey, DeviceId, Extent, FileId, Instant, StreamId};

/// Files and devices.
pub(super) struct Storage {
    files: Files,
    devices: Vec<Device>,
    /// The bytes of a block, a power of two.
    block_bytes: u32,
}

/// The device and file of a block that is in no frame any more.
#[derive(Clone, Copy, Debug)]
pub(super) struct Left {
    /// The device that it lies on.
    pub(super) device: DeviceId,
    /// Whether it was the last one of a file that nobody has open.
    pub(super) emptied: bool,
}

impl Storage {
    /// These devices, and no file.
    pub(super) fn new(devices: &[DeviceCost], block_bytes: u32) -> Storage {
        Storage { files: Files::default(), devices: devices.iter().cloned().map(Device::new).collect(), block_bytes }
    }

    /// [`Files::open`], on a device that is there.
    pub(super) fn open(&mut self, file: FileId, device: DeviceId, bytes: u64) {
        let device = DeviceId(device.0.min(self.devices.len() as u16 - 1));
        self.files.open(file, device, bytes, self.block_bytes);
    }

    /// [`Files::stripe`].
    pub(super) fn stripe(&mut self, file: FileId, unit: u32, devices: u16) {
        self.files.stripe(file, unit, devices, self.devices.len());
    }

    /// [`Files::place`].
    pub(super) fn place(&mut self, extent: Extent, at_byte: u64) {
        self.files.place(extent, at_byte);
    }

    /// [`Files::set_handles`].
    pub(super) fn set_handles(&mut self, file: FileId, handles: u32) {
        self.files.set_handles(file, handles);
    }

    /// The driver will not read a file again.
    pub(super) fn forget(&mut self, file: FileId) {
        if let Some(file) = self.files.get_mut(file) {
            file.forgotten = true;
        }
    }

    /// A forgotten file of which nothing is being read or fetched.
    #[inline]
    pub(super) fn forgotten_and_idle(&self, file: FileId) -> Option<&File> {
        self.files.get(file).filter(|file| file.forgotten && file.reads == 0 && file.fetches == 0)
    }

    /// Removes a file.
    pub(super) fn remove(&mut self, file: FileId) {
        self.files.remove(file);
    }

    /// Step 1 of a read, which begins: the blocks of a range of bytes, clipped to the file and to
    /// `longest`. `None` if nobody knows the file.
    #[inline]
    pub(super) fn begins_read(&mut self, file: FileId, offset: u64, len: u32, longest: u32) -> Option<Extent> {
        self.files.is_read(file);
        let entry = self.files.get_mut(file).filter(|entry| !entry.forgotten)?;
        entry.reads += 1;
        let shift = self.block_bytes.trailing_zeros();
        let end = offset.saturating_add(u64::from(len)).min(entry.bytes);
        if offset >= end {
            return Some(Extent { file, start: entry.blocks, len: 0 });
        }
        let start = (offset >> shift) as u32;
        let blocks = ((end - 1) >> shift) as u32 - start + 1;
        Some(Extent { file, start, len: blocks.min(longest) })
    }

    /// A read is done.
    pub(super) fn ends_read(&mut self, file: FileId) {
        if let Some(file) = self.files.get_mut(file) {
            file.reads -= 1;
        }
    }

    /// A stream of a file goes on. Says how many blocks the file has.
    pub(super) fn goes_on(&mut self, file: FileId) -> Option<u32> {
        let entry = self.files.get_mut(file)?;
        entry.went_on();
        Some(entry.blocks)
    }

    /// [`File::initial_window`].
    pub(super) fn initial_window(&mut self, file: FileId) -> u32 {
        self.files.get_mut(file).map_or(0, File::initial_window)
    }

    /// A file.
    pub(super) fn file(&self, file: FileId) -> Option<&File> {
        self.files.get(file)
    }

    /// All files.
    pub(super) fn files(&self) -> impl Iterator<Item = &File> {
        self.files.iter()
    }

    /// How many blocks a file has.
    pub(super) fn blocks(&self, file: FileId) -> u32 {
        self.files.get(file).map_or(0, |file| file.blocks)
    }

    /// [`Files::handles`].
    pub(super) fn open_files(&self) -> u32 {
        self.files.handles()
    }

    /// The bytes of a block.
    pub(super) fn block_bytes(&self) -> u32 {
        self.block_bytes
    }

    /// The devices, by number.
    pub(super) fn devices(&self) -> &[Device] {
        &self.devices
    }

    /// One of them.
    pub(super) fn device(&self, device: DeviceId) -> &Device {
        &self.devices[device.index()]
    }

    /// A device costs this from now on.
    pub(super) fn is_measured(&mut self, device: DeviceId, cost: DeviceCost) {
        if let Some(device) = self.devices.get_mut(device.index()) {
            device.seek_distance = cost.mean_distance();
            device.cost = cost;
        }
    }

    /// The counts of its blocks.
    pub(super) fn counters(&mut self, device: DeviceId) -> &mut Counters {
        &mut self.devices[device.index()].counters
    }

    /// The short cut of a hit counts it, whatever number of a device its driver gives.
    #[inline(always)]
    pub(super) fn counts_hit(&mut self, device: usize) {
        if let Some(device) = self.devices.get_mut(device) {
            device.counters.hits += 1;
        }
    }

    /// The device that a block lies on.
    pub(super) fn device_of(&self, key: BlockKey) -> Option<DeviceId> {
        self.files.get(key.file()).map(|file| file.device_of(key.block()))
    }

    /// Which blocks of a file lie on which device: all on the first one, of a file that nobody
    /// knows.
    pub(super) fn home(&self, file: FileId) -> Home {
        self.files.get(file).map_or(Home::default(), File::home)
    }

    /// C_switch · R_tr where a block of a file lies, in blocks, at least one.
    pub(super) fn competitive_depth(&self, file: &File, block: u32) -> u32 {
        self.depth_after(file, block, self.devices[file.device_of(block).index()].seek_distance)
    }

    /// The same after a seek over so many blocks of the file.
    pub(super) fn over_gap(&self, file: &File, block: u32, gap: u32) -> u32 {
        self.depth_after(file, block, u64::from(gap) * u64::from(self.block_bytes) / u64::from(parts(file)))
    }

    /// The same after a seek of so many bytes.
    fn depth_after(&self, file: &File, block: u32, distance: u64) -> u32 {
        let device = &self.devices[file.device_of(block).index()];
        let place = file.place(block, self.block_bytes).unwrap_or(0);
        // A piece of a striped file is a part of it for each of its devices.
        self.depth_at(device, distance, place, parts(file))
    }

    /// The worth of a switch of such a distance at a place of a device, to a file that lies on so
    /// many.
    fn depth_at(&self, device: &Device, distance: u64, place: u64, parts: u16) -> u32 {
        let depth = device.cost.competitive_depth(distance, place).saturating_mul(parts.into());
        ((depth.min(u64::from(MAX_PIECE_BYTES)) / u64::from(self.block_bytes)) as u32).max(1)
    }

    /// On the device where it is worth most, a switch is worth so many blocks; and how many
    /// requests that device serves at once.
    pub(super) fn deepest(&self) -> Option<(u32, u32)> {
        self.devices
            .iter()
            .map(|device| (self.depth_at(device, device.seek_distance, 0, 1), device.cost.channels))
            .max()
    }

    /// A frame is being filled with a block from now on.
    pub(super) fn takes_frame(&mut self, key: BlockKey) {
        if let Some(file) = self.files.get_mut(key.file()) {
            file.frames += 1;
            let device = file.device_of(key.block());
            self.devices[device.index()].frames += 1;
        }
    }

    /// A frame no longer holds a block.
    pub(super) fn leaves_frame(&mut self, key: BlockKey) -> Option<Left> {
        let file = self.files.get_mut(key.file())?;
        file.frames -= 1;
        let emptied = file.frames == 0 && file.is_closed();
        let device = file.device_of(key.block());
        self.devices[device.index()].frames -= 1;
        Some(Left { device, emptied })
    }

    /// A stream goes on, and its next piece is about to be fetched from where a block lies.
    pub(super) fn follows(&mut self, stream: StreamId, key: BlockKey) {
        if let Some(device) = self.device_of(key) {
            self.devices[device.index()].company.goes_on(stream);
        }
    }

    /// A fetch is issued for a stream, and perhaps `needed` by a reader. Says which device serves
    /// it.
    pub(super) fn issues(&mut self, at: Instant, extent: Extent, stream: StreamId, needed: bool) -> Option<DeviceId> {
        let file = self.files.get_mut(extent.file)?;
        file.fetches += 1;
        let number = file.device_of(extent.start);
        let device = &mut self.devices[number.index()];
        device.company.uses(stream, device.under_way);
        device.under_way += 1;
        device.told_under_way += u32::from(stream == StreamId::TOLD);
        device.counters.fetches += 1;
        if needed {
            device.is_needed(at);
        }
        Some(number)
    }

    /// A fetch is over: its device and file have one fewer.
    pub(super) fn is_over(&mut self, fetch: &Fetch, now: Instant) {
        let device = &mut self.devices[fetch.device.index()];
        device.under_way = device.under_way.saturating_sub(1);
        device.told_under_way = device.told_under_way.saturating_sub(u32::from(fetch.is_hint()));
        if !fetch.demand.is_empty() {
            device.has_served(now);
        }
        if fetch.demand.len < fetch.extent.len {
            device.took(now.since(fetch.issued));
        }
        if let Some(file) = self.files.get_mut(fetch.extent.file) {
            file.fetches -= 1;
        }
    }

    /// The device has served a fetch, and its head has moved (CP §2, D_seek). The order of
    /// completions is the order of service, which a scheduler may have chosen.
    pub(super) fn moves_head(&mut self, fetch: &Fetch) {
        let block = self.block_bytes;
        let device = &mut self.devices[fetch.device.index()];
        let Some(file) = self.files.get(fetch.extent.file) else { return };
        let Some(place) = file.place(fetch.extent.start, block) else { return };
        if let Some(distance) = device.head.map(|head| head.abs_diff(place)).filter(|&distance| distance > 0) {
            let old = device.seek_distance;
            device.seek_distance = if distance > old { old + (distance - old) / 8 } else { old - (old - distance) / 8 };
        }
        device.head = Some(place + u64::from(fetch.extent.len) * u64::from(block));
    }

    /// The bytes of bookkeeping, the devices' apart.
    pub(super) fn footprint(&self) -> usize {
        self.files.footprint()
    }
}

/// The devices that a file lies on.
fn parts(file: &File) -> u16 {
    file.stripe.map_or(1, |stripe| stripe.devices.max(1))
}
