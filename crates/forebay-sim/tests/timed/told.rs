//! A trace's own future told.

use forebay_device::device;
use forebay_sim::Unwatched;
use forebay_sim::timed::{Load, Outcome, Setup, Told, Workload, run};
use forebay_trace::generate::{self, Given};

/// A load of today on the object store, with memory for so many per cent of what it reads.
const fn given<'a>(name: &'a str, value: &'a str) -> Given<'a> {
    Given { name, value }
}

fn today(load: &str, parameters: &[Given<'_>], percent: u64, pool: bool, told: Told) -> Outcome {
    let mut source = generate::named(load, parameters, 1).expect("a load");
    let workload = Workload::load(&mut source).expect("it has requests");
    let memory = workload.bytes() * percent / 100;
    let store = device("object-store").expect("it is shipped");
    let setup = Setup::new("auto".parse().expect("a policy"), memory, store, 4);
    let setup = match setup.load {
        Load::Closed { handlers, think_ns, cpu_ns, cpu_ns_per_kib, processors, private_bytes, .. } => Setup {
            load: Load::Closed { handlers, think_ns, cpu_ns, cpu_ns_per_kib, processors, private_bytes, pool },
            told,
            ..setup
        },
        Load::Open { .. } => setup,
    };
    run(&setup, &workload, &Unwatched).expect("it runs")
}

/// A reader that tells its order has the store's connections, one that does not has its latency.
/// Nothing is fetched in vain.
#[test]
fn told_loads_wait_for_the_rate_and_not_for_the_latency() {
    for (load, parameters, pool, gain) in [
        ("epochs", [given("tasks", "4000"), given("samples", "1000")], true, 8.0),
        ("epochs-packed", [given("tasks", "4000"), given("samples", "1000")], true, 8.0),
        ("shards", [given("tasks", "96"), given("shards", "32")], true, 1.5),
        ("parquet", [given("tasks", "200"), given("files", "16")], false, 3.0),
        ("container-starts", [given("tasks", "80"), given("images", "24")], false, 3.0),
    ] {
        let [untold, told] = [Told::Nobody, Told::Everybody].map(|told| today(load, &parameters, 50, pool, told));
        let ratio = told.throughput_mb_s / untold.throughput_mb_s;
        assert!(ratio >= gain, "{load}: {:.0} and {:.0} MB/s", told.throughput_mb_s, untold.throughput_mb_s);
        let counters = &told.levels[0].counters;
        assert!(counters.hinted > 0 && counters.hints_wasted * 50 <= counters.hinted, "{load}: {counters:?}");
        assert_eq!(untold.levels[0].counters.hinted, 0);
    }
}

#[test]
fn the_same_is_told_to_the_bit() {
    let run = || today("epochs", &[given("tasks", "600"), given("samples", "200")], 50, true, Told::Everybody);
    assert_eq!(format!("{:?}", run()), format!("{:?}", run()));
}

/// The first tasks may be those of readers that tell nothing.
#[test]
fn only_some_tasks_tell() {
    let parameters = [given("tasks", "40"), given("images", "24")];
    let hinted = |told| today("container-starts", &parameters, 50, false, told).levels[0].counters.hinted;
    let (all, half, none) = (hinted(Told::Everybody), hinted(Told::From(20)), hinted(Told::From(40)));
    assert!(all > half && half > 0 && none == 0, "{all}, {half}, {none}");
}

#[test]
fn requests_that_come_at_their_times_tell_nothing() {
    let requests = (0..10).map(|nth| forebay_trace::Request { offset: nth * 4096, len: 4096, ..Default::default() });
    let setup = crate::load::setup("auto", crate::load::flat(1.0, 1), 1);
    let setup = Setup { load: Load::Open { speed: 1.0 }, told: Told::Everybody, ..setup };
    let error = run(&setup, &crate::load::workload(requests.collect()), &Unwatched).expect_err("it makes no sense");
    assert!(error.to_string().contains("could tell their order"), "{error}");
}
