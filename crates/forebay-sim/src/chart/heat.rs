//! A table of shares in colours: rows by columns, the better the greener.

use super::escape;

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
        text
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
    let hue = ((share.clamp(0.5, 1.0) - 0.5) * 240.0).round();
    format!("hsl({hue},70%,78%)")
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
        assert!(text.ends_with("<td class=\"n\"></td></tr>\n</table>\n"), "{text}");
    }
}
