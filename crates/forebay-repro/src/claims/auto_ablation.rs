//! auto-ablation: what each part of `auto` is worth, on every ground that the other experiments
//! with it have.

use serde::Deserialize;

use crate::claims::auto_best::percent;
use crate::claims::{auto_best, auto_mixed};
use crate::line::{Line, Point};
use crate::{Context, Error, Experiment, Finding, Job, Measure, experiment as described};
use forebay_sim::chart::{Axis, Chart, Series};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    /// The policy that has the parts.
    policy: String,
    /// The experiments whose grounds these are.
    of: Vec<String>,
    /// At so many of the places of each.
    places: usize,
    parts: Vec<Part>,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Part {
    name: String,
    /// The policy that lacks it.
    without: String,
}

/// Of a part: how many times as good the policy is with it as without, ground by ground.
struct Worth {
    part: Part,
    ratios: Vec<Ratio>,
}

struct Ratio {
    ground: String,
    value: f64,
}

pub(crate) fn check(experiment: &Experiment, context: &Context<'_>) -> Result<Finding, Error> {
    let Parameters { policy, of, places, parts } = experiment.parameters()?;
    let policies: Vec<String> = [&policy].into_iter().chain(parts.iter().map(|part| &part.without)).cloned().collect();
    let mut worths: Vec<Worth> = parts.into_iter().map(|part| Worth { part, ratios: Vec::new() }).collect();
    let mut measures = Vec::new();
    for id in &of {
        let other = described(id)?;
        let grounds = if other.parameters.contains_key("mixtures") { auto_mixed::grounds } else { auto_best::grounds };
        for ground in grounds(&other)? {
            let ground = ground.thinned(if context.quick { 1 } else { places });
            let scores = ground.run(&policies, Job { experiment: &other, context })?;
            let mut row = Vec::new();
            for worth in &mut worths {
                let ratio = scores.ratios(&policy, &worth.part.without).geometric_mean();
                row.push(format!("{} {}", worth.part.name, percent(ratio)));
                worth.ratios.push(Ratio { ground: ground.name.clone(), value: ratio });
            }
            measures.push(Measure::shown(
                &format!("{}: {policy} over {policy} without", ground.name),
                "",
                row.join(", "),
            ));
        }
    }
    let judged = worths.iter().map(|worth| worth.judged(experiment)).collect::<Result<Vec<_>, _>>()?;
    let ours: Vec<String> =
        worths.iter().map(|worth| format!("{} {}", worth.part.name, percent(worth.best().value))).collect();
    let ours = format!("at best {}", ours.join(", "));
    Ok(Finding::new(ours, judged.into_iter().flatten().chain(measures).collect(), vec![chart(&worths)]))
}

impl Worth {
    fn best(&self) -> &Ratio {
        self.ratios.iter().max_by(|a, b| a.value.total_cmp(&b.value)).unwrap_or(&NOTHING)
    }

    fn worst(&self) -> &Ratio {
        self.ratios.iter().min_by(|a, b| a.value.total_cmp(&b.value)).unwrap_or(&NOTHING)
    }

    /// The grounds side by side, numbered from one.
    fn line(&self) -> Line {
        (1u32..).zip(&self.ratios).map(|(at, ratio)| Point { at: at.into(), value: ratio.value }).collect()
    }

    /// Where it pays, where it costs, and what it is worth over all grounds.
    fn judged(&self, experiment: &Experiment) -> Result<Vec<Measure>, Error> {
        let name = &self.part.name;
        let judged = |rule: &str, what: &str, ratio: &Ratio| {
            let ours = format!("{} {}", ratio.ground, percent(ratio.value));
            experiment.judged(rule, ratio.value, Measure::shown(&format!("{name}: {what}"), "", ours))
        };
        let mean = percent(self.line().geometric_mean());
        Ok(vec![
            judged("pays", "where it pays most", self.best())?,
            judged("costs", "where it costs most", self.worst())?,
            Measure::shown(&format!("{name}: in the mean of all"), "", mean),
        ])
    }
}

/// The worth of a part that was tried nowhere.
static NOTHING: Ratio = Ratio { ground: String::new(), value: f64::NAN };

/// A line a part, the grounds side by side.
fn chart(worths: &[Worth]) -> Chart {
    let line = |worth: &Worth| Series { name: worth.part.name.clone(), points: worth.line().points() };
    let names = worths.first().map_or(&[][..], |worth| &worth.ratios).iter().map(|ratio| &ratio.ground);
    let names: Vec<String> = (1u32..).zip(names).map(|(number, name)| format!("{number} {name}")).collect();
    Chart {
        title: format!("What each part is worth: {}", names.join(", ")),
        x: Axis::linear("workload"),
        y: Axis::logarithmic("auto over auto without it"),
        series: worths.iter().map(line).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Verdict, experiment};

    fn judged(ratios: &[f64]) -> Result<Vec<Measure>, Error> {
        let part = Part { name: "a part".to_owned(), without: String::new() };
        let ratios = ratios.iter().enumerate().map(|(at, &value)| Ratio { ground: at.to_string(), value }).collect();
        Worth { part, ratios }.judged(&experiment("auto-ablation").unwrap())
    }

    fn verdicts(ratios: &[f64]) -> Vec<Verdict> {
        judged(ratios).unwrap().iter().filter_map(|measure| measure.verdict).collect()
    }

    #[test]
    fn a_part_pays_somewhere_or_is_to_be_off() {
        assert_eq!(verdicts(&[1.0, 1.3, 0.97]), [Verdict::Holds, Verdict::Holds]);
        assert_eq!(verdicts(&[1.0, 1.0, 0.8]), [Verdict::Fails, Verdict::Fails]);
        let error = judged(&[]).unwrap_err().to_string();
        assert!(error.contains("no figure to judge"), "{error}");
    }

    #[test]
    fn what_is_removed_is_removed() {
        let parameters: Parameters = experiment("auto-ablation").unwrap().parameters().unwrap();
        let whole: forebay_core::Policy = parameters.policy.parse().unwrap();
        for part in parameters.parts {
            assert_ne!(part.without.parse(), Ok(whole), "{}", part.name);
        }
    }
}
