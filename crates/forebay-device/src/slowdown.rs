//! Performance faults: from a moment on, a device takes longer (SAC §4.3: "a disk stuttering before
//! absolute failure, unexpected network traffic …"; Fig. 8 halves a disk's speed at 500 s).
//!
//! The device lives in a time of its own that runs slower meanwhile: by half for a factor of 2. So
//! everything takes longer: the arm, the platters, the wire. A request that is in service at such a
//! moment is slow for the rest of it, or quick again. The costs that policies know stay as they
//! were: a fault comes unannounced.
//!
//! ```text
//!  its own time   ╱           factor 2 from 500 s to 900 s: 400 s outside are 200 s inside
//!              __╱
//!            ╱‾
//!           ╱──┴──┴──▶ time
//! ```

use std::fmt;
use std::str::FromStr;

use forebay_core::{DeviceCost, Instant};
use serde::{Deserialize, Serialize};

use crate::{Model, Request};

/// From a moment, and perhaps until another, everything takes `factor` times as long. In text:
/// `500s:2`, `500s-900s:2`. Several at once multiply.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Slowdown {
    /// Seconds after the start.
    pub at_s: f64,
    /// Seconds after the start; absent: for ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_s: Option<f64>,
    /// How many times as long it takes.
    pub factor: f64,
}

/// Why a text or its numbers are no slowdown.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Error {
    /// Not in the form of one.
    #[error("`{0}` is no slowdown; write 500s:2 for half the speed from 500 seconds on, 500s-900s:2 until 900 seconds")]
    Form(String),
    /// Its numbers are impossible.
    #[error("{BOUNDS}")]
    Bounds,
}

const BOUNDS: &str = "a slowdown begins at 0 to 10⁹ s, ends after that, and its factor is 0.001 to 1,000,000";

impl Error {
    /// Why numbers were refused.
    pub(crate) fn reason(&self) -> &'static str {
        match self {
            Error::Form(_) => "no slowdown",
            Error::Bounds => BOUNDS,
        }
    }
}

/// A device that slows down as it is written in a description.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlowedDescription {
    /// A device by name, or a file by path, relative to the file that says so.
    pub device: String,
    /// When, and how much.
    pub slowdowns: Vec<Slowdown>,
}

impl Slowdown {
    /// Whether it is possible.
    fn check(&self) -> Result<(), Error> {
        let moment = |s: f64| (0.0..=1e9).contains(&s);
        let ends = self.until_s.is_none_or(|until| moment(until) && until > self.at_s);
        let possible = moment(self.at_s) && ends && (1e-3..=1e6).contains(&self.factor);
        possible.then_some(()).ok_or(Error::Bounds)
    }
}

/// Seconds, from a number with its unit: ms, s, min or h.
fn seconds(text: &str) -> Option<f64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "ms" => 1e-3,
        "s" => 1.0,
        "min" => 60.0,
        "h" => 3600.0,
        _ => return None,
    };
    digits.parse::<f64>().ok().map(|number| number * unit)
}

impl FromStr for Slowdown {
    type Err = Error;

    fn from_str(text: &str) -> Result<Slowdown, Error> {
        let parse = || {
            let (when, factor) = text.split_once(':')?;
            let (at, until) = when.split_once('-').map_or((when, None), |(at, until)| (at, Some(until)));
            let until_s = until.map(|until| seconds(until).ok_or(())).transpose().ok()?;
            Some(Slowdown { at_s: seconds(at)?, until_s, factor: factor.parse().ok()? })
        };
        let slowdown = parse().ok_or_else(|| Error::Form(text.to_owned()))?;
        slowdown.check()?;
        Ok(slowdown)
    }
}

impl fmt::Display for Slowdown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}s", self.at_s)?;
        self.until_s.map_or(Ok(()), |until| write!(f, "-{until}s"))?;
        write!(f, ":{}", self.factor)
    }
}

/// A time between two moments at which the factor changes.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Stretch {
    /// Where it begins, outside and in the device's own time, nanoseconds.
    outside: u64,
    inside: u64,
    factor: f64,
}

/// A model that slows down.
pub struct Slowed {
    model: Box<dyn Model>,
    /// The first begins at zero.
    stretches: Vec<Stretch>,
}

impl Slowed {
    /// `model`, slowed down at these times.
    pub fn new(model: Box<dyn Model>, slowdowns: &[Slowdown]) -> Result<Slowed, Error> {
        slowdowns.iter().try_for_each(Slowdown::check)?;
        let nanos = |s: f64| (s * 1e9) as u64;
        let spans: Vec<(u64, u64, f64)> =
            slowdowns.iter().map(|s| (nanos(s.at_s), s.until_s.map_or(u64::MAX, nanos), s.factor)).collect();
        let mut moments: Vec<u64> = spans.iter().flat_map(|&(at, until, _)| [at, until]).chain([0]).collect();
        moments.retain(|&moment| moment < u64::MAX);
        moments.sort_unstable();
        moments.dedup();
        let mut stretches: Vec<Stretch> = Vec::new();
        for outside in moments {
            let inside = stretches.last().map_or(0, |last| last.enter(outside));
            let now = spans.iter().filter(|&&(at, until, _)| at <= outside && outside < until);
            stretches.push(Stretch { outside, inside, factor: now.map(|span| span.2).product() });
        }
        Ok(Slowed { model, stretches })
    }

    /// The moment in the device's own time.
    fn enter(&self, at: Instant) -> Instant {
        let next = self.stretches.partition_point(|stretch| stretch.outside <= at.0);
        Instant(self.stretches[next - 1].enter(at.0))
    }

    /// The moment outside: the first whole nanosecond at which it is that late inside.
    fn leave(&self, at: Instant) -> Instant {
        let next = self.stretches.partition_point(|stretch| stretch.inside <= at.0).max(1);
        Instant(self.stretches[next - 1].leave(at.0))
    }
}

impl Stretch {
    fn enter(&self, outside: u64) -> u64 {
        let passed = outside.saturating_sub(self.outside);
        // Exact, where nothing is slower: a float is coarser than a nanosecond after a hundred
        // days.
        let passed = if self.factor == 1.0 { passed } else { (passed as f64 / self.factor) as u64 };
        self.inside.saturating_add(passed)
    }

    fn leave(&self, inside: u64) -> u64 {
        let passed = inside.saturating_sub(self.inside);
        let passed = if self.factor == 1.0 { passed } else { (passed as f64 * self.factor).ceil() as u64 };
        self.outside.saturating_add(passed)
    }
}

impl Model for Slowed {
    fn serve(&mut self, at: Instant, request: Request) -> Instant {
        let end = self.model.serve(self.enter(at), request);
        self.leave(end).max(at)
    }

    fn channels(&self) -> u32 {
        self.model.channels()
    }

    fn commands(&self) -> u32 {
        self.model.commands()
    }

    fn capacity(&self) -> u64 {
        self.model.capacity()
    }

    fn cost(&self) -> DeviceCost {
        self.model.cost()
    }
}
