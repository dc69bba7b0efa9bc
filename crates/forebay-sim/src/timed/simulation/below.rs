//! The levels' fetches: from the level below, or from devices.

use forebay_core::level::Label;
use forebay_core::level::Labels;
use forebay_core::{Caller, DeviceId, Extent, IoId};
use forebay_device::Request;
use forebay_device::attached::COMMAND;

use super::{Simulation, WRITE};
use crate::timed::agenda::What;
use crate::timed::files::File;
use crate::timed::labels;
use crate::timed::level::Want;
use crate::timed::storage::TIER;
use crate::timed::tier::{self, Requests};

impl Simulation<'_> {
    /// A level fetches an extent; `label` is the truth about its readers.
    pub(super) fn fetch(
        &mut self,
        level: usize,
        io: IoId,
        extent: Extent,
        label: Label,
        device: DeviceId,
        asker: Option<Caller>,
    ) {
        let block = u64::from(self.setup.block_bytes);
        let File { handler, context, bytes, .. } = self.files[extent.file.index()];
        let Caller { handler, context } = asker.unwrap_or(Caller { handler, context });
        let (offset, end) = (u64::from(extent.start) * block, (u64::from(extent.end()) * block).min(bytes));
        let labels = self.setup.levels.get(level + 1).map_or(Labels::Off, |below| below.labels);
        let label_bytes = labels::bytes(labels, &label);
        let file = extent.file;
        let want =
            Want { asker: io.0, handler, context, file, device, offset, end, label: Some(label), demanded: (0, 0) };
        self.levels[level].begin_fetch(io, want, !label.demand.is_empty(), label_bytes);
        let now = self.agenda.now();
        match self.links.get_mut(level) {
            Some(Some(link)) => {
                let at = link.send(now, 0, 1, COMMAND + label_bytes);
                self.agenda.put(at, What::Below(level as u8, io.0));
            }
            _ => self.below(level, io),
        }
    }

    /// A level's fetch has reached the level below, or a device.
    pub(super) fn below(&mut self, level: usize, io: IoId) {
        let want = *self.levels[level].fetch(io);
        if level + 1 < self.levels.len() {
            return self.want(level + 1, want);
        }
        let (mut offset, mut end) = (want.offset, want.end);
        if let Some(tier) = &mut self.tier {
            let block = u64::from(self.setup.block_bytes);
            let run = tier::run(want.file.0, (offset / block) as u32, end.div_ceil(block) as u32);
            let Requests { missing, reads } = tier.fetch(io, run);
            for request in reads {
                self.storage.count_read(TIER, request.len);
                self.submit(TIER, u64::from(io.0), request);
            }
            (offset, end) = (u64::from(missing.start) * block, (u64::from(missing.end()) * block).min(end));
        }
        if offset < end {
            let own = self.stripes.map_or(offset, |stripes| stripes.own_byte(offset));
            let start = self.files[want.file.index()].place.at_byte + own;
            let request = Request::read(start, end - offset).by(want.handler.0);
            self.submit(want.device.0, u64::from(io.0), request);
        }
    }

    pub(super) fn submit(&mut self, device: u16, id: u64, request: Request) {
        if let Some(at) = self.storage.submit(self.agenda.now(), device, id, request) {
            self.agenda.put(at, What::Device(device));
        }
    }

    /// No reader needs a fetch any more. A level below brings it all the same: its own readers may
    /// want it.
    pub(super) fn call_off(&mut self, level: usize, io: IoId) {
        let (now, device) = (self.agenda.now(), self.levels[level].fetch(io).device.0);
        let alone = self.tier.as_ref().is_none_or(|tier| tier.is_missing(io));
        let taken = self.setup.call_off && level + 1 == self.levels.len() && alone;
        if !taken || !self.storage.cancel(now, device, u64::from(io.0)) {
            return;
        }
        self.levels[level].called_off(now, io);
        self.look_again(device);
    }

    /// A device may have completed a request.
    pub(super) fn look_at(&mut self, device: u16) {
        let now = self.agenda.now();
        if !self.storage.is_due(now, device) {
            return;
        }
        let last = self.levels.len() - 1;
        while let Some(id) = self.storage.completed(now, device) {
            if id & WRITE == 0 {
                self.read(last, device, IoId(id as u32));
            } else if device != TIER {
                let reader = id as u32;
                let written = self.parts(reader).filter(|part| part.0 == device).map(|part| part.2).sum();
                self.storage.count_written(device, written);
                let state = self.readers.get_mut(reader);
                state.writing -= 1;
                if state.writing == 0 {
                    self.go_on(reader);
                }
            }
        }
        self.look_again(device);
    }

    /// A device has read a part of a fetch of the last level.
    fn read(&mut self, last: usize, device: u16, io: IoId) {
        let now = self.agenda.now();
        let &Want { offset, end, .. } = self.levels[last].fetch(io);
        let Some(tier) = &mut self.tier else {
            self.storage.count_read(device, end - offset);
            return self.levels[last].arrived(now, io);
        };
        let block = u64::from(self.setup.block_bytes);
        let (over, near) = (tier.answered(io), tier.missing(io).len == 0);
        if device != TIER {
            let missing = tier.missing(io);
            let missing_end = (u64::from(missing.end()) * block).min(end);
            self.storage.count_read(device, missing_end - offset.max(u64::from(missing.start) * block));
            for request in tier.brought(io) {
                self.storage.count_written(TIER, request.len);
                self.submit(TIER, WRITE, request);
            }
        }
        if over {
            if near {
                self.levels[last].near(now, io);
            }
            self.levels[last].arrived(now, io);
        }
    }

    fn look_again(&mut self, device: u16) {
        if let Some(at) = self.storage.news(device) {
            self.agenda.put(at, What::Device(device));
        }
    }
}
