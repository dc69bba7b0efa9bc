//! Parallel range gets through the same proxy, without any mount: the limit of the connection.

use std::sync::Arc;
use std::time::Instant;

use forebay_testkit::s3::{BUCKET, S3};
use futures::{StreamExt, TryStreamExt};
use object_store::aws::AmazonS3Builder;
use object_store::path::Path as Key;
use object_store::{GetOptions, GetRange, ObjectStore};

use super::pattern::Object;
use super::readers::Work;

/// The numbers of connections; the best counts.
pub(super) const CONNECTIONS: [usize; 4] = [4, 8, 16, 32];

/// The longest range of a get, bytes. Its first byte takes 20 ms, and all of it 90 ms at 90 MB/s.
const PIECE: u64 = 8 << 20;

/// Gets an object in ranges, `connections` at a time, and compares each byte.
pub(super) fn gets(endpoint: &str, object: &Object, connections: usize) -> anyhow::Result<Work> {
    let mut builder = AmazonS3Builder::new()
        .with_endpoint(endpoint)
        .with_bucket_name(BUCKET)
        .with_region("us-east-1")
        .with_allow_http(true)
        .with_virtual_hosted_style_request(false);
    for (key, value) in S3::settings() {
        builder = builder.with_config(key.parse()?, value);
    }
    let (store, object): (Arc<dyn ObjectStore>, _) = (Arc::new(builder.build()?), Arc::new(object.clone()));
    let piece = (object.size / (2 * connections as u64)).clamp(64 << 10, PIECE);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let begun = Instant::now();
    runtime.block_on(async {
        let ranges = (0..object.size).step_by(piece as usize).map(|from| from..(from + piece).min(object.size));
        futures::stream::iter(ranges)
            .map(|range| tokio::spawn(get(Arc::clone(&store), Arc::clone(&object), range)))
            .buffer_unordered(connections)
            .map(|ended| ended.map_err(anyhow::Error::from).flatten())
            .try_for_each(|()| async { Ok(()) })
            .await
    })?;
    Ok(Work { seconds: begun.elapsed().as_secs_f64(), bytes: object.size, reads: object.size.div_ceil(piece) })
}

async fn get(store: Arc<dyn ObjectStore>, object: Arc<Object>, range: std::ops::Range<u64>) -> anyhow::Result<()> {
    let mut at = range.start;
    let options = GetOptions { range: Some(GetRange::Bounded(range)), ..GetOptions::default() };
    let mut pieces = store.get_opts(&Key::from(object.name.as_str()), options).await?.into_stream();
    while let Some(piece) = pieces.try_next().await? {
        object.check(at, &piece)?;
        at += piece.len() as u64;
    }
    Ok(())
}
