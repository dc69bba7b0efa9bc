//! Any bytes as a segment's table of the disk tier, and as the id of its folder: one that is
//! accepted is written again byte for byte.
#![no_main]

use forebay_tier::Key;
use forebay_tier::id::Id;
use forebay_tier::table::{MAGIC, Table};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(id) = Id::decode(bytes) {
        assert_eq!(id.encode(), bytes);
    }
    let key = Key([7; 16]);
    decode(bytes, &key);
    // As far as the checksum, which chance does not find: with it, and a head that is right.
    let mut table = Table::default().encode(&key, 3);
    table.truncate(40);
    table.extend(bytes);
    table.extend(crc32fast::hash(&table).to_le_bytes());
    assert!(table.starts_with(&MAGIC));
    decode(&table, &key);
});

fn decode(bytes: &[u8], key: &Key) {
    if let Ok(table) = Table::decode(bytes, key, 3) {
        assert!(bytes.starts_with(&table.encode(key, 3)));
    }
}
