//! Programs under the preload library: the library's place, the environment that it reads, and the
//! exit codes of programs.

use std::ffi::OsString;
use std::io::{Error, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, ExitStatus};

use forebay_callers::{CONTEXTS, Table};

use crate::failure::Failure;
use crate::options::Program;

/// The file of the library.
const LIBRARY: &str = "libforebay_preload.so";

/// The variable for the library's path, if it is not at a usual place. Not an option, since it
/// depends on how Forebay was installed.
const VARIABLE: &str = "FOREBAY_CONTEXT_LIBRARY";

/// The program, with the library preloaded. Its child processes inherit the library.
pub(crate) fn command(program: &Program) -> Result<Command, Failure> {
    let library = library()?;
    let mut preload = library.into_os_string();
    if preload.as_bytes().iter().any(|byte| b" :".contains(byte)) {
        let library = preload.display();
        return Err(Failure::input(format!(
            "{library}: the loader takes no library whose path has a blank or a colon; copy it elsewhere and set {VARIABLE}"
        )));
    }
    // Libraries that were to be preloaded anyway still are.
    if let Some(others) = std::env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
        preload.push(":");
        preload.push(others);
    }
    let [name, arguments @ ..] = program.program.as_slice() else { return Err(Failure::input("no program is given")) };
    let mut command = Command::new(name);
    command.args(arguments).env("LD_PRELOAD", preload).env(CONTEXTS, contexts(program)?);
    Ok(command)
}

/// The value of [`CONTEXTS`]: the path of a table, which exists.
fn contexts(program: &Program) -> Result<OsString, Failure> {
    let Some(path) = program.told.table() else { return Ok(OsString::new()) };
    // Programs may change their folder.
    let path = std::path::absolute(&path).map_err(|error| Failure::input(format!("{}: {error}", path.display())))?;
    Table::create(&path).map_err(|error| Failure::input(format!("{error}; or give --contexts off")))?;
    Ok(path.into_os_string())
}

/// The library's path: the variable's value, beside this command, in `lib` beside its folder, or
/// cargo's place.
fn library() -> Result<PathBuf, Failure> {
    if let Some(said) = std::env::var_os(VARIABLE).filter(|said| !said.is_empty()) {
        let library = PathBuf::from(said);
        let found = std::path::absolute(&library).ok().filter(|library| library.is_file());
        return found.ok_or_else(|| Failure::input(format!("{VARIABLE} says {}: no such file", library.display())));
    }
    let executable = std::env::current_exe().and_then(|path| path.canonicalize());
    let executable = executable.map_err(|error| Failure::run(format!("cannot find this very command: {error}")))?;
    let folder = executable.parent().map(PathBuf::from).unwrap_or_default();
    let places = ["", "../lib", "../lib/forebay", "deps"].map(|place| folder.join(place).join(LIBRARY));
    places.iter().find(|place| place.is_file()).cloned().ok_or_else(|| {
        let places: Vec<String> = places.iter().map(|place| place.display().to_string()).collect();
        Failure::input(format!(
            "{LIBRARY} is not at {}; set {VARIABLE} to where it is (cargo build -p forebay-preload makes it)",
            places.join(", ")
        ))
    })
}

/// A program that did not start, by the exit codes of shells: 127, no such program; 126, it cannot
/// run.
pub(crate) fn not_started(command: &Command, error: Error) -> Failure {
    let code = if error.kind() == ErrorKind::NotFound { 127 } else { 126 };
    Failure::Start(code, format!("{}: {error}", command.get_program().display()))
}

/// The end of a program as an exit code, by the rule of shells: 128 and the signal, if one ended
/// it.
pub(crate) fn code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}
