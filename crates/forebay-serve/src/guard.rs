//! Requests that a browser sends on behalf of a page of another site.
//!
//! A browser sends a request for any page. Two headers tell: `Origin` names the site of the page,
//! and `Host` the name by which the browser knows us. A site whose name leads to this machine (DNS
//! rebinding) counts as one origin with us in the browser's eyes, so that name must not be
//! accepted. A token makes the check of names needless: the browser has none for that site.

use std::net::IpAddr;

use hyper::Method;
use hyper::header::{HOST, ORIGIN};
use hyper::http::request::Parts;
use hyper::http::uri::Authority;

use crate::refusal::Refusal;

/// Refuses what pages of other sites send. `names` says whether the request must name us by an
/// address or as localhost.
pub(crate) fn admit(head: &Parts, names: bool) -> Result<(), Refusal> {
    let hosts = || head.headers.get_all(HOST).iter().map(|host| host.to_str().ok());
    let named = hosts().chain(head.uri.authority().map(|authority| Some(authority.as_str())));
    if names && !named.into_iter().all(|host| host.is_some_and(is_own)) {
        return Err(Refusal::misdirected());
    }
    let mut origins = head.headers.get_all(ORIGIN).iter();
    let own = |origin: &str| {
        let site = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        site.is_some_and(|site| hosts().next() == Some(Some(site)))
    };
    // Our own page tells nothing.
    let reads = head.method != Method::POST;
    match origins.all(|origin| reads && origin.to_str().is_ok_and(own)) {
        true => Ok(()),
        false => Err(Refusal::foreign()),
    }
}

/// Whether a host is an address, or this machine's own name for itself. Neither can be led here by
/// another site's name server.
fn is_own(host: &str) -> bool {
    let Ok(authority) = host.parse::<Authority>() else { return false };
    let name = authority.host();
    let address = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    name.eq_ignore_ascii_case("localhost") || address.parse::<IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::Request;

    fn admits(method: Method, uri: &str, headers: &[(&str, &str)]) -> bool {
        let mut request = Request::builder().method(method).uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        admit(&request.body(()).unwrap().into_parts().0, true).is_ok()
    }

    #[test]
    fn names_of_other_sites_are_refused() {
        for host in ["localhost", "LocalHost:80", "127.0.0.1:7680", "[::1]:7680", "10.1.2.3", "[::1]"] {
            assert!(admits(Method::GET, "/stats", &[("host", host)]), "{host}");
        }
        for host in ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "", "a b", "::1", "evil:80"] {
            assert!(!admits(Method::GET, "/stats", &[("host", host)]), "{host}");
        }
        assert!(!admits(Method::GET, "/stats", &[("host", "localhost"), ("host", "evil.example")]));
        assert!(!admits(Method::GET, "http://evil.example/stats", &[("host", "localhost")]));
        assert!(admits(Method::GET, "/stats", &[]), "a program of old: browsers name their host");
    }

    #[test]
    fn pages_of_other_sites_neither_read_nor_tell() {
        let here = ("host", "127.0.0.1:7680");
        assert!(admits(Method::GET, "/stats", &[here, ("origin", "http://127.0.0.1:7680")]));
        assert!(admits(Method::GET, "/stats", &[here, ("origin", "https://127.0.0.1:7680")]));
        for origin in ["http://evil.example", "null", "http://127.0.0.1:1", "http://127.0.0.1", "127.0.0.1:7680"] {
            assert!(!admits(Method::GET, "/stats", &[here, ("origin", origin)]), "{origin}");
            assert!(!admits(Method::POST, "/hint", &[here, ("origin", origin)]), "{origin}");
        }
        assert!(!admits(Method::POST, "/hint", &[here, ("origin", "http://127.0.0.1:7680")]));
        assert!(admits(Method::POST, "/hint", &[here]));
    }
}
