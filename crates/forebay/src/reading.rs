//! Bytes of open objects, as the trait wants them.

use std::ops::Range;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use forebay_source::Error;
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use object_store::{Error as StoreError, GetRange, ObjectMeta, ObjectStore, Result as StoreResult};

use crate::open::{Objects, Open};

/// Bytes that are read at a time. The engine never cuts so many short.
const PIECE: u64 = 1 << 20;

/// How often an object is opened anew that changes while ranges of it are read.
const LOOKS: usize = 3;

/// The number of the reader. Tasks of an asynchronous program have none.
const READER: u32 = 1;

/// Appends one piece, of at most [`PIECE`] bytes, to memory of the program's own.
async fn append(open: &Open, range: Range<u64>, mut to: BytesMut) -> forebay_source::Result<BytesMut> {
    let (send, read) = tokio::sync::oneshot::channel();
    let whole = to.len() as u64 + (range.end - range.start);
    open.file.read_then(READER, range.start, (range.end - range.start) as usize, move |lease| {
        let appended = lease.map(|lease| {
            lease.slices().for_each(|slice| to.extend_from_slice(slice));
            to
        });
        // A reader that was dropped wants it no more.
        let _ = send.send(appended);
    });
    let abandoned = || Error::Storage { name: open.meta.location.to_string(), reason: "the read was abandoned".into() };
    let bytes = read.await.map_err(|_| abandoned())??;
    if bytes.len() as u64 == whole { Ok(bytes) } else { Err(abandoned()) }
}

/// A range, whole.
async fn whole(open: &Open, range: Range<u64>) -> forebay_source::Result<Bytes> {
    let mut bytes = BytesMut::with_capacity((range.end - range.start) as usize);
    for piece in pieces(range) {
        bytes = append(open, piece, bytes).await?;
    }
    Ok(bytes.freeze())
}

/// The pieces of a range.
fn pieces(Range { start, end }: Range<u64>) -> impl Iterator<Item = Range<u64>> {
    (start..end).step_by(PIECE as usize).map(move |start| start..(start + PIECE).min(end))
}

/// A range that is being read.
pub(crate) struct Begun {
    /// The version that it is of.
    pub(crate) meta: ObjectMeta,
    pub(crate) range: Range<u64>,
    /// Its pieces; the next one is read once this one is taken.
    pub(crate) pieces: BoxStream<'static, StoreResult<Bytes>>,
}

/// Reads the first piece of a range, of the version that is there, and promises the others.
pub(crate) async fn begin<S: ObjectStore>(
    objects: &Arc<Objects<S>>,
    mut open: Arc<Open>,
    wanted: Option<&GetRange>,
) -> StoreResult<Begun> {
    let mut look = 1;
    loop {
        let meta = open.meta.clone();
        let range = wanted.map(|range| range.as_range(meta.size)).transpose().map_err(out_of_bounds)?;
        let range = range.unwrap_or(0..meta.size);
        let mut left = pieces(range.clone());
        let Some(first) = left.next() else { return Ok(Begun { meta, range, pieces: stream::empty().boxed() }) };
        match whole(&open, first).await {
            Err(Error::Stale(_)) if look < LOOKS => open = objects.renewed(&meta.location).await?,
            Err(error) => return Err(objects.told(&meta.location, error)),
            Ok(first) => {
                let objects = Arc::clone(objects);
                let read = move |range| {
                    let (open, objects) = (Arc::clone(&open), Arc::clone(&objects));
                    async move { whole(&open, range).await.map_err(|error| objects.told(&open.meta.location, error)) }
                };
                let pieces = stream::iter([Ok(first)]).chain(stream::iter(left).then(read)).boxed();
                return Ok(Begun { meta, range, pieces });
            }
        }
        look += 1;
    }
}

fn out_of_bounds(error: impl std::error::Error + Send + Sync + 'static) -> StoreError {
    StoreError::Generic { store: "forebay", source: Box::new(error) }
}

/// Ranges of one version of an object, all of them under way at once.
pub(crate) async fn ranges<S: ObjectStore>(
    objects: &Objects<S>,
    mut open: Arc<Open>,
    wanted: &[Range<u64>],
) -> StoreResult<Vec<Bytes>> {
    let mut look = 1;
    loop {
        let (of, size) = (&*open, open.meta.size);
        let within = |range: &Range<u64>| GetRange::Bounded(range.clone()).as_range(size).map_err(out_of_bounds);
        let clipped = wanted.iter().map(within).collect::<StoreResult<Vec<_>>>()?;
        let location = of.meta.location.clone();
        match futures::future::try_join_all(clipped.into_iter().map(|range| whole(of, range))).await {
            Err(Error::Stale(_)) if look < LOOKS => open = objects.renewed(&location).await?,
            outcome => return outcome.map_err(|error| objects.told(&location, error)),
        }
        look += 1;
    }
}
