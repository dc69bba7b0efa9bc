//! Threads as `/proc` shows them (proc_pid_stat(5), Documentation/scheduler/sched-stats.rst).

use std::fs::File;
use std::io::{self, Read};

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use super::{Sight, Threads};

/// The threads of this machine, as far as our process id namespace shows them: a reader of another
/// one has no number (0).
#[derive(Clone, Copy, Debug)]
pub struct Proc {
    /// Scratch. A line of `stat` may be longer; the fields that we read stand at its beginning.
    line: [u8; 256],
}

impl Default for Proc {
    fn default() -> Proc {
        Proc { line: [0; 256] }
    }
}

impl Threads for Proc {
    fn look(&mut self, thread: u32) -> Sight {
        let Some(id) = i32::try_from(thread).ok().and_then(Pid::from_raw) else { return Sight::Unknown };
        match self.run_time(thread) {
            // Threads that other users own may be hidden (`hidepid`), but not from this.
            Err(error) if is_gone(&error) => match test_kill_process(id) {
                Err(Errno::SRCH) => Sight::Gone,
                _ => Sight::Unknown,
            },
            Err(_) => Sight::Unknown,
            Ok(_) if self.is_zombie(thread).unwrap_or(false) => Sight::Gone,
            Ok(run) => Sight::Alive(run),
        }
    }
}

impl Proc {
    /// How long a thread has run, nanoseconds: the first number of its `schedstat`, or without that
    /// (CONFIG_SCHED_INFO) the ticks that `stat` counts, coarse as they are.
    fn run_time(&mut self, thread: u32) -> io::Result<u64> {
        const TICK: u64 = 10_000_000;
        let missing = || io::Error::from(io::ErrorKind::InvalidData);
        match self.read(thread, "schedstat") {
            Ok(line) => line.split(' ').next().and_then(|run| run.parse().ok()).ok_or_else(missing),
            Err(_) => {
                let mut fields = self.read(thread, "stat").and_then(|line| after_name(line).ok_or_else(missing))?;
                // Fields 14 and 15 by the manual's count, of which the state is the third.
                let ticks = fields.nth(11).zip(fields.next()).ok_or_else(missing)?;
                let number = |text: &str| text.parse::<u64>().map_err(|_| missing());
                Ok((number(ticks.0)? + number(ticks.1)?) * TICK)
            }
        }
    }

    /// Whether nothing is left of a thread but its name in the table. The first thread of a process
    /// stays there until all have exited and the parent has waited for it.
    fn is_zombie(&mut self, thread: u32) -> io::Result<bool> {
        let state = after_name(self.read(thread, "stat")?).and_then(|mut fields| fields.next());
        Ok(matches!(state, Some("Z" | "X" | "x")))
    }

    /// The beginning of a file of a thread.
    fn read(&mut self, thread: u32, name: &str) -> io::Result<&str> {
        let mut file = File::open(format!("/proc/{thread}/{name}"))?;
        let len = file.read(&mut self.line)?;
        // The name of a program may be any bytes; the fields that we read come after it.
        let line = &self.line[..len];
        let from = line.iter().rposition(|byte| !byte.is_ascii()).map_or(0, |at| at + 1);
        std::str::from_utf8(&line[from..]).map(str::trim_end).map_err(io::Error::other)
    }
}

/// The fields of a line of `stat` that follow the name. The name is in brackets and may contain
/// brackets.
fn after_name(line: &str) -> Option<impl Iterator<Item = &str>> {
    Some(line.rsplit_once(") ")?.1.split(' '))
}

fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(Errno::SRCH.raw_os_error())
}
