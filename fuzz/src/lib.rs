//! What the targets share: a trace is read to its end or its first error, and neither a panic nor a
//! request that makes no sense may come of it.

use std::path::Path;

use forebay_trace::{Error, Format, Options, open_bytes};

/// Reads `bytes` as a trace of a format, or as what they look like.
pub fn read(format: Option<Format>, bytes: &[u8]) {
    let options = Options { format, ..Options::default() };
    let Ok(mut source) = open_bytes(Path::new("fuzzed"), bytes.to_vec(), &options) else { return };
    let mut batch = Vec::new();
    loop {
        batch.clear();
        match source.read(&mut batch) {
            Ok(0) => return,
            Ok(read) => assert_eq!(read, batch.len()),
            Err(Error::Record { record, .. }) => {
                assert!(record > 0, "records are counted from one");
                return;
            }
            Err(error) => panic!("a trace in memory cannot fail like this: {error}"),
        }
        for request in &batch {
            assert!(request.len > 0 && request.offset.checked_add(request.len.into()).is_some(), "{request:?}");
        }
    }
}
