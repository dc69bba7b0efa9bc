//! `forebay repro` as a shell runs it, in a command that has the claims.

#![cfg(feature = "repro")]

use std::path::Path;
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

/// A suite of one load on two devices with two memories, as a description of one's own.
const SUITE: &str = r#"
id = "today-best"
paper = "today's loads"
claim = "One policy is nearly as good as the best."
figure = "0.5 of the best"
setting = "One load."
judgement = "A mean."
[parameters]
policy = "auto"
judged = [{ rule = "share", of = "share-of-best" }]
[parameters.suite]
devices = ["object-store", "ssd"]
memory = [0.1, 0.5]
policies = ["auto:without=habits", "auto", "none+lru"]
beside = ["mountpoint+lru"]
loads = [{ name = "epochs", workload = "epochs", parameters = { tasks = 900, samples = "300" }, handlers = 4 }]
[rules]
share = { is = "at-least", value = 0.5, weaker = 0.4 }
"#;

/// Runs the command in a folder where the description `mine.toml` is.
fn described(folder: &Path, description: &str, args: &[&str]) -> Output {
    std::fs::write(folder.join("mine.toml"), description).expect("written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_forebay"));
    command.arg("repro").arg("mine.toml").args(args).env_clear().current_dir(folder).stdin(Stdio::null());
    command.output().expect("the command starts")
}

#[test]
fn a_suite_gives_the_figures_of_each_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = |args: &[&str]| stdout(&described(folder.path(), SUITE, args));
    let records: Value = serde_json::from_str(&run(&["--json", "--plot", "map.svg"])).expect("JSON");
    let record = &records[0];
    assert!(record["verdict"] == "holds" && record["ours"].as_str().is_some_and(|ours| ours.starts_with("share ")));
    let cells = record["cells"].as_array().expect("cells");
    assert_eq!(cells.len(), 2 * 2 * 4, "devices, memories, policies");
    for cell in cells {
        let number = |key: &str| cell[key].as_f64().unwrap_or_else(|| panic!("{key} of {cell}"));
        assert!(cell["load"] == "epochs" && cell["unit"] == "MB/s", "{cell}");
        assert!(number("figure") > 0.0 && number("figure") < number("bound"), "{cell}");
        assert!(number("share_of_best") > 0.0 && number("response_ms") > 0.0 && number("device_requests") > 0.0);
        assert_eq!(number("bytes") as u64, 900 * (112 << 10));
        assert_eq!(cell["beside"], cell["policy"] == "mountpoint+lru");
        assert!(number("share_of_best") <= 1.0 || cell["beside"] == true, "{cell}");
    }
    let measures = record["measures"].as_array().expect("measures");
    assert!(measures.iter().any(|it| it["about"] == "ours" && it["verdict"] == "holds"), "{measures:?}");
    // Of equals, the plain one is the best.
    assert!(!measures.iter().any(|it| it["ours"].as_str().is_some_and(|text| text.contains("best auto:without"))));
    assert!(measures.iter().any(|it| it["ours"].as_str().is_some_and(|text| text.contains(" MB/s; OPT"))));
    let map = std::fs::read_to_string(folder.path().join("map.svg")).expect("a map");
    assert!(map.contains("epochs") && map.contains("object-store 10 %"), "{map}");

    let csv = run(&["--csv"]);
    let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let heading = lines.next().expect("a heading");
    let (row, figure) = (heading.iter().position(|&it| it == "row"), heading.iter().position(|&it| it == "figure"));
    assert_eq!(heading[..4], ["id", "paper", "ours", "verdict"]);
    let of_cells: Vec<_> = lines.filter(|line| line.get(row.unwrap()) == Some(&"cell")).collect();
    assert!(of_cells.iter().all(|line| line[figure.unwrap()].parse::<f64>().is_ok()), "{csv}");
    assert_eq!(of_cells.len(), cells.len());
    // There is no paper, and no opponent.
    let text = run(&[]);
    assert!(text.contains("wanted   0.5 of the best") && !text.contains("opponent"), "{text}");
}

#[test]
fn a_load_is_a_file_as_well() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(folder.path().join("traces")).expect("made");
    let mut generate = Command::new(env!("CARGO_BIN_EXE_forebay"));
    generate.args(["trace", "generate", "epochs", "--tasks", "900", "--samples", "300", "-o", "traces/day.parquet"]);
    assert!(generate.current_dir(folder.path()).output().expect("it starts").status.success());
    let cells = |description: &str| {
        let output = described(folder.path(), description, &["--json"]);
        serde_json::from_str::<Value>(&stdout(&output)).expect("JSON")[0]["cells"].clone()
    };
    let generated = "workload = \"epochs\", parameters = { tasks = 900, samples = \"300\" }";
    let read = SUITE.replace(generated, "trace = \"traces/day.parquet\"");
    assert_eq!(cells(SUITE), cells(&read));
    // Lines that are no requests are counted.
    let lines = ["file,offset,length,operation", "1,0,4096,read", "1,0,4096,touch", "1,4096,4096,read", ""];
    std::fs::write(folder.path().join("traces/day.csv"), lines.join("\n")).expect("written");
    let odd = stdout(&described(folder.path(), &read.replace("day.parquet", "day.csv"), &["--csv"]));
    assert!(odd.contains("epochs: lines of its trace that are left out"), "{odd}");
    let missing = described(folder.path(), &read.replace("day.parquet", "night.parquet"), &[]);
    let said = String::from_utf8_lossy(&missing.stderr).into_owned();
    assert!(missing.status.code() == Some(2) && said.contains("traces/night.parquet"), "{said}");
}

#[test]
fn a_suite_that_makes_no_sense_is_refused_by_its_key() {
    let folder = tempfile::tempdir().expect("a folder");
    let loads = SUITE.lines().find(|line| line.starts_with("loads")).expect("loads");
    let judged = "[{ rule = \"share\", of = \"share-of-best\" }]";
    for (from, to, expected) in [
        ("[0.1, 0.5]", "[0.0, 0.5]", "`memory` is 0"),
        ("[0.1, 0.5]", "[0.1, 1.5]", "`memory` is 1.5"),
        ("[0.1, 0.5]", "[-1.0]", "`memory` is -1"),
        ("[0.1, 0.5]", "[nan]", "`memory` is NaN"),
        ("[0.1, 0.5]", "[]", "`loads`, `devices`, `memory` and `policies` have one entry"),
        ("[0.1, 0.5]", "[0.5, 0.5]", "`memory` has `0.5` twice"),
        ("[0.1, 0.5]", "\"half\"", "suite.memory"),
        (loads, "loads = []", "`loads`"),
        ("handlers = 4", "handlers = 0", "`handlers`"),
        ("workload = \"epochs\"", "workload = \"x.csv\"", "unknown workload `x.csv`"),
        ("workload = \"epochs\"", "workload = \"epochs\", trace = \"x.csv\"", "`trace`"),
        ("tasks = 900", "tasks = [9]", "`tasks` is neither a text nor a number"),
        ("tasks = 900", "tusks = 900", "tusks"),
        ("handlers = 4", "handlers = 4, warm_up = 9999999", "`warm_up`"),
        ("\"ssd\"", "\"sdd\"", "`devices`: "),
        ("\"none+lru\"", "\"none+rlu\"", "unknown policy 'none+rlu'"),
        ("policy = \"auto\"", "policy = \"sarc\"", "the suite does not run `sarc`"),
        (judged, "[]", "`judged`"),
        (judged, "[{ rule = \"shore\", of = \"lead\" }]", "no rule is called `shore`"),
        ("of = \"share-of-best\"", "of = { rate-over = \"sarc\" }", "does not run `sarc`"),
        ("[rules]", "[rules", "line 17"),
    ] {
        assert!(SUITE.contains(from), "{from}");
        let output = described(folder.path(), &SUITE.replace(from, to), &[]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{to}: {said}");
        assert!(said.starts_with("error: mine.toml") || said.starts_with("error: experiment"), "{said}");
        assert!(said.contains(expected) && said.matches('\n').count() == 1, "{to}: {said}");
    }
    let alone = SUITE.replace(", \"none+lru\"", "").replace("\"share-of-best\"", "\"lead\"");
    let said = String::from_utf8_lossy(&described(folder.path(), &alone, &[]).stderr).into_owned();
    assert!(said.contains("a `lead` needs another policy than `auto`"), "{said}");
}

#[test]
fn a_picture_that_there_is_not_is_refused_before_anything_runs() {
    let output = repro(&["today-told", "--plot", "told.svg"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && said.contains("nothing to draw"), "{said}");
}

#[test]
fn a_quick_verdict_says_that_it_says_little() {
    let folder = tempfile::tempdir().expect("a folder");
    let strict = SUITE.replace("value = 0.5, weaker = 0.4", "value = 1.5, weaker = 1.4");
    let output = described(folder.path(), &strict, &["--quick"]);
    let (text, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{text}{said}");
    assert!(text.contains("fails (of a quick run: it says little)"), "{text}");
    assert!(said.contains("the claim fails: today-best; of a quick run that says little"), "{said}");
}
