//! The HTTP client of the AWS crates. It is the client of object stores and web servers, so that
//! the same certificates and proxies count, and the program has one TLS.

use std::path::Path;
use std::time::Duration;

use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;
use reqwest::{Certificate, Client, ClientBuilder, Method, Response};

/// The longest answer that is taken, bytes. Real ones have a few thousand.
const LONGEST: usize = 1 << 20;

/// How long a connection may take to come about.
const CONNECT: Duration = Duration::from_secs(3);

/// A client of the services that give credentials.
#[derive(Clone, Debug)]
pub(super) struct Http {
    /// For `https`.
    far: Client,
    /// For `http`: services of the machine itself, which no proxy can reach.
    near: Client,
}

/// The client with the time that one request may take.
#[derive(Debug)]
struct Timed {
    http: Http,
    limit: Option<Duration>,
}

impl Http {
    /// A client that trusts the certificates of the file `authority`, too.
    pub(super) fn new(authority: Option<&Path>) -> Result<Http, String> {
        let near = client().no_proxy().build().map_err(|error| error.to_string())?;
        let mut far = client();
        if let Some(file) = authority {
            let pem = std::fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
            let certificates = Certificate::from_pem_bundle(&pem).map_err(|error| error.to_string())?;
            far = far.tls_certs_merge(certificates);
        }
        Ok(Http { far: far.build().map_err(|error| error.to_string())?, near })
    }
}

fn client() -> ClientBuilder {
    // A redirect would show the signature, or a token, to another server.
    let never = reqwest::redirect::Policy::none();
    Client::builder().redirect(never).retry(reqwest::retry::never()).referer(false).connect_timeout(CONNECT)
}

impl HttpClient for Http {
    fn http_connector(&self, settings: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        let limit = settings.read_timeout().map(|read| read + settings.connect_timeout().unwrap_or(CONNECT));
        SharedHttpConnector::new(Timed { http: self.clone(), limit })
    }
}

impl HttpConnector for Timed {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let question = self.question(&request);
        HttpConnectorFuture::new(async move { answer(question?.send().await.map_err(failed)?).await })
    }
}

impl Timed {
    fn question(&self, request: &HttpRequest) -> Result<reqwest::RequestBuilder, ConnectorError> {
        let method = Method::from_bytes(request.method().as_bytes()).map_err(|error| user(error.into()))?;
        let client = if request.uri().starts_with("http://") { &self.http.near } else { &self.http.far };
        let mut question = client.request(method, request.uri());
        for (name, value) in request.headers() {
            question = question.header(name, value);
        }
        if let Some(limit) = self.limit {
            question = question.timeout(limit);
        }
        let body = request.body().bytes().ok_or_else(|| user("a body that is not in memory".into()))?;
        Ok(question.body(body.to_vec()))
    }
}

async fn answer(mut response: Response) -> Result<HttpResponse, ConnectorError> {
    let mut body = Vec::new();
    while let Some(bytes) = response.chunk().await.map_err(failed)? {
        if body.len() + bytes.len() > LONGEST {
            return Err(ConnectorError::other("an endless answer".into(), None));
        }
        body.extend_from_slice(&bytes);
    }
    let status = response.status().as_u16().try_into().map_err(|_| ConnectorError::other("no status".into(), None))?;
    let mut answer = HttpResponse::new(status, SdkBody::from(body));
    for (name, value) in response.headers() {
        // A value that is not text is of no use.
        if let Ok(value) = value.to_str() {
            let _ = answer.headers_mut().try_append(name.as_str().to_owned(), value.to_owned());
        }
    }
    Ok(answer)
}

/// Without the address: that of the portal names the account and the role.
fn failed(error: reqwest::Error) -> ConnectorError {
    let error = error.without_url();
    if error.is_timeout() { ConnectorError::timeout(error.into()) } else { ConnectorError::io(error.into()) }
}

fn user(error: Box<dyn std::error::Error + Send + Sync>) -> ConnectorError {
    ConnectorError::user(error)
}
