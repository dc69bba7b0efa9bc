//! The costs of a store without places, by few bytes and in parts: reads are added until their
//! figures settle, and reads that were disturbed do not count.
//!
//! ```text
//!    4 KiB twice, 64 KiB, 4 KiB twice, 128 KiB, …   first byte and rate; reads become longer until
//!                                                   they take much longer than short ones
//!    2, 8, 32 at once                               channels, while eight bring nearly eight times
//!                                                   as much as one
//! ```
//!
//! The last step has shorter reads, so that 32 of them fit into the bytes. Where channels share a
//! thin wire, this counts too many: short reads leave room on it that long pieces do not. A
//! measurement with more bytes (`forebay profile`) counts fewer there.

use forebay_device::fit::{FlatSample, LatencyRate, fit_latency_rate, median};
use forebay_device::random::Random;
use forebay_device::{Kind, Profile};

use super::abreast::{self, Abreast};
use super::{Probe, ProfileError};

/// The bytes of all reads together, at most.
pub const MOST: u64 = 16 << 20;
/// The bytes of reads one at a time.
const MOST_ALONE: u64 = 8 << 20;
const BLOCK: u64 = 4096;
/// The first long read, and the longest.
const LONG: u64 = 64 << 10;
const LONGEST: u64 = 2 << 20;
/// A long read that takes so many times as long as a short one is long enough.
const LONG_ENOUGH: u64 = 3;
/// Reads of a round: short ones, and a long one.
const ROUND: usize = 3;
/// Rounds, at least and at most.
const FEWEST: usize = 4;
const MANY: usize = 10;
/// Figures have settled if the last round changed them by less than this share.
const STEADY: f64 = 0.1;
/// Reads at once, and their longest.
const STEPS: [Step; 3] = [
    Step { at_once: 2, waves: 3, longest: 128 << 10 },
    Step { at_once: 8, waves: 3, longest: 128 << 10 },
    Step { at_once: 32, waves: 2, longest: 64 << 10 },
];
/// With a smaller share of what as many channels would bring, more at once are not tried.
const GOES_ON: f64 = 0.6;

#[derive(Clone, Copy)]
struct Step {
    at_once: usize,
    /// Reads of each channel, of which the first is not counted.
    waves: usize,
    longest: u64,
}

/// The reads until now.
pub struct Settling {
    samples: Vec<FlatSample>,
    tried: Vec<Abreast>,
    /// The length of the next long read, and whether the last one was shorter.
    long: u64,
    grows: bool,
    /// Bytes that were asked for, also by reads that were disturbed.
    spent: u64,
    random: Random,
}

impl Default for Settling {
    fn default() -> Settling {
        Settling { samples: Vec::new(), tried: Vec::new(), long: LONG, grows: true, spent: 0, random: Random::new(1) }
    }
}

impl Settling {
    /// Goes on until the figures have settled. After [`ProfileError::Disturbed`] it can be called
    /// again, with any file of the store.
    pub fn measure(&mut self, what: &str, probe: &mut dyn Probe) -> Result<Profile, ProfileError> {
        if probe.longest() < LONG {
            return Err(ProfileError::TooSmall { what: what.to_owned(), bytes: probe.longest() });
        }
        let costs = loop {
            if let Some(costs) = self.settled() {
                break costs;
            }
            self.round(probe)?;
        };
        let mut profile = Profile {
            kind: Kind::Flat,
            device: what.to_owned(),
            measured: 0,
            capacity: 0,
            channels: 1,
            first_byte: costs.first_byte,
            rate: costs.rate.max(1),
            half_revolution: 0,
            seek: Vec::new(),
            zones: Vec::new(),
        };
        profile.channels = self.channels(&profile, probe)?;
        Ok(profile)
    }

    /// The bytes that were asked for.
    pub fn spent(&self) -> u64 {
        self.spent
    }

    fn spend(&mut self, bytes: u64) -> Result<(), ProfileError> {
        if self.spent + bytes > MOST {
            return Err(ProfileError::Spent);
        }
        self.spent += bytes;
        Ok(())
    }

    /// Two short reads and a long one.
    fn round(&mut self, probe: &mut dyn Probe) -> Result<(), ProfileError> {
        let long = self.long.min(probe.longest() / BLOCK * BLOCK);
        let mut round = [BLOCK, BLOCK, long].map(|len| FlatSample { len, nanos: 0 });
        for sample in &mut round {
            sample.nanos = self.read(probe, sample.len)?;
        }
        self.samples.extend(round);
        let short = self.short() as u64;
        self.grows = round[ROUND - 1].nanos < LONG_ENOUGH * short && long == self.long && long < LONGEST;
        if self.grows {
            self.long *= 2;
        }
        Ok(())
    }

    /// The time of a short read, nanoseconds.
    fn short(&self) -> f64 {
        median(self.samples.iter().filter(|sample| sample.len == BLOCK).map(|sample| sample.nanos as f64))
    }

    fn read(&mut self, probe: &mut dyn Probe, len: u64) -> Result<u64, ProfileError> {
        self.spend(len)?;
        let place = self.place(probe, len);
        probe.read(place, len)
    }

    fn place(&mut self, probe: &dyn Probe, len: u64) -> u64 {
        self.random.below(probe.capacity().saturating_sub(len) / BLOCK + 1) * BLOCK
    }

    /// First byte and rate, once they have settled, or as many bytes were read as they may take.
    fn settled(&self) -> Option<LatencyRate> {
        let rounds = self.samples.len() / ROUND;
        let before = self.samples.get(..self.samples.len().saturating_sub(ROUND)).unwrap_or_default();
        let full = rounds >= MANY || self.spent + self.long > MOST_ALONE;
        match (fit_latency_rate(&self.samples), fit_latency_rate(before)) {
            (Some(now), Some(before)) if rounds >= FEWEST && !self.grows => {
                let like = |one: u64, other: u64| (one as f64 - other as f64).abs() <= STEADY * other as f64;
                let steady = like(now.first_byte, before.first_byte) && like(now.rate, before.rate);
                (steady || full).then_some(now)
            }
            (now, _) if full => Some(now.unwrap_or_else(|| self.at_least())),
            _ => None,
        }
    }

    /// The costs if long reads took no longer than short ones: the rate is at least this.
    fn at_least(&self) -> LatencyRate {
        let rates = self.samples.iter().map(|sample| sample.len as f64 * 1e9 / sample.nanos.max(1) as f64);
        LatencyRate { first_byte: self.short() as u64, rate: rates.fold(1.0, f64::max) as u64 }
    }

    fn channels(&mut self, profile: &Profile, probe: &mut dyn Probe) -> Result<u32, ProfileError> {
        let cost = profile.cost();
        // First bytes have a long tail, so one alone counts as several at once do: in the mean.
        let shorts = self.samples.iter().filter(|sample| sample.len == BLOCK).map(|sample| sample.nanos);
        let short = Abreast::of(1, &shorts.collect::<Vec<u64>>()).each;
        let alone = |len: u64| short + (len - BLOCK) as f64 * 1e9 / profile.rate as f64;
        for Step { at_once, waves, longest } in STEPS.iter().copied().skip(self.tried.len()) {
            if self.tried.last().is_some_and(|last| last.at_once > 2 && 1.0 / last.each < GOES_ON) {
                break;
            }
            let depth = cost.competitive_depth(0, 0).clamp(4 * BLOCK, longest.min(probe.longest()));
            let len = depth / BLOCK * BLOCK;
            let places: Vec<u64> = (0..waves * at_once).map(|_| self.place(probe, len)).collect();
            match self.spend(places.len() as u64 * len) {
                // It was disturbed too often. Two at once tell something.
                Err(_) if !self.tried.is_empty() => break,
                spent => spent?,
            }
            let times = probe.read_all(&places, len, at_once)?;
            let Abreast { each, .. } = Abreast::of(at_once, &times);
            // In units of one that is alone, so that lengths can be compared.
            self.tried.push(Abreast { at_once, each: each / alone(len) });
        }
        let one = Abreast { at_once: 1, each: 1.0 };
        Ok(abreast::channels(&[&[one], &self.tried[..]].concat()))
    }
}

#[cfg(test)]
mod tests {
    use forebay_device::{ModelDescription, device};

    use super::*;
    use crate::profiler::modelled::{Modelled, of};

    /// A store of connections of this rate, MB/s, that share so much, if they share anything.
    fn store(rate: f64, connections: u32, total: Option<f64>) -> Modelled {
        let mut description = device("object-store").unwrap();
        let ModelDescription::ObjectStore(store) = &mut description.model else { panic!("it is one") };
        (store.rate_mb_s, store.connections, store.total_mb_s) = (rate, connections, total);
        of(description.build(5).unwrap(), 60)
    }

    #[test]
    fn few_bytes_tell_a_store() {
        for (rate, connections) in [(90.0, 64), (90.0, 4), (10.0, 64), (800.0, 16)] {
            let mut probe = store(rate, connections, None);
            let mut settling = Settling::default();
            let profile = settling.measure("s3", &mut probe).unwrap();
            profile.check().unwrap();
            assert!(settling.spent() <= MOST, "{}", settling.spent());
            let near = |got: f64, want: f64, share: f64| (got / want - 1.0).abs() < share;
            let told = format!("{rate} MB/s, {connections}: {profile:?}");
            assert!(near(profile.first_byte as f64, 20e6, 0.35), "{told}");
            // 2 MiB at 800 MB/s take less than first bytes differ: the rate is known to be high.
            let high = rate > 500.0 && profile.rate > 100_000_000;
            assert!(high || near(profile.rate as f64, rate * 1e6, 0.5), "{told}");
            assert!(near(profile.channels.into(), f64::from(connections.min(32)), 0.5), "{told}");
        }
    }

    /// All connections of this store share as much as one of them can have.
    #[test]
    fn a_thin_wire_has_fewer_channels() {
        let mut probe = store(40.0, 64, Some(40.0));
        let profile = Settling::default().measure("s3", &mut probe).unwrap();
        assert!((1..=20).contains(&profile.channels), "{profile:?}");
    }

    /// A probe that is disturbed at some of its reads.
    struct Disturbed {
        inner: Modelled,
        reads: u64,
        every: u64,
    }

    impl Disturbed {
        fn is(&mut self) -> bool {
            self.reads += 1;
            self.reads.is_multiple_of(self.every)
        }
    }

    impl Probe for Disturbed {
        fn capacity(&self) -> u64 {
            self.inner.capacity()
        }

        fn longest(&self) -> u64 {
            self.inner.longest()
        }

        fn read(&mut self, place: u64, len: u64) -> Result<u64, ProfileError> {
            if self.is() { Err(ProfileError::Disturbed) } else { self.inner.read(place, len) }
        }

        fn read_all(&mut self, places: &[u64], len: u64, at_once: usize) -> Result<Vec<u64>, ProfileError> {
            if self.is() { Err(ProfileError::Disturbed) } else { self.inner.read_all(places, len, at_once) }
        }
    }

    #[test]
    fn it_goes_on_after_a_disturbance_and_ends_with_the_bytes() {
        let mut probe = Disturbed { inner: store(90.0, 64, None), reads: 0, every: 5 };
        let (mut settling, mut disturbed) = (Settling::default(), 0);
        let profile = loop {
            match settling.measure("s3", &mut probe) {
                Ok(profile) => break profile,
                Err(ProfileError::Disturbed) => disturbed += 1,
                Err(error) => panic!("{error}"),
            }
        };
        assert!(disturbed >= 2 && settling.spent() <= MOST && profile.channels > 8, "{disturbed}: {profile:?}");
        let mut always = Disturbed { inner: store(90.0, 64, None), reads: 0, every: 1 };
        let mut settling = Settling::default();
        let mut tries = 0;
        while !matches!(settling.measure("s3", &mut always), Err(ProfileError::Spent)) {
            tries += 1;
            assert!(tries < 1_000_000, "it never ends");
        }
        assert!(settling.spent() <= MOST);
    }
}
