//! The readers of settings over any bytes, for `forebay-fuzz`.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use clap::Parser;

use crate::options::{self, Fstab};
use crate::period::Period;
use crate::{address, config, fstab};

/// A configuration file; an error is its message.
pub fn configuration(text: &[u8]) -> Result<usize, String> {
    let text = String::from_utf8_lossy(text);
    config::defaults(options::definitions(), Path::new("fuzzed.toml"), &text).map(|_| 1).map_err(|e| e.to_string())
}

/// The options of a line of fstab; returns how many words the command would get.
pub fn line_of_fstab(options: &[u8]) -> Result<usize, String> {
    let args = [OsStr::new("mount.forebay"), OsStr::new("/srv"), OsStr::new("/mnt"), OsStr::new("-o")];
    let args = args.into_iter().chain([OsStr::from_bytes(options)]);
    let line = Fstab::try_parse_from(args).map_err(|error| error.to_string())?;
    fstab::translated(&line).map(|args| args.len()).map_err(|failure| failure.to_string())
}

/// A command line, its words on a line each.
pub fn arguments(lines: &[u8]) -> Result<usize, String> {
    let words = lines.split(|&byte| byte == b'\n').map(|word| OsStr::from_bytes(word).to_owned());
    let args = std::iter::once(OsString::from("forebay")).chain(words);
    options::definitions().try_get_matches_from(args).map(|_| 1).map_err(|error| error.kind().to_string())
}

/// A span of time; one that is read comes back from its own text.
pub fn period(text: &[u8]) -> bool {
    let Ok(period) = String::from_utf8_lossy(text).parse::<Period>() else { return false };
    assert_eq!(period.to_string().parse(), Ok(period));
    true
}

/// The address of a control channel; returns whether it is one.
pub fn control(text: &[u8]) -> bool {
    address::url(&String::from_utf8_lossy(text), forebay_serve::STATS).is_ok()
}
