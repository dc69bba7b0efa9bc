//! The target of a request: the path of its address, taken apart, and names put back into
//! addresses.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, percent_encode};

use crate::refusal::Refusal;

/// The bytes that are escaped in a part of an address: all but the unreserved ones (RFC 3986, 2.3).
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The names on the way from the root to the target.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Target {
    /// Names, none of them empty, `.` or `..`, none with a slash or a zero byte.
    pub(crate) names: Vec<OsString>,
    /// Whether the address ends in a slash, as a folder's does.
    pub(crate) slash: bool,
}

impl Target {
    /// Takes the path of an address apart. Names are bytes: they need not be UTF-8.
    pub(crate) fn parse(path: &str) -> Result<Target, Refusal> {
        let bad = |reason: &str| Err(Refusal::bad_request(format!("the address {reason}")));
        let Some(path) = path.strip_prefix('/') else { return bad("has no path") };
        let (inner, slash) = match path.strip_suffix('/') {
            Some(inner) => (inner, true),
            None => (path, path.is_empty()),
        };
        if path.is_empty() {
            return Ok(Target { names: Vec::new(), slash });
        }
        let mut names = Vec::new();
        for part in inner.split('/') {
            if !is_escaped_well(part) {
                return bad("has a % without two digits");
            }
            let name: Vec<u8> = percent_decode_str(part).collect();
            match name.as_slice() {
                b"." | b".." => return bad("has a part . or .."),
                name if name.contains(&0) => return bad("has a zero byte"),
                // No file is called so. An escaped slash is one in a name, not between two.
                name if name.is_empty() || name.contains(&b'/') => return Err(Refusal::not_found()),
                _ => names.push(OsString::from_vec(name)),
            }
        }
        Ok(Target { names, slash })
    }
}

/// Whether each `%` is followed by two hexadecimal digits.
fn is_escaped_well(part: &str) -> bool {
    let digits = |rest: &str| rest.as_bytes().get(..2).is_some_and(|two| two.iter().all(u8::is_ascii_hexdigit));
    part.split('%').skip(1).all(digits)
}

/// A name as it stands in an address.
pub(crate) fn escape(name: &OsStr) -> impl std::fmt::Display + '_ {
    percent_encode(name.as_bytes(), ESCAPED)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn names(path: &str) -> Vec<OsString> {
        Target::parse(path).unwrap().names
    }

    #[test]
    fn addresses_are_taken_apart() {
        assert_eq!(Target::parse("/").unwrap(), Target { names: vec![], slash: true });
        assert_eq!(names("/a/b%20c"), ["a", "b c"]);
        assert!(!Target::parse("/a").unwrap().slash);
        assert!(Target::parse("/a/").unwrap().slash);
        assert_eq!(names("/%ff"), [OsStr::from_bytes(b"\xff")]);
        assert_eq!(names("/a+b"), ["a+b"], "a plus is a plus in a path");
        assert_eq!(names("/..."), ["..."]);
    }

    #[test]
    fn nothing_leads_out() {
        for path in ["", "*", "a", "/..", "/a/../b", "/%2e%2e/b", "/.%2E", "/./a", "/%", "/%2", "/%zz", "/a%00b"] {
            assert_eq!(Target::parse(path).unwrap_err().status().as_u16(), 400, "{path}");
        }
        for path in ["//a", "/a//b", "//", "/a%2fb", "/..%2fetc"] {
            assert_eq!(Target::parse(path).unwrap_err().status().as_u16(), 404, "{path}");
        }
    }

    proptest! {
        #[test]
        fn every_name_comes_back(names in prop::collection::vec(prop::collection::vec(1u8.., 1..20), 1..5)) {
            let named = |name: &Vec<u8>| !name.contains(&b'/') && name != b"." && name != b"..";
            prop_assume!(names.iter().all(named));
            let names: Vec<OsString> = names.into_iter().map(OsString::from_vec).collect();
            let path: String = names.iter().map(|name| format!("/{}", escape(name))).collect();
            prop_assert_eq!(Target::parse(&path).unwrap(), Target { names, slash: false });
        }

        #[test]
        fn no_text_is_taken_for_a_way_out(path in "\\PC*") {
            if let Ok(target) = Target::parse(&path) {
                for name in target.names {
                    prop_assert!(!matches!(name.as_bytes(), b"" | b"." | b".."));
                    prop_assert!(!name.as_bytes().iter().any(|&byte| byte == b'/' || byte == 0));
                }
            }
        }
    }
}
