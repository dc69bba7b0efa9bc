//! How to reach sources that are no folders: the options of every command that reads from object
//! stores and web servers.

use std::fmt;
use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use forebay_core::level::Labels;
use forebay_source::object::StoreOptions;
use forebay_source::web::{Login, LoginError, Token, TokenError};

use crate::period::Period;

/// The options for object stores and web servers.
#[derive(Clone, Debug, Args)]
pub(crate) struct Stores {
    /// The URL of the object store, if not its provider's usual one
    #[arg(long, value_name = "URL")]
    pub(crate) endpoint: Option<String>,

    /// The region of the object store
    #[arg(long, value_name = "NAME")]
    pub(crate) region: Option<String>,

    /// The profile of the AWS files for s3:// sources
    ///
    /// It overrides keys in the environment. Example: `--profile work`
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<String>,

    /// Send requests to object stores without a signature
    ///
    /// This suits public buckets. Forebay then looks for no credentials. Example:
    /// `--no-sign-request`
    #[arg(long)]
    pub(crate) no_sign_request: bool,

    /// A file with the token for web servers
    ///
    /// It is a bearer token, as `forebay serve` wants one. Only the web servers among the sources
    /// get it. Example: `--source-token-file token`
    #[arg(long, value_name = "FILE")]
    pub(crate) source_token_file: Option<PathBuf>,

    /// A file with a user and a password for web servers, USER:PASSWORD
    ///
    /// It is for web servers whose URL does not have them. Example: `--source-password-file login`
    #[arg(long, value_name = "FILE", conflicts_with = "source_token_file")]
    pub(crate) source_password_file: Option<PathBuf>,

    /// A file of certificates in PEM that vouch for servers
    ///
    /// They are trusted beside the system's own. Example: `--source-ca ca.pem`
    #[arg(long, value_name = "FILE")]
    pub(crate) source_ca: Option<PathBuf>,

    /// How long to retry requests to a failing or silent store
    ///
    /// After that the readers get an error. It holds for object stores and web servers, also at the
    /// start: Forebay waits for a store that is busy (429, 503) or silent. It reports a wrong
    /// address or a refusal at once. Example: `--patience 5s`
    #[arg(long, value_name = "TIME", default_value = "30s")]
    pub(crate) patience: Period,

    /// The labels of readers that web servers get with requests
    ///
    /// `forebay serve` looks ahead by them; other servers ignore them. Example: `--source-labels
    /// off`
    #[arg(long, default_value = "hits", value_parser = labels())]
    pub(crate) source_labels: Labels,

    /// Settings of a program that has Forebay in its process.
    #[arg(skip)]
    pub(crate) settings: Settings,
}

/// Settings of a store by the names of the `object_store` crate. Their values may be secrets, so
/// they are not shown.
#[derive(Clone, Default)]
pub(crate) struct Settings(pub(crate) Vec<(String, String)>);

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

/// A level's labels by their names.
pub(crate) fn labels() -> impl TypedValueParser<Value = Labels> {
    PossibleValuesParser::new(Labels::ALL.map(Labels::name)).try_map(|name| name.parse::<Labels>())
}

impl Stores {
    /// The options in the library's terms. Fails if a file with a secret cannot be read.
    pub(crate) fn options(&self) -> Result<StoreOptions, SecretError> {
        Ok(StoreOptions {
            endpoint: self.endpoint.clone(),
            region: self.region.clone(),
            profile: self.profile.clone(),
            anonymous: self.no_sign_request,
            token: self.source_token_file.as_deref().map(Token::of_file).transpose()?,
            login: self.source_password_file.as_deref().map(Login::of_file).transpose()?,
            authority: self.source_ca.clone(),
            labels: self.source_labels,
            settings: self.settings.0.clone(),
            patience: self.patience.duration(),
            tell: crate::output::tell,
            ..StoreOptions::default()
        })
    }
}

/// A secret could not be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SecretError {
    /// The token.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// The user and password.
    #[error(transparent)]
    Login(#[from] LoginError),
}
