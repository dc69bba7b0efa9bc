//! A level that others read from: the names and bytes of sources over HTTP/1.1, through a cache
//! that looks ahead.
//!
//! ```text
//!   curl, browsers, proxies ─┐
//!   object_store's clients ──┼── GET, HEAD, PROPFIND ──▶ server ─▶ connection ─▶ answer ─▶ site, files ─▶ engine ─▶ sources
//!   forebay mount http://… ──┘   Range, If-Match,                                   └──▶ body ◀── leases ──┘
//!                                Forebay-Demand
//! ```
//!
//! A [`Server`] serves a [`Tree`](forebay_live::tree::Tree). An answer is of one version of a file:
//! every byte belongs to the version of its `ETag`. If that version goes away under way, the
//! connection is cut. A client takes its answer at its own pace; until then the server holds two
//! pieces of it at most, and nothing of the cache.
//!
//! ```no_run
//! use std::sync::Arc;
//! use forebay_live::engine::{Config, Engine};
//! use forebay_source::local::LocalSource;
//! use forebay_live::tree::{Branch, Tree};
//! use forebay_serve::{Options, Server};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let source = LocalSource::new("/srv/data")?;
//! let cost = forebay_core::DeviceCost::flat(5_000_000, 100_000_000, 4);
//! let engine = Engine::start(Config::new(512 << 20, "competitive".parse()?), vec![cost])?;
//! let branch = Branch { name: None, source: Arc::new(source), device: forebay_core::DeviceId(0) };
//! let tree = Arc::new(Tree::new(engine, vec![branch])?);
//! let server = Server::start(tree, "127.0.0.1:0".parse()?, Options::default())?;
//! println!("http://{}/", server.address());
//! server.stop();
//! # Ok(())
//! # }
//! ```

mod answer;
mod arriving;
mod at;
mod body;
mod buffers;
mod conditions;
mod connection;
mod files;
#[doc(hidden)]
pub mod fuzzing;
mod guard;
mod hint;
mod index;
mod labels;
mod limits;
mod listing;
mod markup;
mod media;
pub mod metrics;
mod multipart;
mod patience;
mod propfind;
mod ranges;
mod refusal;
mod routes;
mod server;
mod tag;
mod target;
mod tls;
mod token;
mod watch;

pub use at::At;
pub use guard::{BadHostName, HostName};
pub use limits::Limits;
pub use routes::{CONTROL, HINT, STATS};
pub use server::{Control, Options, Server, StartError};
pub use tls::{Tls, TlsError};
pub use token::{BadToken, Token};
