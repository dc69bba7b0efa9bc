//! The memory of this machine, by /proc/meminfo.

use std::fs;

use crate::failure::Failure;
use crate::size::{Size, about};

/// Memory in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Memory {
    pub(crate) total: u64,
    pub(crate) available: u64,
}

/// The memory, by the text of /proc/meminfo.
pub(crate) fn memory(table: &str) -> Option<Memory> {
    let row = |name: &str| {
        let line = table.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        Some(line.split_whitespace().next()?.parse::<u64>().ok()? << 10)
    };
    Some(Memory { total: row("MemTotal")?, available: row("MemAvailable")? })
}

/// The text of /proc/meminfo; empty if it cannot be read.
pub(crate) fn table() -> String {
    fs::read_to_string("/proc/meminfo").unwrap_or_default()
}

/// Refuses a budget beyond the memory of the machine: its tables alone could fill that.
pub(crate) fn holds(budget: Size) -> Result<(), Failure> {
    match memory(&table()) {
        Some(Memory { total, .. }) if budget.bytes() > total => Err(Failure::input(format!(
            "--memory {budget}: the machine has {}; give less, as in --memory 512MiB",
            about(total)
        ))),
        _ => Ok(()),
    }
}
