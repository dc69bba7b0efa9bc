//! Downloads from a web server on the mount, four at each of five bandwidths (scm-http; SCM §5.2.3, Fig. 8): a real nginx, whose
//! threads read the mount and which sends no faster than each client takes (curl's own limit would leave the rest of a small file in the
//! kernel's buffers), and 20 real curl.

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
/// Bytes a second that a client of the fastest site takes, and of the slowest; the others evenly between by ratio.
const BANDWIDTHS: (f64, f64) = (8e6, 0.5e6);

fn bandwidth(site: usize) -> f64 {
    BANDWIDTHS.0 * (BANDWIDTHS.1 / BANDWIDTHS.0).powf(site as f64 / (SITES - 1) as f64)
}

/// The mean completion time of each site's clients, in seconds of the array.
fn once(programs: (&Path, &Path), policy: &str, plan: &Plan, seed: u64) -> anyhow::Result<Vec<f64>> {
    // "We let faster clients download larger files, so that all download requests have close execution time."
    let length = |client: usize| (bandwidth(client % SITES) * (plan.warm_up + plan.seconds)) as u64;
    let files = Files::make((0..CLIENTS).map(length), seed)?;
    let scene = Scene::over_array(&files, &at_speed(policy), seed)?;
    let nginx = Nginx::start(programs.0, scene.point(), false)?;
    let mut clients = Vec::new();
    for (client, name) in files.names().iter().enumerate() {
        let mut command = Command::new(programs.1);
        command.args(["--silent", "--fail", "--output", "/dev/null", "--write-out", "%{time_total} %{size_download}"]);
        let rate = bandwidth(client % SITES) * SPEED;
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
    eprintln!("  http, {policy}, seed {seed}: {sites:.2?} s, array late by {:.1} %", scene.lateness() * 100.0);
    Ok(sites)
}

pub(super) fn run(plan: &Plan) -> anyhow::Result<Vec<Row>> {
    let (Some(nginx), Some(curl)) = (find("nginx"), find("curl")) else {
        skip("nginx or curl");
        return Ok(Vec::new());
    };
    let mut seen = POLICIES.map(|_| Vec::new());
    for seed in 1..=plan.rounds {
        for (policy, all) in POLICIES.iter().zip(&mut seen) {
            all.push(once((&nginx, &curl), policy, plan, seed)?);
        }
    }
    let times =
        |policy: usize, site: usize| seen[policy].iter().map(|sites: &Vec<f64>| sites[site]).collect::<Vec<f64>>();
    let mut rows = Vec::new();
    for policy in [2, 3, 1] {
        let name = POLICIES[policy];
        for site in 0..SITES {
            // The paper: 18 % less for the fastest, 1 to 12 % less for the others, under ETS.
            let wanted = match (name, site) {
                ("ets", 0) => Some(1.0 / 0.82),
                ("ets", _) => Some(1.0 / 0.99),
                _ => None,
            };
            let (ours, linux) = (times(policy, site), times(0, site));
            rows.push(Row {
                bench: "supply-chain",
                what: format!("{name}, downloads at {:.1} MB/s: completion", bandwidth(site) / 1e6),
                against: "linux".into(),
                ratio: quicker(&ours, &linux),
                wanted,
                detail: format!("s: {name} {:.2}, linux {:.2}", median(ours), median(linux)),
                point: None,
            });
        }
    }
    Ok(rows)
}
