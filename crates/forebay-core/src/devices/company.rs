//! How often a stream that goes on has lost its place on a device to another stream (past the
//! papers).
//!
//! C_switch · R_tr is the size of a piece because the device goes elsewhere between two of them (CP
//! §2). A stream that has the device to itself finds it where it left it: its pieces cost no
//! switch, however small they are, and large ones only keep memory from others.

use crate::types::StreamId;

/// The share of interrupted pieces is in parts of this.
pub const ALWAYS: u32 = 256;

/// The streams that use a device.
#[derive(Clone, Debug)]
pub struct Company {
    /// The stream of the fetch issued last, and whether all fetches under way are its.
    latest: StreamId,
    alone: bool,
    /// How often another stream had come between when a stream had its next piece fetched: an
    /// exponentially weighted mean (weight 1/8).
    interrupted: u32,
}

impl Default for Company {
    /// Before anything is known, every piece counts as interrupted.
    fn default() -> Company {
        Company { latest: StreamId::NONE, alone: false, interrupted: ALWAYS }
    }
}

impl Company {
    /// A fetch is issued for a stream while `under_way` others are under way.
    pub(crate) fn uses(&mut self, stream: StreamId, under_way: u32) {
        self.alone = under_way == 0 || (self.alone && self.latest == stream);
        self.latest = stream;
    }

    /// A stream goes on, and its next piece is about to be fetched.
    pub(crate) fn goes_on(&mut self, stream: StreamId) {
        let undisturbed = self.alone && self.latest == stream;
        // Rounded towards either end, so that both are reached.
        self.interrupted =
            if undisturbed { self.interrupted * 7 / 8 } else { (self.interrupted * 7 + ALWAYS).div_ceil(8) };
    }

    /// How often a stream that goes on has to pay for a switch, in parts of [`ALWAYS`].
    pub(crate) fn interrupted(&self) -> u32 {
        self.interrupted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: StreamId = StreamId(1);
    const B: StreamId = StreamId(2);

    /// Each stream of `turns` has a piece fetched; `queued` says whether the one before it is still
    /// under way.
    fn after(turns: impl Iterator<Item = StreamId>, queued: bool) -> u32 {
        let mut company = Company::default();
        for stream in turns {
            company.goes_on(stream);
            company.uses(stream, u32::from(queued));
        }
        company.interrupted()
    }

    #[test]
    fn who_is_alone_pays_nothing_and_who_is_not_always() {
        assert_eq!(after([A; 100].into_iter(), false), 0);
        assert_eq!(after([A, B].into_iter().cycle().take(100), false), ALWAYS);
        // In A, A, B the second A is undisturbed.
        let mixed = after([A, A, B].into_iter().cycle().take(300), false);
        assert!((ALWAYS / 2..ALWAYS * 7 / 8).contains(&mixed), "{mixed}");
    }

    /// Two pieces in a row of one stream are no sign that it is alone, if another stream's piece is
    /// waiting behind.
    #[test]
    fn what_is_under_way_for_others_counts() {
        assert_eq!(after([A, B, A, A, A, A, A, A].into_iter(), true), ALWAYS);
        let mut company = Company::default();
        company.uses(B, 0);
        company.uses(A, 1);
        (0..50).for_each(|_| company.goes_on(A));
        assert_eq!(company.interrupted(), ALWAYS);
        // All of these fetches are over.
        company.uses(A, 0);
        (0..50).for_each(|_| company.goes_on(A));
        assert_eq!(company.interrupted(), 0);
    }
}
