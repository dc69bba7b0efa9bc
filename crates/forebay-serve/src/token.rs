//! The token: decides which clients may read.

use std::time::{Duration, Instant};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use hyper::HeaderMap;
use hyper::header::AUTHORIZATION;
use parking_lot::Mutex;
use subtle::ConstantTimeEq;

use crate::connection::Client;

/// How long refused requests are not told again.
const QUIET: Duration = Duration::from_secs(60);

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

/// Clients that did not show the token, told in the log: one line a minute, since those who guess
/// tokens guess fast. How many more there were comes with the next line.
#[derive(Debug, Default)]
pub(crate) struct Refused(Mutex<Option<Said>>);

#[derive(Debug)]
struct Said {
    at: Instant,
    /// Requests that were refused since.
    more: u64,
}

impl Refused {
    /// A request of this client was refused.
    pub(crate) fn hear(&self, client: Client, now: Instant) {
        if let Some(more) = self.tells(now) {
            let before = if more > 0 { format!("; {more} more since the last such line") } else { String::new() };
            log::warn!("{client}: a request without the right token was refused{before}");
        }
    }

    /// Whether to tell it, and the number that was not told before.
    fn tells(&self, now: Instant) -> Option<u64> {
        let mut said = self.0.lock();
        match said.as_mut() {
            Some(said) if now.duration_since(said.at) < QUIET => {
                said.more += 1;
                None
            }
            _ => Some(said.replace(Said { at: now, more: 0 }).map_or(0, |said| said.more)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_told_once_a_minute() {
        let (refused, begin) = (Refused::default(), Instant::now());
        let told = [0, 1, 59, 60, 61, 200].map(|second| refused.tells(begin + Duration::from_secs(second)));
        assert_eq!(told, [Some(0), None, None, Some(2), None, Some(1)]);
    }

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
