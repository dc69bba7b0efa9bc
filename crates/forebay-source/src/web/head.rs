//! The head of an answer, as far as it tells of a file.

use std::time::{Duration, SystemTime};

use reqwest::StatusCode;
use reqwest::header::{self, HeaderMap, HeaderName};

use crate::remote::{Hint, retry_after};
use crate::{Facts, Version};

/// The head of an answer. Headers that are not understood are left out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Head {
    pub(super) status: StatusCode,
    /// `Content-Length`, in bytes.
    pub(super) length: Option<u64>,
    /// `Content-Range`.
    pub(super) range: Option<ContentRange>,
    /// `ETag`.
    pub(super) tag: Option<Box<str>>,
    /// `Last-Modified`, in nanoseconds since the epoch.
    pub(super) modified: Option<i64>,
    /// `Content-Encoding` in small letters, if the label is of a coding: see `coding.rs`.
    pub(super) coding: Option<Box<str>>,
    /// `Content-Type` in small letters, without parameters.
    pub(super) media: String,
    /// `Retry-After`, from now on.
    pub(super) wait: Option<Duration>,
    /// The credentials that it wants, by `WWW-Authenticate`.
    pub(super) wants: Option<Hint>,
}

/// `Content-Range`, in bytes; the end is not included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ContentRange {
    /// The bytes that follow; `None` in a refusal.
    pub(super) part: Option<Part>,
    /// The length of the file, if it is told.
    pub(super) total: Option<u64>,
}

/// A part of a file, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Part {
    pub(super) start: u64,
    pub(super) end: u64,
}

impl Head {
    pub(super) fn of(status: StatusCode, headers: &HeaderMap) -> Head {
        let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
        let media = text(header::CONTENT_TYPE).unwrap_or_default();
        Head {
            status,
            length: one_length(headers),
            range: text(header::CONTENT_RANGE).and_then(content_range),
            // A tag may have bytes that are not ASCII.
            tag: headers.get(header::ETAG).and_then(|value| tag(&String::from_utf8_lossy(value.as_bytes()))),
            modified: text(header::LAST_MODIFIED).and_then(date),
            coding: coding(headers),
            media: media.split(';').next().unwrap_or_default().trim().to_ascii_lowercase(),
            wait: text(header::RETRY_AFTER).and_then(|text| retry_after(text, SystemTime::now())),
            wants: wants(status, headers),
        }
    }

    /// Its facts about a file of `size` bytes.
    pub(super) fn facts(&self, size: u64) -> Facts {
        Facts { size, modified: self.modified, tag: self.tag.clone() }
    }

    /// Whether the body is a page of HTML, by its type.
    pub(super) fn is_page(&self) -> bool {
        matches!(self.media.as_str(), "text/html" | "application/xhtml+xml")
    }
}

/// A length in bytes: digits that a file's length can have.
pub(super) fn length(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|&length| digits && length <= i64::MAX as u64)
}

/// The credentials that an answer asks for. Of several kinds it is one that we have.
fn wants(status: StatusCode, headers: &HeaderMap) -> Option<Hint> {
    if status == StatusCode::PROXY_AUTHENTICATION_REQUIRED {
        return Some(Hint::Proxy);
    }
    let challenges = headers.get_all(header::WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok());
    let challenges = challenges.collect::<Vec<_>>().join(",").to_ascii_lowercase();
    // Texts in quotes, such as realms, may have any words.
    let challenges: String = challenges.split('"').step_by(2).collect();
    // A scheme is the first word of a challenge; other parts between commas have an equals sign.
    let has = |scheme: &str| challenges.split(',').any(|part| part.split_whitespace().next() == Some(scheme));
    match (has("basic"), has("bearer")) {
        // Either will do.
        (true, true) => None,
        (true, false) => Some(Hint::Login),
        (false, true) => Some(Hint::Token),
        (false, false) => (!challenges.is_empty()).then_some(Hint::Scheme),
    }
}

/// `Content-Length`, if all headers of that name agree.
fn one_length(headers: &HeaderMap) -> Option<u64> {
    let values = headers.get_all(header::CONTENT_LENGTH).iter();
    let mut lengths =
        values.flat_map(|value| value.to_str().unwrap_or_default().split(',')).map(|text| length(text.trim()));
    let first = lengths.next()??;
    lengths.all(|other| other == Some(first)).then_some(first)
}

/// The codings of the body. `aws-chunked` is none: it was the coding of an upload to S3, and some
/// stores keep the label.
fn coding(headers: &HeaderMap) -> Option<Box<str>> {
    let values = headers.get_all(header::CONTENT_ENCODING).iter();
    let values: Vec<String> =
        values.map(|value| String::from_utf8_lossy(value.as_bytes()).to_ascii_lowercase()).collect();
    let codings = values.iter().flat_map(|value| value.split(',')).map(str::trim);
    let codings: Vec<&str> = codings.filter(|coding| !matches!(*coding, "" | "identity" | "aws-chunked")).collect();
    (!codings.is_empty()).then(|| codings.join(",").into())
}

/// A date in one of the three forms of HTTP (RFC 9110, 5.6.7), in nanoseconds since the epoch.
pub(super) fn date(text: &str) -> Option<i64> {
    let date = httpdate::parse_http_date(text.trim()).ok()?;
    i64::try_from(date.duration_since(SystemTime::UNIX_EPOCH).ok()?.as_nanos()).ok()
}

/// An entity tag as it is written; an empty one tells nothing.
pub(super) fn tag(text: &str) -> Option<Box<str>> {
    let text = text.trim();
    (!opaque(text).is_empty()).then(|| text.into())
}

/// The part of a tag that is compared: listings and answers differ in quotes and in `W/`.
pub(super) fn opaque(tag: &str) -> &str {
    let tag = tag.strip_prefix("W/").or_else(|| tag.strip_prefix("w/")).unwrap_or(tag);
    tag.strip_prefix('"').and_then(|tag| tag.strip_suffix('"')).unwrap_or(tag)
}

/// The tag of a version as `If-Match` takes it: only one that is strong and written as one.
pub(super) fn strong(version: &Version) -> Option<&str> {
    let tag = version.tag.as_deref()?;
    let inner = tag.strip_prefix('"')?.strip_suffix('"')?;
    let legal = |byte: u8| byte == 0x21 || (0x23..=0x7e).contains(&byte);
    (!inner.is_empty() && inner.bytes().all(legal)).then_some(tag)
}

/// `bytes A-B/TOTAL`, `bytes A-B/*` or `bytes */TOTAL`.
fn content_range(text: &str) -> Option<ContentRange> {
    let (unit, rest) = text.split_once([' ', '='])?;
    if !unit.eq_ignore_ascii_case("bytes") {
        return None;
    }
    let (part, total) = rest.split_once('/')?;
    let (part, total) = (part.trim(), total.trim());
    let total = if total == "*" { None } else { Some(length(total)?) };
    if part == "*" {
        return Some(ContentRange { part: None, total });
    }
    let (start, last) = part.split_once('-')?;
    let (start, last) = (length(start.trim())?, length(last.trim())?);
    let within = start <= last && total.is_none_or(|total| last < total);
    within.then_some(ContentRange { part: Some(Part { start, end: last + 1 }), total })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_in_the_three_forms_of_http_and_no_other() {
        let expected = Some(1_536_310_198_000_000_000);
        for text in ["Fri, 07 Sep 2018 08:49:58 GMT", "Friday, 07-Sep-18 08:49:58 GMT", "Fri Sep  7 08:49:58 2018"] {
            assert_eq!(date(text), expected, "{text}");
        }
        for text in ["", "2018-09-07T08:49:58Z", "the other day", "Fri, 07 Sep 2018 10:49:58 +0200", "0"] {
            assert_eq!(date(text), None, "{text}");
        }
    }

    #[test]
    fn labels_of_uploads_are_no_codings() {
        let of = |values: &[&'static str]| {
            coding(&values.iter().map(|value| (header::CONTENT_ENCODING, value.parse().unwrap())).collect())
        };
        for none in [&[][..], &[""], &["identity"], &["aws-chunked"], &["AWS-chunked, identity"]] {
            assert_eq!(of(none), None, "{none:?}");
        }
        assert_eq!(of(&["aws-chunked,X-Gzip"]).as_deref(), Some("x-gzip"));
        assert_eq!(of(&["gzip", "br"]).as_deref(), Some("gzip,br"));
    }

    #[test]
    fn ranges_are_taken_apart() {
        let range = |start, end, total| Some(ContentRange { part: Some(Part { start, end }), total });
        assert_eq!(content_range("bytes 0-0/1"), range(0, 1, Some(1)));
        assert_eq!(content_range("bytes 5-9/*"), range(5, 10, None));
        assert_eq!(content_range("bytes */0"), Some(ContentRange { part: None, total: Some(0) }));
        assert_eq!(
            content_range("bytes 4294967296-4294967297/5000000000"),
            range(1 << 32, (1 << 32) + 2, Some(5_000_000_000))
        );
        for text in
            ["", "bytes", "bytes 5-4/10", "bytes 0-10/10", "lines 0-1/2", "bytes 0-1", "bytes -1/2", "bytes 0-+1/9"]
        {
            assert_eq!(content_range(text), None, "{text}");
        }
    }

    #[test]
    fn challenges_name_the_credentials_that_are_wanted() {
        let of = |status, challenges: &[&'static str]| {
            let value = |challenge: &&'static str| (header::WWW_AUTHENTICATE, challenge.parse().unwrap());
            wants(StatusCode::from_u16(status).unwrap(), &challenges.iter().map(value).collect())
        };
        assert_eq!(of(401, &["Basic realm=\"a, bearer b\""]), Some(Hint::Login));
        assert_eq!(of(401, &["Bearer"]), Some(Hint::Token));
        assert_eq!(of(401, &["bearer realm=\"x\", error=\"invalid_token\""]), Some(Hint::Token));
        assert_eq!(of(401, &["Negotiate", "NTLM"]), Some(Hint::Scheme));
        assert_eq!(of(401, &["Digest realm=\"r\", nonce=\"n\"", "Basic realm=\"r\""]), Some(Hint::Login));
        assert_eq!(of(401, &["Bearer realm=\"f\", Basic realm=\"f\""]), None, "either");
        assert_eq!((of(403, &[]), of(407, &[])), (None, Some(Hint::Proxy)));
    }

    #[test]
    fn tags_without_characters_are_none() {
        assert_eq!(["", "\"\"", "W/\"\"", " "].map(tag), [None, None, None, None]);
        assert_eq!(["W/\"a\"", "\"a\"", "a"].map(opaque), ["a", "a", "a"]);
        let version = |text: &str| Version { tag: Some(text.into()), ..Version::default() };
        assert_eq!(strong(&version("\"a\"")), Some("\"a\""));
        assert_eq!(["W/\"a\"", "a", "\"a b\"", "\""].map(|text| strong(&version(text)).is_some()), [false; 4]);
    }
}
