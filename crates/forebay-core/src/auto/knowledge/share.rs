//! How often something came true.

/// How often something came true, among how many cases.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Odds {
    /// How often.
    pub times: u32,
    /// The cases.
    pub of: u32,
}

impl Odds {
    /// Whether it came true in seven cases of eight, at least.
    pub fn are_nearly_certain(self) -> bool {
        u64::from(self.of - self.times.min(self.of)) * 8 <= u64::from(self.of)
    }
}

/// An exponentially weighted share (weight 1/16).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Share {
    /// In parts of [`ONE`].
    share: u32,
    seen: u32,
}

const ONE: u32 = 1 << 16;
/// A share of fewer cases is not believed.
const FEW: u32 = 8;

impl Share {
    pub(super) fn saw(&mut self, came_true: bool) {
        let new = if came_true { ONE } else { 0 };
        self.seen = self.seen.saturating_add(1);
        // The first ones count alike.
        let weight = self.seen.min(16);
        self.share = self.share - self.share / weight + new / weight;
    }

    /// The word of an earlier run: of `of` times it came true `parts` times. It is believed, but
    /// counts no more than the fewest cases that are.
    pub(super) fn told(parts: u32, of: u32) -> Share {
        Share { share: (u64::from(ONE) * u64::from(parts.min(of)) / u64::from(of.max(1))) as u32, seen: FEW }
    }

    /// Seven times of eight: then blocks fetched in vain are at most a seventh of those wanted.
    pub(super) fn is_reliable(self) -> bool {
        self.seen >= FEW && self.share >= ONE / 8 * 7
    }

    /// How often it was looked at.
    pub(super) fn seen(self) -> u32 {
        self.seen
    }

    /// How often it came true.
    pub(super) fn odds(self) -> Odds {
        Odds { times: self.share, of: ONE }
    }
}
