//! A certificate for a server on the loopback.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A certificate for `127.0.0.1` that is valid for a day, and its key. It vouches for itself alone.
#[derive(Clone, Debug)]
pub struct Certificate {
    /// The certificate, a file in PEM.
    pub certificate: PathBuf,
    /// Its private key, a file in PEM.
    pub key: PathBuf,
}

impl Certificate {
    /// Makes one in `folder`, by the program `openssl`.
    pub fn make(folder: &Path) -> io::Result<Certificate> {
        let made = Certificate { certificate: folder.join("cert.pem"), key: folder.join("key.pem") };
        let output = Command::new("openssl")
            .args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost"])
            .args([
                "-addext",
                "subjectAltName=IP:127.0.0.1",
                "-addext",
                "basicConstraints=critical,CA:FALSE",
                "-keyout",
            ])
            .arg(&made.key)
            .arg("-out")
            .arg(&made.certificate)
            .stdin(Stdio::null())
            .output()?;
        let why = || io::Error::other(format!("openssl: {}", String::from_utf8_lossy(&output.stderr)));
        if output.status.success() { Ok(made) } else { Err(why()) }
    }
}
