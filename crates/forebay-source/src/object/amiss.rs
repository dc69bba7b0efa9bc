//! Answers that a store would not give, or that reveal a setting to mend.

use std::time::{Duration, SystemTime};

use reqwest::header::HeaderMap;

use crate::Error;

/// How far a clock may be off before S3 refuses signatures.
const SKEW: Duration = Duration::from_secs(15 * 60);

/// Why an answer is not accepted.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(super) enum Amiss {
    /// The request was for a listing, and the answer is something else.
    #[error("the answer is {0} instead of a listing: is this the endpoint of an S3 store?")]
    NotListing(String),
    /// An error as the body of a listing.
    #[error("the answer to a listing is the error {0}")]
    Error(String),
    /// A listing that cannot be read to its end.
    #[error("the listing is broken: {0}")]
    Broken(String),
    /// The request was for an object, and the answer is a page for browsers.
    #[error("the answer is a page of HTML without any mark of an S3 store: does a portal answer for it?")]
    NotObject,
    /// The bucket is in another region, which a good server names.
    #[error("{}", elsewhere(.0.as_deref()))]
    Elsewhere(Option<Box<str>>),
    /// The signature is too old or too young.
    #[error("{}; set the clock", skewed(*.0))]
    Skewed(Option<Skew>),
    /// The request came without encryption.
    #[error("the server wants encryption: give the endpoint with https://")]
    Plain,
}

/// How far this machine's clock is from a server's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Skew {
    Ahead(Duration),
    Behind(Duration),
}

/// A refusal.
#[derive(Clone, Copy, Debug)]
pub(super) struct Refused<'a> {
    pub(super) status: u16,
    pub(super) headers: &'a HeaderMap,
    /// Empty after HEAD.
    pub(super) body: &'a str,
    /// The region that the request was signed for; `None` without a signature.
    pub(super) region: Option<&'a str>,
}

/// A page for browsers, in words.
pub(super) const HTML: &str = "a page of HTML";

impl Amiss {
    /// The setting that a refusal of S3 is due to, if it is due to one.
    pub(super) fn of_refusal(refused: &Refused<'_>, now: SystemTime) -> Option<Amiss> {
        let (code, signed) = (element(refused.body, "Code"), refused.region.is_some());
        let skew = || Skew::of(refused.headers, now);
        match (refused.status, code) {
            (400, None) if refused.body.contains(" HTTPS ") => Some(Amiss::Plain),
            (301, _) => Some(Amiss::Elsewhere(other_region(refused))),
            (400, Some("AuthorizationHeaderMalformed")) | (400, None) if signed => {
                other_region(refused).map(|region| Amiss::Elsewhere(Some(region)))
            }
            (400, Some("IllegalLocationConstraintException")) => {
                Some(Amiss::Elsewhere(other_region(refused).or_else(|| constraint(refused.body))))
            }
            (_, Some("RequestTimeTooSkewed")) => Some(Amiss::Skewed(skew())),
            (403, None) if signed => skew().filter(|skew| skew.distance() > SKEW).map(|skew| Amiss::Skewed(Some(skew))),
            _ => None,
        }
    }

    /// The kind of trouble, for the log.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Amiss::NotListing(_) | Amiss::NotObject => "not a store's answer",
            Amiss::Error(_) => "an error in a listing",
            Amiss::Broken(_) => "broken listing",
            Amiss::Elsewhere(_) => "another region",
            Amiss::Skewed(_) => "RequestTimeTooSkewed",
            Amiss::Plain => "no encryption",
        }
    }

    /// The error of a request concerning `name`. Trouble that a setting would mend is not tried
    /// again.
    pub(super) fn error(&self, name: String) -> Error {
        let reason = self.to_string();
        match self {
            Amiss::Elsewhere(region) => Error::Setting { name, reason, region: region.clone() },
            Amiss::Skewed(_) | Amiss::Plain => Error::Setting { name, reason, region: None },
            Amiss::NotListing(_) | Amiss::Error(_) | Amiss::Broken(_) | Amiss::NotObject => {
                Error::Storage { name, reason }
            }
        }
    }
}

impl Skew {
    /// From the date of an answer.
    fn of(headers: &HeaderMap, now: SystemTime) -> Option<Skew> {
        let server = httpdate::parse_http_date(headers.get("date")?.to_str().ok()?).ok()?;
        Some(match now.duration_since(server) {
            Ok(ahead) => Skew::Ahead(ahead),
            Err(behind) => Skew::Behind(behind.duration()),
        })
    }

    fn distance(self) -> Duration {
        let (Skew::Ahead(distance) | Skew::Behind(distance)) = self;
        distance
    }
}

/// The region of the bucket, if the request went to another one.
fn other_region(refused: &Refused<'_>) -> Option<Box<str>> {
    let header = refused.headers.get("x-amz-bucket-region").and_then(|region| region.to_str().ok());
    let region = header.or_else(|| element(refused.body, "Region"))?;
    (is_region(region) && Some(region) != refused.region).then(|| region.into())
}

fn is_region(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=64).contains(&text.len()) && text.bytes().all(fits)
}

/// The region in `The REGION location constraint is incompatible for the region specific endpoint
/// this request was sent to.`
fn constraint(body: &str) -> Option<Box<str>> {
    let (before, _) = element(body, "Message")?.split_once(" location constraint is incompatible")?;
    let region = before.rsplit(' ').next()?;
    (is_region(region) && region != "unspecified").then(|| region.into())
}

/// The text of an element of an error's document.
pub(super) fn element<'a>(document: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = document.split_once(&format!("<{name}>"))?;
    rest.split_once(&format!("</{name}>")).map(|(text, _)| text)
}

fn elsewhere(region: Option<&str>) -> String {
    match region {
        Some(region) => format!("the bucket is in the region {region}: give --region {region} or set AWS_REGION"),
        None => "the bucket is in another region, which the server does not name: give it with --region".into(),
    }
}

fn skewed(skew: Option<Skew>) -> String {
    match skew {
        Some(Skew::Ahead(by)) if by > Duration::from_secs(60) => {
            format!("the clock of this machine is {} ahead of the server's", long(by))
        }
        Some(Skew::Behind(by)) if by > Duration::from_secs(60) => {
            format!("the clock of this machine is {} behind the server's", long(by))
        }
        _ => "the server says that the clock of this machine is wrong".into(),
    }
}

/// Minutes, hours and minutes, or days.
fn long(time: Duration) -> String {
    match time.as_secs() / 60 {
        minutes @ ..60 => format!("{minutes} min"),
        minutes @ 60..2880 => format!("{} h {} min", minutes / 60, minutes % 60),
        minutes => format!("{} days", minutes / 1440),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A refusal with a header, such as `date: today`, or none.
    fn of(status: u16, header: &str, body: &str, region: Option<&str>) -> Option<Amiss> {
        let headers = header.split_once(": ").map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
        let headers = headers.into_iter().collect();
        let now = httpdate::parse_http_date("Thu, 26 Nov 2026 18:00:00 GMT").unwrap();
        Amiss::of_refusal(&Refused { status, headers: &headers, body, region }, now)
    }

    #[test]
    fn another_region_is_named() {
        let here = Some("us-east-1");
        let there = Some(Amiss::Elsewhere(Some("eu-west-1".into())));
        let header = "x-amz-bucket-region: eu-west-1";
        let malformed = "<Error><Code>AuthorizationHeaderMalformed</Code><Region>eu-west-1</Region></Error>";
        assert_eq!(of(301, header, "", None), there);
        assert_eq!(of(301, "", "", here), Some(Amiss::Elsewhere(None)));
        assert_eq!(of(400, header, "", here), there);
        assert_eq!(of(400, "", malformed, here), there);
        assert_eq!(of(400, header, "", Some("eu-west-1")), None);
        assert_eq!(of(400, header, "<Code>ExpiredToken</Code>", here), None);
        let illegal = |of: &str| {
            let message = format!("The {of} location constraint is incompatible for the region specific endpoint.");
            format!("<Error><Code>IllegalLocationConstraintException</Code><Message>{message}</Message></Error>")
        };
        assert_eq!(of(400, "", &illegal("eu-west-1"), here), there);
        assert_eq!(of(400, header, &illegal("unspecified"), here), there);
        assert_eq!(of(400, "", &illegal("unspecified"), None), Some(Amiss::Elsewhere(None)));
        assert_eq!(of(301, "x-amz-bucket-region: a b; rm", "", here), Some(Amiss::Elsewhere(None)));
    }

    #[test]
    fn a_server_that_wants_encryption_says_so() {
        let nginx = "<html><center>The plain HTTP request was sent to HTTPS port</center></html>";
        for body in ["Client sent an HTTP request to an HTTPS server.\n", nginx] {
            assert_eq!(of(400, "", body, Some("us-east-1")), Some(Amiss::Plain));
        }
    }

    #[test]
    fn a_clock_that_is_off_says_how_far() {
        let code = "<Code>RequestTimeTooSkewed</Code>";
        let said = |date: &str, body| {
            of(403, &format!("date: {date}"), body, Some("r")).map(|amiss| amiss.to_string()).unwrap_or_default()
        };
        assert!(said("Thu, 26 Nov 2026 15:58:00 GMT", code).contains("is 2 h 2 min ahead of"));
        assert!(said("Thu, 26 Nov 2026 18:20:00 GMT", "").contains("is 20 min behind"));
        assert!(said("Sun, 26 Nov 2023 18:00:00 GMT", code).contains("1096 days ahead"));
        assert!(said("nonsense", code).contains("is wrong; set the clock"));
        assert_eq!(said("Thu, 26 Nov 2026 17:58:00 GMT", ""), "", "permission denied, and the clock is right");
    }
}
