//! The signals that wait for a thread in a system call, by `/proc` (proc_pid_status(5)).

/// A thread's signals, each set a bit a signal, from 1 on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Signals {
    /// Sent to it or to its process, and not taken yet.
    pending: u64,
    blocked: u64,
    ignored: u64,
    caught: u64,
}

/// The signals by which a person or a service manager asks a program to stop, whether it has a
/// handler or not.
const STOP: [i32; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGQUIT, libc::SIGHUP];

/// Signals that, without a handler, end a process with an image of its memory. All others that end
/// one the kernel turns into `SIGKILL` as they are sent.
const DUMP: [i32; 9] = [
    libc::SIGQUIT,
    libc::SIGILL,
    libc::SIGTRAP,
    libc::SIGABRT,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGSEGV,
    libc::SIGXCPU,
    libc::SIGXFSZ,
];

fn set(of: &[i32]) -> u64 {
    of.iter().fold(0, |set, &signal| set | 1 << (signal - 1))
}

impl Signals {
    /// The signals of a thread; `None` if it cannot be seen.
    pub(crate) fn of(thread: u32) -> Option<Signals> {
        Some(Signals::read(&std::fs::read(format!("/proc/{thread}/status")).ok()?))
    }

    fn read(status: &[u8]) -> Signals {
        let mut signals = Signals::default();
        for line in status.split(|&byte| byte == b'\n') {
            let Some((name, value)) = std::str::from_utf8(line).ok().and_then(|line| line.split_once(':')) else {
                continue;
            };
            let value = || u64::from_str_radix(value.trim(), 16).unwrap_or(0);
            match name {
                "SigPnd" | "ShdPnd" => signals.pending |= value(),
                "SigBlk" => signals.blocked = value(),
                "SigIgn" => signals.ignored = value(),
                "SigCgt" => signals.caught = value(),
                _ => {}
            }
        }
        signals
    }

    /// Whether the thread ends as soon as it can.
    pub(crate) fn kill(self) -> bool {
        let dump = self.open() & set(&DUMP) & !self.caught;
        self.pending & set(&[libc::SIGKILL]) | dump != 0
    }

    /// Whether the thread was asked to stop.
    pub(crate) fn interrupt(self) -> bool {
        self.open() & set(&STOP) != 0
    }

    /// Signals that the thread would take if it could.
    fn open(self) -> u64 {
        self.pending & !self.blocked & !self.ignored
    }
}

/// Whether `/proc` is of this process's own process id namespace.
pub(crate) fn sees_itself() -> bool {
    let own = std::fs::read_link("/proc/self");
    own.is_ok_and(|own| own.as_os_str() == std::process::id().to_string().as_str())
}

/// Whether a thread is known to be in a system call, rather than in a load from a mapped file.
pub(crate) fn in_system_call(thread: u32) -> bool {
    let told = std::fs::read_to_string(format!("/proc/{thread}/syscall"));
    told.is_ok_and(|told| told.starts_with(|first: char| first.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signals(pending: &[i32]) -> Signals {
        Signals { pending: set(pending), ..Signals::default() }
    }

    #[test]
    fn reads_what_the_kernel_says() {
        let status = b"Name:\tca\xfft\nSigQ:\t0/1\nSigPnd:\t0000000000000100\nShdPnd:\t0000000000000002
SigBlk:\t0000000000000010\nSigIgn:\t0000000000000020\nSigCgt:\t0000000000000040\n";
        let expected = Signals { pending: 0x102, blocked: 0x10, ignored: 0x20, caught: 0x40 };
        assert_eq!(Signals::read(status), expected);
        assert!(Signals::read(status).kill() && Signals::read(status).interrupt());
        let own = Signals::of(rustix::thread::gettid().as_raw_nonzero().get() as u32).unwrap();
        assert!(!own.kill() && !own.interrupt());
        assert_eq!(Signals::of(u32::MAX), None);
    }

    #[test]
    fn only_what_asks_to_stop_interrupts() {
        for signal in STOP {
            let sent = signals(&[signal]);
            assert!(sent.interrupt() && Signals { caught: set(&[signal]), ..sent }.interrupt());
            assert!(!Signals { blocked: set(&[signal]), ..sent }.interrupt());
            assert!(!Signals { ignored: set(&[signal]), ..sent }.interrupt());
        }
        for signal in [libc::SIGURG, libc::SIGCHLD, libc::SIGWINCH, libc::SIGUSR1, libc::SIGALRM, libc::SIGPROF] {
            assert!(!signals(&[signal]).interrupt() && !signals(&[signal]).kill(), "{signal}");
        }
    }

    #[test]
    fn what_ends_a_thread_kills() {
        assert!(Signals { blocked: u64::MAX, ..signals(&[libc::SIGKILL]) }.kill());
        for signal in DUMP {
            assert!(signals(&[signal]).kill());
            assert!(!Signals { caught: set(&[signal]), ..signals(&[signal]) }.kill());
            assert!(!Signals { blocked: set(&[signal]), ..signals(&[signal]) }.kill());
        }
    }
}
