//! Answers of the control channel: the page, metrics, counters, reasons and told lists.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use forebay_live::tree::Tree;
use hyper::body::{Body as HttpBody, Incoming};
use hyper::header::{
    ACCEPT, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue, REFERRER_POLICY,
};
use hyper::http::request::Parts;
use hyper::{Method, Response};

use crate::answer::Answer;
use crate::arriving::Arriving;
use crate::body::Body;
use crate::hint;
use crate::listing::blocking;
use crate::metrics::{Form, Metrics};
use crate::refusal::Refusal;
use crate::routes::Route;

/// The page. Its style and its script stand in it, so that nothing else has to be served.
const PAGE: &str = include_str!("page.html");

/// The watchers' view of a tree.
pub(crate) struct Watch {
    tree: Arc<Tree>,
    metrics: Arc<Metrics>,
    /// How long a body may take to come.
    patience: Duration,
}

impl Watch {
    pub(crate) fn new(tree: Arc<Tree>, paths: bool, patience: Duration) -> Watch {
        Watch { metrics: Arc::new(Metrics::new(Arc::clone(&tree), paths)), tree, patience }
    }

    /// Answers a request that the [`guard`](crate::guard) lets in.
    pub(crate) async fn answer(&self, route: Route, head: &Parts, body: Incoming) -> Result<Answer, Refusal> {
        let tree = Arc::clone(&self.tree);
        let mut answer = match (&head.method, route) {
            (&Method::POST, Route::Hint) => {
                hint::tell(tree, head.uri.query(), Arriving::new(body, self.patience)).await?
            }
            (&Method::GET | &Method::HEAD, _) if !body.is_end_stream() => return Err(Refusal::body()),
            (&Method::GET | &Method::HEAD, Route::Page) => page(),
            (&Method::GET | &Method::HEAD, Route::Metrics) => {
                let form = Form::of(head.headers.get(ACCEPT));
                let metrics = Arc::clone(&self.metrics);
                let text = blocking(move || Ok(metrics.text(form))).await?;
                text_of(form.content_type(), text)
            }
            (&Method::GET | &Method::HEAD, Route::Stats) => json(blocking(move || Ok(tree.stats())).await?),
            (&Method::GET | &Method::HEAD, Route::Explain) => json(blocking(move || Ok(tree.explain())).await?),
            (&Method::GET | &Method::HEAD, Route::Hint) => hint::lists(tree).await?,
            (_, Route::Hint) => return Err(Refusal::method_but("GET, HEAD, POST")),
            _ => return Err(Refusal::method_but("GET, HEAD")),
        };
        let headers = answer.headers_mut();
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        // No page of another site may show it, be it as a picture.
        headers
            .insert(HeaderName::from_static("cross-origin-resource-policy"), HeaderValue::from_static("same-origin"));
        Ok(answer)
    }
}

fn json(text: String) -> Answer {
    text_of("application/json", text)
}

fn text_of(kind: &'static str, text: String) -> Answer {
    let mut answer = Response::new(Body::text(text));
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    answer
}

fn page() -> Answer {
    let mut answer = Response::new(Body::text(PAGE));
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(CONTENT_SECURITY_POLICY, POLICY.clone());
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    answer
}

/// The page may run its own script, have its own style, and ask us. Nothing else is loaded, sent
/// or framed.
static POLICY: LazyLock<HeaderValue> = LazyLock::new(|| {
    let policy = format!(
        "default-src 'none'; script-src '{}'; style-src '{}'; connect-src 'self'; img-src data:; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        hash_of("script"),
        hash_of("style")
    );
    HeaderValue::from_str(&policy).unwrap_or(HeaderValue::from_static("default-src 'none'"))
});

/// The hash of an element of the page, as the policy has it.
fn hash_of(element: &str) -> String {
    let (open, close) = (format!("<{element}>"), format!("</{element}>"));
    let inner = PAGE.split_once(&open).and_then(|(_, rest)| rest.split_once(&close)).map_or("", |(inner, _)| inner);
    format!("sha256-{}", BASE64_STANDARD.encode(digest(&SHA256, inner.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_all_that_it_needs() {
        for element in ["<script>", "</script>", "<style>", "</style>"] {
            assert_eq!(PAGE.matches(element).count(), 1, "{element}");
        }
        for loads in ["src=", "url(", "@import", "innerHTML", "outerHTML", "insertAdjacentHTML", "style=\"", "eval("] {
            assert!(!PAGE.contains(loads), "{loads}");
        }
        // The name space of SVG is no address that is asked.
        assert_eq!(PAGE.replace("http://www.w3.org/2000/svg", "").matches("://").count(), 0);
        assert!(POLICY.to_str().unwrap().contains("script-src 'sha256-"));
    }
}
