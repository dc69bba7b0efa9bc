//! A real Prometheus watches a mount under load, and a server: it scrapes both, every panel of the
//! board has data, and the alerts are well.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use forebay_testkit::process::Running;
use forebay_testkit::prometheus::Prometheus;
use forebay_testkit::{mounts, need};
use serde_json::Value;

use crate::{Mount, SetWhenDropped, eventually, forebay, text};

const SECRET: &str = "0123456789abcdef";

/// Files of a source, 2 MiB each.
const FILES: u64 = 24;

fn contrib(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contrib").join(path).canonicalize().expect("it is there")
}

/// The address of a mount's control channel, `127.0.0.1:PORT`.
pub(crate) fn address(mount: &Mount) -> String {
    let mut value = vec![0; 4096];
    let length = rustix::fs::getxattr(mount.path(), "user.forebay.address", value.as_mut_slice()).expect("it listens");
    let url = String::from_utf8(value[..length].to_vec()).expect("text");
    url.trim_start_matches("http://").trim_end_matches('/').to_owned()
}

/// The configuration that `contrib/` shows, with these targets.
fn configuration(mount: &str, server: &str, token: &Path) -> String {
    let example = fs::read_to_string(contrib("prometheus/prometheus.yml")).expect("readable");
    let rules = contrib("prometheus/forebay.rules.yml");
    let token = format!("authorization: {{ credentials_file: {} }}", text(token));
    for (what, count) in
        [("127.0.0.1:9100", 1), ("127.0.0.1:7680", 1), ("scrape_interval: 15s", 1), ("# authorization: ", 1)]
    {
        assert_eq!(example.matches(what).count(), count, "{what}");
    }
    example
        .replace("127.0.0.1:9100", mount)
        .replace("127.0.0.1:7680", server)
        .replace("scrape_interval: 15s", "scrape_interval: 500ms\n  evaluation_interval: 500ms")
        .replace("- forebay.rules.yml", &format!("- {}", text(&rules)))
        .replace("# authorization: { credentials_file: /etc/forebay/token }", &token)
}

/// The expressions of a board, by panel.
fn panels() -> Vec<(String, String)> {
    let board: Value =
        serde_json::from_str(&fs::read_to_string(contrib("grafana/forebay.json")).expect("readable")).expect("JSON");
    let of_panel = |panel: &Value| {
        let title = panel["title"].as_str().expect("a title").to_owned();
        let targets = panel["targets"].as_array().expect("targets").clone();
        targets.into_iter().map(move |target| {
            let expression = target["expr"].as_str().expect("an expression");
            (title.clone(), expression.replace("$instance", ".*").replace("$__rate_interval", "10s"))
        })
    };
    board["panels"].as_array().expect("panels").iter().flat_map(of_panel).collect()
}

#[test]
fn prometheus_scrapes_and_every_panel_has_data() {
    let (prometheus, promtool) = (need!("prometheus"), need!("promtool"));
    if !mounts::possible() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    for source in ["hot", "cold"] {
        fs::create_dir(folder.path().join(source)).expect("a folder");
        for number in 0..FILES {
            fs::write(folder.path().join(source).join(number.to_string()), vec![7; 2 << 20]).expect("written");
        }
    }
    let token = folder.path().join("token");
    fs::write(&token, SECRET).expect("written");
    let named = |name: &str| format!("{name}={}", text(&folder.path().join(name)));
    let disk = folder.path().join("tier");
    let disk = ["--disk", text(&disk), "--disk-size", "128MiB", "--disk-free", "0"];
    let sources = [&*named("hot"), &named("cold"), "--memory", "48MiB", "--control", "127.0.0.1:0"];
    let mount = Mount::start(&[&sources[..], &disk].concat());
    let server = free().expect("a port");
    let mut serve = forebay(&["serve", text(&folder.path().join("hot")), "--listen", &server, "--memory", "32MiB"]);
    serve.args(["--token-file", text(&token)]).stdout(std::process::Stdio::null());
    let _serving = Running::start(serve).expect("it starts");

    let configuration = configuration(&address(&mount), &server, &token);
    let file = folder.path().join("prometheus.yml");
    fs::write(&file, &configuration).expect("written");
    let checks = ["check config FILE".replace("FILE", text(&file)), "test rules forebay.rules.test.yml".to_owned()];
    for check in checks {
        let checked = Command::new(&promtool).args(check.split(' ')).current_dir(contrib("prometheus")).output();
        let checked = checked.expect("promtool starts");
        assert!(checked.status.success(), "{check}: {}", String::from_utf8_lossy(&checked.stderr));
    }

    let prometheus = Prometheus::start(&prometheus, &configuration).expect("it starts");
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _stops = SetWhenDropped(&stop);
        scope.spawn(|| read_on(mount.path(), &stop));
        eventually("both are up", || prometheus.values("up == 1").is_ok_and(|up| up.len() == 2));
        for (title, expression) in panels() {
            eventually(&format!("{title} has data: {expression}"), || {
                prometheus.values(&expression).expect("an expression").iter().any(|value| value.is_finite())
            });
        }
        eventually("the rules are well", || {
            let rules = prometheus.ask("rules", &[]).expect("an answer");
            let rules = rules["groups"][0]["rules"].as_array().expect("rules").clone();
            assert_eq!(rules.len(), 7);
            assert!(rules.iter().all(|rule| rule["health"] != "err"), "{rules:?}");
            rules.iter().all(|rule| rule["health"] == "ok")
        });
        let firing = prometheus.values("ALERTS{alertstate=\"firing\"}").expect("an expression");
        assert!(firing.is_empty(), "nothing is wrong");
    });
    let counted = mount.counter("hits");
    let hits = "sum(forebay_cache_hits_total{job=\"forebay-mount\"})";
    eventually("the counts are the mount's", || prometheus.values(hits).expect("a value") == [counted as f64]);
}

/// One socket and one address at most, and no address for everybody.
#[test]
fn a_mount_listens_where_it_is_told_to() {
    if !mounts::possible() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join("source")).expect("a folder");
    let source = folder.path().join("source");
    let socket = folder.path().join("socket");
    let both = format!("unix:{},127.0.0.1:0", text(&socket));
    let mount = Mount::start(&[text(&source), "--memory", "32MiB", "--control", &both]);
    let asked = |args: &[&str], url: &str| {
        let curl = Command::new("curl").args(["--silent", "--fail"]).args(args).arg(url).output().expect("curl starts");
        String::from_utf8(curl.stdout).expect("text")
    };
    let metric = "forebay_build_info{";
    assert!(asked(&["--unix-socket", text(&socket)], "http://m/metrics").contains(metric));
    assert!(asked(&[], &format!("http://{}/metrics", address(&mount))).contains(metric));
    let point = forebay_testkit::mounts::MountPoint::new().expect("a folder");
    for (control, said) in [
        ("0.0.0.0:0", "a token is needed"),
        ("off,127.0.0.1:0", "stands alone"),
        ("127.0.0.1:0,[::1]:0", "one socket and one address"),
        ("localhost", "an address with a port"),
        (text(&source), "unix:PATH"),
        (&format!("unix:{}", text(&source)), "is no socket"),
        (&format!("unix:{}", text(&socket)), "another mount listens there"),
    ] {
        let args = ["mount", text(&source), text(point.path()), "--memory", "32MiB", "--control", control];
        let refused = forebay(&args).output().expect("the command starts");
        let words = String::from_utf8_lossy(&refused.stderr);
        assert!(refused.status.code() == Some(2) && words.contains(said), "{control}: {words}");
        assert!(!mounts::is_mounted(point.path()), "{control}");
    }
}

/// An address whose port was free a moment ago.
fn free() -> std::io::Result<String> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    Ok(listener.local_addr()?.to_string())
}

/// Reads all files, again and again: more than memory holds, in an order that no policy foresees.
fn read_on(folder: &Path, stop: &AtomicBool) {
    let mut buffer = vec![0; 64 << 10];
    for nth in 0_u64.. {
        for source in ["hot", "cold"] {
            let file = nth.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
            let file = fs::File::open(folder.join(source).join((file % FILES).to_string())).expect("there");
            for piece in 0..8 {
                let place = nth.wrapping_mul(0xd1b5_4a32_d192_ed03).wrapping_add(piece * 11) % 32;
                file.read_exact_at(&mut buffer, place << 16).expect("readable");
            }
        }
        if stop.load(Ordering::SeqCst) {
            return;
        }
        // Others use this machine, too.
        std::thread::sleep(Duration::from_millis(5));
    }
}
