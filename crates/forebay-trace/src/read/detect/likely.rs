//! Marks of formats in their first lines, so that a text is not taken for one that it only happens
//! to fit.

use crate::preset::Told;
use crate::read::text::{Fields, number};
use crate::{Format, Preset};

/// The lines that are not empty.
fn filled(lines: &[u8]) -> impl Iterator<Item = &[u8]> + Clone {
    lines.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii).filter(|line| !line.is_empty())
}

/// Whether some line has this text, without which it is not that format; the readers of logs skip
/// much and so fit much.
pub(super) fn particular(format: Format, lines: &[u8]) -> bool {
    let has = |text: &[u8]| memchr::memmem::find(lines, text).is_some();
    match format {
        Format::Biosnoop => has(b"TIME") && has(b"SECTOR") && has(b"BYTES"),
        Format::Ftrace => has(b"block_rq_issue:"),
        Format::S3Log => has(b" REST."),
        Format::AccessLog => has(b"] \""),
        Format::Strace => has(b") = ") || has(b"<unfinished ...>"),
        _ => true,
    }
}

/// Whether lines look like those of a preset without a header: so many fields, and times that do
/// not go back.
pub(super) fn preset(preset: Preset, lines: &[u8]) -> bool {
    let Told::Lines(least, most) = preset.told() else { return false };
    let columns = preset.columns();
    let delimiter = columns.delimiter.unwrap_or(b',');
    let fields = |line| fields(line, delimiter);
    let counted = filled(lines).all(|line| (least..=most).contains(&fields(line).len()));
    counted
        && match preset.name() {
            // Any three numbers fit these, so sizes must be sizes and times must rise.
            "webcachesim" => rising(lines, delimiter, 0) && column(lines, delimiter, 2).all(positive),
            "libcachesim" => {
                let next = |text: &[u8]| text == b"-1" || number(text).is_some();
                rising(lines, delimiter, 0)
                    && column(lines, delimiter, 2).all(positive)
                    && column(lines, delimiter, 3).all(next)
                    && header(lines, delimiter).is_none_or(|names| names.ends_with(b"next_access_vtime"))
            }
            // Seconds since 1970, after 2001.
            "tencent-block" => {
                column(lines, delimiter, 0).all(|text| number(text).is_some_and(|at| at >= 1_000_000_000))
            }
            "disksim" => column(lines, delimiter, 3).all(positive),
            _ => true,
        }
}

/// Whether lines look like those of the ARC traces: numbers of requests that rise.
pub(super) fn lis(lines: &[u8]) -> bool {
    let numbers = filled(lines).map(|line| Fields::of(line).nth(3).and_then(number));
    let mut rises = numbers.clone().zip(numbers.clone().skip(1));
    filled(lines).all(|line| Fields::of(line).count() == 4) && rises.all(|(one, next)| one < next)
}

fn positive(text: &[u8]) -> bool {
    number(text).is_some_and(|size| size > 0)
}

fn fields(line: &[u8], delimiter: u8) -> Vec<&[u8]> {
    match delimiter {
        b' ' => Fields::of(line).collect(),
        other => line.split(|&byte| byte == other).map(<[u8]>::trim_ascii).collect(),
    }
}

/// The first line, if it is a header: it begins with no number.
fn header(lines: &[u8], delimiter: u8) -> Option<&[u8]> {
    let first = filled(lines).next()?;
    let begins = fields(first, delimiter).first().copied().unwrap_or_default();
    begins.iter().any(|byte| !byte.is_ascii_digit() && *byte != b'.').then_some(first)
}

/// A column of the lines that are no header.
fn column(lines: &[u8], delimiter: u8, place: usize) -> impl Iterator<Item = &[u8]> {
    let headers = usize::from(header(lines, delimiter).is_some());
    filled(lines).skip(headers).map(move |line| fields(line, delimiter).get(place).copied().unwrap_or_default())
}

fn rising(lines: &[u8], delimiter: u8, place: usize) -> bool {
    let times: Option<Vec<u64>> = column(lines, delimiter, place).map(number).collect();
    times.is_some_and(|times| times.is_sorted())
}
