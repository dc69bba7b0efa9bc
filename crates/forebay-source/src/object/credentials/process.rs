//! Processes that give credentials (`credential_process`). The AWS crate starts them, and leaves
//! one that hangs to itself. So each gets a mark, by which it is found and ended with all the
//! processes that it started.
//!
//! ```text
//!  credential_process = login --json
//!  credential_process = export FOREBAY_CREDENTIALS=MARK; login --json      as the crate reads it
//! ```

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use aws_runtime::env_config::file::{EnvConfigFileKind, EnvConfigFiles};
use rustix::process::{Pid, Signal, kill_process};

use super::profile::paths;

/// The setting of a profile.
const SETTING: &str = "credential_process";

/// The variable that the mark is the value of.
const VARIABLE: &str = "FOREBAY_CREDENTIALS";

/// How often processes are looked for: those that end may have started others meanwhile.
const ROUNDS: usize = 10;

/// The pause before another look. The kernel tells nothing of a process that becomes another
/// program at the moment, and so a look may miss it.
const PAUSE: Duration = Duration::from_millis(10);

/// Marks the processes of one source.
pub(super) struct Mark(String);

impl Mark {
    /// A mark that no other source has.
    pub(super) fn new() -> Mark {
        Mark(format!("{VARIABLE}={}-{:016x}", std::process::id(), rand::random::<u64>()))
    }

    /// The profile files with marked processes; `None` if they start none.
    pub(super) fn files(&self) -> Option<EnvConfigFiles> {
        let mut files = EnvConfigFiles::builder();
        let mut any = false;
        for (kind, path) in [EnvConfigFileKind::Config, EnvConfigFileKind::Credentials].into_iter().zip(paths()) {
            let content = fs::read_to_string(path).unwrap_or_default();
            any |= content.contains(SETTING);
            files = files.with_contents(kind, self.marked(&content));
        }
        any.then(|| files.build())
    }

    fn marked(&self, content: &str) -> String {
        let marked = |line: &str| match line.split_once('=') {
            Some((name, command)) if name.trim_end() == SETTING && !command.trim().is_empty() => {
                format!("{SETTING} = export {}; {}", self.0, command.trim_start())
            }
            _ => line.to_owned(),
        };
        content.split_inclusive('\n').map(marked).collect()
    }

    /// Ends all processes with the mark. It is done once two looks in a row find none.
    pub(super) fn end(&self) {
        let mut found = true;
        for _ in 0..ROUNDS {
            let Ok(processes) = fs::read_dir("/proc") else { return };
            let names = processes.flatten().map(|process| process.file_name());
            let ids = names.filter_map(|name| name.to_str()?.parse().ok().and_then(Pid::from_raw));
            let ended = ids.filter(|&id| self.is_on(id) && kill_process(id, Signal::KILL).is_ok()).count();
            if ended == 0 && !found {
                return;
            }
            found = ended > 0;
            thread::sleep(PAUSE);
        }
    }

    /// A shell has the mark in its command, and its child processes have it in their environment.
    fn is_on(&self, id: Pid) -> bool {
        let folder = Path::new("/proc").join(id.as_raw_nonzero().to_string());
        let mark = self.0.as_bytes();
        let holds =
            |file| fs::read(folder.join(file)).is_ok_and(|text| text.windows(mark.len()).any(|part| part == mark));
        id != rustix::process::getpid() && (holds("cmdline") || holds("environ"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn only_processes_are_marked() {
        let mark = Mark("FOREBAY_CREDENTIALS=1-2".into());
        let file = "[profile a]\nregion = x\ncredential_process=/bin/a --b 'c=d' # e\n\n[default]\n\
                    credential_process = \n# credential_process = x\ns3 =\n  credential_process = y\n";
        let marked =
            file.replace("credential_process=/bin/a", "credential_process = export FOREBAY_CREDENTIALS=1-2; /bin/a");
        assert_eq!(mark.marked(file), marked);
    }

    #[test]
    fn what_is_marked_is_ended_and_nothing_else() {
        let (mark, other) = (Mark::new(), Mark::new());
        let started = |mark: &Mark| {
            let script = format!("export {}; sleep 1000 & sleep 1000; sleep 1000", mark.0);
            Command::new("sh").args(["-c", &script]).spawn().unwrap()
        };
        let (mut hanging, mut good) = (started(&mark), started(&other));
        while fs::read_to_string(format!("/proc/{0}/task/{0}/children", good.id())).is_ok_and(|ids| ids.is_empty()) {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        mark.end();
        assert!(!hanging.wait().unwrap().success());
        assert!(good.try_wait().unwrap().is_none());
        other.end();
        assert!(!good.wait().unwrap().success());
    }
}
