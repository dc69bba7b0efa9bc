//! `forebay serve`: opens the sources, starts an engine over them, and serves them over HTTP until
//! a signal.

use std::ffi::OsString;
use std::sync::Arc;

use forebay_live::engine::Referenced;
use forebay_serve::{Limits, Options, Server};
use forebay_source::{Modes, printable};
use serde_json::json;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::failure::Failure;
use crate::options::Serve;
use crate::reading::Shows;
use crate::{environment, listen, output, reading, supervisor};

/// Serves, says when it is ready, and returns after a signal, once it has finished the requests
/// under way.
pub(crate) fn run(options: &Serve) -> Result<(), Failure> {
    environment::warn();
    let (server, what, mut signals) = start(options)?;
    let scheme = if options.clients.tls_cert.is_some() { "https" } else { "http" };
    let url = format!("{scheme}://{}/", server.address());
    let line = format!("ready: {} at {url}", printable(&what));
    if options.json {
        output::json(&json!({ "url": url, "source": what }))?;
    } else {
        output::print(&format!("{line}\n"))?;
    }
    supervisor::ready(&line);
    log::info!("{line}");
    if let Some(signal) = signals.forever().next() {
        log::info!("signal {signal}: ending");
        supervisor::stopping();
    }
    if !server.stop() {
        log::warn!("answers that took longer than {} were broken off", options.grace);
    }
    Ok(())
}

/// Opens the sources and listens. Every failure here is bad input: exit code 2, nothing served.
/// Until it listens, signals end the command, also while it waits for a source.
fn start(options: &Serve) -> Result<(Server, String, Signals), Failure> {
    let limits = limits(options);
    let how = Options {
        labels: options.labels,
        metrics_paths: options.clients.metrics_paths,
        ttl: options.reading.ttl(),
        limits,
        ..Options::default()
    };
    let how = listen::at(options.listen, &options.clients, how)?;
    // No kernel cache above keeps read blocks.
    let shows = Shows { referenced: Referenced::Kept, apart: limits.bytes(), modes: Modes::default() };
    let (tree, _) = reading::open(&options.reading, sources(options)?, shows, |_| Ok(()))?;
    let what = tree.describe();
    let signals = Signals::new([SIGINT, SIGTERM, SIGHUP]);
    let signals = signals.map_err(|error| Failure::run(format!("cannot take signals: {error}")))?;
    let server = Server::start(Arc::new(tree), options.listen, how).map_err(Failure::input)?;
    Ok((server, what, signals))
}

fn sources(options: &Serve) -> Result<&[OsString], Failure> {
    match options.sources.or(&options.places) {
        [] => Err(Failure::input("no source was given: a source is needed, as in `forebay serve /srv/data`")),
        sources => Ok(sources),
    }
}

fn limits(options: &Serve) -> Limits {
    let usual = (options.reading.memory.bytes() / 8 / Limits::CONNECTION).clamp(8, 1024) as usize;
    Limits {
        connections: options.connections.map_or(usual, usize::from),
        idle: options.idle.duration(),
        stall: options.stall.duration(),
        grace: options.grace.duration(),
        ..Limits::default()
    }
}
