//! One question to the server, and its answer, redirects followed.

use bytes::Bytes;
use reqwest::header::{self, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Certificate, Client, Method, Response, StatusCode, Url};

use super::address::{path_of, same_origin};
use super::head::Head;
use super::options::WebOptions;
use super::trouble::{against_rules, of_status, of_transport};
use crate::remote::{Answer, Hint};

/// Redirects that are followed for one question.
const REDIRECTS: usize = 10;

/// The client that asks the server.
#[derive(Debug)]
pub(super) struct Asker {
    client: Client,
    /// The server that gets the secret.
    home: Url,
    authorization: Option<HeaderValue>,
}

/// A question.
#[derive(Clone, Debug)]
pub(super) struct Question<'a> {
    pub(super) method: Method,
    pub(super) to: Url,
    pub(super) headers: HeaderMap,
    /// The name that it is about, for messages.
    pub(super) name: &'a str,
}

/// An answer whose body has not been read.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) head: Head,
    /// The address that gave it.
    pub(super) from: Url,
    /// Whether the server said that the address lacks a slash, which only a folder's does.
    pub(super) lacks_slash: bool,
    /// The way that redirects led.
    pub(super) led: Led,
    response: Response,
}

/// The way that the redirects of a question led, by the last name of the address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Led {
    /// To the same name, maybe at another server, or nowhere.
    ToTheName,
    /// To a name below it, as from a folder to its first page.
    Below,
    /// To another name, as from a file to a login, or to a signed address.
    Away,
}

impl<'a> Question<'a> {
    pub(super) fn new(method: Method, to: Url, name: &'a str) -> Question<'a> {
        Question { method, to, headers: HeaderMap::new(), name }
    }

    /// Asks for bytes from `start` to `end`, which is not included and may be left open.
    pub(super) fn range(self, start: u64, end: Option<u64>) -> Question<'a> {
        let last = end.map(|end| (end.max(1) - 1).to_string()).unwrap_or_default();
        self.header(header::RANGE, &format!("bytes={start}-{last}"))
    }

    /// Adds a header. A value that no header can have is left out.
    pub(super) fn header(mut self, name: HeaderName, value: &str) -> Question<'a> {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.insert(name, value);
        }
        self
    }
}

impl Asker {
    /// Asks the server of `home`, and shows it the secret, but no other server.
    pub(super) fn new(home: Url, authorization: Option<HeaderValue>, options: &WebOptions) -> Result<Asker, String> {
        let mut builder = Client::builder()
            .user_agent(concat!("forebay/", env!("CARGO_PKG_VERSION")))
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
            .http1_only()
            .read_timeout(options.silence)
            .connect_timeout(options.silence)
            .pool_max_idle_per_host(options.connections);
        if let Some(file) = &options.authority {
            let pem = std::fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
            let certificates = Certificate::from_pem_bundle(&pem).unwrap_or_default();
            if certificates.is_empty() {
                return Err(format!("{} holds no certificate in PEM", file.display()));
            }
            builder = builder.tls_certs_merge(certificates);
        }
        let client = builder.build().map_err(|error| error.to_string())?;
        Ok(Asker { client, home, authorization })
    }

    /// Whether the server is shown a secret.
    pub(super) fn shows_a_secret(&self) -> bool {
        self.authorization.is_some()
    }

    /// Asks once, and follows redirects, but not one to the same address with a slash. An answer of
    /// any status is an answer.
    pub(super) async fn ask(&self, question: &Question<'_>) -> Answer<Reply> {
        let mut to = question.to.clone();
        for _ in 0..=REDIRECTS {
            let response = self.send(question, &to).await?;
            let mut head = Head::of(response.status(), response.headers());
            if matches!(head.status.as_u16(), 401 | 403) && !same_origin(&to, &self.home) {
                head.wants = Some(Hint::Elsewhere);
            }
            let Some(next) = redirect(&response, &to) else {
                let led = Led::between(&question.to, &to);
                return Ok(Reply { head, from: to, lacks_slash: false, led, response });
            };
            let Ok(next) = next else {
                return Err(against_rules(question.name, "a redirect leads nowhere"));
            };
            if is_with_slash(&to, &next) {
                return Ok(Reply { head, from: to, lacks_slash: true, led: Led::ToTheName, response });
            }
            to = next;
        }
        Err(against_rules(question.name, "redirects have no end"))
    }

    async fn send(&self, question: &Question<'_>, to: &Url) -> Answer<Response> {
        let mut headers = question.headers.clone();
        headers.insert(header::ACCEPT_ENCODING, const { HeaderValue::from_static("identity") });
        let home = same_origin(to, &self.home);
        if let Some(secret) = self.authorization.as_ref().filter(|_| home) {
            headers.insert(header::AUTHORIZATION, secret.clone());
        }
        let request = self.client.request(question.method.clone(), to.clone()).headers(headers);
        request.send().await.map_err(|error| of_transport(question.name, &error))
    }
}

impl Reply {
    pub(super) fn status(&self) -> StatusCode {
        self.head.status
    }

    /// The next bytes of the body; nothing at its end.
    pub(super) async fn chunk(&mut self, name: &str) -> Answer<Option<Bytes>> {
        self.response.chunk().await.map_err(|error| of_transport(name, &error))
    }

    /// The trouble for its status.
    pub(super) fn trouble(&self, name: &str) -> crate::remote::Trouble {
        of_status(name, &self.head)
    }
}

impl Led {
    fn between(asked: &Url, from: &Url) -> Led {
        let (asked, from) = (path_of(asked).names, path_of(from).names);
        let (one, other) = (asked.last().map(|name| bare(name)), from.last().map(|name| bare(name)));
        match from.strip_prefix(asked.as_slice()) {
            Some([_, ..]) => Led::Below,
            _ if one == other => Led::ToTheName,
            _ => Led::Away,
        }
    }
}

/// A name as addresses without `.html` have it.
fn bare(name: &[u8]) -> &[u8] {
    [b".html".as_slice(), b".htm"].into_iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name)
}

/// The target of a redirect, if it is one; an error if that is no web address.
fn redirect(response: &Response, from: &Url) -> Option<Result<Url, ()>> {
    if !matches!(response.status().as_u16(), 300..=303 | 307 | 308) {
        return None;
    }
    let location = response.headers().get(header::LOCATION);
    if location.is_none() && response.status() == StatusCode::MULTIPLE_CHOICES {
        return None;
    }
    let to = location.and_then(|location| std::str::from_utf8(location.as_bytes()).ok());
    let to = to.and_then(|location| from.join(location).ok());
    let to = to.filter(|to| matches!(to.scheme(), "http" | "https") && to.host_str().is_some());
    Some(to.map(without_user).ok_or(()))
}

fn without_user(mut url: Url) -> Url {
    // A web address takes both.
    let _ = (url.set_username(""), url.set_password(None));
    url.set_fragment(None);
    url
}

/// Whether `to` is `from` with a slash at its end. Servers behind a proxy may get their own host or
/// scheme wrong.
fn is_with_slash(from: &Url, to: &Url) -> bool {
    let (from, to) = (path_of(from), path_of(to));
    !from.slash && to.slash && !to.names.is_empty() && from.names == to.names
}
