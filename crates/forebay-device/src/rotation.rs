//! The spindle's angle over time, and how long a sector takes to come round.

use serde::{Deserialize, Serialize};

use crate::random::Random;

/// The kinds of rotational wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rotation {
    /// From the angle at which the platters stand.
    #[default]
    Exact,
    /// Half a revolution, always, as CP §2 assumes.
    Mean,
    /// Anything below a revolution, each as likely, as SAC §4.1 assumes.
    Random,
}

/// The spindle. Times are nanoseconds, as floats: a sector's time is no whole number of them.
#[derive(Clone, Debug)]
pub(crate) struct Spindle {
    pub(crate) revolution: f64,
    pub(crate) rotation: Rotation,
    pub(crate) random: Random,
}

/// Closer than this to a whole turn, in revolutions, two angles are the same: rounding must not
/// cost a revolution.
pub(crate) const SAME: f64 = 1e-7;

impl Spindle {
    /// How long after `at` the angle `angle` passes under the heads.
    pub(crate) fn wait(&mut self, at: f64, angle: f64) -> f64 {
        match self.rotation {
            Rotation::Exact => turn(at / self.revolution, angle) * self.revolution,
            Rotation::Mean => self.revolution / 2.0,
            Rotation::Random => self.random.unit() * self.revolution,
        }
    }
}

/// The part of a turn from the angle `from` forward to `to`, 0 ≤ turn < 1.
pub(crate) fn turn(from: f64, to: f64) -> f64 {
    let part = part(to - from);
    if part > 1.0 - SAME { 0.0 } else { part }
}

/// The fraction of a number of turns. Quicker than `rem_euclid`; turns are fewer than 2⁶³.
pub(crate) fn part(turns: f64) -> f64 {
    let part = turns - turns as i64 as f64;
    if part < 0.0 { part + 1.0 } else { part }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_less_than_a_revolution() {
        let mut spindle = Spindle { revolution: 1000.0, rotation: Rotation::Exact, random: Random::new(1) };
        assert_eq!(spindle.wait(250.0, 0.25), 0.0);
        assert_eq!(spindle.wait(5250.0, 0.75), 500.0);
        assert_eq!(spindle.wait(750.0, 0.25), 500.0);
        assert_eq!(spindle.wait(250.0, 0.25 - 1e-9), 0.0, "rounding costs no revolution");
    }

    #[test]
    fn random_waits_are_uniform_over_a_revolution() {
        let mut spindle = Spindle { revolution: 1000.0, rotation: Rotation::Random, random: Random::new(1) };
        let waits: Vec<f64> = (0..100_000).map(|_| spindle.wait(0.0, 0.0)).collect();
        assert!(waits.iter().all(|wait| (0.0..1000.0).contains(wait)));
        for decile in 1..10 {
            let below = waits.iter().filter(|&&wait| wait < f64::from(decile) * 100.0).count() as f64;
            assert!((below / 100_000.0 - f64::from(decile) / 10.0).abs() < 0.01, "{decile}: {below}");
        }
    }
}
