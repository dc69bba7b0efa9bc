//! `forebay serve`: opens the sources, starts an engine over them, and serves them over HTTP until
//! a signal.

use std::ffi::OsString;
use std::sync::Arc;

use forebay_live::engine::Referenced;
use forebay_serve::{Limits, Options, Server, Tls, Token};
use forebay_source::Modes;
use serde_json::json;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::failure::Failure;
use crate::options::Serve;
use crate::reading::Shows;
use crate::{output, reading, supervisor};

/// The variable that may hold the token. Not an option, since every user can see command lines.
const TOKEN: &str = "FOREBAY_TOKEN";

/// Serves, says when it is ready, and returns after a signal, once it has finished the requests
/// under way.
pub(crate) fn run(options: &Serve) -> Result<(), Failure> {
    let (server, what, mut signals) = start(options)?;
    let scheme = if options.tls_cert.is_some() { "https" } else { "http" };
    let url = format!("{scheme}://{}/", server.address());
    if options.json {
        output::json(&json!({ "url": url, "source": what }))?;
    } else {
        output::print(&format!("ready: {what} at {url}\n"))?;
    }
    supervisor::ready(&format!("ready: {what} at {url}"));
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
        token: token(options)?,
        tls: tls(options)?,
        ttl: options.reading.ttl(),
        limits,
    };
    if how.token.is_some() && how.tls.is_none() && !options.listen.ip().is_loopback() {
        log::warn!("the token and all bytes pass in the clear: --tls-cert and --tls-key encrypt them");
    }
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

fn token(options: &Serve) -> Result<Option<Token>, Failure> {
    let (place, text) = match &options.token_file {
        Some(file) => {
            let text = std::fs::read_to_string(file);
            let text =
                text.map_err(|error| Failure::input(format!("cannot read the token {}: {error}", file.display())))?;
            (file.display().to_string(), text)
        }
        None => match std::env::var(TOKEN) {
            Ok(text) => (TOKEN.to_owned(), text),
            Err(std::env::VarError::NotPresent) => return Ok(None),
            Err(error) => return Err(Failure::input(format!("{TOKEN}: {error}"))),
        },
    };
    Token::new(&text).map(Some).map_err(|error| Failure::input(format!("{place}: {error}")))
}

fn tls(options: &Serve) -> Result<Option<Tls>, Failure> {
    match (&options.tls_cert, &options.tls_key) {
        (Some(certificate), Some(key)) => Tls::read(certificate, key).map(Some).map_err(Failure::input),
        _ => Ok(None),
    }
}
