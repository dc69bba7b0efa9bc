//! Encryption, by a certificate and its key.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

/// A server's certificate and settings of encryption.
#[derive(Clone)]
pub struct Tls(pub(crate) TlsAcceptor);

/// Why encryption cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file that cannot be read or holds something else.
    #[error("{}: {reason}; a file in PEM format with {what} is needed", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// The expected content.
        what: &'static str,
        /// The fault.
        reason: String,
    },
    /// Certificate and key are no pair, or of a kind that is not known.
    #[error("certificate {} and key {}: {source}", certificate.display(), key.display())]
    Pair {
        /// The certificate's file.
        certificate: PathBuf,
        /// The key's file.
        key: PathBuf,
        /// The fault.
        source: rustls::Error,
    },
}

impl Tls {
    /// Reads a certificate, with those that vouch for it behind it, and its private key.
    pub fn read(certificate: &Path, key: &Path) -> Result<Tls, TlsError> {
        let wrong = |file: &Path, what, reason: String| TlsError::File { file: file.to_path_buf(), what, reason };
        let bad = |error: rustls::pki_types::pem::Error| wrong(certificate, "certificates", error.to_string());
        let chain = CertificateDer::pem_file_iter(certificate).map_err(bad)?;
        let chain = chain.collect::<Result<Vec<_>, _>>().map_err(bad)?;
        if chain.is_empty() {
            return Err(wrong(certificate, "certificates", "holds none".into()));
        }
        let secret = PrivateKeyDer::from_pem_file(key);
        let secret = secret.map_err(|error| wrong(key, "a private key", error.to_string()))?;
        let pair = |source| TlsError::Pair { certificate: certificate.to_path_buf(), key: key.to_path_buf(), source };
        let config = ServerConfig::builder_with_provider(Arc::new(default_provider()));
        let config = config.with_safe_default_protocol_versions().map_err(pair)?.with_no_client_auth();
        let mut config = config.with_single_cert(chain, secret).map_err(pair)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Tls(TlsAcceptor::from(Arc::new(config))))
    }
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tls")
    }
}
