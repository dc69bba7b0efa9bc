//! The workloads of SCM.

use super::*;

/// SCM §5.2.4: 16 to 128 KB, a request every 33 ms, each stream a file of its own; where in its
/// beat a stream begins is random.
#[test]
fn video() {
    let requests = all("vod", "streams=40,length=50", 1);
    let (mut sizes, mut phases) = (BTreeSet::new(), BTreeSet::new());
    for task in tasks(&requests) {
        assert_eq!(task.len(), 50);
        sizes.insert(task[0].len);
        phases.insert(task[1].at.0 - task[0].at.0);
        for (number, two) in task.windows(2).enumerate() {
            let pause = two[1].at.0 - two[0].at.0;
            assert!(if number == 0 { pause <= 33_000_000 } else { pause == 33_000_000 });
            assert_eq!((two[1].file, two[1].offset), (two[0].file, two[0].offset + u64::from(two[0].len)));
        }
    }
    assert_eq!(sizes.into_iter().collect::<Vec<_>>(), [16 << 10, 32 << 10, 64 << 10, 128 << 10]);
    assert!(phases.len() > 30, "{phases:?}");
}

/// Read page by page, as a kernel does it, a request is the same bytes at the same moment.
#[test]
fn video_page_by_page() {
    let whole = all("vod", "streams=5,length=9", 4);
    let pages = all("vod", "streams=5,length=9,part=4k", 4);
    let mut pages = pages.into_iter();
    for request in whole {
        for offset in (request.offset..request.offset + u64::from(request.len)).step_by(4096) {
            assert_eq!(pages.next(), Some(Request { offset, len: 4096, ..request }));
        }
    }
    assert_eq!(pages.next(), None);
}

/// SCM §5.2.1: 1000 and 3000 requests a second of 4 KB, each from a file of 1 GB.
#[test]
fn regular_rates() {
    let requests = all("rates", "requests=40000", 1);
    let of = |handler| requests.iter().filter(move |request| request.handler == handler);
    assert_eq!((of(1).count(), of(2).count()), (10_000, 30_000));
    for (number, request) in of(2).enumerate() {
        assert_eq!((request.offset, request.len), (number as u64 * 4096, 4096));
        assert!(request.at.0.abs_diff(number as u64 * 1_000_000 / 3) <= 1, "{request:?}");
    }
    let sizes: Vec<_> = named("rates", "", 1).unwrap().files().iter().map(|file| file.bytes).collect();
    assert_eq!(sizes, [Some(1 << 30); 2]);
    // Who comes to the end of the file begins anew.
    let again = all("rates", "requests=10,streams=1,bytes=20k,request=8k", 1);
    let offsets: Vec<u64> = again.iter().map(|request| request.offset / 8192).collect();
    assert_eq!(offsets, [0, 1, 0, 1, 0, 1, 0, 1, 0, 1]);
}

/// The mean and the deviation of requests in a slot are those that were asked for, below the mean
/// and far above it.
#[test]
fn irregular_rates() {
    for (rate, deviation, slot_ms) in [("1000", "1", 1), ("1000", "7", 1), ("2000", "4.5", 10), ("2000", "60", 10)] {
        let given = format!("requests=600000,rate={rate},others={rate},deviations={deviation},slot={slot_ms}");
        let requests = all("rates", &given, 2);
        let irregular: Vec<u64> = requests
            .iter()
            .filter(|request| request.handler == 2)
            .map(|request| request.at.0 / 1_000_000 / slot_ms)
            .collect();
        // The last slot is cut off.
        let mut counts = vec![0.0; *irregular.last().unwrap() as usize];
        irregular.iter().for_each(|&slot| {
            if let Some(count) = counts.get_mut(slot as usize) {
                *count += 1.0
            }
        });
        let mean = counts.iter().sum::<f64>() / counts.len() as f64;
        let variance = counts.iter().map(|count| (count - mean) * (count - mean)).sum::<f64>() / counts.len() as f64;
        let wanted = rate.parse::<f64>().unwrap() / 1000.0 * slot_ms as f64;
        assert!((mean / wanted - 1.0).abs() < 0.05, "{rate}, {deviation}: {mean} in a slot");
        // To be a whole number adds up to a quarter.
        let wanted = deviation.parse::<f64>().unwrap();
        assert!((variance.sqrt() / wanted - 1.0).abs() < 0.15, "{rate}, {deviation}: deviation {}", variance.sqrt());
    }
}

/// SCM §5.2.2: files of 128 MB, one after the other; who waits for nothing has its bandwidth.
#[test]
fn copies() {
    let parameters = "fast=60000000,slow=4000000,slowest=250000,seconds=4";
    let requests = all("copies", parameters, 1);
    let tasks = tasks(&requests);
    assert_eq!(tasks.len(), 8);
    let rate = |task: &[Request]| {
        let bytes: u64 = task.iter().map(|request| u64::from(request.len)).sum();
        bytes as f64 / (task.last().unwrap().at.0 - task[0].at.0) as f64 * 1e9
    };
    let rates: Vec<f64> = tasks.iter().map(|task| rate(task)).collect();
    assert!((rates[0] / 6e7 - 1.0).abs() < 0.01 && (rates[1] / 4e6 - 1.0).abs() < 0.01, "{rates:?}");
    assert!((rates[7] / 250e3 - 1.0).abs() < 0.01 && rates.is_sorted_by(|one, next| one > next), "{rates:?}");
    let files: BTreeSet<u64> = tasks[0].iter().map(|request| request.file).collect();
    assert_eq!(files.len(), 2, "240 MB");
    assert!(tasks[0].windows(2).all(|two| two[1].offset == 0 || two[1].offset == two[0].offset + 4096));
    assert!(named("copies", parameters, 1).unwrap().files().iter().all(|file| file.bytes == Some(128 << 20)));
}

/// SCM §5.2.3: twenty downloads from five sites, four each; "faster clients download larger files,
/// so that all download requests have close execution time".
#[test]
fn downloads() {
    let requests = all("downloads", "seconds=2", 1);
    let tasks = tasks(&requests);
    assert_eq!(tasks.len(), 20);
    let bytes = |task: &[Request]| task.iter().map(|request| u64::from(request.len)).sum::<u64>();
    for (number, task) in tasks.iter().enumerate() {
        assert!(task.iter().all(|request| request.file == number as u64));
        let seconds = (task.last().unwrap().at.0 - task[0].at.0) as f64 / 1e9;
        assert!((seconds - 2.0).abs() < 0.02, "{seconds}");
        assert_eq!(bytes(task), bytes(tasks[number % 5]), "client {number}");
    }
    assert_eq!((bytes(tasks[0]), bytes(tasks[2]), bytes(tasks[4])), (16_000_000, 4_000_000, 1_000_000));
}

/// SCM §5.2.4: "composed of mostly random accesses".
#[test]
fn queries() {
    let requests = all("tpch", "tasks=3,length=4000,bytes=1G", 1);
    assert_eq!(tasks(&requests).iter().map(|task| task.len()).collect::<Vec<_>>(), [4000; 3]);
    let goes_on = |two: &[Request]| two[1].file == two[0].file && two[1].offset == two[0].offset + 8192;
    let share = requests.windows(2).filter(|two| goes_on(two)).count() as f64 / requests.len() as f64;
    assert!((share - 0.1).abs() < 0.015, "{share}");
}

#[test]
fn what_makes_no_sense_for_scm() {
    let error = |name: &str, given: &str| named(name, given, 1).unwrap_err().to_string();
    assert!(error("rates", "others=0").contains("requests a second"));
    assert!(error("rates", "slot=0").contains("a millisecond at least"));
    assert!(error("rates", "deviations=1e9").contains("1000 times the mean"));
    assert!(error("rates", "request=2G").contains("no more than a file"));
    assert!(error("rates", "streams=9999999").contains("at most 2^20"));
    assert!(error("copies", "bytes=1").contains("at most 2^24 files"));
    assert!(error("tpch", "files=4000000000").contains("has a page"));
}

/// The blocks that a request touches.
fn blocks(request: &Request) -> u64 {
    (request.offset + u64::from(request.len) - 1) / 4096 - request.offset / 4096 + 1
}

#[test]
fn applications_run_at_the_same_time_in_the_proportions_of_how_they_compute() {
    let share = |requests: &[Request], handler: u32| {
        requests.iter().filter(|request| request.handler == handler).count() as f64 / requests.len() as f64
    };
    let three = all("multi-3", "requests=50000", 1);
    assert!((share(&three, 1) - 0.2).abs() < 0.01 && (share(&three, 2) - 0.8).abs() < 0.01);
    let two = all("multi-2", "requests=50000", 1);
    // 100 µs, 1 ms and 400 µs: 10 : 1 : 2.5.
    assert!((share(&two, 1) - 0.74).abs() < 0.01 && (share(&two, 2) - 0.074).abs() < 0.005);
    assert_eq!(share(&all("multi-1", "requests=5000", 1), 3), 0.0);
    // They take turns: no tenth of the trace lacks one of them.
    assert!(two.chunks(5000).all(|part| (1..=3).all(|handler| share(part, handler) > 0.05)));
}

#[test]
fn a_database_is_mostly_random_and_some_records_cross_a_border() {
    let requests = all("multi-3", "requests=100000", 3);
    let database: Vec<&Request> = requests.iter().filter(|request| request.handler == 2).collect();
    let goes_on =
        |pair: &&[&Request]| pair[0].file == pair[1].file && pair[0].offset + u64::from(pair[0].len) == pair[1].offset;
    let sequential = database.windows(2).filter(goes_on).count() as f64 / database.len() as f64;
    assert!((0.05..0.2).contains(&sequential), "{sequential}");
    let records: Vec<u64> =
        database.iter().filter(|request| request.len < 4096).map(|request| blocks(request)).collect();
    let two = records.iter().filter(|&&blocks| blocks == 2).count() as f64 / records.len() as f64;
    // 512 · (1 to 8) bytes at any sector: (n − 1) / 8 of those of n sectors, of which all but n = 8
    // are counted here.
    assert!((two - 3.0 / 8.0).abs() < 0.02 && records.iter().all(|&blocks| blocks <= 2), "{two}");
}

#[test]
fn cscope_reads_its_index_again_and_again_and_gcc_favours_some_headers() {
    let requests = all("multi-1", "requests=20000,scale=0.02", 1);
    let begins = requests.iter().filter(|request| request.file == 0 && request.offset == 0).count();
    assert!(begins > 10, "{begins}");
    let mut often: BTreeMap<u64, u32> = BTreeMap::new();
    requests
        .iter()
        .filter(|request| request.handler == 2)
        .for_each(|request| *often.entry(request.file).or_default() += 1);
    let most = often.values().max().copied().unwrap_or(0);
    let all: u32 = often.values().sum();
    assert!(most * 10 > all && often.len() > 20, "{most} of {all} for {} files", often.len());
}
