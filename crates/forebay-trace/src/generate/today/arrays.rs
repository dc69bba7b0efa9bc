//! Arrays: of a large one in one file the history of a point is read, a piece at equal steps, or a
//! plane, which is a run (Zarr, HDF5); and one reader that moves in equal steps.

use super::super::parameters::{Kind, Parameter, Value, Values, parameter};
use super::super::random::Random;
use super::super::{BLOCK_BYTES, Tasks, Workload, WrongWorkload, sized};
use super::tasks;
use crate::{FileInfo, Request, Shape};

const STEPS: &str = "bytes from one step to the next";
const PIECE: Parameter = parameter("piece", Value::Bytes(32 << 10), "bytes that are read at a step");

pub(in super::super) const KINDS: &[Kind] = &[
    Kind {
        name: "points",
        summary: "a task reads a point of every plane of an array, or, one of so many, a plane (Zarr, HDF5)",
        parameters: &[
            tasks(400, "points and planes, one after the other"),
            parameter("planes", Value::Count(64), "planes"),
            parameter("bytes", Value::Bytes(8 << 20), "bytes of a plane"),
            PIECE,
            parameter("every", Value::Count(8), "one task of so many reads a plane"),
        ],
        make: points,
    },
    Kind {
        name: "steps",
        summary: "one reader goes through a file in equal steps",
        parameters: &[
            tasks(1, "rounds through the file"),
            parameter("steps", Value::Count(2000), "steps"),
            PIECE,
            parameter("stride", Value::Bytes(256 << 10), STEPS),
        ],
        make: |values| {
            let (steps, stride, piece) = (values.whole("steps"), values.whole("stride"), values.request("piece")?);
            if u64::from(piece) > stride {
                return Err(values.wrong("piece", "it is no more than a stride"));
            }
            if steps > 1 << 20 || stride.checked_mul(steps).is_none() {
                return Err(values.wrong("steps", "there are at most 2^20, in a file of less than 2^64 bytes"));
            }
            let (every, tasks) = (u64::MAX, Tasks::default());
            Ok(Box::new(Array { planes: steps, bytes: stride, piece, every, still: true, tasks }))
        },
    },
];

fn points(values: &Values) -> Result<Box<dyn Workload>, WrongWorkload> {
    let (planes, bytes, piece) = (values.whole("planes"), values.whole("bytes"), values.request("piece")?);
    if bytes < piece.into() || bytes / u64::from(piece) > 1 << 20 {
        return Err(values.wrong("piece", "a plane has between one and 2^20 of them"));
    }
    if planes > 1 << 20 || bytes.checked_mul(planes).is_none() {
        return Err(values.wrong("planes", "there are at most 2^20, in a file of less than 2^64 bytes"));
    }
    let every = values.whole("every");
    Ok(Box::new(Array { planes, bytes, piece, every, still: false, tasks: Tasks::default() }))
}

struct Array {
    planes: u64,
    /// Bytes of a plane.
    bytes: u64,
    piece: u32,
    /// One task of so many reads a plane.
    every: u64,
    /// Whether it is the same point always, the first.
    still: bool,
    tasks: Tasks,
}

impl Workload for Array {
    fn shape(&self) -> Shape {
        Shape::Ranges { block_bytes: BLOCK_BYTES }
    }

    fn files(&self) -> Vec<FileInfo> {
        sized([self.planes * self.bytes].into_iter())
    }

    fn step(&mut self, random: &mut Random, batch: &mut Vec<Request>) {
        self.tasks.begin();
        let piece = u64::from(self.piece);
        if !self.still && random.below(self.every) == 0 {
            let start = random.below(self.planes) * self.bytes;
            batch.extend(self.tasks.sequence(0, start..start + self.bytes, self.piece.max(128 << 10)));
            return;
        }
        let point = if self.still { 0 } else { random.below(self.bytes / piece) * piece };
        batch.extend((0..self.planes).map(|plane| self.tasks.read(0, plane * self.bytes + point, self.piece)));
    }
}
