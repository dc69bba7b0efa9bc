//! The commands, a file each.

mod demo;
mod mount;
mod policies;
mod profile;
mod stats;

use crate::failure::Failure;
use crate::options::Command;
use crate::reference;

/// Does what was asked.
pub(crate) fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Mount(mount) => self::mount::run(&mount),
        Command::Profile(profile) => self::profile::run(&profile),
        Command::Stats(stats) => self::stats::run(&stats),
        Command::Policies(policies) => self::policies::run(&policies),
        Command::Demo(demo) => self::demo::run(&demo),
        Command::Reference => reference::run(),
    }
}
