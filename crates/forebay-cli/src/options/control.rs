//! Options of those who listen at an address or ask there, and where a mount listens.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use forebay_serve::HostName;

/// The clients that an address answers, and encryption.
#[derive(Clone, Debug, Args)]
pub(crate) struct Clients {
    /// The file with the token that clients of an address must show
    ///
    /// Without it the variable FOREBAY_TOKEN may hold the token itself. Example: `--token-file
    /// /etc/forebay/token`
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,

    /// The certificate to encrypt an address with, in PEM format
    ///
    /// The certificates that vouch for it follow it in the file. Example: `--tls-cert cert.pem
    /// --tls-key key.pem`
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,

    /// The certificate's private key, in PEM format
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,

    /// A name by which clients without a token may call an address; repeatable
    ///
    /// Addresses and localhost need no mention. Another name may be that of a site which leads a
    /// browser here, so a request that uses it gets 421. With a token any name will do. Example:
    /// `--host-name data.example`, behind a proxy of that name
    #[arg(long = "host-name", value_name = "NAME", value_delimiter = ',')]
    pub(crate) host_names: Vec<HostName>,

    /// Let metrics name devices by paths and addresses of sources
    ///
    /// Otherwise a device has the name that its source was given (docs/metrics.md). Example:
    /// `--metrics-paths`
    #[arg(long)]
    pub(crate) metrics_paths: bool,
}

/// Access to an address, for those who ask there.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Access {
    /// The file with the token that an address wants
    ///
    /// Without it the variable FOREBAY_TOKEN may hold the token itself. Example: `--token-file
    /// /etc/forebay/token`
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,

    /// A file of certificates in PEM that vouch for an address
    ///
    /// They are trusted beside the system's own. Example: `--tls-ca ca.pem`
    #[arg(long, value_name = "FILE")]
    pub(crate) tls_ca: Option<PathBuf>,
}

/// Where a mount listens.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum ControlAt {
    /// Nowhere.
    Off,
    /// At a Unix socket.
    Unix(PathBuf),
    /// At an address.
    Address(SocketAddr),
}

impl FromStr for ControlAt {
    type Err = String;

    fn from_str(text: &str) -> Result<ControlAt, String> {
        match text.strip_prefix("unix:") {
            _ if text == "off" => Ok(ControlAt::Off),
            Some(path) if !path.is_empty() => Ok(ControlAt::Unix(path.into())),
            Some(_) => Err("unix: needs the path of a socket, as in unix:/run/forebay.sock".to_owned()),
            None => text
                .parse()
                .map(ControlAt::Address)
                .map_err(|_| "give unix:PATH, an address with a port as in 127.0.0.1:9100, or off".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_to_listen_at() {
        assert_eq!("off".parse(), Ok(ControlAt::Off));
        assert_eq!("unix:/a b".parse(), Ok(ControlAt::Unix("/a b".into())));
        assert_eq!("[::1]:0".parse(), Ok(ControlAt::Address("[::1]:0".parse().unwrap())));
        for text in ["", "unix:", "on", "9100", "localhost:9100", "127.0.0.1"] {
            assert!(text.parse::<ControlAt>().is_err(), "{text}");
        }
    }
}
