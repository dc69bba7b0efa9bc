//! `auto` on each paper's own ground, beside the best of that paper's presets: auto-cp, auto-scm,
//! auto-sac, auto-amp.

use serde::Deserialize;

use crate::ground::{Ground, Scores};
use crate::{Context, Error, Experiment, Finding, Job, Measure};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    /// The policy that is asked about.
    policy: String,
    grounds: Vec<Ground>,
}

/// The policy on a ground.
struct Ours {
    ground: String,
    /// Its figure over that of the best preset, in the mean.
    ratio: f64,
}

/// The grounds of an experiment of this kind.
pub(crate) fn grounds(experiment: &Experiment) -> Result<Vec<Ground>, Error> {
    Ok(experiment.parameters::<Parameters>()?.grounds)
}

pub(crate) fn check(experiment: &Experiment, context: &Context<'_>) -> Result<Finding, Error> {
    let (mut measures, mut charts, mut ours) = (Vec::new(), Vec::new(), Vec::new());
    let Parameters { policy, grounds } = experiment.parameters()?;
    for ground in grounds {
        let ground = if context.quick { ground.thinned(1) } else { ground };
        let policies: Vec<String> = [&policy].into_iter().chain(ground.policies()).cloned().collect();
        let scores = ground.run(&policies, Job { experiment, context })?;
        let best = scores.best(&ground.presets).ok_or_else(|| experiment.wrong("a ground has no presets"))?;
        let ratios = scores.ratios(&policy, best);
        let (mean, least) = (ratios.geometric_mean(), ratios.lowest().value);
        let judged = |rule, value, how: &str, ours| {
            experiment.judged(
                rule,
                value,
                Measure::shown(&format!("{}: {policy} over {best}, {how}", ground.name), "", ours),
            )
        };
        measures.push(judged("mean", mean, "in the mean", percent(mean))?);
        measures.push(judged("worst", least, "at worst", ratios.listed(percent))?);
        measures.extend(policies.iter().flat_map(|policy| shown(&ground.name, policy, &scores)));
        ours.push(Ours { ground: ground.name.clone(), ratio: mean });
        charts.push(scores.chart(&ground.name));
    }
    Ok(Finding::new(summary(ours), measures, charts))
}

/// A policy's figures on a ground, and its reads for that.
fn shown(ground: &str, policy: &str, scores: &Scores) -> Vec<Measure> {
    let list = |of: &dyn Fn(&crate::ground::Score) -> f64| {
        let text = |score: &crate::ground::Score| format!("{}: {:.3}", score.at, of(score));
        scores.scores(policy).iter().map(text).collect::<Vec<_>>().join(", ")
    };
    let measure = |what: &str, ours| Measure::shown(&format!("{ground}, {policy}: {what}"), "", ours);
    let mut measures = vec![measure(scores.unit, list(&|score| score.value))];
    if scores.scores(policy).iter().all(|score| score.read.is_finite()) {
        measures.push(measure("read by devices, of what readers got", list(&|score| score.read)));
        measures.push(measure("a device's request, kB", list(&|score| score.request_kb)));
    }
    measures
}

/// `+12.3 %`
pub(super) fn percent(ratio: f64) -> String {
    format!("{:+.1} %", (ratio - 1.0) * 100.0)
}

/// Every ground, the worst first.
fn summary(mut ours: Vec<Ours>) -> String {
    ours.sort_by(|a, b| a.ratio.total_cmp(&b.ratio));
    let all: Vec<String> = ours.iter().map(|ours| format!("{} {}", ours.ground, percent(ours.ratio))).collect();
    all.join(", ")
}

#[cfg(test)]
mod tests {
    use crate::claims::auto_mixed;
    use crate::{experiment, ground};
    use forebay_core::Policy;

    #[test]
    fn every_ground_is_described_and_every_policy_on_it_is_one() {
        let (papers, mixed) = (["auto-cp", "auto-scm", "auto-sac", "auto-amp"], experiment("auto-mixed").unwrap());
        let grounds = papers.map(|id| super::grounds(&experiment(id).unwrap()).unwrap());
        let all: Vec<ground::Ground> =
            grounds.into_iter().flatten().chain(auto_mixed::grounds(&mixed).unwrap()).collect();
        assert!(all.len() >= 30, "{}", all.len());
        for ground in &all {
            assert!(!ground.presets.is_empty(), "{}", ground.name);
            let unknown: Vec<&String> = ground.policies().filter(|name| name.parse::<Policy>().is_err()).collect();
            assert!(unknown.is_empty(), "{}: {unknown:?}", ground.name);
            assert!(!ground.policies().any(|name| name.starts_with("auto")), "{}", ground.name);
        }
    }
}
