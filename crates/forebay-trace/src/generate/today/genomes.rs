//! Genomes: a region of every sample of a cohort is read from indexed alignment files (SAM/BAM
//! specification, §5: an index, then the blocks from the first one that overlaps the region on;
//! htslib reads 128 KiB at a time). Genes are popular by Zipf's law.

use super::super::parameters::{Kind, Value, parameter};
use super::super::random::{Random, scattered};
use super::super::zipf::Zipf;
use super::super::{BLOCK_BYTES, Tasks, Workload, sized};
use super::tasks;
use crate::{FileInfo, Request, Shape};

pub(in super::super) const KINDS: &[Kind] = &[Kind {
    name: "regions",
    summary: "a task opens an alignment of each sample of a family, with its index, and reads a region of it (BAM)",
    parameters: &[
        tasks(300, "regions looked at, one after the other"),
        parameter("samples", Value::Count(12), "samples, with an index of 512 KiB each"),
        parameter("bytes", Value::Bytes(32 << 20), "bytes of a sample's alignments"),
        parameter("genes", Value::Count(400), "regions that are looked at, of 64 KiB to 1 MiB"),
        parameter("alpha", Value::Real(0.8), "the exponent of Zipf's law of the genes' popularity"),
    ],
    make: |values| {
        let bytes = values.whole("bytes");
        if bytes < 4 << 20 {
            return Err(values.wrong("bytes", "a sample has at least 4 MiB"));
        }
        let genes = Zipf::new(values.whole("genes"), values.real("alpha"));
        Ok(Box::new(Regions { samples: values.whole("samples"), bytes, genes, tasks: Tasks::default() }))
    },
}];

const INDEX: u64 = 512 << 10;
/// The names of the chromosomes, at the beginning of the alignments.
const HEADER: u64 = 64 << 10;
/// The samples of a family, which are compared.
const FAMILY: u64 = 3;
/// The library's buffer.
const REQUEST: u32 = 128 << 10;

struct Regions {
    samples: u64,
    bytes: u64,
    genes: Zipf,
    tasks: Tasks,
}

impl Workload for Regions {
    fn shape(&self) -> Shape {
        Shape::Ranges { block_bytes: BLOCK_BYTES }
    }

    /// Alignments, each followed by its index.
    fn files(&self) -> Vec<FileInfo> {
        sized((0..self.samples).flat_map(|_| [self.bytes, INDEX]))
    }

    fn step(&mut self, random: &mut Random, batch: &mut Vec<Request>) {
        self.tasks.begin();
        let gene = self.genes.rank(random);
        let len = (64 << 10) << (scattered(gene) % 5);
        // A gene lies at about the same place in all samples, since they are about equally deep.
        let about = scattered(gene << 8) % (self.bytes - HEADER - 2 * len);
        let first = random.below(self.samples);
        for sample in (first..first + FAMILY).map(|sample| sample % self.samples) {
            let start = (HEADER + about + scattered(gene << 16 | sample) % len) & !0xffff;
            let (alignments, index) = (sample * 2, sample * 2 + 1);
            batch.extend(self.tasks.sequence(alignments, 0..HEADER, REQUEST));
            batch.extend(self.tasks.sequence(index, 0..INDEX, REQUEST));
            batch.extend(self.tasks.sequence(alignments, start..start + len, REQUEST));
        }
    }
}
