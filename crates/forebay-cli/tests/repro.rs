//! `forebay repro` as a shell runs it, in a command that has the claims.

#![cfg(feature = "repro")]

use std::process::{Command, Output, Stdio};

use serde_json::Value;

fn repro(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_forebay"));
    command.arg("repro").args(args).env_clear().stdin(Stdio::null()).output().expect("the command starts")
}

fn stdout(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).expect("text")
}

/// The claims about the servers of CP §3.
const SERVERS: [&str; 7] = ["cp-dynamic", "cp-micro", "cp-antic", "cp-random", "cp-optimal", "cp-index", "cp-media"];

/// A small part of each claim runs through, and the same seed gives the same figures. The figures
/// of whole claims are results, not tests.
#[test]
fn servers_in_a_hurry() {
    let check = |claims: &[&str]| {
        let output = repro(&[&["--quick", "--json", "--seed", "2"], claims].concat());
        assert!(matches!(output.status.code(), Some(0 | 1)), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice::<Value>(&output.stdout).expect("JSON").as_array().expect("an array").clone()
    };
    let records = check(&SERVERS);
    assert_eq!(records.iter().map(|record| record["id"].as_str().unwrap()).collect::<Vec<_>>(), SERVERS);
    for record in &records {
        let ours = record["ours"].as_str().expect("text");
        assert!(ours.contains(|c: char| c.is_ascii_digit()) && !ours.contains("NaN"), "{record}");
        assert_eq!(record["quick"], true, "{record}");
    }
    assert_eq!(records[0]["verdict"], "holds", "the formula is met in any run: {}", records[0]);
    assert_eq!(check(&["cp-random"])[0]["ours"], records[3]["ours"]);
}

#[test]
fn the_claims_that_there_are() {
    let list: Value = serde_json::from_str(&stdout(&repro(&["--list", "--json"]))).expect("JSON");
    let ids: Vec<&str> = list.as_array().expect("an array").iter().map(|claim| claim["id"].as_str().unwrap()).collect();
    assert_eq!(ids[..3], ["cp-bound", "cp-depth", "cp-slowstart"]);
    assert_eq!(ids[3..10], SERVERS);
}

#[test]
fn claims_are_checked_and_judged() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let page = |name: &str| folder.path().join(name).to_str().expect("text").to_owned();
    let check = |name: &str| {
        let output = repro(&["cp-slowstart", "cp-depth", "--json", "--seed", "3", "--html", &page(name)]);
        serde_json::from_str::<Value>(&stdout(&output)).expect("JSON").as_array().expect("an array").clone()
    };
    let records = check("a.html");
    let field = |number: usize, key: &str| records[number][key].as_str().unwrap_or_else(|| panic!("{key}")).to_owned();
    assert_eq!([field(0, "id"), field(1, "id")], ["cp-slowstart", "cp-depth"], "in the order in which they are given");
    assert_eq!(field(0, "verdict"), "holds");
    assert!(field(0, "ours").contains("16 → 18 → 32 → 32") && field(0, "ours").contains("16 → 32 → 64 → 128"));
    assert_eq!(field(1, "paper"), "about 540 KB");
    let kb: f64 = field(1, "ours").split(' ').next().and_then(|kb| kb.parse().ok()).expect("a number");
    let expected = if (kb - 540.0).abs() <= 27.0 { "holds" } else { "weaker" };
    assert_eq!(field(1, "verdict"), expected, "{}", field(1, "ours"));
    for record in &records {
        assert!(record["seconds"].as_f64() >= Some(0.0) && record["seed"] == 3, "{record}");
    }
    check("b.html");
    let pages = ["a.html", "b.html"].map(|name| std::fs::read_to_string(page(name)).expect("a page"));
    assert_eq!(pages[0], pages[1], "the same seed, the same bytes");
    for part in ["seed 3", "<svg", "Therefore, the average seek", "cp-slowstart", "16 → 18 → 32", "holds"] {
        assert!(pages[0].contains(part), "{part:?} is not on the page");
    }
    assert!(!pages[0].replace("http://www.w3.org/2000/svg", "").contains("http"), "the page loads something");
}

/// The bound, by its description's rule: the arithmetic never above 2, the simulated runs within it
/// and a few switches. Otherwise the verdict must not be `holds`.
#[test]
fn the_bound() {
    let output = repro(&["cp-bound", "--json"]);
    let records: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let ours = records[0]["ours"].as_str().expect("text");
    let numbers: Vec<f64> = ours.split([' ', '(']).filter_map(|word| word.parse().ok()).collect();
    let &[model, two, switches, ratio] = &numbers[..] else { panic!("{ours}") };
    assert!(model <= 2.0 && model > 1.9 && two == 2.0 && ratio > 1.0, "{ours}");
    let expected = if switches <= 3.0 {
        "holds"
    } else if switches <= 4.0 {
        "weaker"
    } else {
        "fails"
    };
    assert_eq!(records[0]["verdict"], expected, "{ours}");
    assert_eq!(output.status.code(), Some(i32::from(expected == "fails")));
}

/// An experiment of `experiments/` as it is there, and with another drive, for which the claim is
/// not true.
#[test]
fn a_description_of_ones_own() {
    let known = include_str!("../../../experiments/cp-depth.toml");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("mine.toml");
    let path = path.to_str().expect("text");
    let checked = |text: &str| {
        std::fs::write(path, text).expect("written");
        repro(&[path, "--json"])
    };
    let ours = |output: &Output| serde_json::from_slice::<Value>(&output.stdout).expect("JSON")[0]["ours"].clone();
    assert_eq!(ours(&checked(known)), ours(&repro(&["cp-depth", "--json"])));
    let other = checked(&known.replace("\"ibm-10k\"", "\"ibm-9lzx\""));
    assert_eq!(other.status.code(), Some(1), "{}", ours(&other));
    for (text, expected) in [
        (known.replace("cp-depth", "cp-depht"), "no claim is called `cp-depht`"),
        (known.replace("[rules]", "[rulez]"), "unknown field `rulez`"),
        ("id = ".into(), "must be quoted"),
    ] {
        let output = checked(&text);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && said.contains(path) && said.contains(expected), "{said}");
    }
    std::fs::remove_file(path).expect("it is there");
    let said = String::from_utf8_lossy(&repro(&[path]).stderr).into_owned();
    assert!(said.starts_with("error: cannot read"), "{said}");
}

#[test]
fn what_makes_no_sense_is_one_line_and_exit_code_2() {
    for (args, expected) in [
        (&[][..], "CLAIM"),
        (&["cp-depht"], "no claim is called `cp-depht`; there are cp-bound"),
        (&["amp-cost"], "is about real time: `forebay-bench contexts` measures it"),
        (&["--all", "cp-depth"], "--all"),
        (&["--all", "--plot", "x.svg"], "--html"),
        (&["cp-depth", "--plot", "x.pdf"], ".svg, .png or .html"),
    ] {
        let output = repro(args);
        let line = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{args:?}: {line}");
        assert!(line.starts_with("error: ") && line.matches('\n').count() == 1 && line.contains(expected), "{line}");
    }
}
