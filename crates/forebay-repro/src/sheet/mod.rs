//! A claim as a sheet: formulas in its description say what is judged of runs, what is shown of
//! them and which curves are drawn (`experiments/README.md` says how to write one).
//!
//! A formula asks for *columns*: `throughput(linux)` is the figure of that policy along the axis of
//! the runs. Which columns there are, and what stands on the axis, the machine knows that ran them.

mod formula;
mod text;
mod value;

use std::cell::Cell;
use std::collections::BTreeMap;

use forebay_sim::chart::{Axis, Chart, Series};
use serde::Deserialize;

use crate::line::Line;
use crate::{Error, Experiment, Finding, Measure};
pub(crate) use formula::Formula;
pub(crate) use text::filled;
pub(crate) use value::Value;

/// A sheet as it is described.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sheet {
    /// Short names for policies and whatever else has a long one.
    #[serde(default)]
    names: BTreeMap<String, String>,
    /// Formulas that others use by these names.
    #[serde(default)]
    figures: BTreeMap<String, String>,
    /// Our figure in a few words, a text.
    ours: String,
    measures: Vec<Entry>,
    charts: Vec<Drawn>,
}

impl Sheet {
    /// Whether it draws anything.
    pub(crate) fn is_drawn(&self) -> bool {
        !self.charts.is_empty()
    }
}

/// A measure; or several, once for each of a list of names.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Entry {
    /// The word for the names in formulas and texts of `measures`.
    each: String,
    over: Vec<String>,
    measures: Vec<Entry>,
    /// Texts: what is measured, what the paper says of it, what it is here.
    what: String,
    paper: String,
    ours: String,
    /// The rule, and the formula of what it judges; of what is only shown there is neither.
    rule: Option<String>,
    value: Option<String>,
    /// If this is nought, the measure is left out.
    when: Option<String>,
}

/// A picture with a curve for each of a list of names.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Drawn {
    title: String,
    x: String,
    #[serde(default)]
    logarithmic: bool,
    y: String,
    /// The word for the names in `of`, the formula of a curve.
    each: String,
    over: Vec<String>,
    of: String,
}

/// The columns of the machines' runs.
pub(crate) trait Columns {
    /// A column by its name; nothing if there is none of that name.
    fn column(&self, name: &str, asked: &Asked<'_>) -> Option<Line>;
}

/// Which column: `rate(ets, 2, slow)` is that of policy `ets`, number 2, of what is called `slow`.
#[derive(Debug)]
pub(crate) struct Asked<'a> {
    pub(crate) policy: &'a str,
    /// A benchmark or a sweep, if one is named.
    pub(crate) of: Option<&'a str>,
    pub(crate) numbers: Vec<f64>,
}

impl<'a> Asked<'a> {
    fn new(values: &'a [Value]) -> Option<Asked<'a>> {
        let names = |value: &'a Value| if let Value::Name(name) = value { Some(name.as_str()) } else { None };
        let numbers = values.iter().filter_map(|value| value.number("").ok()).collect();
        let mut names = values.iter().filter_map(names);
        Some(Asked { policy: names.next()?, of: names.next(), numbers })
    }

    /// A number of it, from one on.
    pub(crate) fn number(&self, place: usize) -> Option<f64> {
        self.numbers.get(place).copied()
    }
}

/// Why a sheet makes no sense.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub(crate) enum Wrong {
    #[error("the formula `{formula}` makes no sense from `{rest}` on")]
    Formula { formula: String, rest: String },
    #[error("the text `{text}` has no closing brace or a format that there is not")]
    Text { text: String },
    #[error("`{name}` is no figure, name or function")]
    Unknown { name: String },
    #[error("`{name}` has nothing of {asked}: it is not run")]
    NotRun { name: String, asked: String },
    #[error("`{function}` takes other arguments")]
    Arguments { function: String },
    #[error("`{whence}` is not {wanted}")]
    Kind { whence: String, wanted: &'static str },
    #[error("two lines are compared that stand at different places")]
    Places,
    #[error("`{name}` is a figure of itself")]
    Circle { name: String },
}

/// Names and functions beside those that every formula knows.
pub(crate) trait Names {
    fn name(&self, name: &str) -> Result<Value, Wrong>;

    fn call(&self, name: &str, _values: &[Value]) -> Result<Value, Wrong> {
        Err(Wrong::Unknown { name: name.to_owned() })
    }
}

/// The value of a formula.
pub(crate) fn worked_out(formula: &Formula, names: &dyn Names) -> Result<Value, Wrong> {
    match formula {
        Formula::Number(number) => Ok(Value::Number(*number)),
        Formula::Name(name) => names.name(name),
        Formula::Both(left, operator, right) => {
            value::both(&worked_out(left, names)?, *operator, &worked_out(right, names)?)
        }
        Formula::Call(name, arguments) => {
            let values = arguments.iter().map(|of| worked_out(of, names)).collect::<Result<Vec<_>, _>>()?;
            value::function(name, &values).unwrap_or_else(|| names.call(name, &values))
        }
    }
}

/// Figures that name figures, at most.
const DEEPEST: u32 = 20;

/// The names known at a place of a sheet.
struct Scope<'a> {
    sheet: &'a Sheet,
    columns: &'a dyn Columns,
    /// The names of the lists around it.
    bound: BTreeMap<String, String>,
    depth: Cell<u32>,
}

impl Names for Scope<'_> {
    fn name(&self, name: &str) -> Result<Value, Wrong> {
        if let Some(bound) = self.bound.get(name) {
            return Ok(Value::Name(bound.clone()));
        }
        let Some(figure) = self.sheet.figures.get(name) else {
            return Ok(Value::Name(self.long(name).to_owned()));
        };
        if self.depth.get() == DEEPEST {
            return Err(Wrong::Circle { name: name.to_owned() });
        }
        self.depth.set(self.depth.get() + 1);
        let value = self.value(figure);
        self.depth.set(self.depth.get() - 1);
        value
    }

    fn call(&self, name: &str, values: &[Value]) -> Result<Value, Wrong> {
        let asked = Asked::new(values).ok_or_else(|| Wrong::Unknown { name: name.to_owned() })?;
        let line = self.columns.column(name, &asked).ok_or_else(|| Wrong::Unknown { name: name.to_owned() })?;
        if line.len() > 0 {
            return Ok(Value::Line(line));
        }
        let asked = format!("`{}`{}", asked.policy, asked.of.map(|of| format!(" on `{of}`")).unwrap_or_default());
        Err(Wrong::NotRun { name: name.to_owned(), asked })
    }
}

impl Scope<'_> {
    fn value(&self, formula: &str) -> Result<Value, Wrong> {
        worked_out(&Formula::read(formula)?, self)
    }

    fn number(&self, formula: &str) -> Result<f64, Wrong> {
        self.value(formula)?.number(formula)
    }

    fn text(&self, text: &str) -> Result<String, Wrong> {
        text::filled(text, |formula| self.value(formula))
    }

    /// The long name that a short name stands for.
    fn long<'b>(&'b self, name: &'b str) -> &'b str {
        self.sheet.names.get(name).map_or(name, String::as_str)
    }

    /// The same for each name of a list.
    fn each<'b>(&'b self, each: &'b str, over: &'b [String]) -> impl Iterator<Item = Scope<'b>> {
        over.iter().map(move |name| {
            let mut bound = self.bound.clone();
            bound.insert(each.to_owned(), self.long(name).to_owned());
            Scope { sheet: self.sheet, columns: self.columns, bound, depth: Cell::new(0) }
        })
    }
}

impl Experiment {
    /// The finding that its sheet makes of runs.
    pub(crate) fn finding(&self, columns: &dyn Columns) -> Result<Finding, Error> {
        let sheet = self.sheet.as_ref().ok_or_else(|| self.wrong("it has no sheet"))?;
        let scope = Scope { sheet, columns, bound: BTreeMap::new(), depth: Cell::new(0) };
        let mut measures = Vec::new();
        for entry in &sheet.measures {
            entry.measures(&scope, self, &mut measures)?;
        }
        let charts = sheet.charts.iter().map(|drawn| drawn.chart(&scope)).collect::<Result<_, _>>();
        Ok(Finding::new(self.made(scope.text(&sheet.ours))?, measures, self.made(charts)?))
    }

    /// An error of its sheet as one of it.
    pub(crate) fn made<T>(&self, result: Result<T, Wrong>) -> Result<T, Error> {
        result.map_err(|wrong| self.wrong(&wrong.to_string()))
    }
}

impl Entry {
    fn measures(&self, scope: &Scope<'_>, experiment: &Experiment, found: &mut Vec<Measure>) -> Result<(), Error> {
        if let Some(when) = &self.when
            && experiment.made(scope.number(when))? == 0.0
        {
            return Ok(());
        }
        if self.measures.is_empty() {
            found.push(self.measure(scope, experiment)?);
        }
        for inner in scope.each(&self.each, &self.over) {
            self.measures.iter().try_for_each(|entry| entry.measures(&inner, experiment, found))?;
        }
        Ok(())
    }

    fn measure(&self, scope: &Scope<'_>, experiment: &Experiment) -> Result<Measure, Error> {
        let text = |text| experiment.made(scope.text(text));
        let measure = Measure::shown(&text(&self.what)?, &text(&self.paper)?, text(&self.ours)?);
        match (&self.rule, &self.value) {
            (Some(rule), Some(value)) => {
                experiment.judged(&text(rule)?, experiment.made(scope.number(value))?, measure)
            }
            (None, None) => Ok(measure),
            _ => Err(experiment.wrong(&format!("`{}` has a rule or a value, but not both", self.what))),
        }
    }
}

impl Drawn {
    fn chart(&self, scope: &Scope<'_>) -> Result<Chart, Wrong> {
        let curve = |inner: Scope<'_>| -> Result<Series, Wrong> {
            let name = inner.bound.get(&self.each).cloned().unwrap_or_default();
            Ok(Series { name, points: inner.value(&self.of)?.line(&self.of)?.points() })
        };
        Ok(Chart {
            title: scope.text(&self.title)?,
            x: if self.logarithmic { Axis::logarithmic(&self.x) } else { Axis::linear(&self.x) },
            y: Axis::linear(&self.y),
            series: scope.each(&self.each, &self.over).map(curve).collect::<Result<_, _>>()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Verdict;
    use crate::line::Point;

    /// Two policies at two places.
    struct Two;

    impl Columns for Two {
        fn column(&self, name: &str, asked: &Asked<'_>) -> Option<Line> {
            let times = match (name, asked.policy) {
                ("rate", "plain") => 1.0,
                ("rate", "long:name=1") => asked.number(0).unwrap_or(2.0),
                ("rate", _) => return Some(Line::default()),
                _ => return None,
            };
            Some([1.0, 8.0].into_iter().map(|at| Point { at, value: at * times }).collect())
        }
    }

    fn finding(sheet: &str) -> Result<Finding, Error> {
        let text = "id = 'x'\npaper = ''\nclaim = ''\nfigure = ''\nsetting = ''\njudgement = ''\n\
                    rules.gain = { is = 'at-least', value = 1.5, weaker = 1.0 }\n";
        let experiment: Experiment = toml::from_str(&format!("{text}{sheet}")).expect("an experiment");
        experiment.finding(&Two)
    }

    #[test]
    fn a_sheet_judges_shows_and_draws() {
        let sheet = r#"
            [sheet]
            names = { long = "long:name=1" }
            figures = { gain = "rate(long) / rate(plain)" }
            ours = "{mean(gain):1×}"
            [[sheet.measures]]
            what = "{long} over plain"
            paper = "more"
            rule = "gain"
            value = "lowest(gain)"
            ours = "{gain:2}"
            [[sheet.measures]]
            each = "who"
            over = ["plain", "long"]
            measures = [{ what = "{who}", ours = "{rate(who):0}" }, { what = "", when = "count(upto(gain, 0))" }]
            [[sheet.charts]]
            title = "Rates"
            x = "place"
            y = "rate"
            each = "who"
            over = ["long"]
            of = "rate(who, 3)"
        "#;
        let found = finding(sheet).unwrap();
        assert_eq!((found.ours.as_str(), found.verdict), ("2.0 ×", Verdict::Holds));
        let texts: Vec<&str> = found.measures.iter().flat_map(|m| [m.what.as_str(), m.ours.as_str()]).collect();
        assert_eq!(
            texts,
            ["long:name=1 over plain", "1: 2.00, 8: 2.00", "plain", "1: 1, 8: 8", "long:name=1", "1: 2, 8: 16"]
        );
        assert_eq!(
            (found.charts[0].series[0].name.as_str(), found.charts[0].series[0].points[1]),
            ("long:name=1", (8.0, 24.0))
        );
    }

    #[test]
    fn a_sheet_that_makes_no_sense_is_named() {
        for (figure, expected) in [
            ("rate(plane)", "`rate` has nothing of `plane`: it is not run"),
            ("speed(plain)", "`speed` is no figure"),
            ("own + 1", "`own` is a figure of itself"),
            ("rate(plain)", "`own` is not a number"),
            ("plain / 2", "`plain` is no figure"),
            ("1 +", "makes no sense from ``"),
        ] {
            let sheet = format!(
                "sheet.figures.own = '{figure}'\nsheet.ours = ''\nsheet.charts = []\n\
                 sheet.measures = [{{ what = 'w', rule = 'gain', value = 'own' }}]\n"
            );
            let error = finding(&sheet).unwrap_err().to_string();
            assert!(error.starts_with("experiment `x`: ") && error.contains(expected), "{figure}: {error}");
        }
        let error = finding("sheet.ours = ''\nsheet.charts = []\nsheet.measures = [{ what = 'w', rule = 'gain' }]");
        assert!(error.unwrap_err().to_string().contains("not both"));
    }
}
