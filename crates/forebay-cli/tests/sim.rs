//! `forebay sim` as a shell runs it: on synthetic traces, and on real ones where they are.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;

/// The command in an environment of its own.
fn forebay(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_forebay"));
    command.args(args).env_clear().stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn run(args: &[&str]) -> Output {
    forebay(args).output().expect("the command starts")
}

/// The output of a run that must succeed.
fn text(args: &[&str]) -> String {
    let output = run(args);
    assert_eq!(output.status.code(), Some(0), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

fn records(args: &[&str]) -> Vec<Value> {
    let json: Value = serde_json::from_str(&text(&[args, &["--json"]].concat())).expect("JSON");
    json.as_array().expect("an array").clone()
}

fn number(record: &Value, key: &str) -> f64 {
    record[key].as_f64().unwrap_or_else(|| panic!("{key} in {record}"))
}

/// The command must have refused: exit code 2 and one line that holds all of `expected`.
fn refused(args: &[&str], expected: &[&str]) {
    let output = run(args);
    let line = String::from_utf8(output.stderr).expect("text");
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{args:?}: {line}");
    assert!(line.starts_with("error: ") && line.matches('\n').count() == 1, "{line}");
    for part in expected {
        assert!(line.contains(part), "{part:?} is not in {line}");
    }
}

/// A trace on the disk: block numbers, one a line.
fn written(numbers: impl Iterator<Item = u64>) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("numbers.trace");
    let lines: String = numbers.map(|number| format!("{number}\n")).collect();
    std::fs::write(&path, lines).expect("a file");
    (folder, path)
}

const ZIPF: &str = "zipf:objects=500,requests=20000,bytes=4096";
const TASKS: &str = "one-rand-10:tasks=40";

/// A comma separates policies, and also the options of one policy.
#[test]
fn policies_keep_their_options() {
    let policies = |list: &str, more: &[&str]| -> Vec<String> {
        let mut args = vec!["sim", TASKS, "--device", "ibm-10k"];
        if !list.is_empty() {
            args.extend(["--policy", list]);
        }
        let records = records(&[&args[..], more].concat());
        records.iter().map(|record| record["policy"].as_str().expect("a policy").to_owned()).collect()
    };
    assert_eq!(policies("", &[]), ["auto"], "the default of mounts");
    let two = "competitive:channels=off,shares=off+arc,linux,competitive-em:epoch=0,seed=7";
    let all = policies(two, &["--memory", "20%"]);
    assert_eq!(all.len(), 3, "{all:?}");
    assert_eq!(
        all,
        policies("competitive:channels=off,shares=off+arc", &["--memory", "20%"])
            .into_iter()
            .chain(policies("linux", &["--memory", "20%"]))
            .chain(policies("competitive-em:epoch=0,seed=7", &["--memory", "20%"]))
            .collect::<Vec<_>>()
    );
    assert!(all[0].contains("channels=off,shares=off+arc"), "{all:?}");
    refused(&["sim", TASKS, "--device", "ibm-10k", "--policy", "linux,shares=off"], &["shares=off"]);
    refused(&["sim", ZIPF, "--policy", "seed=off"], &["seed=off"]);
}

#[test]
fn the_bound_comes_first_and_all_sizes_of_all_policies_follow() {
    let (_folder, path) = written((0..2000).map(|i| i * i % 101));
    let path = path.to_str().expect("text");
    let rows =
        records(&["sim", path, "--policy", "lru,arc,sieve", "--memory", "10%,20b,40960B", "--block-bytes", "4096"]);
    let seen: Vec<(&str, u64)> =
        rows.iter().map(|row| (row["policy"].as_str().unwrap(), row["capacity_blocks"].as_u64().unwrap())).collect();
    let sizes = [5, 20, 10];
    let expected = ["opt", "lru", "arc", "sieve"].map(|policy| sizes.map(|size| (policy, size)));
    assert_eq!(seen, expected.concat());
    for row in &rows {
        assert_eq!(number(row, "hits") + number(row, "misses"), number(row, "requests"), "{row}");
        assert!((number(row, "miss_ratio") - number(row, "misses") / 2000.0).abs() < 1e-12);
        assert_eq!((row["trace"].as_str(), row["seed"].as_u64()), (Some("numbers.trace"), Some(1)));
    }
    for (row, best) in rows[3..].iter().zip(rows[..3].iter().cycle()) {
        assert!(number(row, "misses") >= number(best, "misses"), "{row} beats the optimum");
    }
    let without = records(&["sim", path, "--no-opt", "--policy", "all", "--memory", "10"]);
    assert!(without.len() > 6 && without.iter().all(|row| row["policy"] != "opt"));
    assert!(without.iter().any(|row| row["policy"] == "s3-fifo"));
}

#[test]
fn tables_and_csv_have_what_json_has() {
    let args = ["sim", ZIPF, "--policy", "lru,fifo", "--memory", "50b", "--seed", "7"];
    let table = text(&args);
    let mut lines = table.lines();
    assert_eq!(lines.next(), Some("policy  capacity blocks    hits  misses  miss ratio"));
    assert!(lines.next().is_some_and(|line| line.starts_with("opt ")));
    assert!(table.ends_with(&format!("\nrequests 20,000, trace {ZIPF}, seed 7\n")), "{table}");
    let csv = text(&[&args[..], &["--csv"]].concat());
    let mut lines = csv.lines();
    assert_eq!(lines.next(), Some("policy,capacity_blocks,requests,hits,misses,miss_ratio,trace,seed"));
    let row = &records(&args)[0];
    let expected = format!(
        "opt,50,20000,{},{},{},\"{ZIPF}\",7",
        number(row, "hits"),
        number(row, "misses"),
        number(row, "miss_ratio")
    );
    assert_eq!(lines.next(), Some(expected.as_str()));
}

#[test]
fn the_same_seed_gives_the_same_bytes_on_any_number_of_threads() {
    for args in [
        &["sim", ZIPF, "--policy", "lru,arc", "--memory", "1%,10%"][..],
        &["sim", ZIPF, "--curve", "lru,arc", "--sample", "20%", "--points", "5"],
        &[
            "sim",
            TASKS,
            "--policy",
            "linux,competitive",
            "--device",
            "ibm-10k",
            "--handlers",
            "1,4",
            "--placement",
            "scattered",
        ],
    ] {
        let with = |more: &[&str]| text(&[args, &["--csv"], more].concat());
        let one = with(&["--threads", "1"]);
        assert_eq!(one, with(&["--threads", "4"]), "{args:?}");
        assert_eq!(one, with(&[]), "{args:?}");
        assert_ne!(one.replace(",1\n", ",2\n"), with(&["--seed", "2"]), "{args:?}: the seed changes nothing");
    }
}

#[test]
fn with_a_device_there_are_times_and_what_became_of_prefetches() {
    let rows = records(&[
        "sim",
        TASKS,
        "--policy",
        "none,linux,competitive",
        "--device",
        "ibm-10k",
        "--memory",
        "64MiB",
        "--handlers",
        "1,8",
        "--private-memory",
        "1MiB",
    ]);
    let seen: Vec<(&str, u64)> =
        rows.iter().map(|row| (row["policy"].as_str().unwrap(), row["handlers"].as_u64().unwrap())).collect();
    let expected = ["none+lru", "linux+lru", "competitive+lru"].map(|policy| [1, 8].map(|handlers| (policy, handlers)));
    assert_eq!(seen, expected.concat());
    for row in &rows {
        assert!(number(row, "throughput_mb_s") > 1.0 && number(row, "throughput_mb_s") < 60.0, "{row}");
        assert!(number(row, "response_ms") > 0.0 && number(row, "p99_ms") >= number(row, "p50_ms"), "{row}");
        let ended = ["used", "late", "wasted", "called_off", "unread"].map(|key| number(row, key)).iter().sum::<f64>();
        assert_eq!(number(row, "prefetched"), ended, "{row}");
        assert!(number(row, "device_bytes") > 0.0 && row["thrashed"].is_u64());
        let private = number(row, "handlers") * f64::from(1 << 20);
        assert_eq!(number(row, "capacity_blocks"), (f64::from(64 << 20) - private) / 4096.0);
    }
    assert!(rows[..2].iter().all(|row| number(row, "prefetched") == 0.0));
    assert!(number(&rows[5], "throughput_mb_s") > number(&rows[1], "throughput_mb_s"), "looking ahead gains");
}

#[test]
fn slow_devices_arrays_levels_and_schedulers() {
    let sim = |more: &[&str]| {
        let args = ["sim", TASKS, "--policy", "linux", "--memory", "64MiB", "--handlers", "8"];
        records(&[&args[..], more].concat())
    };
    let plain = &sim(&["--device", "ibm-10k"])[0];
    let slow = &sim(&["--device", "ibm-10k", "--slowdown", "0s:3"])[0];
    let share = number(slow, "seconds") / number(plain, "seconds");
    assert!(share > 2.0 && share < 3.2, "three times slower, but for what handlers think: {share}");
    let array = &sim(&["--device", "ibm-10k,ibm-10k", "--stripe", "256KiB"])[0];
    assert!(number(array, "throughput_mb_s") > number(plain, "throughput_mb_s"), "{array}");
    let host = [
        "--device",
        "ibm-10k,ibm-10k",
        "--stripe",
        "256KiB",
        "--host-scheduler",
        "cfq:idle_ms=0.0",
        "--host-depth",
        "1",
    ];
    let narrow = &sim(&host)[0];
    assert_ne!(number(narrow, "seconds"), number(array, "seconds"), "one request at a time: {narrow}");
    assert_eq!((&narrow["host_scheduler"], number(narrow, "host_depth")), (&Value::from("cfq:idle_ms=0.0"), 1.0));
    assert!(array.get("host_scheduler").is_none(), "{array}");
    let args = ["sim", TASKS, "--device", "ibm-10k"];
    refused(&[&args[..], &["--host-scheduler", "cfq"]].concat(), &["--stripe"]);
    refused(
        &[&args[..], &["--stripe", "64KiB", "--host-scheduler", "cfq", "--host-depth", "0"]].concat(),
        &["--host-depth"],
    );
    let files = &sim(&["--device", "ibm-10k,ibm-10k", "--stripe-files", "256KiB"])[0];
    assert!(number(files, "throughput_mb_s") > number(plain, "throughput_mb_s"), "{files}");
    assert!(number(files, "device_requests") > number(array, "device_requests"), "a fetch goes to one device: {files}");
    let levels = &sim(&["--device", "ibm-10k", "--level", "lru:256MiB"])[0];
    assert_eq!(levels["policy"], "linux+lru > none+lru");
    assert_eq!((&levels["labels"], &levels["l1_label_bytes"]), (&Value::from("off"), &Value::from(0)));
    let told = sim(&["--device", "ibm-10k", "--level", "sarc:256MiB", "--level", "lru:1%", "--labels", "demand,hits"]);
    assert_eq!(told.len(), 2, "each kind is a run");
    for (record, labels) in told.iter().zip(["demand", "hits"]) {
        assert_eq!(record["labels"], labels);
        let bytes = number(record, "l1_label_bytes") / number(record, "l1_fetches");
        assert!((8.0..=16.0).contains(&bytes) && (bytes == 8.0 || labels == "hits"), "{bytes}");
        assert!(number(record, "l3_hit_ratio") <= 1.0 && record.get("l4_hit_ratio").is_none());
    }
    let linked = &sim(&["--device", "ibm-10k", "--link", "latency_us=2000,gbit_s=1"])[0];
    assert!(number(linked, "response_ms") > number(plain, "response_ms"), "messages take time: {linked}");
    let schedulers = sim(&["--device", "ibm-10k", "--scheduler", "none", "--scheduler", "anticipatory:wait_ms=5"]);
    assert_eq!(schedulers.len(), 2);
    assert_eq!(schedulers[0]["scheduler"], "none");
    assert!(schedulers[1]["scheduler"].as_str().is_some_and(|name| name.starts_with("anticipatory")));
    let short = &sim(&["--device", "ssd", "--limit", "100", "--warm-up", "20"])[0];
    assert_eq!(number(short, "requests"), 80.0);
}

#[test]
fn curves_fall_and_agree_with_replays() {
    let points = records(&["sim", ZIPF, "--curve", "lru,sieve", "--memory", "5,50,250"]);
    let replayed = records(&["sim", ZIPF, "--no-opt", "--policy", "lru,sieve", "--memory", "5,50,250"]);
    assert_eq!(points, replayed, "an exact curve is what replays give");
    let spread = records(&["sim", ZIPF, "--curve", "lru", "--points", "20"]);
    assert!(spread.len() > 10);
    let ratios: Vec<f64> = spread.iter().map(|point| number(point, "miss_ratio")).collect();
    assert!(ratios.windows(2).all(|pair| pair[1] <= pair[0]) && ratios[0] > 0.8, "{ratios:?}");
}

#[test]
fn pictures_are_written_as_their_ending_says() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (name, begin) in [("a.svg", &b"<svg"[..]), ("a.png", b"\x89PNG"), ("a.html", b"<!doctype html>")] {
        let path = folder.path().join(name);
        let table = text(&["sim", ZIPF, "--policy", "lru,arc", "--memory", "1%,10%", "--plot", path.to_str().unwrap()]);
        assert!(table.contains("arc"), "the table is printed, too");
        let picture = std::fs::read(&path).expect("a picture");
        assert!(picture.starts_with(begin), "{name}");
        if name != "a.png" {
            let text = String::from_utf8(picture).expect("text");
            assert!(
                ["blocks in the cache", "miss ratio", "arc", "opt"].iter().all(|label| text.contains(label)),
                "{name}"
            );
        }
    }
    let path = folder.path().join("missing/a.svg");
    let output = run(&["sim", ZIPF, "--plot", path.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1), "it ran, and the picture failed");
    assert!(!output.stdout.is_empty() && String::from_utf8_lossy(&output.stderr).contains("cannot write"));
}

#[test]
fn what_makes_no_sense_is_one_line_and_exit_code_2() {
    refused(&["sim"], &["<TRACE>"]);
    refused(&["sim", "missing.trace"], &["missing.trace", "No such file"]);
    refused(&["sim", ZIPF, "--policy", "competitive"], &["'competitive'", "--device ibm-10k"]);
    refused(&["sim", ZIPF, "--policy", "psychic"], &["'psychic'", "lru", "opt"]);
    refused(&["sim", ZIPF, "--memory", "much"], &["'much'", "512MiB"]);
    refused(&["sim", ZIPF, "--memory", "0b"], &["0b"]);
    // An empty list is no list, and not the default.
    refused(&["sim", ZIPF, "--policy="], &["''", "known are opt, lru"]);
    refused(&["sim", ZIPF, "--policy", "lru,"], &["''", "known are opt, lru"]);
    refused(&["sim", ZIPF, "--sizes", "--policy="], &["''", "landlord"]);
    refused(&["sim", ZIPF, "--curve="], &["''", "--curve"]);
    refused(&["sim", ZIPF, "--memory="], &["''", "--memory"]);
    refused(&["sim", ZIPF, "--device="], &["``", "ibm-10k"]);
    refused(&["sim", ZIPF, "--device", "ibm-10k", "--policy="], &["''", "competitive"]);
    refused(&["sim", ZIPF, "--device", "ibm-10k", "--scheduler="], &["--scheduler"]);
    refused(&["sim", ZIPF, "--device", "ibm-10k", "--handlers="], &["--handlers"]);
    refused(&["sim", ZIPF, "--curve", "competitive"], &["'competitive'"]);
    refused(&["sim", ZIPF, "--sample", "1%"], &["--curve"]);
    refused(&["sim", ZIPF, "--curve", "lru", "--sample", "200%"], &["--sample", "1%"]);
    refused(&["sim", ZIPF, "--handlers", "4"], &["--device"]);
    refused(&["sim", ZIPF, "--device", "abacus"], &["`abacus`", "ibm-10k"]);
    refused(&["sim", ZIPF, "--device", "ibm-10k", "--policy", "opt"], &["opt", "--device"]);
    refused(&["sim", ZIPF, "--device", "ibm-10k", "--policy", "psychic"], &["'psychic'", "competitive"]);
    refused(&["sim", ZIPF, "--device", "ibm-10k", "--scheduler", "coin"], &["`coin`", "elevator"]);
    refused(&["sim", ZIPF, "--device", "ibm-10k", "--slowdown", "2@1s:2"], &["--slowdown"]);
    refused(&["sim", ZIPF, "--device", "ibm-10k", "--level", "lru"], &["--level", "lru:256MiB"]);
    refused(&["sim", ZIPF, "--device", "ibm-10k", "--open"], &["no times"]);
    refused(&["sim", ZIPF, "--plot", "out.pdf"], &["out.pdf", ".svg, .png or .html"]);
    refused(&["sim", ZIPF, "--block-bytes", "0"], &["--block-bytes"]);
    refused(&["sim", "zipf:objects"], &["`objects`", "objects=1000"]);
    refused(&["sim", "zipf:colour=1"], &["'colour'"]);
    let (_folder, path) = written([1, 2].into_iter());
    std::fs::write(&path, "1\n2\nthree\n").expect("a file");
    refused(&["sim", path.to_str().unwrap(), "--format", "lirs"], &["numbers.trace", "record 3"]);
}

#[test]
fn variables_have_the_name_of_the_command() {
    let output = forebay(&["sim", ZIPF, "--no-opt", "--csv"])
        .env("FOREBAY_SIM_MEMORY", "3,7")
        .env("FOREBAY_MEMORY", "nonsense")
        .env("FOREBAY_SIM_POLICY", "fifo")
        .output()
        .expect("the command starts");
    let csv = String::from_utf8(output.stdout).expect("text");
    assert!(csv.contains("\nfifo,3,") && csv.contains("\nfifo,7,") && csv.lines().count() == 3, "{csv}");
}

/// The first SIGINT stops the command, which shows the finished results: LRU's curve, which takes
/// one pass. The other curve takes hours.
#[test]
fn ctrl_c_leaves_what_is_finished() {
    let curve = |names| ["sim", "zipf:objects=50000,requests=200000", "--points", "20000", "--csv", "--curve", names];
    let finished = text(&curve("lru"));
    let shown = [1, 5, 25].into_iter().find_map(|seconds| interrupted(&curve("lru,arc"), Duration::from_secs(seconds)));
    let shown = shown.expect("one pass over a short trace in 25 seconds");
    assert!(shown.starts_with(&finished), "{}", shown.lines().take(3).collect::<Vec<_>>().join(" "));
}

/// The output of a command that is interrupted after this time; `None` if no result was finished by
/// then.
fn interrupted(args: &[&str], after: Duration) -> Option<String> {
    let child = forebay(args).spawn().expect("the command starts");
    std::thread::sleep(after);
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().expect("kill runs").success());
    let output = child.wait_with_output().expect("it ends");
    let line = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{line}");
    assert!(line.starts_with("error: interrupted: ") && line.contains("of 2 runs were finished"), "{line}");
    line.contains("interrupted: 1 of 2").then(|| String::from_utf8(output.stdout).expect("text"))
}

/// The folder of the real traces, or a note that they are not there.
fn traces(name: &str) -> Option<String> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces");
    let folder = std::env::var_os("FOREBAY_TRACES").map_or(beside, PathBuf::from);
    let path = folder.join(name);
    if !path.exists() {
        println!("SKIPPED: {} is not there", path.display());
        return None;
    }
    path.to_str().map(str::to_owned)
}

/// Figures of two independent simulators (`golden-*.tsv`), through the whole command.
#[test]
fn real_traces_give_the_known_figures() {
    let (Some(cs), Some(golden)) = (traces("lirs/cs.trace.gz"), traces("golden-libcachesim.tsv")) else { return };
    let golden = std::fs::read_to_string(golden).expect("the figures");
    let mut compared = 0;
    for line in golden.lines().filter(|line| line.starts_with("cs\t")) {
        let fields: Vec<&str> = line.split('\t').collect();
        let (name, capacity, ratio) = (fields[1].to_lowercase(), fields[2], fields[fields.len() - 1]);
        if !["lru", "fifo"].contains(&name.as_str()) {
            continue;
        }
        let row = &records(&["sim", &cs, "--no-opt", "--policy", &name, "--memory", &format!("{capacity}b")])[0];
        let expected: f64 = ratio.parse().expect("a number");
        assert!((number(row, "miss_ratio") - expected).abs() < 5.1e-5, "{line}: {row}");
        compared += 1;
    }
    assert!(compared > 1, "the figures have no line for cs");
}

/// SAC's Trace 1 on sixteen disks, one of them old. The cache that knows of it reads more.
#[test]
fn files_striped_over_disks_that_the_cache_knows() {
    let disks = ["ibm-9lzx@8"].into_iter().chain(std::iter::repeat_n("ibm-9lzx", 15)).collect::<Vec<_>>().join(",");
    let args = ["sim", "sac-1:requests=6000", "--device", &disks, "--stripe-files", "8KiB", "--handlers", "16"];
    let more = ["--memory", "200MiB", "--scheduler", "none", "--warm-up", "3000", "--policy", "lru,static"];
    let rows = records(&[&args[..], &more].concat());
    assert!(number(&rows[1], "throughput_mb_s") > 2.0 * number(&rows[0], "throughput_mb_s"), "{rows:?}");
    refused(&["sim", TASKS, "--device", "ibm-10k", "--stripe-files", "64KiB"], &["two devices"]);
    refused(&["sim", TASKS, "--device", "ibm-10k,ibm-10k", "--stripe-files", "1000"], &["whole blocks"]);
    let many = vec!["ssd"; 300].join(",");
    refused(&["sim", TASKS, "--device", &many, "--policy", "lazy-lru"], &["lazy+lru", "at most", "300"]);
}

/// A disk tier holds what memory does not: of rounds over a data set it finds its share, and the
/// device reads less. What is read once leaves it as it is.
#[test]
fn a_disk_tier_before_the_device() {
    let rounds = "epochs:tasks=6000,samples=1000";
    let timed = ["sim", rounds, "--device", "object-store", "--memory", "5%", "--policy", "competitive+lru"];
    let sim = |more: &[&str]| records(&[&timed[..], more].concat()).remove(0);
    let (without, with) = (sim(&[]), sim(&["--disk", "45%"]));
    assert!(without["tier"].is_null() && number(&with, "tier_hit_ratio") > 0.25, "{with}");
    let read = |record| number(record, "device_bytes");
    assert!(read(&with) + number(&with, "tier_found_bytes") < read(&without) * 1.02, "{with} {without}");
    assert!(number(&with, "response_ms") < number(&without, "response_ms"));
    let scan = ["sim", "epochs:tasks=1000,samples=1000", "--device", "ibm-10k", "--disk", "10%", "--json"];
    // The scan is of ten tiers. The first sixteenth of one is written, and of the rest a piece in
    // 512, which is taken for one that came before: together less than a tenth.
    let written = number(&records(&scan[..6])[0], "tier_written_bytes");
    assert!(written < 114_688_000.0 / 10.0 / 10.0, "{written}");
    assert_eq!(run(&["sim", rounds, "--disk", "10%"]).status.code(), Some(2), "it needs --device");
    let small = ["sim", rounds, "--device", "ibm-10k", "--memory", "5%", "--disk", "4KiB"];
    refused(&small, &["a disk tier has at least"]);
    refused(&[&small[..6], &["--disk", "1GiB", "--disk-device", "tape"]].concat(), &["tape"]);
}

#[test]
fn sizes_count() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = folder.path().join("sized.csv");
    // A small object between large ones: it alone is found again, if bytes are what is counted.
    let lines: String = (0..300).map(|n| format!("{n},{},{}\n", n % 3, if n % 3 == 0 { 10 } else { 1000 })).collect();
    std::fs::write(&trace, lines).expect("written");
    let trace = trace.to_str().expect("text");
    let found = records(&["sim", trace, "--sizes", "--memory", "1500B", "--policy", "lru,gdsf"]);
    let figures = |record: &Value| (number(record, "misses"), number(record, "missed_bytes"));
    assert_eq!(found.len(), 2);
    assert_eq!(figures(&found[0]), (300.0, 201_000.0), "LRU: {}", found[0]);
    let (misses, bytes) = figures(&found[1]);
    assert!(misses < 202.0 && bytes < 201_000.0, "GDSF keeps the small one: {}", found[1]);
    let small = ["sim", trace, "--sizes", "--memory", "1500B", "--admit-below", "100B"];
    assert_eq!(figures(&records(&small)[0]), (201.0, 200_010.0));
    refused(
        &["sim", trace, "--sizes", "--policy", "lirs"],
        &["'lirs' does not count bytes", "lru, fifo, clock, sieve"],
    );
    refused(&["sim", trace, "--sizes", "--memory", "7"], &["counted in bytes"]);
    for option in ["--limit=1", "--warm-up=1", "--told", "--handlers=2", "--disk=1MiB", "--points=5", "--sample=10%"] {
        let name = option.split('=').next().unwrap_or(option);
        refused(&["sim", trace, "--sizes", option], &["--sizes", "cannot be used with", name]);
    }
    refused(&["sim", "one-whole-0:files=3", "--sizes"], &["of ranges"]);
}
