//! The members of a gzip file, one behind the other. Zeros behind the last one are padding, as
//! tapes and block devices add it; gzip passes over them too.

use std::io::{self, BufRead, Read};

use flate2::bufread::GzDecoder;

pub(super) struct Members<R> {
    /// None at the end.
    member: Option<GzDecoder<R>>,
}

impl<R: BufRead> Members<R> {
    pub(super) fn new(raw: R) -> Members<R> {
        Members { member: Some(GzDecoder::new(raw)) }
    }
}

/// Passes over zeros; whether nothing follows them.
fn padding(raw: &mut impl BufRead) -> io::Result<bool> {
    loop {
        let bytes = raw.fill_buf()?;
        let zeros = bytes.iter().take_while(|&&byte| byte == 0).count();
        let (some, all) = (!bytes.is_empty(), zeros == bytes.len());
        raw.consume(zeros);
        if !some || !all {
            return Ok(!some);
        }
    }
}

impl<R: BufRead> Read for Members<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.member {
            match member.read(buffer)? {
                0 if !buffer.is_empty() => {}
                bytes => return Ok(bytes),
            }
            if let Some(member) = self.member.take() {
                let mut raw = member.into_inner();
                self.member = if padding(&mut raw)? { None } else { Some(GzDecoder::new(raw)) };
            }
        }
        Ok(0)
    }
}
