//! The process itself, as every exporter for Prometheus shows it.

use procfs::process::{LimitValue, Process};
use procfs::{CurrentSI, KernelStats};
use rustix::time::{ClockId, clock_gettime};

/// Memory, processor time and descriptors of this process.
#[derive(Clone, Copy, Debug)]
pub(super) struct Own {
    pub(super) cpu_seconds: f64,
    pub(super) resident_bytes: u64,
    pub(super) virtual_bytes: u64,
    pub(super) open_fds: u64,
    pub(super) max_fds: Option<u64>,
    pub(super) start_seconds: f64,
    pub(super) threads: u64,
}

impl Own {
    /// As it is now; `None` where `/proc` cannot be read.
    pub(super) fn look() -> Option<Own> {
        let own = Process::myself().ok()?;
        let stat = own.stat().ok()?;
        let cpu = clock_gettime(ClockId::ProcessCPUTime);
        let limit = own.limits().ok().map(|limits| limits.max_open_files.soft_limit);
        let booted = KernelStats::current().ok()?.btime;
        Some(Own {
            cpu_seconds: cpu.tv_sec as f64 + cpu.tv_nsec as f64 / 1e9,
            resident_bytes: stat.rss * procfs::page_size(),
            virtual_bytes: stat.vsize,
            open_fds: own.fd_count().ok()? as u64,
            max_fds: match limit {
                Some(LimitValue::Value(most)) => Some(most),
                _ => None,
            },
            start_seconds: booted as f64 + stat.starttime as f64 / procfs::ticks_per_second() as f64,
            threads: u64::try_from(stat.num_threads).unwrap_or(0),
        })
    }
}
