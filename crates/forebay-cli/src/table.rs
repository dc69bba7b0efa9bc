//! Tables in a terminal: a heading, aligned columns, numbers to the right.

use std::collections::BTreeMap;
use std::fmt;

use forebay_source::printable;

/// The side of its column that a cell keeps to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// Text.
    Left,
    /// Numbers.
    Right,
}

/// A column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Column<'a> {
    /// Its heading.
    pub(crate) name: &'a str,
    pub(crate) side: Side,
}

impl<'a> Column<'a> {
    /// A column of texts.
    pub(crate) fn left(name: &'a str) -> Column<'a> {
        Column { name, side: Side::Left }
    }

    /// A column of numbers.
    pub(crate) fn right(name: &'a str) -> Column<'a> {
        Column { name, side: Side::Right }
    }
}

/// The most characters of a line.
pub(crate) const WIDTH: usize = 100;

/// The indentation of a note's lines.
const NOTE: &str = "    ";

/// Characters between two columns.
const GAP: usize = 2;

/// Cells are not shortened to fewer characters than this.
const LEAST: usize = 12;

/// A table. Widths count characters, so that wide scripts are a little off.
#[derive(Debug)]
pub(crate) struct Table {
    sides: Vec<Side>,
    rows: Vec<Vec<String>>,
    /// Texts below rows, by the rows' numbers.
    notes: BTreeMap<usize, String>,
}

impl Table {
    /// A table with these columns.
    pub(crate) fn new<'a>(columns: impl IntoIterator<Item = Column<'a>>) -> Table {
        let heading = |column: Column<'_>| (printable(column.name).into_owned(), column.side);
        let (heading, sides) = columns.into_iter().map(heading).unzip();
        Table { sides, rows: vec![heading], notes: BTreeMap::new() }
    }

    /// Adds a row. Missing cells stay empty, and surplus cells are dropped.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let mut row: Vec<String> =
            cells.into_iter().take(self.sides.len()).map(|cell| printable(&cell).into_owned()).collect();
        row.resize(self.sides.len(), String::new());
        self.rows.push(row);
    }

    /// Adds a text below the last row, in lines of at most [`WIDTH`].
    pub(crate) fn note(&mut self, text: &str) {
        let lines = folded(&printable(text), WIDTH - NOTE.len());
        let lines: Vec<String> = lines.lines().map(|line| format!("{NOTE}{line}\n")).collect();
        self.notes.insert(self.rows.len() - 1, lines.concat());
    }

    /// The table in at most `width` characters a line: the cells of `column` are shortened in their
    /// middle, though not to fewer than [`LEAST`].
    pub(crate) fn within(mut self, width: usize, column: usize) -> Table {
        let others = (0..self.sides.len()).filter(|&other| other != column);
        let taken: usize = others.map(|other| self.width(other) + GAP).sum();
        let left = width.saturating_sub(taken).max(LEAST);
        for row in &mut self.rows {
            if let Some(cell) = row.get_mut(column) {
                *cell = shortened(cell, left);
            }
        }
        self
    }

    fn width(&self, column: usize) -> usize {
        self.rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0)
    }

    /// Whether the table has a heading only.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.len() == 1
    }
}

/// A text of at most `most` characters: the surplus is taken out of its middle.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    let count = text.chars().count();
    if count <= most {
        return text.to_owned();
    }
    // The end of a path says more than its beginning.
    let (begin, end) = ((most - 1) / 3, most - 1 - (most - 1) / 3);
    let head: String = text.chars().take(begin).collect();
    let tail: String = text.chars().skip(count - end).collect();
    format!("{head}…{tail}")
}

/// A text with line breaks at spaces, so that no line has more characters than `width`; further
/// lines are indented. Words are not broken.
pub(crate) fn folded(text: &str, width: usize) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.len() - 1;
        let line = &mut lines[last];
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= width {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(format!("  {word}"));
        }
    }
    lines.join("\n") + "\n"
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widths: Vec<usize> = (0..self.sides.len()).map(|column| self.width(column)).collect();
        for (number, row) in self.rows.iter().enumerate() {
            let mut line = String::new();
            for ((cell, side), &width) in row.iter().zip(&self.sides).zip(&widths) {
                match side {
                    Side::Left => line.push_str(&format!("{cell:<width$}  ")),
                    Side::Right => line.push_str(&format!("{cell:>width$}  ")),
                }
            }
            writeln!(f, "{}", line.trim_end())?;
            f.write_str(self.notes.get(&number).map_or("", String::as_str))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned() {
        let mut table = Table::new([Column::left("file"), Column::right("hits")]);
        assert!(table.is_empty());
        table.row(["a".into(), "1,000".into()]);
        table.row(["größer".into(), "7".into(), "too much".into()]);
        table.row(["missing".into()]);
        assert_eq!(table.to_string(), "file      hits\na        1,000\ngrößer       7\nmissing\n");
    }

    #[test]
    fn long_cells_are_shortened_in_their_middle() {
        let mut table = Table::new([Column::left("file"), Column::right("hits")]);
        table.row(["a/rather/long/path/to/some/file-00012.bin".into(), "1,000".into()]);
        let text = table.within(30, 0).to_string();
        assert!(text.lines().all(|line| line.chars().count() <= 30), "{text}");
        assert!(text.contains("a/rat") && text.contains("-00012.bin") && text.contains('…'), "{text}");
        assert_eq!(folded("one two three", 8), "one two\n  three\n");
    }

    #[test]
    fn notes_stand_below_their_rows() {
        let mut table = Table::new([Column::left("file"), Column::right("hits")]);
        table.row(["a".into(), "1".into()]);
        table.note(&"word ".repeat(30));
        table.row(["b".into(), "2".into()]);
        let lines: Vec<String> = table.to_string().lines().map(str::to_owned).collect();
        assert!(lines[2].starts_with("    word") && lines[3].starts_with("      word") && lines[4].starts_with('b'));
        assert!(lines.iter().all(|line| line.chars().count() <= WIDTH), "{lines:?}");
    }

    #[test]
    fn names_cannot_break_the_terminal() {
        let mut table = Table::new([Column::left("file")]);
        table.row(["a\n\x1b[2Jb".into()]);
        assert_eq!(table.to_string(), "file\na\\n\\u{1b}[2Jb\n");
    }
}
