//! Requests that a browser sends on behalf of a page of another site.
//!
//! A browser sends a request for any page. Two headers tell: `Origin` names the site of the page,
//! and `Host` the name by which the browser knows us. A site whose name leads to this machine (DNS
//! rebinding) counts as one origin with us in the browser's eyes, so that name must not be
//! accepted. A token makes the check of names needless: the browser has none for that site.
//!
//! Names are checked for files and for the control channel. `Origin` is checked for the latter
//! alone: a browser shows no file of ours to a page whose origin differs.

use std::net::IpAddr;
use std::str::FromStr;

use hyper::header::{HOST, ORIGIN};
use hyper::http::request::Parts;
use hyper::http::uri::Authority;
use hyper::{Method, Version};

use crate::refusal::Refusal;

/// A name of this server, besides its addresses and `localhost`. It has no port, and counts with
/// any; upper and lower case are one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostName(String);

/// A text that cannot be a name of a server.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a name of a host has letters, digits, dashes and dots, and no port, as in data.example")]
pub struct BadHostName;

impl FromStr for HostName {
    type Err = BadHostName;

    fn from_str(text: &str) -> Result<HostName, BadHostName> {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
        let whole = !text.is_empty() && text.bytes().all(fits);
        if whole { Ok(HostName(text.to_owned())) } else { Err(BadHostName) }
    }
}

/// The names by which requests may call us.
#[derive(Debug)]
pub(crate) enum Names {
    /// Any, since clients show a token or come through a socket.
    Any,
    /// Addresses, `localhost` and these.
    Own(Vec<HostName>),
}

impl Names {
    /// Refuses a request that calls us by a name that may be another site's.
    pub(crate) fn admit(&self, head: &Parts) -> Result<(), Refusal> {
        let Names::Own(own) = self else { return Ok(()) };
        let mut called = hosts(head).chain(head.uri.authority().map(|authority| Some(authority.as_str())));
        if called.all(|host| host.is_some_and(|host| is_own(host, own))) { Ok(()) } else { Err(Refusal::misdirected()) }
    }
}

fn hosts(head: &Parts) -> impl Iterator<Item = Option<&str>> {
    head.headers.get_all(HOST).iter().map(|host| host.to_str().ok())
}

/// Refuses a request that does not name exactly one host (RFC 9112 §3.2): two parties on its way
/// may take it to be for two servers. HTTP/1.0 knows no such header.
pub(crate) fn one_host(head: &Parts) -> Result<(), Refusal> {
    match hosts(head).count() {
        1 => Ok(()),
        0 if head.version < Version::HTTP_11 => Ok(()),
        count => Err(Refusal::bad_request(format!("one Host header is needed, and there are {count}"))),
    }
}

/// Refuses a request to the control channel that a page of another site sends.
pub(crate) fn same_site(head: &Parts) -> Result<(), Refusal> {
    let mut origins = head.headers.get_all(ORIGIN).iter();
    let own = |origin: &str| {
        let site = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        site.is_some_and(|site| hosts(head).next() == Some(Some(site)))
    };
    // Our own page tells nothing.
    let reads = head.method != Method::POST;
    match origins.all(|origin| reads && origin.to_str().is_ok_and(own)) {
        true => Ok(()),
        false => Err(Refusal::foreign()),
    }
}

/// Whether a host is an address, this machine's own name for itself, or a name that the server was
/// given. None of these can be led here by another site's name server.
fn is_own(host: &str, given: &[HostName]) -> bool {
    let Ok(authority) = host.parse::<Authority>() else { return false };
    let name = authority.host();
    let address = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    let is = |own: &str| name.eq_ignore_ascii_case(own);
    is("localhost") || given.iter().any(|own| is(&own.0)) || address.parse::<IpAddr>().is_ok()
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
        let head = request.body(()).unwrap().into_parts().0;
        Names::Own(vec!["data.example".parse().unwrap()]).admit(&head).and_then(|()| same_site(&head)).is_ok()
    }

    #[test]
    fn names_of_other_sites_are_refused() {
        let given = ["data.example", "Data.Example:7600"];
        for host in
            ["localhost", "LocalHost:80", "127.0.0.1:7680", "[::1]:7680", "10.1.2.3", "[::1]"].iter().chain(&given)
        {
            assert!(admits(Method::GET, "/stats", &[("host", host)]), "{host}");
        }
        let near = ["a.data.example", "data.example.evil", "data.example@evil"];
        for host in ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "", "a b", "::1", "evil:80"]
            .iter()
            .chain(&near)
        {
            assert!(!admits(Method::GET, "/stats", &[("host", host)]), "{host}");
        }
        assert!(!admits(Method::GET, "/stats", &[("host", "localhost"), ("host", "evil.example")]));
        assert!(!admits(Method::GET, "http://evil.example/stats", &[("host", "localhost")]));
        assert!(admits(Method::GET, "/stats", &[]), "a program of old: browsers name their host");
    }

    #[test]
    fn a_name_of_a_host_has_no_port() {
        for text in ["data", "data.example", "node-3.rack_4.example", "10.1.2.3"] {
            assert!(text.parse::<HostName>().is_ok(), "{text}");
        }
        for text in ["", "data:80", "http://data", "data/", "*.example", "a b", "dätä", "[::1]"] {
            assert_eq!(text.parse::<HostName>(), Err(BadHostName), "{text}");
        }
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
