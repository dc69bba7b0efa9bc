//! Object stores as sources: a real S3 server for bytes and versions, a store in memory for odd
//! keys.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use crate::fresh;
use crate::{fetch, read_all};
use forebay_source::object::StoreOptions;
use forebay_source::uri::open_source;
use forebay_source::{Error, Fetch, FetchId, Kind, Label, RemoteSource, Segments, Source};
use forebay_testkit::delay::DelayProxy;
use forebay_testkit::need;
use forebay_testkit::s3::S3;
use forebay_testkit::trees::content;
use object_store::memory::InMemory;
use object_store::path::Path as Key;
use object_store::{ObjectStore, ObjectStoreExt};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

fn options(endpoint: String) -> StoreOptions {
    StoreOptions { endpoint: Some(endpoint), region: Some("us-east-1".into()), settings: S3::settings(), ..fresh(64) }
}

fn open(uri: &str, endpoint: String) -> RemoteSource {
    let source = RemoteSource::open_uri(uri, &options(endpoint)).unwrap();
    source.check().unwrap();
    source
}

fn names(source: &dyn Source, path: &str) -> BTreeMap<String, Kind> {
    let entries = source.list(Path::new(path)).unwrap();
    let count = entries.len();
    let names: BTreeMap<_, _> =
        entries.into_iter().map(|entry| (entry.name.into_string().unwrap(), entry.kind)).collect();
    assert_eq!(names.len(), count, "a name came twice");
    names
}

#[test]
fn every_object_reads_as_it_was_put() {
    let s3 = S3::start(&need!("versitygw")).unwrap();
    let odd = ["plain", "with space", "per%20cent&+", "ünïcödé 名前", "a=b", "quote\"'", "deep/er/and/deeper", "?q#h"];
    let sizes = [0, 1, 4095, 4096, 4097, 1 << 20, 100, 5_000_001];
    let objects: Vec<_> =
        odd.iter().zip(sizes).enumerate().map(|(i, (key, len))| (key, content(i as u64, len))).collect();
    for (key, bytes) in &objects {
        s3.put(&format!("prefix/{key}"), bytes).unwrap();
    }
    let source = open("s3://bucket/prefix/", s3.endpoint());
    for (key, bytes) in &objects {
        let stat = source.stat(Path::new(key)).unwrap();
        assert_eq!((stat.kind, stat.size, stat.mode), (Kind::File, bytes.len() as u64, libc::S_IFREG | 0o444), "{key}");
        assert!(stat.version().tag.is_some());
        let object = source.open(Path::new(key)).unwrap();
        assert_eq!(*object.identity(), stat.identity, "{key}");
        assert!(read_all(&source, Path::new(key)).unwrap() == *bytes, "{key}");
    }
    let root = names(&source, "");
    assert_eq!(root.len(), odd.len());
    assert_eq!((root["deep"], root["with space"]), (Kind::Folder, Kind::File));
    assert_eq!(names(&source, "deep/er/and"), BTreeMap::from([("deeper".into(), Kind::File)]));
    assert_eq!(source.stat(Path::new("deep/er")).unwrap().kind, Kind::Folder);
    assert_eq!(source.stat(Path::new("")).unwrap().kind, Kind::Folder);
    for missing in ["nothing", "deep/nothing", "plain/below", "dee"] {
        assert_eq!(source.stat(Path::new(missing)).unwrap_err().errno(), libc::ENOENT, "{missing}");
        assert_eq!(source.list(Path::new(missing)).unwrap_err().errno(), libc::ENOENT, "{missing}");
    }
    assert_eq!(source.list(Path::new("plain")).unwrap_err().errno(), libc::ENOTDIR);
}

#[test]
fn random_ranges_many_at_once_read_as_they_are() {
    const SEED: u64 = 5;
    println!("seed {SEED}");
    let s3 = S3::start(&need!("versitygw")).unwrap();
    let bytes = content(SEED, 6_000_007);
    s3.put("object", &bytes).unwrap();
    let options = StoreOptions { connections: 4, ..options(s3.endpoint()) };
    let source = RemoteSource::open_uri("s3://bucket", &options).unwrap();
    let object = source.open(Path::new("object")).unwrap();
    let mut random = StdRng::seed_from_u64(SEED);
    let (send, receive) = channel();
    for i in 0..100 {
        let offset = random.random_range(0..bytes.len() / 4096) * 4096;
        let len = random.random_range(1..500_000).min(bytes.len() - offset);
        let (send, want) = (send.clone(), bytes[offset..offset + len].to_vec());
        let done = Box::new(move |buffer: Segments, outcome: forebay_source::Result<()>| {
            outcome.unwrap();
            assert!(buffer.to_vec()[..want.len()] == want[..]);
            send.send(()).unwrap();
        });
        object.fetch(Fetch {
            id: FetchId::unique(),
            offset: offset as u64,
            buffer: Segments::own(len),
            len,
            urgent: i % 3 == 0,
            label: Label::default(),
            done,
        });
    }
    drop((send, object, source));
    assert_eq!(receive.iter().count(), 100, "fetches outlive their source");
}

/// The first fetch has the only connection, and keeps it until it is let go.
#[test]
fn what_waits_for_a_connection_can_be_called_off() {
    let store = Arc::new(InMemory::new());
    let bytes = content(9, 400_000);
    crate::block_on(store.put(&Key::from("object"), bytes.clone().into())).unwrap();
    let source = RemoteSource::of_store("memory", store, None, Key::ROOT, &fresh(1)).unwrap();
    let object = source.open(Path::new("object")).unwrap();
    let names = [0; 7].map(|_| FetchId::unique());
    let (send, receive) = channel();
    let (let_go, gone) = channel::<()>();
    let mut gone = Some(gone);
    for (i, &id) in names.iter().enumerate() {
        let (send, gone, want) = (send.clone(), gone.take(), bytes[i * 40_960..][..40_960].to_vec());
        let done = Box::new(move |buffer: Segments, outcome: forebay_source::Result<()>| {
            assert!(outcome.is_err() || buffer.to_vec()[..want.len()] == want[..]);
            send.send((i, outcome)).unwrap();
            let _ = gone.map(|gone| gone.recv());
        });
        let (offset, buffer) = (i as u64 * 40_960, Segments::own(40_960));
        object.fetch(Fetch { id, offset, buffer, len: 40_960, urgent: i == 4, label: Label::default(), done });
    }
    drop(send);
    let (first, outcome) = receive.recv().unwrap();
    assert!(first == 0 && outcome.is_ok());
    for i in [0, 2, 4, 5, 2] {
        object.call_off(names[i]);
    }
    object.call_off(FetchId::unique());
    let ended: Vec<_> = receive.try_iter().map(|(i, outcome)| (i, matches!(outcome, Err(Error::CalledOff)))).collect();
    assert_eq!(ended, [(2, true), (4, true), (5, true)]);
    drop(let_go);
    let rest: Vec<_> = receive.iter().map(|(i, outcome)| (i, outcome.is_ok())).collect();
    assert_eq!(rest, [(1, true), (3, true), (6, true)]);
}

#[test]
fn a_changed_object_is_stale_and_never_mixed() {
    let s3 = S3::start(&need!("versitygw")).unwrap();
    let source = open("s3://bucket", s3.endpoint());
    let path = Path::new("object");
    let mut version = None;
    for (change, bytes) in [("first", 100_000), ("same size", 100_000), ("shorter", 10), ("longer", 300_000)] {
        let before = version.is_some().then(|| source.open(path).unwrap());
        s3.put("object", &content(bytes as u64 + u64::from(before.is_some()), bytes)).unwrap();
        if let Some(before) = before {
            let outcome = fetch(&*before, 0, before.version().size as usize);
            assert!(matches!(outcome, Err(Error::Stale(_))), "{change}: {:?}", outcome.err());
        }
        let now = source.open(path).unwrap().version().clone();
        assert_ne!(Some(&now), version.as_ref(), "{change}");
        version = Some(now);
    }
    let object = source.open(path).unwrap();
    s3.delete("object").unwrap();
    assert!(matches!(fetch(&*object, 0, 10), Err(Error::Stale(_))), "deleted");
    assert_eq!(source.open(path).err().map(|error| error.errno()), Some(libc::ENOENT));
}

/// The error of `check` or of opening, which must be one line and come soon.
fn refusal(arg: &str, options: &StoreOptions) -> String {
    let begun = Instant::now();
    let error = open_source(OsStr::new(arg), options).err().unwrap_or_else(|| panic!("{arg} opens")).to_string();
    println!("{error}");
    assert!(!error.contains('\n') && error.len() < 200, "{error}");
    // Not a matter of speed: the bound is five seconds, against minutes of retries.
    assert!(begun.elapsed() < Duration::from_secs(20), "{error}: after {:?}", begun.elapsed());
    error
}

#[test]
fn what_cannot_be_used_says_so_at_once() {
    let s3 = S3::start(&need!("versitygw")).unwrap();
    let good = options(s3.endpoint());
    let missing = refusal("s3://no-such-bucket/x", &good);
    assert!(missing.starts_with("s3://no-such-bucket/x") && missing.contains("not found"), "{missing}");
    let prefix = refusal("s3://bucket/no/such/prefix", &good);
    assert!(
        prefix.starts_with("s3://bucket/no/such/prefix (check the name") && prefix.contains("not found"),
        "{prefix}"
    );

    let mut bad = good.clone();
    bad.settings[1].1 = "wrong-secret".into();
    let denied = refusal("s3://bucket", &bad);
    assert!(denied.contains("the secret key does not fit") && denied.contains("permission denied"), "{denied}");

    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let nobody = refusal("s3://bucket", &options(format!("http://{closed}")));
    assert!(nobody.contains(&closed.to_string()) && nobody.contains("refused"), "{nobody}");

    for (uri, settings) in
        [("gs://bucket/p", vec![]), ("az://container/p", vec![("azure_storage_account_name", "name")])]
    {
        let settings = settings.into_iter().map(|(key, value)| (key.into(), value.into())).collect();
        let options = StoreOptions { anonymous: true, settings, ..options(format!("http://{closed}")) };
        let nobody = refusal(uri, &options);
        assert!(nobody.contains(&closed.to_string()) && nobody.contains("refused"), "{nobody}");
    }

    // Accepts and never answers.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let silence = refusal("s3://bucket", &options(format!("http://{}", silent.local_addr().unwrap())));
    assert!(silence.contains("no answer"), "{silence}");

    let unknown = StoreOptions { settings: vec![("no_such_setting".into(), "x".into())], ..good.clone() };
    assert!(refusal("s3://bucket", &unknown).contains("no_such_setting"));
    assert!(refusal("s3://", &good).contains("bucket"));
    assert!(refusal("/no/such/folder", &good).contains("/no/such/folder: not found"));

    let (name, source) = open_source(OsStr::new("cold=s3://bucket"), &good).unwrap();
    assert_eq!((name.as_deref(), source.describe().as_str()), (Some("cold"), "s3://bucket"));
    assert!(source.list(Path::new("")).unwrap().is_empty());
}

#[test]
fn a_server_that_is_gone_gives_storage_errors_and_comes_back() {
    let s3 = S3::start(&need!("versitygw")).unwrap();
    let bytes = content(9, 200_000);
    s3.put("object", &bytes).unwrap();
    let proxy = DelayProxy::start(s3.address(), Duration::from_millis(1)).unwrap();
    let source = open("s3://bucket", proxy.endpoint());
    let object = source.open(Path::new("object")).unwrap();
    assert!(fetch(&*object, 0, 200_000).unwrap() == bytes);
    assert!(proxy.answers() > 0, "the proxy is in the way");
    proxy.set_delay(Duration::from_millis(60));
    let begun = Instant::now();
    assert!(fetch(&*object, 0, 200_000).unwrap() == bytes);
    assert!(begun.elapsed() >= Duration::from_millis(60), "an answer came before its time");
    proxy.set_down(true);
    let gone = fetch(&*object, 0, 200_000).unwrap_err();
    assert!(matches!(gone, Error::GivenUp { .. }), "{gone}");
    let gone = source.stat(Path::new("object")).unwrap_err();
    assert!(matches!(gone, Error::GivenUp { .. }), "{gone}");
    proxy.set_down(false);
    assert!(fetch(&*object, 0, 200_000).unwrap() == bytes);
    assert!(source.stat(Path::new("object")).is_ok());
}

#[test]
fn a_listing_of_several_pages_is_whole() {
    let s3 = S3::start(&need!("versitygw")).unwrap();
    std::fs::create_dir_all(s3.folder().join("many/folder")).unwrap();
    for i in 0..2_500 {
        std::fs::write(s3.folder().join(format!("many/name-{i}")), "x").unwrap();
    }
    std::fs::write(s3.folder().join("many/folder/inside"), "x").unwrap();
    let names = names(&open("s3://bucket", s3.endpoint()), "many");
    assert_eq!(names.len(), 2_501);
    assert_eq!((names["name-2499"], names["folder"]), (Kind::File, Kind::Folder));
}

#[test]
fn messages_and_logs_tell_no_secrets() {
    let options = StoreOptions { settings: S3::settings(), ..Default::default() };
    assert!(!format!("{options:?}").contains("test-secret"), "{options:?}");
    let source = RemoteSource::open_uri("http://user:pass@127.0.0.1:1/a/b/", &StoreOptions::default()).unwrap();
    assert_eq!(source.describe(), "http://127.0.0.1:1/a/b");
    assert_eq!(&**source.address(), "http://user@127.0.0.1:1/a/b", "another user may see other files");
}

#[test]
fn a_folder_wins_over_an_object_of_its_name() {
    let store = Arc::new(InMemory::new());
    for key in ["a", "a/b", "c"] {
        crate::block_on(store.put(&Key::from(key), content(1, 10).into())).unwrap();
    }
    let source =
        RemoteSource::of_store("memory", Arc::clone(&store) as Arc<dyn ObjectStore>, None, Key::ROOT, &fresh(8))
            .unwrap();
    source.check().unwrap();
    assert_eq!(names(&source, ""), BTreeMap::from([("a".into(), Kind::Folder), ("c".into(), Kind::File)]));
    assert_eq!(source.stat(Path::new("a")).unwrap().kind, Kind::Folder);
    assert_eq!(source.stat(Path::new("c")).unwrap().kind, Kind::File);
    assert!(read_all(&source, Path::new("a/b")).unwrap() == content(1, 10));
    for path in ["../c", "/c", "a/../c", "a//\u{1}"] {
        assert_eq!(source.stat(Path::new(path)).unwrap_err().errno(), libc::ENOENT, "{path:?}");
    }
}

#[test]
fn a_hundred_thousand_objects_are_listed() {
    let store = Arc::new(InMemory::new());
    crate::block_on(async {
        for i in 0..100_000 {
            store.put(&Key::from(format!("folder/name-{i}")), "x".into()).await.unwrap();
        }
    });
    let source = RemoteSource::of_store("memory", store, None, Key::from("folder"), &fresh(8)).unwrap();
    assert_eq!(source.list(Path::new("")).unwrap().len(), 100_000);
}
