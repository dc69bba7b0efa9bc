//! The model's time against the machine's: a line, which bends when the device turns slower or
//! quick again.

use std::time::{Duration, Instant as Moment};

use forebay_core::Instant;

/// A completion that is farther away than this is looked at again by then.
const HORIZON: Duration = Duration::from_secs(86_400);

/// See the file's head.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    /// The last bend, for the machine and for the model.
    since: Moment,
    inside: Instant,
    /// Nanoseconds of the model in one of the machine: by the speed alone, and how many times fewer
    /// there are at present.
    speed: f64,
    factor: f64,
}

impl Clock {
    /// Zero is at `start`.
    pub(super) fn new(start: Moment, speed: f64) -> Clock {
        Clock { since: start, inside: Instant(0), speed, factor: 1.0 }
    }

    /// The model's time. Never goes back as long as `moment` doesn't.
    pub(super) fn at(&self, moment: Moment) -> Instant {
        let passed = moment.saturating_duration_since(self.since).as_nanos() as f64;
        Instant(self.inside.0.saturating_add((passed * self.speed / self.factor) as u64))
    }

    /// The machine's time at which the model's time is `at`: the first whole nanosecond, at most a
    /// day from `now` on.
    pub(super) fn moment(&self, at: Instant, now: Moment) -> Moment {
        let outside = |inside: u64| (inside as f64 * self.factor / self.speed).ceil();
        if at < self.inside {
            // Due before the bend, and late.
            let before = Duration::from_nanos(outside(self.inside.0 - at.0) as u64);
            return self.since.checked_sub(before).unwrap_or(self.since);
        }
        let most = now.saturating_duration_since(self.since) + HORIZON;
        self.since + Duration::from_nanos(outside(at.0 - self.inside.0).min(most.as_nanos() as f64) as u64)
    }

    /// From `moment` on everything takes `factor` times as long as the model says.
    pub(super) fn slow_down(&mut self, moment: Moment, factor: f64) {
        *self = Clock { since: moment.max(self.since), inside: self.at(moment), factor, ..*self };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// 100 ms at twice the model's speed, 300 ms ten times as slow as that, then as before.
    #[test]
    fn times_bend_where_the_factor_changes() {
        let start = Moment::now();
        let mut clock = Clock::new(start, 2.0);
        assert_eq!(clock.at(start + ms(100)), Instant(200_000_000));
        clock.slow_down(start + ms(100), 10.0);
        assert_eq!(clock.at(start + ms(100)), Instant(200_000_000));
        assert_eq!(clock.at(start + ms(400)), Instant(260_000_000));
        assert_eq!(clock.moment(Instant(260_000_000), start + ms(100)), start + ms(400));
        clock.slow_down(start + ms(400), 1.0);
        assert_eq!(clock.at(start + ms(500)), Instant(460_000_000));
        assert_eq!(clock.moment(Instant(460_000_000), start + ms(400)), start + ms(500));
        // A completion that was due before the bend stays due.
        assert!(clock.moment(Instant(100_000_000), start + ms(400)) < start + ms(400));
    }

    #[test]
    fn time_never_goes_back_and_is_found_again() {
        let start = Moment::now();
        let mut clock = Clock::new(start, 0.7);
        let mut last = Instant(0);
        for step in 1..2000u64 {
            let moment = start + Duration::from_nanos(step * 7_654_321);
            if step % 5 == 0 {
                clock.slow_down(moment, [1.0, 10.0, 0.01, 1e6][step as usize / 5 % 4]);
            }
            let now = clock.at(moment);
            assert!(now >= last);
            let due = Instant(now.0 + step * 1000);
            let until = clock.moment(due, moment);
            assert!(clock.at(until).0.abs_diff(due.0) <= 1 + due.0 / 1_000_000 * 2, "step {step}");
            last = now;
        }
    }

    #[test]
    fn what_is_years_away_is_looked_at_tomorrow() {
        let start = Moment::now();
        let mut clock = Clock::new(start, 1e-6);
        clock.slow_down(start, 1e6);
        assert_eq!(clock.moment(Instant(u64::MAX), start + ms(1)), start + ms(1) + HORIZON);
    }
}
