//! A floor: where blocks ahead bring no more hits than the cache would have without them, nothing
//! is fetched ahead.
//!
//! The duel has a small cache of the default policy alone, which replays a sample of the
//! references ([`duel`](super::duel)). Nothing is ever fetched ahead into it, so it tells what
//! doing nothing would hit. Each reference of the sample is seen in both, so that the load, which
//! varies far more than the policies do, is the same for both:
//!
//! ```text
//!                          the small cache has the block      it misses
//!   memory has the block              alike                    gained
//!   it is missed                      lost                     alike
//! ```
//!
//! A block that is under way counts as had, since its reader waits less. Where most of what was
//! fetched ahead goes unread, and no more is gained than lost, the device *rests*. It is tried
//! again after as many references as four windows had, or once readers miss more than twice as
//! often as in the window that decided. After each trial in vain the next rest is twice as long.
//!
//! Without a duel no device rests. Where devices have no partitions, one tally judges all of them.
//! Blocks ahead that bring hits may still cost throughput, where readers keep a flash drive busy.
//! That is not seen here.

use alloc::vec::Vec;

use crate::counters::Counters;
use crate::seams::Tally;

/// References that are gained or lost in a window.
const WINDOW: u64 = 64;
/// For the references of how many windows a device rests, at first and at most.
const REST: u64 = 4;
const LONGEST: u64 = 64;
/// It is tried again if readers miss so many times as often as in the window that decided.
const MORE: u64 = 2;

/// Whether devices rest.
#[derive(Clone, Debug)]
pub(super) struct Floor {
    devices: Vec<Device>,
}

#[derive(Clone, Debug)]
struct Device {
    state: State,
    /// The counts when the present window, or the rest, began.
    begun: Counters,
    tally: Tally,
    /// How long the next rest is.
    rest: u64,
}

#[derive(Clone, Copy, Debug)]
enum State {
    /// Blocks are fetched ahead; the windows before count by half each.
    Ahead(Window),
    /// Nothing is, for so many references. Of those of the window that decided, these were missed.
    Rests { references: u64, decided: Missed },
}

/// The fate of the blocks ahead in a while.
#[derive(Clone, Copy, Default, Debug)]
struct Window {
    gained: u64,
    lost: u64,
    used: u64,
    wasted: u64,
}

#[derive(Clone, Copy, Debug)]
struct Missed {
    misses: u64,
    of: u64,
}

impl Floor {
    pub(super) fn new(devices: usize) -> Floor {
        let state = State::Ahead(Window::default());
        let device = Device { state, begun: Counters::default(), tally: Tally::default(), rest: REST };
        Floor { devices: alloc::vec![device; devices] }
    }

    /// Whether nothing is fetched ahead on a device.
    pub(super) fn rests(&self, device: usize) -> bool {
        self.devices.get(device).is_some_and(|device| matches!(device.state, State::Rests { .. }))
    }

    /// A fetch of a device is over.
    pub(super) fn looks(&mut self, device: usize, counters: &Counters, tally: Tally) {
        let Some(device) = self.devices.get_mut(device) else { return };
        match device.state {
            State::Ahead(before) => device.judges(before, counters, tally),
            State::Rests { references, decided } => device.wakes(references, decided, counters, tally),
        }
    }

    pub(super) fn footprint(&self) -> usize {
        self.devices.capacity() * size_of::<Device>()
    }
}

impl Device {
    fn begins(&mut self, state: State, counters: &Counters, tally: Tally) {
        (self.state, self.begun, self.tally) = (state, *counters, tally);
    }

    /// Rests from the end of a window on, if nothing was gained in that and those before.
    fn judges(&mut self, before: Window, counters: &Counters, tally: Tally) {
        let (gained, lost) = (tally.gained - self.tally.gained, tally.lost - self.tally.lost);
        if gained + lost < WINDOW {
            return;
        }
        let all = Window {
            gained: before.gained + gained,
            lost: before.lost + lost,
            used: before.used + counters.used_untold() - self.begun.used_untold(),
            wasted: before.wasted + counters.wasted_untold() - self.begun.wasted_untold(),
        };
        let decided = self.missed(counters);
        let state = if all.is_in_vain() {
            State::Rests { references: decided.of.saturating_mul(self.rest), decided }
        } else {
            State::Ahead(all.halved())
        };
        self.rest = if all.is_in_vain() { (self.rest * 2).min(LONGEST) } else { REST };
        self.begins(state, counters, tally);
    }

    /// Fetches ahead again, if the rest is over.
    fn wakes(&mut self, references: u64, decided: Missed, counters: &Counters, tally: Tally) {
        let now = self.missed(counters);
        let known = now.of >= decided.of / 4;
        let more = now.misses.saturating_mul(decided.of) > decided.misses.saturating_mul(now.of).saturating_mul(MORE);
        if now.of >= references || (known && more) {
            self.begins(State::Ahead(Window::default()), counters, tally);
        }
    }

    /// The misses since the present window, or the rest, began.
    fn missed(&self, counters: &Counters) -> Missed {
        let (misses, of) = (counters.misses - self.begun.misses, counters.references() - self.begun.references());
        Missed { misses, of }
    }
}

impl Window {
    fn is_in_vain(self) -> bool {
        self.wasted > self.used && self.gained <= self.lost
    }

    fn halved(self) -> Window {
        let Window { gained, lost, used, wasted } = self;
        Window { gained: gained / 2, lost: lost / 2, used: used / 2, wasted: wasted / 2 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A device of which a thousand blocks are referenced for each window, of which so many missed,
    /// and a hundred fetched ahead.
    #[derive(Default)]
    struct Driver {
        counters: Counters,
        tally: Tally,
    }

    impl Driver {
        fn window(&mut self, floor: &mut Floor, gained: u64, wasted: u64, misses: u64) {
            self.counters.hits += 1000 - misses;
            self.counters.misses += misses;
            self.counters.used += 100 - wasted;
            self.counters.wasted += wasted;
            self.tally.gained += gained;
            self.tally.lost += WINDOW - gained;
            floor.looks(0, &self.counters, self.tally);
        }
    }

    #[test]
    fn a_device_rests_if_most_goes_unread_and_nothing_is_gained() {
        for (gained, wasted, rests) in [(32, 51, true), (33, 51, false), (32, 50, false), (0, 100, true)] {
            let (mut floor, mut driver) = (Floor::new(1), Driver::default());
            driver.window(&mut floor, gained, wasted, 100);
            assert_eq!(floor.rests(0), rests, "{gained} gained, {wasted} wasted");
        }
    }

    /// One window by which nothing is gained is chance, if more was gained by those before.
    #[test]
    fn windows_before_count_by_half() {
        let (mut floor, mut driver) = (Floor::new(1), Driver::default());
        driver.window(&mut floor, 48, 100, 100);
        driver.window(&mut floor, 30, 100, 100);
        assert!(!floor.rests(0), "30 + 24 gained, 34 + 8 lost");
        driver.window(&mut floor, 20, 100, 100);
        assert!(floor.rests(0), "20 + 27 gained, 44 + 21 lost");
    }

    /// 4 windows of a thousand references at first, then 8, and so on.
    #[test]
    fn each_rest_in_vain_is_twice_as_long() {
        let (mut floor, mut driver) = (Floor::new(1), Driver::default());
        for expected in [4, 8, 16, 32, 64, 64] {
            driver.window(&mut floor, 0, 100, 100);
            let rested = (0..1000).take_while(|_| {
                driver.window(&mut floor, 0, 0, 100);
                floor.rests(0)
            });
            assert_eq!(rested.count() + 1, expected);
        }
    }

    #[test]
    fn a_device_is_tried_again_once_readers_miss_more() {
        let (mut floor, mut driver) = (Floor::new(1), Driver::default());
        driver.window(&mut floor, 0, 100, 100);
        driver.window(&mut floor, 0, 0, 200);
        assert!(floor.rests(0), "twice as many");
        driver.window(&mut floor, 0, 0, 300);
        assert!(!floor.rests(0), "500 of 2000, where it was 100 of 1000");
    }

    #[test]
    fn a_device_that_is_not_there_does_not_rest() {
        let mut floor = Floor::new(1);
        floor.looks(7, &Counters::default(), Tally::default());
        assert!(!floor.rests(7));
    }
}
