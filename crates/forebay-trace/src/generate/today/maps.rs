//! Maps: a view reads the header of a cloud-optimised GeoTIFF, then the tiles of one of its
//! overviews that it shows, row by row (OGC 21-026; GDAL reads 16 KiB at first). The next view of
//! the same user is beside it, or nearer.

use super::super::parameters::{Kind, Value, parameter};
use super::super::random::{Random, scattered};
use super::super::zipf::Zipf;
use super::super::{BLOCK_BYTES, Tasks, Workload, sized};
use super::tasks;
use crate::{FileInfo, Request, Shape};

pub(in super::super) const KINDS: &[Kind] = &[Kind {
    name: "tiles",
    summary: "a user looks at a map: each view reads a header and some tiles of an overview, and moves on (COG)",
    parameters: &[
        tasks(400, "users, one after the other"),
        parameter("scenes", Value::Count(24), "scenes, of about 340 tiles of 24 to 96 KiB in four overviews"),
        parameter("views", Value::Count(10), "views of a user"),
        parameter("alpha", Value::Real(0.7), "the exponent of Zipf's law of the scenes' popularity"),
    ],
    make: |values| {
        let popular = Zipf::new(values.whole("scenes"), values.real("alpha"));
        let (scenes, views) = (values.whole("scenes"), values.whole("views"));
        if scenes > 1 << 12 || views > 1 << 12 {
            return Err(values.wrong("scenes", "there are at most 4096, and as many views"));
        }
        let scenes = (0..scenes).map(Scene::new).collect();
        Ok(Box::new(Tiles { scenes, popular, views, tasks: Tasks::default() }))
    },
}];

const HEADER: u64 = 16 << 10;
/// Tiles on an edge of the overviews, the coarsest first, as they lie in the file.
const EDGES: [u64; 4] = [2, 4, 8, 16];
/// Tiles on an edge of a view.
const VIEW: u64 = 3;

/// Where the tiles of a scene begin, and where the last one ends.
struct Scene(Vec<u64>);

impl Scene {
    fn new(number: u64) -> Scene {
        let mut starts = vec![HEADER];
        for tile in 0..EDGES.iter().map(|edge| edge * edge).sum() {
            let bytes = (24 << 10) + scattered(number << 16 | tile) % (72 << 10) / 512 * 512;
            starts.push(starts[tile as usize] + bytes);
        }
        Scene(starts)
    }
}

struct Tiles {
    scenes: Vec<Scene>,
    popular: Zipf,
    views: u64,
    tasks: Tasks,
}

impl Workload for Tiles {
    fn shape(&self) -> Shape {
        Shape::Ranges { block_bytes: BLOCK_BYTES }
    }

    fn files(&self) -> Vec<FileInfo> {
        sized(self.scenes.iter().map(|scene| scene.0.last().copied().unwrap_or_default()))
    }

    fn step(&mut self, random: &mut Random, batch: &mut Vec<Request>) {
        self.tasks.begin();
        let file = scattered(self.popular.rank(random)) % self.scenes.len() as u64;
        let starts = &self.scenes[file as usize].0;
        batch.push(self.tasks.read(file, 0, HEADER as u32));
        let (mut level, mut column, mut row) = (0, 0, 0);
        for _ in 0..self.views {
            let edge = EDGES[level];
            let before: u64 = EDGES[..level].iter().map(|edge| edge * edge).sum();
            for row in row..(row + VIEW).min(edge) {
                for column in column..(column + VIEW).min(edge) {
                    let tile = (before + row * edge + column) as usize;
                    batch.push(self.tasks.read(file, starts[tile], (starts[tile + 1] - starts[tile]) as u32));
                }
            }
            match random.below(3) {
                0 if level + 1 < EDGES.len() => {
                    level += 1;
                    (column, row) = (column * 2 + random.below(2), row * 2 + random.below(2));
                }
                1 => column += 1,
                _ => row += 1,
            }
            let most = EDGES[level].saturating_sub(VIEW);
            (column, row) = (column.min(most), row.min(most));
        }
    }
}
