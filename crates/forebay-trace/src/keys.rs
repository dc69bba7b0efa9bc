//! From requests to keys: ranges are split into blocks, blocks and objects numbered from zero in order of appearance.

use crate::{Request, Shape};

/// Numbers the blocks (or objects) of requests.
#[derive(Debug)]
pub struct Keys {
    shape: Shape,
}

impl Keys {
    /// Nothing is numbered yet. `shape` says whether and how requests are split.
    pub fn new(shape: Shape) -> Keys {
        Keys { shape }
    }

    /// Appends the keys of `requests` to `keys`, each a number below [`distinct`](Self::distinct).
    pub fn append(&mut self, requests: &[Request], keys: &mut Vec<u32>) {
        let _ = (self.shape, requests, keys);
    }

    /// How many keys there are.
    pub fn distinct(&self) -> u32 {
        0
    }
}
