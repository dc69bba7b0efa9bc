//! A second S3 server on the loopback: moto, which keeps its objects in memory.
//!
//! It is written in Python, speaks HTTP/1.1 but closes the connection after each answer, and
//! accepts every key of access.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;

use object_store::ObjectStore;

use crate::bucket::{BUCKET, Bucket};
use crate::server::Server;
use crate::tools;

/// A running server with an empty [`BUCKET`]. Stopped when dropped.
#[derive(Debug)]
pub struct Moto {
    server: Server,
    bucket: Bucket,
}

impl Moto {
    /// Starts a server; `moto_server` is the program: `Moto::start(&need!("moto_server"))`.
    pub fn start(moto_server: &Path) -> io::Result<Moto> {
        let server = Server::start("moto", |place| {
            let mut command = tools::python_program(moto_server);
            command.args(["-H", "127.0.0.1", "-p"]).arg(place.address.port().to_string());
            Ok(command)
        })?;
        put(server.address(), &format!("/{BUCKET}"), &[])?;
        Ok(Moto { bucket: Bucket::new(server.address())?, server })
    }

    /// Its address.
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// Its address, as `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        self.server.url()
    }

    /// Settings that let a client in: see [`Bucket::settings`].
    pub fn settings() -> Vec<(String, String)> {
        Bucket::settings()
    }

    /// Stores an object, or replaces it.
    pub fn put(&self, key: &str, bytes: &[u8]) -> io::Result<()> {
        self.bucket.put(key, bytes)
    }

    /// Stores an object whose key stands percent-encoded in the address, so that it may be any key.
    /// (A line feed is none that moto takes.)
    pub fn put_encoded(&self, key: &str, bytes: &[u8]) -> io::Result<()> {
        put(self.address(), &format!("/{BUCKET}/{key}"), bytes)
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

/// Makes a bucket or an object, for which moto needs no signature.
fn put(address: SocketAddr, target: &str, bytes: &[u8]) -> io::Result<()> {
    let mut server = TcpStream::connect(address)?;
    let length = bytes.len();
    write!(
        server,
        "PUT {target} HTTP/1.1\r\nHost: {address}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    )?;
    server.write_all(bytes)?;
    let mut answer = String::new();
    server.read_to_string(&mut answer)?;
    match answer.starts_with("HTTP/1.1 200 ") {
        true => Ok(()),
        false => Err(io::Error::other(format!("moto does not take {target}: {answer}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::need;

    #[test]
    fn an_object_comes_back_and_the_server_is_gone_after_drop() {
        let moto = Moto::start(&need!("moto_server")).unwrap();
        let bytes: Vec<u8> = (0..100_000u32).map(|i| (i * 7 + (i >> 8)) as u8).collect();
        moto.put("a/b.bin", &bytes).unwrap();
        assert!(moto.bucket.get("a/b.bin").unwrap() == bytes);
        moto.delete("a/b.bin").unwrap();
        assert!(moto.bucket.get("a/b.bin").is_err());
        let (id, folder) = (moto.server.id(), moto.server.folder().to_owned());
        drop(moto);
        assert!(!crate::process::runs(id) && !folder.exists());
    }
}
