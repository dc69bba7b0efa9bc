//! `forebay mount`: opens the sources, starts an engine over them, and serves them until it is told to stop.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::failure::Failure;
use crate::options::Mount;
use crate::{daemon, output};

/// Mounts, says when it is ready, and returns once it is unmounted.
pub(crate) fn run(options: &Mount) -> Result<(), Failure> {
    let (sources, point) = places(options)?;
    if options.detached {
        daemon::leave_session();
    } else if options.daemon {
        return daemon::start();
    }
    // Before any thread is started, so that no signal finds us unprepared.
    let signals = Signals::new([SIGINT, SIGTERM, SIGHUP]);
    let signals = signals.map_err(|error| Failure::run(format!("cannot take signals: {error}")))?;
    let served = start(options, sources, point)?;
    output::print(&format!("ready: {} at {}\n", served.what, point.display()))?;
    if options.detached {
        daemon::let_go().map_err(|error| Failure::run(format!("cannot go into the background: {error}")))?;
    }
    serve(served, signals)
}

/// The sources, and the mount point, which comes last.
fn places(options: &Mount) -> Result<(&[OsString], &Path), Failure> {
    match options.places.split_last() {
        Some((point, sources)) if !sources.is_empty() => Ok((sources, Path::new(point))),
        _ => {
            let given = options.places.first().map(PathBuf::from).unwrap_or_default();
            let given = given.display();
            Err(Failure::input(format!(
                "only {given} was given: a source and a mount point are needed, as in `forebay mount {given} /mnt/data`"
            )))
        }
    }
}

/// A mount that is being served.
struct Served {
    /// What it shows.
    what: String,
    /// Takes it off; readers under way are served first. Called from another thread than `wait`.
    unmount: Box<dyn Fn() -> Result<(), Failure> + Send>,
    /// Returns when it is off, by us or by somebody else.
    wait: Box<dyn FnOnce() -> Result<(), Failure>>,
}

/// Opens the sources, starts the engine and mounts.
fn start(options: &Mount, sources: &[OsString], point: &Path) -> Result<Served, Failure> {
    log::debug!("a budget of {} bytes, names valid for {:?}", options.memory.bytes(), options.ttl.duration());
    let what = sources.iter().map(|source| source.display().to_string()).collect::<Vec<_>>().join(" ");
    Err(Failure::run(format!("this build has no engine to mount {what} at {} with", point.display())))
}

/// Serves until a signal comes or somebody unmounts it.
fn serve(served: Served, mut signals: Signals) -> Result<(), Failure> {
    let unmount = served.unmount;
    let handle = signals.handle();
    let thread = std::thread::Builder::new().name("forebay-signals".into()).spawn(move || {
        for signal in signals.forever() {
            log::info!("signal {signal}: unmounting");
            match unmount() {
                Ok(()) => return,
                // Somebody is in the way; the next signal tries again.
                Err(failure) => log::error!("{failure}"),
            }
        }
    });
    let thread = thread.map_err(|error| Failure::run(format!("cannot start a thread for signals: {error}")))?;
    let outcome = (served.wait)();
    handle.close();
    // It has no result; that it panicked was printed when it did.
    let _ = thread.join();
    outcome
}

#[cfg(test)]
mod tests {
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
        assert!(given(&[]).is_err());
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
