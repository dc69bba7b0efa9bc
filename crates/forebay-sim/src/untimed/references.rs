//! A trace as a stream of keys.

use forebay_trace::{BATCH, Blocks, Keys, Request, Shape, Source};

use super::{Error, Open, Options};

/// How many keys are handed on together, about: they stay in a core's own cache, and threads meet seldom.
const CHUNK: usize = 1 << 15;

/// The references of a trace, from its beginning to its end.
pub(super) struct References {
    source: Box<dyn Source>,
    keys: Keys,
    batch: Vec<Request>,
    /// Of `batch`, how many requests are numbered already.
    taken: usize,
    sampled: u64,
}

impl References {
    /// Of all blocks whose sample hash is at most `threshold`.
    pub(super) fn open(open: &Open<'_>, options: &Options, threshold: u64) -> Result<References, Error> {
        let source = open()?;
        let keys = Keys::of(blocks(&*source, options)).sampled(threshold);
        Ok(References { source, keys, batch: Vec::with_capacity(BATCH), taken: 0, sampled: 0 })
    }

    /// Replaces `keys` by the next ones. `false` at the end.
    pub(super) fn next(&mut self, keys: &mut Vec<u32>) -> Result<bool, Error> {
        keys.clear();
        // Of a sample, many requests bring no key at all.
        for _ in 0..CHUNK {
            if self.taken == self.batch.len() {
                self.batch.clear();
                self.taken = 0;
                if self.source.read(&mut self.batch)? == 0 {
                    return Ok(!keys.is_empty());
                }
            }
            let before = keys.len();
            self.taken += self.keys.append(&self.batch[self.taken..], keys)?;
            self.sampled += (keys.len() - before) as u64;
            if keys.len() >= CHUNK {
                break;
            }
        }
        Ok(true)
    }

    /// How many blocks were numbered.
    pub(super) fn distinct(&self) -> u32 {
        self.keys.distinct()
    }

    /// How many references there were, sampled or not.
    pub(super) fn count(&self) -> u64 {
        self.keys.references()
    }

    /// How many references were sampled.
    pub(super) fn sampled(&self) -> u64 {
        self.sampled
    }

    /// How far the trace is read.
    pub(super) fn progress(&self) -> (u64, u64) {
        self.source.progress()
    }
}

/// What names the blocks of `source`.
pub(super) fn blocks(source: &dyn Source, options: &Options) -> Blocks {
    let shape = match (source.shape(), options.block_bytes) {
        (Shape::Ranges { .. }, Some(block_bytes)) => Shape::Ranges { block_bytes },
        (shape, _) => shape,
    };
    Blocks::new(shape).reads_only(options.reads_only)
}
