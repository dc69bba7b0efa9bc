//! `forebay run`: a program that tells mounts its contexts.

use std::os::unix::process::CommandExt;

use crate::failure::Failure;
use crate::options::Run;
use crate::preload;

/// Becomes the program, as env(1) does: input, output, signals and exit status are its own. Returns
/// only if that fails.
pub(crate) fn run(options: &Run) -> Result<(), Failure> {
    let mut command = preload::command(&options.program)?;
    let error = command.exec();
    Err(preload::not_started(&command, error))
}
