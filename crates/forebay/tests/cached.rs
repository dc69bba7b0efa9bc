//! A wrapped store beside the store itself: the same bytes, fewer requests.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf, Bytes};
use forebay::{Cached, Mode, Named, Options};
use forebay_testkit::far::{Distance, FarProxy};
use forebay_testkit::need;
use forebay_testkit::s3::{BUCKET, S3};
use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetRange, GetResult, GetResultPayload, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, ObjectStoreExt, PutMultipartOptions, PutOptions, PutPayload, PutResult,
};
use parquet::data_type::Int64Type;
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, FileReader, Length, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::record::RowAccessor;
use parquet::schema::parser::parse_message_type;

const MEMORY: u64 = 64 << 20;

fn some_bytes(seed: u64, len: usize) -> Bytes {
    let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(1);
    let next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    std::iter::repeat_with(next).take(len).collect()
}

/// A store that the cache wraps, and the same store for changes behind its back.
fn wrapped(ttl: Duration) -> (Arc<InMemory>, Cached<Arc<InMemory>>) {
    let store = Arc::new(InMemory::new());
    let cached = Cached::new(Arc::clone(&store), Options { ttl, ..Options::new(MEMORY) }).expect("it starts");
    (store, cached)
}

async fn whole(store: &impl ObjectStore, location: &Path) -> Result<Bytes, Error> {
    store.get(location).await?.bytes().await
}

#[tokio::test]
async fn every_kind_of_read_is_as_the_store_answers_it() {
    let (store, cached) = wrapped(Duration::from_secs(1));
    let lengths = [0, 1, 4095, 4096, 4097, 1_234_567, (2 << 20) + 1];
    for (seed, len) in lengths.into_iter().enumerate() {
        let location = Path::from(format!("of/{len}"));
        store.put(&location, some_bytes(seed as u64, len).into()).await.unwrap();
        let len = len as u64;
        let ends = [0, 1, len / 2, len.saturating_sub(1), len, len + 1, len + 5000];
        let mut wanted =
            vec![None, Some(GetRange::Suffix(0)), Some(GetRange::Suffix(3)), Some(GetRange::Suffix(len + 9))];
        wanted.extend(ends.iter().map(|&start| Some(GetRange::Offset(start))));
        let pairs = ends.iter().flat_map(|&start| ends.iter().map(move |&end| Some(GetRange::Bounded(start..end))));
        wanted.extend(pairs);
        for range in wanted {
            let ask = || GetOptions { range: range.clone(), ..GetOptions::default() };
            let answers = [store.get_opts(&location, ask()).await, cached.get_opts(&location, ask()).await];
            let [theirs, ours] = answers;
            match (theirs, ours) {
                (Ok(theirs), Ok(ours)) => {
                    assert_eq!((&ours.meta, &ours.range), (&theirs.meta, &theirs.range), "{len} {range:?}");
                    assert_eq!(ours.bytes().await.unwrap(), theirs.bytes().await.unwrap(), "{len} {range:?}");
                }
                (Err(_), Err(_)) => {}
                (theirs, ours) => panic!("{len} {range:?}: {:?} and {:?}", theirs.is_ok(), ours.is_ok()),
            }
        }
    }
    let listed = |store: &dyn ObjectStore| store.list(None).try_collect::<Vec<_>>();
    assert_eq!(listed(&cached).await.unwrap().len(), listed(&store).await.unwrap().len());
}

#[tokio::test]
async fn many_ranges_are_read_at_once_in_their_order() {
    let (_, cached) = wrapped(Duration::from_secs(1));
    let (location, bytes) = (Path::from("object"), some_bytes(7, 5 << 20));
    cached.put(&location, bytes.clone().into()).await.unwrap();
    let ranges: [Range<u64>; 5] = [4_000_000..5_242_880, 0..1, 17..3_000_000, 0..1, 5_242_879..9_000_000];
    let read = cached.get_ranges(&location, &ranges).await.unwrap();
    for (range, read) in ranges.iter().zip(&read) {
        assert_eq!(*read, bytes[range.start as usize..(range.end as usize).min(bytes.len())], "{range:?}");
    }
    assert!(cached.get_ranges(&location, &[0..1, 9_000_000..9_000_001]).await.is_err(), "it begins behind the end");
    assert!(cached.get_ranges(&location, &[]).await.unwrap().is_empty());
}

#[tokio::test]
async fn its_own_changes_are_seen_at_once() {
    let (_, cached) = wrapped(Duration::from_secs(3600));
    let [first, second, other] = ["first", "second", "other"].map(Path::from);
    for seed in 0..5 {
        let bytes = some_bytes(seed, 10_000 + seed as usize);
        cached.put(&first, bytes.clone().into()).await.unwrap();
        assert_eq!(whole(&cached, &first).await.unwrap(), bytes);
        cached.copy(&first, &second).await.unwrap();
        assert_eq!(whole(&cached, &second).await.unwrap(), bytes);
        cached.rename(&second, &other).await.unwrap();
        assert_eq!(whole(&cached, &other).await.unwrap(), bytes);
        assert!(matches!(whole(&cached, &second).await, Err(Error::NotFound { .. })));
        let mut upload = cached.put_multipart(&first).await.unwrap();
        upload.put_part(bytes.slice(5..).into()).await.unwrap();
        upload.complete().await.unwrap();
        assert_eq!(whole(&cached, &first).await.unwrap(), bytes.slice(5..));
        cached.delete(&first).await.unwrap();
        assert!(matches!(whole(&cached, &first).await, Err(Error::NotFound { .. })));
    }
}

#[tokio::test]
async fn what_others_change_is_one_version_or_the_other() {
    let (store, cached) = wrapped(Duration::from_secs(3600));
    let location = Path::from("object");
    let [old, new] = [1, 2].map(|seed| some_bytes(seed, 3 << 20));
    store.put(&location, old.clone().into()).await.unwrap();
    let beginning = cached.get_range(&location, 0..10).await.unwrap();
    assert_eq!(beginning, old[..10]);
    store.put(&location, new.clone().into()).await.unwrap();
    // Its other blocks are those of a version that is gone.
    let read = cached.get_ranges(&location, &[2_500_000..2_600_000, 0..10]).await.unwrap();
    assert_eq!((&read[0][..], &read[1][..]), (&new[2_500_000..2_600_000], &new[..10]));
    store.put(&location, old.clone().into()).await.unwrap();
    let answer = cached.get_opts(&location, GetOptions { head: true, ..GetOptions::default() }).await.unwrap();
    assert_eq!(answer.meta, store.head(&location).await.unwrap(), "a question about the object is not remembered");
    assert_eq!(whole(&cached, &location).await.unwrap(), old);
}

#[tokio::test]
async fn conditions_are_those_of_the_object_now() {
    let (store, cached) = wrapped(Duration::from_secs(3600));
    let location = Path::from("object");
    store.put(&location, some_bytes(1, 100).into()).await.unwrap();
    let tag = cached.head(&location).await.unwrap().e_tag;
    let only_if = || GetOptions { if_match: tag.clone(), ..GetOptions::default() };
    assert!(cached.get_opts(&location, only_if()).await.is_ok());
    store.put(&location, some_bytes(2, 100).into()).await.unwrap();
    assert!(matches!(cached.get_opts(&location, only_if()).await, Err(Error::Precondition { .. })));
    let unless = GetOptions { if_none_match: cached.head(&location).await.unwrap().e_tag, ..GetOptions::default() };
    assert!(matches!(cached.get_opts(&location, unless).await, Err(Error::NotModified { .. })));
}

/// A store whose answers end early, as one does behind a broken proxy.
#[derive(Debug)]
struct Short(InMemory);

impl std::fmt::Display for Short {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "short")
    }
}

#[async_trait::async_trait]
impl ObjectStore for Short {
    async fn put_opts(&self, to: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult, Error> {
        self.0.put_opts(to, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        to: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>, Error> {
        self.0.put_multipart_opts(to, options).await
    }

    async fn get_opts(&self, from: &Path, options: GetOptions) -> Result<GetResult, Error> {
        let head = options.head;
        let answer = self.0.get_opts(from, options).await?;
        if head {
            return Ok(answer);
        }
        let (meta, range) = (answer.meta.clone(), answer.range.clone());
        let (attributes, extensions) = (answer.attributes.clone(), answer.extensions.clone());
        let bytes = answer.bytes().await?;
        let payload = GetResultPayload::Stream(stream::iter([Ok(bytes.slice(..bytes.len() / 2))]).boxed());
        Ok(GetResult { payload, meta, range, attributes, extensions })
    }

    fn delete_stream(&self, all: BoxStream<'static, Result<Path, Error>>) -> BoxStream<'static, Result<Path, Error>> {
        self.0.delete_stream(all)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta, Error>> {
        self.0.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult, Error> {
        self.0.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<(), Error> {
        self.0.copy_opts(from, to, options).await
    }
}

#[tokio::test]
async fn an_answer_that_ends_early_is_an_error_and_never_wrong_bytes() {
    let cached = Cached::new(Short(InMemory::new()), Options::new(MEMORY)).unwrap();
    let location = Path::from("object");
    cached.put(&location, some_bytes(1, 100_000).into()).await.unwrap();
    for _ in 0..2 {
        let refused = whole(&cached, &location).await.unwrap_err().to_string();
        assert!(refused.contains("object") && refused.contains("were asked for"), "{refused}");
        assert!(cached.get_ranges(&location, &[5..10, 50_000..60_000]).await.is_err());
    }
}

#[tokio::test]
async fn a_read_that_is_dropped_disturbs_nobody() {
    let (_, cached) = wrapped(Duration::from_secs(1));
    let (location, bytes) = (Path::from("object"), some_bytes(3, 4 << 20));
    cached.put(&location, bytes.clone().into()).await.unwrap();
    for start in (0..4 << 20).step_by(300_000) {
        let (range, other) = (start..start + 200_000, start + 100_000..start + 300_000);
        // The one that is ready first drops the other.
        tokio::select! {
            read = cached.get_range(&location, range.clone()) => assert_eq!(read.unwrap(), clip(&bytes, range)),
            read = cached.get_range(&location, other.clone()) => assert_eq!(read.unwrap(), clip(&bytes, other)),
        }
    }
    assert_eq!(whole(&cached, &location).await.unwrap(), bytes);
}

fn clip(bytes: &Bytes, Range { start, end }: Range<u64>) -> Bytes {
    bytes.slice(start as usize..(end as usize).min(bytes.len()))
}

#[test]
fn too_little_memory_is_refused() {
    let refused = Cached::new(InMemory::new(), Options::new(4096)).unwrap_err();
    assert!(refused.to_string().contains("memory"), "{refused}");
}

/// Outlives the runtime that it was used from, and needs none of its own kind.
#[test]
fn any_runtime_will_do() {
    let (_, cached) = wrapped(Duration::from_secs(1));
    let location = Path::from("object");
    for seed in 0..3 {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            cached.put(&location, some_bytes(seed, 100_000).into()).await.unwrap();
            assert_eq!(whole(&cached, &location).await.unwrap(), some_bytes(seed, 100_000));
        });
    }
    futures::executor::block_on(async { whole(&cached, &location).await.unwrap() });
}

/// An S3 server whose requests are counted, and a client of it behind a cache.
struct Far {
    _server: S3,
    proxy: FarProxy,
    cached: Cached<AmazonS3>,
}

fn far(server: S3) -> Far {
    let distance = Distance { first_byte: Duration::ZERO, connection_rate: None };
    let proxy = FarProxy::start(server.address(), distance).unwrap();
    let mut builder = AmazonS3Builder::new()
        .with_endpoint(proxy.endpoint())
        .with_allow_http(true)
        .with_bucket_name(BUCKET)
        .with_region("us-east-1");
    for (name, value) in S3::settings() {
        builder = builder.with_config(name.parse().unwrap(), value);
    }
    let options = Options { ttl: Duration::from_secs(3600), ..Options::new(MEMORY) };
    Far { proxy, cached: Cached::new(builder.build().unwrap(), options).unwrap(), _server: server }
}

/// An object for a reader of Parquet.
struct Chunks {
    store: Arc<dyn ObjectStore>,
    location: Path,
    len: u64,
}

impl Length for Chunks {
    fn len(&self) -> u64 {
        self.len
    }
}

impl ChunkReader for Chunks {
    type T = bytes::buf::Reader<Bytes>;

    fn get_read(&self, start: u64) -> parquet::errors::Result<Self::T> {
        self.get_bytes(start, (self.len - start) as usize).map(Buf::reader)
    }

    fn get_bytes(&self, start: u64, length: usize) -> parquet::errors::Result<Bytes> {
        let read = self.store.get_range(&self.location, start..start + length as u64);
        futures::executor::block_on(read).map_err(|error| ParquetError::External(error.into()))
    }
}

/// The sums of two of three columns.
fn sums(store: &Arc<dyn ObjectStore>) -> [i64; 2] {
    let location = Path::from("table.parquet");
    let len = futures::executor::block_on(store.head(&location)).unwrap().size;
    let reader = SerializedFileReader::new(Chunks { store: Arc::clone(store), location, len }).unwrap();
    let columns = parse_message_type("message table { required int64 a; required int64 c; }").unwrap();
    let rows = reader.get_row_iter(Some(columns)).unwrap();
    rows.map(Result::unwrap).fold([0, 0], |[a, c], row| [a + row.get_long(0).unwrap(), c + row.get_long(1).unwrap()])
}

#[test]
fn a_reader_of_parquet_is_as_before_and_its_second_read_asks_for_no_bytes() {
    let schema = parse_message_type("message table { required int64 a; required int64 b; required int64 c; }").unwrap();
    let column = |number: i64, group: i64| -> Vec<i64> { (0..20_000).map(|n| (n + group) * number % 1009).collect() };
    let mut file = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut file, Arc::new(schema), Arc::default()).unwrap();
    for group in 0..5 {
        let mut rows = writer.next_row_group().unwrap();
        for number in [3, 5, 7] {
            let mut values = rows.next_column().unwrap().unwrap();
            values.typed::<Int64Type>().write_batch(&column(number, group), None, None).unwrap();
            values.close().unwrap();
        }
        rows.close().unwrap();
    }
    writer.close().unwrap();
    let server = S3::start(&need!("versitygw")).unwrap();
    std::fs::write(server.folder().join("table.parquet"), &file).unwrap();
    let Far { proxy, cached, _server } = far(server);
    let store: Arc<dyn ObjectStore> = Arc::new(cached);
    let wanted: [i64; 2] = [3, 7].map(|number| (0..5).flat_map(|group| column(number, group)).sum());
    assert_eq!(sums(&store), wanted);
    let before = proxy.counts();
    assert_eq!(sums(&store), wanted);
    assert_eq!(proxy.counts().since(&before).gets, 0);
}

#[test]
fn what_is_told_is_there_before_it_is_read() {
    let server = S3::start(&need!("versitygw")).unwrap();
    let names: Vec<String> = (0..40).map(|number| format!("{number:02}")).collect();
    for (number, name) in names.iter().enumerate() {
        std::fs::write(server.folder().join(name), some_bytes(number as u64, 50_000)).unwrap();
    }
    let Far { proxy, cached, _server } = far(server);
    let order = || names.iter().rev().map(Named::whole).chain([Named::whole("nothing")]);
    cached.hint("epoch", Mode::Append, order()).unwrap();
    while proxy.counts().gets < 40 {
        std::thread::sleep(Duration::from_millis(5));
    }
    for (number, name) in names.iter().enumerate().rev() {
        let read = futures::executor::block_on(whole(&cached, &Path::from(name.as_str())));
        assert_eq!(read.unwrap(), some_bytes(number as u64, 50_000));
    }
    assert_eq!(proxy.counts().gets, 40);
    assert!(cached.hints().contains(r#""missing_names":["nothing"]"#), "{}", cached.hints());
}
