//! The circumstances of one life, as its seed has them.

use forebay_core::presets::entries;
use forebay_core::{DeviceCost, Policy, Referenced};
use forebay_live::budget::Budget;
use forebay_source::striped::Stripes;

use crate::bounds::{Bounds, Fault};
use crate::dice::{Dice, Who};

/// The circumstances of one life.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The seed of everything random.
    pub seed: u64,
    /// Jobs of the agenda until readers go away.
    pub events: u64,
    /// The policy's name.
    pub policy: String,
    /// The fate of blocks that were read.
    pub referenced: Referenced,
    /// Frames of memory.
    pub frames: u32,
    /// Files that are remembered once they are closed.
    pub closed_files: usize,
    /// The devices.
    pub devices: Vec<DeviceCost>,
    /// The length of each file in its first version; file f lies on device f mod devices.
    pub files: Vec<u64>,
    /// How many readers there are.
    pub readers: u32,
    /// The longest read of each reader has at least so many bytes.
    pub reads: u64,
    /// How files are dealt out, if all devices are a set. Each file lies on all of them then.
    pub stripes: Option<Stripes>,
    /// How often each fault happens, in thousandths, by the order of [`Fault::ALL`].
    faults: [u64; Fault::ALL.len()],
}

impl Scenario {
    /// The scenario of a seed within bounds.
    pub fn new(seed: u64, bounds: &Bounds) -> Scenario {
        let mut dice = Dice::of(seed, Who::Scenario);
        let policy = policy(&mut dice);
        let referenced = if dice.chance(300) { Referenced::HandedOn } else { Referenced::Kept };
        let frames = match dice.below(10) {
            0..3 => dice.from(4, 64),
            3..7 => dice.from(64, 400),
            _ => dice.from(400, 1500),
        } as u32;
        let closed_files = dice.scale(2, 64) as usize;
        let most = policy.parse::<Policy>().map_or(1, |policy| policy.most_devices()).clamp(1, 3);
        let devices: Vec<DeviceCost> = (0..dice.from(1, most as u64)).map(|_| device(&mut dice)).collect();
        let longest = dice.scale(4096, 8 << 20);
        // Drawn in full whatever the bounds are, so that these change nothing else.
        let files: Vec<u64> = (0..dice.scale(1, 64)).map(|_| length(&mut dice, longest)).collect();
        let readers = dice.scale(1, 16) as u32;
        let mut faults = [0; Fault::ALL.len()];
        for often in &mut faults {
            // Most lives have few kinds of faults, and some have all.
            *often = if dice.chance(450) { dice.scale(2, 256) } else { 0 };
        }
        // Half of the local disks do what they are told: there nothing may be damaged.
        if dice.chance(500) {
            [Fault::Disk, Fault::Flip].iter().for_each(|&fault| faults[fault as usize] = 0);
        }
        for fault in &bounds.without {
            faults[*fault as usize] = 0;
        }
        let unit = 4096 << dice.below(8);
        let set = faults[Fault::Set as usize] > 0 && devices.len() > 1;
        let stripes = set.then(|| Stripes::new(unit, devices.len()).expect("whole blocks, and few members"));
        // Blocks that memory keeps are not asked of a tier.
        let frames = if faults[Fault::Tier as usize] > 0 { frames.min(dice.scale(16, 400) as u32) } else { frames };
        // A tier gives up segments once so much is read that it is full.
        let large = dice.chance(100) && faults[Fault::Tier as usize] > 0;
        let longer = |size: u64| if large { size.max(4 << 20) } else { size };
        let (files, reads) = (files.into_iter().map(longer), if large { 256 << 10 } else { 512 });
        let files = files.take(bounds.files.max(1) as usize).collect();
        let readers = readers.min(bounds.readers.max(1));
        Scenario {
            seed,
            events: bounds.events,
            policy,
            referenced,
            frames,
            closed_files,
            devices,
            files,
            readers,
            reads,
            stripes,
            faults,
        }
    }

    /// The branches of its tree: a device each, or the set of all.
    pub(crate) fn branches(&self) -> usize {
        if self.stripes.is_some() { 1 } else { self.devices.len() }
    }

    /// How often a fault happens, in thousandths.
    pub(crate) fn often(&self, fault: Fault) -> u64 {
        self.faults[fault as usize]
    }

    /// The budget of its engine.
    pub(crate) fn budget(&self) -> Budget {
        let frames = self.frames;
        Budget { memory: 64 << 20, frames, streams: (frames / 4).max(4), closed_files: self.closed_files }
    }
}

/// A policy: the usual one, one of the registry, or several of it joined.
fn policy(dice: &mut Dice) -> String {
    let names: Vec<&str> = entries().map(|entry| entry.name).collect();
    if dice.chance(350) {
        return "auto".into();
    }
    let one = *dice.pick(&names);
    let joined = format!("{one}+{}", dice.pick(&names));
    let three = format!("{joined}+{}", dice.pick(&names));
    let wanted = [one.to_owned(), joined, three];
    let wanted = &wanted[dice.below(3) as usize];
    // Two answers on one axis make no policy.
    if wanted.parse::<Policy>().is_ok() { wanted.clone() } else { one.to_owned() }
}

/// A disk, or a store without places.
fn device(dice: &mut Dice) -> DeviceCost {
    let (wait, rate) = (dice.scale(20_000, 50_000_000), dice.scale(1 << 20, 1 << 30));
    let flat = DeviceCost::flat(wait, rate, dice.scale(1, 16) as u32);
    if dice.chance(500) {
        return flat;
    }
    let capacity = 1 << 34;
    DeviceCost { seek: vec![(0, 0), (capacity, wait)], half_revolution: wait / 3, capacity, channels: 1, ..flat }
}

/// The length of a file.
fn length(dice: &mut Dice, longest: u64) -> u64 {
    match dice.below(12) {
        0 => 0,
        1 => dice.from(1, 5000),
        2 => longest,
        _ => dice.scale(1, longest),
    }
}
