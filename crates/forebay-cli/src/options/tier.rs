//! The disk tier: folders that keep blocks which memory gave up.

use std::path::PathBuf;
use std::str::FromStr;

use clap::parser::ValueSource;
use clap::{ArgMatches, Args};

use super::{PREFIX, upper};
use crate::failure::Failure;
use crate::size::Size;

/// The options of the disk tier.
#[derive(Clone, Debug, Args)]
pub(crate) struct Tier {
    /// Keep blocks that memory gives up in this folder; may be given several times
    ///
    /// The folder should be on a disk that is faster than the sources. What is there outlives the
    /// command. A block is kept once it is fetched for the second time. The first sixteenth of an
    /// empty folder takes blocks at once. Example: `--disk /nvme/forebay --disk-size 200GiB`
    #[arg(long, value_name = "FOLDER")]
    pub(crate) disk: Vec<PathBuf>,

    /// The most that each --disk folder takes: bytes, or a share of its file system
    ///
    /// All files of the folder count, at any moment. Example: `--disk-size 200GiB`
    #[arg(long, value_name = "SIZE", default_value = "50%")]
    pub(crate) disk_size: Amount,

    /// Space that stays free in the file system of a --disk folder: bytes, or a share
    ///
    /// Below it the tier removes files of its own. Example: `--disk-free 20GiB`
    #[arg(long, value_name = "SIZE", default_value = "10%")]
    pub(crate) disk_free: Amount,

    /// The most that is written to a --disk folder in a second
    ///
    /// By default a fifth of the rate that the disk turns out to write at, so that it lasts.
    /// Example: `--disk-writes 50MiB`
    #[arg(long, value_name = "SIZE")]
    pub(crate) disk_writes: Option<Size>,
}

/// Refuses options that say how a disk tier shall be if there is none. `in_file` is the place where
/// the configuration file sets an option. `requires` of clap does not do for that: the folder may
/// come from the file.
pub(crate) fn without_a_folder(command: &ArgMatches, in_file: impl Fn(&str) -> Option<String>) -> Result<(), Failure> {
    // Commands without a tier have none of these.
    let is_set = |id: &str| command.try_contains_id(id).is_ok_and(|there| there);
    if is_set("disk") {
        return Ok(());
    }
    for id in ["disk_size", "disk_free", "disk_writes"] {
        let option = id.replace('_', "-");
        // A default of the file has the source of any default, and no value at all has none.
        let source = command.try_contains_id(id).ok().and_then(|_| command.value_source(id));
        let (said, advice) = match source {
            Some(ValueSource::CommandLine) => (format!("--{option}"), "add --disk FOLDER".to_owned()),
            Some(ValueSource::EnvVariable) => {
                let variable = |name: &str| format!("{PREFIX}{}", upper(name));
                (variable(&option), format!("set {} or give --disk FOLDER", variable("disk")))
            }
            Some(_) => match in_file(&option) {
                Some(place) => (place, "add `disk` there or give --disk FOLDER".to_owned()),
                None => continue,
            },
            None => continue,
        };
        return Err(Failure::input(format!("{said} is for a disk tier, and there is none: {advice}")));
    }
    Ok(())
}

/// Bytes, or a share of a whole.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Amount {
    Bytes(u64),
    Percent(f64),
}

impl FromStr for Amount {
    type Err = String;

    fn from_str(text: &str) -> Result<Amount, String> {
        let Some(percent) = text.trim().strip_suffix('%') else {
            return text.parse::<Size>().map(|size| Amount::Bytes(size.bytes())).map_err(|error| error.to_string());
        };
        match percent.trim().parse::<f64>() {
            Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(Amount::Percent(percent)),
            _ => Err("a share is 0% to 100%".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts() {
        assert_eq!("200GiB".parse(), Ok(Amount::Bytes(200 << 30)));
        assert_eq!(" 12.5% ".parse(), Ok(Amount::Percent(12.5)));
        for text in ["", "%", "101%", "-1%", "NaN%", "12 parsecs"] {
            assert!(text.parse::<Amount>().is_err(), "{text}");
        }
    }
}
