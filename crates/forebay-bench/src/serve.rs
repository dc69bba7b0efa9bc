//! `forebay serve` on the loopback against nginx, both serving the same files out of memory: whole
//! large files by several connections, and small ranges at random. The client is wrk, with one
//! thread; servers take turns in each round.
//!
//! Copies are its limit. Bytes are copied from the cache to a piece and from there to the socket,
//! where nginx's `sendfile` hands over pages of the page cache. `forebay serve` reads by a pool of
//! threads, like servers of slow files; the cost of that was not measured.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use anyhow::{Context, ensure};
use forebay_core::{DeviceCost, DeviceId};
use forebay_live::engine::{Config, Engine};
use forebay_live::tree::{Branch, Tree};
use forebay_serve::{Options, Server};
use forebay_source::local::LocalSource;
use forebay_testkit::nginx::Nginx;
use forebay_testkit::tools;

use crate::report::{Row, median};

const FILES: usize = 8;
const CONNECTIONS: usize = 8;
const RANGE: usize = 16 << 10;

/// The requests of wrk, in its Lua: a table of requests, which it takes one after the other.
struct Load {
    what: String,
    script: String,
}

pub(crate) fn run(smoke: bool) -> anyhow::Result<Vec<Row>> {
    let nginx = tools::find("nginx").context("nginx is missing: cargo xtask tools")?;
    let wrk = tools::find("wrk").context("wrk is missing: cargo xtask tools")?;
    let (file_bytes, rounds, seconds) = if smoke { (1 << 20, 1, 1) } else { (16 << 20, 7, 2) };
    let folder = tempfile::tempdir()?;
    for number in 0..FILES {
        fs::write(folder.path().join(number.to_string()), vec![0x5a; file_bytes])?;
    }
    let server = serve(folder.path(), 4 * (FILES * file_bytes) as u64 + (128 << 20))?;
    let (sendfile, reads) = (Nginx::start(&nginx, folder.path(), true)?, Nginx::start(&nginx, folder.path(), false)?);
    let mut rows = Vec::new();
    for load in [whole(file_bytes), ranges(file_bytes)] {
        let script = folder.path().join("load.lua");
        fs::write(&script, &load.script)?;
        let ask = |address: SocketAddr, seconds: u32| requests(&wrk, &script, address, seconds);
        // From here on, everything is in memory.
        for address in [server.address(), sendfile.address(), reads.address()] {
            ask(address, 1)?;
        }
        let mut measured = [Vec::new(), Vec::new(), Vec::new()];
        for _ in 0..rounds {
            for (rates, address) in measured.iter_mut().zip([server.address(), sendfile.address(), reads.address()]) {
                rates.push(ask(address, seconds)?);
            }
        }
        let [ours, sendfile, reads] = measured;
        let alone = median(ours.clone());
        for (against, theirs, wanted) in [("nginx", sendfile, Some(0.8)), ("nginx without sendfile", reads, None)] {
            let ratios = ours.iter().zip(&theirs).map(|(ours, theirs)| ours / theirs).collect();
            rows.push(Row {
                bench: "serve",
                what: load.what.clone(),
                against: against.into(),
                ratio: median(ratios),
                wanted,
                detail: format!("{alone:.0} and {:.0} requests a second", median(theirs)),
                point: None,
            });
        }
    }
    Ok(rows)
}

fn serve(folder: &Path, memory: u64) -> anyhow::Result<Server> {
    let config = Config::new(memory, "competitive".parse()?);
    let engine = Engine::start(config, vec![DeviceCost::flat(100_000, 1_000_000_000, 4)])?;
    let branch = Branch { name: None, source: Arc::new(LocalSource::new(folder)?), device: DeviceId(0) };
    let tree = Arc::new(Tree::new(engine, vec![branch])?);
    Ok(Server::start(tree, ([127, 0, 0, 1], 0).into(), Options::default())?)
}

fn whole(file_bytes: usize) -> Load {
    let script = format!(
        "local next = 0
         request = function() next = (next + 1) % {FILES}; return wrk.format('GET', '/' .. next) end"
    );
    Load { what: format!("whole files of {} MiB, {CONNECTIONS} connections", file_bytes >> 20), script }
}

fn ranges(file_bytes: usize) -> Load {
    let (pieces, last) = (file_bytes / RANGE, RANGE - 1);
    let script = format!(
        "local made, next = {{}}, 0
         math.randomseed(1)
         init = function()
             for i = 1, 1000 do
                 local first = math.random(0, {pieces} - 1) * {RANGE}
                 made[i] = wrk.format('GET', '/' .. math.random(0, {FILES} - 1), {{ Range = 'bytes=' .. first .. '-' .. first + {last} }})
             end
         end
         request = function() next = next % 1000 + 1; return made[next] end"
    );
    Load { what: format!("ranges of {} KiB at random, {CONNECTIONS} connections", RANGE >> 10), script }
}

/// Requests a second, none of which may fail.
fn requests(wrk: &Path, script: &Path, address: SocketAddr, seconds: u32) -> anyhow::Result<f64> {
    let mut command = Command::new(wrk);
    command.args(["--threads", "1", "--connections", &CONNECTIONS.to_string(), "--duration", &format!("{seconds}s")]);
    command.arg("--script").arg(script).arg(format!("http://{address}/")).stdin(Stdio::null());
    let output = command.output().context("wrk")?;
    let text = String::from_utf8_lossy(&output.stdout);
    ensure!(output.status.success() && !text.contains("errors") && !text.contains("Non-2xx"), "wrk: {text}");
    let line = text.lines().find_map(|line| line.strip_prefix("Requests/sec:"));
    line.and_then(|rate| rate.trim().parse().ok()).with_context(|| format!("wrk says no rate: {text}"))
}
