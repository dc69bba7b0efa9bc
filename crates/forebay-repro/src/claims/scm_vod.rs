//! scm-vod: streams of video of four qualities, alone (SCM §5.2.4, Figs. 9 and 10) and with a
//! random load beside them ([`scm_mixed`]).
//!
//! [`scm_mixed`]: crate::claims::scm_mixed

use serde::Deserialize;

use crate::disks::highest;
use crate::raid::{ETS, EVEN, LINUX, Part, Place, Raid, Run, Table, closed, listed, mean, percent, percents, run};
use crate::{Context, Error, Experiment, Finding, Measure};
use forebay_sim::chart::Axis;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Parameters {
    #[serde(default)]
    raid: Raid,
    policies: Vec<String>,
    pub(crate) streams: Vec<u32>,
    /// Milliseconds of think time.
    think: u64,
    /// Queries beside them, and bytes of their database.
    #[serde(default)]
    pub(crate) queries: u32,
    #[serde(default)]
    database: Option<String>,
    seconds: f64,
    warm_up: f64,
    seeds: u64,
}

impl Parameters {
    /// Runs all policies with all numbers of streams.
    pub(crate) fn run(&mut self, experiment: &Experiment, context: &Context<'_>) -> Result<Table, Error> {
        if context.quick {
            (self.seconds, self.warm_up) = (self.seconds / 8.0, self.warm_up / 8.0);
            self.streams.retain(|streams| streams % 32 == 0);
        }
        let places: Vec<Place> = self.streams.iter().map(|&streams| self.place(streams)).collect();
        run(&places, &self.policies, self.seeds, &self.raid, (experiment, context))
    }

    fn place(&self, streams: u32) -> Place {
        // As many requests as a stream has that never waits, and one more.
        let length = (self.seconds * 1000.0 / self.think.max(1) as f64) as u64 + 2;
        let mut parts = vec![Part::new(
            "vod",
            &[
                ("streams", streams.to_string()),
                ("length", length.to_string()),
                ("think", self.think.to_string()),
                // A kernel copies page by page.
                ("part", self.raid.page_bytes.to_string()),
            ],
        )];
        if self.queries > 0 {
            // More than disks serve one after the other.
            let length = (self.seconds * 2000.0) as u64 + 1;
            let query = Part::new("tpch", &[("tasks", self.queries.to_string()), ("length", length.to_string())]);
            parts.push(self.database.iter().fold(query, |query, bytes| query.with("bytes", bytes)));
        }
        Place { at: streams.into(), parts, load: closed(), seconds: Some(self.seconds), warm_up: Some(self.warm_up) }
    }
}

/// What all read together, 10^6 bytes a second.
pub(crate) fn throughput(run: &Run) -> f64 {
    run.outcome.throughput_mb_s
}

/// The part of a line with more than so many streams.
pub(crate) fn above(line: Vec<(f64, f64)>, streams: f64) -> Vec<(f64, f64)> {
    line.into_iter().filter(|point| point.0 > streams).collect()
}

/// "When there are more than 16 streams" (SCM §5.2.4).
const FEW: f64 = 16.0;

pub(crate) fn check(experiment: &Experiment, context: &Context<'_>) -> Result<Finding, Error> {
    let mut parameters: Parameters = experiment.parameters()?;
    let table = parameters.run(experiment, context)?;
    let gains = table.ratios((ETS, LINUX), throughput);
    let many = above(gains.clone(), FEW);
    let few: Vec<(f64, f64)> = gains.into_iter().filter(|point| point.0 <= FEW).collect();
    let even = table.ratios((EVEN, LINUX), throughput);
    let memory = table.ratios((ETS, LINUX), |run| run.streams.unread());
    let apart = |line: &[(f64, f64)]| highest(&line.iter().map(|p| (p.0, (p.1 - 1.0).abs())).collect::<Vec<_>>()).1;
    let judged = |rule: &str, value, what: &str, paper: &str, ours| experiment.judged(rule, value, (what, paper), ours);
    let mut measures = vec![
        judged("mean", mean(&many), "more than 16 streams: ets over linux, in the mean", "+20.1 %", percents(&many))?,
        judged("best", highest(&many).1, "the same, at best", "+55.0 %", percent(highest(&many).1))?,
        judged("memory", mean(&memory), "blocks fetched and unread, ets over linux", "about -13 %", percents(&memory))?,
        judged("even", (mean(&even) - 1.0).abs(), "even over linux", "almost the same", percents(&even))?,
    ];
    if !few.is_empty() {
        measures.push(judged("few", apart(&few), "few streams: ets over linux", "nearly the same", percents(&few))?);
    }
    for policy in &parameters.policies {
        let per_stream = |run: &Run| run.streams.unread() / run.streams.handlers.len().max(1) as f64;
        for (what, line) in
            [("MB/s", table.line(policy, throughput)), ("blocks unread a stream", table.line(policy, per_stream))]
        {
            measures.push(Measure::shown(&format!("{policy}: {what}"), "", listed(&line)));
        }
    }
    let ours = format!(
        "more than 16 streams: {} on average, {} at best; memory {}",
        percent(mean(&many)),
        percent(highest(&many).1),
        percent(mean(&memory))
    );
    let x = || Axis::linear("streams");
    let charts = vec![
        table.chart("Video on demand", (x(), "MB/s"), throughput),
        table.chart("Video on demand: memory", (x(), "blocks unread a stream"), |run| {
            run.streams.unread() / run.streams.handlers.len().max(1) as f64
        }),
    ];
    Ok(Finding::new(ours, measures, charts))
}
