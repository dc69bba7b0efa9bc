//! `forebay completions`: a script that completes the command line in a shell.

use clap::{Command, CommandFactory};

use crate::failure::Failure;
use crate::options::{Completions, Forebay};
use crate::output;

/// Prints the script.
pub(crate) fn run(options: &Completions) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut shown(&Forebay::command()), "forebay", &mut script);
    output::print(&String::from_utf8_lossy(&script))
}

/// A command without what is hidden, which the scripts would offer.
fn shown(command: &Command) -> Command {
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let commands = command.get_subcommands().filter(|below| !below.is_hide_set()).map(shown);
    let args = command.get_arguments().filter(|arg| !arg.is_hide_set());
    Command::new(command.get_name().to_owned()).about(about).args(args).subcommands(commands)
}
