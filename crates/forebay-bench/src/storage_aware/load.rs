//! The reads of `storage-aware`: pieces of 64 KiB of the files of three stores, in no order.

use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};

use super::FILES;
use crate::zipf::Zipf;

/// How many stores there are.
pub(super) const STORES: usize = 3;

/// Bytes of a read: a piece of a file.
pub(super) const READ: u64 = 64 << 10;

/// Bytes of a file.
pub(super) const FILE: u64 = 1 << 20;

/// The skew of popularity: between the 0.6 and 1 that servers' logs show.
const SKEW: f64 = 0.9;

/// The popularity of pieces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Popularity {
    /// All alike.
    Uniform,
    /// By Zipf's law, independent of the store.
    Skewed,
}

/// An endless sequence of reads: read number n is the same for any reader, live and simulated.
#[derive(Clone, Debug)]
pub(super) struct Load {
    popularity: Popularity,
    seed: u64,
    zipf: Zipf,
    /// The pieces by rank.
    pieces: Vec<u32>,
}

/// The place of a read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Piece {
    pub(super) store: usize,
    /// The number of the file in its store.
    pub(super) file: u64,
    pub(super) offset: u64,
}

impl Load {
    /// A load over all files of all stores.
    pub(super) fn new(popularity: Popularity, seed: u64) -> Load {
        let count = (FILES * FILE / READ) as u32 * STORES as u32;
        let mut pieces: Vec<u32> = (0..count).collect();
        pieces.shuffle(&mut SmallRng::seed_from_u64(seed));
        Load { popularity, seed, zipf: Zipf::new(count, SKEW), pieces }
    }

    pub(super) fn read(&self, number: u64) -> Piece {
        let mut random = SmallRng::seed_from_u64(self.seed ^ (number + 1) << 20);
        let rank = match self.popularity {
            Popularity::Uniform => random.random_range(0..self.pieces.len()),
            Popularity::Skewed => self.zipf.rank(&mut random) as usize - 1,
        };
        let piece = self.pieces[rank];
        let (store, at) = (piece as usize % STORES, u64::from(piece) / STORES as u64 * READ);
        Piece { store, file: at / FILE, offset: at % FILE }
    }
}
