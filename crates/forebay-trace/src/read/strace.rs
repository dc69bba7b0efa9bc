//! The output of `strace -f`, best with `-ttt` and `-y`: reads and writes of files become requests.
//!
//! ```text
//!   712   1700000000.123456 openat(AT_FDCWD, "/data/a", O_RDONLY) = 3
//!   [pid   712] 1700000000.123460 pread64(3</data/a>, "\0\0"..., 4096, 8192) = 4096
//!   712   1700000000.123470 read(3,  <unfinished ...>
//!   712   1700000000.123475 <... read resumed>"\0"..., 4096) = 4096
//! ```
//!
//! Positions are kept by descriptor, as the kernel does: reads and seeks move them. Threads share
//! their descriptors; where a process is not seen to have opened one, that of the latest process
//! that did is meant. A descriptor that nobody opened (before the log began, or a pipe) has no
//! file; its calls are left out, unless `-y` names the file. The process is the handler.

mod call;
mod descriptors;

use std::collections::HashMap;

use crate::read::calendar::time_of_day;
use crate::read::clock::Clock;
use crate::read::left_out::LeftOut;
use crate::read::text::{Line, quoted, seconds};
use crate::{FileInfo, Operation, Reading, Request, Shape};
use call::{Call, Head};
use descriptors::Descriptors;

pub(crate) struct Strace {
    clock: Clock,
    moments: Moments,
    descriptors: Descriptors,
    /// Calls that began and whose end comes later, by process.
    unfinished: HashMap<u32, Begun>,
    left_out: LeftOut,
}

impl Default for Strace {
    fn default() -> Strace {
        Strace {
            clock: Clock::new(1),
            moments: Moments::default(),
            descriptors: Descriptors::default(),
            unfinished: HashMap::new(),
            left_out: LeftOut::default(),
        }
    }
}

/// Makes times that rise of those that strace writes.
#[derive(Default)]
struct Moments {
    /// The latest time of day, and the days before it.
    of_day: u64,
    days: u64,
    /// The sum of the times since the line before (`-r`).
    sum: u64,
}

impl Moments {
    const SECOND: u64 = 1_000_000_000;
    const DAY: u64 = 86_400 * Moments::SECOND;
    /// Seconds since 1970 are beyond this, and seconds since the line before are not.
    const LONG: u64 = 100_000_000 * Moments::SECOND;

    fn of(&mut self, text: &[u8]) -> Option<u64> {
        if let Some(nanos) = seconds(text) {
            if nanos >= Moments::LONG {
                return Some(nanos);
            }
            self.sum = self.sum.saturating_add(nanos);
            return Some(self.sum);
        }
        let of_day = time_of_day(text)?;
        // Threads are slightly out of order; half a day is midnight.
        self.days += u64::from(of_day.saturating_add(Moments::DAY / 2) < self.of_day);
        self.of_day = of_day;
        Some(self.days * Moments::DAY + of_day)
    }
}

/// A call whose end comes later.
struct Begun {
    nanos: u64,
    text: Box<[u8]>,
}

/// A transfer: which way, and where, if not where the descriptor stands.
struct Transfer {
    operation: Operation,
    at: Option<u64>,
}

impl Strace {
    /// The effect of a finished call.
    fn finished(&mut self, head: &Head<'_>, text: &[u8]) -> Result<Option<Request>, String> {
        let call = Call::of(text).ok_or_else(|| format!("{} is no line of strace", quoted(text)))?;
        let Some(result) = call.result else {
            self.left_out.add("failed call", call.name);
            return Ok(None);
        };
        let process = head.process;
        match call.name {
            b"open" | b"openat" | b"openat2" | b"creat" => {
                if let Some(path) = call.path() {
                    self.descriptors.open(process, result, path);
                }
            }
            b"close" => self.descriptors.close(process, call.descriptor()),
            b"dup" | b"dup2" | b"dup3" => self.descriptors.same(process, call.descriptor(), result),
            b"fcntl" | b"fcntl64" if call.says(b"F_DUPFD") => {
                self.descriptors.same(process, call.descriptor(), result);
            }
            b"lseek" | b"_llseek" => self.descriptors.seek(process, &call, result),
            b"clone" | b"clone3" | b"fork" | b"vfork" => {
                self.descriptors.fork(process, result, call.says(b"CLONE_FILES"));
            }
            _ => return Ok(self.transferred(head, &call, result)),
        }
        Ok(None)
    }

    fn transferred(&mut self, head: &Head<'_>, call: &Call<'_>, result: u64) -> Option<Request> {
        let Some(transfer) = transfer(call) else {
            match call.name {
                b"mmap" | b"mmap2" if !call.says(b"MAP_ANONYMOUS") => {
                    self.left_out.add("file that is mapped: reads by memory are not in the log", b"");
                }
                other => self.left_out.add("call", other),
            }
            return None;
        };
        let Some(place) = self.descriptors.place(head.process, call) else {
            self.left_out.add("descriptor that was not opened:", call.name);
            return None;
        };
        if place.special {
            self.left_out.add("file of /dev, /proc or /sys:", call.name);
            return None;
        }
        let offset = transfer.at.unwrap_or(place.position);
        if transfer.at.is_none() {
            self.descriptors.move_to(head.process, call, place.position.saturating_add(result));
        }
        let len = u32::try_from(result).ok()?;
        let (at, handler) = (self.clock.at(head.nanos), head.process);
        let operation = transfer.operation;
        self.left_out.unless_empty(Request { at, file: place.file, offset, len, handler, operation, context: 0 })
    }
}

/// The transfer that a call is, if it is one.
fn transfer(call: &Call<'_>) -> Option<Transfer> {
    let (operation, positioned) = match call.name {
        b"read" | b"readv" => (Operation::Read, false),
        b"pread64" | b"pread" | b"preadv" | b"preadv2" => (Operation::Read, true),
        b"write" | b"writev" => (Operation::Write, false),
        b"pwrite64" | b"pwrite" | b"pwritev" | b"pwritev2" => (Operation::Write, true),
        _ => return None,
    };
    let at = if positioned { Some(call.offset()?) } else { None };
    Some(Transfer { operation, at })
}

impl Line for Strace {
    fn line(&mut self, line: &[u8]) -> Result<Option<Request>, String> {
        let line = line.trim_ascii();
        if line.is_empty() || line.starts_with(b"strace: ") {
            return Ok(None);
        }
        let moments = &mut self.moments;
        let head = Head::of(line, |text| moments.of(text));
        let head = head.ok_or_else(|| format!("{} is no line of strace", quoted(line)))?;
        let text = head.rest;
        // Signals and ends of processes.
        if text.starts_with(b"---") || text.starts_with(b"+++") {
            return Ok(None);
        }
        if let Some(begun) = text.strip_suffix(b"<unfinished ...>") {
            self.unfinished.insert(head.process, Begun { nanos: head.nanos, text: begun.into() });
            return Ok(None);
        }
        let Some(resumed) = text.strip_prefix(b"<... ") else {
            return self.finished(&head, text);
        };
        let Some(begun) = self.unfinished.remove(&head.process) else {
            self.left_out.add("end of a call whose beginning is not in the log", b"");
            return Ok(None);
        };
        let end = memchr::memmem::find(resumed, b"resumed>").map_or(resumed.len(), |at| at + b"resumed>".len());
        let whole = [&begun.text, &resumed[end..]].concat();
        self.finished(&Head { nanos: begun.nanos, ..head }, &whole)
    }

    fn shape(&self) -> Shape {
        Shape::Ranges { block_bytes: 4096 }
    }

    fn files(&self) -> Vec<FileInfo> {
        self.descriptors.files()
    }

    fn reading(&self) -> Reading {
        Reading { left_out: self.left_out.all(), ..Reading::default() }
    }
}
