//! The `forebay` command, serving a mount of its own for as long as its value lives.

use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::mounts::{MountPoint, lazy_unmount};
use crate::process::{Running, Signal};

/// How long it may take to end by itself.
const PATIENCE: Duration = Duration::from_secs(10);

/// `forebay mount` or `forebay disk` at a mount point of its own. Told to end when dropped, and
/// killed if it does not.
#[derive(Debug)]
pub struct Served {
    running: Running,
    point: MountPoint,
}

impl Served {
    /// Runs `command`, which gets the mount point as its last argument, and waits until it says
    /// that it is ready. The command reports its failures on standard error.
    pub fn start(mut command: Command) -> io::Result<Served> {
        let point = MountPoint::new()?;
        let (said, says) = io::pipe()?;
        command.arg(point.path()).stdin(Stdio::null()).stdout(says);
        let running = Running::start(command)?;
        let mut line = String::new();
        BufReader::new(said).read_line(&mut line)?;
        if !line.starts_with("ready: ") {
            return Err(io::Error::other(format!("it ended without being ready: {}", running.wait()?)));
        }
        Ok(Served { running, point })
    }

    /// Its mount point.
    pub fn point(&self) -> &Path {
        self.point.path()
    }

    /// The command's process id.
    pub fn id(&self) -> u32 {
        self.running.id()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let begun = Instant::now();
        // If the signal does not end it, dropping the fields does.
        let _ = self.running.signal(Signal::TERM);
        while matches!(self.running.ended(), Ok(None)) && begun.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(5));
        }
        lazy_unmount(self.point.path());
    }
}
