//! The columns of a CSV trace.

use std::fmt;
use std::str::FromStr;

/// One column.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Column {
    /// The one at this place, counted from zero.
    At(usize),
    /// The one that the header calls so.
    Called(Box<str>),
    /// No column, even if the header has one of a known name.
    Absent,
}

/// The columns of a CSV trace. The header gives those that the user does not, else libCacheSim's
/// order: time, object, size, operation.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Columns {
    /// The time.
    pub time: Option<Column>,
    /// The object, or (with an offset) the file.
    pub object: Option<Column>,
    /// The second part of the object's name, such as the disk of a host.
    pub part: Option<Column>,
    /// The number of bytes.
    pub size: Option<Column>,
    /// A number of bytes that is added to the size, such as that of the key.
    pub added: Option<Column>,
    /// The first byte; with it, requests are ranges.
    pub offset: Option<Column>,
    /// Read or written.
    pub operation: Option<Column>,
    /// The handler.
    pub handler: Option<Column>,
    /// The program context.
    pub context: Option<Column>,
    /// The character between fields. Several blanks are one.
    pub delimiter: Option<u8>,
    /// Whether the first line names the columns.
    pub header: Option<bool>,
    /// Whether objects are numbers; if not, they are numbered in order of appearance.
    pub numbers: Option<bool>,
    /// Nanoseconds in a unit of time; absent: a second.
    pub unit: Option<u64>,
    /// Bytes in a unit of the offset; absent: one.
    pub offset_unit: Option<u32>,
    /// Bytes in a unit of the size; absent: one.
    pub size_unit: Option<u32>,
    /// Operations that read, besides those that every CSV knows.
    pub reads: Vec<Box<str>>,
    /// Operations that write.
    pub writes: Vec<Box<str>>,
    /// Operations whose lines are left out.
    pub ignored: Vec<Box<str>>,
}

/// A description of columns that makes no sense.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum UnknownColumns {
    /// A part of it is unknown.
    #[error(
        "`{0}` describes no column; say it as in time-col=1,obj-id-col=2; known are {known}",
        known = KEYS.join(", ")
    )]
    Part(String),
    /// Two parts say the same thing.
    #[error("`{0}` is said twice")]
    Twice(String),
    /// A word of an operation has two meanings.
    #[error("the operation `{0}` is said to be two of reads, writes and ignored")]
    Word(String),
}

/// The keys that a description may have, each with an example.
const KEYS: [&str; 18] = [
    "time-col=1",
    "obj-id-col=key",
    "file-col=2",
    "part-col=3",
    "obj-size-col=4",
    "added-size-col=5",
    "offset-col=6",
    "op-col=none",
    "handler-col=7",
    "context-col=8",
    "delimiter=tab",
    "has-header=1",
    "obj-id-is-num=0",
    "time-unit=ms",
    "offset-unit=512",
    "size-unit=512",
    "reads=R|0",
    "writes=W|1, ignored=F",
];

impl FromStr for Columns {
    type Err = UnknownColumns;

    /// As libCacheSim's trace parameters: `time-col=1,obj-id-col=2`, columns counted from one. A
    /// column may also be called by its name in the header, or `none`.
    fn from_str(text: &str) -> Result<Columns, UnknownColumns> {
        let mut columns = Columns::default();
        let mut said: Vec<&str> = Vec::new();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            columns.set(part).ok_or_else(|| UnknownColumns::Part(part.to_owned()))?;
            let key = part.split('=').next().unwrap_or_default().trim();
            // Files are the objects of ranges.
            let key = if key == "file-col" { "obj-id-col" } else { key };
            if said.contains(&key) {
                return Err(UnknownColumns::Twice(key.to_owned()));
            }
            said.push(key);
        }
        let words: Vec<&str> =
            [&columns.reads, &columns.writes, &columns.ignored].into_iter().flatten().map(|word| &**word).collect();
        let is_twice = |number: usize| words[..number].iter().any(|word| word.eq_ignore_ascii_case(words[number]));
        match (0..words.len()).find(|&number| is_twice(number)) {
            Some(number) => Err(UnknownColumns::Word(words[number].to_owned())),
            None => Ok(columns),
        }
    }
}

impl Columns {
    fn set(&mut self, part: &str) -> Option<()> {
        let (name, value) = part.split_once('=')?;
        let value = value.trim();
        match name.trim() {
            "time-col" => self.time = Some(column(value)?),
            "obj-id-col" | "file-col" => self.object = Some(column(value)?),
            "part-col" => self.part = Some(column(value)?),
            "obj-size-col" => self.size = Some(column(value)?),
            "added-size-col" => self.added = Some(column(value)?),
            "offset-col" => self.offset = Some(column(value)?),
            "op-col" => self.operation = Some(column(value)?),
            "handler-col" => self.handler = Some(column(value)?),
            "context-col" => self.context = Some(column(value)?),
            "delimiter" => self.delimiter = Some(delimiter(value)?),
            "has-header" => self.header = Some(truth(value)?),
            "obj-id-is-num" => self.numbers = Some(truth(value)?),
            "time-unit" => self.unit = Some(unit(value)?),
            "offset-unit" => self.offset_unit = Some(bytes(value)?),
            "size-unit" => self.size_unit = Some(bytes(value)?),
            "reads" => self.reads = words(value)?,
            "writes" => self.writes = words(value)?,
            "ignored" => self.ignored = words(value)?,
            _ => return None,
        }
        Some(())
    }

    /// Whether they say where the columns are. An operation's column alone, and one that is absent,
    /// change a reading, but are none.
    pub(crate) fn name_places(&self) -> bool {
        let places =
            [&self.time, &self.object, &self.part, &self.size, &self.added, &self.offset, &self.handler, &self.context];
        places.into_iter().flatten().any(|column| *column != Column::Absent)
    }

    /// These columns, and where they say nothing, `others`.
    pub(crate) fn or(self, others: Columns) -> Columns {
        // A word that is said to mean something else no longer means what it did.
        let said: Vec<Box<str>> = [&self.reads[..], &self.writes, &self.ignored].concat();
        let is_new = |word: &str| !said.iter().any(|said| said.eq_ignore_ascii_case(word));
        let words = |own: Vec<Box<str>>, other: Vec<Box<str>>| {
            if own.is_empty() { other.into_iter().filter(|word| is_new(word)).collect() } else { own }
        };
        Columns {
            time: self.time.or(others.time),
            object: self.object.or(others.object),
            part: self.part.or(others.part),
            size: self.size.or(others.size),
            added: self.added.or(others.added),
            offset: self.offset.or(others.offset),
            operation: self.operation.or(others.operation),
            handler: self.handler.or(others.handler),
            context: self.context.or(others.context),
            delimiter: self.delimiter.or(others.delimiter),
            header: self.header.or(others.header),
            numbers: self.numbers.or(others.numbers),
            unit: self.unit.or(others.unit),
            offset_unit: self.offset_unit.or(others.offset_unit),
            size_unit: self.size_unit.or(others.size_unit),
            reads: words(self.reads, others.reads),
            writes: words(self.writes, others.writes),
            ignored: words(self.ignored, others.ignored),
        }
    }
}

impl fmt::Display for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Column::At(place) => write!(f, "column {}", place + 1),
            Column::Called(name) => write!(f, "`{name}`"),
            Column::Absent => f.write_str("none"),
        }
    }
}

/// A place counted from one, or a name that is no number.
fn column(value: &str) -> Option<Column> {
    match value {
        "" => None,
        "none" => Some(Column::Absent),
        number if number.bytes().all(|byte| byte.is_ascii_digit()) => {
            Some(Column::At(number.parse::<usize>().ok()?.checked_sub(1)?))
        }
        name if name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_') && name.len() > 1 => {
            Some(Column::Called(name.into()))
        }
        _ => None,
    }
}

fn truth(value: &str) -> Option<bool> {
    match value {
        "true" | "1" => Some(true),
        "false" | "0" => Some(false),
        _ => None,
    }
}

fn bytes(value: &str) -> Option<u32> {
    value.parse().ok().filter(|bytes| (1..=1 << 20).contains(bytes))
}

fn words(value: &str) -> Option<Vec<Box<str>>> {
    let words: Vec<Box<str>> = value.split('|').map(Into::into).collect();
    words.iter().all(|word| !word.is_empty()).then_some(words)
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

/// Nanoseconds in a unit of time.
pub(crate) fn unit(value: &str) -> Option<u64> {
    match value {
        "s" | "sec" | "seconds" => Some(1_000_000_000),
        "ms" => Some(1_000_000),
        "us" | "µs" => Some(1_000),
        "100ns" => Some(100),
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
            "time-col=2, obj-id-col=5, obj-size-col=4, delimiter=,, has-header=0, op-col=none".parse().unwrap();
        let expected = Columns {
            time: Some(Column::At(1)),
            object: Some(Column::At(4)),
            size: Some(Column::At(3)),
            operation: Some(Column::Absent),
            delimiter: Some(b','),
            header: Some(false),
            ..Columns::default()
        };
        assert_eq!(columns, expected);
        assert_eq!("time-unit=ms".parse::<Columns>().unwrap().unit, Some(1_000_000));
        let called: Columns = "file-col=LUN,has-header=true,reads=R|0".parse().unwrap();
        assert_eq!((called.object, called.header), (Some(Column::Called("LUN".into())), Some(true)));
        assert_eq!(called.reads, ["R".into(), "0".into()]);
        let wrong = ["time-col=0", "time-col=x", "weight-col=1", "time-col", "delimiter=ab", "has-header=maybe"];
        for wrong in wrong.into_iter().chain(["reads=", "offset-unit=0", "time-unit=h", "size-unit=-1"]) {
            let error = wrong.parse::<Columns>().unwrap_err().to_string();
            assert!(error.contains(wrong) && error.contains("obj-id-col=2"), "{error}");
        }
    }

    #[test]
    fn a_users_columns_come_before_those_of_a_preset() {
        let own: Columns = "time-unit=ms,reads=look".parse().unwrap();
        let preset: Columns = "time-col=1,time-unit=s,reads=R,writes=W".parse().unwrap();
        let both = own.or(preset);
        assert_eq!((both.unit, both.time), (Some(1_000_000), Some(Column::At(0))));
        assert_eq!((both.reads, both.writes), (vec!["look".into()], vec!["W".into()]));
    }
}
