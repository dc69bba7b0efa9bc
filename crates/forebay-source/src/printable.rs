//! Names in messages: a name of a file or a source may hold any character.

use std::borrow::Cow;
use std::fmt::Write;

/// The text with control characters as escapes, as in `\n` and `\u{1b}`. So a name is no order to a
/// terminal, and ends no line.
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(char::is_control) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for char in text.chars() {
        // A string takes all that is written.
        let _ = if char.is_control() { write!(shown, "{}", char.escape_debug()) } else { shown.write_char(char) };
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::printable;

    #[test]
    fn only_control_characters_are_escaped() {
        assert_eq!(printable("it's größer \\"), "it's größer \\");
        assert_eq!(printable("it's\n\x1b[2J\u{9b}\0"), "it's\\n\\u{1b}[2J\\u{9b}\\0");
    }
}
