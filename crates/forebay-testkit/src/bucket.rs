//! The one bucket of an S3 server for tests, with a client of it.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::path::Path as Key;
use object_store::{ObjectStore, ObjectStoreExt, PutPayload};

/// The one bucket that a fresh server has.
pub const BUCKET: &str = "bucket";

/// The region of servers that are told none.
pub(crate) const REGION: &str = "us-east-1";

pub(crate) const ACCESS: &str = "test-access";
pub(crate) const SECRET: &str = "test-secret-key";

/// A client of [`BUCKET`] on one server.
#[derive(Debug)]
pub struct Bucket {
    store: Arc<AmazonS3>,
    runtime: tokio::runtime::Runtime,
}

impl Bucket {
    /// The bucket on the server at `address`, which must have it by the first use.
    pub fn new(address: SocketAddr) -> io::Result<Bucket> {
        Bucket::in_region(address, REGION)
    }

    /// The same, of a server in this region.
    pub(crate) fn in_region(address: SocketAddr, region: &str) -> io::Result<Bucket> {
        let store = AmazonS3Builder::new()
            .with_endpoint(format!("http://{address}"))
            .with_allow_http(true)
            .with_bucket_name(BUCKET)
            .with_region(region)
            .with_access_key_id(ACCESS)
            .with_secret_access_key(SECRET)
            .build()
            .map_err(io::Error::other)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(Bucket { store: Arc::new(store), runtime })
    }

    /// The settings that let a client in, by the names of the `object_store` crate. The same names
    /// in capitals are the environment's.
    pub fn settings() -> Vec<(String, String)> {
        [("aws_access_key_id", ACCESS), ("aws_secret_access_key", SECRET)].map(|(k, v)| (k.into(), v.into())).into()
    }

    /// Stores an object, or replaces it.
    pub fn put(&self, key: &str, bytes: &[u8]) -> io::Result<()> {
        let payload = PutPayload::from(bytes.to_vec());
        self.runtime.block_on(self.store.put(&parsed(key)?, payload)).map(drop).map_err(io::Error::other)
    }

    /// The bytes of an object.
    pub fn get(&self, key: &str) -> io::Result<Vec<u8>> {
        let key = parsed(key)?;
        let bytes = async { self.store.get(&key).await?.bytes().await };
        self.runtime.block_on(bytes).map(|bytes| bytes.to_vec()).map_err(io::Error::other)
    }

    /// Removes an object.
    pub fn delete(&self, key: &str) -> io::Result<()> {
        self.runtime.block_on(self.store.delete(&parsed(key)?)).map_err(io::Error::other)
    }

    /// The client itself, for calls that this type does not offer.
    pub fn store(&self) -> Arc<dyn ObjectStore> {
        Arc::clone(&self.store) as Arc<dyn ObjectStore>
    }
}

fn parsed(key: &str) -> io::Result<Key> {
    Key::parse(key).map_err(io::Error::other)
}
