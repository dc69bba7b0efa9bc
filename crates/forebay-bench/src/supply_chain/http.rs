//! Downloads from a web server on the mount, four at each of five bandwidths (scm-http; SCM §5.2.3,
//! Fig. 8), by 20 real curl. The server is a real nginx, whose threads read the mount. nginx limits
//! each client's rate: curl's own limit would leave the rest of a small file in the kernel's
//! buffers.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use forebay_testkit::nginx::Nginx;
use forebay_testkit::tools::{find, skip};

use super::scene::{Files, Scene};
use super::{Plan, SPEED, at_speed, median, quicker};
use crate::report::Row;

const POLICIES: [&str; 4] = ["linux", "even", "ets", "esf"];
const CLIENTS: usize = 20;
const SITES: usize = 5;
/// Bytes a second of a client of the fastest site. These loads are the experiment's, since the
/// paper does not state its own. Each site takes half of the bandwidth of the one before.
const LOADS: [f64; 4] = [8e6, 12e6, 16e6, 20e6];

fn bandwidth(load: f64, site: usize) -> f64 {
    load / f64::powi(2.0, site as i32)
}

/// A server and its client.
#[derive(Clone, Copy)]
struct Programs<'a> {
    nginx: &'a Path,
    curl: &'a Path,
}

/// The mean completion time of each site's clients, in seconds of the array.
fn once(programs: Programs<'_>, policy: &str, load: f64, plan: &Plan, seed: u64) -> anyhow::Result<Vec<f64>> {
    // "We let faster clients download larger files, so that all download requests have close
    // execution time."
    let length = |client: usize| (bandwidth(load, client % SITES) * (plan.warm_up + plan.seconds)) as u64;
    let files = Files::make((0..CLIENTS).map(length), seed)?;
    let scene = Scene::over_array(&files, &at_speed(policy), seed)?;
    let nginx = Nginx::start(programs.nginx, scene.point(), false)?;
    let mut clients = Vec::new();
    for (client, name) in files.names().iter().enumerate() {
        let mut command = Command::new(programs.curl);
        command.args(["--silent", "--fail", "--output", "/dev/null", "--write-out", "%{time_total} %{size_download}"]);
        let rate = bandwidth(load, client % SITES) * SPEED;
        command.arg(format!("http://{}/{}?rate={rate:.0}", nginx.address(), name.display()));
        clients.push(command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?);
    }
    let mut sites = vec![0.0; SITES];
    for (client, child) in clients.into_iter().enumerate() {
        let output = child.wait_with_output()?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        ensure!(output.status.success(), "curl {client} failed: {}", output.status);
        let (seconds, bytes) = said.split_once(' ').context("curl says how long it took")?;
        ensure!(bytes.trim().parse::<u64>()? == length(client), "curl {client} got {bytes} bytes");
        sites[client % SITES] += seconds.parse::<f64>()? * SPEED / (CLIENTS / SITES) as f64;
    }
    eprintln!(
        "  http, {policy}, {:.0} MB/s, seed {seed}: {sites:.2?} s, array late by {:.1} %",
        load / 1e6,
        scene.lateness() * 100.0
    );
    Ok(sites)
}

pub(super) fn run(plan: &Plan) -> anyhow::Result<Vec<Row>> {
    let (Some(nginx), Some(curl)) = (find("nginx"), find("curl")) else {
        skip("nginx or curl");
        return Ok(Vec::new());
    };
    let programs = Programs { nginx: &nginx, curl: &curl };
    // By policy, load and site: the rounds.
    let mut seen = POLICIES.map(|_| LOADS.map(|_| vec![Vec::new(); SITES]));
    for seed in 1..=plan.rounds {
        for (place, load) in LOADS.into_iter().enumerate() {
            for (policy, all) in POLICIES.iter().zip(&mut seen) {
                let sites = once(programs, policy, load, plan, seed)?;
                all[place].iter_mut().zip(sites).for_each(|(rounds, seconds)| rounds.push(seconds));
            }
        }
    }
    let rounds = |policy: usize, place: usize, site: usize| &seen[policy][place][site];
    let mut rows = Vec::new();
    for policy in [2, 3, 1] {
        let name = POLICIES[policy];
        for site in 0..SITES {
            let faster = |place: usize| quicker(rounds(policy, place, site), rounds(0, place, site));
            let mut row = |what: &str, ratio: f64, wanted, detail: String| {
                let what = format!("{name}, downloads, site {} of {SITES}, {what}: completion", site + 1);
                let bench = "supply-chain";
                rows.push(Row { bench, what, against: "linux".into(), ratio, wanted, detail, point: None });
            };
            for (place, load) in LOADS.into_iter().enumerate() {
                let seconds = |policy: usize| median(rounds(policy, place, site).clone());
                let detail = format!("s: {name} {:.2}, linux {:.2}", seconds(policy), seconds(0));
                row(&format!("{:.1} MB/s", bandwidth(load, site) / 1e6), faster(place), None, detail);
            }
            // The paper: 18 % less for the fastest, 1 to 12 % less for the others, under ETS.
            let wanted = match (name, site) {
                ("ets", 0) => Some(1.0 / 0.82),
                ("ets", _) => Some(1.0 / 0.99),
                _ => None,
            };
            let mean = LOADS.len() as f64 / (0..LOADS.len()).map(|place| 1.0 / faster(place)).sum::<f64>();
            row("the mean of these", mean, wanted, format!("{:+.1} %", (1.0 / mean - 1.0) * 100.0));
        }
    }
    Ok(rows)
}
