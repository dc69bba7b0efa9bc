//! The columns of a CSV trace.

use std::str::FromStr;

/// The columns of a CSV trace, counted from zero. The header gives those that the user does not,
/// else libCacheSim's order: time, object, size, operation.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Columns {
    /// The time.
    pub time: Option<usize>,
    /// The object, or (with an offset) the file.
    pub object: Option<usize>,
    /// The number of bytes.
    pub size: Option<usize>,
    /// The first byte; with it, requests are ranges.
    pub offset: Option<usize>,
    /// Read or written.
    pub operation: Option<usize>,
    /// The handler.
    pub handler: Option<usize>,
    /// The program context.
    pub context: Option<usize>,
    /// The character between fields.
    pub delimiter: Option<u8>,
    /// Whether the first line names the columns.
    pub header: Option<bool>,
    /// Whether objects are numbers; if not, they are numbered in order of appearance.
    pub numbers: Option<bool>,
    /// Nanoseconds in a unit of time; absent: a second.
    pub unit: Option<u64>,
}

/// A description of columns that makes no sense.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "`{0}` describes no column; say it as in time-col=1,obj-id-col=2,obj-size-col=3,op-col=4,offset-col=5,handler-col=6,\
     context-col=7,delimiter=tab,has-header=true,obj-id-is-num=false,time-unit=ms"
)]
pub struct UnknownColumns(String);

impl FromStr for Columns {
    type Err = UnknownColumns;

    /// As libCacheSim's trace parameters: `time-col=1,obj-id-col=2`, columns counted from one.
    fn from_str(text: &str) -> Result<Columns, UnknownColumns> {
        let mut columns = Columns::default();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            columns.set(part).ok_or_else(|| UnknownColumns(part.to_owned()))?;
        }
        Ok(columns)
    }
}

impl Columns {
    fn set(&mut self, part: &str) -> Option<()> {
        let (name, value) = part.split_once('=')?;
        let value = value.trim();
        let column = || Some(Some(value.parse::<usize>().ok()?.checked_sub(1)?));
        match name.trim() {
            "time-col" => self.time = column()?,
            "obj-id-col" | "file-col" => self.object = column()?,
            "obj-size-col" => self.size = column()?,
            "offset-col" => self.offset = column()?,
            "op-col" => self.operation = column()?,
            "handler-col" => self.handler = column()?,
            "context-col" => self.context = column()?,
            "delimiter" => self.delimiter = Some(delimiter(value)?),
            "has-header" => self.header = Some(value.parse().ok()?),
            "obj-id-is-num" => self.numbers = Some(value.parse().ok()?),
            "time-unit" => self.unit = Some(unit(value)?),
            _ => return None,
        }
        Some(())
    }
}

fn delimiter(value: &str) -> Option<u8> {
    match value {
        // The rest of `delimiter=,`, which was split at the comma.
        "" | "comma" => Some(b','),
        "tab" | "\\t" => Some(b'\t'),
        "space" => Some(b' '),
        "semicolon" => Some(b';'),
        "pipe" => Some(b'|'),
        one => match one.as_bytes() {
            &[byte] if !byte.is_ascii_alphanumeric() && byte != b'"' => Some(byte),
            _ => None,
        },
    }
}

fn unit(value: &str) -> Option<u64> {
    match value {
        "s" => Some(1_000_000_000),
        "ms" => Some(1_000_000),
        "us" | "µs" => Some(1_000),
        "ns" => Some(1),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_as_libcachesim_says_them() {
        let columns: Columns =
            "time-col=2, obj-id-col=5, obj-size-col=4, delimiter=,, has-header=false".parse().unwrap();
        let expected = Columns {
            time: Some(1),
            object: Some(4),
            size: Some(3),
            delimiter: Some(b','),
            header: Some(false),
            ..Columns::default()
        };
        assert_eq!(columns, expected);
        assert_eq!("time-unit=ms".parse::<Columns>().unwrap().unit, Some(1_000_000));
        for wrong in ["time-col=0", "time-col=x", "weight-col=1", "time-col", "delimiter=ab", "has-header=maybe"] {
            let error = wrong.parse::<Columns>().unwrap_err().to_string();
            assert!(error.contains(wrong) && error.contains("obj-id-col=2"), "{error}");
        }
    }
}
