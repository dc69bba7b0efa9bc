//! Search: a query looks its terms up in the segments of an inverted index, reads their postings,
//! and fetches the documents that it shows (Lucene's file formats: `.tim`, `.doc` and `.fdt`; terms
//! are popular by Zipf's law).

use super::super::parameters::{Kind, Value, parameter};
use super::super::random::{Random, scattered};
use super::super::zipf::Zipf;
use super::super::{BLOCK_BYTES, Tasks, Workload, sized};
use super::tasks;
use crate::{FileInfo, Request, Shape};

pub(in super::super) const KINDS: &[Kind] = &[Kind {
    name: "search",
    summary: "a query reads a term's block, its postings and some documents of each segment of an index (Lucene)",
    parameters: &[
        tasks(800, "queries of two terms, one after the other"),
        parameter("segments", Value::Count(6), "segments; the first one has 96 MiB, each further one half of that"),
        parameter("terms", Value::Count(20_000), "terms"),
        parameter("alpha", Value::Real(0.9), "the exponent of Zipf's law of the terms' popularity"),
        parameter("documents", Value::Count(10), "documents that a query shows"),
    ],
    make: |values| {
        let (segments, documents) = (values.whole("segments"), values.whole("documents"));
        if segments > 12 || documents > 1 << 16 {
            return Err(values.wrong("segments", "there are at most 12, and at most 65536 documents"));
        }
        let terms = Zipf::new(values.whole("terms"), values.real("alpha"));
        Ok(Box::new(Search { segments, terms, documents, tasks: Tasks::default() }))
    },
}];

/// Terms, postings and documents of the first segment, in bytes.
const TERMS: u64 = 8 << 20;
const POSTINGS: u64 = 24 << 20;
const DOCUMENTS: u64 = 64 << 20;
/// A block of terms, and one of documents, which is compressed.
const BLOCK: u64 = 4 << 10;
const STORED: u64 = 16 << 10;
/// The postings of the most frequent term in the first segment, in bytes.
const LONGEST: u64 = 512 << 10;
/// A buffer's worth of postings.
const REQUEST: u32 = 16 << 10;

struct Search {
    segments: u64,
    terms: Zipf,
    documents: u64,
    tasks: Tasks,
}

impl Workload for Search {
    fn shape(&self) -> Shape {
        Shape::Ranges { block_bytes: BLOCK_BYTES }
    }

    /// Terms, postings and documents of each segment.
    fn files(&self) -> Vec<FileInfo> {
        sized((0..self.segments).flat_map(|segment| [TERMS >> segment, POSTINGS >> segment, DOCUMENTS >> segment]))
    }

    fn step(&mut self, random: &mut Random, batch: &mut Vec<Request>) {
        self.tasks.begin();
        for _ in 0..2 {
            let term = self.terms.rank(random);
            for segment in 0..self.segments {
                let own = scattered(term << 4 | segment);
                let block = own % ((TERMS >> segment) / BLOCK) * BLOCK;
                batch.push(self.tasks.read(segment * 3, block, BLOCK as u32));
                // The r-th term has about 1/r of the first one's postings.
                let len = ((LONGEST >> segment) / (term + 1)).max(BLOCK);
                let start = scattered(own) % ((POSTINGS >> segment) - len) / 512 * 512;
                batch.extend(self.tasks.sequence(segment * 3 + 1, start..start + len, REQUEST));
            }
        }
        for _ in 0..self.documents {
            // The best documents are anywhere, more often in large segments.
            let segment = u64::from(random.next().leading_zeros()).min(self.segments - 1);
            let block = random.below((DOCUMENTS >> segment) / STORED) * STORED;
            batch.push(self.tasks.read(segment * 3 + 2, block, STORED as u32));
        }
    }
}
