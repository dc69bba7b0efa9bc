//! Profiles of stores and web servers: what is measured when a mount starts, and under which name
//! it is kept.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use forebay_live::profiler::{self, Target, quick};
use forebay_source::object::StoreOptions;
use forebay_source::{RemoteSource, Source};
use forebay_testkit::files::Files;
use forebay_testkit::odd_web::{Methods, OddWeb, Oddity};
use forebay_testkit::s3::S3;
use forebay_testkit::trees::content;

/// What is far less than the patience, and more than any machine takes.
const SOON: Duration = Duration::from_secs(10);

fn opened(url: &str) -> RemoteSource {
    let options = StoreOptions { ttl: Duration::from_secs(600), ..StoreOptions::default() };
    RemoteSource::open_uri(url, &options).unwrap()
}

/// Files of which those called `bad…` come first, and are as `oddity` says.
fn served(bad: usize, good: usize, oddity: &Oddity) -> OddWeb {
    let names = (0..bad).map(|n| format!("bad-{n}")).chain((0..good).map(|n| format!("good-{n}")));
    let files: Vec<(String, Vec<u8>)> = names.map(|name| (name, content(3, 2 << 20))).collect();
    let server = OddWeb::start(files.into_iter().collect::<Files>(), Oddity::Plain).unwrap();
    (0..bad).for_each(|n| server.set_at(format!("bad-{n}"), oddity.clone()));
    server
}

#[test]
fn a_bad_file_costs_no_start_and_another_one_is_measured() {
    for oddity in [Oddity::Silent(Methods::All), Oddity::Silent(Methods::Get), Oddity::Refused(403), Oddity::NotHttp] {
        let (server, began) = (served(1, 3, &oddity), Instant::now());
        let source = opened(&server.url());
        source.check().unwrap();
        let source: Arc<dyn Source> = Arc::new(source);
        let profile = quick(&Target::Source(Arc::clone(&source)));
        assert!(began.elapsed() < SOON, "{oddity:?}: {:?}", began.elapsed());
        assert!(profile.is_ok(), "{oddity:?}: {profile:?}");
        assert_eq!(source.list(Path::new("")).unwrap().len(), 4, "{oddity:?}");
        assert_eq!(source.stat(Path::new("good-1")).unwrap().size, 2 << 20, "{oddity:?}");
    }
}

#[test]
fn files_that_are_all_silent_cost_a_start_a_moment() {
    let (server, began) = (served(20, 0, &Oddity::Silent(Methods::All)), Instant::now());
    let source = opened(&server.url());
    source.check().unwrap();
    assert!(quick(&Target::Source(Arc::new(source))).is_err());
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
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
