//! Roles of instances and containers, logins at a portal, and assumed roles. The S3 server here is
//! moto, which takes any keys; the proxy before it records them.

use std::time::{Duration, SystemTime};

use forebay_testkit::breaking::{BreakingProxy, Fault};
use forebay_testkit::cloud::{self, Cloud};
use forebay_testkit::mounts;
use forebay_testkit::need;

use super::{Home, Open, bucket, is_there, keys_of};
use crate::{eventually, text};

fn in_an_hour() -> String {
    cloud::rfc_3339(SystemTime::now() + Duration::from_secs(3600))
}

#[test]
fn an_instance_has_a_role() {
    if !mounts::possible() {
        return;
    }
    let (store, home) = (Open::new(&need!("moto_server")), Home::new());
    let cloud = Cloud::start(Duration::from_secs(5)).expect("a cloud");
    let url = cloud.url();
    let metadata = [("AWS_EC2_METADATA_DISABLED", "false"), ("AWS_EC2_METADATA_SERVICE_ENDPOINT", &*url)];
    let mount = store.mount(&home, &metadata);
    eventually("the third credentials", || {
        is_there(&mount);
        keys_of(store.proxy.requests()).len() >= 3
    });
    assert_eq!(keys_of(store.proxy.requests())[..3], ["instance-1", "instance-2", "instance-3"]);
    assert!(store.sessions().iter().all(|token| token.as_deref() == Some(cloud::SESSION)));
    assert_eq!(cloud.requests().count("PUT", "/latest/api/token"), cloud.given(), "each time by IMDSv2");
    // Metadata services that fail for a while fail no read.
    cloud.set_failing(true);
    let asked = cloud.requests().all().len();
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            while cloud.requests().all().len() < asked + 2 {
                is_there(&mount);
            }
            is_there(&mount);
        });
        eventually("metadata are asked", || cloud.requests().all().len() > asked);
        cloud.set_failing(false);
        reader.join().expect("no reader got an error");
    });
}

#[test]
fn a_container_has_a_role() {
    if !mounts::possible() {
        return;
    }
    let (store, home) = (Open::new(&need!("moto_server")), Home::new());
    let cloud = Cloud::start(Duration::from_secs(3600)).expect("a cloud");
    let uri = format!("{}/container", cloud.url());
    let at = ("AWS_CONTAINER_CREDENTIALS_FULL_URI", &*uri);
    is_there(&store.mount(&home, &[at, ("AWS_CONTAINER_AUTHORIZATION_TOKEN", cloud::CONTAINER_TOKEN)]));
    home.write("token", cloud::CONTAINER_TOKEN);
    let token = home.path("token");
    is_there(&store.mount(&home, &[at, ("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", text(&token))]));
    assert_eq!(keys_of(store.proxy.requests()), ["container-1", "container-2"]);
    // Requests to the machine itself use no proxy.
    let token_file = ("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", text(&token));
    let args = [&*bucket(), "--endpoint", &store.proxy.url()];
    let said = home.refusal(&args, &[at, token_file, ("http_proxy", "http://127.0.0.1:1")]);
    assert!(!said.contains("no credentials") && cloud.given() == 3, "{said}");
    let said = home.refusal(&[&bucket()], &[at, ("AWS_CONTAINER_AUTHORIZATION_TOKEN", "another-token")]);
    assert!(said.contains("no credentials from the container"), "{said}");
    home.write("token", "secret-that-\nis-no-header");
    let said = home.refusal(&[&bucket()], &[at, token_file]);
    assert!(said.contains("container") && !said.contains("secret-that-"), "{said}");
}

/// The file of a login. Its name is the SHA-1 of the portal's address,
/// `https://x.awsapps.com/start`.
const OF_ADDRESS: &str = ".aws/sso/cache/3947de8b16688092197fa616c34e01335f21d256.json";

/// The same for the name of a session, `work`.
const OF_SESSION: &str = ".aws/sso/cache/e274eeff768c6396088ec6eb091f4bf4d47ab1e0.json";

#[test]
fn a_login_at_a_portal() {
    if !mounts::possible() {
        return;
    }
    let (store, home) = (Open::new(&need!("moto_server")), Home::new());
    let cloud = Cloud::start(Duration::from_secs(5)).expect("a cloud");
    let url = cloud.url();
    let profile = "[default]\nsso_start_url = https://x.awsapps.com/start\nsso_region = us-east-1\n\
                   sso_account_id = 123456789012\nsso_role_name = reader\n";
    home.write(".aws/config", profile);
    let portal = [("AWS_ENDPOINT_URL_SSO", &*url)];
    let args = [&*bucket(), "--endpoint", "http://127.0.0.1:1"];
    let said = home.refusal(&args, &portal);
    assert!(said.contains("profile default") && said.contains("aws sso login"), "{said}");
    let login = |token: &str, end: &str| format!(r#"{{"accessToken": "{token}", "expiresAt": "{end}"}}"#);
    home.write(OF_ADDRESS, &login("another", &in_an_hour()));
    let said = home.refusal(&args, &portal);
    assert!(said.contains("not found or invalid") && !said.contains("another"), "{said}");
    home.write(OF_ADDRESS, &login(cloud::LOGIN, &in_an_hour()));
    let mount = store.mount(&home, &portal);
    eventually("the second credentials", || {
        is_there(&mount);
        keys_of(store.proxy.requests()).len() >= 2
    });
    assert_eq!(keys_of(store.proxy.requests())[..2], ["portal-1", "portal-2"]);
    let asked = cloud.requests().all();
    let asked = asked.iter().find(|request| request.path() == "/federation/credentials").expect("it was asked");
    assert!(asked.target.contains("account_id=123456789012") && asked.target.contains("role_name=reader"), "{asked:?}");
}

/// The login of a session is renewed as long as the portal permits.
#[test]
fn a_session_at_a_portal() {
    if !mounts::possible() {
        return;
    }
    let (store, home) = (Open::new(&need!("moto_server")), Home::new());
    let cloud = Cloud::start(Duration::from_secs(3600)).expect("a cloud");
    let url = cloud.url();
    let portal = [("AWS_ENDPOINT_URL_SSO", &*url), ("AWS_ENDPOINT_URL_SSO_OIDC", &*url)];
    let profile = "[default]\nsso_session = work\nsso_account_id = 123456789012\nsso_role_name = reader\n\
                   [sso-session work]\nsso_region = us-east-1\nsso_start_url = https://x.awsapps.com/start\n";
    home.write(".aws/config", profile);
    let ended = r#""accessToken": "old", "expiresAt": "2020-01-01T00:00:00Z""#;
    home.write(OF_SESSION, &format!("{{{ended}}}"));
    let said = home.refusal(&[&bucket()], &portal);
    assert!(said.contains("expired") && said.contains("aws sso login"), "{said}");
    let renewable = format!(
        r#""clientId": "client", "clientSecret": "secret", "refreshToken": "{}", "registrationExpiresAt": "{}""#,
        cloud::REFRESH,
        in_an_hour()
    );
    home.write(OF_SESSION, &format!("{{{ended}, {renewable}}}"));
    is_there(&store.mount(&home, &portal));
    assert_eq!(keys_of(store.proxy.requests()), ["portal-1"]);
    assert!(home.read(OF_SESSION).contains(cloud::LOGIN), "the new login is kept, as the AWS programs keep it");
}

/// Assumed roles, at a stand-in for the real service: moto has STS as well.
#[test]
fn a_role_that_a_profile_or_an_identity_assumes() {
    if !mounts::possible() {
        return;
    }
    let (store, home) = (Open::new(&need!("moto_server")), Home::new());
    let sts = BreakingProxy::start(store.moto.address(), Fault::None).expect("a proxy");
    let url = sts.url();
    let at = ("AWS_ENDPOINT_URL_STS", &*url);
    home.write(".aws/credentials", "[base]\naws_access_key_id = base\naws_secret_access_key = secret\n");
    let arn = "arn:aws:iam::123456789012:role/reader";
    home.write(".aws/config", &format!("[profile reader]\nrole_arn = {arn}\nsource_profile = base\n"));
    is_there(&store.mount(&home, &[at, ("AWS_PROFILE", "reader")]));
    assert_eq!(keys_of(sts.requests()), ["base"]);
    home.write("token", "an.identity.token");
    let token = home.path("token");
    is_there(&store.mount(&home, &[at, ("AWS_WEB_IDENTITY_TOKEN_FILE", text(&token)), ("AWS_ROLE_ARN", arn)]));
    assert_eq!(keys_of(sts.requests()), ["base", "none"]);
    // STS gives keys of its own making.
    let keys = keys_of(store.proxy.requests());
    assert!(keys.len() == 2 && keys.iter().all(|key| key.starts_with("ASIA")), "{keys:?}");
    assert!(store.sessions().iter().all(Option::is_some));
    sts.set(Fault::AccessDenied);
    let said = home.refusal(&[&bucket()], &[at, ("AWS_PROFILE", "reader")]);
    assert!(said.contains("no credentials from profile reader"), "{said}");
}
