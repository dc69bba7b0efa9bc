//! What a store wishes for when it has too much to do: the client keeps the header `Retry-After` to
//! itself, so it is read where answers pass through.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use async_trait::async_trait;
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpRequest, HttpResponse, HttpService, ReqwestConnector,
};
use parking_lot::Mutex;

use super::refusal;
use crate::source::Error;
use crate::source::remote::Trouble;

/// Until when a store wants to be left alone.
#[derive(Clone, Debug, Default)]
pub(super) struct Waits(Arc<Mutex<Option<Instant>>>);

impl Waits {
    /// The trouble of a request concerning `path` that failed; `means` says what the error means.
    pub(super) fn trouble(
        &self,
        path: &Path,
        means: fn(&str, &object_store::Error) -> Error,
        error: &object_store::Error,
    ) -> Trouble {
        let wait = self.0.lock().map(|until| until.saturating_duration_since(Instant::now()));
        let wait = wait.filter(|wait| !wait.is_zero());
        Trouble { error: means(&path.display().to_string(), error), kind: refusal::kind(error), wait }
    }

    fn heed(&self, wait: Duration) {
        let until = Instant::now().checked_add(wait);
        let mut known = self.0.lock();
        *known = until.max(*known);
    }
}

/// The client's own connector, listened to.
impl HttpConnector for Waits {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let inner = ReqwestConnector::default().connect(options)?;
        Ok(HttpClient::new(Listening { inner, waits: self.clone() }))
    }
}

#[derive(Debug)]
struct Listening {
    inner: HttpClient,
    waits: Waits,
}

#[async_trait]
impl HttpService for Listening {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let answer = self.inner.execute(request).await?;
        if matches!(answer.status().as_u16(), 429 | 503)
            && let Some(wish) = answer.headers().get("retry-after").and_then(|wish| wish.to_str().ok())
            && let Some(wait) = retry_after(wish, SystemTime::now())
        {
            self.waits.heed(wait);
        }
        Ok(answer)
    }
}

/// The two forms of `Retry-After` (RFC 9110, 10.2.3): seconds, or a date.
pub(crate) fn retry_after(wish: &str, now: SystemTime) -> Option<Duration> {
    let wish = wish.trim();
    if let Ok(seconds) = wish.parse() {
        return Some(Duration::from_secs(seconds));
    }
    Some(httpdate::parse_http_date(wish).ok()?.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wishes_are_seconds_or_dates() {
        let now = httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
        for (wish, seconds) in [
            ("5", Some(5)),
            (" 120 ", Some(120)),
            ("Sun, 06 Nov 1994 08:49:47 GMT", Some(10)),
            ("Sunday, 06-Nov-94 08:50:37 GMT", Some(60)),
            ("Sun Nov  6 08:49:38 1994", Some(1)),
            ("Sun, 06 Nov 1994 08:00:00 GMT", Some(0)),
            ("-5", None),
            ("soon", None),
            ("", None),
        ] {
            assert_eq!(retry_after(wish, now), seconds.map(Duration::from_secs), "{wish:?}");
        }
    }
}
