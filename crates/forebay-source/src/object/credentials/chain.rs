//! The places where AWS programs look for credentials, in their order: profile, web identity,
//! container, instance. The official crate asks each of them. Keys of the environment are settings
//! of the store, and are found before.
//!
//! The crate's own default chain has the same steps. They are walked here because that chain tells
//! neither which step failed, nor why the others have nothing.

use std::time::Duration;

use async_trait::async_trait;
use aws_config::Region;
use aws_config::ecs::EcsCredentialsProvider;
use aws_config::imds::client::error::ImdsError;
use aws_config::imds::credentials::ImdsCredentialsProvider;
use aws_config::profile::ProfileFileCredentialsProvider;
use aws_config::provider_config::ProviderConfig;
use aws_config::retry::RetryConfig;
use aws_config::web_identity_token::WebIdentityTokenCredentialsProvider;
use aws_credential_types::provider::ProvideCredentials;
use aws_credential_types::provider::error::CredentialsError;
use object_store::aws::AwsCredential;
use tokio::time::{Instant, timeout_at};

use super::http::Http;
use super::missing::reason;
use super::process::Mark;
use super::{Given, Giver, Missing, Profile};
use crate::object::StoreOptions;

/// The longest time in which credentials come, if the patience allows so much. A process may have
/// to ask its user.
const SLOWEST: Duration = Duration::from_secs(30);

/// The chain for one source.
pub(in crate::object) struct Chain {
    profile: Option<String>,
    region: Region,
    http: Http,
    limit: Duration,
    /// Marks the processes that it starts.
    mark: Mark,
}

/// One place.
struct Step {
    name: String,
    provider: Box<dyn ProvideCredentials>,
    /// Why it has nothing, when it has nothing.
    lacks: String,
    /// The reason if it does not answer, for a place that answers only inside a cloud.
    silent: Option<&'static str>,
    /// A way out when it fails.
    hint: Option<String>,
}

impl Chain {
    /// The chain by these options. The services that give credentials are asked in this region. An
    /// error if the file of certificates is not understood.
    pub(in crate::object) fn new(options: &StoreOptions, region: String) -> Result<Chain, String> {
        Ok(Chain {
            profile: options.profile.clone(),
            region: Region::new(region),
            http: Http::new(options.authority.as_deref())?,
            limit: options.patience.min(SLOWEST),
            mark: Mark::new(),
        })
    }

    /// The steps, made anew each time: the crate would not read the files again.
    fn steps(&self, profile: &Profile) -> [Step; 4] {
        // Further tries are up to the patience.
        let config = ProviderConfig::without_region()
            .with_region(Some(self.region.clone()))
            .with_http_client(self.http.clone())
            .with_retry_config(RetryConfig::disabled());
        let of_profile = ProfileFileCredentialsProvider::builder().configure(&config).profile_name(profile.name());
        let of_profile = match self.mark.files() {
            Some(files) => of_profile.profile_files(files),
            None => of_profile,
        };
        let of_identity = WebIdentityTokenCredentialsProvider::builder().configure(&config).build();
        let of_container = EcsCredentialsProvider::builder().configure(&config).build();
        let of_instance = ImdsCredentialsProvider::builder().configure(&config).build();
        let login = || format!("`aws sso login --profile {}` may help", profile.name());
        [
            Step {
                hint: profile.is_of_sso().then(login),
                ..Step::new(&format!("profile {}", profile.name()), of_profile.build(), &profile.lacks())
            },
            Step::new("the web identity", of_identity, "no web identity"),
            Step::new("the container", of_container, "no role of a container"),
            Step {
                silent: Some("no instance metadata"),
                ..Step::new("the instance", of_instance, "no role of an instance")
            },
        ]
    }
}

#[async_trait]
impl Giver for Chain {
    async fn give(&self) -> Result<Given, Missing> {
        let profile = Profile::read(self.profile.as_deref())?;
        profile.must_be_there()?;
        profile.must_want_no_factor()?;
        let keys = self.profile.is_none().then(|| "AWS_ACCESS_KEY_ID is not set".to_owned());
        let mut looked: Vec<String> = keys.into_iter().collect();
        let end = Instant::now() + self.limit;
        for step in self.steps(&profile) {
            let answer = timeout_at(end, step.provider.provide_credentials()).await;
            let Ok(answer) = answer else {
                self.mark.end();
                return Err(Missing::Silent { place: step.name, limit: self.limit });
            };
            match answer {
                Ok(credentials) => return Ok(given(&credentials)),
                Err(CredentialsError::CredentialsNotLoaded(_)) => looked.push(step.lacks),
                Err(error) => match step.silent.filter(|_| is_silence(&error)) {
                    Some(silent) => looked.push(silent.to_owned()),
                    None => return Err(step.failed(&error)),
                },
            }
        }
        Err(Missing::Nowhere { looked: looked.join(", ") })
    }
}

impl Step {
    fn new(name: &str, provider: impl ProvideCredentials + 'static, lacks: &str) -> Step {
        Step { name: name.into(), provider: Box::new(provider), lacks: lacks.into(), silent: None, hint: None }
    }

    fn failed(self, error: &CredentialsError) -> Missing {
        let hint = self.hint.map(|hint| format!("; {hint}")).unwrap_or_default();
        Missing::Refused { place: self.name, reason: reason(error) + &hint }
    }
}

fn given(credentials: &aws_credential_types::Credentials) -> Given {
    let credential = AwsCredential {
        key_id: credentials.access_key_id().into(),
        secret_key: credentials.secret_access_key().into(),
        token: credentials.session_token().filter(|token| !token.is_empty()).map(str::to_owned),
    };
    Given { credential, end: credentials.expiry() }
}

/// Whether the instance's service is silent, or another server answers in its place, which has no
/// tokens to give.
fn is_silence(error: &CredentialsError) -> bool {
    let mut cause: Option<&dyn std::error::Error> = Some(error);
    while let Some(error) = cause {
        if let Some(ImdsError::IoError(_) | ImdsError::FailedToLoadToken(_)) = error.downcast_ref() {
            return true;
        }
        cause = error.source();
    }
    false
}
