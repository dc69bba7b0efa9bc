//! The places of a striped file's bytes (RAID-0): chunk `k` is chunk `k / n` of member `k % n`.
//!
//! ```text
//!  the file:     │ 0 │ 1 │ 2 │ 3 │ 4 │ 5 │ 6 ▏         each │ │ is a unit, the last one may be shorter
//!
//!  member 0:     │ 0 │ 3 │ 6 ▏
//!  member 1:     │ 1 │ 4 │
//!  member 2:     │ 2 │ 5 │
//! ```
//!
//! Neighbours in the file are neighbours in each member, too: any range of the file is at most one
//! range of each.

use std::ops::Range;

use crate::BLOCK;

/// The largest unit, bytes.
const LARGEST: u64 = 1 << 30;

/// How files are dealt out to members. See the file's head.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stripes {
    unit: u64,
    members: u16,
}

/// Why nothing can be striped like that.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum StripesError {
    /// The unit is no whole number of blocks, or too large.
    #[error("a stripe unit of {0} bytes; it is a multiple of 4096 bytes, and 1 GiB at most: 64KiB, for example")]
    Unit(u64),
    /// There are no members, or too many.
    #[error("{0} members; a set has 1 to {most}", most = Stripes::MOST)]
    Members(usize),
}

impl Stripes {
    /// Members that a set can have.
    pub const MOST: usize = 1024;

    /// Chunks of `unit` bytes over this many members.
    pub fn new(unit: u64, members: usize) -> Result<Stripes, StripesError> {
        if unit == 0 || unit > LARGEST || !unit.is_multiple_of(BLOCK as u64) {
            return Err(StripesError::Unit(unit));
        }
        if members == 0 || members > Stripes::MOST {
            return Err(StripesError::Members(members));
        }
        Ok(Stripes { unit, members: members as u16 })
    }

    /// Bytes of a chunk.
    pub fn unit(&self) -> u64 {
        self.unit
    }

    /// How many members there are.
    pub fn members(&self) -> u16 {
        self.members
    }

    /// The member that byte `at` of the file lies on.
    pub fn member(&self, at: u64) -> usize {
        (at / self.unit % u64::from(self.members)) as usize
    }

    /// How many of the first `bytes` bytes of a file lie on `member`: for the whole file, the
    /// length that it has there.
    pub fn share(&self, bytes: u64, member: usize) -> u64 {
        let (unit, row) = (self.unit, self.unit * u64::from(self.members));
        bytes / row * unit + (bytes % row).saturating_sub(member as u64 * unit).min(unit)
    }

    /// The length of the file that most of its members' `lengths` speak for. Of several such, it is
    /// the longest: one member that lacks bytes is likelier than many that have too many.
    pub fn size(&self, lengths: &[u64]) -> u64 {
        // The shortest file with this many bytes on that member.
        let least = |(member, &length): (usize, &u64)| match length.checked_sub(1) {
            None => 0,
            Some(last) => {
                let rows = (last / self.unit).saturating_mul(self.unit * u64::from(self.members));
                rows.saturating_add(member as u64 * self.unit + last % self.unit + 1)
            }
        };
        let agree = |&size: &u64| {
            let fits =
                lengths.iter().enumerate().filter(|&(member, &length)| self.share(size, member) == length).count();
            (fits, size)
        };
        lengths.iter().enumerate().map(least).max_by_key(agree).unwrap_or(0)
    }

    /// The part of `range` of the file that lies on `member`, within the member's own file.
    pub fn within(&self, range: &Range<u64>, member: usize) -> Range<u64> {
        self.share(range.start, member)..self.share(range.end, member)
    }

    /// `range` of the file cut where the members change: each part with its member, in order.
    pub fn chunks(self, range: Range<u64>) -> impl Iterator<Item = (usize, Range<u64>)> {
        let mut at = range.start;
        std::iter::from_fn(move || {
            let end = range.end.min((at / self.unit + 1).saturating_mul(self.unit));
            let chunk = (at < range.end).then(|| (self.member(at), at..end));
            at = end;
            chunk
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn bounds() {
        assert_eq!(Stripes::new(0, 2), Err(StripesError::Unit(0)));
        assert_eq!(Stripes::new(5000, 2), Err(StripesError::Unit(5000)));
        assert!(Stripes::new((1 << 30) + 4096, 2).is_err());
        assert_eq!(Stripes::new(4096, 0), Err(StripesError::Members(0)));
        assert!(Stripes::new(4096, 1025).unwrap_err().to_string().contains("1 to 1024"));
        let stripes = Stripes::new(1 << 30, 1024).unwrap();
        assert_eq!(stripes.share(u64::MAX, 0), (1 << 30) << 24, "no overflow");
    }

    /// The picture at the head.
    #[test]
    fn seven_chunks_over_three_members() {
        let stripes = Stripes::new(4096, 3).unwrap();
        let size = 6 * 4096 + 100;
        assert_eq!([0, 1, 2].map(|member| stripes.share(size, member)), [2 * 4096 + 100, 2 * 4096, 2 * 4096]);
        let chunks: Vec<_> = stripes.chunks(2 * 4096 - 1..size).map(|(member, chunk)| (member, chunk.start)).collect();
        assert_eq!(chunks, [(1, 8191), (2, 8192), (0, 12288), (1, 16384), (2, 20480), (0, 24576)]);
        assert_eq!(stripes.within(&(4096..5 * 4096), 1), 0..2 * 4096);
        assert_eq!(stripes.chunks(7..7).count(), 0);
    }

    /// The member that lacks bytes is the one that does not fit.
    #[test]
    fn lengths_that_contradict_each_other() {
        let stripes = Stripes::new(4096, 3).unwrap();
        assert_eq!(stripes.size(&[8192, 8192, 4096]), 5 * 4096);
        assert_eq!(stripes.size(&[8292, 8192, 100]), 6 * 4096 + 100);
        assert_eq!(stripes.size(&[8292, 100, 8192]), 6 * 4096 + 100);
        assert_eq!(Stripes::new(4096, 2).unwrap().size(&[4096, 0]), 4096);
        assert_eq!(Stripes::new(4096, 2).unwrap().size(&[100, 4096]), 8192);
        assert_eq!(stripes.size(&[u64::MAX; 3]), u64::MAX, "no overflow");
    }

    proptest! {
        /// Against a twin that deals the bytes out one by one (by 512, so that it ends).
        #[test]
        fn as_if_dealt_out_byte_by_byte(
            unit in 1u64..5, members in 1usize..7, size in 0u64..2000, from in 0u64..2000, len in 0u64..800,
        ) {
            let stripes = Stripes::new(unit * 4096, members).unwrap();
            let (from, size) = (from.min(size), size);
            let to = (from + len).min(size);
            let mut lengths = vec![0u64; members];
            let mut firsts: Vec<Option<u64>> = vec![None; members];
            let mut counts = vec![0u64; members];
            for sector in 0..size {
                let member = (sector * 512 / (unit * 4096)) as usize % members;
                prop_assert_eq!(stripes.member(sector * 512), member);
                if (from..to).contains(&sector) {
                    firsts[member].get_or_insert(lengths[member]);
                    counts[member] += 1;
                }
                lengths[member] += 1;
            }
            for member in 0..members {
                prop_assert_eq!(stripes.share(size * 512, member), lengths[member] * 512);
                let within = stripes.within(&(from * 512..to * 512), member);
                prop_assert_eq!(within.end - within.start, counts[member] * 512);
                if let Some(first) = firsts[member] {
                    prop_assert_eq!(within.start, first * 512);
                }
            }
            let shares: Vec<u64> = lengths.iter().map(|length| length * 512).collect();
            prop_assert_eq!(stripes.size(&shares), size * 512);
            let mut at = from * 512;
            for (member, chunk) in stripes.chunks(from * 512..to * 512) {
                prop_assert_eq!((chunk.start, stripes.member(chunk.start), stripes.member(chunk.end - 1)), (at, member, member));
                at = chunk.end;
            }
            prop_assert_eq!(at, to * 512);
        }
    }
}
