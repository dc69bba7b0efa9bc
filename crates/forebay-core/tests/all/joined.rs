//! Readers that join a fetch that is under way for others.

use crate::bench::{Bench, Pace, ibm, setup};

/// A block that two readers wait for has been referred to twice when it comes. ARC keeps such a
/// block while others pass through once, as it would if it had been there at once.
#[test]
fn who_joins_a_fetch_refers_to_its_block_again() {
    for policy in ["none+arc", "auto:without=duel", "auto"] {
        for (readers, again) in [(1, 1), (2, 0), (5, 0)] {
            let mut bench = Bench::on(policy, setup(16, vec![ibm()]), Pace::EVENTS);
            bench.open(1, 1000);
            bench.held = true;
            (0..readers).for_each(|who| bench.read_by(who, 1, 500));
            bench.arrive();
            bench.held = false;
            // In no order that anything is fetched ahead for.
            (0..90).for_each(|nth| bench.read_by(9, 1, nth * 37 % 101 * 4));
            let before = bench.fetches.len();
            bench.read_by(9, 1, 500);
            assert_eq!(bench.fetches.len() - before, again, "{policy}, {readers} readers");
        }
    }
}
