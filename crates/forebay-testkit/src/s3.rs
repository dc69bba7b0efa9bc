//! A real S3 server on the loopback: versitygw over a temporary folder.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use object_store::ObjectStore;

use crate::bucket::{ACCESS, Bucket, REGION, SECRET};
use crate::server::Server;

pub use crate::bucket::BUCKET;

/// A running server with an empty [`BUCKET`]. Stopped and removed when dropped.
#[derive(Debug)]
pub struct S3 {
    server: Server,
    bucket: Bucket,
}

impl S3 {
    /// Starts a server; `versitygw` is the program: `S3::start(&need!("versitygw"))`.
    pub fn start(versitygw: &Path) -> io::Result<S3> {
        S3::start_in(versitygw, &std::env::temp_dir())
    }

    /// The same, with the objects in a folder of the caller's choice: one in memory is faster.
    pub fn start_in(versitygw: &Path, place: &Path) -> io::Result<S3> {
        S3::started(versitygw, place, REGION)
    }

    /// The same in this region: the server takes no signature for another one.
    pub fn start_in_region(versitygw: &Path, region: &str) -> io::Result<S3> {
        S3::started(versitygw, &std::env::temp_dir(), region)
    }

    fn started(versitygw: &Path, place: &Path, region: &str) -> io::Result<S3> {
        let server = Server::start_in("versitygw", place, |place| {
            let files = place.folder.join("files");
            fs::create_dir_all(files.join(BUCKET))?;
            let mut command = Command::new(versitygw);
            command
                .args(["--access", ACCESS, "--secret", SECRET, "--region", region, "--port"])
                .arg(place.address.to_string());
            command.args(["--keep-alive", "--quiet", "posix"]).arg(files);
            Ok(command)
        })?;
        Ok(S3 { bucket: Bucket::in_region(server.address(), region)?, server })
    }

    /// Its address.
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// Its address, as `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        self.server.url()
    }

    /// Its address, as an endpoint, which is its [`url`](Self::url).
    pub fn endpoint(&self) -> String {
        self.url()
    }

    /// The folder behind the bucket. Files put there directly are listed, but have no entity tag,
    /// and so cannot be read.
    pub fn folder(&self) -> PathBuf {
        self.server.folder().join("files").join(BUCKET)
    }

    /// The settings that let a client in: see [`Bucket::settings`].
    pub fn settings() -> Vec<(String, String)> {
        Bucket::settings()
    }

    /// Stores an object, or replaces it.
    pub fn put(&self, key: &str, bytes: &[u8]) -> io::Result<()> {
        self.bucket.put(key, bytes)
    }

    /// Removes an object.
    pub fn delete(&self, key: &str) -> io::Result<()> {
        self.bucket.delete(key)
    }

    /// A client of the bucket, for calls that this type does not offer.
    pub fn store(&self) -> Arc<dyn ObjectStore> {
        self.bucket.store()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::need;

    #[test]
    fn an_object_comes_back_and_the_server_is_gone_after_drop() {
        let s3 = S3::start(&need!("versitygw")).unwrap();
        let bytes: Vec<u8> = (0..100_000u32).map(|i| (i * 7 + (i >> 8)) as u8).collect();
        s3.put("a/b.bin", &bytes).unwrap();
        assert!(s3.bucket.get("a/b.bin").unwrap() == bytes);
        s3.delete("a/b.bin").unwrap();
        assert!(s3.bucket.get("a/b.bin").is_err());
        let (id, folder) = (s3.server.id(), s3.server.folder().to_owned());
        drop(s3);
        assert!(!crate::process::runs(id) && !folder.exists());
    }
}
