//! The control channel: the same answers at a socket, at an address, and beside the files of a
//! server; none for pages of other sites.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use forebay_core::{DeviceCost, DeviceId};
use forebay_live::engine::{Config, Engine};
use forebay_live::tree::{ADDRESS_XATTR, Branch, NodeId, Tree};
use forebay_serve::{At, CONTROL, Control, Options, StartError, Token};
use forebay_source::Source;
use forebay_testkit::need;

use crate::{Answer, ask, curl, forgetful, local, parse, raw, serve, tree};

const SECRET: &str = "a-token-of-no-worth";

/// A folder with a file of 100 blocks, and files with the names of the channel's answers.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), vec![7; 100 * 4096]).unwrap();
    for name in ["metrics", "stats", "explain", "hint"] {
        fs::write(folder.path().join(name), "a file").unwrap();
    }
    fs::create_dir_all(folder.path().join(".well-known/forebay")).unwrap();
    fs::write(folder.path().join(".well-known/forebay/other"), "a file").unwrap();
    folder
}

fn at_address(tree: &Arc<Tree>, options: Options) -> Result<Control, StartError> {
    Control::start(Arc::clone(tree), &At::Address(([127, 0, 0, 1], 0).into()), options)
}

/// A request to a control channel, without token.
fn asked(control: &Control, line: &str, headers: &str) -> Answer {
    let request = format!("{line} HTTP/1.1\r\nConnection: close\r\n{headers}\r\n");
    match control.at() {
        At::Address(address) => parse(&raw(*address, request.as_bytes())),
        At::Socket(path) => {
            let mut stream = UnixStream::connect(path).unwrap();
            stream.write_all(request.as_bytes()).unwrap();
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer).unwrap();
            parse(&answer)
        }
    }
}

fn read(tree: &Arc<Tree>, name: &str) {
    let node = tree.lookup(NodeId::ROOT, name.as_ref()).unwrap().node;
    let file = tree.open(node).unwrap();
    let mut bytes = vec![0; file.size() as usize];
    file.read(1, 0, &mut bytes).unwrap();
}

/// The samples of an answer in the text form: name with labels, value.
fn samples(text: &str) -> BTreeMap<&str, f64> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| line.rsplit_once(' ')).map(|(name, value)| (name, value.parse().unwrap())).collect()
}

#[test]
fn one_table_answers_everywhere() {
    let folder = folder();
    let tree = tree(vec![(None, local(folder.path()))]);
    let socket = At::Socket(folder.path().join("socket"));
    let controls = [
        Control::start(Arc::clone(&tree), &socket, Options::control()).unwrap(),
        at_address(&tree, Options::control()).unwrap(),
    ];
    let server = serve(folder.path(), forgetful());
    for (name, kind, holds) in [
        ("", "text/html", "<!doctype html>"),
        ("metrics", "text/plain; version=0.0.4", "forebay_memory_bytes "),
        ("stats", "application/json", "\"memory_bytes\""),
        ("explain", "application/json", "\"streams\""),
        ("hint", "application/json", "\"lists\""),
    ] {
        let there = |answer: Answer, what: &str| {
            assert_eq!(answer.status, 200, "{name} {what}");
            assert!(answer.header("content-type").unwrap().starts_with(kind), "{name} {what}: {}", answer.head);
            assert!(answer.text().contains(holds), "{name} {what}: {}", answer.text());
            assert_eq!(answer.header("cache-control"), Some("no-store"), "{name} {what}");
            assert_eq!(answer.header("cross-origin-resource-policy"), Some("same-origin"));
            assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        };
        for control in &controls {
            there(asked(control, &format!("GET /{name}"), "Host: localhost\r\n"), "at the root");
            there(asked(control, &format!("GET {CONTROL}{name}"), "Host: localhost\r\n"), "in its folder");
            let head = asked(control, &format!("HEAD /{name}"), "Host: localhost\r\n");
            assert!(head.status == 200 && head.body.is_empty(), "{name}");
            let put = asked(control, &format!("PUT /{name}"), "Host: localhost\r\n");
            assert!(put.status == 405 && put.header("allow").unwrap().contains("GET"), "{}", put.head);
        }
        there(ask(&server, &format!("GET {CONTROL}{name}"), ""), "beside files");
        if !name.is_empty() {
            assert_eq!(ask(&server, &format!("GET /{name}"), "").text(), "a file", "no file loses its name");
        }
    }
    assert_eq!(ask(&server, &format!("GET {CONTROL}other"), "").text(), "a file");
    assert_eq!(asked(&controls[1], "GET /file", "Host: localhost\r\n").status, 404, "no file is served");
    let At::Address(address) = controls[1].at() else { unreachable!() };
    let published = tree.xattr(NodeId::ROOT, ADDRESS_XATTR.as_ref()).unwrap();
    assert_eq!(String::from_utf8(published).unwrap(), format!("http://{address}/"));
}

#[test]
fn pages_of_other_sites_get_nothing() {
    let folder = folder();
    let tree = tree(vec![(None, local(folder.path()))]);
    let control = at_address(&tree, Options::control()).unwrap();
    let socket = At::Socket(folder.path().join("socket"));
    let socket = Control::start(Arc::clone(&tree), &socket, Options::control()).unwrap();
    let server = serve(folder.path(), forgetful());
    let guarded = Options { token: Some(Token::new(SECRET).unwrap()), ..Options::control() };
    let guarded = at_address(&tree, guarded).unwrap();
    for name in ["", "metrics", "stats", "explain", "hint"] {
        let get = format!("GET {CONTROL}{name}");
        assert_eq!(asked(&control, &get, "Host: rebound.example\r\n").status, 421, "{name}");
        assert_eq!(ask(&server, &get, "Host: rebound.example\r\n").status, 400, "{name}: two hosts");
        let foreign = "Host: localhost\r\nOrigin: http://evil.example\r\n";
        assert_eq!(asked(&control, &get, foreign).status, 403, "{name}");
        assert_eq!(asked(&socket, &get, foreign).status, 403, "{name}");
        assert_eq!(asked(&socket, &get, "Host: m\r\n").status, 200, "{name}: no browser comes here");
        assert_eq!(asked(&guarded, &get, "Host: any.example\r\n").status, 401, "{name}");
        let shown = format!("Host: any.example\r\nAuthorization: Bearer {SECRET}\r\n");
        assert_eq!(asked(&guarded, &get, &shown).status, 200, "{name}: a token makes up for a name");
    }
    for line in ["GET /file", "HEAD /file", "GET /", "PROPFIND /", "OPTIONS *", "GET /nothing", "PUT /file"] {
        let rebound = raw(server.address(), called(line, "rebound.example").as_bytes());
        let answer = parse(&rebound);
        assert_eq!((answer.status, answer.header("etag")), (421, None), "{line}");
        assert!(!answer.text().contains("metrics"), "no name of a file: {}", answer.text());
    }
    let tell = "Host: localhost\r\nOrigin: http://localhost\r\nContent-Length: 0\r\n";
    assert_eq!(asked(&control, "POST /hint", tell).status, 403);
    assert!(tree.told().is_empty());
    let open = Control::start(Arc::clone(&tree), &At::Address(([0, 0, 0, 0], 0).into()), Options::control());
    let error = open.err().unwrap().to_string();
    assert!(error.contains("0.0.0.0:0 can be reached from elsewhere: a token is needed"), "{error}");
}

/// A request that calls the server by a name.
fn called(line: &str, name: &str) -> String {
    format!("{line} HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\n\r\n")
}

/// The name of a proxy in front is one that the server is given. A token makes up for any.
#[test]
fn a_server_answers_to_the_names_that_it_is_given() {
    let folder = folder();
    let names = vec!["data.example".parse().unwrap()];
    let named = serve(folder.path(), Options { names: names.clone(), ..forgetful() });
    let control = Options { names, ..Options::control() };
    let control = at_address(&tree(vec![(None, local(folder.path()))]), control).unwrap();
    let guarded = serve(folder.path(), Options { token: Some(Token::new(SECRET).unwrap()), ..forgetful() });
    for (name, status) in [
        ("data.example", 200),
        ("Data.Example:7600", 200),
        ("127.0.0.1", 200),
        ("localhost:1", 200),
        ("[::1]:80", 200),
        ("other.example", 421),
        ("a.data.example", 421),
    ] {
        for line in ["GET /file", "GET /.well-known/forebay/stats"] {
            assert_eq!(parse(&raw(named.address(), called(line, name).as_bytes())).status, status, "{line} {name}");
        }
        assert_eq!(asked(&control, "GET /stats", &format!("Host: {name}\r\n")).status, status, "{name}");
        let request = called("GET /file", &format!("{name}\r\nAuthorization: Bearer {SECRET}"));
        assert_eq!(parse(&raw(guarded.address(), request.as_bytes())).status, 200, "{name}");
    }
}

/// Counters are those of the engine, and every form is what Prometheus' own tool accepts.
#[test]
fn metrics_are_the_engines_counters() {
    let folder = folder();
    let source = || local(folder.path());
    let tree = tree(vec![(Some("a"), source()), (Some("b \"quoted\\\""), source())]);
    let control = at_address(&tree, Options::control()).unwrap();
    let node = tree.lookup(NodeId::ROOT, "a".as_ref()).unwrap().node;
    let node = tree.lookup(node, "file".as_ref()).unwrap().node;
    let file = tree.open(node).unwrap();
    let mut bytes = vec![0; 100 * 4096];
    // Twice: what was fetched is hit.
    for _ in 0..2 {
        assert_eq!(file.read(1, 0, &mut bytes).unwrap(), bytes.len());
    }
    let answer = asked(&control, "GET /metrics", "Host: localhost\r\n");
    let text = answer.text();
    let samples = samples(&text);
    let stats: serde_json::Value = serde_json::from_str(&tree.stats()).unwrap();
    let device = &stats["devices"][0];
    for (name, counter) in [
        ("forebay_cache_hits_total{device=\"a\"}", "hits"),
        ("forebay_cache_misses_total{device=\"a\"}", "misses"),
        ("forebay_cache_joined_total{device=\"a\"}", "joined"),
        ("forebay_prefetched_blocks_total{device=\"a\",outcome=\"used\"}", "used"),
        ("forebay_prefetched_blocks_total{device=\"a\",outcome=\"late\"}", "late"),
        ("forebay_prefetched_blocks_total{device=\"a\",outcome=\"wasted\"}", "wasted"),
    ] {
        assert_eq!(samples[name], device[counter].as_f64().unwrap(), "{name}");
    }
    let reasons = |name: &str| {
        ["demand", "prefetch", "hint"]
            .iter()
            .map(|reason| samples[&*format!("{name}{{device=\"a\",reason=\"{reason}\"}}")])
            .sum::<f64>()
    };
    assert_eq!(reasons("forebay_source_requests_total"), device["fetches"].as_f64().unwrap());
    assert_eq!(reasons("forebay_source_read_bytes_total"), 100.0 * 4096.0);
    assert_eq!(
        samples["forebay_source_request_duration_seconds_count{device=\"a\"}"],
        device["fetches"].as_f64().unwrap()
    );
    assert_eq!(samples["forebay_read_bytes_total"], 200.0 * 4096.0);
    assert_eq!(
        (samples["forebay_open_files"], samples["forebay_cache_hits_total{device=\"b \\\"quoted\\\\\\\"\"}"]),
        (1.0, 0.0)
    );
    assert!(samples["process_resident_memory_bytes"] > 1e6 && samples["process_open_fds"] > 3.0);
    assert!(samples["process_start_time_seconds"] > 1.6e9);
    let open =
        asked(&control, "GET /metrics", "Host: localhost\r\nAccept: application/openmetrics-text; version=1.0.0\r\n");
    assert!(open.header("content-type").unwrap().starts_with("application/openmetrics-text; version=1.0.0"));
    assert!(open.text().ends_with("# EOF\n"), "{}", open.text());
    for text in [&text, &open.text()] {
        let buckets = text.lines().filter(|line| line.starts_with("forebay_read_duration_seconds_bucket{le=\""));
        let bounds: Vec<&str> = buckets.filter_map(|line| line.split('"').nth(1)).collect();
        assert_eq!((bounds.len(), bounds[0], *bounds.last().unwrap()), (18, "0.0001", "+Inf"), "{bounds:?}");
    }
    accepted(&need!("promtool"), &text);
}

#[test]
fn hits_are_not_timed() {
    let folder = folder();
    let tree = tree(vec![(None, local(folder.path()))]);
    let control = at_address(&tree, Options::control()).unwrap();
    let figures = || {
        let text = asked(&control, "GET /metrics", "Host: localhost\r\n").text();
        let samples = samples(&text);
        ["forebay_read_duration_seconds_count", "forebay_open_files"].map(|name| samples[name])
    };
    let node = tree.lookup(NodeId::ROOT, "file".as_ref()).unwrap().node;
    let file = tree.open(node).unwrap();
    file.read(1, 0, &mut vec![0; 100 * 4096]).unwrap();
    let [waits, open] = figures();
    assert!(waits >= 1.0 && open == 1.0, "the first read has waited: {waits}, {open}");
    // Within a block, and over several.
    for byte in 0..90 {
        file.read(1, byte, &mut [0; 7]).unwrap();
        file.read(1, byte * 4096, &mut [0; 3 * 4096]).unwrap();
    }
    drop(file);
    assert_eq!(figures(), [waits, 0.0]);
}

fn accepted(promtool: &Path, text: &str) {
    let mut child = Command::new(promtool);
    child.args(["check", "metrics"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = child.spawn().unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    assert!(output.status.success() && said.is_empty(), "{}", String::from_utf8_lossy(&said));
}

/// However many devices there are, and however much is open and read: a scrape is so long and no
/// longer.
#[test]
fn a_scrape_is_bounded() {
    let folder = folder();
    for number in 0..300 {
        fs::write(folder.path().join(format!("f{number}")), "bytes").unwrap();
    }
    let lines = |tree: &Arc<Tree>| {
        let control = at_address(tree, Options::control()).unwrap();
        let text = asked(&control, "GET /metrics", "Host: localhost\r\n").text();
        assert!(!text.contains(&folder.path().display().to_string()), "no path unless it is wanted");
        (text.lines().count(), text)
    };
    let one = tree(vec![(None, local(folder.path()))]);
    let (before, text) = lines(&one);
    assert!(text.contains("device=\"source\""), "{text}");
    (0..300).for_each(|number| read(&one, &format!("f{number}")));
    assert_eq!(lines(&one).0, before);

    let source: Arc<dyn Source> = local(folder.path());
    let devices = |count: u16| {
        let policy = "competitive".parse().expect("a policy that exists");
        let costs = vec![DeviceCost::flat(100_000, 1 << 30, 8); count.into()];
        let engine = Engine::start(Config::new(128 << 20, policy), costs).unwrap();
        let branch = |number: u16| Branch {
            name: Some(format!("d{number}").into()),
            source: Arc::clone(&source),
            device: DeviceId(number),
        };
        Arc::new(Tree::new(engine, (0..count).map(branch).collect()).unwrap())
    };
    let (few, _) = lines(&devices(65));
    let (many, text) = lines(&devices(10_000));
    assert_eq!(many, few, "64 devices have labels, and the others one");
    assert!(text.contains("device=\"d63\"") && text.contains("device=\"others\"") && !text.contains("\"d64\""));
    assert!(many < 4_000 && text.len() < 400_000, "{many} lines, {} bytes", text.len());

    let paths = at_address(&one, Options { metrics_paths: true, ..Options::control() }).unwrap();
    let text = asked(&paths, "GET /metrics", "Host: localhost\r\n").text();
    assert!(text.contains(&format!("device=\"{}\"", folder.path().display())), "{text}");
}

/// Names that differ only in bytes that are no text have labels of their own.
#[test]
fn labels_differ() {
    use std::os::unix::ffi::OsStringExt;
    let folder = folder();
    let costs = vec![DeviceCost::flat(100_000, 1 << 30, 8); 3];
    let engine = Engine::start(Config::new(64 << 20, "competitive".parse().unwrap()), costs).unwrap();
    let names = [vec![0xfe], vec![0xff], b"others".to_vec()];
    let branch = |(number, name): (usize, &Vec<u8>)| Branch {
        name: Some(std::ffi::OsString::from_vec(name.clone())),
        source: local(folder.path()),
        device: DeviceId(number as u16),
    };
    let tree = Arc::new(Tree::new(engine, names.iter().enumerate().map(branch).collect()).unwrap());
    let control = at_address(&tree, Options::control()).unwrap();
    let text = asked(&control, "GET /metrics", "Host: localhost\r\n").text();
    for label in ["\u{fffd}", "\u{fffd} (2)", "others (2)"] {
        assert_eq!(text.matches(&format!("forebay_cache_hits_total{{device=\"{label}\"}}")).count(), 1, "{text}");
    }
    accepted(&need!("promtool"), &text);
}

/// A control channel at an address is encrypted and guarded as a server is.
#[test]
fn an_address_has_token_and_encryption() {
    use forebay_testkit::certificate::Certificate;
    let folder = folder();
    let Certificate { certificate, key } = Certificate::make(folder.path()).unwrap();
    let tls = Some(forebay_serve::Tls::read(&certificate, &key).unwrap());
    let tree = tree(vec![(None, local(folder.path()))]);
    let options = Options { tls, token: Some(Token::new(SECRET).unwrap()), ..Options::control() };
    let control = at_address(&tree, options).unwrap();
    let url = String::from_utf8(tree.xattr(NodeId::ROOT, ADDRESS_XATTR.as_ref()).unwrap()).unwrap();
    assert!(url.starts_with("https://127.0.0.1:"), "{url}");
    let (trusted, bearer) = (certificate.to_str().unwrap(), format!("Authorization: Bearer {SECRET}"));
    assert_eq!(curl(&["--cacert", trusted, &url]).status, 401);
    assert_eq!(curl(&["--cacert", trusted, "--header", &bearer, &url]).status, 200);
    assert!(control.stop());
}
