//! A table of shares in colours: rows by columns, the better the greener.

use std::path::Path;

use super::{Error, Kind, draw, escape, page};

/// The meaning of the colours, under each map.
pub(super) const LEGEND: [(f64, &str); 3] = [(0.5, "0.5 and less"), (0.75, "0.75"), (1.0, "1, the best")];

/// A table whose cells are shares of the best, 0 to 1.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct HeatMap {
    /// Its heading.
    pub title: String,
    /// The heading of the columns, one each.
    pub columns: Vec<String>,
    /// From top to bottom.
    pub rows: Vec<HeatRow>,
}

/// A row of a heat map.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct HeatRow {
    /// Its heading.
    pub name: String,
    /// A cell a column.
    pub cells: Vec<HeatCell>,
}

/// A cell of a heat map.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct HeatCell {
    /// The share of the best; not a number where there is none.
    pub share: f64,
    /// The text that is shown under the pointer.
    pub note: String,
}

impl HeatMap {
    /// As a table, for a page that has more on it.
    pub fn figure(&self) -> String {
        let mut text = format!("<h3>{}</h3>\n<table class=\"heat\">\n<tr><th></th>", escape(&self.title));
        let headings: String =
            self.columns.iter().map(|name| format!("<th class=\"n\">{}</th>", escape(name))).collect();
        text.push_str(&headings);
        text.push_str("</tr>\n");
        for row in &self.rows {
            let cells: String = row.cells.iter().map(cell).collect();
            text.push_str(&format!("<tr><th>{}</th>{cells}</tr>\n", escape(&row.name)));
        }
        text.push_str("</table>\n");
        let colours = LEGEND.map(|(share, name)| {
            let colour = colour(share);
            format!("<span style=\"background:{colour};padding:0.1rem 0.5rem\">{name}</span>")
        });
        text.push_str(&format!("<p>Colours: {}</p>\n", colours.join(" ")));
        text
    }

    /// Writes it into a file, in the form of the file's ending.
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        let bytes = match Kind::of(path)? {
            Kind::Svg => draw::heat::svg(self).into_bytes(),
            Kind::Png => draw::heat::png(self),
            Kind::Html => page::page(&self.title, &self.figure()).into_bytes(),
        };
        std::fs::write(path, bytes).map_err(|source| Error::Write { path: path.to_owned(), source })
    }

    /// Whether it has no cell.
    pub fn is_empty(&self) -> bool {
        self.rows.iter().all(|row| row.cells.is_empty())
    }
}

fn cell(cell: &HeatCell) -> String {
    if !cell.share.is_finite() {
        return "<td class=\"n\"></td>".to_owned();
    }
    let colour = colour(cell.share);
    format!("<td class=\"n\" style=\"background:{colour}\" title=\"{}\">{:.2}</td>", escape(&cell.note), cell.share)
}

/// From red at a half and less, over yellow at three quarters, to green at one. Light, so that
/// black text is legible on each.
fn colour(share: f64) -> String {
    format!("hsl({},70%,78%)", hue(share))
}

/// The hue of a share, in degrees.
pub(super) fn hue(share: f64) -> f64 {
    ((share.clamp(0.5, 1.0) - 0.5) * 240.0).round()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cell_has_its_share_its_colour_and_its_note() {
        let cell = |share, note: &str| HeatCell { share, note: note.to_owned() };
        let row =
            HeatRow { name: "a <load>".into(), cells: vec![cell(1.0, "best"), cell(0.25, "x\"y"), cell(f64::NAN, "")] };
        let map =
            HeatMap { title: "shares".into(), columns: ["1", "2", "3"].map(str::to_owned).to_vec(), rows: vec![row] };
        let text = map.figure();
        assert!(text.contains("<th>a &lt;load&gt;</th>"), "{text}");
        assert!(text.contains("background:hsl(120,70%,78%)\" title=\"best\">1.00"), "{text}");
        assert!(text.contains("background:hsl(0,70%,78%)\" title=\"x&quot;y\">0.25"), "{text}");
        assert!(text.contains("<td class=\"n\"></td></tr>\n</table>\n"), "{text}");
        assert!(text.contains("background:hsl(0,70%,78%);") && text.contains("0.5 and less"), "a legend: {text}");
    }

    #[test]
    fn a_map_is_drawn_in_each_form() {
        let cell = |share| HeatCell { share, note: "under the pointer".to_owned() };
        let rows = ["epochs", "a <load>"].map(|name| HeatRow { name: name.into(), cells: [1.0, 0.5].map(cell).into() });
        let columns = ["store 5 %", "store 10 %"].map(str::to_owned).to_vec();
        let map = HeatMap { title: "shares".into(), columns, rows: rows.to_vec() };
        let folder = tempfile::tempdir().unwrap();
        let written = |name: &str| {
            let path = folder.path().join(name);
            map.write(&path).unwrap();
            std::fs::read(path).unwrap()
        };
        let text = String::from_utf8(written("x.svg")).unwrap();
        for part in ["<svg", "epochs", "store 10 %", "1.00", "0.50", "<title>under the pointer</title>", "0.5 and less"]
        {
            assert!(text.contains(part), "{part} is not in {text}");
        }
        assert!(written("x.png").starts_with(b"\x89PNG") && written("x.html").starts_with(b"<!doctype html>"));
        assert!(map.write(Path::new("x.pdf")).is_err() && !map.is_empty() && HeatMap::default().is_empty());
    }
}
