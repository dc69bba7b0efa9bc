//! Names of columns in headers: what they stand for, and the unit that a name ends in.

/// A way to call a column: names without blanks, `-` and `_`, in small letters. The one that stands
/// first wins, not the column that comes first.
pub(super) struct Known {
    names: &'static [&'static str],
    /// The endings that say a unit, as in `size_kb`.
    units: &'static [(&'static str, u64)],
}

const TIME_UNITS: [(&str, u64); 19] = [
    ("ns", 1),
    ("nanos", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("micros", 1_000),
    ("ms", 1_000_000),
    ("millis", 1_000_000),
    ("s", 1_000_000_000),
    ("sec", 1_000_000_000),
    ("secs", 1_000_000_000),
    ("seconds", 1_000_000_000),
    ("100ns", 100),
    ("nsec", 1),
    ("usec", 1_000),
    ("msec", 1_000_000),
    ("nanoseconds", 1),
    ("microseconds", 1_000),
    ("milliseconds", 1_000_000),
    ("second", 1_000_000_000),
];

const BYTE_UNITS: [(&str, u64); 10] = [
    ("b", 1),
    ("byte", 1),
    ("bytes", 1),
    ("inbytes", 1),
    ("kb", 1 << 10),
    ("kib", 1 << 10),
    ("mb", 1 << 20),
    ("mib", 1 << 20),
    ("sector", 512),
    ("sectors", 512),
];

#[rustfmt::skip]
pub(super) const TIMES: Known = Known {
    names: &[
        "time", "timestamp", "ts", "clocktime", "optime", "unixtime", "unixtimestamp", "epoch", "datetime", "date",
        "starttime", "arrivaltime", "arrival", "eventtime", "relativetime", "t",
    ],
    units: &TIME_UNITS,
};
#[rustfmt::skip]
pub(super) const OBJECTS: Known = Known {
    names: &[
        "object", "objid", "objectid", "id", "key", "file", "obj", "filename", "path", "url", "cachekey", "device",
        "uri", "item", "itemid", "videoid", "pageid", "page", "docid", "documentid", "contentid", "fileid", "keyid",
        "blockid", "photoid", "imageid", "deviceid", "volumeid", "volume", "lun", "disk", "diskid", "objectkey",
        "objkey", "objectname", "hash", "name",
    ],
    units: &[],
};
#[rustfmt::skip]
pub(super) const SIZES: Known = Known {
    names: &[
        "size", "objsize", "objectsize", "length", "len", "bytes", "valuesize", "iosize", "itemsize", "filesize",
        "contentlength", "contentsize", "responsesize", "responsebytes", "bytessent", "bodybytessent", "sentbytes",
        "requestsize", "reqsize", "datasize", "valsize", "sz", "numbytes", "nbytes", "sectors", "nsectors",
        "numsectors", "sectorcount", "nrsectors",
    ],
    units: &BYTE_UNITS,
};
#[rustfmt::skip]
pub(super) const OFFSETS: Known = Known {
    names: &[
        "offset", "start", "position", "ioffset", "byteoffset", "fileoffset", "startoffset", "pos", "lba", "sector",
        "lbn", "startsector", "startlba", "startingsector", "sectornumber", "addr", "address",
    ],
    units: &BYTE_UNITS,
};
#[rustfmt::skip]
pub(super) const OPERATIONS: Known = Known {
    names: &[
        "operation", "op", "optype", "type", "rw", "iotype", "opcode", "opname", "method", "httpmethod", "verb",
        "reqtype", "requesttype", "command", "cmd", "action", "readwrite", "rwbs", "iswrite",
    ],
    units: &[],
};
pub(super) const HANDLERS: Known = Known { names: &["handler", "thread", "tid", "pid", "process"], units: &[] };
pub(super) const CONTEXTS: Known = Known { names: &["context", "pc"], units: &[] };

/// Names that count sectors of 512 bytes.
const SECTORS: [&str; 12] = [
    "lba",
    "sector",
    "lbn",
    "startsector",
    "startlba",
    "startingsector",
    "sectornumber",
    "sectors",
    "nsectors",
    "numsectors",
    "sectorcount",
    "nrsectors",
];

/// Names of columns that say how many requests a line stands for.
pub(super) const COUNTS: [&str; 5] = ["opcount", "count", "requests", "numrequests", "reqcount"];

impl Known {
    /// The place of the column that is called so.
    pub(super) fn find(&self, columns: &[String]) -> Option<usize> {
        let plain: Vec<String> = columns.iter().map(|name| plain(name)).collect();
        let called = |column: &str, name: &str| {
            let unit = column.strip_prefix(name);
            unit.is_some_and(|unit| unit.is_empty() || self.units.iter().any(|&(known, _)| known == unit))
        };
        let exact = |name: &&str| plain.iter().position(|column| column == name);
        let names = self.names.iter();
        names
            .clone()
            .find_map(exact)
            .or_else(|| names.clone().find_map(|name| plain.iter().position(|column| called(column, name))))
    }

    /// The unit that a column's name says: in brackets, or at its end.
    pub(super) fn unit(&self, column: &str) -> Option<u64> {
        let known = |text: &str| self.units.iter().find(|&&(name, _)| name == text).map(|&(_, unit)| unit);
        if let Some((_, inner)) = column.split_once(['(', '[']) {
            return known(&inner.trim_end_matches([')', ']']).trim().to_ascii_lowercase());
        }
        let plain = plain(column);
        if !self.units.is_empty() && SECTORS.contains(&&*plain) && self.names.contains(&&*plain) {
            return Some(512);
        }
        if self.names.contains(&&*plain) {
            return None;
        }
        let last = column.rsplit(['_', '-', ' ', '.']).next().filter(|last| last.len() < column.len());
        let names = self.names.iter();
        let joined = names.filter_map(|name| plain.strip_prefix(name)).find_map(known);
        joined.or_else(|| known(&last?.to_ascii_lowercase()))
    }
}

/// The letters of a name, without blanks and what stands in brackets.
pub(super) fn plain(name: &str) -> String {
    let name = name.split(['(', '[']).next().unwrap_or_default();
    let letters = name.chars().filter(|letter| !matches!(letter, '-' | '_' | ' ' | '#' | '.'));
    letters.map(|letter| letter.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_end_in_units() {
        for (known, name, unit) in [
            (TIMES, "time_ms", Some(1_000_000)),
            (TIMES, "timestamp (us)", Some(1_000)),
            (TIMES, "timens", Some(1)),
            (TIMES, "ts_ns", Some(1)),
            (TIMES, "ts", None),
            (SIZES, "size_kb", Some(1024)),
            (SIZES, "SizeKB", Some(1024)),
            (SIZES, "size [KiB]", Some(1024)),
            (SIZES, "size_b", Some(1)),
            (SIZES, "request_io_size_bytes", Some(1)),
            (SIZES, "nr_sectors", Some(512)),
            (OFFSETS, "LBA", Some(512)),
            (OFFSETS, "offset", None),
        ] {
            assert_eq!(known.unit(name), unit, "{name}");
        }
        for (known, columns, place) in [
            (SIZES, ["id", "size_kb", "key_size"], Some(1)),
            (SIZES, ["id", "response_bytes", "ttl"], Some(1)),
            (TIMES, ["Date", "id", "timestamp_ms"], Some(0)),
            (OBJECTS, ["time", "user_id", "size"], None),
        ] {
            assert_eq!(known.find(&columns.map(str::to_owned)), place, "{columns:?}");
        }
    }
}
