//! Helps if the two ends do not agree on encryption.

use std::time::Duration;

use reqwest::{Client, Url};

/// How long a server that is asked for encryption may take.
const PROBE: Duration = Duration::from_secs(2);

/// The words of the TLS library with a remedy.
pub(crate) fn explained(words: String) -> String {
    let way_out = match &*words {
        words if words.contains("InvalidContentType") => "the server speaks without encryption there, with http://",
        words if words.contains("UnknownIssuer") => "--source-ca names certificates to trust",
        _ => return words,
    };
    format!("{words} ({way_out})")
}

/// The address with encryption, for a server that was asked without it and speaks only with it.
/// Such servers refuse a request in words of their own, or end the connection. The probe shows the
/// server nothing but the server's own name.
pub(super) async fn encrypted(plain: &str) -> Option<String> {
    let mut url = Url::parse(plain).ok().filter(|url| url.scheme() == "http")?;
    // A port that is not given is 80, where no server speaks with encryption.
    let port = url.port()?;
    url.set_scheme("https").and_then(|()| url.set_port(Some(port)).map_err(drop)).ok()?;
    let shown = url.to_string();
    url.set_path("/");
    // The mount checks the server's identity later.
    let client = Client::builder().tls_danger_accept_invalid_certs(true).timeout(PROBE);
    let client = client.redirect(reqwest::redirect::Policy::none()).http1_only().build().ok()?;
    let speaks = match client.head(url).send().await {
        Ok(_) => true,
        // It wants a certificate of ours, or another version.
        Err(error) => format!("{error:?}").contains("AlertReceived"),
    };
    speaks.then_some(shown)
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

    #[tokio::test]
    async fn a_server_without_encryption_is_none_with_it() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/a", listener.local_addr().unwrap());
        let closes = tokio::spawn(async move { drop(listener.accept().await) });
        assert_eq!(encrypted(&url).await, None);
        closes.await.unwrap();
        assert_eq!(encrypted("http://127.0.0.1/").await, None, "it is not asked");
    }
}
