//! Judges a guess: whether columns can be what they are taken for, by the values in the first
//! lines. One set of rules for generic CSV and for every preset. Columns that the user named are
//! not judged.

use std::collections::BTreeSet;

use super::Csv;
use super::layout::Layout;
use super::operation::{Meaning, is_operation};
use super::sample::Sample;
use crate::Columns;
use crate::preset::{Marks, Times};
use crate::read::text::{decimal, number, quoted};

/// Objects and sizes of ranges that are counted in bytes are multiples of this.
const SECTOR: u64 = 512;

impl Csv {
    /// Why the lines cannot be read with these columns, whatever they are.
    pub(crate) fn implausible(&self, lines: &[u8]) -> Option<String> {
        let (layout, sample) = (&self.layout, self.sample(lines));
        let object = layout.object.filter(|_| layout.part.is_none())?;
        let words = sample.all(object, is_operation);
        words.then(|| {
            let words = BTreeSet::from_iter(sample.column(object).map(quoted));
            let words: Vec<String> = words.into_iter().take(4).collect();
            format!(
                "column {} would be the object, but has only words of operations ({}); say which is which, as in \
                 --columns time-col=1,op-col=2,offset-col=3,obj-size-col=4",
                object + 1,
                words.join(", ")
            )
        })
    }

    /// Whether lines look like those of a preset, which this decoder is of.
    pub(crate) fn looks_like(&self, marks: Marks, lines: &[u8]) -> bool {
        let (layout, sample) = (&self.layout, self.sample(lines));
        let widths = sample.len() > 0 && sample.widths().all(|fields| (marks.least..=marks.most).contains(&fields));
        if !widths || layout.contradicted || self.implausible(lines).is_some() {
            return false;
        }
        let wordy = layout.operation.is_some_and(|place| !sample.all(place, |text| number(text).is_some()));
        let sizes = wordy || layout.size.is_none_or(|place| sample.all(place, positive));
        let operations = layout.operation.is_none_or(|place| {
            let own = |text: &[u8]| self.words.own(text) != Meaning::Unknown;
            if wordy { sample.column(place).any(own) } else { sample.all(place, own) }
        });
        sizes && operations && layout.time.is_none_or(|place| times(&sample, place, marks.times, layout.unit))
    }

    /// Whether an unread column names each line's next request: ahead of it, and no request is the
    /// next one of two others.
    pub(crate) fn names_next_requests(&self, place: usize, lines: &[u8]) -> bool {
        let mut seen = BTreeSet::new();
        self.sample(lines).column(place).enumerate().all(|(line, text)| match number(text) {
            Some(next) if next < i64::MAX as u64 => next > line as u64 && seen.insert(next),
            Some(_) => true,
            None => text == b"-1",
        })
    }

    /// The reasons why a guess may be wrong although the lines can be read.
    pub(super) fn judged(&self, lines: &[u8]) -> Vec<String> {
        let (layout, sample) = (&self.layout, self.sample(lines));
        let mut doubts = Vec::new();
        if sample.len() == 0 {
            return doubts;
        }
        if !layout.header {
            doubts.extend(taken_for_offsets(layout, &sample));
            doubts.extend(taken_for_others(layout, &sample));
        }
        doubts.extend(unread_operation(layout, &sample));
        if let Some(place) = layout.time {
            let times: Vec<Option<u64>> = sample.column(place).map(|text| decimal(text, 3)).collect();
            let back = times.windows(2).filter(|two| two[1] < two[0]).count();
            if back * 4 >= times.len() {
                let column = place + 1;
                doubts
                    .push(format!("times in column {column} go back {back} times in the first {} lines", times.len()));
            }
        }
        doubts
    }

    /// The weak points of columns that were said as well as of those that were found.
    pub(super) fn weak_points(&self, columns: &Columns, lines: &[u8]) -> Vec<String> {
        let (layout, sample) = (&self.layout, self.sample(lines));
        let mut found = Vec::new();
        match (layout.size, layout.offset) {
            (None, None) => found.push("no column of sizes: each object counts as one byte".to_owned()),
            (None, Some(_)) => found.push("no column of sizes: each request counts as one byte".to_owned()),
            (Some(place), Some(_)) if layout.size_unit == 1 && columns.size_unit.is_none() => {
                let small = |text: &[u8]| number(text).is_some_and(|size| (1..SECTOR).contains(&size));
                if sample.all(place, small) {
                    found.push(format!(
                        "offsets and sizes are taken for bytes, but sizes are below {SECTOR}: if they are sectors, say so \
                         with --columns offset-unit={SECTOR},size-unit={SECTOR}"
                    ));
                }
            }
            _ => {}
        }
        let said = columns.size_unit.is_none() && columns.offset_unit.is_none();
        let places = [(layout.size, layout.size_unit), (layout.offset, layout.offset_unit)];
        for (place, unit) in places.into_iter().filter(|&(_, unit)| said && unit > 1) {
            let name = layout.shown(place.unwrap_or(0));
            found.push(format!("{name} is taken for units of {unit} bytes, by its name"));
        }
        let more = |text: &[u8]| number(text).is_some_and(|count| count > 1);
        if let Some(place) = layout.counts().filter(|&place| sample.column(place).any(more)) {
            let name = layout.shown(place);
            found.push(format!("a line counts as one request: {name} is not read, which says how many it stands for"));
        }
        found
    }

    /// Whether all objects count as one byte.
    pub(super) fn without_sizes(&self) -> bool {
        self.layout.size.is_none() && self.layout.offset.is_none()
    }

    fn sample<'a>(&self, lines: &'a [u8]) -> Sample<'a> {
        Sample::of(lines, self.delimiter, self.layout.header)
    }
}

fn positive(text: &[u8]) -> bool {
    number(text).is_some_and(|size| size > 0)
}

/// Whether times are as they should be; `unit` has so many nanoseconds.
fn times(sample: &Sample<'_>, place: usize, times: Times, unit: u64) -> bool {
    /// From 2001 to 2100.
    const YEARS: std::ops::Range<u64> = 978_307_200..4_102_444_800;
    match times {
        Times::Any => true,
        Times::Rising => {
            let times: Option<Vec<u64>> = sample.column(place).map(number).collect();
            times.is_some_and(|times| times.is_sorted())
        }
        Times::Since1970 => sample.all(place, |text| {
            number(text).is_some_and(|at| YEARS.contains(&(at / (1_000_000_000 / unit.clamp(1, 1_000_000_000)))))
        }),
    }
}

/// An object and a size that look like offset and length of a range.
fn taken_for_offsets(layout: &Layout, sample: &Sample<'_>) -> Option<String> {
    let (object, size) = (layout.object.filter(|_| layout.offset.is_none())?, layout.size?);
    let sectors = |place| sample.all(place, |text| number(text).is_some_and(|at| at % SECTOR == 0));
    let all_zero = sample.all(object, |text| text == b"0");
    let (one, other) = (object + 1, size + 1);
    (sectors(object) && sectors(size) && !all_zero).then(|| {
        format!(
            "columns {one} and {other} are taken for object and size, but have only multiples of {SECTOR}: if they are \
             offset and length, say so with --columns offset-col={one},obj-size-col={other}"
        )
    })
}

/// An object or a size that has no values but 0 and 1.
fn taken_for_others(layout: &Layout, sample: &Sample<'_>) -> Option<String> {
    if layout.operation.is_some() {
        return None;
    }
    let binary = |place| sample.all(place, |text| matches!(text, b"0" | b"1"));
    let places = [("object", layout.object), ("size", layout.size)];
    let found = places.into_iter().find(|&(_, place)| sample.len() > 1 && place.is_some_and(binary));
    found.map(|(what, place)| {
        let column = place.unwrap_or(0) + 1;
        format!("column {column} is taken for the {what}, but is 0 or 1 in all of the first lines, as an operation is")
    })
}

/// A column that is not read and may be that of the operation: words, or, where no header says what
/// they are, few small numbers.
fn unread_operation(layout: &Layout, sample: &Sample<'_>) -> Option<String> {
    /// Numbers of operations are below this, and no trace has more of them.
    const CODES: u64 = 16;
    const KINDS: usize = 4;
    if layout.operation.is_some() {
        return None;
    }
    let place = layout.unread().into_iter().find(|&place| {
        let few = BTreeSet::from_iter(sample.column(place)).len() <= KINDS;
        let code = |text: &[u8]| number(text).is_some_and(|code| code < CODES);
        few && sample.all(place, |text| is_operation(text) || !layout.header && code(text))
    })?;
    let column = place + 1;
    Some(format!(
        "every line counts as a read: column {column} is not read, but may be that of the operation; if it is, say so \
         as in --columns op-col={column},reads=0,writes=1"
    ))
}
