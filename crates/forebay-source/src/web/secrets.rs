//! Credentials for a server: a token, or a user's name and password.

use std::fmt;
use std::path::Path;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use reqwest::header::HeaderValue;

/// A secret that a server wants with every request (`Authorization: Bearer …`). Never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(HeaderValue);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

/// Why a text is no token.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// The file that holds it cannot be read.
    #[error("{file}: {source}")]
    Unreadable {
        /// The file.
        file: String,
        /// Why.
        source: std::io::Error,
    },
    /// It is empty, or holds characters that a header cannot have.
    #[error("{0}: a token is one line of printable ASCII without spaces")]
    Malformed(String),
}

impl Token {
    /// The token in a file: its text without white space around it.
    pub fn of_file(file: &Path) -> Result<Token, TokenError> {
        let file_name = || file.display().to_string();
        let text = std::fs::read_to_string(file);
        let text = text.map_err(|source| TokenError::Unreadable { file: file_name(), source })?;
        Token::parse(&text, &file_name())
    }

    /// The token in `text`, without white space around it; `whence` is for the message.
    pub fn parse(text: &str, whence: &str) -> Result<Token, TokenError> {
        let malformed = || TokenError::Malformed(whence.to_owned());
        let text = text.trim();
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(malformed());
        }
        let mut value = HeaderValue::from_str(&format!("Bearer {text}")).map_err(|_| malformed())?;
        value.set_sensitive(true);
        Ok(Token(value))
    }

    pub(super) fn header(&self) -> HeaderValue {
        self.0.clone()
    }
}

/// A user's name and password (`Authorization: Basic …`). The password is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Login {
    user: Box<str>,
    header: HeaderValue,
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Login").field("user", &self.user).finish_non_exhaustive()
    }
}

/// Why a text is no user's name and password.
#[derive(Debug, thiserror::Error)]
pub enum LoginError {
    /// The file that holds them cannot be read.
    #[error("{file}: {source}")]
    Unreadable {
        /// The file.
        file: String,
        /// Why.
        source: std::io::Error,
    },
    /// There is no colon, or there are control characters.
    #[error("{0}: a user and a password are one line, USER:PASSWORD")]
    Malformed(String),
}

impl Login {
    /// The user and the password in a file: one line, `user:password`.
    pub fn of_file(file: &Path) -> Result<Login, LoginError> {
        let file_name = || file.display().to_string();
        let text = std::fs::read_to_string(file);
        let text = text.map_err(|source| LoginError::Unreadable { file: file_name(), source })?;
        let line = text.strip_suffix('\n').unwrap_or(&text);
        let line = line.strip_suffix('\r').unwrap_or(line);
        let (user, password) = line.split_once(':').ok_or_else(|| LoginError::Malformed(file_name()))?;
        Login::new(user, password).ok_or_else(|| LoginError::Malformed(file_name()))
    }

    /// `None` if they hold control characters, or the user a colon.
    pub fn new(user: &str, password: &str) -> Option<Login> {
        if user.contains(':') || user.chars().chain(password.chars()).any(char::is_control) {
            return None;
        }
        let encoded = BASE64_STANDARD.encode(format!("{user}:{password}"));
        let mut header = HeaderValue::from_str(&format!("Basic {encoded}")).ok()?;
        header.set_sensitive(true);
        Some(Login { user: user.into(), header })
    }

    /// The user's name.
    pub fn user(&self) -> &str {
        &self.user
    }

    pub(super) fn header(&self) -> HeaderValue {
        self.header.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_read_and_never_shown() {
        let token = Token::parse(" s3cret+/=\n", "it").unwrap();
        assert_eq!(token.0, "Bearer s3cret+/=");
        assert!(!format!("{token:?} {:?}", token.0).contains("s3cret"));
        for text in ["", " \n", "two words", "two\nlines", "schlüssel", "\u{1}"] {
            let error = Token::parse(text, "the file").unwrap_err().to_string();
            assert!(error.starts_with("the file: a token is one line"), "{error}");
        }
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        assert!(Token::of_file(&file).unwrap_err().to_string().starts_with(&file.display().to_string()));
        std::fs::write(&file, "s3cret+/=\r\n").unwrap();
        assert_eq!(Token::of_file(&file).unwrap(), token);
    }

    #[test]
    fn logins_are_read_and_passwords_never_shown() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("login");
        std::fs::write(&file, "Aladdin:open: sesame\n").unwrap();
        let login = Login::of_file(&file).unwrap();
        assert_eq!(
            (login.user(), &login.header),
            ("Aladdin", &HeaderValue::from_static("Basic QWxhZGRpbjpvcGVuOiBzZXNhbWU="))
        );
        let shown = format!("{login:?} {:?}", login.header);
        assert!(shown.contains("Aladdin") && !shown.contains("sesame") && !shown.contains("QWxh"), "{shown}");
        for text in ["no colon", "a:b\nc:d\n", ""] {
            std::fs::write(&file, text).unwrap();
            assert!(Login::of_file(&file).is_err(), "{text:?}");
        }
    }
}
