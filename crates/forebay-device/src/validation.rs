//! Validation traces: the form in which DiskSim's authors published measurements of real disks.
//! Text, a request a line:
//!
//! ```text
//! R Hit    2992396   4  13670.00000  35942.00000
//! │ │      │         │  │            └ microseconds of idleness to the next request
//! │ │      │         │  └ measured service time, microseconds
//! │ │      │         └ blocks of 512 bytes
//! │ │      └ first block
//! │ └ Hit, Miss or how the bus was let go of; not filled in truthfully, so not used
//! └ R or W
//! ```

/// A request that a real disk served.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Measured {
    /// Whether it was a write.
    pub write: bool,
    /// The first block of 512 bytes.
    pub block: u64,
    /// Blocks.
    pub blocks: u64,
    /// Measured service time, nanoseconds.
    pub service: f64,
    /// Nanoseconds between the end of this request and the next one. DiskSim replays it so, though
    /// the column is also described as the time since the previous request.
    pub gap: f64,
}

/// Why a trace was not read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct TraceError {
    /// The line, from 1.
    pub line: u64,
    /// The fault in it.
    pub reason: &'static str,
}

/// Times beyond this are no disk's: 1000 days, in microseconds.
const LONGEST_US: f64 = 86_400e6 * 1000.0;

/// Reads a trace, already decompressed. Empty lines are passed over.
pub fn parse(bytes: &[u8]) -> Result<Vec<Measured>, TraceError> {
    let mut requests = Vec::new();
    for (line, text) in (1..).zip(bytes.split(|&byte| byte == b'\n')) {
        if text.trim_ascii().is_empty() {
            continue;
        }
        requests.push(request(text).map_err(|reason| TraceError { line, reason })?);
    }
    Ok(requests)
}

fn request(text: &[u8]) -> Result<Measured, &'static str> {
    let text = str::from_utf8(text).map_err(|_| "it is not text")?;
    let mut words = text.split_ascii_whitespace();
    let mut word = || words.next().ok_or("it must have six columns");
    let write = match word()? {
        "R" => false,
        "W" => true,
        _ => return Err("it must begin with R or W"),
    };
    word()?;
    let number = |word: &str| word.parse::<u64>().ok().filter(|&n| n < 1 << 50);
    let block = number(word()?).ok_or("the first block must be a whole number below 2⁵⁰")?;
    let blocks = number(word()?).filter(|&n| n > 0).ok_or("the blocks must be a whole number from 1")?;
    let time = |word: &str| word.parse::<f64>().ok().filter(|us| (0.0..=LONGEST_US).contains(us));
    let service = time(word()?).ok_or("the service time must be microseconds, not below zero")? * 1e3;
    let gap = time(word()?).ok_or("the time between requests must be microseconds, not below zero")? * 1e3;
    if word().is_ok() {
        return Err("it must have six columns");
    }
    Ok(Measured { write, block, blocks, service, gap })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn columns_are_read_in_nanoseconds() {
        let trace =
            parse(b"R Hit    2992396   4  13670.00000  35942.00000\n\nW Miss 7 1 0.5 0\r\n").expect("well formed");
        let first = Measured { write: false, block: 2_992_396, blocks: 4, service: 13.67e6, gap: 35.942e6 };
        assert_eq!(trace, [first, Measured { write: true, block: 7, blocks: 1, service: 500.0, gap: 0.0 }]);
    }

    #[test]
    fn mistakes_have_a_line() {
        for bad in
            ["X Hit 1 1 1 1", "R Hit 1 0 1 1", "R Hit -1 1 1 1", "R Hit 1 1 nan 1", "R Hit 1 1 1", "R Hit 1 1 1 1 1"]
        {
            let error = parse(format!("R Hit 1 1 1 1\n{bad}\n").as_bytes()).expect_err(bad);
            assert_eq!(error.line, 2, "{bad}: {error}");
        }
        assert_eq!(parse(b"R \xff").expect_err("not text").to_string(), "line 1: it is not text");
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&bytes);
        }
    }
}
