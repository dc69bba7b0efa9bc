//! Whether there is the memory that a mount is to have: in the machine, and in its control group.

use std::fs;
use std::path::{Path, PathBuf};

use super::Finding;
use crate::machine::{self, Memory};
use crate::size::{Size, about};

/// Memory of a mount beside its budget: the program, its threads, and the allocator's reserve.
const BESIDE: u64 = 64 << 20;

/// The findings for a budget.
pub(super) fn findings(budget: Size) -> Vec<Finding> {
    let table = machine::table();
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    vec![of_machine(budget, &table), group(budget, limit(Path::new("/sys/fs/cgroup"), &groups))]
}

/// The machine's memory, by the text of /proc/meminfo.
fn of_machine(budget: Size, table: &str) -> Finding {
    let check = "memory";
    let Some(Memory { total, available }) = machine::memory(table) else {
        return Finding::warning(check, "/proc/meminfo cannot be read", "mount /proc");
    };
    let said = format!("--memory {budget}: {} are available of {}", about(available), about(total));
    match budget.bytes().saturating_add(BESIDE) {
        needed if needed > total => Finding::failed(check, said, "give less, as in --memory 512MiB"),
        needed if needed > available => Finding::warning(check, said, "give less, or end programs that hold memory"),
        _ => Finding::ok(check, said),
    }
}

fn group(budget: Size, limit: Option<u64>) -> Finding {
    let check = "memory group";
    let Some(limit) = limit else { return Finding::ok(check, "the control group has no limit") };
    let said = format!("--memory {budget}: the control group has at most {}", about(limit));
    let advice = format!("give less, or let the group have {} more than the budget", about(BESIDE));
    match budget.bytes() {
        bytes if bytes > limit => Finding::failed(check, said, advice),
        bytes if bytes.saturating_add(BESIDE) > limit => Finding::warning(check, said, advice),
        _ => Finding::ok(check, said),
    }
}

/// The least limit of the groups that hold a process, in bytes. `root` is where the groups are
/// shown, `groups` the text of /proc/PID/cgroup (cgroups(7)), of version 1 or 2.
fn limit(root: &Path, groups: &str) -> Option<u64> {
    let of_line = |line: &str| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        let (folder, file) = match controllers {
            "" => (root.to_owned(), "memory.max"),
            names if names.split(',').any(|name| name == "memory") => (root.join("memory"), "memory.limit_in_bytes"),
            _ => return None,
        };
        let own = folder.join(path.trim_start_matches('/'));
        // A container may not see its group by its path, but as the root of what is shown.
        let above = own.ancestors().take_while(|group| group.starts_with(&folder)).map(PathBuf::from);
        above.filter_map(|group| number(&group.join(file))).min()
    };
    groups.lines().filter_map(of_line).min()
}

/// A limit of a file; `None` for none. Version 1 has a number near the largest for none.
fn number(file: &Path) -> Option<u64> {
    const NONE: u64 = 1 << 60;
    fs::read_to_string(file).ok()?.trim().parse().ok().filter(|&limit| limit < NONE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::doctor::State;

    #[test]
    fn the_machine_has_it_or_not() {
        let table = "MemTotal:       8388608 kB\nMemFree: 1 kB\nMemAvailable:    2097152 kB\n";
        for (budget, state) in
            [("1GiB", State::Ok), ("3GiB", State::Warning), ("8GiB", State::Failed), ("1000TiB", State::Failed)]
        {
            let finding = of_machine(budget.parse().unwrap(), table);
            assert_eq!(finding.state, state, "{finding:?}");
        }
        assert_eq!(of_machine("1GiB".parse().unwrap(), "").state, State::Warning);
    }

    #[test]
    fn the_least_limit_of_all_groups_above_counts() {
        let root = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| {
            let file = root.path().join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        };
        write("a/b/memory.max", "max\n");
        write("a/memory.max", "1073741824\n");
        write("memory/x/memory.limit_in_bytes", "9223372036854771712\n");
        write("memory/memory.limit_in_bytes", "536870912\n");
        let limit = |groups: &str| super::limit(root.path(), groups);
        assert_eq!(limit("0::/a/b\n"), Some(1 << 30));
        assert_eq!(limit("0::/elsewhere\n"), None);
        assert_eq!(limit("3:cpu,memory:/x\n0::/a/b\n"), Some(512 << 20));
        assert_eq!(limit(""), None);
        for (budget, state) in [("600MiB", State::Failed), ("500MiB", State::Warning), ("100MiB", State::Ok)] {
            assert_eq!(group(budget.parse().unwrap(), Some(512 << 20)).state, state);
        }
    }
}
