//! A folder for the files of one server, which goes away even if the test process is killed.

use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A temporary folder, named `forebay-NAME-PID-RANDOM` by the test process that made it. Drop
/// removes it. If the test process is killed, a janitor removes it: a shell that waits for the end
/// of a pipe whose other end only the test process holds.
#[derive(Debug)]
pub struct Scratch {
    folder: Option<tempfile::TempDir>,
    janitor: Child,
}

/// Removes its argument once its standard input ends, and first unmounts everything in it. The
/// second try is for a server that still wrote while the first one ran.
const JANITOR: &str = r#"
read -r _
while read -r _ _ _ _ at _; do
    case "$at" in "$1"/*) umount -l -- "$at" || fusermount3 -uz -- "$at" ;; esac
done </proc/self/mountinfo
rm -rf --one-file-system -- "$1" || { sleep 1; rm -rf --one-file-system -- "$1"; }"#;

impl Scratch {
    /// Makes an empty folder for the server `name`.
    pub fn new(name: &str) -> io::Result<Scratch> {
        Scratch::new_in(name, &std::env::temp_dir())
    }

    /// The same in a folder of the caller's choice.
    pub fn new_in(name: &str, place: &Path) -> io::Result<Scratch> {
        let prefix = format!("forebay-{name}-{}-", std::process::id());
        let folder = tempfile::Builder::new().prefix(&prefix).tempdir_in(place)?;
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", JANITOR, "forebay-janitor"]).arg(folder.path());
        shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        // A process group of its own survives a kill of the whole test run.
        let janitor = shell.process_group(0).spawn()?;
        Ok(Scratch { folder: Some(folder), janitor })
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        self.folder.as_ref().expect("the folder is there until drop").path()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(self.folder.take());
        // `wait` closes the pipe first.
        let _ = self.janitor.wait();
    }
}
