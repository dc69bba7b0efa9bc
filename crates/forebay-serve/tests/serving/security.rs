//! The clients that may read: tokens, certificates, addresses.

use std::fs;
use std::process::Command;

use crate::{ask, curl, forgetful, local, serve, tree};
use forebay_serve::{Options, Server, StartError, Tls, TlsError, Token};
use forebay_testkit::certificate::Certificate;

const SECRET: &str = "a-token-of-no-worth";

fn with_token() -> Options {
    Options { token: Some(Token::new(SECRET).unwrap()), ..forgetful() }
}

#[test]
fn a_token_must_be_shown() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "bytes").unwrap();
    let server = serve(folder.path(), with_token());
    let url = format!("http://{}/file", server.address());
    let bearer = format!("Authorization: Bearer {SECRET}");
    assert_eq!(curl(&["--header", &bearer, &url]).text(), "bytes");
    assert_eq!(curl(&["--user", &format!("me:{SECRET}"), &url]).text(), "bytes");
    for args in [vec![&*url], vec!["--header", "Authorization: Bearer no", &url], vec!["--user", "me:no", &url]] {
        let refused = curl(&args);
        assert_eq!(refused.status, 401);
        assert!(refused.header("www-authenticate").unwrap().starts_with("Bearer"));
        assert!(!refused.text().contains("bytes"));
    }
    for line in ["GET /nothing", "PROPFIND /", "OPTIONS *", "POST /", "GET /.well-known/forebay/stats", "GET /%zz"] {
        assert_eq!(ask(&server, line, "").status, 401, "{line}: strangers learn nothing");
    }
    let stats = curl(&["--header", &bearer, &format!("http://{}{}", server.address(), forebay_serve::STATS)]);
    assert!(stats.text().starts_with('{') && stats.text().contains("\"memory_bytes\""), "{}", stats.text());
}

#[test]
fn elsewhere_needs_a_token() {
    let folder = tempfile::tempdir().unwrap();
    let tree = tree(vec![(None, local(folder.path()))]);
    let everywhere = ([0, 0, 0, 0], 0).into();
    let refused = Server::start(std::sync::Arc::clone(&tree), everywhere, forgetful());
    assert!(matches!(refused, Err(StartError::Open(_))));
    let mapped = "[::ffff:0.0.0.0]:0".parse().unwrap();
    assert!(matches!(Server::start(tree, mapped, forgetful()), Err(StartError::Open(_))));
}

#[test]
fn a_taken_port_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let server = serve(folder.path(), forgetful());
    let again = Server::start(tree(vec![(None, local(folder.path()))]), server.address(), forgetful());
    let error = again.err().unwrap().to_string();
    assert!(error.contains(&server.address().to_string()) && error.contains("in use"), "{error}");
}

#[test]
fn encrypted_with_a_certificate_of_a_day() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), vec![7; 1_000_000]).unwrap();
    let Certificate { certificate, key } = Certificate::make(folder.path()).unwrap();
    let tls = Some(Tls::read(&certificate, &key).unwrap());
    let server = serve(folder.path(), Options { tls, ..with_token() });
    let url = format!("https://{}/file", server.address());
    let bearer = format!("Authorization: Bearer {SECRET}");
    let trusted = certificate.to_str().unwrap();
    for version in ["--tlsv1.2", "--tlsv1.3"] {
        let answer = curl(&["--cacert", trusted, version, "--header", &bearer, &url]);
        assert!(answer.status == 200 && answer.body == vec![7; 1_000_000], "{version}");
    }
    assert_eq!(curl(&["--cacert", trusted, &url]).status, 401);
    let stranger = Command::new("curl").args(["--silent", &url]).output().unwrap();
    assert_eq!(stranger.status.code(), Some(60), "who does not know the certificate does not trust it");
    let plain = crate::raw(server.address(), b"GET /file HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert!(!plain.windows(5).any(|bytes| bytes == [7; 5]), "nothing goes out in the clear");

    for (certificate, key, said) in [
        (&key, &key, "holds none"),
        (&certificate, &certificate, "private key"),
        (&folder.path().join("nothing"), &key, "nothing"),
    ] {
        let error = Tls::read(certificate, key).unwrap_err();
        assert!(matches!(error, TlsError::File { .. }));
        assert!(error.to_string().contains(said), "{error}");
    }
}
