//! `docs/cli.md`, written from the definitions of the options, `docs/metrics.md` from the table of
//! metrics, and `docs/traces.md` from that of formats. A test compares them with the files; `cargo
//! xtask docs` writes them anew.

use clap::builder::StyledStr;
use clap::{Arg, Command};

use crate::failure::Failure;
use crate::options::Page;
use crate::{options, output};

const INTRODUCTION: &str = "\
<!-- Written by `cargo xtask docs`. -->

# The forebay command

An option given on the command line comes before the environment, that before the configuration file, and that before the
default. The configuration file is `~/.config/forebay/config.toml`, unless `--config` or `FOREBAY_CONFIG` names another; it
has a table for each command, and options of every command stand above the tables. An option that takes several values,
separated by commas, takes a list there, too:

```toml
log = \"info\"

[mount]
memory = \"2GiB\"
allow-other = true

[sim]
memory = [\"1%\", \"5%\"]

[trace.info]
json = true
```

The variable of `--ttl` is `FOREBAY_TTL`; those of `sim`, `trace`, `device` and `repro`, which are for experiments,
have the command's name in them, so that settings of mounts do not change experiments: `FOREBAY_SIM_MEMORY`,
`FOREBAY_TRACE_INFO_FORMAT`.

Sizes are `512MiB`, `1G`, `64k` or plain bytes (`MB` and the like are decimal, everything else is binary); times are `1s`,
`500ms`, `250us`, `2m` or `1h`.

Exit codes: 0, done; 1, it ran and failed; 2, bad input, and nothing was done. A file or a mount
that cannot be read is bad input. A result that cannot be written is a failure, and so is a file
that `warm` cannot read, since it goes on with the others. `run` and `record` end as the program
does, `mount.forebay` with the codes of mount(8).
";

/// Prints a page.
pub(crate) fn run(which: Page) -> Result<(), Failure> {
    output::print(&match which {
        Page::Cli => page(options::definitions()),
        Page::Metrics => forebay_serve::metrics::page(),
        Page::Traces => crate::command::trace::formats::page(),
    })
}

fn page(mut definitions: Command) -> String {
    definitions.build();
    let mut page = INTRODUCTION.to_owned();
    let global: Vec<&Arg> = shown(&definitions).filter(|arg| arg.is_global_set()).collect();
    page.push_str("\n## Options of every command\n\n");
    page.push_str(&table(&global));
    for command in commands(&definitions) {
        page.push_str(&section(command, "##", "forebay"));
    }
    page
}

/// The commands below one, without the hidden ones.
fn commands(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|command| !command.is_hide_set() && command.get_name() != "help")
}

/// The options of a command, without the hidden ones, in the order of their definition.
fn shown(command: &Command) -> impl Iterator<Item = &Arg> {
    let own = |arg: &&Arg| !arg.is_hide_set() && !matches!(arg.get_id().as_str(), "help" | "version");
    command.get_arguments().filter(own)
}

/// A command below `above`: its purpose, usage and options; then the commands below it.
fn section(command: &Command, mark: &str, above: &str) -> String {
    let name = format!("{above} {}", command.get_name());
    let about = command.get_long_about().or(command.get_about());
    let mut text = format!("\n{mark} {name}\n\n{}.\n", in_full(about));
    if commands(command).next().is_some() {
        commands(command).for_each(|below| text.push_str(&section(below, &format!("{mark}#"), &name)));
        return text;
    }
    let usage = command.clone().render_usage().to_string();
    text.push_str(&format!("\n```\n{}\n```\n\n", usage.trim_start_matches("Usage: ")));
    for arg in shown(command).filter(|arg| arg.is_positional()) {
        text.push_str(&format!("`{}`: {}.\n\n", names(arg), meaning(arg)));
    }
    let options: Vec<&Arg> = shown(command).filter(|arg| !arg.is_positional() && !arg.is_global_set()).collect();
    text.push_str(&table(&options));
    text
}

fn table(options: &[&Arg]) -> String {
    let mut text = "| option | environment | file | default | meaning |\n| --- | --- | --- | --- | --- |\n".to_owned();
    for arg in options {
        let variable = arg.get_env().map(|name| code(&name.to_string_lossy())).unwrap_or_default();
        // The file cannot name itself.
        let key = arg.get_long().filter(|&long| long != "config").map(code).unwrap_or_default();
        let default: Vec<String> =
            arg.get_default_values().iter().map(|value| code(&value.to_string_lossy())).collect();
        let row = [code(&names(arg)), variable, key, default.join(" "), format!("{}{}", meaning(arg), values(arg))];
        let row: Vec<String> = row.iter().map(|cell| cell.replace('|', "\\|")).collect();
        text.push_str(&format!("| {} |\n", row.join(" | ")));
    }
    text
}

/// `--memory <SIZE>, -m`, or the name of a place.
fn names(arg: &Arg) -> String {
    let value = arg.get_value_names().and_then(<[_]>::first).map(ToString::to_string).unwrap_or_default();
    let flag = arg.is_require_equals_set();
    match (arg.get_long(), arg.get_short()) {
        (None, _) => value,
        (Some(long), short) => {
            let short = short.map(|short| format!(", -{short}")).unwrap_or_default();
            if flag { format!("--{long}{short}") } else { format!("--{long} <{value}>{short}") }
        }
    }
}

/// The longer text of an option, or its only one.
fn meaning(arg: &Arg) -> String {
    in_full(arg.get_long_help().or(arg.get_help()))
}

/// The paragraphs of a text as sentences in one line, without the last full stop.
fn in_full(text: Option<&StyledStr>) -> String {
    let text = text.map(ToString::to_string).unwrap_or_default();
    let sentences: Vec<&str> = text.split("\n\n").map(|paragraph| paragraph.trim_end_matches('.')).collect();
    sentences.join(". ").replace('\n', " ")
}

/// The values that an option can have, if they are few. Those of a flag are not listed, nor
/// are policies.
fn values(arg: &Arg) -> String {
    if arg.is_require_equals_set() || arg.is_hide_possible_values_set() {
        return String::new();
    }
    let values: Vec<String> = arg.get_possible_values().iter().map(|value| code(value.get_name())).collect();
    if values.is_empty() { String::new() } else { format!("; one of {}", values.join(", ")) }
}

fn code(text: &str) -> String {
    format!("`{text}`")
}
