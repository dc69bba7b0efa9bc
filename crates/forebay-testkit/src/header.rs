//! The headers of requests and answers.

/// A header of HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Its name, in the letters in which it came or is to be sent.
    pub name: String,
    /// Its value. Bytes that are not UTF-8 are replaced.
    pub value: String,
}

impl Header {
    /// A header to be sent as it is.
    pub fn new(name: impl Into<String>, value: impl Into<String>) -> Header {
        Header { name: name.into(), value: value.into() }
    }

    /// The value of the first of `headers` with this name, in any case of letters.
    pub fn find<'a>(headers: &'a [Header], name: &str) -> Option<&'a str> {
        headers.iter().find(|header| header.is(name)).map(|header| header.value.as_str())
    }

    /// Whether it has this name, in any case of letters.
    pub fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }

    pub(crate) fn parsed(header: &httparse::Header<'_>) -> Header {
        Header::new(header.name, String::from_utf8_lossy(header.value))
    }
}
