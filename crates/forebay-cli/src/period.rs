//! Spans of time, as people write them: `1s`, `500ms`, `250us`, `2m`, `1h`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// Units in microseconds. A number alone is in seconds.
const UNITS: [(&str, u64); 6] =
    [("", 1_000_000), ("us", 1), ("ms", 1_000), ("s", 1_000_000), ("m", 60_000_000), ("h", 3_600_000_000)];

/// A span of time, in whole microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Period(Duration);

/// The text is no span of time.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a span of time; they look like 1s, 500ms, 250us, 2m or 1h")]
pub(crate) struct PeriodError;

impl Period {
    /// The span as the standard library's type.
    pub(crate) fn duration(self) -> Duration {
        self.0
    }
}

impl FromStr for Period {
    type Err = PeriodError;

    fn from_str(text: &str) -> Result<Period, PeriodError> {
        let text = text.trim();
        let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
        let &(_, factor) = UNITS.iter().find(|(name, _)| *name == unit.trim_start()).ok_or(PeriodError)?;
        let number: u64 = number.parse().map_err(|_| PeriodError)?;
        number.checked_mul(factor).map(Duration::from_micros).map(Period).ok_or(PeriodError)
    }
}

impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_micros() {
            micros if micros % 1_000_000 == 0 => write!(f, "{}s", micros / 1_000_000),
            micros if micros % 1_000 == 0 => write!(f, "{}ms", micros / 1_000),
            micros => write!(f, "{micros}us"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_as_people_write_them() {
        for (text, millis) in
            [("0", 0), ("3", 3_000), ("1s", 1_000), ("500ms", 500), ("7000us", 7), ("2 m", 120_000), ("1h", 3_600_000)]
        {
            let period: Period = text.parse().unwrap();
            assert_eq!(period.duration(), Duration::from_millis(millis), "{text}");
            assert_eq!(period.to_string().parse(), Ok(period), "{text}");
        }
        assert_eq!("250us".parse::<Period>().unwrap().to_string(), "250us");
        for text in ["", "s", "-1s", "1.5s", "1 fortnight", "99999999999999999999s", "18446744073709551615h"] {
            assert_eq!(text.parse::<Period>(), Err(PeriodError), "{text}");
        }
    }
}
