//! Profiles of the AWS files, and the settings that override them.

use std::fs;
use std::net::TcpListener;
use std::time::{Duration, Instant};

use forebay_testkit::breaking::Fault;
use forebay_testkit::cloud::Cloud;
use forebay_testkit::mounts;
use forebay_testkit::need;
use forebay_testkit::s3::S3;

use super::{Home, Open, Store, bucket, is_there, keys, keys_of};
use crate::text;

/// A process that leaves a trace when it runs, as the profile of this name.
fn trap(home: &Home, name: &str) -> String {
    let script = home.script("trap", "touch sprung; exit 1");
    format!("[{name}]\ncredential_process = {}\n", text(&script))
}

#[test]
fn of_the_usual_files_and_of_others() {
    if !mounts::possible() {
        return;
    }
    let store = Store::new(&need!("versitygw"));
    let home = Home::new();
    let wrong = "aws_access_key_id = nobody\naws_secret_access_key = wrong\n";
    home.write(".aws/credentials", &format!("[default]\n{}\n[other]\n{wrong}", keys()));
    is_there(&store.mount(&home, &[], &[]));
    home.write(".aws/credentials", &format!("[default]\n{wrong}\n[other]\n{}", keys()));
    is_there(&store.mount(&home, &[], &[("AWS_PROFILE", "other")]));
    is_there(&store.mount(&home, &["--profile", "other"], &[]));
    is_there(&store.mount(&home, &["--profile", "other"], &[("AWS_PROFILE", "default")]));
    is_there(&store.mount(&home, &[], &[("FOREBAY_PROFILE", "other")]));
    home.write(".aws/credentials", &format!("[default]\n{wrong}"));
    home.write("elsewhere/keys", &format!("[default]\n{}", keys()));
    is_there(&store.mount(&home, &[], &[("AWS_SHARED_CREDENTIALS_FILE", text(&home.path("elsewhere/keys")))]));
    home.write("elsewhere/config", &format!("[profile other]\n{}", keys()));
    let config = home.path("elsewhere/config");
    is_there(&store.mount(&home, &["--profile", "other"], &[("AWS_CONFIG_FILE", text(&config))]));
    assert_eq!(keys_of(store.proxy.requests()), ["test-access"], "no profile but the chosen one was used");
}

/// Region and endpoint are the profile's, unless another setting overrides them.
#[test]
fn region_and_endpoint() {
    if !mounts::possible() {
        return;
    }
    let (store, home) = (Store::new(&need!("versitygw")), Home::new());
    let endpoint = store.proxy.url();
    home.write(".aws/credentials", &format!("[p]\n{}", keys()));
    home.write(".aws/config", &format!("[profile p]\nregion = us-east-1\nendpoint_url = {endpoint}\n"));
    is_there(&home.mount(&[&bucket(), "--profile", "p"], &[]));
    // For S3 alone, in its own section, which comes before the one for all services.
    let services = format!("[services local]\ns3 =\n  endpoint_url = {endpoint}\n");
    let profile = "[profile p]\nregion = us-east-1\nservices = local\nendpoint_url = http://127.0.0.1:1\n";
    home.write(".aws/config", &format!("{profile}{services}"));
    is_there(&home.mount(&[&bucket(), "--profile", "p"], &[]));
    let signed_for = |region: &str| {
        let all = store.proxy.requests().all();
        let last = all.last().and_then(|request| request.header("authorization")).unwrap_or_default().to_owned();
        assert!(last.contains(&format!("/{region}/s3/")), "{region}: {last}");
    };
    signed_for("us-east-1");
    // The server is in another region and says so. The requests name the region that they are for.
    home.write(".aws/config", &format!("[profile p]\nregion = eu-north-1\nendpoint_url = {endpoint}\n"));
    home.refusal(&[&bucket(), "--profile", "p"], &[]);
    signed_for("eu-north-1");
    is_there(&home.mount(&[&bucket(), "--profile", "p", "--region", "us-east-1"], &[]));
    is_there(&home.mount(&[&bucket(), "--profile", "p"], &[("AWS_REGION", "us-east-1")]));
    home.write(".aws/config", "[profile p]\nregion = us-east-1\nendpoint_url = http://127.0.0.1:1\n");
    is_there(&home.mount(&[&bucket(), "--profile", "p", "--endpoint", &endpoint], &[]));
    is_there(&home.mount(&[&bucket(), "--profile", "p"], &[("AWS_ENDPOINT_URL", &endpoint)]));
    let elsewhere = ("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:1");
    is_there(&home.mount(&[&bucket(), "--profile", "p", "--endpoint", &endpoint], &[elsewhere]));
    let said = home.refusal(&[&bucket(), "--profile", "p"], &[]);
    assert!(said.contains("at http://127.0.0.1:1: "), "{said}");
}

/// With keys in the environment, no process runs, and no metadata service is asked.
#[test]
fn keys_of_the_environment_come_first_and_start_nothing() {
    if !mounts::possible() {
        return;
    }
    let (store, home) = (Store::new(&need!("versitygw")), Home::new());
    let cloud = Cloud::start(Duration::from_secs(3600)).expect("a cloud");
    home.write(".aws/config", &(trap(&home, "default") + &trap(&home, "profile p")));
    let settings = S3::settings();
    let settings: Vec<_> = settings.iter().map(|(name, value)| (name.to_uppercase(), value)).collect();
    let mut variables: Vec<(&str, &str)> = settings.iter().map(|(name, value)| (&**name, &***value)).collect();
    let (url, container) = (cloud.url(), format!("{}/container", cloud.url()));
    variables.extend([
        ("AWS_EC2_METADATA_DISABLED", "false"),
        ("AWS_EC2_METADATA_SERVICE_ENDPOINT", &url),
        ("AWS_CONTAINER_CREDENTIALS_FULL_URI", &container),
    ]);
    is_there(&store.mount(&home, &[], &variables));
    is_there(&store.mount(&home, &[], &[&variables[..], &[("AWS_PROFILE", "p")]].concat()));
    // Unreadable files are no matter either.
    home.write(".aws/config", "[default\nregion");
    is_there(&store.mount(&home, &[], &variables));
    assert!(!home.path("sprung").exists(), "a process was run");
    assert_eq!(cloud.requests().all(), [], "somebody was asked");
    // A profile on the command line comes before a variable.
    home.write(".aws/config", &trap(&home, "profile p"));
    let said = home.refusal(&[&bucket(), "--profile", "p", "--endpoint", &store.proxy.url()], &variables);
    assert!(said.contains("profile p") && home.path("sprung").exists(), "{said}");
}

#[test]
fn a_public_bucket_needs_none() {
    if !mounts::possible() {
        return;
    }
    let (store, home) = (Store::new(&need!("versitygw")), Home::new());
    home.write(".aws/config", &trap(&home, "default"));
    let args = [&bucket(), "--endpoint", &store.proxy.url(), "--region", "us-east-1"];
    let said = home.refusal(&args, &[("AWS_SKIP_SIGNATURE", "true")]);
    assert!(said.contains("permission denied"), "this one is not public: {said}");
    let said = home.refusal(&[&args[..], &["--no-sign-request"]].concat(), &[]);
    assert!(said.contains("permission denied"), "this one is not public: {said}");
    assert_eq!(keys_of(store.proxy.requests()), ["none"]);
    assert!(!home.path("sprung").exists(), "a process was run");
}

/// There is no prompt for a code, so the role is not requested either.
#[test]
fn a_role_that_wants_a_second_factor_is_refused() {
    if !mounts::possible() {
        return;
    }
    let home = Home::new();
    let base = trap(&home, "profile base");
    let role = |name: &str, source: &str, more: &str| {
        format!("[profile {name}]\nrole_arn = arn:aws:iam::1:role/r\nsource_profile = {source}\n{more}")
    };
    let factor = "mfa_serial = arn:aws:iam::1:mfa/me\n";
    let profiles = [base, role("admin", "base", factor), role("over", "admin", ""), role("self", "self", factor)];
    home.write(".aws/config", &profiles.concat());
    for (profile, named) in [("admin", "admin"), ("over", "admin"), ("self", "self")] {
        let said = home.refusal(&[&bucket(), "--profile", profile], &[]);
        assert!(said.contains(&format!("the role of profile {named} wants a code")), "{said}");
        assert!(said.contains("mfa_serial") && said.contains("credential_process"), "{said}");
    }
    assert!(!home.path("sprung").exists(), "a process was run");
}

/// The error names the places that were tried, and comes soon.
#[test]
fn a_machine_without_any_says_where_it_looked() {
    if !mounts::possible() {
        return;
    }
    let home = Home::new();
    // Takes connections and never answers, like the metadata address outside of a cloud.
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let silent = format!("http://{}", silent.local_addr().expect("bound"));
    let metadata = [("AWS_EC2_METADATA_DISABLED", "false"), ("AWS_EC2_METADATA_SERVICE_ENDPOINT", &*silent)];
    let begun = Instant::now();
    let said = home.refusal(&[&bucket()], &metadata);
    // It takes about a second; the bound catches a chain that tries again and again.
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
    let config = home.path(".aws/config");
    for part in [
        "no credentials found",
        "AWS_ACCESS_KEY_ID",
        text(&config),
        "not there",
        "container",
        "instance",
        "--profile",
        "--no-sign-request",
    ] {
        assert!(said.contains(part), "{part:?} is not in {said}");
    }
    home.write(".aws/config", "[default]\nregion = eu-west-1\n");
    let said = home.refusal(&[&bucket()], &[]);
    assert!(said.contains("profile default has none"), "{said}");
    for (args, variables) in [(&["--profile", "absent"][..], &[][..]), (&[], &[("AWS_PROFILE", "absent")])] {
        let said = home.refusal(&[&[&*bucket()], args].concat(), variables);
        assert!(said.contains("no profile absent in ") && said.contains(text(&config)), "{said}");
    }
    fs::write(&config, "[default]\nregion\n").expect("written");
    let said = home.refusal(&[&bucket()], &[]);
    assert!(said.contains(text(&config)) && said.contains("line 2"), "{said}");
}

/// Another program writes new keys into the file, and the server no longer takes the old ones.
#[test]
fn keys_that_the_server_refuses_are_read_anew() {
    if !mounts::possible() {
        return;
    }
    let (store, home) = (Open::new(&need!("moto_server")), Home::new());
    let keys = |key: &str| format!("[default]\naws_access_key_id = {key}\naws_secret_access_key = secret\n");
    home.write(".aws/credentials", &keys("first"));
    let mount = store.mount(&home, &[]);
    is_there(&mount);
    home.write(".aws/credentials", &keys("second"));
    is_there(&mount);
    assert_eq!(keys_of(store.proxy.requests()), ["first"], "nothing is wrong with it");
    // Keys that are refused right after they were read are wrong, and there are no others.
    std::thread::sleep(Duration::from_secs(11));
    store.proxy.set(Fault::First(2, Box::new(Fault::ExpiredToken(403))));
    is_there(&mount);
    assert_eq!(keys_of(store.proxy.requests()), ["first", "second"]);
}
