//! Amounts of memory and data, as people write and read them.

pub(crate) use forebay_source::size::Size;

/// Bytes to read at a glance: three or four digits and a binary unit.
pub(crate) fn about(bytes: u64) -> String {
    let mut value = bytes as f64;
    let mut unit = "B";
    for larger in ["KiB", "MiB", "GiB", "TiB", "PiB"] {
        if value < 1024.0 {
            break;
        }
        (value, unit) = (value / 1024.0, larger);
    }
    if unit == "B" { format!("{bytes} B") } else { format!("{value:.1} {unit}") }
}

/// A count with its thousands apart: 1,234,567.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_a_glance() {
        assert_eq!(about(0), "0 B");
        assert_eq!(about(1023), "1023 B");
        assert_eq!(about(1536), "1.5 KiB");
        assert_eq!(about(512 << 20), "512.0 MiB");
        assert_eq!(about(u64::MAX), "16384.0 PiB");
        assert_eq!((count(0), count(999), count(1000)), ("0".into(), "999".into(), "1,000".into()));
        assert_eq!(count(1_234_567), "1,234,567");
    }
}
