//! Caches with and without program contexts over recorded workloads, each comparison judged:
//! amp-loops, amp-scan, amp-kernel, amp-glimpse, amp-dbt3 (AMP §4.2, Figs. 6 to 12), and
//! past-views.

use serde::Deserialize;

use crate::recorded::{Curves, Recorded};
use crate::{Context, Error, Experiment, Finding, Measure};
use forebay_sim::untimed::{Algorithm, UnknownAlgorithm};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    /// Of the distinct pages, in growing order.
    shares: Vec<f64>,
    policies: Vec<String>,
    workloads: Vec<String>,
    judged: Vec<Judged>,
}

/// What is judged on a workload.
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
    let algorithm = |name: &String| match name.parse::<Algorithm>() {
        Ok(algorithm) => Ok((name.clone(), algorithm)),
        Err(unknown @ UnknownAlgorithm { .. }) => Err(experiment.wrong(&unknown.to_string())),
    };
    let policies = policies.iter().map(algorithm).collect::<Result<Vec<_>, _>>()?;
    let (mut measures, mut charts, mut ours) = (Vec::new(), Vec::new(), Vec::new());
    for (done, name) in workloads.iter().enumerate() {
        context.step(done, workloads.len())?;
        let recorded = Recorded::load(name, experiment, context)?;
        let curves = recorded.misses(&policies, &shares, context)?;
        for judged in judged.iter().filter(|judged| judged.workload == *name) {
            let (what, value, shown) = judged.measure(&curves);
            ours.push(format!("{what} {value:.2}"));
            measures.push(experiment.judged(&judged.rule, value, (&what, &judged.paper), shown)?);
        }
        for (policy, _) in &policies {
            let line = curves.line(policy);
            measures.push(Measure::shown(&format!("{name}: misses of {policy}, by share"), "", listed(&line)));
        }
        let (pages, references) = (recorded.size.distinct, recorded.size.references);
        charts.push(curves.chart(&format!("{}: {references} references to {pages} pages", recorded.name)));
    }
    Ok(Finding::new(ours.join("; "), measures, charts))
}

impl Judged {
    /// What is judged, its number, and more of it.
    fn measure(&self, curves: &Curves) -> (String, f64, String) {
        let Judged { workload, policy, .. } = self;
        let over = |other: &String, of: fn(&[(f64, f64)]) -> f64, how: &str| {
            let ratios = curves.ratios(policy, other);
            (format!("{workload}: misses of {policy} over {other}, {how}"), of(&ratios), listed(&ratios))
        };
        match &self.take {
            Take::WorstOver(other) => over(other, largest, "at worst"),
            Take::BestOver(other) => over(other, least, "at best"),
            Take::MeanOver(other) => over(other, mean, "in the mean"),
            Take::Over(other, share) => {
                let ratio = at(&curves.ratios(policy, other), *share);
                let [ours, theirs] = [policy, other].map(|policy| at(&curves.line(policy), *share));
                let what =
                    format!("{workload}: misses of {policy} over {other}, cache {:.0} % of the pages", share * 100.0);
                (what, ratio, format!("{:.1} % over {:.1} %", ours * 100.0, theirs * 100.0))
            }
            Take::OffFrom(other) => {
                let pairs = curves.line(policy).into_iter().zip(curves.line(other));
                let off: Vec<(f64, f64)> = pairs.map(|((share, a), (_, b))| (share, (a - b).abs())).collect();
                (format!("{workload}: {policy} off from {other}, at most"), largest(&off), listed(&off))
            }
            Take::Step => {
                let line = curves.line(policy);
                let falls: Vec<(f64, f64)> = line.windows(2).map(|pair| (pair[1].0, pair[0].1 - pair[1].1)).collect();
                let whole: f64 = falls.iter().map(|fall| fall.1).sum();
                (
                    format!("{workload}: largest step of {policy}, of its whole fall"),
                    largest(&falls) / whole,
                    listed(&falls),
                )
            }
            Take::FallUntil(share) => {
                let line = curves.line(policy);
                let first = line.first().map_or(f64::NAN, |point| point.1);
                let what = format!("{workload}: fall of {policy} until {:.0} % of the pages", share * 100.0);
                (what, first - at(&line, *share), listed(&line))
            }
        }
    }
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

fn at(line: &[(f64, f64)], share: f64) -> f64 {
    line.iter().find(|point| point.0 == share).map_or(f64::NAN, |point| point.1)
}

fn largest(line: &[(f64, f64)]) -> f64 {
    line.iter().map(|point| point.1).fold(f64::NAN, f64::max)
}

fn least(line: &[(f64, f64)]) -> f64 {
    line.iter().map(|point| point.1).fold(f64::NAN, f64::min)
}

fn mean(line: &[(f64, f64)]) -> f64 {
    (line.iter().map(|point| point.1.ln()).sum::<f64>() / line.len() as f64).exp()
}

fn listed(line: &[(f64, f64)]) -> String {
    let text = |&(share, value): &(f64, f64)| format!("{:.0} %: {value:.3}", share * 100.0);
    line.iter().map(text).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
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
    fn numbers_of_curves() {
        let line = [(0.1, 0.5), (0.2, 2.0), (0.3, 1.0)];
        assert_eq!((largest(&line), least(&line), mean(&line)), (2.0, 0.5, 1.0));
        assert_eq!(at(&line, 0.2), 2.0);
        assert!(at(&line, 0.25).is_nan() && largest(&[]).is_nan() && least(&[]).is_nan());
        assert_eq!(listed(&line[..2]), "10 %: 0.500, 20 %: 2.000");
    }
}
