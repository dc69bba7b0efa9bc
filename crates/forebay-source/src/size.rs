//! Amounts of memory and data, as people write them.

use std::fmt;
use std::str::FromStr;

/// The factor of each unit. Letters alone are binary, as `dd`, `fio` and systemd have it; only
/// `kB`, `MB` … are decimal.
const UNITS: [(&str, u64); 15] = [
    ("", 1),
    ("b", 1),
    ("k", 1 << 10),
    ("kib", 1 << 10),
    ("kb", 1_000),
    ("m", 1 << 20),
    ("mib", 1 << 20),
    ("mb", 1_000_000),
    ("g", 1 << 30),
    ("gib", 1 << 30),
    ("gb", 1_000_000_000),
    ("t", 1 << 40),
    ("tib", 1 << 40),
    ("tb", 1_000_000_000_000),
    ("bytes", 1),
];

/// A number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(u64);

/// Why a text is not a size.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum SizeError {
    /// There is no number in front.
    #[error("not a size; sizes look like 512MiB, 1G, 64k or 1048576")]
    NotASize,
    /// The text behind the number is no unit.
    #[error("unknown unit `{0}`; sizes look like 512MiB, 1G, 64k or 1048576")]
    Unit(String),
    /// It does not fit.
    #[error("more than a 64-bit number of bytes")]
    TooLarge,
}

impl Size {
    /// This many bytes.
    pub const fn of(bytes: u64) -> Size {
        Size(bytes)
    }

    /// In bytes.
    pub const fn bytes(self) -> u64 {
        self.0
    }
}

impl FromStr for Size {
    type Err = SizeError;

    fn from_str(text: &str) -> Result<Size, SizeError> {
        let text = text.trim();
        let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
        if number.is_empty() {
            return Err(SizeError::NotASize);
        }
        let unit = unit.trim_start();
        let known = UNITS.iter().find(|(name, _)| unit.eq_ignore_ascii_case(name));
        let &(_, factor) = known.ok_or_else(|| SizeError::Unit(unit.into()))?;
        // Digits only, so that a number that cannot be parsed is too large.
        let number: u64 = number.parse().map_err(|_| SizeError::TooLarge)?;
        number.checked_mul(factor).map(Size).ok_or(SizeError::TooLarge)
    }
}

/// Exactly, in the largest binary unit that divides it, so that `FromStr` reads it back.
impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
        match units.iter().find(|&&(_, factor)| self.0 > 0 && self.0.is_multiple_of(factor)) {
            Some((unit, factor)) => write!(f, "{}{unit}", self.0 / factor),
            None => write!(f, "{}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_as_people_write_them() {
        for (text, bytes) in [
            ("0", 0),
            ("1048576", 1 << 20),
            ("64k", 64 << 10),
            ("64KiB", 64 << 10),
            ("512MiB", 512 << 20),
            ("512 mib", 512 << 20),
            ("1G", 1 << 30),
            ("2TiB", 2 << 40),
            ("5MB", 5_000_000),
            ("7b", 7),
        ] {
            assert_eq!(text.parse(), Ok(Size(bytes)), "{text}");
        }
    }

    #[test]
    fn what_is_no_size_says_what_is() {
        let error = |text: &str| text.parse::<Size>().unwrap_err();
        assert_eq!(error(""), SizeError::NotASize);
        assert_eq!(error("MiB"), SizeError::NotASize);
        assert_eq!(error("-1"), SizeError::NotASize);
        assert_eq!(error("1.5G"), SizeError::Unit(".5G".into()));
        assert_eq!(error("3 parsecs"), SizeError::Unit("parsecs".into()));
        assert_eq!(error("18446744073709551616"), SizeError::TooLarge);
        assert_eq!(error("18446744073709551615k"), SizeError::TooLarge);
        assert!(error("lots").to_string().contains("512MiB, 1G, 64k or 1048576"));
    }

    #[test]
    fn what_is_printed_can_be_read_again() {
        for bytes in [0, 1, 1023, 1024, 1025, 512 << 20, (1 << 30) + 1, 3 << 40, u64::MAX] {
            assert_eq!(Size(bytes).to_string().parse(), Ok(Size(bytes)));
        }
        assert_eq!(Size(512 << 20).to_string(), "512MiB");
    }
}
