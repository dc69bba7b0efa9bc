//! Draws a heat map: names of rows to the left, of columns above, turned by a quarter, and the
//! legend of the colours below.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::super::heat::{HeatMap, LEGEND, hue};
use super::{Drawn, FONT, HEADING, INK, PIXELS, Spot, encoded, page, register_font, spoken_spots};

/// A cell, in pixels at scale 1.
const CELL: (u32, u32) = (48, 26);

/// Letters of names and shares.
const SMALL: u32 = 15;

/// About the width of a letter of that size. Names that are wider than this foretells are rare.
const LETTER: usize = 8;

/// The heading's strip, and the legend's.
const STRIP: u32 = 48;

/// Where the parts of a map are.
struct Places {
    /// The cells' left upper corner.
    left: u32,
    top: u32,
    size: (u32, u32),
}

impl Places {
    fn of(map: &HeatMap) -> Places {
        let widest = |names: &mut dyn Iterator<Item = &String>| {
            names.map(|name| name.chars().count() * LETTER).max().unwrap_or(0) as u32 + 24
        };
        let left = widest(&mut map.rows.iter().map(|row| &row.name));
        let top = STRIP + widest(&mut map.columns.iter());
        let width = left + CELL.0 * map.columns.len() as u32 + 24;
        let heading = (map.title.chars().count() * LETTER * 2) as u32;
        let height = top + CELL.1 * map.rows.len() as u32 + STRIP;
        Places { left, top, size: (width.max(heading).max(480), height) }
    }
}

pub(in super::super) fn svg(map: &HeatMap) -> String {
    let places = Places::of(map);
    let mut text = String::new();
    let spots = {
        let area = SVGBackend::with_string(&mut text, places.size).into_drawing_area();
        let spots = draw(map, &places, &area, 1);
        spots.and_then(|spots| area.present().map(|()| spots)).expect("a text takes whatever is drawn")
    };
    spoken_spots(&mut text, &spots, CELL.1 / 2);
    text
}

pub(in super::super) fn png(map: &HeatMap) -> Vec<u8> {
    let places = Places::of(map);
    let (width, height) = (places.size.0 * PIXELS, places.size.1 * PIXELS);
    let mut pixels = vec![255; (width * height * 3) as usize];
    {
        let area = BitMapBackend::with_buffer(&mut pixels, (width, height)).into_drawing_area();
        let drawn = draw(map, &places, &area, PIXELS).map(drop);
        drawn.and_then(|()| area.present()).expect("memory takes whatever is drawn");
    }
    encoded(&pixels, width, height)
}

/// Draws everything, `scale` times as large.
fn draw<DB: DrawingBackend>(map: &HeatMap, places: &Places, area: &DrawingArea<DB, Shift>, scale: u32) -> Drawn<DB> {
    register_font();
    area.fill(&WHITE)?;
    let letters = |size: u32| (FONT, size * scale).into_font().color(&INK);
    let at = |x: u32, y: u32| ((x * scale) as i32, (y * scale) as i32);
    area.draw_text(&page::printable(&map.title), &letters(HEADING), at(12, 12))?;
    let middle = |across| Pos::new(across, VPos::Center);
    for (number, name) in map.columns.iter().enumerate() {
        let x = places.left + CELL.0 * number as u32 + CELL.0 / 2;
        let font = (FONT, SMALL * scale).into_font().transform(FontTransform::Rotate270);
        area.draw_text(&page::printable(name), &font.color(&INK).pos(middle(HPos::Left)), at(x, places.top - 8))?;
    }
    let mut spots = Vec::new();
    for (number, row) in map.rows.iter().enumerate() {
        let top = places.top + CELL.1 * number as u32;
        let name = letters(SMALL).pos(middle(HPos::Right));
        area.draw_text(&page::printable(&row.name), &name, at(places.left - 8, top + CELL.1 / 2))?;
        for (column, cell) in row.cells.iter().enumerate().filter(|(_, cell)| cell.share.is_finite()) {
            let left = places.left + CELL.0 * column as u32;
            let corners = [at(left, top), at(left + CELL.0 - 1, top + CELL.1 - 1)];
            area.draw(&Rectangle::new(corners, light(cell.share).filled()))?;
            let centre = at(left + CELL.0 / 2, top + CELL.1 / 2);
            area.draw_text(&format!("{:.2}", cell.share), &letters(SMALL).pos(middle(HPos::Center)), centre)?;
            spots.push(Spot { at: centre, text: cell.note.clone() });
        }
    }
    let below = places.size.1 - STRIP / 2;
    for (number, (share, name)) in LEGEND.into_iter().enumerate() {
        let left = 12 + 150 * number as u32;
        let corners = [at(left, below - 8), at(left + 24, below + 8)];
        area.draw(&Rectangle::new(corners, light(share).filled()))?;
        area.draw_text(name, &letters(SMALL).pos(middle(HPos::Left)), at(left + 32, below))?;
    }
    Ok(spots)
}

/// The colour of a share, as on a page.
fn light(share: f64) -> HSLColor {
    HSLColor(hue(share) / 360.0, 0.7, 0.78)
}
