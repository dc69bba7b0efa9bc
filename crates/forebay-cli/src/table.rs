//! Tables in a terminal: a heading, aligned columns, numbers to the right.

use std::fmt;

/// Which side of its column a cell keeps to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// Text.
    Left,
    /// Numbers.
    Right,
}

/// A table. Widths count characters, so that wide scripts are a little off.
#[derive(Debug)]
pub(crate) struct Table {
    sides: Vec<Side>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these headings.
    pub(crate) fn new<'a>(columns: impl IntoIterator<Item = (&'a str, Side)>) -> Table {
        let (heading, sides) = columns.into_iter().map(|(name, side)| (printable(name.to_owned()), side)).unzip();
        Table { sides, rows: vec![heading] }
    }

    /// Adds a row. Cells that are missing stay empty, what is too much is left out.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let mut row: Vec<String> = cells.into_iter().take(self.sides.len()).map(printable).collect();
        row.resize(self.sides.len(), String::new());
        self.rows.push(row);
    }

    /// Whether it has a heading only.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.len() == 1
    }
}

/// A file may be named with line feeds or escapes, which must not reach the terminal.
fn printable(cell: String) -> String {
    if cell.chars().any(char::is_control) { cell.escape_debug().to_string() } else { cell }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = |column: usize| self.rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..self.sides.len()).map(width).collect();
        for row in &self.rows {
            let mut line = String::new();
            for ((cell, side), &width) in row.iter().zip(&self.sides).zip(&widths) {
                match side {
                    Side::Left => line.push_str(&format!("{cell:<width$}  ")),
                    Side::Right => line.push_str(&format!("{cell:>width$}  ")),
                }
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned() {
        let mut table = Table::new([("file", Side::Left), ("hits", Side::Right)]);
        assert!(table.is_empty());
        table.row(["a".into(), "1,000".into()]);
        table.row(["größer".into(), "7".into(), "too much".into()]);
        table.row(["missing".into()]);
        assert_eq!(table.to_string(), "file      hits\na        1,000\ngrößer       7\nmissing\n");
    }

    #[test]
    fn names_cannot_break_the_terminal() {
        let mut table = Table::new([("file", Side::Left)]);
        table.row(["a\n\x1b[2Jb".into()]);
        assert_eq!(table.to_string(), "file\na\\n\\u{1b}[2Jb\n");
    }
}
