//! Profiles of stores and web servers: what is measured while nobody reads, and under which name it
//! is kept.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use forebay_device::Profile;
use forebay_live::profiler::{self, Store, Target, Unmeasured};
use forebay_source::object::StoreOptions;
use forebay_source::{Fetch, FetchId, Label, RemoteSource, Segments, Source};
use forebay_testkit::files::Files;
use forebay_testkit::odd_web::{OddWeb, Oddity};
use forebay_testkit::s3::S3;
use forebay_testkit::trees::content;

/// A source over one server that is measured while nobody reads, and the folder of its profile.
struct Scene {
    server: OddWeb,
    source: Unmeasured,
    profiles: tempfile::TempDir,
}

impl Scene {
    fn new(oddity: &Oddity) -> Scene {
        let files = [("bad", content(3, 2 << 20)), ("good", content(4, 2 << 20)), ("small", content(5, 1000))];
        let server = OddWeb::start(files.into_iter().collect::<Files>(), Oddity::Plain).unwrap();
        server.set_at("bad", oddity.clone());
        let options = StoreOptions {
            ttl: Duration::from_secs(600),
            patience: Duration::from_millis(300),
            ..StoreOptions::default()
        };
        let source = RemoteSource::open_uri(&server.url(), &options).unwrap();
        let profiles = tempfile::tempdir().unwrap();
        let store = Store::at(profiles.path().to_owned());
        Scene { source: Unmeasured::new(Arc::new(source), "it".into(), Some(store)), server, profiles }
    }

    fn profile(&self) -> Option<Profile> {
        Store::at(self.profiles.path().to_owned()).load("it")
    }

    fn gets(&self) -> usize {
        self.server.requests().all().iter().filter(|request| request.method == "GET").count()
    }

    fn eventually_measured(&self) -> Profile {
        let began = Instant::now();
        loop {
            if let Some(profile) = self.profile() {
                return profile;
            }
            assert!(began.elapsed() < Duration::from_secs(60), "never measured");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

#[test]
fn a_source_is_measured_by_a_file_that_is_large_enough_and_can_be_read() {
    let scene = Scene::new(&Oddity::RangeUntold);
    scene.source.open(Path::new("small")).unwrap();
    scene.source.open(Path::new("bad")).unwrap();
    std::thread::sleep(Duration::from_millis(1800));
    assert_eq!(scene.profile(), None);
    scene.source.open(Path::new("good")).unwrap();
    let profile = scene.eventually_measured();
    profile.check().unwrap();
    let gets = scene.gets();
    std::thread::sleep(Duration::from_millis(1500));
    assert_eq!(scene.gets(), gets, "once");
}

#[test]
fn a_source_is_not_measured_while_a_reader_reads() {
    let scene = Scene::new(&Oddity::Plain);
    let object = scene.source.open(Path::new("good")).unwrap();
    let opened = scene.gets();
    for _ in 0..25 {
        let (sender, outcome) = channel();
        let done = Box::new(move |_, outcome| sender.send(outcome).unwrap());
        let (id, buffer, label) = (FetchId::unique(), Segments::own(4096), Label::all(0..4096));
        object.fetch(Fetch { id, offset: 0, buffer, len: 4096, urgent: true, label, done });
        outcome.recv().unwrap().unwrap();
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!((scene.profile(), scene.gets()), (None, opened + 25), "the reader's requests, and no others");
    scene.eventually_measured();
}

/// A bucket of the same name at another endpoint, or in another region, is another source: profiles
/// are kept by its address.
#[test]
fn an_address_names_endpoint_and_region() {
    let at = |endpoint: &str, region: &str| {
        let (endpoint, region) = (Some(endpoint.to_owned()), Some(region.to_owned()));
        let options = StoreOptions { endpoint, region, settings: S3::settings(), ..Default::default() };
        let source = RemoteSource::open_uri("s3://bucket/prefix", &options).unwrap();
        assert_eq!(source.describe(), "s3://bucket/prefix");
        let target = Target::Source(Arc::new(source));
        profiler::identity(&target).unwrap()
    };
    let address = at("http://127.0.0.1:1", "us-east-1");
    assert_eq!(address, "s3://bucket/prefix at http://127.0.0.1:1 in us-east-1");
    assert_eq!(at("http://127.0.0.1:1/", "us-east-1"), address);
    assert_ne!(at("http://127.0.0.1:2", "us-east-1"), address);
    assert_ne!(at("http://127.0.0.1:1", "eu-west-1"), address);
}
