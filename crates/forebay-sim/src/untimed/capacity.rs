//! How large a cache is, as people write it.

use std::fmt;
use std::str::FromStr;

use forebay_trace::Shape;

use super::{Error, Options};

/// How much a cache holds.
///
/// Written `5%` (a share of the distinct blocks), `512MiB` (bytes), `3537b` or plainly `3537`
/// (blocks).
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Capacity {
    /// Blocks (or objects).
    Blocks(u64),
    /// Bytes; divided by the block size.
    Bytes(u64),
    /// A share of the trace's distinct blocks, 0 to 1.
    Share(f64),
}

/// The factor of each unit of bytes. A letter alone is binary; only `kB`, `MB` … are decimal. A
/// lone `b` is no byte but a block.
const UNITS: [(&str, u64); 13] = [
    ("B", 1),
    ("k", 1 << 10),
    ("KiB", 1 << 10),
    ("kB", 1_000),
    ("M", 1 << 20),
    ("MiB", 1 << 20),
    ("MB", 1_000_000),
    ("G", 1 << 30),
    ("GiB", 1 << 30),
    ("GB", 1_000_000_000),
    ("T", 1 << 40),
    ("TiB", 1 << 40),
    ("TB", 1_000_000_000_000),
];

/// A text that is no capacity.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("'{text}' is no size of a cache: write 5% of the distinct blocks (at most 100%), 512MiB, or 3537b for blocks")]
pub struct NotACapacity {
    /// The text.
    pub text: String,
}

impl FromStr for Capacity {
    type Err = NotACapacity;

    fn from_str(text: &str) -> Result<Capacity, NotACapacity> {
        parse(text.trim()).ok_or_else(|| NotACapacity { text: text.to_owned() })
    }
}

fn parse(text: &str) -> Option<Capacity> {
    if let Some(percent) = text.strip_suffix('%') {
        let share = percent.trim_end().parse::<f64>().ok()? / 100.0;
        return (share > 0.0 && share <= 1.0).then_some(Capacity::Share(share));
    }
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let number: u64 = number.parse().ok().filter(|&number| number > 0)?;
    let unit = unit.trim_start();
    if unit.is_empty() || unit == "b" {
        return Some(Capacity::Blocks(number));
    }
    let &(_, factor) = UNITS.iter().find(|(name, _)| unit.eq_ignore_ascii_case(name))?;
    number.checked_mul(factor).map(Capacity::Bytes)
}

/// So that it can be read again.
impl fmt::Display for Capacity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Capacity::Blocks(blocks) => write!(f, "{blocks}b"),
            Capacity::Share(share) => write!(f, "{}%", share * 100.0),
            Capacity::Bytes(bytes) => {
                let units = [("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];
                let fits = |&&(_, factor): &&(&str, u64)| bytes.is_multiple_of(factor);
                let &(unit, factor) = units.iter().find(fits).unwrap_or(&("B", 1));
                write!(f, "{}{unit}", bytes / factor)
            }
        }
    }
}

impl Capacity {
    /// Whether the number of distinct blocks must be known first.
    pub(super) fn is_share(self) -> bool {
        matches!(self, Capacity::Share(_))
    }

    /// In blocks, at least one, of a trace of this shape and so many distinct blocks.
    pub(super) fn blocks(self, shape: Shape, options: &Options, distinct: u64) -> Result<u64, Error> {
        let wrong = |reason| Err(Error::Capacity { capacity: self, reason });
        match self {
            Capacity::Blocks(0) => wrong("it holds no block"),
            Capacity::Blocks(blocks) => Ok(blocks),
            // Rounded down, but not for want of a last binary digit: 29 % of 100 are 29.
            Capacity::Share(share) if share > 0.0 && share <= 1.0 => {
                Ok(((distinct as f64 * share * (1.0 + 1e-12)) as u64).max(1))
            }
            Capacity::Share(_) => wrong("a share is above 0 and at most 1"),
            Capacity::Bytes(bytes) => {
                let block = match (options.block_bytes, shape) {
                    (Some(block), _) | (None, Shape::Ranges { block_bytes: block }) => u64::from(block),
                    (None, Shape::Objects) => {
                        return wrong("the trace is of whole objects: give a number of them, a share, or their size");
                    }
                };
                match bytes.checked_div(block) {
                    None => wrong("a block has at least one byte"),
                    Some(0) => wrong("that is less than a block"),
                    Some(blocks) => Ok(blocks),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capacities_as_people_write_them() {
        for (text, capacity) in [
            ("1%", Capacity::Share(0.01)),
            ("0.5 %", Capacity::Share(0.005)),
            ("100%", Capacity::Share(1.0)),
            ("512MiB", Capacity::Bytes(512 << 20)),
            ("5MB", Capacity::Bytes(5_000_000)),
            ("4096B", Capacity::Bytes(4096)),
            ("3537b", Capacity::Blocks(3537)),
            ("3537", Capacity::Blocks(3537)),
        ] {
            assert_eq!(text.parse(), Ok(capacity), "{text}");
            assert_eq!(capacity.to_string().parse(), Ok(capacity), "{capacity} can be read again");
        }
        for text in
            ["", "%", "0%", "101%", "NaN%", "-1%", "0", "0b", "b", "1.5GiB", "3 parsecs", "18446744073709551615k"]
        {
            let error = text.parse::<Capacity>().unwrap_err().to_string();
            assert!(error.contains("512MiB"), "{text}: {error}");
        }
    }

    #[test]
    fn in_blocks() {
        let ranges = Shape::Ranges { block_bytes: 512 };
        let blocks = |text: &str, shape, block_bytes| {
            let options = Options { block_bytes, ..Options::default() };
            text.parse::<Capacity>().unwrap().blocks(shape, &options, 1000).map_err(|error| error.to_string())
        };
        assert_eq!(blocks("1%", ranges, None), Ok(10));
        assert_eq!(blocks("0.01%", ranges, None), Ok(1), "no cache is smaller");
        assert_eq!(blocks("1MiB", ranges, None), Ok(2048));
        assert_eq!(blocks("1MiB", ranges, Some(4096)), Ok(256));
        assert_eq!(blocks("1MiB", Shape::Objects, Some(4096)), Ok(256));
        assert!(
            blocks("1MiB", Shape::Objects, None)
                .unwrap_err()
                .starts_with("a cache of 1MiB: the trace is of whole objects")
        );
        assert!(blocks("100B", ranges, None).unwrap_err().contains("less than a block"));
    }
}
