//! `forebay demo`: a slow disk, modelled in real time, read by more and more handlers at once under three policies, beside
//! what an offline optimum could do.

use indicatif::ProgressBar;
use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::options::Demo;
use crate::table::{Side, Table};
use crate::{bars, output, progress};

/// How long a bar is, in characters.
const WIDTH: usize = 40;

/// One measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Record {
    /// The policy.
    policy: String,
    /// How many readers at once.
    handlers: u32,
    /// What they got together, in 10^6 bytes a second.
    throughput_mb_s: f64,
    /// What an offline optimum would get: S / (S/R + C) (CP §3.2).
    optimum_mb_s: f64,
}

/// Measures and shows.
pub(crate) fn run(options: &Demo) -> Result<(), Failure> {
    let bar = progress::bar("measuring", 1);
    let records = measure(options.seconds, &bar);
    bar.finish_and_clear();
    let records = records?;
    if options.json { output::json(&records) } else { output::print(&picture(&records)) }
}

/// Runs every policy with every number of handlers, within `seconds` in all.
fn measure(_seconds: u16, _bar: &ProgressBar) -> Result<Vec<Record>, Failure> {
    Err(Failure::run("this build has no engine to measure"))
}

/// The records as bars, a group for each number of handlers; the mark is the optimum.
fn picture(records: &[Record]) -> String {
    let most = records.iter().flat_map(|r| [r.throughput_mb_s, r.optimum_mb_s]).fold(0.0, f64::max);
    let mut table = Table::new([
        ("handlers", Side::Right),
        ("policy", Side::Left),
        ("MB/s", Side::Right),
        ("of optimum", Side::Right),
        ("", Side::Left),
    ]);
    let mut group = None;
    for record in records {
        let first = group.replace(record.handlers) != Some(record.handlers);
        let share = 100.0 * record.throughput_mb_s / record.optimum_mb_s;
        table.row([
            if first { record.handlers.to_string() } else { String::new() },
            record.policy.clone(),
            format!("{:.1}", record.throughput_mb_s),
            if share.is_finite() { format!("{share:.0} %") } else { "–".into() },
            bars::bar(record.throughput_mb_s, record.optimum_mb_s, most, WIDTH),
        ]);
    }
    format!("{table}\n│ is the offline optimum, which knows every read in advance.\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(policy: &str, handlers: u32, throughput_mb_s: f64, optimum_mb_s: f64) -> Record {
        Record { policy: policy.into(), handlers, throughput_mb_s, optimum_mb_s }
    }

    #[test]
    fn bars_in_groups() {
        let text = picture(&[
            record("linux", 4, 10.0, 40.0),
            record("competitive", 4, 30.0, 40.0),
            record("linux", 16, 0.0, 0.0),
        ]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "handlers  policy       MB/s  of optimum");
        assert_eq!(lines[1], format!("       4  linux        10.0        25 %  {}{}│", "█".repeat(10), " ".repeat(29)));
        assert_eq!(lines[2], format!("          competitive  30.0        75 %  {}{}│", "█".repeat(30), " ".repeat(9)));
        assert_eq!(lines[3], "      16  linux         0.0           –");
    }

    #[test]
    fn json_has_the_fields_of_a_record() {
        let text = serde_json::to_string(&[record("linux", 1, 2.5, 5.0)]).unwrap();
        assert_eq!(text, r#"[{"policy":"linux","handlers":1,"throughput_mb_s":2.5,"optimum_mb_s":5.0}]"#);
    }
}
