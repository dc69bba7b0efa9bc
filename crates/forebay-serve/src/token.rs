//! The token: decides which clients may read.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use hyper::HeaderMap;
use hyper::header::AUTHORIZATION;
use subtle::ConstantTimeEq;

/// A secret that clients show. Not printed.
#[derive(Clone)]
pub struct Token(String);

/// A text that cannot be a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a token has at least {LEAST} letters, digits or punctuation marks, and no spaces")]
pub struct BadToken;

/// The fewest characters of a token: enough that it cannot be guessed.
const LEAST: usize = 16;

impl Token {
    /// A token from its text; white space around it, such as a file's end of line, is not part of
    /// it.
    pub fn new(text: &str) -> Result<Token, BadToken> {
        let text = text.trim();
        let fits = text.len() >= LEAST && text.bytes().all(|byte| byte.is_ascii_graphic());
        if fits { Ok(Token(text.to_owned())) } else { Err(BadToken) }
    }

    /// Whether a request shows it, as a bearer's or as the password of any name (browsers and the
    /// addresses of mounts, `http://any:TOKEN@host/`, can do the latter).
    pub(crate) fn shown_in(&self, headers: &HeaderMap) -> bool {
        let Some((scheme, given)) = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()?.split_once(' '))
        else {
            return false;
        };
        let given = given.trim();
        if scheme.eq_ignore_ascii_case("bearer") {
            return self.equals(given.as_bytes());
        }
        if !scheme.eq_ignore_ascii_case("basic") {
            return false;
        }
        let decoded = BASE64_STANDARD.decode(given).unwrap_or_default();
        let password = decoded.iter().position(|&byte| byte == b':').map(|at| &decoded[at + 1..]);
        password.is_some_and(|password| self.equals(password))
    }

    /// The time that this takes tells nothing but the length.
    fn equals(&self, given: &[u8]) -> bool {
        self.0.as_bytes().ct_eq(given).into()
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_shown_in_two_ways() {
        let token = Token::new("0123456789abcdef\n").unwrap();
        let shown = |value: &str| token.shown_in(&[(AUTHORIZATION, value.parse().unwrap())].into_iter().collect());
        assert!(shown("Bearer 0123456789abcdef"));
        assert!(shown("bearer  0123456789abcdef"));
        let basic = |text: &str| format!("Basic {}", BASE64_STANDARD.encode(text));
        assert!(shown(&basic("me:0123456789abcdef")));
        assert!(shown(&basic(":0123456789abcdef")));
        for wrong in
            ["", "Bearer", "Bearer ", "Bearer 0123456789abcdeg", "Bearer 0123456789abcde", "Basic !!", "Digest x"]
        {
            assert!(!shown(wrong), "{wrong}");
        }
        assert!(!shown(&basic("0123456789abcdef")));
        assert!(!shown(&basic("me:0123456789abcdef0")));
        assert!(!token.shown_in(&HeaderMap::new()));
        assert_eq!(format!("{token:?}"), "Token");
    }

    #[test]
    fn what_can_be_guessed_is_no_token() {
        for text in ["", "short", "0123456789abcde", "0123456789 abcdef", "0123456789abcdéf", "0123456789abcdef\n\nx"]
        {
            assert_eq!(Token::new(text).unwrap_err(), BadToken, "{text}");
        }
    }
}
