//! A refusal: a status and one line that says why.

use forebay_source::Error;
use hyper::header::{ALLOW, CONNECTION, CONTENT_RANGE, CONTENT_TYPE, HeaderName, HeaderValue, WWW_AUTHENTICATE};
use hyper::{Response, StatusCode};

use crate::answer::Answer;
use crate::body::Body;

/// The methods that are answered.
pub(crate) const METHODS: &str = "GET, HEAD, OPTIONS, PROPFIND";

/// A refusal.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{status}: {line}")]
pub(crate) struct Refusal {
    status: StatusCode,
    line: String,
    header: Option<(HeaderName, HeaderValue)>,
}

impl Refusal {
    fn new(status: StatusCode, line: impl Into<String>) -> Refusal {
        Refusal { status, line: line.into(), header: None }
    }

    fn with(self, name: HeaderName, value: &str) -> Refusal {
        Refusal { header: HeaderValue::from_str(value).ok().map(|value| (name, value)), ..self }
    }

    /// The request makes no sense.
    pub(crate) fn bad_request(line: impl Into<String>) -> Refusal {
        Refusal::new(StatusCode::BAD_REQUEST, line)
    }

    /// Nothing has that name.
    pub(crate) fn not_found() -> Refusal {
        Refusal::new(StatusCode::NOT_FOUND, "nothing has this name")
    }

    /// The requested version is not there (any more).
    pub(crate) fn precondition() -> Refusal {
        Refusal::new(StatusCode::PRECONDITION_FAILED, "it is not the version that was asked for")
    }

    /// No requested byte is within the file's `size`.
    pub(crate) fn unsatisfiable(size: u64) -> Refusal {
        let refusal = Refusal::new(StatusCode::RANGE_NOT_SATISFIABLE, format!("the file has {size} bytes"));
        refusal.with(CONTENT_RANGE, &format!("bytes */{size}"))
    }

    /// A method that is none of [`METHODS`].
    pub(crate) fn method() -> Refusal {
        let line = format!("only reading is possible: {METHODS}");
        Refusal::new(StatusCode::METHOD_NOT_ALLOWED, line).with(ALLOW, METHODS)
    }

    /// A method that is none of these.
    pub(crate) fn method_but(methods: &'static str) -> Refusal {
        Refusal::new(StatusCode::METHOD_NOT_ALLOWED, format!("the methods here are {methods}")).with(ALLOW, methods)
    }

    /// A browser asks on behalf of a page of another site.
    pub(crate) fn foreign() -> Refusal {
        Refusal::new(StatusCode::FORBIDDEN, "pages of other sites may neither read nor tell here")
    }

    /// The request names us by a name that may be another site's.
    pub(crate) fn misdirected() -> Refusal {
        let line = "ask by an address or as localhost; a server without a token answers to other names only if it \
                    is given them (--host-name), since they may be another site's";
        Refusal::new(StatusCode::MISDIRECTED_REQUEST, line)
    }

    /// A request with a body.
    pub(crate) fn body() -> Refusal {
        let line = "requests have no body here";
        Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, line).with(CONNECTION, "close")
    }

    /// A body that does not come.
    pub(crate) fn late() -> Refusal {
        Refusal::new(StatusCode::REQUEST_TIMEOUT, "the body did not come in time").with(CONNECTION, "close")
    }

    /// There is no room for more.
    pub(crate) fn full(line: impl Into<String>) -> Refusal {
        Refusal::new(StatusCode::TOO_MANY_REQUESTS, line)
    }

    /// The machine refuses.
    pub(crate) fn failed(line: impl Into<String>) -> Refusal {
        Refusal::new(StatusCode::SERVICE_UNAVAILABLE, line)
    }

    /// The client must show the token.
    pub(crate) fn unknown() -> Refusal {
        let line = "show the token: `Authorization: Bearer TOKEN`, or as the password of any name";
        let refusal = Refusal::new(StatusCode::UNAUTHORIZED, line);
        refusal.with(WWW_AUTHENTICATE, "Bearer realm=\"forebay\", Basic realm=\"forebay\"")
    }

    #[cfg(test)]
    pub(crate) fn status(&self) -> StatusCode {
        self.status
    }
}

impl From<Error> for Refusal {
    /// The line repeats no names: the client knows its own, and a source's names are not for every
    /// client.
    fn from(error: Error) -> Refusal {
        match error {
            Error::NotFound(_) => Refusal::not_found(),
            Error::Denied(_) | Error::Barred { .. } => Refusal::new(StatusCode::FORBIDDEN, "the source refuses"),
            Error::Stale(_) => Refusal::new(StatusCode::CONFLICT, "it changes all the time; ask again"),
            Error::Refused { errno: libc::ENOTDIR | libc::ENAMETOOLONG | libc::ELOOP | libc::EINVAL, .. } => {
                Refusal::not_found()
            }
            Error::Refused { .. } => Refusal::new(StatusCode::FORBIDDEN, "it cannot be read"),
            Error::CalledOff | Error::Storage { .. } | Error::Setting { .. } | Error::GivenUp { .. } => {
                Refusal::new(StatusCode::BAD_GATEWAY, "the storage behind does not give it; ask again")
            }
        }
    }
}

impl From<Refusal> for Answer {
    fn from(refusal: Refusal) -> Answer {
        let mut answer = Response::new(Body::text(format!("{}\n", refusal.line)));
        *answer.status_mut() = refusal.status;
        answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
        if let Some((name, value)) = refusal.header {
            answer.headers_mut().insert(name, value);
        }
        answer
    }
}
