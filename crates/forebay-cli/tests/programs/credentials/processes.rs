//! `credential_process`: it runs when it is needed, one at a time, and again before its credentials
//! end. Its failures become errors in time.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use forebay_testkit::bucket::Bucket;
use forebay_testkit::mounts;
use forebay_testkit::need;

use super::{Home, Store, bucket, is_there};
use crate::{Mount, SetWhenDropped, eventually, text};

/// A home whose default profile runs a process of these lines. The process counts its runs, and
/// leaves a trace if two run at a time.
fn home_with(lines: &str) -> Home {
    let home = Home::new();
    let once = "mkdir running || touch twice; echo run >> runs; sleep 0.1; rmdir running";
    let script = home.script("process", &format!("{once}\n{lines}"));
    home.write(".aws/config", &format!("[default]\ncredential_process = {}\n", text(&script)));
    home
}

/// Lines that print the test server's keys, which expire after that many seconds.
fn printing(seconds: Option<u32>) -> String {
    let settings = Bucket::settings();
    let end = seconds
        .map(|seconds| format!(r#", "Expiration": "'"$(date -u -d "+{seconds} seconds" +%Y-%m-%dT%H:%M:%SZ)"'""#));
    format!(
        r#"echo '{{"Version": 1, "AccessKeyId": "{}", "SecretAccessKey": "{}"{}}}'"#,
        settings[0].1,
        settings[1].1,
        end.unwrap_or_default()
    )
}

fn runs(home: &Home) -> usize {
    home.read("runs").lines().count()
}

#[test]
fn is_run_again_before_its_credentials_end() {
    if !mounts::possible() {
        return;
    }
    let (store, home) = (Store::new(&need!("versitygw")), home_with(&printing(Some(5))));
    let log = home.path("log");
    let mount = store.mount(&home, &["--log-file", text(&log), "--log", "trace"], &[]);
    assert_eq!(runs(&home), 1);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _stops = SetWhenDropped(&stop);
        let readers = [(); 4].map(|()| {
            scope.spawn(|| {
                while !stop.load(Ordering::SeqCst) {
                    is_there(&mount);
                }
            })
        });
        eventually("three more runs", || runs(&home) >= 4);
        stop.store(true, Ordering::SeqCst);
        readers.into_iter().for_each(|reader| reader.join().expect("no reader got an error"));
    });
    assert!(!home.path("twice").exists(), "it ran twice at a time");
    let said = home.read("log");
    assert!(!said.contains("test-secret"), "a secret is in the log");
    assert!(said.lines().count() > 10, "the log is not that of everything");
}

#[test]
fn is_run_once_if_its_credentials_have_no_end() {
    if !mounts::possible() {
        return;
    }
    let (store, home) = (Store::new(&need!("versitygw")), home_with(&printing(None)));
    let mount = store.mount(&home, &[], &[]);
    (0..100).for_each(|_| is_there(&mount));
    assert_eq!(runs(&home), 1);
}

/// Reads go on with the existing credentials; then they wait; and then they go on.
#[test]
fn that_fails_for_a_while_fails_no_read() {
    if !mounts::possible() {
        return;
    }
    let lines = format!("if [ -e broken ]; then echo no luck >&2; exit 3; fi\n{}", printing(Some(6)));
    let (store, home) = (Store::new(&need!("versitygw")), home_with(&lines));
    let log = home.path("log");
    let mount = store.mount(&home, &["--log-file", text(&log)], &[]);
    let begun = Instant::now();
    home.write("broken", "");
    // The process fails before the credentials end. The log says so, and reads succeed.
    eventually("a renewal that fails", || {
        is_there(&mount);
        home.read("log").contains("no luck")
    });
    // After the credentials' end, reads wait.
    std::thread::sleep(Duration::from_secs(8).saturating_sub(begun.elapsed()));
    std::thread::scope(|scope| {
        let readers = [(); 4].map(|()| scope.spawn(|| is_there(&mount)));
        let failed = runs(&home);
        eventually("more tries", || runs(&home) > failed + 1);
        assert!(readers.iter().all(|reader| !reader.is_finished()), "a read had no credentials, and came back");
        fs::remove_file(home.path("broken")).expect("it is there");
        readers.into_iter().for_each(|reader| reader.join().expect("no reader got an error"));
    });
    let said = home.read("log");
    assert!(said.contains("no credentials from profile default") && said.contains("no luck"), "{said}");
    assert!(said.lines().count() < 20, "{said}");
}

#[test]
fn that_goes_on_failing_is_an_error_after_the_patience() {
    if !mounts::possible() {
        return;
    }
    let lines = format!("if [ -e broken ]; then exit 3; fi\n{}", printing(Some(3)));
    let (store, home) = (Store::new(&need!("versitygw")), home_with(&lines));
    let mount = store.mount(&home, &["--patience", "2s"], &[]);
    home.write("broken", "");
    let read = |mount: &Mount| fs::read(mount.path().join("file"));
    eventually("an error", || read(&mount).is_err());
    let begun = Instant::now();
    assert_eq!(read(&mount).expect_err("it is broken").raw_os_error(), Some(libc::EIO));
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    fs::remove_file(home.path("broken")).expect("it is there");
    is_there(&mount);
}

/// Neither the process nor its children are left behind.
#[test]
fn that_hangs_is_killed_with_what_it_started() {
    if !mounts::possible() {
        return;
    }
    let home = home_with("echo $$ >> ids; sleep 1000 & echo $! >> ids; wait; sleep 1000");
    let said = home.refusal(&[&bucket(), "--patience", "1s"], &[]);
    assert!(said.contains("no credentials from profile default within 1 s"), "{said}");
    let ids = home.read("ids");
    assert_eq!(ids.lines().count(), 2, "{ids}");
    for id in ids.lines().map(|id| id.parse().expect("a number")) {
        eventually("its end", || !forebay_testkit::process::runs(id));
    }
}

#[test]
fn that_is_of_no_use_is_said_at_the_start() {
    if !mounts::possible() {
        return;
    }
    let over = r#"echo '{"Version": 1, "AccessKeyId": "a", "SecretAccessKey": "hidden", "Expiration": "2020-01-01T00:00:00Z"}'"#;
    for (lines, parts) in [
        ("echo 'please log in' >&2; exit 7", &["profile default", "7", "please log in"][..]),
        ("echo '{\"AccessKeyId\": \"a\", \"SecretAccessKey\": \"hidden\"'", &["profile default", "JSON"]),
        ("echo '{\"Version\": 1, \"AccessKeyId\": \"a\"}'", &["profile default", "SecretAccessKey"]),
        ("exec sleep 5", &["profile default", "within 1 s"]),
        (over, &["ended", "clock"]),
    ] {
        let home = home_with(lines);
        let begun = Instant::now();
        let said = home.refusal(&[&bucket(), "--patience", "1s"], &[]);
        assert!(begun.elapsed() < Duration::from_secs(20), "{lines}: {:?}", begun.elapsed());
        for part in parts {
            assert!(said.contains(part), "{part:?} is not in {said}");
        }
        assert!(!said.contains("hidden"), "{said}");
        assert_eq!(runs(&home), 1, "{lines}");
    }
    let home = Home::new();
    home.write(".aws/config", "[default]\ncredential_process = /no/such/program\n");
    let said = home.refusal(&[&bucket()], &[]);
    assert!(said.contains("/no/such/program"), "{said}");
}
