//! The device of each file, and its place there.

use std::collections::BTreeMap;

use forebay_device::random::Random;
use forebay_trace::workload::File;

use super::error::Error;

/// How files are placed.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Placement {
    /// The device.
    pub mapping: Mapping,
    /// The place on it.
    pub spread: Spread,
}

/// The device of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Mapping {
    /// One after the other, in order of first appearance.
    #[default]
    RoundRobin,
    /// By a hash of the trace's number of the file, and the seed.
    Hash,
    /// By the trace's number of the file, modulo the number of devices.
    Modulo,
}

/// The place of a file on its device, in one piece that begins at a block.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum Spread {
    /// One after the other from the device's beginning, by the trace's number of the file, as a
    /// file system lays out files that are written once. Readers that take files in random order
    /// find them in random places.
    #[default]
    Packed,
    /// One after the other, in order of first access (SAC §4.4); files without a read come last.
    FirstAccess,
    /// Over the whole device by the trace's number of the file; the free space is divided evenly
    /// between files.
    Even,
    /// Anywhere, by the seed and the trace's number of the file. Two may overlap, which costs
    /// nothing but an improbable hit in a disk's own cache.
    Scattered,
    /// From these bytes on, by the trace's number of the file; files that are not named lie at byte
    /// 0.
    Known(BTreeMap<u64, u64>),
}

/// A device to place files on.
pub(super) struct Room<'a> {
    pub(super) name: &'a str,
    /// In bytes; zero if the device has no places.
    pub(super) capacity: u64,
}

/// The place of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place {
    pub(super) device: u16,
    /// Its first byte on the device.
    pub(super) at_byte: u64,
}

impl Placement {
    /// The place of every file. `block` is the size of a block.
    pub(super) fn place(&self, files: &[File], rooms: &[Room<'_>], block: u64, seed: u64) -> Result<Vec<Place>, Error> {
        let mut order: Vec<usize> = (0..files.len()).collect();
        if matches!(self.spread, Spread::Packed | Spread::Even) {
            order.sort_by_key(|&number| files[number].name);
        }
        let mut taken = vec![0u64; rooms.len()];
        let gaps = self.gaps(files, rooms, block, seed);
        let mut places = vec![Place { device: 0, at_byte: 0 }; files.len()];
        for number in order {
            let file = &files[number];
            let device = self.device(number, file.name, rooms.len(), seed);
            let (room, taken) = (&rooms[device], &mut taken[device]);
            let bytes = file.bytes.div_ceil(block).saturating_mul(block);
            let at_byte = match &self.spread {
                Spread::Packed | Spread::Even | Spread::FirstAccess => *taken,
                Spread::Scattered => hashed(seed, file.name).below(room.capacity.saturating_sub(bytes)) / block * block,
                Spread::Known(places) => places.get(&file.name).copied().unwrap_or(0) / block * block,
            };
            // All files together must fit. Known places may overlap, so only each end must.
            let together = if let Spread::Known(_) = self.spread { 0 } else { taken.saturating_add(file.bytes) };
            let needed = together.max(at_byte.saturating_add(file.bytes));
            *taken = taken.saturating_add(bytes).saturating_add(gaps[device]);
            if room.capacity == 0 {
                places[number].device = device as u16;
            } else if needed > room.capacity {
                let needed = self.needed(files, rooms.len(), device, block, seed).max(needed);
                return Err(Error::DeviceFull { device, name: room.name.to_owned(), needed, capacity: room.capacity });
            } else {
                places[number] = Place { device: device as u16, at_byte };
            }
        }
        Ok(places)
    }

    /// The free space behind each file of a device, whole blocks.
    fn gaps(&self, files: &[File], rooms: &[Room<'_>], block: u64, seed: u64) -> Vec<u64> {
        let mut gaps = vec![0; rooms.len()];
        if self.spread != Spread::Even {
            return gaps;
        }
        let mut counts = vec![0; rooms.len()];
        (0..files.len()).for_each(|number| counts[self.device(number, files[number].name, rooms.len(), seed)] += 1);
        for (device, room) in rooms.iter().enumerate() {
            let free = room.capacity.saturating_sub(self.needed(files, rooms.len(), device, block, seed));
            gaps[device] = free / counts[device].max(1) / block * block;
        }
        gaps
    }

    fn device(&self, number: usize, name: u64, devices: usize, seed: u64) -> usize {
        match self.mapping {
            Mapping::RoundRobin => number % devices,
            Mapping::Hash => hashed(!seed, name).below(devices as u64) as usize,
            Mapping::Modulo => (name % devices as u64) as usize,
        }
    }

    /// The bytes of all files on one device.
    fn needed(&self, files: &[File], devices: usize, device: usize, block: u64, seed: u64) -> u64 {
        let there = files.iter().enumerate().filter(|(n, file)| self.device(*n, file.name, devices, seed) == device);
        there.map(|(_, file)| file.bytes.div_ceil(block).saturating_mul(block)).fold(0, u64::saturating_add)
    }
}

fn hashed(seed: u64, name: u64) -> Random {
    Random::new(Random::new(seed).bits() ^ name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn placed(mapping: Mapping, spread: Spread, files: &[(u64, u64)], rooms: &[u64]) -> Result<Vec<Place>, Error> {
        let files: Vec<File> = files.iter().map(|&(name, bytes)| File { name, bytes }).collect();
        let rooms: Vec<Room<'_>> = rooms.iter().map(|&capacity| Room { name: "d", capacity }).collect();
        Placement { mapping, spread }.place(&files, &rooms, 4096, 1)
    }

    proptest! {
        #[test]
        fn files_lie_within_their_device_and_packed_ones_apart(
            files in proptest::collection::vec((0u64..100, 1u64..50_000), 1..40),
            mapping in prop_oneof![Just(Mapping::RoundRobin), Just(Mapping::Hash), Just(Mapping::Modulo)],
            spread in prop_oneof![Just(Spread::Packed), Just(Spread::Even), Just(Spread::FirstAccess), Just(Spread::Scattered)],
        ) {
            let (scattered, numbered) = (spread == Spread::Scattered, matches!(spread, Spread::Packed | Spread::Even));
            let places = placed(mapping, spread, &files, &[1 << 21; 3]).unwrap();
            for (i, (a, &(name, bytes))) in places.iter().zip(&files).enumerate() {
                prop_assert!(a.at_byte % 4096 == 0 && a.at_byte + bytes <= 1 << 21);
                prop_assert!(mapping != Mapping::Modulo || u64::from(a.device) == name % 3);
                let first = |j: usize| if numbered { (files[j].0, j) < (name, i) } else { j < i };
                let mut before = places.iter().zip(&files).enumerate().filter(|&(j, _)| first(j));
                let apart = |(_, (b, &(_, len))): (usize, (&Place, &(u64, u64)))| {
                    b.device != a.device || b.at_byte + len <= a.at_byte
                };
                prop_assert!(scattered || before.all(apart));
            }
        }
    }

    #[test]
    fn what_is_spread_evenly_reaches_over_the_whole_device() {
        let places = placed(Mapping::RoundRobin, Spread::Even, &[(2, 4096), (0, 8192), (1, 1)], &[1 << 20]).unwrap();
        let gap = ((1 << 20) - 4096 * 4) / 3 / 4096 * 4096;
        let at: Vec<u64> = places.iter().map(|place| place.at_byte).collect();
        assert_eq!(at, [8192 + 4096 + 2 * gap, 0, 8192 + gap]);
    }

    #[test]
    fn what_does_not_fit_is_refused_with_all_that_is_needed() {
        let error = placed(Mapping::RoundRobin, Spread::Packed, &[(1, 4096); 5], &[8192]).unwrap_err();
        assert!(matches!(error, Error::DeviceFull { device: 0, needed: 20480, capacity: 8192, .. }), "{error}");
        let far = Spread::Known([(1, 8192)].into());
        assert!(placed(Mapping::RoundRobin, far, &[(1, 4096)], &[8192]).is_err());
        assert!(placed(Mapping::RoundRobin, Spread::Packed, &[(1, 1 << 40)], &[0]).is_ok(), "a store has no places");
    }
}
