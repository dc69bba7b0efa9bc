//! Caches with and without program contexts over recorded workloads, each comparison judged:
//! amp-loops, amp-scan, amp-kernel, amp-glimpse, amp-dbt3 (AMP §4.2, Figs. 6 to 12), and
//! past-views.

use serde::Deserialize;

use crate::line::{Line, Point};
use crate::recorded::{Cache, Curves, Recorded};
use crate::{Context, Error, Experiment, Finding, Measure};
use forebay_sim::untimed::UnknownAlgorithm;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    /// Of the distinct pages, in growing order.
    shares: Vec<f64>,
    policies: Vec<String>,
    workloads: Vec<String>,
    judged: Vec<Judged>,
}

/// The judgement of a workload.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Judged {
    rule: String,
    workload: String,
    /// This policy …
    policy: String,
    take: Take,
    /// The paper's figure.
    #[serde(default)]
    paper: String,
}

/// … as which number.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Take {
    /// Misses over this policy's, where that is the largest.
    WorstOver(String),
    /// Where it is the smallest.
    BestOver(String),
    /// In the (geometric) mean of all sizes.
    MeanOver(String),
    /// With a cache of this share of the pages.
    Over(String, f64),
    /// The largest distance from this policy's miss ratio.
    OffFrom(String),
    /// The largest fall of the miss ratio from one size to the next, of the whole fall.
    Step,
    /// By how much the miss ratio falls from the smallest size to this share of the pages.
    FallUntil(f64),
}

pub(crate) fn check(experiment: &Experiment, context: &Context<'_>) -> Result<Finding, Error> {
    let Parameters { mut shares, policies, workloads, judged } = experiment.parameters()?;
    if context.quick {
        shares.retain(|share| judged.iter().any(|judged| judged.take.needs(*share)));
    }
    let cache = |policy: &String| -> Result<Cache, Error> {
        let algorithm = policy.parse().map_err(|unknown: UnknownAlgorithm| experiment.wrong(&unknown.to_string()))?;
        Ok(Cache { policy: policy.clone(), algorithm })
    };
    let caches = policies.iter().map(cache).collect::<Result<Vec<_>, _>>()?;
    let (mut measures, mut charts, mut ours) = (Vec::new(), Vec::new(), Vec::new());
    for (done, name) in workloads.iter().enumerate() {
        context.step(done, workloads.len())?;
        let recorded = Recorded::load(name, experiment, context)?;
        let curves = recorded.misses(&caches, &shares, context)?;
        for judged in judged.iter().filter(|judged| judged.workload == *name) {
            let Taken { what, value, shown } = judged.measure(&curves);
            ours.push(format!("{what} {value:.2}"));
            measures.push(experiment.judged(&judged.rule, value, Measure::shown(&what, &judged.paper, shown))?);
        }
        for policy in &policies {
            let line = curves.line(policy);
            measures.push(Measure::shown(&format!("{name}: misses of {policy}, by share"), "", listed(&line)));
        }
        let (pages, references) = (recorded.size.distinct, recorded.size.references);
        charts.push(curves.chart(&format!("{}: {references} references to {pages} pages", recorded.name)));
    }
    Ok(Finding::new(ours.join("; "), measures, charts))
}

impl Judged {
    fn measure(&self, curves: &Curves) -> Taken {
        let Judged { workload, policy, .. } = self;
        let line = curves.line(policy);
        let over = |other: &String, of: fn(&Line) -> f64, how: &str| {
            let ratios = curves.ratios(policy, other);
            let what = format!("{workload}: misses of {policy} over {other}, {how}");
            Taken { what, value: of(&ratios), shown: listed(&ratios) }
        };
        match &self.take {
            Take::WorstOver(other) => over(other, |ratios| ratios.highest().value, "at worst"),
            Take::BestOver(other) => over(other, |ratios| ratios.lowest().value, "at best"),
            Take::MeanOver(other) => over(other, Line::geometric_mean, "in the mean"),
            Take::Over(other, share) => {
                let how = format!("cache {:.0} % of the pages", share * 100.0);
                let [ours, theirs] = [policy, other].map(|policy| curves.line(policy).at(*share) * 100.0);
                let what = format!("{workload}: misses of {policy} over {other}, {how}");
                let value = curves.ratios(policy, other).at(*share);
                Taken { what, value, shown: format!("{ours:.1} % over {theirs:.1} %") }
            }
            Take::OffFrom(other) => {
                let off = line.with(&curves.line(other), |ours, theirs| (ours - theirs).abs());
                let what = format!("{workload}: {policy} off from {other}, at most");
                Taken { what, value: off.highest().value, shown: listed(&off) }
            }
            Take::Step => {
                let falls: Line = line
                    .iter()
                    .zip(line.iter().skip(1))
                    .map(|(before, after)| Point { value: before.value - after.value, ..after })
                    .collect();
                let value = falls.highest().value / falls.values().sum::<f64>();
                let what = format!("{workload}: largest step of {policy}, of its whole fall");
                Taken { what, value, shown: listed(&falls) }
            }
            Take::FallUntil(share) => {
                let what = format!("{workload}: fall of {policy} until {:.0} % of the pages", share * 100.0);
                Taken { what, value: line.first().value - line.at(*share), shown: listed(&line) }
            }
        }
    }
}

/// The thing judged, its number, and more of it.
struct Taken {
    what: String,
    value: f64,
    shown: String,
}

impl Take {
    /// Whether a small part of the runs has caches of this share: a small, a middling and a large
    /// one, and those that rules name.
    fn needs(&self, share: f64) -> bool {
        let wanted = match self {
            Take::Over(_, wanted) | Take::FallUntil(wanted) => *wanted == share,
            _ => false,
        };
        wanted || [0.1, 0.5, 0.9].contains(&share)
    }
}

/// By shares.
fn listed(line: &Line) -> String {
    let text = |point: Point| format!("{:.0} %: {:.3}", point.at * 100.0, point.value);
    line.iter().map(text).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use forebay_sim::untimed::Algorithm;

    use super::*;
    use crate::{Verdict, experiment, run};
    use forebay_sim::Unwatched;

    #[test]
    fn what_is_judged_is_run() {
        for id in ["amp-loops", "amp-scan", "amp-kernel", "amp-glimpse", "amp-dbt3", "past-views"] {
            let experiment = experiment(id).unwrap();
            let Parameters { shares, policies, workloads, judged } = experiment.parameters().unwrap();
            assert!(shares.len() == 10 && shares.is_sorted(), "{id}");
            assert!(policies.iter().all(|name| name.parse::<Algorithm>().is_ok()), "{id}");
            for judged in judged {
                assert!(experiment.rules.contains_key(&judged.rule), "{id}: {}", judged.rule);
                assert!(workloads.contains(&judged.workload), "{id}: {}", judged.workload);
                let (other, share) = match &judged.take {
                    Take::WorstOver(other) | Take::BestOver(other) | Take::MeanOver(other) | Take::OffFrom(other) => {
                        (Some(other), None)
                    }
                    Take::Over(other, share) => (Some(other), Some(*share)),
                    Take::FallUntil(share) => (None, Some(*share)),
                    Take::Step => (None, None),
                };
                assert!(
                    policies.contains(&judged.policy) && other.is_none_or(|other| policies.contains(other)),
                    "{id}"
                );
                assert!(share.is_none_or(|share| shares.contains(&share)), "{id}");
            }
        }
    }

    #[test]
    fn files_read_three_times_gain_nothing_from_a_partition_and_lose_nothing() {
        let context = Context { seed: 1, quick: true, watch: &Unwatched };
        let finding = run(&experiment("amp-scan").unwrap(), &context).unwrap();
        let harm = finding.measures.iter().filter(|measure| measure.what.contains("of amp over"));
        assert!(harm.clone().count() == 2 && harm.clone().all(|measure| measure.verdict == Some(Verdict::Holds)));
        assert_eq!(finding.charts[0].series.len(), 7);
    }

    #[test]
    fn a_curve_is_listed_by_shares() {
        let line = [(0.1, 0.5), (0.2, 2.0)].map(|(at, value)| Point { at, value }).into_iter().collect();
        assert_eq!(listed(&line), "10 %: 0.500, 20 %: 2.000");
    }
}
