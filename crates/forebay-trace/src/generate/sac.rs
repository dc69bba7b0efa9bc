//! The synthetic traces of SAC §4.2, Table 1: one client in a closed loop reads from sixteen disks; a file is a disk.
//!
//! |  | Trace 1 | Trace 2 | Trace 3 |
//! | --- | --- | --- | --- |
//! | request size | uniform, mean 256 KB | exponential, mean 34 KB | exponential, mean 34 KB |
//! | disk | uniform | uniform | Gaussian, mean 7, deviation 3 |
//! | place | random | random | random |
//! | working set | 400 MB | 425 MB | 425 MB |
//! | requests | 192,000 | 750,000 | 750,000 |
//!
//! Sizes are whole blocks of 4 KiB, at least one (the paper does not name its block); a request lies within one disk.

use super::parameters::{Kind, Parameter, Value, Values, parameter};
use super::random::Random;
use super::{BLOCK_BYTES, Workload, WrongWorkload, sized};
use crate::{FileInfo, Request, Shape};

const DISKS: Parameter = parameter("disks", Value::Count(16), "disks");

pub(super) const KINDS: &[Kind] = &[
    Kind {
        name: "sac-1",
        summary: "requests of 256 KB in the mean, evenly distributed, over 400 MB on 16 disks (SAC Table 1)",
        parameters: &[
            parameter("requests", Value::Count(192_000), "requests"),
            parameter("mean", Value::Bytes(256 << 10), "bytes of a request in the mean"),
            parameter("bytes", Value::Bytes(400 << 20), "bytes of the working set"),
            DISKS,
        ],
        make: |values| sac(values, Size::Uniform, Disk::Uniform),
    },
    Kind {
        name: "sac-2",
        summary: "requests of 34 KB in the mean, exponential, over 425 MB on 16 disks (SAC Table 1)",
        parameters: &[
            parameter("requests", Value::Count(750_000), "requests"),
            parameter("mean", Value::Bytes(34 << 10), "bytes of a request in the mean"),
            parameter("bytes", Value::Bytes(425 << 20), "bytes of the working set"),
            DISKS,
        ],
        make: |values| sac(values, Size::Exponential, Disk::Uniform),
    },
    Kind {
        name: "sac-3",
        summary: "as sac-2, the disks chosen by a Gaussian distribution around disk 7 (SAC Table 1)",
        parameters: &[
            parameter("requests", Value::Count(750_000), "requests"),
            parameter("mean", Value::Bytes(34 << 10), "bytes of a request in the mean"),
            parameter("bytes", Value::Bytes(425 << 20), "bytes of the working set"),
            DISKS,
        ],
        make: |values| sac(values, Size::Exponential, Disk::Gaussian),
    },
];

#[derive(Clone, Copy)]
enum Size {
    Uniform,
    Exponential,
}

#[derive(Clone, Copy)]
enum Disk {
    Uniform,
    Gaussian,
}

struct Sac {
    size: Size,
    disk: Disk,
    /// Mean blocks of a request.
    mean: f64,
    /// Blocks of a disk's part of the working set.
    blocks: u64,
    disks: u64,
}

fn sac(values: &Values, size: Size, disk: Disk) -> Result<Box<dyn Workload>, WrongWorkload> {
    let disks = values.whole("disks");
    let blocks = values.whole("bytes") / u64::from(BLOCK_BYTES) / disks;
    let mean = f64::from(values.request("mean")?) / f64::from(BLOCK_BYTES);
    if mean < 1.0 || blocks < (2.0 * mean) as u64 {
        return Err(values.wrong("mean", "it is a block at least, and half of what a disk has at most"));
    }
    Ok(Box::new(Sac { size, disk, mean, blocks, disks }))
}

impl Sac {
    /// Blocks of a request. Cutting what is larger than a disk's part lowers the mean by nothing that can be seen.
    fn size(&self, random: &mut Random) -> u64 {
        let blocks = match self.size {
            // From one block to twice the mean less one.
            Size::Uniform => random.between(1, (2.0 * self.mean) as u64 - 1),
            // Rounding up adds half a block in the mean.
            Size::Exponential => random.exponential(self.mean - 0.5).ceil() as u64,
        };
        blocks.clamp(1, self.blocks)
    }

    fn disk(&self, random: &mut Random) -> u64 {
        const MEAN: f64 = 7.0;
        const DEVIATION: f64 = 3.0;
        match self.disk {
            Disk::Uniform => random.below(self.disks),
            // What falls beside the disks is drawn again, some one in two hundred for sixteen disks; with few disks, which
            // the mean is not among, that would go on for ever.
            Disk::Gaussian => (0..1000)
                .map(|_| random.gaussian(MEAN, DEVIATION).round())
                .find(|disk| (0.0..self.disks as f64).contains(disk))
                .map_or(0, |disk| disk as u64),
        }
    }
}

impl Workload for Sac {
    fn shape(&self) -> Shape {
        Shape::Ranges { block_bytes: BLOCK_BYTES }
    }

    fn files(&self) -> Vec<FileInfo> {
        sized((0..self.disks).map(|_| self.blocks * u64::from(BLOCK_BYTES)))
    }

    fn step(&mut self, random: &mut Random, batch: &mut Vec<Request>) {
        let (file, blocks) = (self.disk(random), self.size(random));
        let start = random.between(0, self.blocks - blocks);
        let bytes = |blocks: u64| blocks * u64::from(BLOCK_BYTES);
        // Sizes fit: a request has at most twice a mean of 32 bits, or what is improbable by far.
        let len = u32::try_from(bytes(blocks)).unwrap_or(BLOCK_BYTES);
        batch.push(Request { file, offset: bytes(start), len, handler: 1, ..Request::default() });
    }
}
