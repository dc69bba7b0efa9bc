//! A trace's own future told.

use forebay_device::device;
use forebay_sim::Unwatched;
use forebay_sim::timed::{Load, Outcome, Setup, Told, Workload, run};
use forebay_trace::generate;

/// A load of today on the object store, with memory for so many per cent of what it reads.
fn today(load: &str, parameters: &[(&str, &str)], percent: u64, pool: bool, told: Told) -> Outcome {
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

#[test]
fn look() {
    for (load, pool) in
        [("epochs", true), ("epochs-packed", true), ("container-starts", false), ("parquet", false), ("shards", true)]
    {
        for told in [Told::Nobody, Told::Everybody] {
            let began = std::time::Instant::now();
            let outcome = today(load, &[], 50, pool, told);
            let level = &outcome.levels[0].counters;
            eprintln!(
                "{load} {told:?}: {:.1} MB/s in {:.1} s; {level:?}  [{:?}]",
                outcome.throughput_mb_s,
                outcome.seconds,
                began.elapsed()
            );
        }
    }
}
