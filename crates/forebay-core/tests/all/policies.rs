//! How policies are written: every name, every option, round and back; and the messages for all
//! other texts.

use forebay_core::Policy;
use forebay_core::presets::{CHOICES, CONTEXTS, Choice, PARTITIONS, PARTS, PREFETCHERS, REPLACEMENTS, Replacement};
use proptest::prelude::*;

/// Some values that an option takes.
fn values(choice: &Choice) -> &'static [&'static str] {
    match choice.name {
        "threshold" if choice.values == "0..1" => &["0", "0.001", "0.4", "0.35", "0.999", "1"],
        "sampling" => &["off", "1/1", "1/10", "1/4294967295", "adaptive", "2", "1000", "4294967295"],
        "mean" => &["periodic", "continuous", "1/1", "1/2", "1/100", "1/65536"],
        "review" => &["1", "7", "1000", "4294967295"],
        "by" => &["context", "file", "handler"],
        "partitions" => &["0", "1", "10"],
        "threshold" if choice.axis == "prefetch" => &["1", "4", "7", "4294967295"],
        "distance" if choice.values == "BLOCKS" => &["0", "16", "4294967295"],
        "channels" | "shares" => &["on", "off"],
        "degree" => &["1", "32", "48", "256", "4294967295"],
        "distance" => &["0", "24", "memory"],
        "slot" => &["1", "100", "4294967295"],
        "window" => &["1", "1000", "4294967295"],
        "threshold" => &["0", "5", "65535"],
        "increment" => &["1", "2", "1000"],
        "weights" => &["equal", "2/1", "1/1/65535", "262144", "4294967295"],
        "start" => &["1", "25", "60", "100"],
        "epoch" => &["0", "1", "4000", "4294967295"],
        "opportunity" => &["0", "100", "2147483647"],
        "seed" => &["0", "1", "4294967295"],
        other => panic!("the test knows no values of {other}"),
    }
}

fn parse(text: &str) -> Result<Policy, String> {
    text.parse().map_err(|error: forebay_core::UnknownPolicy| error.to_string())
}

/// Those options that a preset has.
fn of(preset: &str) -> Vec<&'static str> {
    Choice::of(preset).map(|choice| choice.name).collect()
}

#[test]
fn without_a_choice_the_policy_is_auto() {
    assert_eq!(Ok(Policy::default()), "auto".parse());
}

#[test]
fn which_presets_have_which_options() {
    assert_eq!(of("competitive"), ["channels", "shares"]);
    let all_of =
        |axis| CHOICES.iter().filter(|choice| choice.axis == axis).map(|choice| choice.name).collect::<Vec<_>>();
    let supply = ["degree", "distance", "slot"];
    let sarc = ["threshold", "degree", "distance"];
    assert_eq!(of("competitive-em"), ["channels", "shares", "start", "epoch", "opportunity", "seed"]);
    assert_eq!(of("auto"), ["without", "start", "epoch"]);
    assert_eq!(of("sarc"), sarc);
    for preset in ["gill", "mountpoint", "gcsfs", "arrow", "mithril"] {
        assert_eq!(of(preset), Vec::<&str>::new());
    }
    for preset in ["even", "ets", "esf"] {
        assert_eq!(of(preset), supply);
    }
    assert_eq!(of("ets-competitive"), supply[1..]);
    for entry in PARTITIONS {
        let options = if entry.name == "worth" { vec![] } else { all_of("partition") };
        assert_eq!(of(entry.name), options, "{}", entry.name);
    }
    let common = ["by", "partitions", "review", "seed"];
    for (preset, own) in [
        ("amp", &["threshold", "sampling", "mean"][..]),
        ("amp-lru", &["threshold", "sampling", "mean"]),
        ("amp-duel", &["threshold", "sampling", "mean"]),
        ("dear", &[]),
        ("pcc", &[]),
        ("ubm", &[]),
    ] {
        assert_eq!(of(preset), [own, &common].concat());
    }
    for entry in PREFETCHERS.iter().filter(|entry| entry.paper.starts_with("Smith") || entry.name == "linux") {
        assert_eq!(of(entry.name), Vec::<&str>::new(), "{}", entry.name);
    }
}

/// The replacement algorithm of a preset that names none.
fn goes_with(preset: &str) -> &'static str {
    match preset {
        "auto" => "arc",
        "sarc" => "sarc-lists",
        "gill" => "gill-lru",
        "amp" | "dear" | "pcc" | "ubm" | "amp-duel" => "arc",
        _ => "lru",
    }
}

#[test]
fn every_name_is_printed_as_it_is_written() {
    for prefetcher in PREFETCHERS {
        // Its name implies its replacement algorithm.
        let whole = prefetcher.name == "auto";
        let short = |text: &str| if whole { text.replace("+arc", "") } else { text.to_string() };
        for &replacement in Replacement::ALL {
            let text = format!("{}+{}", prefetcher.name, replacement.name());
            assert_eq!(parse(&text).unwrap().to_string(), short(&text));
        }
        let text = format!("{}+{}", prefetcher.name, goes_with(prefetcher.name));
        assert_eq!(parse(prefetcher.name).unwrap().to_string(), short(&text));
    }
    let parts = ["auto:without=whole/devices", "auto:without=cache/contexts+lru", "auto:without=rent,start=7"];
    for text in parts.into_iter().chain(["auto+eager:window=7", "auto+dear", "auto:without=duel+amp:by=file"]) {
        assert_eq!(parse(text).unwrap().to_string(), text);
    }
    assert_eq!(parse("auto+lazy").unwrap().partition.settings().map(|settings| settings.window), Some(1000));
    for replacement in REPLACEMENTS {
        assert_eq!(parse(replacement.name).unwrap().to_string(), format!("none+{}", replacement.name));
    }
    assert_eq!(parse("arc+competitive-em").unwrap(), parse("competitive-em+arc").unwrap());
    for scheme in ["static", "eager", "lazy"] {
        assert_eq!(parse(scheme).unwrap().to_string(), format!("none+{scheme}+lru"));
        assert_eq!(parse(&format!("{scheme}+arc+linux")).unwrap().to_string(), format!("linux+{scheme}+arc"));
    }
    for (short, long) in [("eager-lru", "eager+lru"), ("lazy-lru", "lazy+lru"), ("lazy-clock", "lazy+clock")] {
        assert_eq!(parse(short), parse(long));
        assert_eq!(parse(&format!("{short}:window=7")), parse(&long.replace('+', ":window=7+")));
    }
    for (short, long) in [
        ("sarc+lazy", "sarc+lazy+sarc-lists"),
        ("lazy+sarc", "sarc+lazy+sarc-lists"),
        ("gill+lazy-clock", "gill+lazy+clock"),
        ("lazy-clock+gill", "gill+lazy+clock"),
        ("arc+sarc:threshold=6", "sarc:threshold=6+arc"),
        ("sarc-lists", "none+sarc-lists"),
    ] {
        assert_eq!(parse(short).unwrap().to_string(), long);
    }
    for entry in CONTEXTS.iter().filter(|entry| entry.name != "amp-lru") {
        assert_eq!(parse(entry.name).unwrap().to_string(), format!("none+{}+arc", entry.name));
    }
    assert_eq!(parse("amp-lru"), parse("amp+lru"));
    assert_eq!(parse("amp-lru:by=file"), parse("lru+amp:by=file"));
    for (short, long) in [
        ("amp+s3-fifo", "none+amp+s3-fifo"),
        ("competitive-em+amp", "competitive-em+amp+arc"),
        ("lazy+amp", "none+lazy+amp+arc"),
        ("amp+lazy-clock", "none+lazy+amp+clock"),
        ("dear:review=7+sarc", "sarc+dear:review=7+sarc-lists"),
        ("pcc:review=9+linux+static:seed=2+2q", "linux+static:seed=2+pcc:review=9+2q"),
    ] {
        assert_eq!(parse(short).unwrap().to_string(), long);
    }
    let both = parse("competitive-em:seed=3+lazy-clock:seed=4").unwrap().to_string();
    assert_eq!(both, "competitive-em:seed=3+lazy:seed=4+clock");
}

/// Every value of every option: a chosen value is printed, unless it is the default.
#[test]
fn every_option_goes_round() {
    let presets =
        ["competitive", "competitive-em", "even", "ets", "ets-competitive", "sarc", "gill", "static", "eager", "lazy"];
    let contexts = ["amp", "dear", "pcc", "ubm", "amp-duel"];
    for preset in presets.into_iter().chain(contexts) {
        let alone = ["static", "eager", "lazy"].contains(&preset) || contexts.contains(&preset);
        let before = if alone { "none+" } else { "" };
        let plain = parse(preset).unwrap();
        for choice in CHOICES.iter().filter(|choice| (choice.get)(&plain).is_some()) {
            for &value in values(choice) {
                let policy = parse(&format!("{preset}:{}={value}", choice.name)).unwrap();
                assert_eq!((choice.get)(&policy).as_deref(), Some(value));
                let default = (choice.get)(&plain).as_deref() == Some(value);
                let option = if default { String::new() } else { format!(":{}={value}", choice.name) };
                assert_eq!(policy.to_string(), format!("{before}{preset}{option}+{}", goes_with(preset)));
                assert_eq!(policy == plain, default);
            }
        }
    }
}

/// Each part of `auto` can be left out, with any other, and all parts at once.
#[test]
fn parts_of_auto_go_round() {
    let auto = parse("auto").unwrap();
    let without = |names: &str| parse(&format!("auto:without={names}")).unwrap();
    for a in PARTS {
        assert_ne!(without(a.name), auto, "{} is a part", a.name);
        for b in PARTS {
            let policy = without(&format!("{}/{}", a.name, b.name));
            assert_eq!(parse(&policy.to_string()), Ok(policy));
        }
    }
    let names: Vec<&str> = PARTS.iter().map(|part| part.name).collect();
    let nothing = without(&names.join("/"));
    assert_eq!(parse(&nothing.to_string()), Ok(nothing));
    assert!(nothing.context.is_none() && nothing.partition.settings().is_none());
    // AMP without the duel is AMP.
    assert_eq!(parse("auto+amp").unwrap().to_string(), "auto:without=duel");
}

/// Policies with an option that makes no sense, and that option.
const WRONG: &[(&str, &str)] = &[
    ("competitive:wholly=on", "wholly=on"),
    ("competitive:shares=yes", "shares=yes"),
    ("competitive:shares", "shares"),
    ("auto:without=", "without="),
    ("auto:without=near/far", "without=near/far"),
    ("competitive:without=near", "without=near"),
    ("competitive:", ""),
    ("competitive:shares=on,", ""),
    ("competitive:start=25", "start=25"),
    ("competitive-em:start=0", "start=0"),
    ("competitive-em:start=101", "start=101"),
    ("competitive-em:epoch=-1", "epoch=-1"),
    ("competitive-em:epoch=4s", "epoch=4s"),
    ("competitive-em:opportunity=2147483648", "opportunity=2147483648"),
    ("competitive-em:epoch=1,streams=active+arc", "streams=active"),
    ("lazy:window=0", "window=0"),
    ("lazy:increment=0", "increment=0"),
    ("lazy:threshold=-5", "threshold=-5"),
    ("lazy:weights=1/0", "weights=1/0"),
    ("static:weights=1/x", "weights=1/x"),
    ("eager-lru:start=25", "start=25"),
    ("competitive:window=10", "window=10"),
    ("sarc:threshold=0", "threshold=0"),
    ("sarc:degree=0", "degree=0"),
    ("sarc:distance=memory", "distance=memory"),
    ("amp:threshold=1.1", "threshold=1.1"),
    ("amp:threshold=-0.1", "threshold=-0.1"),
    ("amp:threshold=NaN", "threshold=NaN"),
    ("amp:threshold=0.1234", "threshold=0.1234"),
    ("amp:sampling=1/0", "sampling=1/0"),
    ("amp:sampling=1", "sampling=1"),
    ("amp:mean=1/65537", "mean=1/65537"),
    ("amp:by=page", "by=page"),
    ("amp:partitions=11", "partitions=11"),
    ("amp:review=0", "review=0"),
    ("amp:group=3", "group=3"),
    ("dear:interval=9", "interval=9"),
    ("pcc:threshold=0.4", "threshold=0.4"),
    ("amp-lru:victim=block", "victim=block"),
];

#[test]
fn what_makes_no_sense_is_told_with_what_does() {
    for &(text, option) in WRONG {
        let told = parse(text).unwrap_err();
        assert!(told.starts_with(&format!("policy '{text}': no option is '{option}'; there are ")), "{told}");
        let (preset, _) = text.split_once(':').unwrap();
        for choice in CHOICES {
            let known = Choice::of(preset).any(|other| (other.name, other.values) == (choice.name, choice.values));
            let listed = told.split([' ', ',']).any(|word| word == format!("{}={}", choice.name, choice.values));
            assert_eq!(listed, known, "{} in {told}", choice.name);
        }
        assert_eq!(told.lines().count(), 1);
    }
    for text in [
        "",
        "competitiv",
        "lru+arc",
        "linux+competitive",
        "arc:shares=on",
        "competitive+arc+lru",
        "+",
        "lazy+eager",
        "lazy-clock+lru",
        "amp+dear",
        "amp-lru+arc",
    ] {
        let told = parse(text).unwrap_err();
        assert!(told.starts_with(&format!("unknown policy '{text}'; known are ")), "{told}");
        assert!(PREFETCHERS.iter().chain(CONTEXTS).chain(REPLACEMENTS).all(|entry| told.contains(entry.name)));
    }
}

/// Where the list of values leaves it open, the names of parts and the least number are told.
#[test]
fn the_values_of_an_option_are_told() {
    let told = parse("auto:without=nonsense").unwrap_err();
    assert!(told.ends_with(" duel, bimodal)") && told.contains("(the parts are whole, lengths, "), "{told}");
    assert!(parse("even:degree=0").unwrap_err().ends_with(" (degree is at least 1)"));
    assert!(parse("competitive-em:epoch=x").unwrap_err().ends_with("NUMBER"), "zero is allowed");
}

/// A preset that has no options says so.
#[test]
fn a_preset_without_options_says_so() {
    let told = parse("linux:shares=on").unwrap_err();
    assert_eq!(told, "policy 'linux:shares=on': 'linux' has no options");
    let told = parse("arc+competitive:hole=on").unwrap_err();
    assert_eq!(told.split(';').next(), Some("policy 'arc+competitive:hole=on': no option is 'hole=on'"));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Any combination goes round, and says every option once, the last that was written.
    #[test]
    fn combinations_go_round(
        em: bool,
        chosen in proptest::collection::vec((0..CHOICES.len(), any::<usize>()), 0..10),
        replacement in proptest::sample::select(Replacement::ALL),
    ) {
        let preset = if em { "competitive-em" } else { "competitive" };
        let known = of(preset);
        let options: Vec<String> = chosen
            .iter()
            .filter(|&&(choice, _)| known.contains(&CHOICES[choice].name))
            .map(|&(choice, value)| {
                let values = values(&CHOICES[choice]);
                format!("{}={}", CHOICES[choice].name, values[value % values.len()])
            })
            .collect();
        let colon = if options.is_empty() { "" } else { ":" };
        let policy = parse(&format!("{preset}{colon}{}+{}", options.join(","), replacement.name())).unwrap();
        prop_assert_eq!(parse(&policy.to_string()), Ok(policy));
        prop_assert_eq!(policy.replacement, replacement);
    }

    /// No text makes it panic.
    #[test]
    fn anything_is_a_policy_or_an_error(text in "[a-z:=,+0-9-]{0,40}") {
        if let Ok(policy) = parse(&text) {
            prop_assert_eq!(parse(&policy.to_string()), Ok(policy));
        }
    }
}
