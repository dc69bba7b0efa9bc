//! Text within HTML and XML.

/// A text as it stands between marks and in quoted attributes. Control characters, which XML cannot
/// hold and pages do not show, are the replacement character.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => escaped.push(char::REPLACEMENT_CHARACTER),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_is_markup() {
        assert_eq!(escape("<a href='x\" y'>&amp;\n"), "&lt;a href=&#39;x&quot; y&#39;&gt;&amp;amp;\u{fffd}");
        assert_eq!(escape("ünïcödé 名前"), "ünïcödé 名前");
    }
}
