//! The display: one mount at a time, the others by name.

use std::time::Instant;

use forebay_core::explain::Stream;
use forebay_live::explain::{Explained, Named};
use forebay_live::stats::{DeviceStats, Stats};
use forebay_source::TierFigures;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style, Stylize};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Cell, Paragraph, Row, Sparkline, Table, Tabs};

use super::history::{History, Rates, hit_ratio};
use super::mounts::Said;
use crate::command::explain::words;
use crate::size::{about, count};
use crate::table;

/// A terminal that is wider than this shows more columns.
const WIDE: u16 = 120;

/// A stream without a read for this long is idle.
const IDLE: u64 = 5_000_000_000;

/// The content of the screen.
pub(super) struct View<'a> {
    pub(super) mounts: &'a [History],
    pub(super) chosen: usize,
    pub(super) now: Instant,
}

/// The streams that are being read, the busiest first.
pub(super) fn busiest(explained: &Explained) -> Vec<&Named<Stream>> {
    let mut busy: Vec<_> = explained.streams.iter().filter(|stream| stream.of.idle < IDLE).collect();
    busy.sort_by_key(|stream| (std::cmp::Reverse(stream.of.rate), stream.of.idle));
    busy
}

/// Draws everything.
pub(super) fn draw(frame: &mut Frame<'_>, view: &View<'_>) {
    let [head, tabs, rest] =
        Layout::vertical([Constraint::Length(1), Constraint::Length(1), Constraint::Min(0)]).areas(frame.area());
    let number = view.mounts.len();
    let mounts = if number == 1 { "1 mount".into() } else { format!("{number} mounts") };
    let title = Line::from(vec!["forebay top".bold(), format!("  {mounts}   q ends, ← → change the mount").dim()]);
    frame.render_widget(title, head);
    let Some(history) = view.mounts.get(view.chosen) else {
        return frame.render_widget(Paragraph::new("No mount of Forebay is here; `forebay mount` makes one."), rest);
    };
    frame.render_widget(names(view, tabs.width), tabs);
    match history.last() {
        Some(said) => mount(frame, rest, view.now, history, said),
        None => frame.render_widget(Paragraph::new(folded(state(history, view.now), rest.width)), rest),
    }
}

/// The mounts by name, from the chosen one on if they don't fit.
fn names<'a>(view: &'a View<'_>, width: u16) -> Tabs<'a> {
    let titles: Vec<Line<'_>> = view
        .mounts
        .iter()
        .map(|history| {
            let name = tail(&history.mount.display().to_string(), usize::from(width).saturating_sub(8));
            match history.gone {
                Some(_) => Line::from(vec![name.into(), " gone".red()]),
                None => Line::from(name),
            }
        })
        .collect();
    let room = |from: usize| titles[from..=view.chosen].iter().map(|title| title.width() + 3).sum::<usize>();
    let mut from = 0;
    while from < view.chosen && room(from) > usize::from(width) {
        from += 1;
    }
    let chosen = Style::new().add_modifier(Modifier::REVERSED);
    Tabs::new(titles.into_iter().skip(from)).select(view.chosen - from).highlight_style(chosen)
}

/// Whether a mount answers, and how it does.
fn state(history: &History, now: Instant) -> Line<'static> {
    match (&history.gone, history.last()) {
        (Some((since, why)), _) => {
            let seconds = now.saturating_duration_since(*since).as_secs();
            Line::from(format!("gone for {seconds} s: {why}")).red().bold()
        }
        (None, None) => Line::from("asking…").dim(),
        (None, Some(said)) => {
            let Stats { policy, memory_bytes, frames, frames_free, counts, active_streams, .. } = &said.stats;
            let full = percent(Some(frames.saturating_sub(*frames_free) as f64 / (*frames).max(1) as f64));
            Line::from(format!(
                "{} failed fetches, {} active streams, {policy}, {} of memory, {full} of its frames in use",
                count(counts.errors),
                count(*active_streams),
                about(*memory_bytes)
            ))
        }
    }
}

/// A line in lines that fit a width.
fn folded(line: Line<'static>, width: u16) -> Vec<Line<'static>> {
    let text = table::folded(&line.to_string(), width.into());
    text.lines().map(|part| Line::styled(part.to_owned(), line.style)).collect()
}

fn mount(frame: &mut Frame<'_>, area: Rect, now: Instant, history: &History, said: &Said) {
    let devices = said.stats.devices.len();
    // Streams have what is left, and a few lines at least.
    let most = usize::from(area.height).saturating_sub(12).max(1);
    let shown = devices.min(most);
    let tiers = said.stats.tiers.len() as u16;
    let tiers = if tiers > 0 { tiers + 2 } else { 0 };
    let state = folded(state(history, now), area.width);
    let devices_lines = shown as u16 + 1 + u16::from(shown < devices);
    let lines = [state.len() as u16, 1, 3, 1, devices_lines, 1, tiers].map(Constraint::Length);
    let areas: [Rect; 8] = Layout::vertical([&lines[..], &[Constraint::Min(2)]].concat()).areas(area);
    frame.render_widget(Paragraph::new(state), areas[0]);
    charts(frame, areas[2], history);
    device_table(frame, areas[4], history, &said.stats.devices[..shown]);
    if shown < devices {
        let more = Line::from(format!("and {} more devices", count((devices - shown) as u64))).dim();
        frame.render_widget(more, Rect { y: areas[4].bottom().saturating_sub(1), height: 1, ..areas[4] });
    }
    tier_table(frame, areas[6], &said.stats.tiers);
    stream_table(frame, areas[7], said);
}

/// Throughput, hit ratio, and late and wasted blocks over time.
fn charts(frame: &mut Frame<'_>, area: Rect, history: &History) {
    let rates = history.rates(|stats| Some(stats.counts));
    let now = rates.last().copied();
    let said = |text: Option<String>| text.unwrap_or_else(|| "–".into());
    let charts = [
        ("read", said(now.map(|now| a_second(now.read_bytes))), Color::Blue, pick(&rates, |rates| rates.read_bytes)),
        (
            "hits",
            percent(now.and_then(|now| now.hit_ratio)),
            Color::Green,
            pick(&rates, |rates| rates.hit_ratio.unwrap_or(0.0) * 1000.0),
        ),
        (
            "late",
            said(now.map(|now| blocks(now.late_blocks))),
            Color::Yellow,
            pick(&rates, |rates| rates.late_blocks * 10.0),
        ),
        (
            "wasted",
            said(now.map(|now| blocks(now.wasted_blocks))),
            Color::Magenta,
            pick(&rates, |rates| rates.wasted_blocks * 10.0),
        ),
    ];
    let columns = Layout::horizontal([Constraint::Ratio(1, 4); 4]).spacing(1).split(area);
    for ((name, value, colour, data), &column) in charts.into_iter().zip(columns.iter()) {
        let [head, body] = Layout::vertical([Constraint::Length(1), Constraint::Min(1)]).areas(column);
        frame.render_widget(Line::from(vec![Span::raw(name).dim(), " ".into(), Span::raw(value).bold()]), head);
        let from = data.len().saturating_sub(body.width.into());
        let line = Sparkline::default().data(data[from..].iter().copied()).style(Style::new().fg(colour));
        let line = if name == "hits" { line.max(1000) } else { line };
        frame.render_widget(line, body);
    }
}

fn pick(rates: &[Rates], of: impl Fn(&Rates) -> f64) -> Vec<u64> {
    rates.iter().map(|rates| of(rates).round() as u64).collect()
}

/// A column of a table.
struct Column {
    head: &'static str,
    /// Its width; zero takes what others leave.
    width: u16,
    /// Whether the terminal has room for it.
    shown: bool,
}

fn column(head: &'static str, width: u16, shown: bool) -> Column {
    Column { head, width, shown }
}

/// A table whose columns are right-aligned, but those that are told; the first takes the rest.
fn table<'a>(head: &[&'static str], widths: &[Constraint], rows: Vec<Vec<String>>, left: &[&str]) -> Table<'a> {
    let side = |name: &str| left.contains(&name);
    let cell = |name: &str, text: String| {
        let line = Line::from(text);
        Cell::from(if side(name) { line } else { line.right_aligned() })
    };
    let title = Row::new(head.iter().map(|&name| cell(name, name.to_owned())));
    let rows = rows.into_iter().map(|row| Row::new(head.iter().zip(row).map(|(&name, text)| cell(name, text))));
    Table::new(rows.collect::<Vec<_>>(), widths.to_vec()).header(title.style(Style::new().dim())).column_spacing(1)
}

fn device_table(frame: &mut Frame<'_>, area: Rect, history: &History, devices: &[DeviceStats]) {
    let wide = area.width >= WIDE;
    let divided = devices.iter().any(|device| device.partition.is_some());
    let columns = [
        column("device", 0, true),
        column("read", 11, true),
        column("fetched", 12, wide),
        column("hits", 8, true),
        column("late", 8, true),
        column("wasted", 8, true),
        column("depth", 9, true),
        column("flight", 6, true),
        column("switch", 10, wide),
        column("partition", 9, divided),
        column("shall be", 10, divided && wide),
        column("waited", 10, divided && wide),
        column("state", 8, divided && wide),
    ];
    let rows = devices.iter().enumerate().map(|(number, device)| {
        let now = history.rates(|stats| stats.devices.get(number).map(|device| device.counts)).last().copied();
        let rate = |of: fn(&Rates) -> f64| now.as_ref().map_or("–".into(), |now| a_second(of(now)));
        let part = device.partition;
        let of_part = |text: fn(forebay_live::stats::PartitionStats) -> String| part.map_or("–".into(), text);
        let cells = vec![
            device.name.clone(),
            rate(|rates| rates.read_bytes),
            rate(|rates| rates.fetched_bytes),
            percent(hit_ratio(&device.counts)),
            count(device.counts.late),
            count(device.counts.wasted),
            about(device.depth_bytes),
            count(device.in_flight.into()),
            format!("{:.2} ms", device.switch_cost_us / 1e3),
            of_part(|part| about(part.held_bytes)),
            of_part(|part| about(part.size_bytes)),
            of_part(|part| format!("{:.1} ms", part.wait_ms)),
            of_part(|part| format!("{:?}", part.state).to_lowercase()),
        ];
        shown(&columns, cells)
    });
    let rows = rows.collect();
    frame.render_widget(table(&heads(&columns), &widths(&columns), rows, &["device", "state"]), area);
}

fn tier_table(frame: &mut Frame<'_>, area: Rect, tiers: &[TierFigures]) {
    if tiers.is_empty() {
        return;
    }
    let wide = area.width >= WIDE;
    let columns = [
        column("disk tier", 0, true),
        column("found", 10, true),
        column("of asked", 8, true),
        column("written", 10, true),
        column("held", 10, wide),
        column("of", 10, wide),
        column("damaged", 8, wide),
        column("state", 12, true),
    ];
    let rows = tiers.iter().map(|tier| {
        let asked = (tier.hit_bytes + tier.miss_bytes).max(1);
        let cells = vec![
            tier.folder.display().to_string(),
            about(tier.hit_bytes),
            percent(Some(tier.hit_bytes as f64 / asked as f64)),
            about(tier.written_bytes),
            about(tier.disk_bytes),
            about(tier.size_bytes),
            count(tier.damaged),
            tier.state().to_string(),
        ];
        shown(&columns, cells)
    });
    let rows = rows.collect();
    frame.render_widget(table(&heads(&columns), &widths(&columns), rows, &["disk tier", "state"]), area);
}

fn stream_table(frame: &mut Frame<'_>, area: Rect, said: &Said) {
    let wide = area.width >= WIDE;
    let explained = &said.explained;
    let busy = busiest(explained);
    if busy.is_empty() {
        return frame.render_widget(Line::from("no stream was read within 5 s").dim(), area);
    }
    let name = if wide { 40 } else { 24 };
    let columns = [
        column("file", name, true),
        column("device", 16, wide),
        column("rate", 11, true),
        column("piece", 9, true),
        column("ahead", 9, wide),
        column("why", 0, true),
    ];
    let block = u64::from(explained.block_bytes);
    let rows = busy.iter().map(|stream| {
        let of = &stream.of;
        let file = if stream.name.is_empty() { format!("file {}", of.file) } else { stream.name.clone() };
        let device = explained.devices.get(usize::from(of.device)).map_or(String::new(), |device| device.name.clone());
        let cells = vec![
            tail(&file, name.into()),
            tail(&device, 16),
            format!("{}/s", about(of.rate)),
            about(u64::from(of.piece) * block),
            about(u64::from(of.remaining()) * block),
            if wide { words::of_stream(explained, of) } else { words::in_short(of).to_owned() },
        ];
        shown(&columns, cells)
    });
    let rows = rows.take(area.height.into()).collect();
    frame.render_widget(table(&heads(&columns), &widths(&columns), rows, &["file", "device", "why"]), area);
}

/// The end of a name, which tells more than its beginning.
fn tail(name: &str, width: usize) -> String {
    let length = name.chars().count();
    if length <= width {
        name.to_owned()
    } else {
        format!("…{}", name.chars().skip(length - width + 1).collect::<String>())
    }
}

fn shown(columns: &[Column], cells: Vec<String>) -> Vec<String> {
    columns.iter().zip(cells).filter(|(column, _)| column.shown).map(|(_, cell)| cell).collect()
}

fn heads(columns: &[Column]) -> Vec<&'static str> {
    columns.iter().filter(|column| column.shown).map(|column| column.head).collect()
}

fn widths(columns: &[Column]) -> Vec<Constraint> {
    let width = |width| if width == 0 { Constraint::Min(10) } else { Constraint::Length(width) };
    columns.iter().filter(|column| column.shown).map(|column| width(column.width)).collect()
}

fn a_second(bytes: f64) -> String {
    format!("{}/s", about(bytes.max(0.0) as u64))
}

fn blocks(number: f64) -> String {
    format!("{}/s", count(number.round().max(0.0) as u64))
}

fn percent(ratio: Option<f64>) -> String {
    ratio.map_or_else(|| "–".into(), |ratio| format!("{:.1} %", 100.0 * ratio))
}

#[cfg(test)]
mod tests;
