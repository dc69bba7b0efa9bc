//! A trace as a stream of keys, and of their callers if these matter.

use std::collections::HashMap;

use forebay_core::{Caller, ContextId, FileId, HandlerId};
use forebay_trace::{BATCH, Blocks, Keys, Request, Shape, Source};

use super::{Error, Open, Options};

/// How many keys are handed on together, about: they stay in a core's own cache, and threads meet
/// seldom.
const CHUNK: usize = 1 << 15;

/// References that are handed on together.
#[derive(Debug, Default)]
pub(super) struct Chunk {
    /// The blocks.
    pub(super) keys: Vec<u32>,
    /// The requests of these keys, in their order; empty unless callers are wanted.
    pub(super) requests: Vec<Asked>,
}

/// A request, for its blocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    /// How many blocks it brought.
    pub(super) keys: u32,
    pub(super) file: FileId,
    /// The first of these blocks in its file; `None` of a sample, whose blocks have only their
    /// keys.
    pub(super) first: Option<u32>,
    pub(super) caller: Caller,
}

/// The references of a trace, from its beginning to its end.
pub(super) struct References {
    source: Box<dyn Source>,
    keys: Keys,
    batch: Vec<Request>,
    /// How many requests of `batch` are numbered already.
    taken: usize,
    sampled: u64,
    /// If callers are wanted.
    files: Option<Files>,
}

/// The files of a trace, numbered in order of appearance.
struct Files {
    numbers: HashMap<u64, u32>,
    /// Zero for whole objects.
    block_bytes: u64,
    sampled: bool,
}

impl Files {
    fn asked(&mut self, request: &Request, keys: usize) -> Asked {
        let next = self.numbers.len() as u32;
        let file = FileId(*self.numbers.entry(request.file).or_insert(next));
        let first = request.offset.checked_div(self.block_bytes).unwrap_or(0) as u32;
        let caller = Caller { handler: HandlerId(request.handler), context: ContextId(request.context) };
        Asked { keys: keys as u32, file, first: (!self.sampled).then_some(first), caller }
    }
}

impl References {
    /// Of all blocks whose sample hash is at most `threshold`.
    pub(super) fn open(open: &Open<'_>, options: &Options, threshold: u64) -> Result<References, Error> {
        References::new(open, options, threshold, false)
    }

    /// The same, with callers.
    pub(super) fn with_callers(open: &Open<'_>, options: &Options, threshold: u64) -> Result<References, Error> {
        References::new(open, options, threshold, true)
    }

    fn new(open: &Open<'_>, options: &Options, threshold: u64, callers: bool) -> Result<References, Error> {
        let source = open()?;
        let block_bytes = match shape(&*source, options) {
            Shape::Ranges { block_bytes } => block_bytes.max(1).into(),
            Shape::Objects => 0,
        };
        let files = callers.then(|| Files { numbers: HashMap::new(), block_bytes, sampled: threshold < u64::MAX });
        let keys = Keys::of(blocks(&*source, options)).sampled(threshold);
        Ok(References { source, keys, batch: Vec::with_capacity(BATCH), taken: 0, sampled: 0, files })
    }

    /// Replaces the contents of `chunk` by the next references. `false` at the end.
    pub(super) fn next(&mut self, chunk: &mut Chunk) -> Result<bool, Error> {
        let Chunk { keys, requests } = chunk;
        keys.clear();
        requests.clear();
        // In a sample, many requests bring no key at all.
        for _ in 0..CHUNK {
            if self.taken == self.batch.len() {
                self.batch.clear();
                self.taken = 0;
                if self.source.read(&mut self.batch)? == 0 {
                    return Ok(!keys.is_empty());
                }
            }
            let before = keys.len();
            match &mut self.files {
                None => self.taken += self.keys.append(&self.batch[self.taken..], keys)?,
                Some(files) => {
                    let request = self.batch[self.taken];
                    self.taken += self.keys.append(&[request], keys)?;
                    requests.push(files.asked(&request, keys.len() - before));
                }
            }
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

/// The splitter that names the blocks of `source`.
pub(super) fn blocks(source: &dyn Source, options: &Options) -> Blocks {
    Blocks::new(shape(source, options)).reads_only(options.reads_only)
}

fn shape(source: &dyn Source, options: &Options) -> Shape {
    match (source.shape(), options.block_bytes) {
        (Shape::Ranges { .. }, Some(block_bytes)) => Shape::Ranges { block_bytes },
        (shape, _) => shape,
    }
}
