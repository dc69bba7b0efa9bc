//! Preconditions of a request (RFC 9110, 13): they decide whether the answer is a file, or only
//! that it has (not) changed.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hyper::HeaderMap;
use hyper::header::{HeaderName, IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE, IF_UNMODIFIED_SINCE, RANGE};

use crate::tag;

/// The validators of a file's version.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Validators {
    /// The entity tag.
    pub(crate) tag: String,
    /// The last modification.
    pub(crate) modified: SystemTime,
}

/// The decision on a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// It goes on.
    Go,
    /// The client has this version already.
    NotModified,
    /// The client wants another version, or none if it has changed.
    Failed,
}

/// Evaluates the preconditions of a GET or HEAD in the order of section 13.2.2.
pub(crate) fn verdict(headers: &HeaderMap, file: &Validators) -> Verdict {
    if let Some(list) = list(headers, IF_MATCH) {
        if !tag::named(&list, &file.tag, true) {
            return Verdict::Failed;
        }
    } else if time(headers, IF_UNMODIFIED_SINCE).is_some_and(|since| whole(file.modified) > since) {
        return Verdict::Failed;
    }
    if let Some(list) = list(headers, IF_NONE_MATCH) {
        if tag::named(&list, &file.tag, false) {
            return Verdict::NotModified;
        }
    } else if time(headers, IF_MODIFIED_SINCE).is_some_and(|since| whole(file.modified) <= since) {
        return Verdict::NotModified;
    }
    Verdict::Go
}

/// The `Range` of a request, unless its `If-Range` says that it is meant for another version. A
/// time is never strong enough, since a file may change twice within a second; a client that knows
/// only times gets the whole file.
pub(crate) fn range<'a>(headers: &'a HeaderMap, file: &Validators) -> Option<&'a str> {
    let range = headers.get(RANGE)?.to_str().ok()?;
    match headers.get(IF_RANGE).map(|value| value.to_str()) {
        None => Some(range),
        Some(Ok(wanted)) => (wanted != "*" && tag::named(wanted, &file.tag, true)).then_some(range),
        Some(Err(_)) => None,
    }
}

/// All lines of a header that is a list.
fn list(headers: &HeaderMap, name: HeaderName) -> Option<String> {
    let lines: Vec<_> = headers.get_all(name).iter().map(|value| value.to_str().unwrap_or_default()).collect();
    (!lines.is_empty()).then(|| lines.join(","))
}

fn time(headers: &HeaderMap, name: HeaderName) -> Option<SystemTime> {
    httpdate::parse_http_date(headers.get(name)?.to_str().ok()?).ok()
}

/// In whole seconds, as HTTP has times.
fn whole(time: SystemTime) -> SystemTime {
    match time.duration_since(UNIX_EPOCH) {
        Ok(since) => UNIX_EPOCH + Duration::from_secs(since.as_secs()),
        Err(_) => UNIX_EPOCH,
    }
}

/// A time as HTTP writes it, which has years from 1970 to 9999.
pub(crate) fn date(time: SystemTime) -> String {
    const LAST: u64 = 253_402_300_799;
    let seconds = whole(time).duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(seconds.min(LAST)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> Validators {
        // A second and a half after the example of RFC 9110, 5.6.7.
        let modified = UNIX_EPOCH + Duration::from_millis(784_111_777_500);
        Validators { tag: "\"t\"".into(), modified }
    }

    fn of(headers: &[(HeaderName, &str)]) -> HeaderMap {
        headers.iter().map(|(name, value)| (name.clone(), value.parse().unwrap())).collect()
    }

    const THEN: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
    const BEFORE: &str = "Sun, 06 Nov 1994 08:49:36 GMT";

    #[test]
    fn conditions_are_judged_in_order() {
        use Verdict::*;
        for (headers, expected) in [
            (vec![], Go),
            (vec![(IF_MATCH, "\"t\"")], Go),
            (vec![(IF_MATCH, "*")], Go),
            (vec![(IF_MATCH, "\"u\"")], Failed),
            (vec![(IF_MATCH, "W/\"t\"")], Failed),
            (vec![(IF_MATCH, "\"u\""), (IF_MATCH, "\"t\"")], Go),
            (vec![(IF_NONE_MATCH, "\"t\"")], NotModified),
            (vec![(IF_NONE_MATCH, "W/\"t\"")], NotModified),
            (vec![(IF_NONE_MATCH, "\"u\"")], Go),
            (vec![(IF_MATCH, "\"u\""), (IF_NONE_MATCH, "\"t\"")], Failed),
            (vec![(IF_MODIFIED_SINCE, THEN)], NotModified),
            (vec![(IF_MODIFIED_SINCE, BEFORE)], Go),
            (vec![(IF_MODIFIED_SINCE, "yesterday")], Go),
            (vec![(IF_NONE_MATCH, "\"u\""), (IF_MODIFIED_SINCE, THEN)], Go),
            (vec![(IF_UNMODIFIED_SINCE, THEN)], Go),
            (vec![(IF_UNMODIFIED_SINCE, BEFORE)], Failed),
            (vec![(IF_MATCH, "\"t\""), (IF_UNMODIFIED_SINCE, BEFORE)], Go),
        ] {
            assert_eq!(verdict(&of(&headers), &file()), expected, "{headers:?}");
        }
    }

    #[test]
    fn a_range_is_of_one_version() {
        let range_of = |headers: &[(HeaderName, &str)]| range(&of(headers), &file()).map(str::to_owned);
        let all = |value| [(RANGE, "bytes=1-2"), (IF_RANGE, value)];
        assert_eq!(range_of(&[]), None);
        assert_eq!(range_of(&all("\"t\"")[..1]), Some("bytes=1-2".into()));
        assert_eq!(range_of(&all("\"t\"")), Some("bytes=1-2".into()));
        for other in ["\"u\"", "W/\"t\"", THEN, "*", ""] {
            assert_eq!(range_of(&all(other)), None, "{other}");
        }
    }

    #[test]
    fn times_are_written_as_http_has_them() {
        assert_eq!(date(file().modified), THEN);
        assert_eq!(date(UNIX_EPOCH - Duration::from_secs(1)), "Thu, 01 Jan 1970 00:00:00 GMT");
        assert_eq!(date(UNIX_EPOCH + Duration::from_secs(1 << 40)), "Fri, 31 Dec 9999 23:59:59 GMT");
    }
}
