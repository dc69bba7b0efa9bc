//! Descriptions by name, and the models without an arm.

use forebay_core::Instant;
use forebay_device::{Description, Error, Request, device, devices};
use proptest::prelude::*;

#[test]
fn shipped_devices_are_listed_and_can_be_built() {
    let names: Vec<String> = devices().into_iter().map(|d| d.name).collect();
    let disks = ["barracuda", "cheetah-9lp", "hp-c3323a", "ibm-10k", "ibm-18es", "ibm-9lzx"];
    assert_eq!(
        names,
        [disks.as_slice(), &["micron-7600", "object-store", "s3-standard", "sas-15k", "seagate-10k", "ssd"]].concat()
    );
    for name in names {
        let description = device(&name).unwrap();
        assert_eq!(description.name, name);
        let model = description.build(1).unwrap();
        assert!(model.channels() >= 1 && !description.about.is_empty());
        assert!(model.cost().transfer_rate(0) > 0);
        let text = toml::to_string(&description).unwrap();
        assert_eq!(Description::parse(&text, "again").unwrap(), description);
    }
}

#[test]
fn unknown_devices_are_answered_with_the_known_ones() {
    let said = device("ibm").unwrap_err().to_string();
    for part in ["`ibm`", "ibm-10k", "object-store", "sas-15k", "seagate-10k", "ssd", ".toml"] {
        assert!(said.contains(part), "{said}");
    }
}

#[test]
fn disks_have_an_age() {
    let aged = device("ibm-9lzx@2.5").unwrap();
    assert_eq!(aged.name, "ibm-9lzx@2.5");
    assert_eq!(device("cheetah-9lp@0").unwrap().build(0).unwrap().capacity() >> 30, 8);
    for (name, said) in [("ibm-9lzx@old", "0 to 30 years"), ("ssd@3", "only disks age"), ("x@3", "no device")] {
        let error = device(name).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn own_files_are_loaded_and_their_mistakes_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("own.toml");
    let path = path.to_str().unwrap();
    assert!(matches!(device(path), Err(Error::Read { .. })));
    let text = toml::to_string(&device("ssd").unwrap()).unwrap();
    std::fs::write(path, &text).unwrap();
    assert_eq!(device(path).unwrap(), device("ssd").unwrap());
    for (from, to, kind) in [
        ("latency_ms = 0.09", "latency_ms = -1.0", "latency_ms"),
        ("p99_ms = 0.25", "p99_ms = 0.01", "p99_ms"),
        ("rate_mb_s = 700.0", "rate_mb_s = 0.0", "write"),
        ("latency_ms = 0.09", "latency = 1.0", "unknown field `latency`"),
        ("[model.ssd]", "[model.tape]", "tape"),
        ("channels = 32", "channels = 0", "channels"),
    ] {
        std::fs::write(path, text.replace(from, to)).unwrap();
        let said = device(path).unwrap_err().to_string();
        assert!(said.contains(kind), "{said}");
    }
}

#[test]
fn impossible_disks_are_refused() {
    let good = include_str!("../devices/ibm-10k.toml");
    for (from, to) in [
        ("rpm = 10000.0", "rpm = 0.0"),
        ("rpm = 10000.0", "rpm = nan"),
        ("heads = 4", "heads = 0"),
        ("bus_mb_s = 160.0", "bus_mb_s = inf"),
        ("b_ms = 11.7", "b_ms = -11.7"),
        ("head_switch_ms = 0.6", "head_switch_ms = 6.1"),
        ("[810, 781", "[810"),
        ("[810, 781", "[0, 781"),
        ("heads = 4", "heads = 4294967295"),
        ("unit = \"share\"", "unit = \"parsec\""),
        ("two_part", "points = [[1.0, 2.0]]\ntwo_part"),
    ] {
        assert!(good.contains(from), "{from}");
        assert!(Description::parse(&good.replace(from, to), "bad").is_err(), "{from} -> {to}");
    }
}

#[test]
fn impossible_first_bytes_are_refused() {
    let of = |first_byte: &str| {
        let text = "name = 'x'\nabout = ''\n[model.object-store]\nrate_mb_s = 50\nconnections = 10\n";
        Description::parse(&format!("{text}first_byte = {{ {first_byte} }}\n"), "test")
            .map_err(|error| error.to_string())
    };
    assert!(of("quantiles = [[0.5, 3.0]]").is_ok() && of("median_ms = 3, retry = { after_ms = 5 }").is_ok());
    for (bad, said) in [
        ("", "needs `median_ms`, or `quantiles`"),
        ("p99_ms = 3", "needs `median_ms`, or `quantiles`"),
        ("median_ms = 3, quantiles = [[0.5, 3.0]]", "needs `median_ms`, or `quantiles`"),
        ("quantiles = []", "needs `median_ms`, or `quantiles`"),
        ("quantiles = [[0.5, 3.0], [0.5, 4.0]]", "must ascend"),
        ("quantiles = [[0.5, 3.0], [0.6, 2.0]]", "must ascend"),
        ("quantiles = [[50, 3.0], [99, 4.0]]", "must ascend"),
        ("quantiles = [[0.5, -3.0]]", "must ascend"),
        ("quantiles = [[0.5, inf]]", "must ascend"),
        ("median_ms = 3, retry = { after_ms = 0 }", "retry"),
        ("median_ms = 3, retry = { after_ms = 5, times = 0 }", "retry"),
        ("median_ms = 3, retry = { after_ms = 5, times = 17 }", "retry"),
    ] {
        let error = of(bad).expect_err(bad);
        assert!(error.contains(said), "{bad}: {error}");
    }
}

/// Numbers from the ordinary to the absurd.
fn number() -> impl Strategy<Value = f64> {
    prop_oneof![0.0f64..10.0, 0.0f64..1e6, any::<f64>(), Just(0.0), Just(f64::MIN_POSITIVE), Just(f64::MAX)]
}

proptest! {
    /// A description with any numbers is refused, or its device serves any request.
    #[test]
    fn any_numbers_are_refused_or_served(
        n in proptest::collection::vec(number(), 10),
        switches in proptest::collection::vec(prop_oneof![Just(0.0), 0.0f64..1e-3, number()], 2),
        heads in any::<u32>(),
        zones in proptest::collection::vec((prop_oneof![1u32..100, any::<u32>()], 8u32..5000), 0..4),
        requests in proptest::collection::vec((any::<u64>(), any::<u64>(), 0u64..1_000_000), 1..10),
    ) {
        let (cylinders, sectors): (Vec<_>, Vec<_>) = zones.into_iter().unzip();
        let disk = |heads: u32| format!(
            "[model.disk]\nrpm = {:?}\nheads = {heads}\noverhead_ms = {:?}\nhead_switch_ms = {:?}\n\
             cylinder_switch_ms = {:?}\nbus_mb_s = {:?}\n[model.disk.seek]\n\
             two_part = {{ a_ms = {:?}, b_ms = {:?}, knee = {:?}, c_ms = {:?}, e_ms = {:?} }}\n\
             [model.disk.cache]\nsegments = 3\nsegment_kib = {}\n\
             [model.disk.zones]\ncylinders = {cylinders:?}\nsectors = {sectors:?}\n",
            n[0], n[1], switches[0], switches[1], n[4], n[5], n[6], n[7], n[8], n[9], heads % 1000,
        );
        let flash = format!(
            "[model.ssd]\ncapacity_gb = {:?}\nlatency_ms = {:?}\nrate_mb_s = {:?}\nchannels = {heads}\ntotal_mb_s = {:?}\n",
            n[0], n[1], n[2], n[3],
        );
        let writes = format!(
            "{flash}p99_ms = {:?}\npage_kib = {}\n[model.ssd.write]\nlatency_ms = {:?}\nrate_mb_s = {:?}\ntotal_mb_s = {:?}\n",
            n[4], heads % 64, n[5], n[6], n[7],
        );
        let slowed = format!(
            "[model.slowed]\ndevice = 'ibm-10k'\nslowdowns = [{{ at_s = {:?}, until_s = {:?}, factor = {:?} }}]\n",
            n[0], n[1], n[2],
        );
        let store = format!(
            "[model.object-store]\nrate_mb_s = {:?}\nconnections = {heads}\n[model.object-store.first_byte]\n\
             median_ms = {:?}\np99_ms = {:?}\n",
            n[0], n[1], n[2],
        );
        let measured = format!(
            "[model.object-store]\nrate_mb_s = {:?}\nconnections = {heads}\n[model.object-store.first_byte]\n\
             quantiles = [[0.0, {:?}], [{:?}, {:?}]]\nretry = {{ after_ms = {:?}, times = {} }}\n",
            n[0], n[1], n[2], n[3], n[4], heads % 20,
        );
        let garbage = format!("{writes}[model.ssd.flash]\nspare = {:?}\nprogram_ms = {:?}\nstate = \"empty\"\n", n[8], n[9]);
        for model in [disk(heads), disk(heads % 8), flash, writes, garbage, slowed, store, measured] {
            let text = format!("name = \"x\"\nabout = \"\"\n{model}");
            let Ok(description) = Description::parse(&text, "any") else { continue };
            let mut model = description.build(1).unwrap();
            let cost = model.cost();
            cost.competitive_depth(cost.mean_distance(), cost.capacity / 2);
            let mut now = Instant(0);
            for &(start, len, think) in &requests {
                let begin = now.plus(think);
                // A small disk is swept in no time; of a large one, some megabytes are enough.
                now = model.serve(begin, Request::read(start, len % (8 << 20)));
                prop_assert!(now >= begin);
                prop_assert!(model.serve(now, Request::write(start, len % 65536)) >= now);
            }
        }
    }

    /// The same for devices that are made of devices: refused, or every request completes.
    #[test]
    fn any_composition_is_refused_or_served(
        n in proptest::collection::vec(number(), 4),
        (members, stripe, endpoints) in (0usize..5, any::<u64>(), any::<u32>()),
        requests in proptest::collection::vec((any::<u64>(), any::<u64>(), 0u64..1_000_000), 1..10),
        scheduler in prop_oneof![Just("none"), Just("elevator"), Just("anticipatory"), Just("deadline"), Just("cfq")],
    ) {
        let names = ["ssd", "ibm-10k", "object-store", "ssd"][..members.min(4)].to_vec();
        let array = format!("[model.array]\nmembers = {names:?}\nstripe_kib = {}\n", stripe >> 1 >> (stripe % 64));
        let attached = format!(
            "[model.attached]\ndevice = 'ssd'\nnetwork = {{ latency_us = {:?}, overhead_us = {:?}, gap_us = {:?}, gbit_s = {:?}, endpoints = {} }}\n",
            n[0], n[1], n[2], n[3], endpoints % 100,
        );
        for model in [array, attached] {
            let text = format!("name = \"x\"\nabout = \"\"\n{model}");
            let Ok(description) = Description::parse(&text, "any") else { continue };
            let mut queue = description.queue(1, &scheduler.parse().unwrap()).unwrap();
            let cost = queue.cost();
            cost.competitive_depth(cost.mean_distance(), cost.capacity / 2);
            let mut at = Instant(0);
            for (id, &(start, len, gap)) in requests.iter().enumerate() {
                at = at.plus(gap);
                queue.submit(at, id as u64, Request::read(start, len % (8 << 20)));
            }
            let mut served = 0;
            while let Some(at) = queue.next_completion() {
                served += usize::from(queue.complete(at).is_some());
            }
            prop_assert_eq!(served, requests.len());
        }
    }
}
