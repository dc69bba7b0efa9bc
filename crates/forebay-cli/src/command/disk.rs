//! `forebay disk`: serves a modelled disk, at its pace and in real time, as one file, until a
//! signal or an unmount.

use std::sync::Arc;

use forebay_fuse::MountOptions;
use forebay_source::disk::PacedDisk;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::mount::{Served, serve};
use crate::failure::Failure;
use crate::options::Disk;
use crate::{output, size};

/// Threads that take requests: each moves a request's bytes between image and kernel, and waits for
/// neither pace nor reply.
const THREADS: usize = 4;

/// Mounts, says when it is ready, and returns once it is unmounted.
pub(crate) fn run(options: &Disk) -> Result<(), Failure> {
    // Before any thread is started, so that no signal comes too early.
    let signals = Signals::new([SIGINT, SIGTERM, SIGHUP]);
    let signals = signals.map_err(|error| Failure::run(format!("cannot take signals: {error}")))?;
    let served = start(options)?;
    output::print(&format!("ready: {} at {}\n", served.what, options.mountpoint.display()))?;
    serve(served, signals)
}

/// Opens the image and mounts. Every failure here is bad input: exit code 2, nothing mounted.
fn start(options: &Disk) -> Result<Served, Failure> {
    // Writing back this disk's data must not wait for memory that only this disk can free. And
    // other work of the processor must not slow the disk down. Only root may ask for both; the
    // threads started below inherit them.
    let _ = rustix::process::configure_io_flusher_behavior(true);
    let _ = rustix::process::setpriority_process(None, -20);
    let device = forebay_device::device(&options.device).map_err(Failure::input)?;
    let queue = device.queue(options.seed, &options.scheduler).map_err(Failure::input)?;
    let disk = Arc::new(PacedDisk::open(&options.image, queue, options.scale).map_err(Failure::input)?);
    let what = format!("{} of {} on {}", device.name, size::about(disk.size()), options.image.display());
    let how = MountOptions { threads: THREADS, fs_name: what.clone(), ..MountOptions::default() };
    let mounted = forebay_fuse::mount_disk(disk, &options.mountpoint, how).map_err(Failure::input)?;
    let unmounter = mounted.unmounter();
    Ok(Served {
        what,
        unmount: Box::new(move || unmounter.unmount().map_err(Failure::run)),
        wait: Box::new(move || mounted.wait().map_err(Failure::run)),
    })
}
