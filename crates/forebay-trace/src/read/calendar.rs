//! Dates and times of logs, in nanoseconds since 1970.

use crate::read::text::{number, seconds};

const SECOND: u64 = 1_000_000_000;

/// Days from 1970 to a day of the Gregorian calendar, none before; after Howard Hinnant's
/// `days_from_civil`.
fn days(year: u64, month: u64, day: u64) -> Option<u64> {
    if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // Years begin with March, so that the leap day is the last.
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year / 400, year % 400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    (era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year).checked_sub(719_468)
}

/// Nanoseconds of the day of `hh:mm:ss`, with a fraction or without.
pub(crate) fn time_of_day(text: &[u8]) -> Option<u64> {
    let mut parts = text.splitn(3, |&byte| byte == b':');
    let (hours, minutes) = (two_digits(parts.next()?)?, two_digits(parts.next()?)?);
    let nanos = seconds(parts.next()?)?;
    (hours < 24 && minutes < 60 && nanos < 61 * SECOND).then(|| (hours * 60 + minutes) * 60 * SECOND + nanos)
}

fn two_digits(text: &[u8]) -> Option<u64> {
    number(text).filter(|_| text.len() <= 2)
}

/// How far a zone is east of Greenwich, nanoseconds: `Z`, `+0200`, `-07:00`, or nothing.
fn zone(text: &[u8]) -> Option<i64> {
    let (sign, rest) = match text {
        b"" | b"Z" | b"z" => return Some(0),
        [b'+', rest @ ..] => (1, rest),
        [b'-', rest @ ..] => (-1, rest),
        _ => return None,
    };
    let (hours, minutes) = rest.split_at_checked(2)?;
    let minutes = minutes.strip_prefix(b":").unwrap_or(minutes);
    let minutes = if minutes.is_empty() { 0 } else { two_digits(minutes)? };
    let minutes = i64::try_from(two_digits(hours)? * 60 + minutes).ok()?;
    Some(sign * minutes * 60 * SECOND as i64)
}

fn together(days: u64, of_day: u64, zone: i64) -> Option<u64> {
    days.checked_mul(86_400 * SECOND)?.checked_add(of_day)?.checked_add_signed(zone.checked_neg()?)
}

/// `2026-11-26T03:00:00.125Z`, with a blank instead of `T`, with a zone or without.
pub(crate) fn timestamp(text: &[u8]) -> Option<u64> {
    let (date, rest) = text.split_at_checked(10)?;
    let mut parts = date.split(|&byte| byte == b'-');
    let (year, month, day) = (number(parts.next()?)?, number(parts.next()?)?, number(parts.next()?)?);
    let rest = rest.strip_prefix(b"T").or_else(|| rest.strip_prefix(b" "))?;
    let end = rest.iter().position(|byte| matches!(byte, b'Z' | b'z' | b'+' | b'-')).unwrap_or(rest.len());
    together(days(year, month, day)?, time_of_day(&rest[..end])?, zone(&rest[end..])?)
}

/// `10/Oct/2000:13:55:36 -0700`, as web servers write it.
pub(crate) fn log_time(text: &[u8]) -> Option<u64> {
    const MONTHS: [&[u8]; 12] =
        [b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec"];
    let (date, rest) = text.split_at_checked(11)?;
    let mut parts = date.split(|&byte| byte == b'/');
    let (day, name, year) = (number(parts.next()?)?, parts.next()?, number(parts.next()?)?);
    let month = MONTHS.iter().position(|month| month.eq_ignore_ascii_case(name))? as u64 + 1;
    let (time, east) = rest.strip_prefix(b":")?.split_at_checked(8)?;
    together(days(year, month, day)?, time_of_day(time)?, zone(east.trim_ascii())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_that_date_prints() {
        assert_eq!(timestamp(b"1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(timestamp(b"2024-02-29T12:30:01.5Z"), Some(1_709_209_801_500_000_000));
        assert_eq!(timestamp(b"2026-11-26 03:00:00.125+02:00"), Some(1_795_654_800_125_000_000));
        assert_eq!(log_time(b"10/Oct/2000:13:55:36 -0700"), Some(971_211_336_000_000_000));
        for wrong in ["", "2024-02-29", "2024-13-01T00:00:00", "2024-01-01T25:00:00", "1969-01-01T00:00:00", "x"] {
            assert_eq!(timestamp(wrong.as_bytes()), None, "{wrong}");
        }
        for wrong in ["10/Okt/2000:13:55:36 -0700", "10/Oct/2000", "10/Oct/2000:13:55:36 -070000"] {
            assert_eq!(log_time(wrong.as_bytes()), None, "{wrong}");
        }
        assert_eq!(timestamp(b"1970-01-01T00:00:00+02:00"), None);
    }
}
