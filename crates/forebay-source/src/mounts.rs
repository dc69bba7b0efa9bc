//! The table of mounts, by `/proc/self/mountinfo` (proc_pid_mountinfo(5)).

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// The type of Forebay's mounts, as the table shows it.
pub const FOREBAY: &str = "fuse.forebay";

/// One line of the table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// The mount's id, unique while it lasts.
    pub id: u64,
    /// The device number of its files, `major:minor`.
    pub device: String,
    /// Its mount point.
    pub point: PathBuf,
    /// The type of file system, with the subtype: `fuse.forebay`.
    pub kind: String,
    /// The source, by the mount's own account.
    pub source: OsString,
    /// The options of this mount and of its file system, each between commas, as they stand there:
    /// with the kernel's escapes.
    pub options: String,
}

impl Entry {
    /// Whether it is one of Forebay.
    pub fn is_forebays(&self) -> bool {
        self.kind == FOREBAY
    }

    /// Whether it was mounted with an option that is a word.
    pub fn has_option(&self, word: &str) -> bool {
        self.options.split(',').any(|option| option == word)
    }
}

/// The mounts that this process sees, in the order in which they were mounted: later ones lie on
/// top of earlier ones.
///
/// # Errors
/// If the table cannot be read.
pub fn table() -> io::Result<Vec<Entry>> {
    Ok(entries(&std::fs::read("/proc/self/mountinfo")?).collect())
}

/// The lines of a table; one that is none is passed over.
pub fn entries(table: &[u8]) -> impl Iterator<Item = Entry> {
    table.split(|&byte| byte == b'\n').filter_map(entry)
}

/// `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue`
fn entry(line: &[u8]) -> Option<Entry> {
    let mut fields = line.split(|&byte| byte == b' ');
    let id = std::str::from_utf8(fields.next()?).ok()?.parse().ok()?;
    let device = String::from_utf8_lossy(fields.nth(1)?).into_owned();
    let point = PathBuf::from(unescape(fields.nth(1)?));
    let of_mount = String::from_utf8_lossy(fields.next()?);
    fields.find(|&field| field == b"-")?;
    let kind = String::from_utf8_lossy(fields.next()?).into_owned();
    let source = unescape(fields.next()?);
    let of_system = String::from_utf8_lossy(fields.next().unwrap_or_default());
    Some(Entry { id, device, point, kind, source, options: format!("{of_mount},{of_system}") })
}

/// Undoes the kernel's escapes: space, tab, newline and backslash as `\` and three octal digits.
pub fn unescape(field: &[u8]) -> OsString {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&byte, after)) = rest.split_first() {
        let code = after.first_chunk::<3>().filter(|_| byte == b'\\').and_then(|digits| {
            let digits = std::str::from_utf8(digits).ok()?;
            u8::from_str_radix(digits, 8).ok()
        });
        bytes.push(code.unwrap_or(byte));
        rest = if code.is_some() { &after[3..] } else { after };
    }
    OsString::from_vec(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStrExt;
    use std::path::Path;

    const TABLE: &[u8] = b"\
21 1 8:1 / / rw,relatime - ext4 /dev/root rw
36 21 0:40 / /mnt/a\\040b\\134c rw,nosuid,nodev shared:12 master:1 - fuse.forebay s3://bucket/a\\040b rw,user_id=0
37 36 0:41 / /mnt/a\\040b\\134c ro - tmpfs tmpfs rw
not a line
38 21 0:42 / /mnt/\xff\xfe ro - fuse.other x rw";

    #[test]
    fn reads_escapes_optional_fields_and_bytes_that_are_not_text() {
        let entries: Vec<Entry> = entries(TABLE).collect();
        assert_eq!(entries.iter().map(|entry| entry.id).collect::<Vec<_>>(), [21, 36, 37, 38]);
        assert_eq!(entries[1].point, Path::new("/mnt/a b\\c"));
        assert_eq!((entries[1].kind.as_str(), entries[1].device.as_str()), ("fuse.forebay", "0:40"));
        assert_eq!(entries[1].source, "s3://bucket/a b");
        assert_eq!(entries[1].options, "rw,nosuid,nodev,rw,user_id=0");
        assert!(entries[1].has_option("nosuid") && !entries[1].has_option("no") && !entries[0].has_option("nosuid"));
        assert_eq!(entries[2].kind, "tmpfs");
        assert_eq!(entries[3].point.as_os_str().as_bytes(), b"/mnt/\xff\xfe");
    }

    #[test]
    fn unescaping_leaves_what_is_no_escape() {
        for (escaped, plain) in [(r"\", r"\"), (r"\04", r"\04"), (r"\999", r"\999"), (r"a\011b", "a\tb")] {
            assert_eq!(unescape(escaped.as_bytes()), plain);
        }
    }
}
