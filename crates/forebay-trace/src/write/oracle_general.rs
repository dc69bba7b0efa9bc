//! libCacheSim's oracleGeneral. Each record names the next request of its object, which is known
//! only at the end. So records go to a file without a name first, which is then read backwards.
//! Memory is an entry for each distinct object. Times are cut off to seconds, handlers, contexts
//! and operations are lost; ranges are split into their blocks.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;

use super::{Blocks, Encode, Output, Refused};
use crate::{Request, Shape, Source};

const RECORD: usize = 24;
/// Where the next request is in a record.
const NEXT: usize = 16;
/// So many records are gone through at once.
const CHUNK: u64 = 1 << 15;

pub(super) struct OracleGeneral {
    output: Output,
    blocks: Blocks,
    records: BufWriter<File>,
    count: u64,
}

impl OracleGeneral {
    /// `folder` holds the file of records: beside the output, where there must be room for it
    /// anyway.
    pub(super) fn new(output: Output, folder: &Path, shape: Shape) -> io::Result<OracleGeneral> {
        let records = BufWriter::with_capacity(1 << 20, tempfile::tempfile_in(folder)?);
        Ok(OracleGeneral { output, blocks: Blocks { shape }, records, count: 0 })
    }
}

impl Encode for OracleGeneral {
    fn encode(&mut self, requests: &[Request]) -> Result<(), Refused> {
        for request in requests {
            let seconds = request.at.0 / 1_000_000_000;
            let unfit = |_| Refused::Unfit(format!("{seconds} s have more than 32 bits"));
            let seconds = u32::try_from(seconds).map_err(unfit)?;
            self.blocks.each(request, |number, bytes| {
                let mut record = [0; RECORD];
                record[..4].copy_from_slice(&seconds.to_le_bytes());
                record[4..12].copy_from_slice(&number.to_le_bytes());
                record[12..16].copy_from_slice(&bytes.to_le_bytes());
                self.count += 1;
                Ok(self.records.write_all(&record)?)
            })?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>, _about: &dyn Source) -> Result<Output, Refused> {
        self.records.flush()?;
        let mut file = self.records.into_inner().map_err(|error| error.into_error())?;
        let mut next: HashMap<u64, u64> = HashMap::new();
        let mut end = self.count;
        let mut chunk = Vec::new();
        while end > 0 {
            let start = end.saturating_sub(CHUNK);
            chunk.resize((end - start) as usize * RECORD, 0);
            file.seek(SeekFrom::Start(start * RECORD as u64))?;
            file.read_exact(&mut chunk)?;
            for (record, number) in chunk.chunks_exact_mut(RECORD).rev().zip((start..end).rev()) {
                let object = u64::from_le_bytes(crate::read::bytes_at(record, 4));
                // Requests are counted from one; -1 is never.
                let then = next.insert(object, number + 1).map_or(-1, |next| next as i64);
                record[NEXT..].copy_from_slice(&then.to_le_bytes());
            }
            file.seek(SeekFrom::Start(start * RECORD as u64))?;
            file.write_all(&chunk)?;
            end = start;
        }
        file.rewind()?;
        io::copy(&mut file, &mut self.output)?;
        Ok(self.output)
    }
}
