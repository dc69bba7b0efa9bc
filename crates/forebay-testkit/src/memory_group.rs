//! A bound on the memory of programs, their share of the page cache included: a control group
//! (version 1, `memory`).

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::tools;

const ROOT: &str = "/sys/fs/cgroup/memory";

/// How long programs may take to be gone.
const PATIENCE: Duration = Duration::from_secs(10);

/// Whether such groups can be made here. Says so loudly if not; fails in CI.
pub fn possible() -> bool {
    let possible = Path::new(ROOT).join("memory.limit_in_bytes").exists() && rustix::process::geteuid().is_root();
    if !possible {
        tools::skip("a memory controller of cgroup version 1");
    }
    possible
}

/// A group; removed when dropped, by when its programs must have ended.
#[derive(Debug)]
pub struct MemoryGroup {
    folder: PathBuf,
}

impl MemoryGroup {
    /// A new one, without a bound.
    pub fn new() -> io::Result<MemoryGroup> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = Path::new(ROOT).join(format!("forebay-{}-{number}", std::process::id()));
        fs::create_dir(&folder)?;
        Ok(MemoryGroup { folder })
    }

    /// `program`, to be run within the group.
    pub fn command(&self, program: &Path) -> Command {
        // A shell that joins and then becomes the program: nothing is ever outside.
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "echo 0 > \"$0\" && exec \"$@\""]).arg(self.folder.join("cgroup.procs")).arg(program);
        command
    }

    /// Bounds it to so many bytes.
    pub fn limit(&self, bytes: u64) -> io::Result<()> {
        fs::write(self.folder.join("memory.limit_in_bytes"), bytes.to_string())
    }

    /// Bytes that it has now, with page cache and the kernel's memory for it.
    pub fn usage(&self) -> io::Result<u64> {
        let text = fs::read_to_string(self.folder.join("memory.usage_in_bytes"))?;
        text.trim().parse().map_err(io::Error::other)
    }

    /// The part of that without page cache: its programs' own memory.
    pub fn own(&self) -> io::Result<u64> {
        let stat = fs::read_to_string(self.folder.join("memory.stat"))?;
        let cache = stat.lines().find_map(|line| line.strip_prefix("cache ")?.parse().ok()).unwrap_or(0);
        Ok(self.usage()?.saturating_sub(cache))
    }

    /// Takes its page cache away.
    pub fn forget(&self) -> io::Result<()> {
        fs::write(self.folder.join("memory.force_empty"), "0")
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        let begun = Instant::now();
        while let Err(error) = fs::remove_dir(&self.folder) {
            if begun.elapsed() > PATIENCE {
                eprintln!("{}: still there: {error}", self.folder.display());
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_keeps_no_more_than_its_bound_of_what_it_reads() {
        if !possible() {
            return;
        }
        const BOUND: u64 = 16 << 20;
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), vec![1; 64 << 20]).unwrap();
        file.as_file().sync_all().unwrap();
        // Pages that are in the page cache already are charged to the process that read or wrote
        // them.
        rustix::fs::fadvise(file.as_file(), 0, None, rustix::fs::Advice::DontNeed).unwrap();
        let group = MemoryGroup::new().unwrap();
        group.limit(BOUND).unwrap();
        let output = group.command(Path::new("/usr/bin/wc")).arg("-l").arg(file.path()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stdout).starts_with("0 "), "{output:?}");
        let most = fs::read_to_string(group.folder.join("memory.max_usage_in_bytes")).unwrap();
        let most: u64 = most.trim().parse().unwrap();
        // It would have taken four times as much.
        assert!(most > BOUND / 2 && most <= BOUND && group.usage().unwrap() <= BOUND, "{most}");
        assert!(group.own().unwrap() < BOUND / 2, "the program is gone, and what it read is page cache");
        group.forget().unwrap();
        let folder = group.folder.clone();
        drop(group);
        assert!(!folder.exists());
    }
}
