//! Throughput against the number of handlers, as CP Fig. 3 has it.

use std::path::Path;

use plotters::prelude::*;

use crate::report::{Beside, Point, Row};

const SERIES: [(&str, RGBColor); 4] = [
    ("linux", RGBColor(120, 120, 120)),
    ("aggressive", RGBColor(214, 126, 44)),
    ("competitive", RGBColor(31, 98, 168)),
    ("offline optimum", RGBColor(60, 150, 80)),
];

/// Draws whole files on the left, and random portions on the right.
pub(crate) fn handlers(rows: &[Row], path: &Path) -> anyhow::Result<()> {
    forebay_sim::chart::register_font();
    let area = SVGBackend::new(path, (900, 380)).into_drawing_area();
    area.fill(&WHITE)?;
    let titles = [("whole", "whole files of 4 MB"), ("random", "random portions of them")];
    for (panel, (portion, title)) in area.split_evenly((1, 2)).iter().zip(titles) {
        let point = |row: &Row| match &row.point {
            Some(Beside::Point(point)) => Some(point.clone()),
            _ => None,
        };
        let mut points: Vec<Point> = rows.iter().filter_map(point).collect();
        points.retain(|point| point.portion == portion);
        points.dedup_by_key(|point| point.handlers);
        let most = points.iter().map(|point| point.handlers).max().unwrap_or(1);
        let mut chart = ChartBuilder::on(panel)
            .caption(title, ("sans-serif", 18))
            .margin(12)
            .x_label_area_size(36)
            .y_label_area_size(44)
            .build_cartesian_2d((1..most).log_scale().base(2.0), 0.0..50.0)?;
        chart.configure_mesh().x_desc("handlers at once").y_desc("MB/s").x_labels(7).light_line_style(WHITE).draw()?;
        for (number, (name, colour)) in SERIES.into_iter().enumerate() {
            let line = points.iter().map(|point| (point.handlers, point.mb_s[number]));
            chart
                .draw_series(LineSeries::new(line, colour.stroke_width(2)).point_size(3))?
                .label(name)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], colour.stroke_width(2)));
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::LowerRight)
            .background_style(WHITE.mix(0.8))
            .border_style(BLACK.mix(0.3))
            .draw()?;
    }
    area.present()?;
    Ok(())
}
