//! The first lines of a table, column by column: the ground of every guess about it.

use super::layout::split;

/// So many bytes, and so many lines, are looked at.
const BYTES: usize = 16 << 10;
const LINES: usize = 64;

/// The lines that are neither header nor note.
pub(super) struct Sample<'a> {
    rows: Vec<Vec<&'a [u8]>>,
}

impl<'a> Sample<'a> {
    /// The rows of `lines`, of which the last may be cut: it counts only if it is the only one.
    pub(super) fn of(lines: &'a [u8], delimiter: u8, header: bool) -> Sample<'a> {
        let lines = &lines[..lines.len().min(BYTES)];
        let whole = memchr::memrchr(b'\n', lines).map_or(lines, |end| &lines[..end]);
        let note = |line: &[u8]| line.is_empty() || line.starts_with(b"#");
        let lines = whole.split(|&byte| byte == b'\n').skip(usize::from(header)).take(LINES);
        let row = |line: &'a [u8]| {
            let mut fields = Vec::new();
            split(line, delimiter, &mut fields);
            fields.into_iter().map(|field| &line[field]).collect()
        };
        Sample { rows: lines.map(<[u8]>::trim_ascii).filter(|line| !note(line)).map(row).collect() }
    }

    /// The values of a column; nothing where a line has no such column.
    pub(super) fn column(&self, place: usize) -> impl Iterator<Item = &'a [u8]> + Clone + '_ {
        self.rows.iter().map(move |row| row.get(place).copied().unwrap_or_default())
    }

    /// How many fields the lines have, each.
    pub(super) fn widths(&self) -> impl Iterator<Item = usize> + '_ {
        self.rows.iter().map(Vec::len)
    }

    /// How many lines there are.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether a column has values, and all of them are so.
    pub(super) fn all(&self, place: usize, is: impl FnMut(&'a [u8]) -> bool) -> bool {
        self.len() > 0 && self.column(place).all(is)
    }
}
