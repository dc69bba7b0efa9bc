//! `forebay mount`: opens the sources, starts an engine over them, and serves them until a signal
//! or an unmount.

use std::ffi::OsString;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use forebay_core::DeviceCost;
use forebay_fuse::MountOptions;
use forebay_live::contexts::{Callers, Keeper, Threads};
use forebay_live::tree::Tree;
use forebay_source::printable;
use forebay_source::uri::{self, Place};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::failure::Failure;
use crate::listen::Controls;
use crate::options::{Mount, Reading};
use crate::reading::Shows;
use crate::{daemon, environment, output, reading, supervisor};

/// Mounts, says when it is ready, and returns once it is unmounted.
pub(crate) fn run(options: &Mount) -> Result<(), Failure> {
    let (sources, point) = places(options)?;
    if options.detached {
        daemon::leave_session();
        daemon::follow();
    } else {
        environment::warn();
    }
    if options.daemon && !options.detached {
        return daemon::start_again(Stdio::null());
    }
    let started = start(options, sources, point);
    if let (Some(_), Err(failure)) = (&options.attached, &started) {
        // For the exception of that program.
        let _ = failure.errno().map(|errno| output::print(&format!("failed: {errno}\n")));
    }
    let (served, signals) = started?;
    if options.attached.is_some() {
        attached().map_err(|error| Failure::run(format!("cannot watch standard input: {error}")))?;
    }
    let line = format!("ready: {} at {}", served.what, point.display());
    let line = format!("{}\n", printable(&line));
    if !options.detached {
        output::print(&line)?;
    } else if let Err(error) = daemon::ready(&line).and_then(|()| daemon::let_go()) {
        (served.unmount)()?;
        return Err(Failure::run(format!("cannot go into the background: {error}")));
    }
    supervisor::ready(&line);
    log::info!("{}", line.trim_end());
    let ended = serve(served, signals);
    log::info!("unmounted");
    options.attached.as_deref().into_iter().for_each(remove);
    ended
}

/// Removes the folder of an attached mount, in which nothing is left. It has no other owner if the
/// program that made it was killed.
fn remove(folder: &Path) {
    let _ = std::fs::remove_file(folder.join("control"));
    let _ = std::fs::remove_dir(folder.join("mount"));
    let _ = std::fs::remove_dir(folder);
}

/// Unmounts once standard input ends, which it does however the program ends that holds the other
/// end. As long as the mount is busy, this is tried again.
fn attached() -> std::io::Result<()> {
    const AGAIN: Duration = Duration::from_secs(1);
    let thread = std::thread::Builder::new().name("forebay-attached".into()).spawn(|| {
        // Whatever is sent here has no meaning, and an error is an end as well.
        let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
        loop {
            if let Err(error) = signal_hook::low_level::raise(SIGTERM) {
                log::error!("cannot unmount: {error}");
            }
            std::thread::sleep(AGAIN);
        }
    });
    thread.map(drop)
}

/// The sources, and the mount point, which comes last.
fn places(options: &Mount) -> Result<(&[OsString], &Path), Failure> {
    let needed = |given: &str, source: &str| {
        let source = uri::without_user(source);
        let example = format!("a source and a mount point are needed, as in `forebay mount {source} /mnt/data`");
        Err(Failure::input(format!("{given}: {example}")))
    };
    match (options.places.as_slice(), &options.sources.named[..], &options.mountpoint) {
        ([], [], None) => needed("nothing was given", "/srv/data"),
        ([], sources @ [_, ..], Some(point)) => Ok((sources, point)),
        ([], [source, ..], None) => needed("no mount point was given", &source.to_string_lossy()),
        ([], [], Some(_)) => needed("no source was given", "/srv/data"),
        ([one], _, _) => {
            let one = one.to_string_lossy();
            needed(&format!("only {} was given", uri::without_user(&one)), &one)
        }
        ([sources @ .., point], _, _) => Ok((sources, Path::new(point))),
    }
}

/// A mount that is being served.
pub(super) struct Served {
    /// The sources, for messages.
    pub(super) what: String,
    /// Unmounts; called from another thread than `wait`.
    pub(super) unmount: Box<dyn Fn() -> Result<(), Failure> + Send>,
    /// Returns after an unmount, by us or from outside, once readers under way have been served.
    pub(super) wait: Box<dyn FnOnce() -> Result<(), Failure>>,
}

/// Opens the sources, starts the engine and mounts. Every failure here is bad input: exit code 2,
/// nothing mounted. Signals are taken once there is something to unmount. Until then they end the
/// command, also while it waits for a source.
fn start(options: &Mount, sources: &[OsString], point: &Path) -> Result<(Served, Signals), Failure> {
    let (reading, shows) = how_read(options)?;
    let policy = reading.policy;
    forebay_fuse::check(point)?;
    reading::outside(&reading, point)?;
    let (mut tree, costs) = reading::open(&reading, sources, shows, |place| outside(place, point))?;
    let signals = Signals::new([SIGINT, SIGTERM, SIGHUP]);
    let signals = signals.map_err(|error| Failure::run(format!("cannot take signals: {error}")))?;
    let keeper = if policy.context.is_some() { callers(options, &mut tree)? } else { None };
    let what = tree.describe();
    let how = how(options, &what, read_ahead(&costs));
    if options.detached {
        daemon::outlive();
    }
    let tree = Arc::new(tree);
    let controls = Controls::start(&options.control, &options.clients, &tree)?;
    let mounted = forebay_fuse::mount(tree, point, how)?;
    let unmounter = mounted.unmounter();
    let served = Served {
        what,
        unmount: Box::new(move || unmounter.unmount().map_err(Failure::run)),
        wait: Box::new(move || {
            let ended = mounted.wait().map_err(Failure::run);
            controls.stop();
            // After the last read.
            drop(keeper);
            ended
        }),
    };
    Ok((served, signals))
}

/// The sources are read so, and shown so.
pub(super) fn how_read(options: &Mount) -> Result<(Reading, Shows), Failure> {
    let policy = options.kernel_cache.applied_to(options.reading.policy);
    let referenced = options.kernel_cache.referenced(policy).map_err(Failure::input)?;
    let apart = if policy.context.is_some() { Callers::BYTES } else { 0 };
    let shows = Shows { referenced, apart, modes: options.shown.modes() };
    Ok((Reading { policy, ..options.reading.clone() }, shows))
}

/// Tells the policy the program contexts of readers, if it distinguishes contexts, and keeps the
/// hints that it learns of them.
fn callers(options: &Mount, tree: &mut Tree) -> Result<Option<Keeper>, Failure> {
    let own = options.told.table();
    // A default place that can't be used is no reason to refuse, and leaves nothing behind.
    let programs = match options.told.is_said() {
        true => Threads::new(own.as_deref()),
        false => Ok(Threads::found_at(own)),
    };
    let programs = programs.map_err(|error| Failure::input(format!("{error}; or give --contexts off")))?;
    let kept = options.kept.database().filter(|store| match store.load() {
        Err(error) if !options.kept.is_said() => {
            log::warn!("hints about program contexts are not kept: {error}");
            false
        }
        _ => true,
    });
    let Some(callers) = Callers::start(tree.engine(), programs, kept).map_err(Failure::input)? else {
        return Ok(None);
    };
    tree.know_callers(Arc::clone(&callers));
    let keeper = Keeper::start(callers);
    keeper.map(Some).map_err(|error| Failure::run(format!("cannot start a thread that keeps hints: {error}")))
}

/// A mount point inside a folder that it shows would show itself, so a walk through it would never
/// end. Compares paths without links; a folder that is mounted at two places is not recognised.
pub(super) fn outside(place: &Place<'_>, point: &Path) -> Result<(), Failure> {
    for device in place.devices() {
        let Place::Folder(folder) = device else { continue };
        // A missing folder is reported by the code that opens it.
        if let (Ok(folder), Ok(point)) = (folder.canonicalize(), point.canonicalize())
            && point != folder
            && point.starts_with(&folder)
        {
            return Err(Failure::input(format!(
                "{}: lies inside the source {}, which would contain itself; mount on a folder outside it",
                point.display(),
                folder.display()
            )));
        }
    }
    Ok(())
}

/// How far the kernel may read ahead by itself, bytes: as much as the slowest source transfers in a
/// millisecond, between the kernel's usual 128 KiB and one request of the largest size.
///
/// The kernel asks for pieces of this size. On storage as fast as memory, a piece costs more than
/// its transfer. On a disk Forebay shall look ahead, since it knows the cost of a switch there.
/// Blocks that the kernel reads ahead look like demand. The kernel does not know that faults in a
/// mapped file are random; such a fault takes three times as long with 1 MiB as with 128 KiB.
fn read_ahead(costs: &[DeviceCost]) -> u32 {
    const LEAST: u64 = 128 << 10;
    const MOST: u64 = 1 << 20;
    let slowest = costs.iter().map(|cost| cost.transfer_rate(0)).min().unwrap_or(0);
    // In multiples of `LEAST`, which are also multiples of the largest pages.
    ((slowest / 1000).clamp(LEAST, MOST) / LEAST * LEAST) as u32
}

fn how(options: &Mount, what: &str, read_ahead: u32) -> MountOptions {
    let processors = || std::thread::available_parallelism().map_or(1, usize::from);
    let ttl = options.reading.ttl();
    MountOptions {
        allow_other: options.allow_other,
        threads: options.threads.map_or_else(processors, usize::from),
        ttl,
        negative_ttl: ttl,
        noexec: options.noexec,
        fs_name: options.fs_name.as_deref().unwrap_or(what).to_owned(),
        read_ahead,
    }
}

/// Serves until a signal or an unmount from outside.
pub(super) fn serve(served: Served, mut signals: Signals) -> Result<(), Failure> {
    let unmount = served.unmount;
    let handle = signals.handle();
    let thread = std::thread::Builder::new().name("forebay-signals".into()).spawn(move || {
        for signal in signals.forever() {
            log::info!("signal {signal}: unmounting");
            supervisor::stopping();
            match unmount() {
                Ok(()) => return,
                // The mount is busy; the next signal tries again.
                Err(failure) => log::error!("{failure}"),
            }
        }
    });
    let thread = thread.map_err(|error| Failure::run(format!("cannot start a thread for signals: {error}")))?;
    let outcome = (served.wait)();
    handle.close();
    // The thread has no result. If it panicked, the message was printed then.
    let _ = thread.join();
    outcome
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::options::{Command, parse};

    fn given(places: &[&str]) -> Result<(Vec<OsString>, PathBuf), String> {
        let args = ["forebay", "--config", "/dev/null", "mount"].iter().chain(places).map(OsString::from);
        let Command::Mount(mount) = parse(args).map_err(|error| error.to_string())?.command else { unreachable!() };
        let (sources, point) = super::places(&mount).map_err(|error| error.to_string())?;
        Ok((sources.to_vec(), point.to_path_buf()))
    }

    #[test]
    fn the_last_place_is_the_mount_point() {
        assert_eq!(given(&["a", "b"]).unwrap(), (vec!["a".into()], "b".into()));
        assert_eq!(given(&["x=a", "y=s3://b", "c"]).unwrap(), (vec!["x=a".into(), "y=s3://b".into()], "c".into()));
        assert!(given(&["/srv"]).unwrap_err().contains("only /srv was given"));
        let secret = given(&["http://user:pass@host/"]).unwrap_err();
        assert!(secret.contains("only http://host/ was given"), "{secret}");
        assert!(given(&[]).unwrap_err().contains("nothing was given"));
        assert_eq!(
            given(&["--source=a", "--source=b", "--mountpoint=c"]).unwrap(),
            (vec!["a".into(), "b".into()], "c".into())
        );
        assert!(given(&["--source=a"]).unwrap_err().contains("forebay mount a /mnt/data"));
        assert!(given(&["--mountpoint=a"]).unwrap_err().contains("no source"));
        assert!(given(&["a", "b", "--source=c"]).is_err(), "one way or the other");
    }

    #[test]
    fn the_kernel_reads_ahead_as_far_as_the_slowest_source_is_fast() {
        let rates = |rates: &[u64]| {
            let costs: Vec<_> = rates.iter().map(|&rate| DeviceCost::flat(1_000_000, rate, 1)).collect();
            read_ahead(&costs) >> 10
        };
        assert_eq!(rates(&[50_000_000]), 128, "a disk");
        assert_eq!(rates(&[500_000_000]), 384);
        assert_eq!(rates(&[4_000_000_000]), 1024);
        assert_eq!(rates(&[4_000_000_000, 50_000_000]), 128);
    }

    #[test]
    fn it_serves_until_a_signal_unmounts() {
        let (unmounted, waits) = std::sync::mpsc::channel();
        let served = Served {
            what: "test".into(),
            unmount: Box::new(move || unmounted.send(()).map_err(Failure::run)),
            wait: Box::new(move || waits.recv().map_err(Failure::run)),
        };
        // A signal that nothing else in this process uses.
        let signals = Signals::new([signal_hook::consts::SIGUSR2]).unwrap();
        signal_hook::low_level::raise(signal_hook::consts::SIGUSR2).unwrap();
        serve(served, signals).unwrap();
    }
}
