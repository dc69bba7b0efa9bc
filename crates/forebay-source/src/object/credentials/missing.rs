//! Why there are no credentials, in words for users, without secrets.

use std::error::Error;
use std::time::{Duration, SystemTime};

use aws_config::imds::client::error::ImdsError;

/// The longest reason that is shown, characters. A process may write anything.
const LONGEST: usize = 300;

/// Words of the AWS crates that add nothing to the words after them.
const EMPTY: [&str; 8] = [
    "an error occurred while loading credentials",
    "unexpected credentials error",
    "the credentials provider was not properly configured",
    "the credential provider was not enabled",
    "an error occurred while loading token",
    "service error",
    "dispatch failure",
    "io error",
];

/// Why there are no credentials.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(in crate::object) enum Missing {
    /// No place has any.
    #[error(
        "no credentials found: {looked}; set AWS_ACCESS_KEY_ID or AWS_PROFILE, use --profile, \
         or --no-sign-request if the bucket is public"
    )]
    Nowhere {
        /// Each place, and why it has none.
        looked: String,
    },
    /// The chosen profile is not there.
    #[error("no profile {profile} in {files}")]
    NoProfile {
        /// Its name.
        profile: String,
        /// The files, and which of them cannot be read.
        files: String,
    },
    /// A role that wants a second factor, which a mount cannot ask for.
    #[error(
        "the role of profile {profile} wants a code of a second factor (mfa_serial), which is not supported; \
         use a credential_process, or keys of a session (AWS_SESSION_TOKEN)"
    )]
    Factor {
        /// The profile with the role.
        profile: String,
    },
    /// The profile files are not understood.
    #[error("{0}")]
    Files(String),
    /// One place should have given credentials, and did not.
    #[error("no credentials from {place}: {reason}")]
    Refused {
        /// The place.
        place: String,
        /// Why it did not.
        reason: String,
    },
    /// The credentials were given, and have ended.
    #[error("the credentials that were given ended on {} (is the clock right?)", date(*.0))]
    Over(SystemTime),
    /// One place answers with neither credentials nor an error.
    #[error("no credentials from {place} within {} s", .limit.as_secs_f64())]
    Silent {
        /// The place.
        place: String,
        /// How long it had.
        limit: Duration,
    },
    /// The task that asked for them came to an end.
    #[error("the request for credentials was abandoned")]
    Abandoned,
}

/// A moment as a date, if the calendar of HTTP has it.
fn date(moment: SystemTime) -> String {
    const YEAR_10000: u64 = 253_402_300_800;
    let since = moment.duration_since(SystemTime::UNIX_EPOCH);
    let known = since.is_ok_and(|since| since.as_secs() < YEAR_10000);
    if known { httpdate::fmt_http_date(moment) } else { "a day that no calendar has".into() }
}

/// The causes of an error that add something, on one line.
pub(super) fn reason(error: &(dyn Error + 'static)) -> String {
    let mut said: Vec<String> = Vec::new();
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = cause {
        let words = words(error);
        if !EMPTY.contains(&words.as_str()) && !said.contains(&words) {
            said.push(words);
        }
        cause = error.source();
    }
    let words = said.join(": ");
    match words.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &words[..end]),
        None if words.is_empty() => "it does not say why".into(),
        None => words,
    }
}

/// An error on one line. Its own words are not shown if they hold a secret, or a whole answer.
fn words(error: &(dyn Error + 'static)) -> String {
    if let Some(ImdsError::ErrorResponse(answer)) = error.downcast_ref() {
        return format!("the answer is {}", answer.response().status().as_u16());
    }
    let words = error.to_string();
    if words.contains("as a header value for the auth token") {
        return "the token that authorizes the container is no value of a header".into();
    }
    if words.contains("credentials-login") {
        return "logins of `aws login` are not supported".into();
    }
    // The crate's words for a process, which address a programmer.
    let words = words.strip_prefix("Error retrieving credentials: ").unwrap_or(&words);
    let words = words.replace("external process exited with code ", "the process ended with ");
    let words = words.replace("Error retrieving credentials from external process, could not", "could not");
    let words = words.replace(". Stderr: ", ", and said: ");
    let printable: String = words.chars().map(|char| if char.is_control() { ' ' } else { char }).collect();
    let line = printable.split_whitespace().collect::<Vec<_>>().join(" ");
    line.strip_suffix(", and said:").unwrap_or(&line).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_credential_types::provider::error::CredentialsError;

    #[test]
    fn a_reason_is_one_line_of_what_says_something() {
        let process = "Error retrieving credentials: external process exited with code exit status: 3. Stderr: ";
        let error = |said: &str| reason(&CredentialsError::provider_error(format!("{process}{said}")));
        assert_eq!(error("no\n luck\x1b[1m\n"), "the process ended with exit status: 3, and said: no luck [1m");
        assert_eq!(error("\n"), "the process ended with exit status: 3");
        assert_eq!(reason(&CredentialsError::not_loaded_no_source()), "it does not say why");
        let long = reason(&CredentialsError::unhandled("ä".repeat(1000)));
        assert_eq!(long.chars().count(), LONGEST + 1);
    }

    #[test]
    fn a_token_is_not_shown() {
        let words = "`secret\n` could not be used as a header value for the auth token. failed to parse";
        let reason = reason(&CredentialsError::invalid_configuration(words));
        assert!(!reason.contains("secret") && reason.contains("container"), "{reason}");
    }
}
