//! The real command, as a shell runs it: output, exit codes, and the places that options' values
//! come from.

use std::path::Path;
use std::process::{Command, Output, Stdio};

/// The command in an environment of its own, with `home` as the user's folder.
fn forebay(home: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_forebay"));
    command.args(args).env_clear().env("HOME", home).current_dir(home).stdin(Stdio::null());
    command
}

/// Runs the command in an empty home.
fn run(args: &[&str]) -> Output {
    let home = tempfile::tempdir().expect("a temporary folder");
    forebay(home.path(), args).output().expect("the command starts")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("text")
}

/// The command must have refused: exit code 2, nothing on standard output and one line that holds
/// all of `expected`.
fn refused(output: &Output, expected: &[&str]) {
    let line = stderr(output);
    assert_eq!(output.status.code(), Some(2), "{line}");
    assert_eq!(stdout(output), "");
    assert!(line.starts_with("error: ") && line.matches('\n').count() == 1, "{line}");
    for part in expected {
        assert!(line.contains(part), "{part:?} is not in {line}");
    }
}

#[test]
fn help_and_version_succeed_on_standard_output() {
    for command in ["mount", "profile", "stats", "policies", "demo", "trace", "sim", "device", "repro"] {
        assert!(stdout(&run(&["--help"])).contains(command));
        let help = run(&[command, "--help"]);
        assert_eq!(help.status.code(), Some(0));
        assert!(stdout(&help).contains("Usage: forebay"), "{command}");
    }
    let version = run(&["--version"]);
    assert_eq!(
        (version.status.code(), stdout(&version)),
        (Some(0), format!("forebay {}\n", env!("CARGO_PKG_VERSION")))
    );
}

#[test]
fn nothing_asked_is_bad_usage_and_shows_help() {
    let output = run(&[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("Usage: forebay"));
}

#[test]
fn bad_usage_is_one_line_and_exit_code_2() {
    refused(&run(&["munt"]), &["unrecognized subcommand 'munt'", "'mount'"]);
    refused(&run(&["mount"]), &["nothing was given", "`forebay mount /srv/data /mnt/data`"]);
    refused(&run(&["mount", "/srv"]), &["only /srv was given", "mount point"]);
    refused(&run(&["mount", "a", "b", "--memory", "lots"]), &["'lots'", "--memory", "512MiB, 1G, 64k"]);
    refused(&run(&["mount", "a", "b", "--ttl", "soon"]), &["'soon'", "--ttl", "500ms"]);
    refused(&run(&["mount", "a", "b", "--threads", "0"]), &["--threads", "1..=256"]);
    refused(&run(&["mount", "a", "b", "--memmory", "1G"]), &["--memmory", "'--memory'"]);
    refused(&run(&["policies", "--log", "loud"]), &["--log", "`loud` is not a level"]);
    refused(&run(&["profile", ".", "--seconds", "121"]), &["--seconds", "1..=120"]);
}

#[test]
fn an_unknown_policy_is_answered_with_the_known_ones() {
    for policy in ["psychic", "linux+psychic", "linux+competitive", ""] {
        let output = run(&["mount", "a", "b", "--policy", policy]);
        refused(&output, &[&format!("unknown policy '{policy}'"), "none", "linux", "competitive", "lru"]);
    }
}

#[test]
fn policies_are_listed_for_people_and_programs() {
    let table = stdout(&run(&["policies"]));
    assert!(table.starts_with("policy"), "{table}");
    let json: serde_json::Value = serde_json::from_str(&stdout(&run(&["policies", "--json"]))).expect("JSON");
    let policies = json.as_array().expect("an array");
    for policy in policies {
        let field = |name: &str| policy[name].as_str().unwrap_or_else(|| panic!("{policy} has no {name}")).to_owned();
        let line = table.lines().find(|line| line.starts_with(&format!("{} ", field("name"))));
        let line = line.unwrap_or_else(|| panic!("{policy} is not in\n{table}"));
        assert!(line.contains(&field("line")) && line.contains(&field("paper")), "{line}");
        assert!(!field("axis").is_empty());
    }
    for name in ["none", "one-block", "fixed", "linux", "aggressive", "competitive", "competitive-em", "lru"] {
        assert!(policies.iter().any(|policy| policy["name"] == name), "{name}");
    }
}

/// The options of presets, with their defaults, in the syntax that the text describes.
#[test]
fn options_of_presets_are_listed_for_people_and_programs() {
    let table = stdout(&run(&["policies"]));
    let json: serde_json::Value = serde_json::from_str(&stdout(&run(&["policies", "--json"]))).expect("JSON");
    let policies = json.as_array().expect("an array");
    let options = |name: &str| {
        let policy = policies.iter().find(|policy| policy["name"] == name).expect("a policy");
        policy["options"].as_array().expect("options").clone()
    };
    assert!(options("linux").is_empty() && options("lru").is_empty());
    assert_eq!(options("competitive").len(), 2);
    let em = options("competitive-em");
    assert!(em.iter().any(|option| option["name"] == "start" && option["default"] == "25"), "{em:?}");
    for option in &em {
        let field = |name: &str| option[name].as_str().unwrap_or_else(|| panic!("{option} has no {name}")).to_owned();
        // Another preset may have an option of the same name.
        let lines = table.lines().filter(|line| line.starts_with(&format!("{} ", field("name"))));
        let described = |line: &str| ["values", "default", "line"].iter().all(|part| line.contains(&field(part)));
        assert!(
            lines.clone().any(|line| described(line) && line.contains("competitive-em")),
            "{option} is not in\n{table}"
        );
        let _: forebay_core::Policy = format!("competitive-em:{}={}", field("name"), field("default")).parse().unwrap();
    }
    let example =
        table.lines().last().and_then(|line| line.split(": ").nth(1)).expect("an example").trim_end_matches('.');
    let _: forebay_core::Policy = example.parse().unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn a_reader_that_stops_early_is_no_failure() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let mut child =
        forebay(home.path(), &["policies"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
    // Closed before the command has written: it gets EPIPE, as before `head`.
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("ends");
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""));
}

#[test]
fn stats_of_what_is_no_mount() {
    refused(&run(&["stats", "."]), &[". is not a forebay mount"]);
    refused(&run(&["stats", "missing"]), &["missing", "there is no such folder", "findmnt"]);
}

/// The memory that a mount would have, by the log. The mount fails before it is ready, since there
/// is no source.
fn memory(config: Option<&str>, environment: Option<&str>, argument: Option<&str>) -> String {
    let home = tempfile::tempdir().expect("a temporary folder");
    if let Some(config) = config {
        let folder = home.path().join(".config/forebay");
        std::fs::create_dir_all(&folder).expect("a folder");
        std::fs::write(folder.join("config.toml"), config).expect("a file");
    }
    let argument = argument.map(|memory| format!("--memory={memory}"));
    let args: Vec<&str> =
        ["mount", "missing", "point", "--log", "debug"].into_iter().chain(argument.as_deref()).collect();
    let mut command = forebay(home.path(), &args);
    if let Some(memory) = environment {
        command.env("FOREBAY_MEMORY", memory);
    }
    let log = stderr(&command.output().expect("the command starts"));
    let (_, after) = log.split_once("memory: Size(").unwrap_or_else(|| panic!("no memory in {log}"));
    after.split_once(')').map(|(bytes, _)| bytes.to_owned()).expect("closed")
}

#[test]
fn the_command_line_comes_before_the_environment_before_the_file_before_the_default() {
    let file = Some("[mount]\nmemory = 3");
    assert_eq!(memory(file, Some("2"), Some("1")), "1");
    assert_eq!(memory(None, Some("2"), Some("1")), "1");
    assert_eq!(memory(file, None, Some("1")), "1");
    assert_eq!(memory(file, Some("2"), None), "2");
    assert_eq!(memory(file, None, None), "3");
    assert_eq!(memory(None, None, None), (512 << 20).to_string());
}

#[test]
fn mistakes_in_the_configuration_name_the_file_and_what_is_known() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let file = home.path().join("my.toml");
    let with = |text: &str| {
        std::fs::write(&file, text).expect("a file");
        forebay(home.path(), &["policies", "--config", "my.toml"]).output().expect("the command starts")
    };
    refused(&with("[mount]\nmemroy = 1"), &["my.toml", "`memroy` in [mount]", "a near one is memory"]);
    refused(&with("[mount]\nxyz = 1"), &["my.toml", "`xyz` in [mount]", "`forebay mount --help` lists"]);
    refused(&with("[munt]\n"), &["my.toml", "`munt`", "[mount]"]);
    refused(&with("[mount]\nmemory = 'lots'"), &["my.toml", "`memory` in [mount]", "512MiB"]);
    refused(&with("[mount]\nallow-other = 'perhaps'"), &["my.toml", "`allow-other` in [mount]", "perhaps"]);
    refused(&with("[mount\n"), &["my.toml", "line 1"]);
    assert_eq!(with("[mount]\nmemory = '1G'\n[demo]\nseconds = 7").status.code(), Some(0));
    refused(&run(&["policies", "--config", "missing.toml"]), &["missing.toml", "No such file"]);
    let by_variable =
        forebay(home.path(), &["policies"]).env("FOREBAY_CONFIG", "absent.toml").output().expect("starts");
    refused(&by_variable, &["absent.toml"]);
}

/// A variable that no option has is told by the commands that run for long.
#[test]
fn a_mistyped_variable_is_told_with_the_near_ones() {
    let home = tempfile::tempdir().expect("a temporary folder");
    for args in [&["mount", "missing", "point"][..], &["mount", "--daemon", "missing", "point"], &["serve", "missing"]]
    {
        let mut command = forebay(home.path(), args);
        let output = command.env("FOREBAY_MEMROY", "1GiB").output().expect("the command starts");
        let said = stderr(&output);
        assert_eq!(said.matches("no option has the variable FOREBAY_MEMROY").count(), 1, "{args:?}: {said}");
        assert!(said.contains("FOREBAY_MEMORY"), "{said}");
    }
}

/// Options that say how a disk tier shall be are refused without one, wherever they stand.
#[test]
fn a_disk_tier_needs_its_folder() {
    let home = tempfile::tempdir().expect("a temporary folder");
    std::fs::create_dir(home.path().join("source")).expect("a folder");
    let file = home.path().join("my.toml");
    let mount = |config: &str, args: &[&str], variables: &[(&str, &str)]| {
        std::fs::write(&file, config).expect("a file");
        let args = [&["mount", "source", "missing", "--config", "my.toml"], args].concat();
        forebay(home.path(), &args).envs(variables.iter().copied()).output().expect("the command starts")
    };
    let none = "is for a disk tier, and there is none: ";
    refused(&mount("", &["--disk-free", "1GiB"], &[]), &["--disk-free ", none, "add --disk FOLDER"]);
    let by_variable = mount("", &[], &[("FOREBAY_DISK_WRITES", "1MiB")]);
    refused(&by_variable, &["FOREBAY_DISK_WRITES ", none, "set FOREBAY_DISK or"]);
    for (config, place) in [
        ("[mount]\ndisk-size = '50%'", "my.toml: `disk-size` in [mount] "),
        ("[mount]\ndisk_writes = '1G'", "my.toml: `disk_writes` in [mount] "),
    ] {
        refused(&mount(config, &[], &[]), &[place, none, "add `disk` there"]);
    }
    // With a folder from any of the three, the mount goes on, to the mount point that is missing.
    for output in [
        mount("[mount]\ndisk-size = '1G'", &["--disk", "tier"], &[]),
        mount("[mount]\ndisk-size = '1G'\ndisk = 'tier'", &[], &[]),
        mount("", &["--disk-size", "1G"], &[("FOREBAY_DISK", "tier")]),
        mount("[mount]\ndisk = ['tier']", &[], &[("FOREBAY_DISK_SIZE", "1G")]),
        // The options of another command are not this one's.
        mount("[serve]\ndisk-size = '1G'", &[], &[]),
    ] {
        refused(&output, &["missing"]);
        assert!(!stderr(&output).contains("disk tier"), "{}", stderr(&output));
    }
    assert!(!home.path().join("tier").exists(), "made for a mount that cannot be");
}

/// A file or a mount that cannot be read is bad input, whichever command it is given to.
#[test]
fn what_cannot_be_read_is_bad_input() {
    let zipf = "zipf:objects=10,requests=10";
    let commands: &[&[&str]] = &[
        &["trace", "info", "MISSING"],
        &["trace", "convert", "MISSING", "out.csv"],
        &["trace", "play", "MISSING", "."],
        &["trace", "play", zipf, "MISSING"],
        &["sim", "MISSING"],
        &["sim", "MISSING", "--curve", "lru"],
        &["sim", "MISSING", "--sizes"],
        &["sim", "MISSING", "--device", "ibm-10k"],
        &["sim", zipf, "--device", "MISSING.toml"],
        &["explain", "MISSING", "--device", "ibm-10k"],
        &["device", "show", "MISSING.toml"],
        &["device", "import", "MISSING.parv"],
        &["device", "check", "ibm-10k", "MISSING"],
        &["cache", "info", "MISSING"],
        &["cache", "check", "MISSING"],
        &["cache", "clear", "MISSING"],
        &["stats", "MISSING"],
        &["top", "MISSING"],
        &["warm", "--from", "MISSING"],
        &["mount", "MISSING", "."],
        &["mount", ".", "MISSING"],
        &["serve", "MISSING"],
        &["serve", ".", "--listen", "127.0.0.1:0", "--tls-cert", "MISSING", "--tls-key", "MISSING"],
        &["serve", ".", "--listen", "127.0.0.1:0", "--token-file", "MISSING"],
        &["profile", "MISSING"],
        &["stripe", "MISSING", "stripe:64KiB:a,b"],
        &["disk", "--device", "MISSING.toml", "image", "."],
        &["disk", "--device", "ibm-10k", "MISSING/image", "."],
        &["policies", "--config", "MISSING"],
        &["policies", "--log-file", "MISSING/log"],
        #[cfg(feature = "repro")]
        &["repro", "MISSING.toml"],
    ];
    for args in commands {
        let output = run(args);
        refused(&output, &["MISSING"]);
        assert!(!stderr(&output).contains("panicked"), "{args:?}");
    }
    // For programs the reason is a line of JSON, too.
    let output = run(&["top", "--json", "--count", "2", "--interval", "100ms", "MISSING"]);
    let lines = stdout(&output);
    assert_eq!((output.status.code(), lines.lines().count()), (Some(2), 1), "it is told once: {lines}");
    assert!(lines.contains("MISSING") && stderr(&output).starts_with("error: MISSING"), "{lines}{}", stderr(&output));
    // A folder opens, and cannot be read.
    for args in
        [&["trace", "info", "."][..], &["sim", "."], &["device", "import", "."], &["contexts", "show", "--hints", "."]]
    {
        refused(&run(args), &["Is a directory"]);
    }
}

/// The page is that of the command with everything.
#[cfg(feature = "repro")]
#[test]
fn the_pages_of_options_and_metrics_are_up_to_date() {
    for name in ["cli", "metrics", "traces"] {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../docs/{name}.md"));
        let page = std::fs::read_to_string(page).expect("it is there");
        let is = stdout(&run(&["reference", name]));
        assert!(page == is, "docs/{name}.md is out of date: run `cargo xtask docs`");
    }
}

/// The shortest demo: its figures mean little, but each of them is there.
#[test]
fn the_demo_measures_every_policy_with_every_number_of_handlers() {
    let output = run(&["demo", "--seconds", "5", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let records: serde_json::Value = serde_json::from_str(&stdout(&output)).expect("an array");
    let records = records.as_array().expect("an array");
    let mut seen = Vec::new();
    for record in records {
        let number = |key: &str| record[key].as_f64().expect(key);
        assert!(number("throughput_mb_s") >= 0.0 && number("optimum_mb_s") > 40.0);
        seen.push((number("handlers") as u32, record["policy"].as_str().expect("policy")));
    }
    let expected =
        [1, 4, 16, 64].map(|handlers| ["linux", "aggressive", "competitive", "auto"].map(|policy| (handlers, policy)));
    assert_eq!(seen, expected.concat());
    assert!(records.iter().any(|record| record["throughput_mb_s"].as_f64() > Some(1.0)), "nobody read anything");
}

#[test]
fn a_folder_is_profiled() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let data = home.path().join("data");
    std::fs::create_dir(&data).expect("a folder");
    std::fs::write(data.join("file"), vec![7; 32 << 20]).expect("a file");
    let profile = |args: &[&str]| {
        let output = forebay(home.path(), &[&["profile", "data", "--seconds", "1"], args].concat()).output();
        let output = output.expect("the command starts");
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        stdout(&output)
    };
    let json: serde_json::Value = serde_json::from_str(&profile(&["--json"])).expect("JSON");
    // Where other work takes the time, a switch may show no cost.
    assert!(json["depth_bytes"].is_u64() && json["transfer_mb_s"].as_f64() > Some(0.0), "{json}");
    assert!(profile(&[]).contains("competitive depth"));
    let kept = std::fs::read_dir(home.path().join(".cache/forebay/profiles")).expect("a folder of profiles");
    assert_eq!(kept.count(), 1, "kept for the next mount");
}
