//! auto-ablation: what each part of `auto` is worth, on every ground that the other experiments
//! with it have.

use serde::Deserialize;

use crate::claims::auto_best::AUTO;
use crate::claims::{auto_best, auto_mixed};
use crate::ground::mean;
use crate::raid::percent;
use crate::{Context, Error, Experiment, Finding, Measure, experiment as described};
use forebay_sim::chart::{Axis, Chart, Series};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
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

/// Of a part: how many times as good `auto` is with it as without, ground by ground.
struct Worth {
    part: Part,
    ratios: Vec<(String, f64)>,
}

pub(crate) fn check(experiment: &Experiment, context: &Context<'_>) -> Result<Finding, Error> {
    let Parameters { of, places, parts } = experiment.parameters()?;
    let policies: Vec<String> =
        [AUTO.to_owned()].into_iter().chain(parts.iter().map(|part| part.without.clone())).collect();
    let mut worths: Vec<Worth> = parts.into_iter().map(|part| Worth { part, ratios: Vec::new() }).collect();
    let mut measures = Vec::new();
    for id in &of {
        let other = described(id)?;
        let grounds = if other.parameters.contains_key("mixtures") { auto_mixed::grounds } else { auto_best::grounds };
        for ground in grounds(&other)? {
            let ground = ground.thinned(if context.quick { 1 } else { places });
            let scores = ground.run(&policies, (&other, context))?;
            let mut row = Vec::new();
            for worth in &mut worths {
                let ratio = mean(&scores.ratios(AUTO, &worth.part.without));
                row.push(format!("{} {}", worth.part.name, percent(ratio)));
                worth.ratios.push((ground.name.clone(), ratio));
            }
            measures.push(Measure::shown(&format!("{}: auto over auto without", ground.name), "", row.join(", ")));
        }
    }
    let judged = worths.iter().map(|worth| worth.judged(experiment)).collect::<Result<Vec<_>, _>>()?;
    let ours: Vec<String> =
        worths.iter().map(|worth| format!("{} {}", worth.part.name, percent(worth.best().1))).collect();
    let ours = format!("at best {}", ours.join(", "));
    Ok(Finding::new(ours, judged.into_iter().flatten().chain(measures).collect(), vec![chart(&worths)]))
}

impl Worth {
    fn best(&self) -> (&str, f64) {
        let best = self.ratios.iter().max_by(|a, b| a.1.total_cmp(&b.1));
        best.map_or(("nothing", f64::NAN), |(ground, ratio)| (ground, *ratio))
    }

    fn worst(&self) -> (&str, f64) {
        let worst = self.ratios.iter().min_by(|a, b| a.1.total_cmp(&b.1));
        worst.map_or(("nothing", f64::NAN), |(ground, ratio)| (ground, *ratio))
    }

    /// Where it pays, where it costs, and what it is worth over all grounds.
    fn judged(&self, experiment: &Experiment) -> Result<Vec<Measure>, Error> {
        let ((best, most), (worst, least)) = (self.best(), self.worst());
        let name = &self.part.name;
        let all: Vec<(f64, f64)> = self.ratios.iter().map(|(_, ratio)| (0.0, *ratio)).collect();
        Ok(vec![
            experiment.judged(
                "pays",
                most,
                (&format!("{name}: where it pays most"), ""),
                format!("{best} {}", percent(most)),
            )?,
            experiment.judged(
                "costs",
                least,
                (&format!("{name}: where it costs most"), ""),
                format!("{worst} {}", percent(least)),
            )?,
            Measure::shown(&format!("{name}: in the mean of all"), "", percent(mean(&all))),
        ])
    }
}

/// A line a part, the grounds side by side.
fn chart(worths: &[Worth]) -> Chart {
    let points = |worth: &Worth| (1u32..).zip(&worth.ratios).map(|(at, (_, ratio))| (at.into(), *ratio)).collect();
    let line = |worth: &Worth| Series { name: worth.part.name.clone(), points: points(worth) };
    let names: Vec<&str> =
        worths.first().map_or(&[][..], |worth| &worth.ratios).iter().map(|(name, _)| name.as_str()).collect();
    let names: Vec<String> = (1..).zip(names).map(|(number, name): (u32, _)| format!("{number} {name}")).collect();
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
        let ratios = ratios.iter().enumerate().map(|(number, &ratio)| (number.to_string(), ratio)).collect();
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
        let auto: forebay_core::Policy = AUTO.parse().unwrap();
        for part in parameters.parts {
            assert_ne!(part.without.parse(), Ok(auto), "{}", part.name);
        }
    }
}
