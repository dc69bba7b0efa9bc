//! `today-…`: the loads of now. A policy beside all others in the cells of a [`Suite`], judged by
//! its throughput, its requests and its reads.

use serde::Deserialize;

use super::auto_best::percent;
use crate::line::geometric_mean;
use crate::suite::{Cell, Suite};
use crate::{CellFigure, Context, Error, Experiment, Finding, Job, Measure};
use forebay_sim::chart::{HeatCell, HeatMap, HeatRow};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    /// The policy that is asked about; the first of the suite.
    policy: String,
    /// Another experiment whose suite is meant.
    #[serde(default)]
    suite_of: Option<String>,
    #[serde(default)]
    suite: Option<Suite>,
    judged: Vec<Judged>,
}

/// A figure of all cells, judged by a rule.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Judged {
    rule: String,
    of: Of,
    /// The load that is meant, if it is one.
    #[serde(default)]
    load: Option<String>,
    #[serde(default)]
    at: At,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Of {
    /// Its throughput as a share of that of the cell's best policy.
    ShareOfBest,
    /// The geometric mean of its shares over that of the next best single policy.
    Lead,
    /// Its throughput over that of a policy.
    RateOver(String),
    /// Requests to the device over those of a policy.
    RequestsOver(String),
    /// Its throughput, 10^6 bytes a second.
    Rate,
    /// Bytes that the device reads, over those that readers get.
    Read,
}

/// The one figure of several cells.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum At {
    /// The geometric mean.
    #[default]
    Mean,
    /// The least.
    Least,
    /// The most.
    Most,
    /// The share of cells that have at least so much.
    CellsFrom(f64),
}

/// The cells, and where the policy stands among those of the suite.
struct Table<'a> {
    /// Those that count, then those that are shown beside them.
    policies: Vec<&'a str>,
    counted: usize,
    cells: &'a [Cell],
    policy: usize,
}

/// A description that makes sense.
pub(super) struct Asked {
    parameters: Parameters,
    suite: Suite,
}

/// Looks a description through, before anything runs.
pub(super) fn read(experiment: &Experiment) -> Result<Asked, Error> {
    let parameters: Parameters = experiment.parameters()?;
    let suite = parameters.suite(experiment)?;
    suite.check(experiment)?;
    let policies: Vec<&str> = suite.policies.iter().map(String::as_str).collect();
    place(&policies, &parameters.policy, experiment)?;
    if parameters.judged.is_empty() {
        return Err(experiment.wrong("`judged` is empty: nothing is judged"));
    }
    for judged in &parameters.judged {
        judged.check(&suite, &parameters.policy, experiment)?;
    }
    Ok(Asked { parameters, suite })
}

pub(crate) fn check(experiment: &Experiment, context: &Context<'_>) -> Result<Finding, Error> {
    let Asked { parameters, suite } = read(experiment)?;
    let suite = if context.quick { suite.thinned(&parameters.policy) } else { suite };
    let cells = suite.run(Job { experiment, context })?;
    let policies: Vec<&str> = suite.all().map(String::as_str).collect();
    let policy = place(&policies, &parameters.policy, experiment)?;
    let table = Table { policies, counted: suite.policies.len(), cells: &cells, policy };
    let mut measures = Vec::new();
    for judged in &parameters.judged {
        if let Some(measure) = table.judged(judged, experiment, context)? {
            measures.push(measure);
        }
    }
    let ours = measures.iter().map(|measure| measure.ours.clone()).collect::<Vec<_>>().join("; ");
    measures.extend(table.left_out(&suite));
    measures.extend(table.with_all());
    measures.extend((0..table.policies.len()).map(|number| table.shown(number)));
    measures.extend(cells.iter().map(|cell| table.cell(cell)));
    let maps = vec![table.map(&suite)];
    let figures = cells.iter().flat_map(|cell| table.figures(cell)).collect();
    Ok(Finding { maps, cells: figures, ..Finding::new(ours, measures, Vec::new()) })
}

impl Parameters {
    fn suite(&self, experiment: &Experiment) -> Result<Suite, Error> {
        let missing = || experiment.wrong("it has no suite");
        if let Some(other) = &self.suite_of {
            let other = super::experiment(other)?.parameters::<Parameters>()?;
            return other.suite.ok_or_else(missing);
        }
        self.suite.clone().ok_or_else(missing)
    }
}

fn place(policies: &[&str], name: &str, experiment: &Experiment) -> Result<usize, Error> {
    let place = policies.iter().position(|&policy| policy == name);
    place.ok_or_else(|| experiment.wrong(&format!("the suite does not run `{name}`")))
}

impl Table<'_> {
    /// The outcome. `None` for a load or policy that a quick run leaves out.
    fn judged(
        &self,
        judged: &Judged,
        experiment: &Experiment,
        context: &Context<'_>,
    ) -> Result<Option<Measure>, Error> {
        let named = |cell: &&Cell| judged.load.as_ref().is_none_or(|load| cell.load == *load);
        let cells: Vec<&Cell> = self.cells.iter().filter(named).collect();
        let other = match &judged.of {
            Of::RateOver(other) | Of::RequestsOver(other) => match place(&self.policies, other, experiment) {
                Err(_) if context.quick => return Ok(None),
                other => other?,
            },
            _ => self.policy,
        };
        let values: Vec<f64> = match &judged.of {
            Of::Lead => vec![self.mean_share(self.policy) / self.next_best().1],
            of => cells.iter().map(|cell| self.value(of, cell, other)).collect(),
        };
        if cells.is_empty() && context.quick {
            return Ok(None);
        }
        let value = judged.at.of(&values);
        let what = judged.what(self);
        let text = format!("{} {}", judged.rule, judged.of.shown(value, judged.at));
        experiment.judged(&judged.rule, value, Measure::shown(&what, "", text)).map(Some)
    }

    fn value(&self, of: &Of, cell: &Cell, other: usize) -> f64 {
        let Some(own) = cell.outcomes.get(self.policy) else { return f64::NAN };
        let over = cell.outcomes.get(other);
        match of {
            Of::ShareOfBest | Of::Lead => own.throughput_mb_s / cell.best(),
            Of::RateOver(_) => own.throughput_mb_s / cell.rate(other),
            Of::RequestsOver(_) => {
                own.device_requests as f64 / over.map_or(f64::NAN, |over| over.device_requests as f64)
            }
            Of::Rate => own.throughput_mb_s,
            Of::Read => own.device_bytes as f64 / own.bytes.max(1) as f64,
        }
    }

    /// A policy's share of the best, cell by cell.
    fn shares(&self, policy: usize) -> impl Iterator<Item = f64> + Clone {
        self.cells.iter().map(move |cell| cell.rate(policy) / cell.best())
    }

    /// The geometric mean of a policy's shares of the best of each cell.
    fn mean_share(&self, policy: usize) -> f64 {
        geometric_mean(self.shares(policy))
    }

    /// The best of all other policies that are not variants of this one, and its mean share.
    fn next_best(&self) -> (&str, f64) {
        let own = self.policies[self.policy];
        let others = (0..self.counted).filter(|&number| !self.policies[number].starts_with(own));
        let shares = others.map(|number| (self.policies[number], self.mean_share(number)));
        shares.max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or(("", f64::NAN))
    }

    /// The loads of whose files not all lines are read.
    fn left_out(&self, suite: &Suite) -> Vec<Measure> {
        let lines = |name: &str| self.cells.iter().find(|cell| cell.load == name).map_or(0, |cell| cell.left_out);
        let shown = |load: &crate::suite::Load| {
            let lines = lines(&load.name);
            let what = format!("{}: lines of its trace that are left out", load.name);
            (lines > 0).then(|| Measure::shown(&what, "", lines.to_string()))
        };
        suite.loads.iter().filter_map(shown).collect()
    }

    /// Its share, if those beside counted as well.
    fn with_all(&self) -> Option<Measure> {
        let shares = self.cells.iter().map(|cell| cell.rate(self.policy) / cell.best_of_all());
        let what = format!("{}: mean share of each cell's best, those beside counted", self.policies[self.policy]);
        let text = format!("{:.3}", geometric_mean(shares));
        (self.counted < self.policies.len()).then(|| Measure::shown(&what, "", text))
    }

    /// A policy over all cells.
    fn shown(&self, policy: usize) -> Measure {
        let least = self.shares(policy).fold(f64::INFINITY, f64::min);
        let text = format!("{:.3}, at worst {least:.2}", self.mean_share(policy));
        let beside = if policy < self.counted { "" } else { " (beside)" };
        Measure::shown(&format!("{}{beside}: mean share of each cell's best", self.policies[policy]), "", text)
    }

    fn cell(&self, cell: &Cell) -> Measure {
        let place = format!("{}, {}, {:.0} % memory", cell.load, cell.device, cell.memory * 100.0);
        Measure::shown(&place, "", self.note(cell))
    }

    /// Every policy in a cell.
    fn figures<'a>(&'a self, cell: &'a Cell) -> impl Iterator<Item = CellFigure> + 'a {
        self.policies.iter().zip(&cell.outcomes).enumerate().map(|(number, (policy, outcome))| CellFigure {
            load: cell.load.clone(),
            device: cell.device.clone(),
            memory: cell.memory,
            policy: (*policy).to_owned(),
            beside: number >= self.counted,
            figure: outcome.throughput_mb_s,
            unit: "MB/s",
            bound: Some(cell.bound),
            share_of_best: Some(outcome.throughput_mb_s / cell.best()),
            opt_miss_ratio: Some(cell.opt),
            ..CellFigure::of(outcome)
        })
    }

    /// The best of some policies in a cell. Of equals it is the policy that is asked about, else
    /// the first: a variant that does the same is no better than the plain one.
    fn best_of(&self, cell: &Cell, of: std::ops::Range<usize>) -> Option<usize> {
        let most = of.clone().map(|number| cell.rate(number)).fold(f64::NAN, f64::max);
        let own = of.contains(&self.policy).then_some(self.policy);
        own.into_iter().chain(of).find(|&number| cell.rate(number) == most)
    }

    /// The policy in a cell: throughput, the best, the bound, and what Belady's policy would miss.
    fn note(&self, cell: &Cell) -> String {
        let best = |of: std::ops::Range<usize>| {
            let number = self.best_of(cell, of);
            number.map(|number| format!("{}: {:.1} MB/s", self.policies[number], cell.rate(number)))
        };
        let beside = best(self.counted..self.policies.len()).map(|best| format!("; beside {best}"));
        format!(
            "{:.1} MB/s; best {}; bound {:.0} MB/s; OPT misses {:.1} %{}",
            cell.rate(self.policy),
            best(0..self.counted).unwrap_or_default(),
            cell.bound,
            cell.opt * 100.0,
            beside.unwrap_or_default()
        )
    }

    /// A row a load, a column a device and memory.
    fn map(&self, suite: &Suite) -> HeatMap {
        let column = |device: &String| {
            suite.memory.iter().map(move |share| format!("{device} {:.0} %", share * 100.0)).collect::<Vec<_>>()
        };
        let cell = |cell: &Cell| HeatCell { share: cell.rate(self.policy) / cell.best(), note: self.note(cell) };
        let row = |load: &crate::suite::Load| HeatRow {
            name: load.name.clone(),
            cells: self.cells.iter().filter(|cell| cell.load == load.name).map(cell).collect(),
        };
        HeatMap {
            title: format!("{}: share of the best policy of each cell", self.policies[self.policy]),
            columns: suite.devices.iter().flat_map(column).collect(),
            rows: suite.loads.iter().map(row).collect(),
        }
    }
}

impl Judged {
    /// An error that names the key, if it asks for what the suite does not run.
    fn check(&self, suite: &Suite, policy: &str, experiment: &Experiment) -> Result<(), Error> {
        experiment.rule(&self.rule)?;
        if let Some(load) = self.load.as_ref().filter(|load| suite.loads.iter().all(|known| known.name != **load)) {
            return Err(experiment.wrong(&format!("`judged`: the suite has no load `{load}`")));
        }
        let all: Vec<&str> = suite.all().map(String::as_str).collect();
        match &self.of {
            Of::RateOver(other) | Of::RequestsOver(other) => place(&all, other, experiment).map(drop),
            Of::Lead if suite.policies.iter().all(|name| name.starts_with(policy)) => Err(experiment
                .wrong(&format!("`judged`: a `lead` needs another policy than `{policy}` in the suite's `policies`"))),
            _ => Ok(()),
        }
    }

    fn what(&self, table: &Table<'_>) -> String {
        let policy = table.policies[table.policy];
        let of = match &self.of {
            Of::ShareOfBest => format!("{policy} over the best of each cell"),
            Of::Lead => format!("{policy} over {}, which has the next best mean", table.next_best().0),
            Of::RateOver(other) => format!("{policy} over {other}, throughput"),
            Of::RequestsOver(other) => format!("{policy} over {other}, requests"),
            Of::Rate => format!("{policy}: MB/s"),
            Of::Read => format!("{policy}: bytes read over bytes asked for"),
        };
        let load = self.load.as_ref().map_or_else(String::new, |load| format!(", {load}"));
        let at = match self.at {
            At::Mean => "in the mean".to_owned(),
            At::Least => "at least".to_owned(),
            At::Most => "at most".to_owned(),
            At::CellsFrom(from) => format!("cells from {from}"),
        };
        format!("{of}{load}, {at}")
    }
}

impl Of {
    fn shown(&self, value: f64, at: At) -> String {
        match (self, at) {
            (_, At::CellsFrom(from)) => format!("{:.0} % of cells from {from}", value * 100.0),
            (Of::Rate, _) => format!("{value:.1} MB/s"),
            (Of::Read | Of::RequestsOver(_), _) => format!("{value:.2} x"),
            (Of::Lead, _) => percent(value),
            _ => format!("{value:.3}"),
        }
    }
}

impl At {
    /// Not a number if there is none, or one is none.
    fn of(self, values: &[f64]) -> f64 {
        if values.is_empty() || values.iter().any(|value| value.is_nan()) {
            return f64::NAN;
        }
        match self {
            At::Mean => geometric_mean(values.iter().copied()),
            At::Least => values.iter().copied().fold(f64::INFINITY, f64::min),
            At::Most => values.iter().copied().fold(0.0, f64::max),
            At::CellsFrom(from) => values.iter().filter(|&&value| value >= from).count() as f64 / values.len() as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_several_cells_are_one() {
        let values = [0.5, 2.0, 1.0];
        assert_eq!(At::Mean.of(&values), 1.0);
        assert_eq!((At::Least.of(&values), At::Most.of(&values)), (0.5, 2.0));
        assert_eq!(At::CellsFrom(1.0).of(&values), 2.0 / 3.0);
        assert!(At::Least.of(&[]).is_nan() && At::Mean.of(&[1.0, f64::NAN]).is_nan());
    }
}
