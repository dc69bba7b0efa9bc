//! What to do where two ends do not agree on encryption.

/// The words of the TLS library with what to do.
pub(crate) fn explained(words: String) -> String {
    let way_out = match &*words {
        words if words.contains("InvalidContentType") => "the server speaks without encryption there, with http://",
        words if words.contains("UnknownIssuer") => "--source-ca names certificates to trust",
        _ => return words,
    };
    format!("{words} ({way_out})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_library_get_a_way_out() {
        let told = explained("received corrupt message of type InvalidContentType".into());
        assert!(told.ends_with("(the server speaks without encryption there, with http://)"), "{told}");
        assert_eq!(explained("Connection refused".into()), "Connection refused");
    }
}
