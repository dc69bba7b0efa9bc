//! Which column of a line is what: by the user, by the header, or by libCacheSim's order.

use std::ops::Range;

use crate::columns::{Column, Columns, unit};
use crate::read::text::{decimal, quoted};

/// Names of columns in headers, in lower case, without blanks, `-` and `_`. The name that stands
/// first wins, not the column that comes first.
const TIMES: [&str; 8] = ["time", "timestamp", "ts", "clocktime", "timens", "timeus", "timems", "optime"];
const OBJECTS: [&str; 16] = [
    "object", "objid", "objectid", "id", "key", "file", "obj", "filename", "path", "url", "cachekey", "device",
    "deviceid", "volumeid", "volume", "lun",
];
const SIZES: [&str; 8] = ["size", "objsize", "objectsize", "length", "len", "bytes", "valuesize", "iosize"];
const OFFSETS: [&str; 4] = ["offset", "start", "position", "ioffset"];
const OPERATIONS: [&str; 9] = ["operation", "op", "optype", "type", "rw", "iotype", "opcode", "opname", "method"];
const HANDLERS: [&str; 5] = ["handler", "thread", "tid", "pid", "process"];
const CONTEXTS: [&str; 2] = ["context", "pc"];

/// The places of the columns that are read.
#[derive(Clone, Default)]
pub(super) struct Layout {
    pub(super) time: Option<usize>,
    pub(super) object: Option<usize>,
    pub(super) part: Option<usize>,
    pub(super) size: Option<usize>,
    pub(super) added: Option<usize>,
    pub(super) offset: Option<usize>,
    pub(super) operation: Option<usize>,
    pub(super) handler: Option<usize>,
    pub(super) context: Option<usize>,
    /// Nanoseconds in a unit of time.
    pub(super) unit: u64,
    /// Whether the first line names the columns.
    pub(super) header: bool,
    /// The names of the columns, or numbers if there is no header.
    names: Vec<String>,
    /// Whether the header calls a column something else than the user or a preset does.
    contradicted: bool,
}

impl Layout {
    /// The layout of lines of which `first` is the first.
    pub(super) fn new(columns: &Columns, first: &[u8], delimiter: u8) -> Result<Layout, String> {
        let bare = first.strip_prefix(b"#").map_or(first, <[u8]>::trim_ascii_start);
        let mut fields = Vec::new();
        split(bare, delimiter, &mut fields);
        let texts: Vec<&[u8]> = fields.iter().map(|field| &bare[field.clone()]).collect();
        let header = columns.header.unwrap_or_else(|| texts.iter().all(|text| decimal(text, 9).is_none()));
        let names = if header {
            texts.iter().map(|text| String::from_utf8_lossy(text).into_owned()).collect()
        } else {
            (1..=texts.len()).map(|number| number.to_string()).collect()
        };
        let mut layout = Layout { header, names, ..Layout::default() };
        layout.of_user(columns)?;
        layout.unit = columns.unit.unwrap_or(1_000_000_000);
        if header {
            layout.contradicted = layout.is_contradicted();
            layout.by_header(columns);
        } else {
            layout.by_order(columns, texts.len())?;
        }
        if layout.object.is_none() && layout.offset.is_none() {
            return Err(format!(
                "no column of {} is called like an object or an offset; say which is which, as in time-col=1,obj-id-col=2",
                quoted(first)
            ));
        }
        Ok(layout)
    }

    /// The columns that are said.
    fn of_user(&mut self, columns: &Columns) -> Result<(), String> {
        let names = &self.names;
        let place = |column: &Option<Column>| -> Result<Option<usize>, String> {
            match column {
                None | Some(Column::Absent) => Ok(None),
                Some(Column::At(place)) => Ok(Some(*place)),
                Some(Column::Called(name)) => {
                    let found = names.iter().position(|other| plain(other) == plain(name));
                    found.map(Some).ok_or_else(|| format!("no column is called `{name}`"))
                }
            }
        };
        let (time, object, part) = (place(&columns.time)?, place(&columns.object)?, place(&columns.part)?);
        let (size, added, offset) = (place(&columns.size)?, place(&columns.added)?, place(&columns.offset)?);
        let (operation, handler) = (place(&columns.operation)?, place(&columns.handler)?);
        let context = place(&columns.context)?;
        let (unit, header, names) = (self.unit, self.header, std::mem::take(&mut self.names));
        let contradicted = false;
        *self = Layout {
            time,
            object,
            part,
            size,
            added,
            offset,
            operation,
            handler,
            context,
            unit,
            header,
            names,
            contradicted,
        };
        Ok(())
    }

    /// The columns that a header names and the user does not.
    fn by_header(&mut self, columns: &Columns) {
        let names: Vec<String> = self.names.iter().map(|name| plain(name)).collect();
        let find = |place: &mut Option<usize>, said: &Option<Column>, known: &[&str]| {
            if said.is_none() {
                *place = known.iter().find_map(|known| names.iter().position(|name| name == known));
            }
        };
        find(&mut self.time, &columns.time, &TIMES);
        find(&mut self.object, &columns.object, &OBJECTS);
        find(&mut self.size, &columns.size, &SIZES);
        find(&mut self.offset, &columns.offset, &OFFSETS);
        find(&mut self.operation, &columns.operation, &OPERATIONS);
        find(&mut self.handler, &columns.handler, &HANDLERS);
        find(&mut self.context, &columns.context, &CONTEXTS);
        if columns.unit.is_none()
            && let Some(time) = self.time.and_then(|time| self.names.get(time))
        {
            self.unit = named_unit(time).unwrap_or(self.unit);
        }
    }

    /// Whether the header calls another column what one is said to be.
    fn is_contradicted(&self) -> bool {
        let mut called = Layout { names: self.names.clone(), header: true, ..Layout::default() };
        called.by_header(&Columns::default());
        let pairs = called.places().into_iter().zip(self.places());
        let differ = |((_, called), (_, said)): ((&str, Option<usize>), (&str, Option<usize>))| {
            called.is_some_and(|place| said.is_some_and(|said| said != place))
        };
        pairs.into_iter().any(differ)
    }

    /// Whether the header calls another column what one is said to be.
    pub(super) fn contradicted(&self) -> bool {
        self.contradicted
    }

    /// Without a header and without the user's columns: libCacheSim's order.
    fn by_order(&mut self, columns: &Columns, fields: usize) -> Result<(), String> {
        if self.object.is_some() || self.offset.is_some() {
            return Ok(());
        }
        let or = |place: Option<usize>, said: &Option<Column>, at: usize| {
            place.or((said.is_none() && at < fields).then_some(at))
        };
        match fields {
            1 => self.object = Some(0),
            2..=4 => {
                self.time = or(self.time, &columns.time, 0);
                self.object = Some(1);
                self.size = or(self.size, &columns.size, 2);
                self.operation = or(self.operation, &columns.operation, 3);
            }
            many => {
                let reason = "columns and no header; say which is which, as in time-col=1,obj-id-col=2,obj-size-col=3";
                return Err(format!("it has {many} {reason}"));
            }
        }
        Ok(())
    }

    /// The columns that are read, each with what it is.
    fn places(&self) -> [(&'static str, Option<usize>); 9] {
        [
            ("time", self.time),
            (if self.offset.is_some() { "file" } else { "object" }, self.object),
            ("second part of the name", self.part),
            ("size", self.size),
            ("added size", self.added),
            ("offset", self.offset),
            ("operation", self.operation),
            ("handler", self.handler),
            ("context", self.context),
        ]
    }

    /// The columns that are read, as `size: column 3`.
    pub(super) fn read(&self) -> Vec<String> {
        let shown = |(what, place): (&str, Option<usize>)| Some(format!("{what}: {}", self.shown(place?)));
        self.places().into_iter().filter_map(shown).collect()
    }

    /// The columns that are not read.
    pub(super) fn unused(&self) -> Vec<String> {
        self.unread().into_iter().map(|place| self.shown(place)).collect()
    }

    /// The places of the columns that are not read.
    pub(super) fn unread(&self) -> Vec<usize> {
        let read: Vec<usize> = self.places().into_iter().filter_map(|(_, place)| place).collect();
        (0..self.names.len()).filter(|place| !read.contains(place)).collect()
    }

    fn shown(&self, place: usize) -> String {
        match self.names.get(place) {
            Some(name) if self.header => format!("`{name}`"),
            _ => format!("column {}", place + 1),
        }
    }
}

/// The letters of a name, without blanks and what stands in brackets.
fn plain(name: &str) -> String {
    let name = name.split('(').next().unwrap_or_default();
    let letters = name.chars().filter(|letter| !matches!(letter, '-' | '_' | ' ' | '#'));
    letters.map(|letter| letter.to_ascii_lowercase()).collect()
}

/// The unit of time that a name ends in: `time_ms`, `timestamp (ms)`.
fn named_unit(name: &str) -> Option<u64> {
    if let Some((_, inner)) = name.split_once('(') {
        return unit(inner.trim_end_matches(')').trim());
    }
    match plain(name).as_str() {
        "timens" => Some(1),
        "timeus" => Some(1_000),
        "timems" => Some(1_000_000),
        _ => None,
    }
}

/// The delimiter that a line has most of; a blank, which stands in names and dates too, only if it
/// has no other.
pub(crate) fn likely_delimiter(line: &[u8]) -> u8 {
    let count = |delimiter: u8| line.iter().filter(|&&byte| byte == delimiter).count();
    // Of equals the last one wins, so the comma stands last.
    let likely = [b'|', b';', b'\t', b','].into_iter().max_by_key(|&delimiter| count(delimiter)).unwrap_or(b',');
    if count(likely) == 0 && count(b' ') > 0 { b' ' } else { likely }
}

/// Where the fields of a line begin and end. One in quotes may have delimiters in it; a doubled
/// quote within stays doubled. Several blanks are one delimiter.
pub(super) fn split(line: &[u8], delimiter: u8, fields: &mut Vec<Range<usize>>) {
    fields.clear();
    let mut at = 0;
    loop {
        while delimiter == b' ' && line.get(at) == Some(&b' ') {
            at += 1;
        }
        let quoted = line.get(at) == Some(&b'"');
        let mut end = at;
        let mut inside = false;
        while let Some(&byte) = line.get(end) {
            inside ^= quoted && byte == b'"';
            if byte == delimiter && !inside {
                break;
            }
            end += 1;
        }
        let field = line[at..end].trim_ascii();
        // Where the trimmed part begins: the blanks before it are the only ones that
        // `trim_ascii_start` takes.
        let from = at + (end - at - line[at..end].trim_ascii_start().len());
        let (mut from, mut to) = (from, from + field.len());
        if quoted && field.len() >= 2 && field.ends_with(b"\"") {
            (from, to) = (from + 1, to - 1);
        }
        fields.push(from..to);
        if end >= line.len() {
            return;
        }
        at = end + 1;
    }
}
