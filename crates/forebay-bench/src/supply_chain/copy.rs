//! A copy to a fast consumer beside seven to slow ones (scm-copy; SCM §5.2.2, Fig. 7).

use super::reader::{self, Beat, Reader, Seen};
use super::scene::{Files, Scene};
use super::{Plan, REQUEST, at_speed, median, ratio};
use crate::report::Row;

const POLICIES: [&str; 4] = ["linux", "even", "ets", "esf"];
/// Bytes a second of the consumers: the fast one; the fastest and the slowest of the slow ones. The
/// others are evenly between these two by ratio.
const FAST: f64 = 60e6;
const SLOW: (f64, f64) = (3e6, 0.2e6);
const STREAMS: usize = 8;
const FILE: u64 = 1 << 30;

fn bandwidth(stream: usize) -> f64 {
    match stream {
        0 => FAST,
        slow => SLOW.0 * (SLOW.1 / SLOW.0).powf((slow - 1) as f64 / (STREAMS - 2) as f64),
    }
}

fn once(policy: &str, plan: &Plan, seed: u64) -> anyhow::Result<Vec<Seen>> {
    let files = Files::make([FILE; STREAMS], seed)?;
    let scene = Scene::over_array(&files, &at_speed(policy), seed)?;
    let open = scene.open(&files)?;
    let reader = |stream| Reader { beat: Beat::AfterAnswer, rate: bandwidth(stream) / REQUEST as f64 };
    let readers: Vec<Reader> = (0..STREAMS).map(reader).collect();
    let (seen, distances) = reader::run(&readers, &open, plan, |over| scene.distances(over))?;
    eprintln!(
        "  copy, {policy}, seed {seed}: fast {:.1} MB/s, all {:.1} MB/s, distances {:.1?}, array late by {:.1} %, readers by {:.0} ms",
        seen[0].rate / 1e6,
        total(&seen) / 1e6,
        distances.values().collect::<Vec<_>>(),
        scene.lateness() * 100.0,
        reader::behind(&seen) * 1e3
    );
    Ok(seen)
}

fn total(seen: &[Seen]) -> f64 {
    seen.iter().map(|seen| seen.rate).sum()
}

pub(super) fn run(plan: &Plan) -> anyhow::Result<Vec<Row>> {
    let mut seen = POLICIES.map(|_| Vec::new());
    for seed in 1..=plan.rounds {
        for (policy, all) in POLICIES.iter().zip(&mut seen) {
            all.push(once(policy, plan, seed)?);
        }
    }
    let figures =
        |policy: usize, of: &dyn Fn(&[Seen]) -> f64| seen[policy].iter().map(|one| of(one)).collect::<Vec<_>>();
    let gain = |policy: usize, of: &dyn Fn(&[Seen]) -> f64| ratio(&figures(policy, of), &figures(0, of));
    let mb_s = |policy: usize, of: &dyn Fn(&[Seen]) -> f64| median(figures(policy, of)) / 1e6;
    let mut rows = Vec::new();
    let fast = |seen: &[Seen]| seen[0].rate;
    // The paper's gains.
    for (policy, wanted) in [(2, Some((1.39, 1.333))), (3, Some((1.263, 1.224))), (1, None)] {
        let name = POLICIES[policy];
        let row = |what: &str, of: &dyn Fn(&[Seen]) -> f64, wanted| Row {
            bench: "supply-chain",
            what: format!("{name}, {what}"),
            against: "linux".into(),
            ratio: gain(policy, of),
            wanted,
            detail: format!("MB/s: {name} {:.1}, linux {:.1}", mb_s(policy, of), mb_s(0, of)),
            point: None,
        };
        rows.push(row("one fast copy and seven slow ones: the fast one", &fast, wanted.map(|both| both.0)));
        rows.push(row("the same: all copies", &total, wanted.map(|both| both.1)));
        let slow = (1..STREAMS).map(|stream| gain(policy, &move |seen: &[Seen]| seen[stream].rate));
        let worst = slow.fold(f64::INFINITY, f64::min);
        rows.push(Row {
            bench: "supply-chain",
            what: format!("{name}, the same: the slow copy that loses most"),
            against: "linux".into(),
            ratio: worst,
            wanted: wanted.map(|_| 0.95),
            detail: format!("{:+.1} %", (worst - 1.0) * 100.0),
            point: None,
        });
    }
    Ok(rows)
}
