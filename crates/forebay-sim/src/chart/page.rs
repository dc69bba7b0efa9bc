//! A page for a browser that needs no other file.

use super::{Chart, short};

/// The most rows of a table; curves are thinned to it, and the page says so.
const ROWS: usize = 200;

const STYLE: &str = "\
body { font: 16px/1.5 system-ui, sans-serif; color: #282828; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.25rem; margin-top: 2.5rem; }
svg { max-width: 100%; height: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 0.15rem 0.8rem; border-bottom: 1px solid #ddd; text-align: left; vertical-align: top; }
th.n, td.n { text-align: right; }
table.heat { font-size: 0.8rem; } .heat th, .heat td { padding: 0.1rem 0.35rem; }
details { margin: 0.5rem 0 1.5rem; }
.holds, .beyond { color: #00664a; } .weaker { color: #8a5a00; } .fails { color: #a02c00; font-weight: bold; }";

/// Text as it may stand in HTML and SVG.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            c => escaped.push(allowed(c)),
        }
    }
    escaped
}

/// Text without the characters that XML forbids in any form.
pub(super) fn printable(text: &str) -> String {
    text.chars().map(allowed).collect()
}

fn allowed(c: char) -> char {
    if (c.is_control() && c != '\n') || matches!(c, '\u{fffe}' | '\u{ffff}') { '\u{fffd}' } else { c }
}

pub(super) fn page(title: &str, body: &str) -> String {
    let title = escape(title);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{title}</title>\n<style>\n{STYLE}\n</style>\n\
         </head>\n<body>\n<h1>{title}</h1>\n{body}</body>\n</html>\n"
    )
}

pub(super) fn figure(chart: &Chart) -> String {
    let places = chart.places();
    let shown: Vec<f64> = places.iter().copied().step_by(places.len().div_ceil(ROWS).max(1)).collect();
    let left_out = if shown.len() < places.len() {
        format!(", {} of {} points", shown.len(), places.len())
    } else {
        String::new()
    };
    let mut text = format!("{}<details open><summary>Values{left_out}</summary>\n<table>\n<tr>", chart.svg());
    let heading = |name: &str| format!("<th class=\"n\">{}</th>", escape(name));
    text.push_str(&heading(&chart.x.label));
    chart.series.iter().for_each(|series| text.push_str(&heading(&series.name)));
    text.push_str("</tr>\n");
    for x in shown {
        text.push_str(&format!("<tr><td class=\"n\">{}</td>", short(x)));
        for series in &chart.series {
            let y = series.points.iter().find(|point| point.0 == x).map(|point| exact(point.1));
            text.push_str(&format!("<td class=\"n\">{}</td>", y.unwrap_or_default()));
        }
        text.push_str("</tr>\n");
    }
    text.push_str("</table>\n</details>\n");
    text
}

/// With five significant digits.
fn exact(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let decimals = (4 - value.abs().log10().floor() as i32).clamp(0, 12) as usize;
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}
