//! A document in UTF-8, whichever of the common encodings it comes in.

use std::io::{self, BufRead, Read};

/// Bytes at the beginning of a document that reveal its encoding.
const HEAD: u64 = 200;

/// The bytes of a document in UTF-8, as far as its encoding is a common one; a byte order mark is
/// left out.
#[derive(Debug)]
pub(super) struct Utf8<R> {
    from: R,
    encoding: Encoding,
    /// Text that is ready, from `read` on.
    text: Vec<u8>,
    read: usize,
    /// The first bytes of a character whose others have not come.
    begun: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
enum Encoding {
    /// UTF-8, or an unknown encoding whose marks are those of ASCII.
    Utf8,
    /// UTF-16, with the way in which it writes a unit.
    Utf16(fn([u8; 2]) -> u16),
    /// ISO 8859-1, as the document says. Some servers say so and write UTF-8.
    SaidLatin1,
    /// ISO 8859-1, since some bytes were no UTF-8.
    Latin1,
}

impl<R: BufRead> Utf8<R> {
    pub(super) fn new(mut from: R) -> io::Result<Utf8<R>> {
        let mut head = Vec::new();
        from.by_ref().take(HEAD).read_to_end(&mut head)?;
        let (encoding, mark) = Encoding::of(&head);
        let mut document = Utf8 { from, encoding, text: Vec::new(), read: 0, begun: head.split_off(mark) };
        document.decode();
        Ok(document)
    }

    /// Makes text of the bytes that have come, but for a character that is not complete.
    fn decode(&mut self) {
        let bytes = std::mem::take(&mut self.begun);
        (self.text, self.read) = match self.encoding {
            Encoding::Utf8 => (bytes, 0),
            Encoding::Utf16(unit) => (self.of_units(&bytes, unit), 0),
            Encoding::SaidLatin1 => (self.of_either(bytes), 0),
            Encoding::Latin1 => (latin1(&bytes), 0),
        };
    }

    fn of_units(&mut self, bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Vec<u8> {
        let mut units: Vec<u16> = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]])).collect();
        let first_of_two = units.last().is_some_and(|last| (0xd800..0xdc00).contains(last));
        units.truncate(units.len() - usize::from(first_of_two));
        self.begun = bytes[units.len() * 2..].to_vec();
        of_utf16(units)
    }

    fn of_either(&mut self, mut bytes: Vec<u8>) -> Vec<u8> {
        let Err(error) = std::str::from_utf8(&bytes) else { return bytes };
        let rest = bytes.split_off(error.valid_up_to());
        if error.error_len().is_none() {
            self.begun = rest;
        } else {
            self.encoding = Encoding::Latin1;
            bytes.extend(latin1(&rest));
        }
        bytes
    }

    /// Makes text of a character that was never completed.
    fn end(&mut self) {
        let bytes = std::mem::take(&mut self.begun);
        self.read = 0;
        self.text = match self.encoding {
            Encoding::Utf8 => bytes,
            Encoding::Utf16(unit) => of_utf16(bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]))),
            Encoding::SaidLatin1 | Encoding::Latin1 => latin1(&bytes),
        };
    }
}

impl Encoding {
    /// From the beginning of a document; also the length of its byte order mark.
    fn of(head: &[u8]) -> (Encoding, usize) {
        match head {
            [0xef, 0xbb, 0xbf, ..] => (Encoding::Utf8, 3),
            [0xff, 0xfe, ..] => (Encoding::Utf16(u16::from_le_bytes), 2),
            [0xfe, 0xff, ..] => (Encoding::Utf16(u16::from_be_bytes), 2),
            _ => {
                let latin1 = head.to_ascii_lowercase().windows(10).any(|word| word == b"iso-8859-1");
                (if latin1 { Encoding::SaidLatin1 } else { Encoding::Utf8 }, 0)
            }
        }
    }
}

fn of_utf16(units: impl IntoIterator<Item = u16>) -> Vec<u8> {
    let characters = char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER));
    characters.collect::<String>().into_bytes()
}

fn latin1(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().map(|&byte| char::from(byte)).collect::<String>().into_bytes()
}

impl<R: BufRead> BufRead for Utf8<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.read == self.text.len() {
            if matches!(self.encoding, Encoding::Utf8) {
                return self.from.fill_buf();
            }
            let bytes = self.from.fill_buf()?;
            let came = bytes.len();
            if came == 0 && self.begun.is_empty() {
                return Ok(&[]);
            }
            self.begun.extend_from_slice(bytes);
            self.from.consume(came);
            if came == 0 { self.end() } else { self.decode() }
        }
        Ok(&self.text[self.read..])
    }

    fn consume(&mut self, bytes: usize) {
        if self.read < self.text.len() {
            self.read = self.text.len().min(self.read + bytes);
        } else {
            self.from.consume(bytes);
        }
    }
}

impl<R: BufRead> Read for Utf8<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(buffer)?;
        self.consume(read);
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A document whose bytes come in pieces of `piece` bytes.
    fn read(bytes: &[u8], piece: usize) -> Vec<u8> {
        let mut text = Vec::new();
        Utf8::new(io::BufReader::with_capacity(piece, bytes)).unwrap().read_to_end(&mut text).unwrap();
        text
    }

    proptest! {
        #[test]
        fn every_encoding_in_pieces(text in "\\PC{0,300}", piece in 1usize..40, little in any::<bool>()) {
            prop_assert_eq!(read(&["\u{feff}", &text].concat().into_bytes(), piece), text.as_bytes());
            let write = if little { u16::to_le_bytes } else { u16::to_be_bytes };
            let units: Vec<u8> = [0xfeff].into_iter().chain(text.encode_utf16()).flat_map(write).collect();
            prop_assert_eq!(read(&units, piece), text.as_bytes());
            let text = format!("<?xml version='1.0' encoding='ISO-8859-1'?>{text}");
            prop_assert_eq!(read(text.as_bytes(), piece), text.as_bytes(), "UTF-8 that says it is another");
        }

        #[test]
        fn latin1_in_pieces(text in "iso-8859-1[a-z]{0,250}\u{e9}[\u{20}-\u{ff}]{0,300}", piece in 1usize..40) {
            let bytes: Vec<u8> = text.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect();
            prop_assume!(bytes.utf8_chunks().next().is_some_and(|chunk| chunk.valid().is_ascii() && !chunk.invalid().is_empty()));
            prop_assert_eq!(String::from_utf8(read(&bytes, piece)).unwrap(), text);
        }

        #[test]
        fn any_bytes_are_read_to_their_end(bytes in prop::collection::vec(any::<u8>(), 0..300), piece in 1usize..40) {
            for mark in [b"".as_slice(), b"\xff\xfe", b"\xfe\xff", b"iso-8859-1"] {
                read(&[mark, &bytes].concat(), piece);
            }
        }
    }

    #[test]
    fn characters_that_are_not_complete() {
        assert_eq!(read(b"\xff\xfea\0\x3d\xd8", 3), "a\u{fffd}".as_bytes());
        assert_eq!(read(b"\xff\xfea\0b", 3), b"a");
        assert_eq!(read(b"iso-8859-1 \xc3", 3), "iso-8859-1 \u{c3}".as_bytes());
        assert_eq!(read(b"\xef\xbb\xbf\xc3", 3), b"\xc3");
    }
}
