//! auto-mixed: `auto` where the papers' grounds mix, beside every single paper's preset.

use serde::Deserialize;

use crate::claims::auto_best::percent;
use crate::ground::{Ground, Machine, Score, Scores};
use crate::mixture::Mixture;
use crate::{Context, Error, Experiment, Finding, Job, Measure};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    /// The policy that is asked about.
    policy: String,
    /// The single papers' policies, and others.
    presets: Vec<String>,
    mixtures: Vec<Named>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    name: String,
    on: Mixture,
}

/// "At least 10 % on two of them."
const MUCH: f64 = 1.1;

/// The mixtures as grounds.
pub(crate) fn grounds(experiment: &Experiment) -> Result<Vec<Ground>, Error> {
    Ok(experiment.parameters::<Parameters>()?.grounds())
}

impl Parameters {
    fn grounds(self) -> Vec<Ground> {
        let Parameters { presets, mixtures, .. } = self;
        let ground =
            |Named { name, on }| Ground { name, presets: presets.clone(), shown: Vec::new(), on: Machine::Mixture(on) };
        mixtures.into_iter().map(ground).collect()
    }
}

pub(crate) fn check(experiment: &Experiment, context: &Context<'_>) -> Result<Finding, Error> {
    let (mut measures, mut charts, mut ours) = (Vec::new(), Vec::new(), Vec::new());
    let parameters: Parameters = experiment.parameters()?;
    let policy = parameters.policy.clone();
    for mut ground in parameters.grounds() {
        if context.quick {
            ground = ground.thinned(1);
            ground.presets.truncate(2);
        }
        let policies: Vec<String> = [&policy].into_iter().chain(ground.policies()).cloned().collect();
        let scores = ground.run(&policies, Job { experiment, context })?;
        let best = scores.best(&ground.presets).ok_or_else(|| experiment.wrong("there are no presets"))?;
        let ratios = scores.ratios(&policy, best);
        let what = format!("{}: {policy} over {best}, the best single preset", ground.name);
        measures.push(experiment.judged(
            "each",
            ratios.geometric_mean(),
            Measure::shown(&what, "", ratios.listed(percent)),
        )?);
        measures.extend(policies.iter().map(|policy| shown(&ground, policy, &scores)));
        ours.push((ratios.geometric_mean(), ground.name.clone()));
        charts.push(scores.chart(&ground.name));
    }
    let much = ours.iter().filter(|(ratio, _)| *ratio >= MUCH).count();
    let measure = Measure::shown("mixtures on which it is better by at least 10 %", "", much.to_string());
    measures.insert(0, experiment.judged("much", much as f64, measure)?);
    let ours: Vec<String> = ours.iter().map(|(ratio, name)| format!("{name} {}", percent(*ratio))).collect();
    Ok(Finding::new(ours.join(", "), measures, charts))
}

/// The shares of a mixture's parts under a policy.
fn shown(ground: &Ground, policy: &str, scores: &Scores) -> Measure {
    let names: Vec<&str> = match &ground.on {
        Machine::Mixture(mixture) => mixture.components().collect(),
        _ => Vec::new(),
    };
    let text = |score: &Score| {
        let parts: Vec<String> =
            names.iter().zip(&score.parts).map(|(name, share)| format!("{name} {share:.2}")).collect();
        let all: f64 = score.parts.iter().sum();
        format!("{} MiB: {:.2} ({}; all {all:.2})", score.at, score.value, parts.join(", "))
    };
    let ours = scores.scores(policy).iter().map(text).collect::<Vec<_>>().join("; ");
    Measure::shown(&format!("{}, {policy}: {}", ground.name, scores.unit), "", ours)
}
