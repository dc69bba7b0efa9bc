//! From a URI to a store: `s3://bucket/prefix`, `gs://bucket/prefix`, `az://container/prefix`,
//! `http(s)://host/path`.
//!
//! Credentials come from the environment, under each provider's usual names (`AWS_ACCESS_KEY_ID`,
//! `GOOGLE_APPLICATION_CREDENTIALS`, `AZURE_STORAGE_ACCOUNT_NAME`, …), unless
//! [`StoreOptions::settings`] says otherwise. For S3 there are more places (`s3.rs`,
//! `credentials.rs`).

use forebay_core::level::Labels;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::list::PaginatedListStore;
use object_store::{BackoffConfig, Certificate, ClientOptions, ObjectStore, RetryConfig};

use super::Bucket;
use super::answers::{Answers, Dialect};
use super::credentials::Credentials;
use super::listing::Listing;
use super::refusal;
use super::s3;
use super::waits::Waits;
use crate::remote::{About, Limits, Modes, RemoteSource, Shows};
use crate::web::{Login, Token, Web, WebOptions};
use crate::{Error, Result};

/// The schemes that are object stores.
pub const SCHEMES: [&str; 5] = ["s3", "gs", "az", "http", "https"];

/// Options for reaching an object store.
#[derive(Clone)]
pub struct StoreOptions {
    /// The server, if it is not the provider's own: `http://127.0.0.1:7070`. Buckets are then named
    /// in the path.
    pub endpoint: Option<String>,
    /// The region (S3).
    pub region: Option<String>,
    /// The profile of the AWS files whose credentials, region and endpoint count (S3); by default
    /// the one that `AWS_PROFILE` names, and keys of the environment come before it.
    pub profile: Option<String>,
    /// Whether to speak without encryption; by default only if the endpoint's own scheme says so.
    pub allow_http: Option<bool>,
    /// Whether the bucket is named in the host (S3); by default only without an endpoint of one's
    /// own.
    pub virtual_hosted: Option<bool>,
    /// Whether to send no credentials.
    pub anonymous: bool,
    /// More settings, by the names that the `object_store` crate gives them: `aws_access_key_id`,
    /// `google_service_account`, ….
    pub settings: Vec<(String, String)>,
    /// Fetches under way at once.
    pub connections: usize,
    /// How long a connection may stay silent, though no longer than the patience.
    pub silence: Duration,
    /// For how long a request that a reader waits for is repeated while the storage fails.
    pub patience: Duration,
    /// For how long the names that a storage told are believed.
    pub ttl: Duration,
    /// The memory in which they are kept, bytes.
    pub names: usize,
    /// Called with a message if opening a store has to wait for it.
    pub tell: fn(&str),
    /// Modes and owners to show, since stores keep none.
    pub modes: Modes,
    /// The token for web servers; other stores have credentials of their own.
    pub token: Option<Token>,
    /// The login for web servers instead, unless their URL has one.
    pub login: Option<Login>,
    /// A file of certificates in PEM that vouch for the server's, beside those that the system
    /// trusts.
    pub authority: Option<PathBuf>,
    /// How much of the readers' behaviour web servers are told. Servers that are no level of ours
    /// ignore it.
    pub labels: Labels,
}

/// Without the values of the settings, which may be secrets.
impl fmt::Debug for StoreOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let settings: Vec<&str> = self.settings.iter().map(|(key, _)| key.as_str()).collect();
        f.debug_struct("StoreOptions")
            .field("endpoint", &self.endpoint)
            .field("region", &self.region)
            .field("profile", &self.profile)
            .field("anonymous", &self.anonymous)
            .field("settings", &settings)
            .field("token", &self.token)
            .field("login", &self.login)
            .field("authority", &self.authority)
            .field("labels", &self.labels)
            .finish_non_exhaustive()
    }
}

impl Default for StoreOptions {
    fn default() -> Self {
        StoreOptions {
            endpoint: None,
            region: None,
            profile: None,
            allow_http: None,
            virtual_hosted: None,
            anonymous: false,
            settings: Vec::new(),
            connections: 64,
            silence: Duration::from_secs(10),
            patience: Duration::from_secs(30),
            ttl: Duration::from_secs(1),
            names: 32 << 20,
            tell: |line| log::warn!("{line}"),
            modes: Modes::default(),
            token: None,
            login: None,
            authority: None,
            labels: Labels::Hits,
        }
    }
}

/// The words of the `object_store` crate for a container of Azure without its account.
const NO_ACCOUNT: &str = "Account must be specified";

/// A store that was found.
pub(super) struct Found {
    store: Arc<dyn ObjectStore>,
    /// The same store as one that lists page by page.
    pages: Option<Arc<dyn PaginatedListStore>>,
    /// Tells its server from others, where the URI doesn't: endpoint and region.
    server: String,
    /// The server, if it is not the provider's own.
    endpoint: Option<String>,
    waits: Waits,
    /// Whether keys may have control characters.
    pub(super) has_controls: bool,
    /// Credentials that are asked for.
    pub(super) credentials: Option<Credentials>,
}

pub(super) fn open(uri: &str, options: &StoreOptions) -> Result<RemoteSource> {
    let refuse = |reason: &str| Error::Storage { name: uri.to_owned(), reason: reason.to_owned() };
    let (scheme, rest) = uri.split_once("://").ok_or_else(|| refuse("has no scheme"))?;
    let scheme = scheme.to_ascii_lowercase();
    let scheme = scheme.as_str();
    if matches!(scheme, "http" | "https") {
        return web(uri, options);
    }
    let (authority, prefix) = rest.split_once('/').unwrap_or((rest, ""));
    if authority.is_empty() {
        return Err(refuse("names no bucket or host"));
    }
    let base = format!("{scheme}://{authority}");
    let client = client(options, uri)?;
    let shows = if options.anonymous { Shows::NoKeys(others(scheme)) } else { Shows::Keys(others(scheme)) };
    let stores = match scheme {
        "s3" => s3::open(&base, options, client),
        "gs" => gs(&base, options, client),
        "az" => az(&base, options, client),
        _ => return Err(refuse("is not an object store")),
    };
    let address = reqwest::Url::parse(&base);
    if scheme != "az" && !address.is_ok_and(|address| address.host_str() == Some(authority)) {
        return Err(refuse(&format!("{authority:?} is the name of no bucket")));
    }
    let Found { store, pages, server, endpoint, waits, has_controls, credentials } =
        stores.map_err(|error| match error {
            generic @ object_store::Error::Generic { .. } => match refusal::last(&generic) {
                words if words == NO_ACCOUNT => refuse("no account is named: set AZURE_STORAGE_ACCOUNT_NAME"),
                words => refuse(&words),
            },
            other => refuse(&other.to_string()),
        })?;
    let prefix = folder(prefix).map_err(|name| match name.is_empty() {
        true => {
            let named: Vec<&str> = rest.split('/').filter(|name| !name.is_empty()).collect();
            let named = named.join("/");
            refuse(&format!("no folder has an empty name between slashes; mount {scheme}://{named} if that is meant"))
        }
        false => refuse(&format!("{name:?} is the name of no folder")),
    })?;
    let name = format!("{scheme}://{authority}/{}", rest[authority.len()..].trim_matches('/'));
    let address = format!("{name}{server}").into();
    let listing = Listing::new(Arc::clone(&store), pages);
    let bucket = Bucket { prefix, listing, store, waits, has_controls, credentials };
    let name = name.trim_end_matches('/').to_owned();
    let about = About { name, address, server: at(endpoint.as_deref()), plain: endpoint, shows };
    RemoteSource::new(Arc::new(bucket), about, options.limits(), options.modes)
}

/// How to give an object store other keys.
fn others(scheme: &str) -> &'static str {
    match scheme {
        "s3" => "set AWS_ACCESS_KEY_ID, or use --profile NAME",
        "gs" => "set GOOGLE_APPLICATION_CREDENTIALS",
        _ => "set AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY",
    }
}

/// The prefix of the keys below a folder of the bucket, without the slash at its end. Else the
/// error is the first name in it that no folder can have.
fn folder(prefix: &str) -> std::result::Result<String, String> {
    let folder = prefix.strip_suffix('/').unwrap_or(prefix);
    let unnamed = |name: &str| matches!(name, "" | "." | "..") || name.contains('\0');
    match folder.split('/').find(|name| unnamed(name)) {
        Some(_) if folder.is_empty() && prefix.is_empty() => Ok(String::new()),
        Some(name) => Err(name.to_owned()),
        None => Ok(folder.to_owned()),
    }
}

/// A server, for messages behind the name of a source.
fn at(endpoint: Option<&str>) -> String {
    endpoint.map(|endpoint| format!(" at {endpoint}")).unwrap_or_default()
}

pub(super) fn both<S: ObjectStore + PaginatedListStore>(
    store: S,
    waits: Waits,
    endpoint: Option<&str>,
    region: Option<&str>,
) -> Found {
    let store = Arc::new(store);
    let endpoint = endpoint.map(|endpoint| endpoint.trim_end_matches('/').to_owned());
    let about = at(endpoint.as_deref());
    let server = region.map_or_else(|| about.clone(), |region| format!("{about} in {region}"));
    Found {
        store: Arc::clone(&store) as Arc<dyn ObjectStore>,
        pages: Some(store),
        server,
        endpoint,
        waits,
        has_controls: false,
        credentials: None,
    }
}

fn gs(base: &str, options: &StoreOptions, client: ClientOptions) -> object_store::Result<Found> {
    let answers = Answers::new(Dialect::Google);
    let mut builder = GoogleCloudStorageBuilder::from_env()
        .with_http_connector(answers.clone())
        .with_url(base)
        .with_client_options(client)
        .with_retry(once());
    if let Some(endpoint) = &options.endpoint {
        builder = builder.with_base_url(endpoint.trim_end_matches('/'));
    }
    if options.anonymous {
        builder = builder.with_skip_signature(true);
    }
    for (key, value) in &options.settings {
        builder = builder.with_config(key.parse::<GoogleConfigKey>()?, value);
    }
    builder.build().map(|store| both(store, answers.waits, options.endpoint.as_deref(), None))
}

fn az(base: &str, options: &StoreOptions, client: ClientOptions) -> object_store::Result<Found> {
    let answers = Answers::new(Dialect::Azure);
    let mut builder = MicrosoftAzureBuilder::from_env()
        .with_http_connector(answers.clone())
        .with_url(base)
        .with_client_options(client)
        .with_retry(once())
        .with_allow_http(options.plain())
        .with_skip_signature(options.anonymous);
    if let Some(endpoint) = &options.endpoint {
        builder = builder.with_endpoint(endpoint.trim_end_matches('/').to_owned());
    }
    for (key, value) in &options.settings {
        builder = builder.with_config(key.parse::<AzureConfigKey>()?, value);
    }
    let account = builder.get_config_value(&AzureConfigKey::AccountName);
    builder.build().map(|store| both(store, answers.waits, options.endpoint.as_deref(), account.as_deref()))
}

/// A web server is no store of this kind, but is opened the same way.
fn web(uri: &str, options: &StoreOptions) -> Result<RemoteSource> {
    let web = WebOptions {
        token: options.token.clone(),
        login: options.login.clone(),
        authority: options.authority.clone(),
        silence: options.silence.min(options.patience),
        patience: options.patience,
        connections: options.connections,
        labels: options.labels,
    };
    let web = Web::open(uri, &web)?;
    let shows = match options.token {
        Some(_) => Shows::Token,
        None if web.shows_a_secret() => Shows::Login,
        None if web.has_query() => Shows::Query,
        None => Shows::Nothing,
    };
    let (name, address) = (web.describe().to_owned(), Arc::clone(web.identity()));
    let about = About { plain: Some(name.clone()), name, address, server: String::new(), shows };
    RemoteSource::new(Arc::new(web), about, options.limits(), options.modes)
}

impl StoreOptions {
    /// The bounds on a source's resources.
    pub(super) fn limits(&self) -> Limits {
        let StoreOptions { connections, ttl, names, patience, .. } = *self;
        Limits { connections, ttl, names, patience }
    }

    pub(super) fn plain(&self) -> bool {
        self.allow_http.unwrap_or_else(|| self.endpoint.as_deref().is_some_and(|url| url.starts_with("http://")))
    }
}

/// No bound on a whole request, which may be a large range over a slow line: only on silence.
fn client(options: &StoreOptions, uri: &str) -> Result<ClientOptions> {
    let silence = options.silence.min(options.patience);
    let client = ClientOptions::new()
        .with_allow_http(options.plain())
        .with_timeout_disabled()
        .with_read_timeout(silence)
        .with_connect_timeout(silence.min(Duration::from_secs(3)))
        .with_pool_max_idle_per_host(options.connections);
    let Some(file) = &options.authority else { return Ok(client) };
    let refuse = |reason: String| Error::Storage { name: uri.to_owned(), reason };
    let pem = std::fs::read(file).map_err(|error| refuse(format!("{}: {error}", file.display())))?;
    let certificates = Certificate::from_pem_bundle(&pem).unwrap_or_default();
    if certificates.is_empty() {
        return Err(refuse(format!("{} holds no certificate in PEM", file.display())));
    }
    Ok(certificates.into_iter().fold(client, ClientOptions::with_root_certificate))
}

/// One try; `remote/patience.rs` has the rule for more.
pub(super) fn once() -> RetryConfig {
    RetryConfig { backoff: BackoffConfig::default(), max_retries: 0, retry_timeout: Duration::from_secs(180) }
}
