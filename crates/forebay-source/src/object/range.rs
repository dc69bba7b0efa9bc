//! A range of exactly one version of an object.

use std::ops::Range;
use std::time::Duration;

use futures::StreamExt;
use object_store::path::Path;
use object_store::{Error, GetOptions, GetRange, ObjectStore};

use super::facts;
use crate::remote::{Flow, TooSlow};
use crate::{Segments, Version};

/// Why a range was not read.
#[derive(Debug, thiserror::Error)]
pub enum Unread {
    /// The store refused it.
    #[error(transparent)]
    Refused(#[from] Error),
    /// The object is another version by now.
    #[error("changed")]
    Changed,
    /// Next to nothing of the answer comes.
    #[error(transparent)]
    Slow(#[from] TooSlow),
    /// The answer makes no sense.
    #[error("{0}")]
    Broken(&'static str),
}

/// Reads the bytes `wanted` of that version into the buffer. Names the version that it wants
/// (`If-Match`), and compares the answer with it all the same. An answer that brings next to
/// nothing for as long as the patience is given up.
pub async fn read(
    store: &dyn ObjectStore,
    location: &Path,
    version: &Version,
    wanted: Range<u64>,
    patience: Duration,
    buffer: &mut Segments,
) -> Result<(), Unread> {
    let options = GetOptions {
        range: Some(GetRange::Bounded(wanted.clone())),
        // A weak tag matches nothing by the rules of HTTP; the answer's own tag is compared below.
        if_match: version.tag.as_deref().filter(|tag| tag.starts_with('"')).map(str::to_owned),
        ..GetOptions::default()
    };
    let answer = store.get_opts(location, options).await?;
    if facts(&answer.meta).version() != *version || answer.range != wanted {
        return Err(Unread::Changed);
    }
    let mut body = answer.into_stream();
    let (len, mut filled, mut flow) = ((wanted.end - wanted.start) as usize, 0, Flow::new(patience));
    while let Some(bytes) = flow.next(body.next()).await? {
        let bytes = bytes?;
        if filled + bytes.len() > len {
            return Err(Unread::Broken("more bytes came than were asked for"));
        }
        buffer.write(filled, &bytes);
        filled += bytes.len();
        flow.came(bytes.len());
    }
    if filled == len {
        Ok(())
    } else {
        Err(Unread::Broken("the answer ended before all bytes came that were asked for"))
    }
}
