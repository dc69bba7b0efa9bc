//! How a mount shows attributes that its storage does not have: modes and owners.

use clap::Args;
use forebay_source::Modes;

/// Modes and owners of files and folders of object stores and web servers.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Shown {
    /// Permission bits of files of stores and web servers, in octal
    ///
    /// They are shown without write bits, since the mount is read-only. Example: `--file-mode 440`
    #[arg(long, value_name = "OCTAL", default_value = "444", value_parser = bits)]
    pub(crate) file_mode: u32,

    /// Permission bits of folders of stores and web servers, in octal
    #[arg(long, value_name = "OCTAL", default_value = "555", value_parser = bits)]
    pub(crate) dir_mode: u32,

    /// User id of files of stores and web servers; by default the mounting user's
    #[arg(long, value_name = "ID", value_parser = id)]
    pub(crate) uid: Option<u32>,

    /// Group id of files of stores and web servers; by default the mounting user's
    #[arg(long, value_name = "ID", value_parser = id)]
    pub(crate) gid: Option<u32>,
}

/// A user's or a group's number.
fn id(text: &str) -> Result<u32, &'static str> {
    text.parse().map_err(|_| "give a number, which `id NAME` prints for a user")
}

/// Permission bits, as `chmod` takes them.
fn bits(text: &str) -> Result<u32, String> {
    let digits = text.strip_prefix("0o").unwrap_or(text);
    match u32::from_str_radix(digits, 8) {
        Ok(bits) if bits <= 0o777 && digits.bytes().all(|digit| digit.is_ascii_digit()) => Ok(bits),
        _ => Err("permission bits are three octal digits, as in 644".into()),
    }
}

impl Shown {
    /// The attributes in the library's terms.
    pub(crate) fn modes(&self) -> Modes {
        let own = Modes::default();
        Modes {
            file: self.file_mode,
            folder: self.dir_mode,
            uid: self.uid.unwrap_or(own.uid),
            gid: self.gid.unwrap_or(own.gid),
        }
    }
}

#[cfg(test)]
mod tests {

    #[test]
    fn bits_are_octal() {
        for (text, bits) in [("644", 0o644), ("0o555", 0o555), ("0", 0), ("0777", 0o777)] {
            assert_eq!(super::bits(text), Ok(bits));
        }
        for text in ["", "8", "rw", "1777", "+44", "-1", "4 4"] {
            assert!(super::bits(text).is_err(), "{text:?}");
        }
    }
}
