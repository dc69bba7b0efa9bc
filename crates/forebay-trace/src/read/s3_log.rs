//! The server access logs of S3. An answer is a request for a whole object, of the object's size:
//! which range a client asked for is not in the log.
//!
//! ```text
//!   OWNER bucket [06/Feb/2019:00:00:38 +0000] 192.0.2.3 REQUESTER ID REST.GET.OBJECT key "GET /key HTTP/1.1"
//!       200 - 2662992 3462992 70 10 "-" "S3Console/0.4" - …
//! ```
//!
//! REST.GET.OBJECT with the status 200 or 206 reads, and REST.PUT.OBJECT with 200 writes. Where the
//! log has no size of the object, the bytes that were sent count. Others are left out. The client
//! is the handler, and an object is a key of a bucket.

use crate::read::access_log::{LogFields, Parts};
use crate::read::calendar::log_time;
use crate::read::clock::Clock;
use crate::read::left_out::LeftOut;
use crate::read::names::Names;
use crate::read::text::{Line, number, quoted};
use crate::{FileInfo, Operation, Reading, Request, Shape};

pub(crate) struct S3Log {
    clock: Clock,
    objects: Names,
    clients: Names,
    name: Vec<u8>,
    parts: Parts,
    left_out: LeftOut,
}

impl Default for S3Log {
    fn default() -> S3Log {
        let (objects, clients) = (Names::default(), Names::default());
        let (parts, left_out) = (Parts::default(), LeftOut::default());
        S3Log { clock: Clock::new(1), objects, clients, name: Vec::new(), parts, left_out }
    }
}

impl Line for S3Log {
    fn line(&mut self, line: &[u8]) -> Result<Option<Request>, String> {
        let line = line.trim_ascii();
        if line.is_empty() {
            return Ok(None);
        }
        let fields: Vec<&[u8]> = LogFields::of(line).take(13).collect();
        let [_, bucket, time, client, _, _, operation, key, _, status, _, sent, size] = fields[..] else {
            return Err(format!("it has {} fields, not 13 or more", fields.len()));
        };
        let wrong = |what: &str, text: &[u8]| format!("{} is no {what}", quoted(text));
        let nanos = log_time(time).ok_or_else(|| wrong("time, as in 06/Feb/2019:00:00:38 +0000", time))?;
        let (does, bytes) = match operation {
            b"REST.GET.OBJECT" if number(size).is_some() => (Operation::Read, size),
            b"REST.GET.OBJECT" => (Operation::Read, sent),
            b"REST.PUT.OBJECT" => (Operation::Write, size),
            _ if operation.contains(&b'.') => {
                self.left_out.add("operation", operation);
                return Ok(None);
            }
            _ => return Err(wrong("operation of S3", operation)),
        };
        if !matches!(status, b"200" | b"206") {
            self.left_out.add("status", status);
            return Ok(None);
        }
        if status == b"206" && number(size).is_none() {
            self.parts.add();
        }
        let bytes =
            if bytes == b"-" { Some(0) } else { number(bytes) }.ok_or_else(|| wrong("number of bytes", bytes))?;
        let Some(len) = u32::try_from(bytes).ok().filter(|&len| len > 0) else {
            self.left_out.add(if bytes == 0 { "of no bytes" } else { "of 4 GiB or more" }, b"");
            return Ok(None);
        };
        self.name.clear();
        self.name.extend_from_slice(bucket);
        self.name.push(b'/');
        self.name.extend_from_slice(key);
        let handler = u32::try_from(self.clients.number(client)).unwrap_or(u32::MAX);
        let (file, at) = (self.objects.number(&self.name), self.clock.at(nanos));
        Ok(Some(Request { at, file, len, handler, operation: does, ..Request::default() }))
    }

    fn shape(&self) -> Shape {
        Shape::Objects
    }

    fn files(&self) -> Vec<FileInfo> {
        self.objects.files(0)
    }

    fn reading(&self) -> Reading {
        Reading { left_out: self.left_out.all(), doubts: self.parts.doubt(), ..Reading::default() }
    }
}
