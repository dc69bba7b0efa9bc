//! Forebay for Rust programs: a read cache that looks ahead, around an object store.
//!
//! [`Cached`] is an [`ObjectStore`] over another one. Programs that read through that trait, such
//! as `DataFusion` and readers of Parquet, get the cache by wrapping their store:
//!
//! ```
//! use forebay::{Cached, Options};
//! use object_store::memory::InMemory;
//! use object_store::{ObjectStoreExt, path::Path};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let store = Cached::new(InMemory::new(), Options::new(64 << 20))?;
//! store.put(&Path::from("a/b"), "bytes".into()).await?;
//! assert_eq!(store.get_range(&Path::from("a/b"), 1..3).await?.as_ref(), b"yt");
//! # Ok(())
//! # }
//! ```
//!
//! [`ObjectStore`]: object_store::ObjectStore

mod cached;
mod error;
mod open;
mod reading;
mod source;
mod upload;

pub use cached::{Cached, Options};
pub use error::StartError;
pub use forebay_core::{DeviceCost, Policy};
pub use forebay_live::told::{Mode, Named, TellError};
