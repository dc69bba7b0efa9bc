//! The faults between a client and an S3 server or web server, each with the right reaction of a
//! client.

use std::time::Duration;

use crate::odd_web::Outcome;

/// A fault. *Right* names the reaction that a client must have; [`Fault::outcome`] says it to a
/// test. A client that has read some bytes before may go on serving them from its cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Everything passes.
    None,
    /// Only the first requests that the fault applies to break, as many as the number says.
    /// *Right*: the bytes, if another try can succeed.
    First(usize, Box<Fault>),
    /// Of the requests that the fault applies to, the first ones pass and the one of this number
    /// breaks, and so on. *Right*: the bytes, if another try can succeed.
    EveryNth(usize, Box<Fault>),

    /// Each answer is late by this much. *Right*: the bytes.
    Latency(Duration),
    /// The body comes in pieces of this many bytes with pauses. *Right*: the bytes.
    Drip {
        /// The bytes in a piece.
        bytes: usize,
        /// The pause after each.
        pause: Duration,
    },
    /// 503 `SlowDown`. *Right*: tries at growing distances, then an error.
    SlowDown,
    /// 429 `TooManyRequests` with `Retry-After` in seconds. *Right*: tries no sooner, then an
    /// error.
    TooManyRequests(u64),
    /// 500 `InternalError`. *Right*: some more tries, then an error.
    InternalError,
    /// 200, and the body is an `InternalError`, as S3 may answer to a copy. *Right*: an error;
    /// never the text as a file.
    ErrorInOk,

    /// `ExpiredToken` with this code, 400 or 403. *Right*: an error that names the expired login.
    ExpiredToken(u16),
    /// 403 `AccessDenied`. *Right*: an error without more tries.
    AccessDenied,
    /// 403 `RequestTimeTooSkewed`. *Right*: an error that names the clock.
    Skew,
    /// 301 `PermanentRedirect` to the region `eu-west-1`. *Right*: an error that names the region.
    OtherRegion,
    /// 400 `IllegalLocationConstraintException`, whose message names the region `eu-west-1`.
    /// *Right*: an error that names the region.
    OtherConstraint,
    /// GET of an object is 403 `InvalidObjectState`, as of one in an archive. *Right*: a listing
    /// with it, and an error for its bytes.
    Archived,
    /// 404 `NoSuchKey` for GET and HEAD of an object that listings have. *Right*: an error.
    NoSuchKey,
    /// 200 with a page, as a captive portal answers. *Right*: an error; never the page as a file.
    Portal,

    /// These requests are never answered. *Right*: an error in finite time.
    Silent(Which),
    /// The connection ends before an answer. *Right*: some more tries, then an error.
    Closed,
    /// The connection ends in the middle of a body. *Right*: the rest with another request, or an
    /// error.
    Cut,
    /// The same, by a reset. *Right*: the rest with another request, or an error.
    Reset,

    /// Listings do not say whether they are cut: `IsTruncated` is missing if it would be `false`.
    /// *Right*: the listing.
    NoTruncated,
    /// There are no entity tags, neither in listings nor in headers. *Right*: the bytes.
    NoTags,
    /// HEAD tells no length. *Right*: the bytes, with the length from a listing or a GET; or an
    /// error.
    NoLength,
    /// The body of a GET of an object lacks its last byte, and its length is right for that.
    /// *Right*: an error.
    Short,
}

/// Some of the requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// All.
    All,
    /// Those with a `Range`.
    Ranges,
    /// HEAD.
    Heads,
    /// Listings: of S3, or by PROPFIND.
    Listings,
}

impl Fault {
    /// The right reaction of a client that asks, for the first time, for an object which is there.
    pub fn outcome(&self) -> Outcome {
        match self {
            Fault::None | Fault::Latency(_) | Fault::Drip { .. } | Fault::NoTruncated | Fault::NoTags => Outcome::Right,
            Fault::Cut | Fault::Reset | Fault::NoLength => Outcome::Either,
            Fault::Silent(Which::Heads | Which::Listings) => Outcome::Either,
            Fault::First(_, then) | Fault::EveryNth(_, then) => match (then.is_passing(), then.outcome()) {
                (true, _) | (_, Outcome::Right) => Outcome::Right,
                _ => Outcome::Either,
            },
            _ => Outcome::Error,
        }
    }

    /// Whether another try can succeed.
    fn is_passing(&self) -> bool {
        use Fault::{Closed, Cut, InternalError, Reset, SlowDown, TooManyRequests};
        matches!(self, SlowDown | TooManyRequests(_) | InternalError | Closed | Cut | Reset)
    }

    /// Every fault, with parameters that suit tests. Those that take a client its whole patience
    /// come last.
    pub fn every() -> Vec<Fault> {
        let passing = [Fault::SlowDown, Fault::TooManyRequests(1), Fault::InternalError, Fault::Closed];
        let passing = passing.into_iter().chain([Fault::Cut, Fault::Reset]);
        let first = passing.clone().map(|fault| Fault::First(1, Box::new(fault)));
        let nth = passing.clone().map(|fault| Fault::EveryNth(3, Box::new(fault)));
        let quick = [Fault::None, Fault::NoTruncated, Fault::NoTags, Fault::NoLength, Fault::Short, Fault::ErrorInOk];
        let refusals = [Fault::ExpiredToken(403), Fault::ExpiredToken(400), Fault::AccessDenied, Fault::Skew];
        let refusals =
            refusals.into_iter().chain([Fault::OtherRegion, Fault::OtherConstraint, Fault::Archived, Fault::NoSuchKey]);
        let slow =
            [Fault::Latency(Duration::from_millis(50)), Fault::Drip { bytes: 20_000, pause: Duration::from_millis(5) }];
        let silent = [Which::Ranges, Which::Heads, Which::Listings, Which::All].map(Fault::Silent);
        let every = quick.into_iter().chain(refusals).chain([Fault::Portal]).chain(slow).chain(first).chain(nth);
        every.chain(passing).chain(silent).collect()
    }
}
