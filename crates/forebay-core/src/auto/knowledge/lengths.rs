//! A histogram of the lengths of streams: it says where a stream's pieces should end.
//!
//! The depth S_p = C_switch · R_tr is the best that can be done against the worst case (CP §2).
//! Known odds allow a better one. A fetch up to one of the lengths that streams have had costs the
//! transfer, and, if the stream goes beyond, another switch and the cost from there on. In blocks,
//! a switch being D of them, with N(x) the streams that went beyond x:
//!
//! ```text
//!     cost(x) = min over lengths l > x of  D + (l − x) + N(l) / N(x) · cost(l)
//! ```
//!
//! So streams of one length are fetched whole, at once and no further; streams that end with their
//! first read get nothing; and where lengths vary, pieces are large where few streams end and small
//! where many do. The lengths are the histogram's, so this is solved from the longest one down,
//! some eighty steps at most, whenever the odds have changed.
//!
//! A stream ends where a read ends, and is asked about only there. So each interval also counts how
//! many reads ended in it: N(x) / N(x − 1) would be nearly 1 wherever requests have many lengths,
//! although most streams may end with each of their reads.

use alloc::boxed::Box;

use super::share::Odds;

/// Four intervals an octave, each with its upper bound: a length of a power of two ends one.
const BUCKETS: usize = 80;
/// The count of one stream: halved, it is not gone at once.
const ONE: u32 = 16;
/// At this many streams all counts are halved, so that old ones are forgotten.
const MOST: u32 = 128 * ONE;
/// Fewer streams tell no odds.
const FEW: u32 = 4 * ONE;
/// So many reads tell the odds at the lengths at which they ended.
const ENOUGH: u32 = 16 * ONE;
/// The odds are looked at anew when this many streams have ended.
const NEWS: u32 = 8;

/// The streams that ended in an interval of lengths.
#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    /// How many, in parts of [`ONE`].
    streams: u32,
    /// The longest of them, in blocks; and since counts were halved.
    longest: u32,
    newest: u32,
    /// How many reads of streams ended there, in parts of [`ONE`].
    visits: u32,
    /// The cost of a stream that goes on from there, in blocks.
    cost: u64,
}

/// Where to end a fetch.
#[derive(Clone, Copy)]
struct Best {
    /// The cost of the stream from there on and of the fetch, but for the switch, in blocks.
    cost: u64,
    /// The block up to which it is fetched.
    end: u32,
}

/// A histogram of lengths of streams, in blocks.
#[derive(Clone, Debug)]
pub struct Lengths {
    buckets: Box<[Bucket; BUCKETS]>,
    /// A bit for each bucket with streams: they are few, and are looked at with each miss.
    some: u128,
    total: u32,
    /// Streams since the costs were found, and the switch cost that they are for.
    news: u32,
    switch: u32,
}

impl Default for Lengths {
    fn default() -> Lengths {
        Lengths { buckets: Box::new([Bucket::default(); BUCKETS]), some: 0, total: 0, news: NEWS, switch: 0 }
    }
}

impl Lengths {
    /// A read has brought a stream to `blocks`.
    pub fn came_to(&mut self, blocks: u32) {
        let bucket = &mut self.buckets[bucket(blocks)];
        bucket.visits = bucket.visits.saturating_add(ONE);
    }

    /// A stream has ended that had `blocks`, at least one.
    pub fn saw(&mut self, blocks: u32) {
        if self.total >= MOST {
            (self.total, self.some) = (0, 0);
            for (at, bucket) in self.buckets.iter_mut().enumerate() {
                bucket.streams /= 2;
                bucket.visits /= 2;
                self.total += bucket.streams;
                self.some |= u128::from(bucket.streams > 0) << at;
                if bucket.newest > 0 {
                    bucket.longest = core::mem::take(&mut bucket.newest);
                }
            }
        }
        let at = bucket(blocks);
        self.some |= 1 << at;
        let bucket = &mut self.buckets[at];
        if bucket.streams == 0 {
            bucket.longest = 0;
        }
        bucket.longest = bucket.longest.max(blocks);
        bucket.newest = bucket.newest.max(blocks);
        bucket.streams += ONE;
        self.total += ONE;
        self.news = self.news.saturating_add(1);
    }

    /// Finds the costs, if there is news: a switch costs as much as the transfer of `switch`
    /// blocks.
    pub fn weigh(&mut self, switch: u32) {
        let moved = switch.abs_diff(self.switch) > self.switch / 8;
        if self.news < NEWS && !moved {
            return;
        }
        (self.news, self.switch) = (0, switch);
        for at in (0..BUCKETS).rev() {
            if self.some >> at & 1 == 1 {
                let from = self.buckets[at].longest;
                self.buckets[at].cost = self
                    .best(from, self.beyond(from), None, |cost| cost)
                    .map_or(0, |best| best.cost + u64::from(switch));
            }
        }
    }

    /// Streams that went beyond `block`, in sixteenths.
    fn beyond(&self, block: u32) -> u32 {
        self.longer(block).map(|bucket| bucket.streams).sum()
    }

    /// How many of all streams went beyond `block`.
    pub(super) fn beyond_of(&self, block: u32) -> Odds {
        Odds { times: self.beyond(block), of: self.total }
    }

    /// The odds that a stream that was read up to `from` goes beyond `to`; `None` if too few are
    /// known.
    ///
    /// A stream ends where a read ends. So these are the odds that it goes on after a read that
    /// ended at such a length, times the odds of those that do.
    pub fn reach(&self, from: u32, to: u32) -> Option<Odds> {
        let of = self.beyond(from.saturating_sub(1));
        if of < FEW {
            return None;
        }
        let (beyond, further) = (self.beyond(to), self.beyond(from));
        let Some(on) = self.goes_on(from).filter(|_| further > 0) else {
            return Some(Odds { times: beyond, of });
        };
        let times = u64::from(beyond) * u64::from(on.times) / u64::from(on.of);
        Some(Odds { times: times as u32, of: further })
    }

    /// The odds that a stream goes on after a read that ended at such a length, or, where too few
    /// did, at the next shorter ones. `None` if all are too few.
    pub fn goes_on(&self, from: u32) -> Option<Odds> {
        let (mut visits, mut ended) = (0_u32, 0);
        for bucket in self.buckets[..=bucket(from)].iter().rev() {
            visits = visits.saturating_add(bucket.visits);
            ended += bucket.streams;
            if visits >= ENOUGH {
                return Some(Odds { times: visits.saturating_sub(ended), of: visits });
            }
        }
        None
    }

    /// The block up to which to fetch a stream that goes beyond `from`, of a file of `blocks`.
    /// `None` if too few such streams are known.
    pub fn end(&self, from: u32, blocks: u32) -> Option<u32> {
        let beyond = self.beyond(from);
        if beyond < FEW {
            return None;
        }
        self.best(from, beyond, Some(blocks), |cost| cost).map(|best| best.end)
    }

    /// The block up to which to fetch it if it is read up to `from` and goes beyond that with such
    /// `odds` only.
    pub fn end_if(&self, from: u32, blocks: u32, odds: Odds) -> Option<u32> {
        let goes_on = |cost: u64| cost * u64::from(odds.times) / u64::from(odds.of.max(1));
        let beyond = self.beyond(from);
        if beyond < FEW {
            return None;
        }
        let later = self.best(from, beyond, Some(blocks), |cost| cost)?;
        let now = self.best(from, beyond, Some(blocks), goes_on)?;
        Some(if goes_on(later.cost + u64::from(self.switch)) <= now.cost { from } else { now.end })
    }

    /// The end of least cost for a stream that goes beyond `from`, as so many did; a later cost
    /// counts as `goes_on` says.
    fn best(&self, from: u32, beyond: u32, blocks: Option<u32>, goes_on: impl Fn(u64) -> u64) -> Option<Best> {
        let all = u64::from(beyond);
        let mut beyond = all;
        let mut best: Option<Best> = None;
        for bucket in self.longer(from) {
            beyond -= u64::from(bucket.streams);
            let end = blocks.map_or(bucket.longest, |blocks| bucket.longest.min(blocks));
            let transfer = u64::from(end.saturating_sub(from));
            if best.is_some_and(|best| best.cost <= transfer) {
                // The transfer alone costs as much, and that of longer ones no less.
                break;
            }
            let is_file = blocks.is_some_and(|blocks| end >= blocks);
            let later = if is_file { 0 } else { goes_on(bucket.cost * beyond / all) };
            let cost = transfer + later;
            if best.is_none_or(|best| cost < best.cost) {
                best = Some(Best { cost, end });
            }
            if is_file {
                break;
            }
        }
        best
    }

    /// The buckets with streams, the shortest first, but for the first `at`.
    fn some_from(&self, at: usize) -> impl Iterator<Item = &Bucket> {
        let mut left = self.some >> at << at;
        core::iter::from_fn(move || {
            let bucket = self.buckets.get(left.trailing_zeros() as usize)?;
            left &= left - 1;
            Some(bucket)
        })
    }

    /// Those with streams that went beyond `block`.
    fn longer(&self, block: u32) -> impl Iterator<Item = &Bucket> {
        self.some_from(bucket(block)).filter(move |bucket| bucket.longest > block)
    }

    /// Streams that it goes by, at most.
    pub fn streams(&self) -> u32 {
        self.total / ONE
    }

    /// The length that `part` of `of` streams do not exceed; zero if there were none.
    pub fn quantile(&self, part: u32, of: u32) -> u32 {
        let wanted = u64::from(self.total) * u64::from(part);
        let mut below = 0;
        let found = self.some_from(0).find(|bucket| {
            below += u64::from(bucket.streams) * u64::from(of);
            below >= wanted
        });
        found.map_or(0, |bucket| bucket.longest)
    }

    /// The bytes that it takes beyond itself.
    pub fn footprint(&self) -> usize {
        size_of::<[Bucket; BUCKETS]>()
    }
}

/// The interval of a length: four single ones first, then four an octave, each with its upper
/// bound.
fn bucket(blocks: u32) -> usize {
    let below = blocks.saturating_sub(1);
    if below < 4 {
        return below as usize;
    }
    let octave = below.ilog2();
    let quarter = below >> (octave - 2) & 3;
    (((octave - 1) * 4 + quarter) as usize).min(BUCKETS - 1)
}
