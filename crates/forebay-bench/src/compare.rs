//! Two runs beside each other: `forebay-bench compare RUN RUN`. A run is the output of `--json`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use serde::{Deserialize, Serialize};

/// The runs.
#[derive(Args)]
pub(crate) struct Compared {
    /// The earlier run: a file that --json has written
    first: PathBuf,
    /// The later run
    second: PathBuf,
    /// Print JSON: an array of records bench, what, first, second, ratio
    #[arg(long)]
    json: bool,
}

/// A figure of a run.
#[derive(Clone, PartialEq, PartialOrd, Debug, Deserialize)]
struct Figure {
    bench: String,
    what: String,
    /// JSON has no word for a value that is not a number.
    ratio: Option<f64>,
}

/// A figure of both runs.
#[derive(Clone, PartialEq, Debug, Serialize)]
struct Pair {
    bench: String,
    what: String,
    /// None if the run has no such figure.
    first: Option<f64>,
    second: Option<f64>,
    /// The second over the first.
    ratio: Option<f64>,
}

/// Prints the figures of both runs, in the order of the first.
pub(crate) fn run(compared: &Compared) -> anyhow::Result<()> {
    let pairs = pairs(&figures(&compared.first)?, &figures(&compared.second)?);
    if compared.json {
        println!("{}", serde_json::to_string_pretty(&pairs)?);
        return Ok(());
    }
    let shown = |figure: Option<f64>| figure.map_or_else(|| "–".to_owned(), |figure| format!("{figure:.2}"));
    println!("{:<14} {:<60} {:>8} {:>8} {:>8}", "bench", "what", "first", "second", "ratio");
    for Pair { bench, what, first, second, ratio } in &pairs {
        println!("{bench:<14} {what:<60} {:>8} {:>8} {:>8}", shown(*first), shown(*second), shown(*ratio));
    }
    Ok(())
}

fn figures(path: &Path) -> anyhow::Result<Vec<Figure>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("{} cannot be read", path.display()))?;
    let hint = || format!("{} is no run: it has to be what forebay-bench --json has printed", path.display());
    serde_json::from_str(&text).with_context(hint)
}

/// Pairs the figures of two runs by bench and name.
fn pairs(first: &[Figure], second: &[Figure]) -> Vec<Pair> {
    let key = |figure: &Figure| (figure.bench.clone(), figure.what.clone());
    let earlier: BTreeMap<_, _> = first.iter().map(|figure| (key(figure), figure.ratio)).collect();
    let later: BTreeMap<_, _> = second.iter().map(|figure| (key(figure), figure.ratio)).collect();
    let added = second.iter().filter(|figure| !earlier.contains_key(&key(figure)));
    let pair = |figure: &Figure| {
        let figure_of = |run: &BTreeMap<_, Option<f64>>| run.get(&key(figure)).copied().flatten();
        let (first, second) = (figure_of(&earlier), figure_of(&later));
        let ratio = first.zip(second).map(|(first, second)| second / first);
        Pair { bench: figure.bench.clone(), what: figure.what.clone(), first, second, ratio }
    };
    first.iter().chain(added).map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(what: &str, ratio: Option<f64>) -> Figure {
        Figure { bench: "peers".into(), what: what.into(), ratio }
    }

    #[test]
    fn figures_of_one_name_are_beside_each_other() {
        let first = [figure("find", Some(2.0)), figure("grep", Some(0.5)), figure("gone", Some(1.0))];
        let second = [figure("new", Some(3.0)), figure("grep", None), figure("find", Some(3.0))];
        let pairs = pairs(&first, &second);
        let seen: Vec<_> = pairs.iter().map(|pair| (pair.what.as_str(), pair.first, pair.second, pair.ratio)).collect();
        assert_eq!(
            seen,
            [
                ("find", Some(2.0), Some(3.0), Some(1.5)),
                ("grep", Some(0.5), None, None),
                ("gone", Some(1.0), None, None),
                ("new", None, Some(3.0), None),
            ]
        );
    }

    #[test]
    fn what_is_no_run_is_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("peers-1.txt");
        std::fs::write(&path, "bench what against").unwrap();
        let error = format!("{:#}", figures(&path).unwrap_err());
        assert!(error.contains("peers-1.txt is no run") && error.contains("--json"), "{error}");
        assert!(figures(&folder.path().join("none")).is_err());
    }
}
