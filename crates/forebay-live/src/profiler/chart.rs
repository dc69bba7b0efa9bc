//! A profile as a picture for the terminal, in braille: each character is two dots wide and four
//! high.

use std::ops::Range;

use forebay_device::{Kind, Profile};

/// Lines of a chart, without its title and axis.
const HEIGHT: usize = 8;
/// Characters of the labels on the left, with the axis.
const MARGIN: usize = 8;
/// The narrowest picture, in characters.
const NARROWEST: usize = 24;

/// Pictures of `profile`, `width` characters wide (24 at least). For a disk: its switch cost
/// against distance and its rate against place. For any other store: the throughput of a request of
/// growing size.
pub fn picture(profile: &Profile, width: usize) -> String {
    let cost = profile.cost();
    let end = cost.capacity.max(1);
    if profile.kind == Kind::Disk {
        let reach = profile.seek.last().map_or(end, |&(distance, _)| distance);
        let switch = |share: f64| cost.switch_cost((reach as f64 * share) as u64) as f64 / 1e6;
        let rate = |share: f64| cost.transfer_rate(((end - 1) as f64 * share) as u64) as f64 / 1e6;
        let seek = chart("switch cost, ms, against distance", switch, "0"..bytes(reach).as_str(), width);
        return seek + &chart("transfer rate, MB/s, against place", rate, "0"..bytes(end).as_str(), width);
    }
    // From 4 KiB to 64 MiB, each step the same factor.
    let (least, factor) = (4096.0, 16384f64);
    let brings = |share: f64| {
        let len = least * factor.powf(share);
        len / (profile.first_byte as f64 + len * 1e9 / profile.rate.max(1) as f64) * 1e3
    };
    chart("throughput of one request at a time, MB/s, against its size", brings, "4 KiB".."64 MiB", width)
}

/// Draws `curve` over 0 ≤ x ≤ 1, from zero to its highest value; `ends` are the labels of the axis.
fn chart(title: &str, curve: impl Fn(f64) -> f64, ends: Range<&str>, width: usize) -> String {
    let columns = width.max(NARROWEST) - MARGIN;
    let dots = columns * 2;
    let values: Vec<f64> = (0..dots).map(|x| curve(x as f64 / (dots - 1) as f64).max(0.0)).collect();
    let top = values.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    let rows: Vec<usize> = values.iter().map(|y| (y / top * (HEIGHT * 4 - 1) as f64).round() as usize).collect();
    let mut cells = vec![vec![0u8; columns]; HEIGHT];
    for (x, &y) in rows.iter().enumerate() {
        // A steep curve is drawn without gaps, from the last dot to this one.
        let last = x.checked_sub(1).map_or(y, |before| rows[before]);
        let between = if last < y { last + 1..=y } else { y..=y.max(last.saturating_sub(1)) };
        for y in between {
            let down = HEIGHT * 4 - 1 - y;
            cells[down / 4][x / 2] |= dot(x % 2, down % 4);
        }
    }
    let mut out = format!("{title}\n");
    for (i, row) in cells.iter().enumerate() {
        let label = match i {
            0 => number(top),
            _ if i == HEIGHT / 2 => number(top / 2.0 * (1.0 - 1.0 / (HEIGHT * 4) as f64)),
            _ if i == HEIGHT - 1 => "0".into(),
            _ => String::new(),
        };
        let line: String = row.iter().map(|&dots| char::from_u32(0x2800 + u32::from(dots)).unwrap_or(' ')).collect();
        out += &format!("{label:>6} {}{line}\n", if label.is_empty() { '│' } else { '┤' });
    }
    out += &format!("{:>MARGIN$}{}\n", '└', "─".repeat(columns));
    let gap = columns.saturating_sub(ends.start.chars().count() + ends.end.chars().count());
    out + &format!("{:MARGIN$}{}{}{}\n", "", ends.start, " ".repeat(gap), ends.end)
}

/// The bit of a dot in a braille character: `across` 0 or 1, `down` 0 to 3.
fn dot(across: usize, down: usize) -> u8 {
    [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]][across][down]
}

/// Three digits or so.
fn number(value: f64) -> String {
    match value {
        v if v >= 100.0 => format!("{v:.0}"),
        v if v >= 1.0 => format!("{v:.1}"),
        v => format!("{v:.3}"),
    }
}

/// Bytes in the largest decimal unit that fits.
fn bytes(n: u64) -> String {
    let units = [(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    let found = units.into_iter().find(|&(size, _)| n as f64 >= size);
    found.map_or_else(|| format!("{n} B"), |(size, unit)| format!("{:.1} {unit}", n as f64 / size))
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_device::device;

    fn ibm() -> Profile {
        let cost = device("ibm-10k").unwrap().build(0).unwrap().cost();
        Profile {
            kind: Kind::Disk,
            device: "ibm".into(),
            measured: 0,
            capacity: cost.capacity,
            channels: 1,
            first_byte: 10_000_000,
            rate: 51_000_000,
            half_revolution: cost.half_revolution,
            seek: cost.seek,
            zones: cost.zones,
        }
    }

    /// The row of the highest dot in each column of the first or second chart, from the bottom;
    /// `None` for a column without dots.
    fn heights(picture: &str, title: &str) -> Vec<Option<usize>> {
        let lines: Vec<&str> =
            picture.lines().skip_while(|line| !line.starts_with(title)).skip(1).take(HEIGHT).collect();
        let rows: Vec<Vec<char>> = lines.iter().map(|line| line.chars().skip(MARGIN).collect()).collect();
        let highest = |x: usize| {
            (0..HEIGHT * 4).find(|&down| {
                let bits = rows[down / 4][x] as u32 - 0x2800;
                bits as u8 & (dot(0, down % 4) | dot(1, down % 4)) != 0
            })
        };
        (0..rows[0].len()).map(|x| highest(x).map(|down| HEIGHT * 4 - 1 - down)).collect()
    }

    #[test]
    fn a_disks_curves_rise_and_fall() {
        let picture = picture(&ibm(), 60);
        let seek: Vec<usize> = heights(&picture, "switch cost").into_iter().map(|y| y.expect("no gaps")).collect();
        assert!(seek.is_sorted() && seek.len() == 60 - MARGIN, "{picture}");
        assert_eq!(seek.last(), Some(&(HEIGHT * 4 - 1)), "the top is the highest value");
        let rate: Vec<usize> = heights(&picture, "transfer rate").into_iter().map(|y| y.expect("no gaps")).collect();
        assert!(rate.is_sorted_by(|a, b| a >= b), "{picture}");
        // 38 of 62 MB/s at the hub.
        assert!(rate.last().unwrap().abs_diff((HEIGHT * 4 - 1) * 38 / 62) <= 1, "{picture}");
        for label in ["36.4 GB", "18.", "62.", " ms,", "MB/s"] {
            assert!(picture.contains(label), "{label}: {picture}");
        }
    }

    #[test]
    fn lines_are_as_wide_as_asked() {
        for width in [0, 24, 25, 80, 200] {
            for line in picture(&ibm(), width).lines().filter(|line| line.contains(['┤', '│', '└'])) {
                assert_eq!(line.chars().count(), width.max(NARROWEST), "{line}");
            }
        }
    }

    #[test]
    fn a_store_without_places_shows_what_size_brings() {
        let store = Profile { kind: Kind::Flat, first_byte: 20_000_000, rate: 90_000_000, ..ibm() };
        let picture = picture(&store, 50);
        let heights: Vec<_> = heights(&picture, "throughput").into_iter().flatten().collect();
        assert!(heights.is_sorted() && heights.first() == Some(&0), "{picture}");
        assert!(picture.contains("4 KiB") && picture.contains("64 MiB"), "{picture}");
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!([0.05, 1.0, 12.34, 512.3].map(number), ["0.050", "1.0", "12.3", "512"]);
        assert_eq!([0, 999, 1500, 36_400_000_000].map(bytes), ["0 B", "999 B", "1.5 kB", "36.4 GB"]);
    }
}
