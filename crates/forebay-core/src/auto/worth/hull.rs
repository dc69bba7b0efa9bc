//! The concave hull of a curve of hits.
//!
//! If loops have partitions of their own, curves become their hulls. A loop that is longer than its
//! partition has no hit under LRU, and under AMP as many as blocks: partitioned, hits grow in
//! proportion from corner to corner of the curve (Beckmann and Sanchez, "Talus", HPCA 2015). So a
//! loop that is held is not given away as worthless, and one that is not held is worth the gain of
//! its next page.
//!
//! ```text
//!   hits │        ┌──── LRU          hull: a page fewer costs a hit a round, not all of them
//!        │     ╱  │
//!        │  ╱     │
//!        └────────┴─────▶ size
//! ```

/// Makes a curve its concave hull, by the monotone chain: a corner below the line from the one
/// before it to the next one goes.
pub(super) fn straighten<const POINTS: usize>(hits: &mut [u64; POINTS]) {
    let (mut corners, mut count) = ([0; POINTS], 0);
    let is_below = |hits: &[u64; POINTS], corner: usize, before: usize, next: usize| {
        let rise = |from: usize, to: usize| hits[to] - hits[from];
        rise(before, corner) * (next - before) as u64 <= rise(before, next) * (corner - before) as u64
    };
    for next in 0..POINTS {
        while count >= 2 && is_below(hits, corners[count - 1], corners[count - 2], next) {
            count -= 1;
        }
        corners[count] = next;
        count += 1;
    }
    for pair in corners[..count].windows(2) {
        let (from, to) = (pair[0], pair[1]);
        for step in from + 1..to {
            hits[step] = hits[from] + (hits[to] - hits[from]) * (step - from) as u64 / (to - from) as u64;
        }
    }
}
