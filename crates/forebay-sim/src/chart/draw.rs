//! Draws a chart through plotters: vectors or pixels. The legend has a strip of its own, so that it
//! covers no line.

pub(super) mod heat;

use std::sync::Once;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::FontStyle;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::scale::{Scale, short};
use super::{Chart, Series, page};

/// The size of a picture at scale 1, in pixels.
const SIZE: (u32, u32) = (960, 540);

/// Pixels are drawn larger, for fine screens.
const PIXELS: u32 = 2;

/// Colours that colour-blind people can tell apart (Okabe and Ito 2008), without their yellow,
/// which is too pale for a line on white.
const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(230, 159, 0),
    RGBColor(0, 0, 0),
];

/// A line with more points than this is a curve, which marks would hide.
const MARKED: usize = 40;

/// The most points of a line that say their values under the pointer.
const SPEAKING: usize = 120;

/// Sizes of letters; plotters takes heights of lines, which are a quarter more.
const LETTERS: u32 = 18;
const HEADING: u32 = 25;

const FONT: &str = "sans-serif";
const INK: RGBColor = RGBColor(40, 40, 40);
const GRID: RGBColor = RGBColor(225, 225, 225);

type Drawn<DB> = Result<Vec<Spot>, DrawingAreaErrorKind<<DB as DrawingBackend>::ErrorType>>;

/// A point of a line: its place in the picture, and its text.
struct Spot {
    at: (i32, i32),
    text: String,
}

/// Gives plotters its font, which comes with the program: DejaVu Sans, free to use and to embed.
/// Pictures have the same letters and the same bytes on every machine.
pub fn register_font() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // It fails only for bytes that are no font, which the tests would find.
        let _ = plotters::style::register_font(FONT, FontStyle::Normal, dejavu::sans::regular());
    });
}

pub(super) fn svg(chart: &Chart) -> String {
    let mut text = String::new();
    let spots = {
        let area = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
        let spots = draw(chart, &area, 1);
        spots.and_then(|spots| area.present().map(|()| spots)).expect("a text takes whatever is drawn")
    };
    spoken_spots(&mut text, &spots, 6);
    text
}

/// Makes places of a drawn SVG say their texts under the pointer.
fn spoken_spots(svg: &mut String, spots: &[Spot], reach: u32) {
    let spoken = spots.iter().map(|Spot { at: (x, y), text }| {
        let text = page::escape(text);
        format!("<circle cx=\"{x}\" cy=\"{y}\" r=\"{reach}\" fill-opacity=\"0\"><title>{text}</title></circle>\n")
    });
    let end = svg.rfind("</svg>").unwrap_or(svg.len());
    svg.insert_str(end, &spoken.collect::<String>());
}

pub(super) fn png(chart: &Chart) -> Vec<u8> {
    let (width, height) = (SIZE.0 * PIXELS, SIZE.1 * PIXELS);
    let mut pixels = vec![255; (width * height * 3) as usize];
    {
        let area = BitMapBackend::with_buffer(&mut pixels, (width, height)).into_drawing_area();
        draw(chart, &area, PIXELS).map(drop).and_then(|()| area.present()).expect("memory takes whatever is drawn");
    }
    encoded(&pixels, width, height)
}

/// Pixels of three bytes as PNG.
fn encoded(pixels: &[u8], width: u32, height: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let written = encoder.write_header().and_then(|mut writer| writer.write_image_data(pixels));
    written.expect("the pixels are as many as the header says");
    bytes
}

/// Draws everything, `scale` times as large.
fn draw<DB: DrawingBackend>(chart: &Chart, area: &DrawingArea<DB, Shift>, scale: u32) -> Drawn<DB> {
    register_font();
    area.fill(&WHITE)?;
    let letters = |size: u32| (FONT, size * scale).into_font().color(&INK);
    let names =
        chart.series.iter().map(|series| area.estimate_text_size(&page::printable(&series.name), &letters(LETTERS)));
    let widest = names.collect::<Result<Vec<_>, _>>()?.into_iter().map(|(width, _)| width).max().unwrap_or(0);
    let legend = if widest > 0 { (widest + 56 * scale).min(SIZE.0 * scale / 2) } else { 0 };
    let (plot, strip) = area.split_horizontally(SIZE.0 * scale - legend);

    let points = || chart.series.iter().flat_map(|series| chart.placed(series));
    let x = Scale::holding(points().map(|point| point.0), chart.x.logarithmic).marked_at(&chart.places());
    let y = Scale::holding(points().map(|point| point.1), chart.y.logarithmic);
    let mut context = ChartBuilder::on(&plot)
        .caption(page::printable(&chart.title), letters(HEADING))
        .margin(14 * scale)
        .margin_right(24 * scale)
        .x_label_area_size(46 * scale)
        .y_label_area_size(66 * scale)
        .build_cartesian_2d(x, y)?;
    context
        .configure_mesh()
        .x_desc(page::printable(&chart.x.label))
        .y_desc(page::printable(&chart.y.label))
        .label_style(letters(LETTERS - 1))
        .axis_desc_style(letters(LETTERS))
        .axis_style(INK)
        .bold_line_style(GRID)
        .set_all_tick_mark_size(4 * scale as i32)
        .draw()?;
    let mut spots = Vec::new();
    for (number, series) in chart.series.iter().enumerate() {
        let points: Vec<(f64, f64)> = chart.placed(series).collect();
        let colour = COLOURS[number % COLOURS.len()];
        context.draw_series(LineSeries::new(points.iter().copied(), colour.stroke_width(2 * scale)))?;
        let inside = context.plotting_area();
        for (i, point) in points.iter().enumerate() {
            let at = inside.map_coordinate(point);
            if points.len() <= MARKED {
                mark(area, number, at.0, at.1, scale as i32)?;
            }
            if i % points.len().div_ceil(SPEAKING) == 0 {
                spots.push(Spot { at, text: spoken(chart, series, point.0, point.1) });
            }
        }
        if legend > 0 {
            let (_, top) = strip.get_base_pixel();
            let y = (56 + 24 * number as i32) * scale as i32;
            let line = [(6 * scale as i32, y), (34 * scale as i32, y)];
            strip.draw(&PathElement::new(line, colour.stroke_width(2 * scale)))?;
            let (left, _) = strip.get_base_pixel();
            mark(area, number, left + 20 * scale as i32, top + y, scale as i32)?;
            let style = letters(LETTERS).pos(Pos::new(HPos::Left, VPos::Center));
            strip.draw_text(&page::printable(&series.name), &style, (42 * scale as i32, y))?;
        }
    }
    Ok(spots)
}

/// The mark of line `number` at a pixel: shapes and colours change with different periods, so that
/// many lines can be told apart.
fn mark<DB: DrawingBackend>(
    area: &DrawingArea<DB, Shift>,
    number: usize,
    x: i32,
    y: i32,
    scale: i32,
) -> Result<(), DrawingAreaErrorKind<DB::ErrorType>> {
    let (at, colour) = ((x, y), COLOURS[number % COLOURS.len()]);
    let reach = 4 * scale;
    match number % 4 {
        0 => area.draw(&Circle::new(at, reach, colour.filled())),
        1 => area.draw(&TriangleMarker::new(at, reach + scale, colour.filled())),
        2 => {
            let corners = [(x - reach, y - reach), (x + reach, y + reach)];
            area.draw(&Rectangle::new(corners, colour.filled()))
        }
        _ => area.draw(&Cross::new(at, reach, colour.stroke_width(2 * scale as u32))),
    }
}

/// The text of a point under the pointer.
fn spoken(chart: &Chart, series: &Series, x: f64, y: f64) -> String {
    format!("{}\n{}: {}\n{}: {}", series.name, chart.x.label, short(x), chart.y.label, short(y))
}
