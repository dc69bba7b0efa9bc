//! Two streams, one three to seven times as fast as the other, in an open loop (scm-ets; SCM
//! §5.2.1, Fig. 5).

use super::reader::{self, Beat, Reader, Seen};
use super::scene::{Files, Scene};
use super::{Plan, at_speed, median, quicker};
use crate::report::Row;

const POLICIES: [&str; 3] = ["linux", "even", "ets"];
/// Requests a second of the slow stream, and of the fast one in each case.
const SLOW: f64 = 1000.0;
const FAST: [f64; 3] = [3000.0, 5000.0, 7000.0];
/// SCM §5.2.1: "a different file of 1GB size".
const FILE: u64 = 1 << 30;

/// One run: the mean response; and for each stream its response and its mean trigger distance.
#[derive(Clone, Debug, Default)]
struct Outcome {
    response: f64,
    streams: Vec<Seen>,
    distances: Vec<f64>,
    late: f64,
}

fn once(policy: &str, fast: f64, plan: &Plan, seed: u64) -> anyhow::Result<Outcome> {
    let files = Files::make([FILE; 2], seed)?;
    let scene = Scene::over_array(&files, &at_speed(policy), seed)?;
    let open = scene.open(&files)?;
    let readers = [SLOW, fast].map(|rate| Reader { beat: Beat::Fixed, rate });
    let (streams, distances) = reader::run(&readers, &open, plan, |over| scene.distances(over))?;
    let outcome = Outcome {
        response: reader::mean_response(&streams),
        distances: (0..2).map(|file| distances.get(&file).copied().unwrap_or(0.0)).collect(),
        late: scene.lateness(),
        streams,
    };
    eprintln!(
        "  ets, {fast:.0}/s, {policy}, seed {seed}: {:.3} ms ({:.3}, {:.3}), distances ({:.1}, {:.1}), array late by {:.1} %, readers by {:.0} ms",
        outcome.response * 1e3,
        outcome.streams[0].response * 1e3,
        outcome.streams[1].response * 1e3,
        outcome.distances[0],
        outcome.distances[1],
        outcome.late * 100.0,
        reader::behind(&outcome.streams) * 1e3
    );
    Ok(outcome)
}

pub(super) fn run(plan: &Plan) -> anyhow::Result<Vec<Row>> {
    let mut rows = Vec::new();
    let mut gains = Vec::new();
    for fast in FAST {
        let mut seen = POLICIES.map(|_| Vec::new());
        for seed in 1..=plan.rounds {
            for (policy, all) in POLICIES.iter().zip(&mut seen) {
                all.push(once(policy, fast, plan, seed)?);
            }
        }
        let responses = seen.each_ref().map(|all| all.iter().map(|one| one.response).collect::<Vec<f64>>());
        let distance = |stream: usize| median(seen[2].iter().map(|one| one.distances[stream]).collect());
        let of = |policy: usize| format!("{} {:.3}", POLICIES[policy], median(responses[policy].clone()) * 1e3);
        let detail = format!(
            "ms: {}, {}, {}; distances under ets ({:.1}, {:.1})",
            of(0),
            of(1),
            of(2),
            distance(0),
            distance(1)
        );
        gains.push(quicker(&responses[2], &responses[0]));
        for ours in [2, 1] {
            rows.push(Row {
                bench: "supply-chain",
                what: format!("{}, streams at {SLOW:.0} and {fast:.0}/s: response", POLICIES[ours]),
                against: "linux".into(),
                ratio: quicker(&responses[ours], &responses[0]),
                wanted: None,
                detail: detail.clone(),
                point: None,
            });
        }
    }
    // The paper: 19.0 % less on average.
    let mean = gains.iter().map(|gain| 1.0 / gain).sum::<f64>() / gains.len() as f64;
    rows.push(Row {
        bench: "supply-chain",
        what: "ets, the mean of these".into(),
        against: "linux".into(),
        ratio: 1.0 / mean,
        wanted: Some(1.0 / (1.0 - 0.19)),
        detail: format!("response {:+.1} % (the paper: -19.0 %)", (mean - 1.0) * 100.0),
        point: None,
    });
    Ok(rows)
}
