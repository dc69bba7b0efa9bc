//! The synthetic traces of SAC §4.2, Table 1: one client in a closed loop reads from sixteen disks,
//! an array (RAID-0).
//!
//! |  | Trace 1 | Trace 2 | Trace 3 |
//! | --- | --- | --- | --- |
//! | request size | uniform, mean 256 KB | exponential, mean 34 KB | exponential, mean 34 KB |
//! | disk | uniform | uniform | Gaussian, mean 7, deviation 3 |
//! | place | random | random | random |
//! | working set | 400 MB | 425 MB | 425 MB |
//! | requests | 192,000 | 750,000 | 750,000 |
//!
//! Our reading of the table. A trace's "data block requests […] have been striped with RAID-0
//! across the full set of disks; each request specifies the starting offset and length" (§4.1), so
//! the only file is the array. The working set is extents, which lie anywhere in it ("random"); a
//! request reads one of them, each as likely. An extent begins on a disk by the trace's
//! distribution over disks and goes on over those that follow. So a disk's part of the working set
//! grows with its share of requests; otherwise the best ratio of Fig. 4's third workload could not
//! be 40:1. "Traces 2 and 3 have a variety of request sizes", so all of Trace 1 have one size.
//! Sizes and places are whole blocks of 4 KiB, the stripe unit 8 KiB: the paper names neither.

use super::parameters::{Kind, Parameter, Value, Values, parameter};
use super::random::Random;
use super::{BLOCK_BYTES, Workload, WrongWorkload, sized};
use crate::{FileInfo, Request, Shape};

const BLOCK: u64 = BLOCK_BYTES as u64;

const DISKS: Parameter = parameter("disks", Value::Count(16), "disks");
const STRIPE: Parameter = parameter("stripe", Value::Bytes(8 << 10), "bytes of a stripe unit");
/// Sixteen times the IBM 9LZX, aged or not: seeks go over whole disks, as those of the paper's
/// Table 2 do.
const ARRAY: Parameter = parameter("array", Value::Bytes(16 * 9_000_000_000), "bytes of all disks together");

const SMALL: &[Parameter] = &[
    parameter("requests", Value::Count(750_000), "requests"),
    parameter("mean", Value::Bytes(34 << 10), "bytes of a request in the mean"),
    parameter("bytes", Value::Bytes(425 << 20), "bytes of the working set"),
    DISKS,
    STRIPE,
    ARRAY,
];

pub(super) const KINDS: &[Kind] = &[
    Kind {
        name: "sac-1",
        summary: "requests of 256 KB, evenly distributed, to 400 MB on an array of 16 disks (SAC Table 1)",
        parameters: &[
            parameter("requests", Value::Count(192_000), "requests"),
            parameter("mean", Value::Bytes(256 << 10), "bytes of a request"),
            parameter("bytes", Value::Bytes(400 << 20), "bytes of the working set"),
            DISKS,
            STRIPE,
            ARRAY,
        ],
        make: |values| sac(values, Size::Constant, Disk::Uniform),
    },
    Kind {
        name: "sac-2",
        summary: "requests of 34 KB in the mean, exponential, to 425 MB on an array of 16 disks (SAC Table 1)",
        parameters: SMALL,
        make: |values| sac(values, Size::Exponential, Disk::Uniform),
    },
    Kind {
        name: "sac-3",
        summary: "as sac-2, the disks chosen by a Gaussian distribution around disk 7 (SAC Table 1)",
        parameters: SMALL,
        make: |values| sac(values, Size::Exponential, Disk::Gaussian),
    },
    Kind {
        name: "sac-hot",
        summary: "requests of one stripe unit, of which one disk gets several times as many as another (SAC Fig. 4)",
        parameters: &[
            parameter("requests", Value::Count(750_000), "requests"),
            parameter("mean", Value::Bytes(8 << 10), "bytes of a request"),
            parameter("bytes", Value::Bytes(400 << 20), "bytes of the working set"),
            DISKS,
            STRIPE,
            ARRAY,
            parameter("hot", Value::Count(7), "which disk that is, counted from one"),
            parameter("times", Value::Real(10.0), "how many times as many requests it gets"),
        ],
        make: hot,
    },
];

#[derive(Clone, Copy)]
enum Size {
    Constant,
    Exponential,
}

/// The disk on which an extent begins.
#[derive(Clone, Copy)]
enum Disk {
    Uniform,
    Gaussian,
    /// This disk so many times as often as another; and extents begin where a stripe unit does.
    Hot(u64, f64),
}

struct Sac {
    size: Size,
    disk: Disk,
    /// Mean blocks of a request.
    mean: f64,
    /// Blocks of the working set.
    blocks: u64,
    disks: u64,
    /// Blocks of a stripe unit.
    unit: u64,
    /// Units that every disk has.
    rows: u64,
    /// The working set, drawn when the first request is: first blocks and lengths.
    extents: Vec<(u64, u64)>,
}

fn sac(values: &Values, size: Size, disk: Disk) -> Result<Box<dyn Workload>, WrongWorkload> {
    let (disks, stripe) = (values.whole("disks"), values.whole("stripe"));
    if stripe % BLOCK != 0 {
        return Err(values.wrong("stripe", "it is whole blocks of 4096 bytes"));
    }
    let unit = stripe / BLOCK;
    let (mean, blocks) = (f64::from(values.request("mean")?) / BLOCK as f64, values.whole("bytes") / BLOCK);
    if mean < 1.0 || blocks < mean as u64 {
        return Err(values.wrong("mean", "it is a block at least, and the working set at most"));
    }
    let rows = values.whole("array") / BLOCK / unit.saturating_mul(disks);
    // Room for the longest extent behind any place where one may begin.
    if rows.saturating_mul(unit).saturating_mul(disks) < 4 * blocks {
        return Err(values.wrong("array", "it has room for four times the working set at least"));
    }
    Ok(Box::new(Sac { size, disk, mean, blocks, disks, unit, rows, extents: Vec::new() }))
}

fn hot(values: &Values) -> Result<Box<dyn Workload>, WrongWorkload> {
    let hot = values.whole("hot");
    if hot > values.whole("disks") {
        return Err(values.wrong("hot", "it is one of the disks"));
    }
    sac(values, Size::Constant, Disk::Hot(hot - 1, values.real("times")))
}

impl Sac {
    fn draw(&mut self, random: &mut Random) {
        let mut left = self.blocks;
        while left > 0 {
            let len = self.size(random).min(self.blocks);
            self.extents.push((self.start(len, random), len));
            left = left.saturating_sub(len);
        }
    }

    /// Blocks of an extent.
    fn size(&self, random: &mut Random) -> u64 {
        let blocks = match self.size {
            Size::Constant => self.mean as u64,
            // Rounding up adds half a block in the mean.
            Size::Exponential => random.exponential(self.mean - 0.5).ceil() as u64,
        };
        blocks.max(1)
    }

    /// The first block of an extent of `len`.
    fn start(&self, len: u64, random: &mut Random) -> u64 {
        let row = self.unit * self.disks;
        let rows = self.rows - len.div_ceil(row);
        let disk = self.disk(random);
        let within = if let Disk::Hot(..) = self.disk { 0 } else { random.below(self.unit) };
        random.below(rows) * row + disk * self.unit + within
    }

    fn disk(&self, random: &mut Random) -> u64 {
        const MEAN: f64 = 7.0;
        const DEVIATION: f64 = 3.0;
        match self.disk {
            Disk::Uniform => random.below(self.disks),
            // A draw beside the disks is repeated: about one in two hundred for sixteen disks. With
            // few disks, which the mean is not among, that would go on for ever.
            Disk::Gaussian => (0..1000)
                .map(|_| random.gaussian(MEAN, DEVIATION).round())
                .find(|disk| (0.0..self.disks as f64).contains(disk))
                .map_or(0, |disk| disk as u64),
            Disk::Hot(hot, times) => {
                let others = (self.disks - 1) as f64;
                if random.fraction() * (times + others) < times {
                    return hot;
                }
                let disk = random.below(self.disks - 1);
                disk + u64::from(disk >= hot)
            }
        }
    }
}

impl Workload for Sac {
    fn shape(&self) -> Shape {
        Shape::Ranges { block_bytes: BLOCK_BYTES }
    }

    fn files(&self) -> Vec<FileInfo> {
        sized(std::iter::once(self.rows * self.unit * self.disks * BLOCK))
    }

    fn step(&mut self, random: &mut Random, batch: &mut Vec<Request>) {
        if self.extents.is_empty() {
            self.draw(random);
        }
        let (start, blocks) = self.extents[random.below(self.extents.len() as u64) as usize];
        // Sizes fit: the mean fits 32 bits, and a larger draw is improbable by far.
        let len = u32::try_from(blocks * BLOCK).unwrap_or(BLOCK_BYTES);
        batch.push(Request { file: 0, offset: start * BLOCK, len, handler: 1, ..Request::default() });
    }
}
