//! A line of strace: process, time, and a call with its arguments and its result.

use crate::read::text::{Fields, hexadecimal, number};

/// The parts before the call.
pub(super) struct Head<'a> {
    /// Zero if the log is that of one process.
    pub(super) process: u32,
    /// Nanoseconds since 1970, or of the day; zero without times.
    pub(super) nanos: u64,
    pub(super) rest: &'a [u8],
}

impl<'a> Head<'a> {
    /// `time` reads a time of either kind.
    pub(super) fn of(line: &'a [u8], mut time: impl FnMut(&[u8]) -> Option<u64>) -> Option<Head<'a>> {
        let (mut process, mut nanos, mut rest) = (0, 0, line);
        if let Some(inner) = line.strip_prefix(b"[pid") {
            let end = memchr::memchr(b']', inner)?;
            process = number(inner[..end].trim_ascii())?.try_into().ok()?;
            rest = inner[end + 1..].trim_ascii_start();
        } else if let Some(first) = Fields::of(line).next()
            && let Some(number) = number(first)
        {
            process = number.try_into().ok()?;
            rest = line[first.len()..].trim_ascii_start();
        }
        if let Some(first) = Fields::of(rest).next()
            && first.first().is_some_and(u8::is_ascii_digit)
        {
            nanos = time(first)?;
            rest = rest[first.len()..].trim_ascii_start();
        }
        Some(Head { process, nanos, rest })
    }
}

/// A call that has ended.
pub(super) struct Call<'a> {
    pub(super) name: &'a [u8],
    arguments: &'a [u8],
    /// None if it failed, or returned nothing.
    pub(super) result: Option<u64>,
}

impl<'a> Call<'a> {
    pub(super) fn of(text: &'a [u8]) -> Option<Call<'a>> {
        let open = memchr::memchr(b'(', text)?;
        let name = &text[..open];
        if name.is_empty() || !name.iter().all(|&byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            return None;
        }
        // The bytes that were read may hold any text; the result comes last.
        let equals = memchr::memmem::rfind(text, b" = ").filter(|&at| at > open)?;
        let arguments = text[open + 1..equals].trim_ascii_end().strip_suffix(b")")?;
        let result = Fields::of(&text[equals + 3..]).next()?;
        let result = result.split(|&byte| byte == b'<').next().unwrap_or_default();
        // Calls of memory return an address.
        Some(Call { name, arguments, result: number(result).or_else(|| hexadecimal(result)) })
    }

    /// The first argument, if it is a descriptor.
    pub(super) fn descriptor(&self) -> Option<u64> {
        number(self.first().split(|&byte| byte == b'<').next().unwrap_or_default())
    }

    /// The file of the first argument, which `-y` writes behind the descriptor.
    pub(super) fn named(&self) -> Option<&'a [u8]> {
        let from = memchr::memchr(b'<', self.first())? + 1;
        let first = self.first();
        let to = memchr::memrchr(b'>', first).filter(|&to| to > from)?;
        Some(&first[from..to]).filter(|name| name.starts_with(b"/"))
    }

    fn first(&self) -> &'a [u8] {
        // The name of a file may have a comma in it, but stands in angle brackets.
        let end = memchr::memmem::find(self.arguments, b">, ").map(|at| at + 1);
        let comma = memchr::memchr(b',', self.arguments).unwrap_or(self.arguments.len());
        match memchr::memchr(b'<', &self.arguments[..comma]) {
            Some(_) => &self.arguments[..end.unwrap_or(comma).max(comma)],
            None => &self.arguments[..comma],
        }
    }

    /// The last argument that is a number, of calls whose offset is that.
    pub(super) fn offset(&self) -> Option<u64> {
        let mut last = self.arguments.rsplit(|&byte| byte == b',').map(<[u8]>::trim_ascii);
        let first = last.next()?;
        // The flags of preadv2 stand behind the offset.
        match self.name {
            b"preadv2" | b"pwritev2" => number(last.next()?),
            _ => number(first),
        }
    }

    /// The path that an open names: the first argument in quotes.
    pub(super) fn path(&self) -> Option<&'a [u8]> {
        let from = memchr::memchr(b'"', self.arguments)? + 1;
        let mut end = from;
        while let Some(&byte) = self.arguments.get(end) {
            match byte {
                b'"' => return Some(&self.arguments[from..end]),
                b'\\' => end += 2,
                _ => end += 1,
            }
        }
        None
    }

    /// Whether a flag is among the arguments.
    pub(super) fn says(&self, flag: &[u8]) -> bool {
        memchr::memmem::find(self.arguments, flag).is_some()
    }
}
