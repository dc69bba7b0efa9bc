//! S3 and stores that speak like it. Settings of the library and of the command line come before
//! the environment, and the environment before the profile of the AWS files.

use std::sync::Arc;

use object_store::ClientOptions;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey as Key};

use super::answers::{Answers, Dialect};
use super::credentials::{Chain, Credentials, Profile};
use super::open::{Found, StoreOptions, both, once};

/// The region of a bucket if none is given, as the `object_store` crate has it.
const REGION: &str = "us-east-1";

/// Settings that say where credentials come from.
const OWN: [Key; 7] = [
    Key::AccessKeyId,
    Key::SecretAccessKey,
    Key::MetadataEndpoint,
    Key::ContainerCredentialsRelativeUri,
    Key::ContainerCredentialsFullUri,
    Key::WebIdentityTokenFile,
    Key::RoleArn,
];

pub(super) fn open(base: &str, options: &StoreOptions, client: ClientOptions) -> object_store::Result<Found> {
    let answers = Answers::new(Dialect::S3);
    let builder = AmazonS3Builder::from_env().with_http_connector(answers.clone());
    // A file that is not understood is an error only if credentials come from it: see `Chain`.
    let profile = Profile::read(options.profile.as_deref()).ok();
    let options = &completed(options, &builder, profile.as_ref());
    let mut builder =
        builder.with_url(base).with_client_options(client).with_retry(once()).with_allow_http(options.plain());
    // Spoken to over a custom endpoint, most servers know no bucket in the host.
    if let Some(virtual_hosted) = options.virtual_hosted {
        builder = builder.with_virtual_hosted_style_request(virtual_hosted);
    }
    if let Some(endpoint) = &options.endpoint {
        let endpoint = endpoint.trim_end_matches('/');
        builder = builder.with_endpoint(endpoint);
        // The environment's endpoint for S3 alone would come before it.
        if builder.get_config_value(&Key::S3Endpoint).is_some() {
            builder = builder.with_config(Key::S3Endpoint, endpoint);
        }
    }
    if let Some(region) = &options.region {
        builder = builder.with_region(region);
    }
    if options.anonymous {
        builder = builder.with_skip_signature(true);
    }
    for (key, value) in &options.settings {
        builder = builder.with_config(key.parse::<Key>()?, value);
    }
    for endpoint in [Key::Endpoint, Key::S3Endpoint].iter().filter_map(|key| builder.get_config_value(key)) {
        checked(&endpoint)?;
    }
    let region = builder.get_config_value(&Key::Region);
    let credentials = match lacks_keys(&builder, options) {
        true => Some(credentials(base, options, region.as_deref())?),
        false => None,
    };
    if let Some(credentials) = &credentials {
        builder = builder.with_credentials(Arc::new(credentials.clone()));
    }
    let store = builder.build()?;
    answers.signer.tell(store.credentials());
    let mut found = both(store, answers.waits, options.endpoint.as_deref(), region.as_deref());
    found.credentials = credentials;
    found.has_controls = true;
    Ok(found)
}

/// Refuses an endpoint that is no URL of a server. The client would notice when it signs a request,
/// and panic.
fn checked(endpoint: &str) -> object_store::Result<()> {
    let shown = endpoint.rsplit('@').next().unwrap_or_default();
    let url = reqwest::Url::parse(endpoint).ok();
    let url = url.filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    let reason = match url {
        // S3 signs requests; a user and a password would never be sent, but be shown in messages.
        _ if endpoint.contains('@') => {
            format!("the endpoint …{shown} has a user: keys of S3 come from AWS_ACCESS_KEY_ID, a profile, or the like")
        }
        Some(_) => return Ok(()),
        None => {
            format!("the endpoint '{shown}' is no URL: it has to begin with http:// or https:// and to name a server")
        }
    };
    Err(object_store::Error::Generic { store: "S3", source: reason.into() })
}

/// The options with endpoint and region from the environment, else from the profile.
fn completed(options: &StoreOptions, builder: &AmazonS3Builder, profile: Option<&Profile>) -> StoreOptions {
    let set = |key| builder.get_config_value(&key);
    let endpoint = options.endpoint.clone().or_else(|| set(Key::S3Endpoint)).or_else(|| set(Key::Endpoint));
    let endpoint = endpoint.or_else(|| profile.and_then(Profile::endpoint));
    let region = options.region.clone().or_else(|| set(Key::Region));
    let region = region.or_else(|| profile.and_then(Profile::region).map(str::to_owned));
    StoreOptions { endpoint, region, ..options.clone() }
}

/// Whether options, settings, environment or profile give a region.
pub(super) fn region_is_said(options: &StoreOptions) -> bool {
    let is_region = |(key, _): &(String, String)| key.parse().is_ok_and(|key: Key| key == Key::Region);
    let builder = AmazonS3Builder::from_env();
    let profile = Profile::read(options.profile.as_deref()).ok();
    options.settings.iter().any(is_region) || completed(options, &builder, profile.as_ref()).region.is_some()
}

/// Whether requests need credentials that no setting gives. A profile that the options name comes
/// before keys of the environment, but not before keys of the settings.
fn lacks_keys(builder: &AmazonS3Builder, options: &StoreOptions) -> bool {
    let is_own = |(key, _): &(String, String)| key.parse().is_ok_and(|key: Key| OWN.contains(&key));
    let has = |key| builder.get_config_value(&key).is_some_and(|value| !value.is_empty());
    let unsigned = builder.get_config_value(&Key::SkipSignature).is_some_and(|value| is_yes(&value));
    let keys = has(Key::AccessKeyId) || has(Key::SecretAccessKey);
    !unsigned && !options.settings.iter().any(is_own) && (options.profile.is_some() || !keys)
}

fn credentials(base: &str, options: &StoreOptions, region: Option<&str>) -> object_store::Result<Credentials> {
    let chain = Chain::new(options, region.unwrap_or(REGION).to_owned());
    let chain = chain.map_err(|reason| object_store::Error::Generic { store: "S3", source: reason.into() })?;
    Ok(Credentials::new(base, chain))
}

/// The forms of yes that the `object_store` crate knows.
fn is_yes(value: &str) -> bool {
    ["1", "true", "on", "yes", "y"].iter().any(|yes| value.eq_ignore_ascii_case(yes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_in_an_endpoint_is_refused_and_not_shown() {
        for endpoint in ["http://joe:hunter2@127.0.0.1:1", "joe:hunter2@127.0.0.1", "https://joe@s3.example.com/"] {
            let error = checked(endpoint).unwrap_err().to_string();
            assert!(error.contains("has a user") && !error.contains("joe") && !error.contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn an_endpoint_is_a_url_of_a_server() {
        for good in ["http://127.0.0.1:7070", "https://s3.example.com/", "http://[::1]:80"] {
            checked(good).unwrap();
        }
        for bad in ["127.0.0.1:7070", "localhost:7070", "http://", "http://127.0.0.1:99999", "", "ftp://host"] {
            let endpoint = Some(bad.to_owned());
            let options = StoreOptions { endpoint, anonymous: true, ..StoreOptions::default() };
            let error = open("s3://bucket", &options, ClientOptions::new()).err().expect(bad);
            assert!(error.to_string().contains("has to begin with http://"), "{bad}: {error}");
        }
    }
}
