//! Requests to S3 that the `object_store` crate does not make: changed, and signed again.

use std::fmt;
use std::sync::{Arc, OnceLock, Weak};

use object_store::CredentialProvider;
use object_store::aws::{AwsAuthorizer, AwsCredential, AwsCredentialProvider};
use object_store::client::{HttpError, HttpErrorKind, HttpRequest};

use super::keys::unmarked;

/// Asks for keys in a form in which each has room: XML has none for most control characters.
const ENCODED: &str = "encoding-type=url";

/// Signs requests with the credentials of one store, once it has been told them.
#[derive(Clone, Default)]
pub(super) struct Signer(Arc<OnceLock<Weak<dyn CredentialProvider<Credential = AwsCredential>>>>);

impl Signer {
    /// Tells the credentials. The store keeps them, and this signer with its client.
    pub(super) fn tell(&self, credentials: &AwsCredentialProvider) {
        let _ = self.0.set(Arc::downgrade(credentials));
    }

    /// The request to send to S3.
    pub(super) async fn prepared(&self, request: HttpRequest, is_listing: bool) -> Result<HttpRequest, HttpError> {
        let path = unmarked(request.uri().path());
        // A session of a directory bucket has credentials of its own.
        let is_of_session = request.headers().contains_key("x-amz-s3session-token");
        if is_of_session || path.is_none() && !is_listing {
            return Ok(request);
        }
        let query = request.uri().query().unwrap_or_default();
        let query = if is_listing { format!("{query}&{ENCODED}") } else { query.to_owned() };
        let path = path.as_deref().unwrap_or(request.uri().path());
        let question = if query.is_empty() { "" } else { "?" };
        let server = [request.uri().scheme_str(), request.uri().authority().map(|authority| authority.as_str())];
        let [Some(scheme), Some(authority)] = server else { return Ok(request) };
        let Ok(address) = format!("{scheme}://{authority}{path}{question}{query}").parse() else { return Ok(request) };
        let region = region(&request);
        let credentials = self.0.get().and_then(Weak::upgrade);
        let mut request = request;
        match (region, credentials) {
            (Some(region), Some(credentials)) => {
                let credential = credentials.get_credential().await.map_err(failed)?;
                *request.uri_mut() = address;
                sign(&mut request, &credential, &region)?;
            }
            (None, _) => *request.uri_mut() = address,
            // It goes as it is, because its signature holds for nothing else.
            (Some(_), None) => {}
        }
        Ok(request)
    }
}

fn sign(request: &mut HttpRequest, credential: &AwsCredential, region: &str) -> Result<(), HttpError> {
    let header = |name: &str| request.headers().get(name).map(|value| value.as_bytes().to_vec());
    let unsigned = header("x-amz-content-sha256").is_some_and(|hash| hash == b"UNSIGNED-PAYLOAD");
    request.headers_mut().remove("x-amz-security-token");
    let authorizer = AwsAuthorizer::new(credential, "s3", region).with_sign_payload(!unsigned);
    authorizer.try_authorize(request, None).map_err(failed)
}

/// The region that a request is signed for: `…Credential=KEY/DATE/REGION/s3/aws4_request, …`.
/// `None` for a request without a signature.
pub(super) fn region(request: &HttpRequest) -> Option<String> {
    let signature = request.headers().get("authorization")?.to_str().ok()?;
    let (_, scope) = signature.split_once("Credential=")?;
    scope.split(',').next()?.rsplit('/').nth(2).map(str::to_owned)
}

fn failed(error: object_store::Error) -> HttpError {
    HttpError::new(HttpErrorKind::Unknown, error)
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signer").finish_non_exhaustive()
    }
}
