//! Text written into memory that is already there.

/// Bytes in a row, of which as many are kept as there is room for.
#[derive(Debug)]
pub struct Text<'a> {
    bytes: &'a mut [u8],
    len: usize,
}

impl<'a> Text<'a> {
    /// An empty text that will lie in `bytes`.
    pub fn new(bytes: &'a mut [u8]) -> Text<'a> {
        Text { bytes, len: 0 }
    }

    /// Appends `byte` as it is.
    pub fn byte(&mut self, byte: u8) {
        if let Some(place) = self.bytes.get_mut(self.len) {
            *place = byte;
            self.len += 1;
        }
    }

    /// Appends `bytes` as they are.
    pub fn bytes(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.byte(*byte));
    }

    /// Appends a name: white space, control characters and the separators of a line become `%XX`.
    pub fn name(&mut self, name: &[u8]) {
        for byte in name {
            match byte {
                0..=b' ' | b'%' | b'@' | b'+' | 0x7f => {
                    self.byte(b'%');
                    self.digits(u64::from(*byte), 16, 2);
                }
                byte => self.byte(*byte),
            }
        }
    }

    /// Appends `number` in hexadecimal.
    pub fn hex(&mut self, number: u64) {
        self.digits(number, 16, 1);
    }

    /// Appends `number` in decimal.
    pub fn decimal(&mut self, number: u64) {
        self.digits(number, 10, 1);
    }

    /// Appends `number` to base `base`, in `least` digits or more.
    pub fn digits(&mut self, mut number: u64, base: u64, least: usize) {
        let mut digits = [b'0'; 20];
        let mut used = 0;
        while number > 0 {
            digits[used] = b"0123456789abcdef"[(number % base) as usize];
            number /= base;
            used += 1;
        }
        (0..used.max(least)).rev().for_each(|at| self.byte(digits[at]));
    }

    /// How many bytes are written.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing is written.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether a byte had no room, or the next one would have none.
    pub fn is_full(&self) -> bool {
        self.len == self.bytes.len()
    }

    /// The written bytes.
    pub fn written(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// A name that [`Text::name`] wrote; `None` if the text is none.
pub(crate) fn name(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte == b'%' {
            let digits = std::str::from_utf8(rest.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &rest[2..];
        } else {
            bytes.push(byte);
        }
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
