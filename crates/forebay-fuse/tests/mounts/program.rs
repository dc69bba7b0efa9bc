//! Programs that may hang in a mount.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::die_with_us;

/// A program that is killed at the end of the test, at the latest.
pub(crate) struct Program {
    child: Child,
    pub(crate) lines: Receiver<String>,
}

impl Program {
    pub(crate) fn start(command: &mut Command) -> Program {
        die_with_us(command);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let (send, lines) = channel();
        let said = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || said.lines().map_while(Result::ok).for_each(|line| drop(send.send(line))));
        Program { child, lines }
    }

    pub(crate) fn send(&self, signal: Signal) {
        kill_process(Pid::from_raw(self.child.id() as i32).unwrap(), signal).unwrap();
    }

    /// How it ended, within a time.
    pub(crate) fn ends_within(&mut self, time: Duration) -> Option<ExitStatus> {
        let began = Instant::now();
        while began.elapsed() < time {
            if let Some(status) = self.child.try_wait().unwrap() {
                return Some(status);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        None
    }

    /// Waits until it has been in a request for so long that it was surely checked.
    pub(crate) fn waits(&mut self, what: &str) {
        assert_eq!(self.ends_within(Duration::from_millis(400)), None, "{what} waits");
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        // A program that cannot be killed must not hold up the test, which then fails.
        let _ = self.ends_within(Duration::from_secs(2));
    }
}
