//! Chooses the reads and their order, and decides when they are enough. Only the probe's times
//! count, so that a model can be measured in no time at all.
//!
//! A disk gets small reads at chosen distances, runs of large reads at places all over it, and
//! small reads side by side. Half of the distances are between random places, as in use. The other
//! half is spread evenly over the orders of magnitude, where the curve bends. Everything else gets
//! reads of growing length, and then several at once.

use std::time::Duration;

use forebay_device::fit::{DiskSample, FlatSample, fit_disk, fit_latency_rate, median};
use forebay_device::random::Random;
use forebay_device::{Kind, Profile};

use super::abreast::{self, Abreast};
use super::{Probe, ProfileError};

/// The least that a target must hold, in bytes.
pub const SMALLEST: u64 = 1 << 20;

const BLOCK: u64 = 4096;
/// Bytes of a read in a run that tells the rate.
const LARGE: u64 = 1 << 20;
/// The longest read of a store without places.
const LONGEST_GET: u64 = 8 << 20;
/// The longest read of several at once: together they take 16 MiB at most, since a mount measures
/// within its budget.
const LONGEST_SIDE_BY_SIDE: u64 = 256 << 10;

/// How long to measure, and the seed of the places.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Time to spend reading.
    pub budget: Duration,
    /// Where to read.
    pub seed: u64,
}

/// A measurement under way: the clock that only reads move, and the generator.
struct Run<'a> {
    probe: &'a mut dyn Probe,
    progress: &'a mut dyn FnMut(f64),
    random: Random,
    spent: u64,
    budget: u64,
}

impl<'a> Run<'a> {
    fn new(probe: &'a mut dyn Probe, plan: Plan, progress: &'a mut dyn FnMut(f64)) -> Run<'a> {
        let budget = u64::try_from(plan.budget.as_nanos()).unwrap_or(u64::MAX).max(1);
        Run { probe, progress, random: Random::new(plan.seed), spent: 0, budget }
    }

    fn spend(&mut self, nanos: u64) -> u64 {
        self.spent += nanos;
        (self.progress)((self.spent as f64 / self.budget as f64).min(1.0));
        nanos
    }

    fn read(&mut self, place: u64, len: u64) -> Result<u64, ProfileError> {
        let nanos = self.probe.read(place, len)?;
        Ok(self.spend(nanos))
    }

    /// Whether a share of the budget is spent.
    fn past(&self, share: f64) -> bool {
        self.spent as f64 >= self.budget as f64 * share
    }

    /// A place, on a block, from which `len` bytes can be read.
    fn place(&mut self, len: u64) -> u64 {
        let blocks = self.probe.capacity().saturating_sub(len) / BLOCK;
        self.random.below(blocks + 1) * BLOCK
    }

    /// How many times as many random reads of `len` bytes several at once bring as one alone. The
    /// time of one alone follows from the profile.
    fn channels(&mut self, profile: &Profile, len: u64) -> Result<u32, ProfileError> {
        let cost = profile.cost();
        let alone = cost.switch_cost(cost.mean_distance()) as f64 + len as f64 * 1e9 / profile.rate as f64;
        let mut tried = vec![Abreast { at_once: 1, each: alone }];
        while let Some(at_once) = abreast::next(&tried).filter(|_| tried.len() == 1 || !self.past(1.2)) {
            let places: Vec<u64> = (0..(3 * at_once).max(12)).map(|_| self.place(len)).collect();
            let times = self.probe.read_all(&places, len, at_once)?;
            self.spend(times.iter().sum::<u64>() / at_once as u64);
            tried.push(Abreast::of(at_once, &times));
        }
        (self.progress)(1.0);
        Ok(abreast::channels(&tried))
    }
}

/// Measures a disk, or something that may be one: without an arm the curve comes out flat, and the
/// profile says so.
pub fn disk(
    what: &str,
    probe: &mut dyn Probe,
    plan: Plan,
    progress: &mut dyn FnMut(f64),
) -> Result<Profile, ProfileError> {
    let mut run = Run::new(probe, plan, progress);
    let capacity = run.probe.capacity();
    if capacity < SMALLEST {
        return Err(ProfileError::TooSmall { what: what.to_owned(), bytes: capacity });
    }
    let mut samples = Vec::new();
    runs(&mut run, &mut samples)?;
    seeks(&mut run, &mut samples)?;
    let unfit = || ProfileError::Unfit { what: what.to_owned() };
    let fit = fit_disk(&samples, capacity).ok_or_else(unfit)?;
    let switch = |&(_, nanos): &(u64, u64)| nanos + fit.half_revolution;
    let (least, most) = (fit.seek.first().map_or(0, switch), fit.seek.last().map_or(0, switch));
    // An arm takes milliseconds; flash takes the same everywhere.
    let flat = most < 1_000_000 || (most < 2 * least && fit.half_revolution < least / 4);
    let reads = samples.iter().filter(|s| s.distance > 0 || flat);
    let times: Vec<FlatSample> = reads.map(|s| FlatSample { len: s.len, nanos: s.nanos }).collect();
    let rate = median(fit.zones.iter().map(|&(_, rate)| rate as f64)) as u64;
    let flow = fit_latency_rate(&times).filter(|_| flat);
    let first_byte = median(fit.seek.iter().map(|point| switch(point) as f64)) as u64;
    let profile = Profile {
        kind: if flat { Kind::Flat } else { Kind::Disk },
        device: what.to_owned(),
        measured: 0,
        capacity,
        channels: 1,
        first_byte: flow.map_or(first_byte, |flow| flow.first_byte),
        rate: flow.map_or(rate, |flow| flow.rate).max(1),
        half_revolution: fit.half_revolution,
        seek: fit.seek,
        zones: fit.zones,
    };
    let channels = run.channels(&profile, BLOCK)?;
    Ok(Profile { channels, ..profile })
}

/// Runs of large reads at places all over the device, nearest the middle of each part first, until
/// a quarter of the budget is spent. The first read of a run goes there and is not counted.
fn runs(run: &mut Run<'_>, samples: &mut Vec<DiskSample>) -> Result<(), ProfileError> {
    const READS: u64 = 4;
    let capacity = run.probe.capacity();
    let len = LARGE.min(run.probe.longest()).min(capacity / 8) / BLOCK * BLOCK;
    let span = len * (READS + 1);
    for i in 0..64u64 {
        if i >= 4 && run.past(0.25) {
            break;
        }
        // Sixteen parts, in an order that covers the whole early; later rounds lie a little further
        // on.
        let share = ((i * 7 % 16) as f64 + 0.25 + 0.25 * (i / 16) as f64) / 16.0;
        let from = (share * (capacity - span.min(capacity)) as f64) as u64 / BLOCK * BLOCK;
        for k in 0..=READS {
            let place = from + k * len;
            let nanos = run.read(place, len)?;
            if k > 0 {
                samples.push(DiskSample { distance: 0, place, len, nanos });
            }
        }
    }
    Ok(())
}

/// Small reads at chosen distances until four fifths of the budget are spent, or there are plenty.
fn seeks(run: &mut Run<'_>, samples: &mut Vec<DiskSample>) -> Result<(), ProfileError> {
    const FEWEST: usize = 24;
    const PLENTY: usize = 20_000;
    let capacity = run.probe.capacity();
    let mut last = run.place(BLOCK);
    run.read(last, BLOCK)?;
    for i in 0..PLENTY {
        if i >= FEWEST && run.past(0.8) {
            break;
        }
        let place = if i % 2 == 0 { run.place(BLOCK) } else { near(run, last, capacity) };
        let distance = place.abs_diff(last + BLOCK);
        let nanos = run.read(place, BLOCK)?;
        if distance > 0 && place != last {
            samples.push(DiskSample { distance, place, len: BLOCK, nanos });
        }
        last = place;
    }
    Ok(())
}

/// A place at a distance that is drawn evenly over its orders of magnitude, from a megabyte (less
/// is likely to lie in the drive's own cache) to the whole device.
fn near(run: &mut Run<'_>, last: u64, capacity: u64) -> u64 {
    let least = (1u64 << 20).min(capacity / 8).max(BLOCK) as f64;
    let distance = least * (capacity as f64 / 2.0 / least).powf(run.random.unit());
    let blocks = (distance as u64 / BLOCK).max(1) * BLOCK;
    let up = last.saturating_add(blocks);
    if up + BLOCK <= capacity && (run.random.bits() & 1 == 0 || last < blocks) {
        up
    } else {
        last.saturating_sub(blocks)
    }
}

/// Measures a store without places.
pub fn flat(
    what: &str,
    probe: &mut dyn Probe,
    plan: Plan,
    progress: &mut dyn FnMut(f64),
) -> Result<Profile, ProfileError> {
    const FEWEST: usize = 12;
    let mut run = Run::new(probe, plan, progress);
    let longest = LONGEST_GET.min(run.probe.longest());
    if longest < 16 * BLOCK {
        return Err(ProfileError::TooSmall { what: what.to_owned(), bytes: longest });
    }
    // 4 KiB, 8 KiB, … 8 MiB; a long one that takes more than a twentieth of the budget is not asked
    // for again.
    let mut lengths: Vec<u64> = (0..).map(|i| BLOCK << i).take_while(|&len| len <= longest).collect();
    let mut samples = Vec::new();
    while samples.len() < FEWEST || (!run.past(0.6) && samples.len() < 4000) {
        let len = lengths[samples.len() % lengths.len()];
        let place = run.place(len);
        let nanos = run.read(place, len)?;
        samples.push(FlatSample { len, nanos });
        if nanos > run.budget / 20 && lengths.len() > 3 && len > lengths[2] {
            lengths.retain(|&other| other < len);
        }
    }
    let fit = fit_latency_rate(&samples).ok_or_else(|| ProfileError::Unfit { what: what.to_owned() })?;
    let profile = Profile {
        kind: Kind::Flat,
        device: what.to_owned(),
        measured: 0,
        capacity: 0,
        channels: 1,
        first_byte: fit.first_byte,
        rate: fit.rate,
        half_revolution: 0,
        seek: Vec::new(),
        zones: Vec::new(),
    };
    // As much as a policy would ask for at once, within bounds of memory.
    let depth = profile.cost().competitive_depth(0, 0).clamp(BLOCK, longest.min(LONGEST_SIDE_BY_SIDE));
    let channels = run.channels(&profile, depth / BLOCK * BLOCK)?;
    Ok(Profile { channels, ..profile })
}

#[cfg(test)]
mod tests {
    use forebay_device::{ModelDescription, device};

    use super::*;
    use crate::profiler::modelled::{Modelled, modelled, of};

    fn plan(seconds: f64) -> Plan {
        Plan { budget: Duration::from_secs_f64(seconds), seed: 9 }
    }

    fn near(got: u64, want: u64, share: f64, what: &str) {
        assert!((got as f64 / want as f64 - 1.0).abs() < share, "{what}: {got} is not within {share} of {want}");
    }

    /// Ten seconds tell the papers' drives, hiccups of a busy machine included.
    #[test]
    fn ten_seconds_tell_a_disk() {
        for name in ["ibm-10k", "seagate-10k"] {
            let truth = device(name).unwrap().build(0).unwrap().cost();
            let profile = disk(name, &mut modelled(name, 40), plan(10.0), &mut |_| ()).unwrap();
            assert_eq!((profile.kind, profile.channels, profile.capacity), (Kind::Disk, 1, truth.capacity));
            profile.check().unwrap();
            let cost = profile.cost();
            for share in [10, 33, 66] {
                let distance = truth.capacity / 100 * share;
                near(cost.switch_cost(distance), truth.switch_cost(distance), 0.12, name);
                near(cost.transfer_rate(distance), truth.transfer_rate(distance), 0.06, name);
            }
            near(cost.half_revolution, truth.half_revolution, 0.3, name);
            let depth =
                |cost: &forebay_core::DeviceCost| cost.competitive_depth(truth.mean_distance(), truth.capacity / 2);
            near(depth(&cost), depth(&truth), 0.12, name);
        }
    }

    /// A quick look gives the depth within a third; a thorough one the curve within 5 %.
    #[test]
    fn more_time_tells_more() {
        let truth = device("ibm-10k").unwrap().build(0).unwrap().cost();
        let depth = |cost: &forebay_core::DeviceCost| cost.competitive_depth(truth.mean_distance(), truth.capacity / 2);
        let measured =
            |seconds| disk("d", &mut modelled("ibm-10k", 1 << 40), plan(seconds), &mut |_| ()).unwrap().cost();
        near(depth(&measured(0.7)), depth(&truth), 0.33, "quick");
        near(depth(&measured(110.0)), depth(&truth), 0.05, "thorough");
    }

    #[test]
    fn a_flash_drive_has_no_arm() {
        let profile = disk("ssd", &mut modelled("ssd", 50), plan(1.0), &mut |_| ()).unwrap();
        assert_eq!(profile.kind, Kind::Flat);
        near(profile.first_byte, 90_000, 0.1, "latency");
        near(profile.rate, 900_000_000, 0.1, "rate");
        near(profile.channels.into(), 32, 0.1, "channels");
    }

    #[test]
    fn an_object_store_has_a_first_byte_a_rate_and_connections() {
        let truth = device("object-store").unwrap().build(0).unwrap().cost();
        let profile = flat("s3", &mut modelled("object-store", 60), plan(10.0), &mut |_| ()).unwrap();
        assert_eq!(profile.kind, Kind::Flat);
        near(profile.first_byte, truth.seek_time(0), 0.2, "first byte");
        near(profile.rate, truth.transfer_rate(0), 0.12, "rate");
        near(profile.cost().competitive_depth(0, 0), truth.competitive_depth(0, 0), 0.3, "depth");
        near(profile.channels.into(), 64, 0.1, "channels");
    }

    #[test]
    fn connections_are_counted_until_more_bring_nothing() {
        for connections in [1, 2, 5, 10, 20] {
            let mut description = device("object-store").unwrap();
            let ModelDescription::ObjectStore(store) = &mut description.model else { panic!("it is one") };
            store.connections = connections;
            let mut probe = of(description.build(5).unwrap(), 1 << 40);
            let counted = flat("s3", &mut probe, plan(10.0), &mut |_| ()).unwrap().channels;
            near(counted.into(), connections.into(), 0.15, "connections");
        }
    }

    #[test]
    fn the_budget_is_kept_and_progress_never_falls() {
        for (name, seconds) in [("ibm-10k", 5.0), ("ssd", 0.5), ("object-store", 5.0)] {
            let mut told = vec![0.0];
            let mut probe = modelled(name, 1 << 40);
            let measure = if name == "object-store" { flat } else { disk };
            measure(name, &mut probe, plan(seconds), &mut |share| told.push(share)).unwrap();
            assert!(told.is_sorted() && told.last() == Some(&1.0), "{name}");
            assert!((probe.now.0 as f64) < seconds * 1.5e9, "{name}: {:?}", probe.now);
        }
    }

    #[test]
    fn too_little_is_said() {
        let mut probe = Modelled { capacity: 1 << 19, ..modelled("ibm-10k", 1 << 40) };
        let said = disk("x", &mut probe, plan(1.0), &mut |_| ()).unwrap_err();
        assert!(matches!(said, ProfileError::TooSmall { bytes: 524_288, .. }), "{said}");
        let mut probe = Modelled { capacity: 1 << 14, ..modelled("object-store", 1 << 40) };
        assert!(flat("x", &mut probe, plan(1.0), &mut |_| ()).is_err());
    }
}
