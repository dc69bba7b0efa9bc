//! How to reach what is not a folder: options of every command that reads from object stores and web servers.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use forebay_core::level::Labels;
use forebay_live::source::object::StoreOptions;
use forebay_live::source::web::{Login, LoginError, Token, TokenError};

use crate::period::Period;

/// Of commands that read from object stores and web servers.
#[derive(Clone, Debug, Args)]
pub(crate) struct Stores {
    /// Where the object store answers, if not at its provider's usual address
    #[arg(long, value_name = "URL")]
    pub(crate) endpoint: Option<String>,

    /// The region of the object store
    #[arg(long, value_name = "NAME")]
    pub(crate) region: Option<String>,

    /// The profile of the AWS files for s3:// sources; comes before keys of the environment
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<String>,

    /// A file with the token that a web server wants to see (`forebay serve`, anything that takes bearer tokens); shown to the
    /// web servers among the sources, and to nobody else
    #[arg(long, value_name = "FILE")]
    pub(crate) source_token_file: Option<PathBuf>,

    /// A file with a user and a password, USER:PASSWORD, for web servers that want these and whose URL does not say them
    #[arg(long, value_name = "FILE", conflicts_with = "source_token_file")]
    pub(crate) source_password_file: Option<PathBuf>,

    /// A file of certificates in PEM that vouch for servers, beside those that the system trusts
    #[arg(long, value_name = "FILE")]
    pub(crate) source_ca: Option<PathBuf>,

    /// For how long an object store or web server that fails, or is silent, is asked again before its readers get an error
    #[arg(long, value_name = "TIME", default_value = "30s")]
    pub(crate) patience: Period,

    /// What web servers are told of readers, for `forebay serve` to look ahead by; others ignore it
    #[arg(long, default_value = "hits", value_parser = labels())]
    pub(crate) source_labels: Labels,
}

/// A level's labels by their names.
pub(crate) fn labels() -> impl TypedValueParser<Value = Labels> {
    PossibleValuesParser::new(Labels::ALL.map(Labels::name)).try_map(|name| name.parse::<Labels>())
}

impl Stores {
    /// The same for the library. Fails if a file with a secret cannot be read.
    pub(crate) fn options(&self) -> Result<StoreOptions, SecretError> {
        Ok(StoreOptions {
            endpoint: self.endpoint.clone(),
            region: self.region.clone(),
            profile: self.profile.clone(),
            token: self.source_token_file.as_deref().map(Token::of_file).transpose()?,
            login: self.source_password_file.as_deref().map(Login::of_file).transpose()?,
            authority: self.source_ca.clone(),
            labels: self.source_labels,
            patience: self.patience.duration(),
            ..StoreOptions::default()
        })
    }
}

/// Why there is no secret to show.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SecretError {
    /// No token.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// No user and password.
    #[error(transparent)]
    Login(#[from] LoginError),
}
