//! Which column of a line is what: by the user, by the header, or by libCacheSim's order.

use std::ops::Range;

use super::names::{CONTEXTS, COUNTS, HANDLERS, Known, OBJECTS, OFFSETS, OPERATIONS, SIZES, TIMES, plain};
use crate::columns::{Column, Columns};
use crate::read::text::{decimal, quoted};

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
    /// Bytes in a unit of the size, and of the offset.
    pub(super) size_unit: u64,
    pub(super) offset_unit: u64,
    /// Whether the first line names the columns.
    pub(super) header: bool,
    /// The names of the columns, or numbers if there is no header.
    names: Vec<String>,
    /// Whether the header calls a column something else than the user or a preset does.
    pub(super) contradicted: bool,
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
        if header {
            layout.contradicted = layout.is_contradicted();
            layout.by_header(columns);
        } else {
            layout.by_order(columns, texts.len())?;
        }
        layout.units(columns);
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
        Layout::once(&[time, object, part, size, added, offset, operation])?;
        (self.time, self.object, self.part, self.size, self.added) = (time, object, part, size, added);
        (self.offset, self.operation, self.handler, self.context) = (offset, operation, handler, context);
        Ok(())
    }

    /// Refuses a column that is said to be two things.
    fn once(places: &[Option<usize>]) -> Result<(), String> {
        let twice = |(number, place): (usize, &Option<usize>)| place.filter(|_| places[..number].contains(place));
        match places.iter().enumerate().find_map(twice) {
            Some(place) => Err(format!("column {} is said to be two things", place + 1)),
            _ => Ok(()),
        }
    }

    /// The units: said, or those in which the header's names end.
    fn units(&mut self, columns: &Columns) {
        let named = |known: &Known, place: Option<usize>| known.unit(self.names.get(place?)?).filter(|_| self.header);
        self.unit = columns.unit.or_else(|| named(&TIMES, self.time)).unwrap_or(1_000_000_000);
        let size = columns.size_unit.map(u64::from);
        self.size_unit = size.or_else(|| named(&SIZES, self.size)).unwrap_or(1);
        let offset = columns.offset_unit.map(u64::from);
        self.offset_unit = offset.or_else(|| named(&OFFSETS, self.offset)).unwrap_or(1);
    }

    /// The columns that a header names and the user does not.
    fn by_header(&mut self, columns: &Columns) {
        let names = &self.names;
        let find = |place: &mut Option<usize>, said: &Option<Column>, known: Known| {
            if said.is_none() {
                *place = known.find(names);
            }
        };
        find(&mut self.time, &columns.time, TIMES);
        find(&mut self.object, &columns.object, OBJECTS);
        find(&mut self.size, &columns.size, SIZES);
        find(&mut self.offset, &columns.offset, OFFSETS);
        find(&mut self.operation, &columns.operation, OPERATIONS);
        find(&mut self.handler, &columns.handler, HANDLERS);
        find(&mut self.context, &columns.context, CONTEXTS);
    }

    /// Whether the header calls another column what one is said to be.
    fn is_contradicted(&self) -> bool {
        let mut called = Layout { names: self.names.clone(), header: true, ..Layout::default() };
        called.by_header(&Columns::default());
        let of = |layout: &Layout| layout.places().map(|(_, place)| place);
        of(&called).into_iter().zip(of(self)).any(|(called, said)| called.is_some() && said.is_some() && called != said)
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

    /// The unread column that says how many requests a line stands for.
    pub(super) fn counts(&self) -> Option<usize> {
        let counts = |&place: &usize| COUNTS.contains(&&*plain(&self.names[place]));
        self.unread().into_iter().find(counts)
    }

    pub(super) fn shown(&self, place: usize) -> String {
        match self.names.get(place) {
            Some(name) if self.header => format!("`{name}`"),
            _ => format!("column {}", place + 1),
        }
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
