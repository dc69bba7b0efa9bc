//! Requests to a control channel at an address, and to a server.

use std::borrow::Cow;
use std::path::Path;
use std::time::Duration;

use forebay_serve::CONTROL;
use reqwest::{Certificate, Client, Response, StatusCode, Url};

use crate::failure::Failure;
use crate::listen::{self, Secret};
use crate::options::Access;

/// How long a server may take for an answer; the limit is for one that hangs.
const PATIENCE: Duration = Duration::from_secs(10);

/// Bytes of the longest answer that is taken, from whichever server.
const LONGEST: usize = 64 << 20;

/// The address that stands where the path of a mount can stand, if it is one: a URL, or HOST:PORT
/// for one without encryption.
pub(crate) fn in_path(path: &Path) -> Option<Cow<'_, str>> {
    let text = path.to_str()?;
    if let Some((scheme, _)) = text.split_once("://") {
        return ["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known)).then_some(text.into());
    }
    let (host, port) = text.rsplit_once(':')?;
    let is_port = port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok();
    let url = format!("http://{text}");
    (is_port && !host.contains('/') && Url::parse(&url).is_ok()).then(|| url.into())
}

/// The body of the answer to a question at `route`, a path that begins with [`CONTROL`].
pub(crate) fn get(address: &str, route: &str, access: &Access) -> Result<String, Failure> {
    let url = url(address, route)?;
    let client = client(access)?;
    let request = client.get(url);
    let secret = listen::secret(access.token_file.as_deref())?;
    let request = match &secret {
        Some(secret) => request.bearer_auth(secret.text.trim()),
        None => request,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::run(format!("cannot ask {address}: {error}")))?;
    runtime.block_on(async {
        let answer = request.send().await.map_err(|error| unanswered(address, &error))?;
        body(address, secret.as_ref(), answer).await
    })
}

/// Where to ask: the address may stop at any part of the path to the control channel.
pub(crate) fn url(address: &str, route: &str) -> Result<Url, Failure> {
    let odd = |why: String| Failure::input(format!("{why}: give an address as in http://host:7680"));
    let mut url = Url::parse(address).map_err(|error| odd(format!("{address}: {error}")))?;
    if !url.username().is_empty() || url.password().is_some() {
        // The address is not repeated, since it holds a secret.
        return Err(Failure::input("an address holds no user and no token here: give --token-file or FOREBAY_TOKEN"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(odd(format!("{address} has more than a path")));
    }
    let path = url.path().trim_end_matches('/');
    let base = path.strip_suffix(CONTROL.trim_end_matches('/')).unwrap_or(path);
    url.set_path(&format!("{base}{route}"));
    Ok(url)
}

fn client(access: &Access) -> Result<Client, Failure> {
    let mut builder = Client::builder()
        .user_agent(concat!("forebay/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        .http1_only()
        .timeout(PATIENCE);
    if let Some(file) = &access.tls_ca {
        let refused = |why: String| Failure::input(format!("--tls-ca {}: {why}", file.display()));
        let pem = std::fs::read(file).map_err(|error| refused(error.to_string()))?;
        let certificates = Certificate::from_pem_bundle(&pem).unwrap_or_default();
        if certificates.is_empty() {
            return Err(refused("it holds no certificate in PEM".to_owned()));
        }
        builder = builder.tls_certs_merge(certificates);
    }
    builder.build().map_err(|error| Failure::run(format!("cannot ask servers: {error}")))
}

/// The whole body of a good answer, to a request that showed a token or none.
async fn body(address: &str, shown: Option<&Secret>, mut answer: Response) -> Result<String, Failure> {
    let status = answer.status();
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await.map_err(|error| unanswered(address, &error))? {
        body.extend_from_slice(&chunk);
        if body.len() > LONGEST {
            return Err(Failure::run(format!("{address}: the answer has no end; is it a server of Forebay?")));
        }
    }
    let text = String::from_utf8_lossy(&body).into_owned();
    match status {
        StatusCode::OK => Ok(text),
        StatusCode::UNAUTHORIZED => Err(Failure::input(match shown {
            Some(Secret { place, .. }) => format!("{address}: the token of {place} is not the one that it wants"),
            None => format!("{address}: it wants a token: give --token-file or FOREBAY_TOKEN"),
        })),
        StatusCode::MISDIRECTED_REQUEST => {
            Err(Failure::input(format!("{address}: {}", text.lines().next().unwrap_or_default())))
        }
        status => Err(Failure::input(format!(
            "{address}: it answers {status}; give the address of `forebay serve`, or of --control of a mount"
        ))),
    }
}

/// The failure of a request that has no whole answer.
fn unanswered(address: &str, error: &reqwest::Error) -> Failure {
    let mut cause: &dyn std::error::Error = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    let why = if error.is_timeout() { format!("nothing within {PATIENCE:?}") } else { cause.to_string() };
    let encryption = advice(address, &why, error.is_connect() || error.is_timeout()).unwrap_or_default();
    Failure::input(format!("{address}: no server of Forebay answers there: {why}{encryption}"))
}

/// Advice if the two ends may not agree on encryption. A server with encryption answers a request
/// without it in bytes that are no HTTP, or by closing the connection.
fn advice(address: &str, why: &str, unheard: bool) -> Option<String> {
    let (scheme, rest) = address.split_once("://")?;
    if scheme.eq_ignore_ascii_case("https") {
        // The words of the TLS library.
        let is = |word| why.contains(word);
        return match () {
            () if is("InvalidContentType") => Some(format!("; it speaks without encryption: try http://{rest}")),
            () if is("UnknownIssuer") => Some("; give the certificate of its authority with --tls-ca FILE".into()),
            () if is("CaUsedAsEndEntity") => Some(
                "; it shows the certificate of an authority (CA:TRUE), and needs one of its own that is not (CA:FALSE)"
                    .into(),
            ),
            () => None,
        };
    }
    (!unheard).then(|| format!("; if it speaks with encryption, try https://{rest}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_stands_for_the_channel_below_it() {
        let whole = "http://host:7680/.well-known/forebay/stats";
        for given in ["http://host:7680", "HTTP://host:7680/", "http://host:7680/.well-known/forebay/"] {
            assert_eq!(in_path(given.as_ref()), Some(given.into()));
            assert_eq!(url(given, "/.well-known/forebay/stats").unwrap().as_str(), whole, "{given}");
        }
        let below = url("https://host/data/", "/.well-known/forebay/stats").unwrap();
        assert_eq!(below.as_str(), "https://host/data/.well-known/forebay/stats");
        for path in ["/mnt/data", "http", "http:/host", "s3://bucket", "./http://x", ""] {
            assert_eq!(in_path(path.as_ref()), None, "{path}");
        }
        for (given, said) in [
            ("http://", "empty host"),
            ("http://host/?a", "more than a path"),
            ("http://me:secret@host/", "--token-file"),
        ] {
            let error = url(given, "/.well-known/forebay/stats").unwrap_err().to_string();
            assert!(error.contains(said) && !error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn words_of_the_tls_library_get_advice() {
        let said = |why: &str| advice("https://host:1/", why, false).unwrap_or_default();
        assert!(said("received corrupt message of type InvalidContentType").ends_with("try http://host:1/"));
        assert!(said("invalid peer certificate: UnknownIssuer").contains("--tls-ca"));
        assert!(said("invalid peer certificate: Other(OtherError(CaUsedAsEndEntity))").contains("CA:FALSE"));
        assert_eq!(said("Connection refused"), "");
    }
}
