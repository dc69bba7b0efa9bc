//! A program that runs for as long as its value lives, and not longer than the test process.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, kill_process};

pub use rustix::process::Signal;

/// A running program; killed when dropped, and by the kernel when the test process dies.
#[derive(Debug)]
pub struct Running {
    orders: Sender<Order>,
    thread: Option<JoinHandle<()>>,
    id: u32,
}

enum Order {
    Stop,
    Ask(Sender<io::Result<Option<ExitStatus>>>),
}

impl Running {
    /// Starts a program. The kernel's death signal comes when the *thread* that started the program
    /// ends, so a thread of its own starts it and stays with it.
    pub fn start(mut command: Command) -> io::Result<Running> {
        // SAFETY: `prctl` with these arguments is async-signal-safe and touches no memory.
        unsafe {
            command.pre_exec(|| match libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) {
                0 => Ok(()),
                _ => Err(io::Error::last_os_error()),
            });
        }
        let (started, wait) = channel();
        let (orders, receive) = channel();
        let thread = std::thread::Builder::new().name("test-program".into()).spawn(move || {
            let spawned = command.spawn();
            // Closes our copies of the program's output, so that a reader at the other end sees its
            // end.
            drop(command);
            match spawned {
                Ok(child) => {
                    let _ = started.send(Ok(child.id()));
                    stay(child, &receive);
                }
                Err(error) => drop(started.send(Err(error))),
            }
        })?;
        let id = wait.recv().map_err(io::Error::other)??;
        Ok(Running { orders, thread: Some(thread), id })
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Whether it has ended, and how.
    pub fn ended(&self) -> io::Result<Option<ExitStatus>> {
        let (answer, wait) = channel();
        self.orders.send(Order::Ask(answer)).map_err(io::Error::other)?;
        wait.recv().map_err(io::Error::other)?
    }

    /// Waits for its end. The limit of a minute is for a program that hangs: then it is an error.
    pub fn wait(&self) -> io::Result<ExitStatus> {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(60) {
            if let Some(status) = self.ended()? {
                return Ok(status);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Err(io::Error::new(io::ErrorKind::TimedOut, "the program does not end"))
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) -> io::Result<()> {
        let id = i32::try_from(self.id).ok().and_then(Pid::from_raw);
        let id = id.ok_or_else(|| io::Error::other("no process has this id"))?;
        Ok(kill_process(id, signal)?)
    }
}

/// Whether the process `id` runs. A zombie does not.
pub fn runs(id: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    // `12 (name of any kind) S 1 …`
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

fn stay(mut child: Child, orders: &Receiver<Order>) {
    while let Ok(Order::Ask(answer)) = orders.recv() {
        let _ = answer.send(child.try_wait());
    }
    let _ = child.kill();
    let _ = child.wait();
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.orders.send(Order::Stop);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_ends_with_its_value_and_not_with_the_thread_that_asked_for_it() {
        let start = || {
            let mut sleep = Command::new("sleep");
            sleep.arg("600");
            Running::start(sleep).unwrap()
        };
        let running = std::thread::spawn(start).join().unwrap();
        assert!(running.ended().unwrap().is_none());
        let id = running.id();
        assert!(runs(id));
        drop(running);
        assert!(!runs(id));
    }

    #[test]
    fn a_missing_program_is_an_error() {
        assert!(Running::start(Command::new("/no/such/program")).is_err());
    }
}
