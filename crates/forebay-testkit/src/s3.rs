//! A real S3 server on the loopback: versitygw over a temporary folder.

use std::fs;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::path::Path as Key;
use object_store::{ObjectStore, ObjectStoreExt, PutPayload};

use crate::process::Running;

/// The one bucket that a fresh server has.
pub const BUCKET: &str = "bucket";

const ACCESS: &str = "test-access";
const SECRET: &str = "test-secret-key";

/// A running server with an empty [`BUCKET`]. Stopped and removed when dropped.
pub struct S3 {
    address: SocketAddr,
    store: Arc<AmazonS3>,
    runtime: tokio::runtime::Runtime,
    // Dropped in this order: first the server, then its files.
    _server: Running,
    folder: tempfile::TempDir,
}

impl S3 {
    /// Starts a server; `versitygw` is the program: `S3::start(&need!("versitygw"))`.
    pub fn start(versitygw: &Path) -> io::Result<S3> {
        let folder = tempfile::Builder::new().prefix("forebay-s3-").tempdir()?;
        fs::create_dir(folder.path().join(BUCKET))?;
        let mut tries = 0;
        let (server, address) = loop {
            match serve(versitygw, folder.path()) {
                // Somebody else took the port between our looking and its listening.
                Err(error) if tries < 5 && error.kind() == io::ErrorKind::AddrInUse => tries += 1,
                started => break started?,
            }
        };
        let store = AmazonS3Builder::new()
            .with_endpoint(format!("http://{address}"))
            .with_allow_http(true)
            .with_bucket_name(BUCKET)
            .with_region("us-east-1")
            .with_access_key_id(ACCESS)
            .with_secret_access_key(SECRET)
            .build()
            .map_err(io::Error::other)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(S3 { address, store: Arc::new(store), runtime, _server: server, folder })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where it listens, as an endpoint.
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The folder behind the bucket. Files put there directly are listed, but have no entity tag, and so cannot be
    /// read.
    pub fn folder(&self) -> PathBuf {
        self.folder.path().join(BUCKET)
    }

    /// The settings that let a client in, by the names of the `object_store` crate. The same names in capitals are the
    /// environment's.
    pub fn settings() -> Vec<(String, String)> {
        [("aws_access_key_id", ACCESS), ("aws_secret_access_key", SECRET)].map(|(k, v)| (k.into(), v.into())).into()
    }

    /// Stores an object, or replaces it.
    pub fn put(&self, key: &str, bytes: &[u8]) -> io::Result<()> {
        let payload = PutPayload::from(bytes.to_vec());
        self.runtime.block_on(self.store.put(&self.key(key)?, payload)).map(drop).map_err(io::Error::other)
    }

    /// Removes an object.
    pub fn delete(&self, key: &str) -> io::Result<()> {
        self.runtime.block_on(self.store.delete(&self.key(key)?)).map_err(io::Error::other)
    }

    /// A client of the bucket, for what this type does not offer.
    pub fn store(&self) -> Arc<dyn ObjectStore> {
        Arc::clone(&self.store) as Arc<dyn ObjectStore>
    }

    fn key(&self, key: &str) -> io::Result<Key> {
        Key::parse(key).map_err(io::Error::other)
    }
}

fn serve(versitygw: &Path, folder: &Path) -> io::Result<(Running, SocketAddr)> {
    /// Longer than it ever takes; only a hanging server gets there.
    const PATIENCE: Duration = Duration::from_secs(60);
    let address = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?;
    let mut command = Command::new(versitygw);
    command.args(["--access", ACCESS, "--secret", SECRET, "--port"]).arg(address.to_string());
    command.args(["--keep-alive", "--quiet", "posix"]).arg(folder);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let server = Running::start(command)?;
    let begun = Instant::now();
    while TcpStream::connect(address).is_err() {
        if let Some(status) = server.ended()? {
            return Err(io::Error::new(io::ErrorKind::AddrInUse, format!("versitygw ended: {status}")));
        }
        if begun.elapsed() > PATIENCE {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "versitygw does not answer"));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok((server, address))
}
