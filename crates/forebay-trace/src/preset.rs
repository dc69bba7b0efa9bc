//! Presets: public traces whose files are CSV of some kind, each described by its columns.
//!
//! A preset is a line of the table below. Its columns are those that a user could say with
//! `--columns`; so a preset that does not fit a copy of the traces can be said anew by hand.

use crate::Columns;

/// A preset, by its place in the table.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Preset(u8);

/// How files of a preset are told without their format being given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Told {
    /// By the names in the header.
    Header,
    /// By this name in the header, which files need not have.
    Named(&'static str),
    /// By lines with these marks.
    Lines(Marks),
    /// Only by the user.
    Never,
}

/// Marks of lines without a header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Marks {
    /// How many fields there are at least and at most.
    pub(crate) least: usize,
    pub(crate) most: usize,
    pub(crate) times: Times,
}

/// The times that lines must have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Times {
    Any,
    /// Whole numbers that do not go back.
    Rising,
    /// Counted from 1970, in the preset's unit.
    Since1970,
}

/// So many fields at least and at most, and such times.
const fn lines(least: usize, most: usize, times: Times) -> Told {
    Told::Lines(Marks { least, most, times })
}

struct Entry {
    name: &'static str,
    /// Other names that it is known by.
    also: &'static [&'static str],
    summary: &'static str,
    /// Where the format is described.
    source: &'static str,
    columns: &'static str,
    told: Told,
}

#[rustfmt::skip]
const PRESETS: [Entry; 20] = [
    Entry { name: "twitter", also: &["twemcache"],
        summary: "key-value requests of Twitter's cache clusters; bytes of key and value",
        source: "Yang, Yue and Rashmi, OSDI 2020; github.com/twitter/cache-trace",
        columns: "time-col=1,obj-id-col=2,added-size-col=3,obj-size-col=4,handler-col=5,op-col=6,delimiter=comma,\
                  has-header=0,obj-id-is-num=0", told: lines(7, 7, Times::Any) },
    Entry { name: "meta-kv", also: &["meta-kv-2024", "meta-kv-202401"],
        summary: "key-value requests of Meta's caches, 2024 form; bytes of key and value",
        source: "cachelib.org, kvcache/202401",
        columns: "time-col=op_time,obj-id-col=key,added-size-col=key_size,op-col=op,obj-size-col=size,delimiter=comma,\
                  has-header=1,obj-id-is-num=0,reads=GET|GET_LEASE,writes=SET|SET_LEASE,ignored=DELETE", told: Told::Header },
    Entry { name: "meta-kv-2022", also: &["meta-kv-202206"],
        summary: "key-value requests of Meta's caches, 2022 form; no times",
        source: "cachelib.org, kvcache/202206",
        columns: "obj-id-col=key,op-col=op,obj-size-col=size,added-size-col=key_size,time-col=none,delimiter=comma,\
                  has-header=1,obj-id-is-num=0,reads=GET|GET_LEASE,writes=SET|SET_LEASE,ignored=DELETE", told: Told::Header },
    Entry { name: "meta-cdn", also: &[],
        summary: "requests of Meta's CDN, as whole objects",
        source: "cachelib.org, cdn/202303 and 202504",
        columns: "time-col=timestamp,obj-id-col=cacheKey,obj-size-col=objectSize,op-col=none,delimiter=comma,\
                  has-header=1,obj-id-is-num=0", told: Told::Header },
    Entry { name: "meta-storage", also: &["tectonic", "baleen"],
        summary: "block requests of Meta's Tectonic; a file is a block",
        source: "cachelib.org, storage/202312",
        columns: "time-col=op_time,file-col=block_id,part-col=rs_shard_id,offset-col=io_offset,obj-size-col=io_size,\
                  op-col=op_name,has-header=1,obj-id-is-num=0,reads=getChunkData.NotInitialized|getChunkData.Permanent,\
                  writes=putChunk.NotInitialized|putChunk.Permanent", told: Told::Header },
    Entry { name: "wikimedia-upload", also: &["wikipedia", "wikipedia-upload"],
        summary: "images of Wikimedia's CDN, 2019",
        source: "wikitech.wikimedia.org, Data_Lake/Traffic/Caching",
        columns: "time-col=1,obj-id-col=2,obj-size-col=4,op-col=none,delimiter=tab,obj-id-is-num=0",
        told: Told::Named("hashed_path_query") },
    Entry { name: "wikimedia-text", also: &["wikipedia-text"],
        summary: "pages of Wikimedia's CDN, 2019",
        source: "wikitech.wikimedia.org, Data_Lake/Traffic/Caching",
        columns: "time-col=1,obj-id-col=2,obj-size-col=3,op-col=none,delimiter=tab,obj-id-is-num=0",
        told: Told::Named("hashed_host_path_query") },
    Entry { name: "wikibench", also: &[],
        summary: "pages of Wikipedia, 2007; objects without sizes",
        source: "Urdaneta, Pierre and van Steen, Computer Networks 2009; wikibench.eu",
        columns: "time-col=2,obj-id-col=3,op-col=none,delimiter=space,has-header=0,obj-id-is-num=0",
        told: Told::Never },
    Entry { name: "tencent-photo", also: &[],
        summary: "photos of Tencent's CDN, 2016; times are left out",
        source: "Zhou et al., ICS 2018; iotta.snia.org 27476",
        columns: "obj-id-col=2,part-col=4,obj-size-col=5,time-col=none,op-col=none,has-header=0,obj-id-is-num=0",
        told: Told::Never },
    Entry { name: "webcachesim", also: &["lrb", "adaptsize"],
        summary: "time, object, bytes and features that are not read, blanks between them",
        source: "github.com/dasebe/webcachesim; Berger, HotNets 2018; Song et al., NSDI 2020",
        columns: "time-col=1,obj-id-col=2,obj-size-col=3,op-col=none,delimiter=space,has-header=0",
        told: lines(3, 40, Times::Rising) },
    Entry { name: "libcachesim", also: &["libcachesim-csv"],
        summary: "time, object, bytes, next access: what libCacheSim writes as CSV",
        source: "github.com/1a1a11a/libCacheSim",
        columns: "time-col=1,obj-id-col=2,obj-size-col=3,op-col=none,delimiter=comma", told: lines(4, 4, Times::Rising) },
    Entry { name: "ibm-object", also: &["ibm-cos", "ibm"],
        summary: "requests of IBM's object store, as whole objects; bytes of GET and PUT",
        source: "Eytan et al., HotStorage 2020; iotta.snia.org 36305",
        columns: "time-col=1,op-col=2,obj-id-col=3,obj-size-col=4,delimiter=space,has-header=0,obj-id-is-num=0,\
                  time-unit=ms,reads=REST.GET.OBJECT,writes=REST.PUT.OBJECT,\
                  ignored=REST.HEAD.OBJECT|REST.DELETE.OBJECT|REST.COPY.OBJECT", told: lines(3, 6, Times::Any) },
    Entry { name: "alibaba-block", also: &["alibaba"],
        summary: "block requests of Alibaba's virtual disks, 2020",
        source: "Li et al., IISWC 2020; github.com/alibaba/block-traces",
        columns: "file-col=1,op-col=2,offset-col=3,obj-size-col=4,time-col=5,delimiter=comma,time-unit=us,reads=R,\
                  writes=W", told: lines(5, 5, Times::Since1970) },
    Entry { name: "tencent-block", also: &["tencent", "tencent-cbs"],
        summary: "block requests of Tencent's volumes, 2018; sectors of 512 bytes",
        source: "Zhang et al., USENIX ATC 2020; iotta.snia.org 27917",
        columns: "time-col=1,offset-col=2,obj-size-col=3,op-col=4,file-col=5,delimiter=comma,\
                  offset-unit=512,size-unit=512,reads=0,writes=1", told: lines(5, 5, Times::Since1970) },
    Entry { name: "systor17", also: &["systor", "systor-17"],
        summary: "block requests of virtual desktops, 2016",
        source: "Lee et al., SYSTOR 2017; iotta.snia.org 4964",
        columns: "time-col=Timestamp,op-col=IOType,file-col=LUN,offset-col=Offset,obj-size-col=Size,delimiter=comma,\
                  has-header=1,reads=R,writes=W", told: Told::Header },
    Entry { name: "cloudphysics", also: &["cloudphysics-csv"],
        summary: "block requests of virtual disks, vscsiStats as CSV; sectors of 512 bytes",
        source: "Waldspurger et al., FAST 2015; libCacheSim's cloudPhysicsIO.csv",
        columns: "time-col=time,op-col=op,obj-size-col=size,offset-col=lbn,file-col=none,delimiter=comma,has-header=1,\
                  time-unit=us,offset-unit=512,reads=8|08|28|88|a8,writes=a|0a|2a|8a|aa", told: Told::Header },
    Entry { name: "fiu", also: &["fiu-srcmap", "srcmap", "iodedup"],
        summary: "block requests of FIU's servers; sectors of 512 bytes",
        source: "Koller and Rangaswami, FAST 2010; Verma et al., FAST 2010; iotta.snia.org 390",
        columns: "time-col=1,handler-col=2,offset-col=4,obj-size-col=5,op-col=6,file-col=7,part-col=8,delimiter=space,\
                  has-header=0,obj-id-is-num=0,time-unit=ns,offset-unit=512,size-unit=512,reads=R,writes=W",
        told: lines(8, 9, Times::Any) },
    Entry { name: "disksim", also: &["disksim-ascii"],
        summary: "DiskSim's ascii: milliseconds, device, sector, sectors, flags",
        source: "Bucy et al., DiskSim 4.0 manual, CMU-PDL-08-101",
        columns: "time-col=1,file-col=2,offset-col=3,obj-size-col=4,op-col=5,delimiter=space,has-header=0,\
                  time-unit=ms,offset-unit=512,size-unit=512,reads=1|3|5|7,writes=0|2|4|6", told: lines(5, 5, Times::Any) },
    Entry { name: "thesios", also: &["google"],
        summary: "requests of Google's storage servers, synthesized",
        source: "Phothilimthana et al., ASPLOS 2024; github.com/google-research-datasets/thesios",
        columns: "time-col=start_time,file-col=filename,offset-col=file_offset,obj-size-col=request_io_size_bytes,\
                  op-col=op_type,delimiter=comma,has-header=1,obj-id-is-num=0,reads=READ,writes=WRITE",
        told: Told::Header },
    Entry { name: "fio-lat", also: &["fio-log"],
        summary: "fio's latency logs with --log_offset=1: milliseconds, latency, direction, block, offset",
        source: "fio.readthedocs.io, Log File Formats",
        columns: "time-col=1,op-col=3,obj-size-col=4,offset-col=5,file-col=none,delimiter=comma,has-header=0,\
                  time-unit=ms,reads=0,writes=1,ignored=2", told: Told::Never },
];

impl Preset {
    /// All of them, in the order in which they are listed.
    pub fn all() -> impl Iterator<Item = Preset> {
        (0..PRESETS.len() as u8).map(Preset)
    }

    fn entry(self) -> &'static Entry {
        &PRESETS[usize::from(self.0)]
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        self.entry().name
    }

    /// Other names that it is known by.
    pub fn also(self) -> &'static [&'static str] {
        self.entry().also
    }

    /// A line that describes it.
    pub fn summary(self) -> &'static str {
        self.entry().summary
    }

    /// Where the traces and their format are described.
    pub fn source(self) -> &'static str {
        self.entry().source
    }

    /// Its columns, as `--columns` takes them.
    pub fn described(self) -> &'static str {
        self.entry().columns
    }

    /// Its columns.
    pub(crate) fn columns(self) -> Columns {
        self.entry().columns.parse().expect("the columns of every preset are well formed: a test reads each")
    }

    pub(crate) fn told(self) -> Told {
        self.entry().told
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_says_its_columns_and_no_name_is_another_s() {
        let mut names: Vec<&str> = Vec::new();
        for preset in Preset::all() {
            let columns = preset.columns();
            assert!(columns.object.is_some() || columns.offset.is_some(), "{}", preset.name());
            assert!(preset.summary().len() <= 90 && !preset.source().is_empty(), "{}", preset.name());
            names.push(preset.name());
            names.extend(preset.also());
        }
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}
