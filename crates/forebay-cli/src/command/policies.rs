//! `forebay policies`: every policy by name, a line each, with its paper; and the options of
//! presets.

use forebay_core::Policy;
use forebay_core::presets::{CHOICES, Choice, Entry, PARTS, entries};
use serde::Serialize;

use crate::failure::Failure;
use crate::options::Policies;
use crate::output;
use crate::table::{Column, Table};

/// A policy, as `--json` has it.
#[derive(Serialize)]
struct Record {
    name: &'static str,
    axis: &'static str,
    paper: &'static str,
    line: &'static str,
    /// The options that the policy has.
    options: Vec<Chosen>,
}

/// An option of a preset.
#[derive(Serialize)]
struct Chosen {
    name: &'static str,
    values: &'static str,
    default: String,
    line: &'static str,
}

/// Lists the policies.
pub(crate) fn run(options: &Policies) -> Result<(), Failure> {
    if options.json {
        return output::json(&entries().map(record).collect::<Vec<_>>());
    }
    let mut table =
        Table::new([Column::left("policy"), Column::left("axis"), Column::left("what it does"), Column::left("paper")]);
    for entry in entries() {
        table.row([entry.name, entry.axis, entry.line, entry.paper].map(str::to_owned));
    }
    let columns = [
        Column::left("option"),
        Column::left("values"),
        Column::left("default"),
        Column::left("of"),
        Column::left("what it does"),
    ];
    let mut choices = Table::new(columns);
    for choice in CHOICES {
        for (default, of) in defaults(choice) {
            choices.row([choice.name.into(), choice.values.into(), default, of.join(", "), choice.line.into()]);
        }
    }
    let mut parts = Table::new([Column::left("part of auto"), Column::left("what it does")]);
    PARTS.iter().for_each(|part| parts.row([part.name, part.line].map(str::to_owned)));
    output::print(&format!(
        "{table}\nOne of each axis makes a policy: competitive+lru, competitive+lazy-clock, eager+arc.\n\n{choices}\nOptions follow the \
         policy's name: competitive-em:start=5,epoch=0+arc.\n\n{parts}\nParts are left out by name: auto:without=near/sequel.\n"
    ))
}

fn record(entry: &Entry) -> Record {
    let options = Choice::of(entry.name).map(|choice| Chosen {
        name: choice.name,
        values: choice.values,
        default: default(entry.name, choice),
        line: choice.line,
    });
    Record { name: entry.name, axis: entry.axis, paper: entry.paper, line: entry.line, options: options.collect() }
}

/// The default values of an option, each with the presets that have it.
fn defaults(choice: &Choice) -> Vec<(String, Vec<&'static str>)> {
    let mut defaults: Vec<(String, Vec<&str>)> = Vec::new();
    for name in entries().map(|entry| entry.name).filter(|name| has(name, choice)) {
        let value = default(name, choice);
        match defaults.iter_mut().find(|(known, _)| *known == value) {
            Some((_, of)) => of.push(name),
            None => defaults.push((value, vec![name])),
        }
    }
    defaults
}

fn has(preset: &str, choice: &Choice) -> bool {
    Choice::of(preset).any(|known| (known.axis, known.name, known.line) == (choice.axis, choice.name, choice.line))
}

/// The default value of an option in a preset.
fn default(preset: &str, choice: &Choice) -> String {
    preset.parse().ok().and_then(|policy: Policy| (choice.get)(&policy)).unwrap_or_default()
}
