//! Profiles between runs: a file each in the user's cache folder, by the device's identity.

use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use forebay_device::Profile;

/// A folder of profiles.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Store {
    folder: PathBuf,
}

impl Store {
    /// The user's: `forebay/profiles` in `$XDG_CACHE_HOME`, else in `~/.cache`; `None` without
    /// either.
    pub fn user() -> Option<Store> {
        Some(Store::at(user_folder()?.join("profiles")))
    }

    /// Profiles in `folder`, which is made when the first one is saved.
    pub fn at(folder: PathBuf) -> Store {
        Store { folder }
    }

    /// The file of a device: some of its name to be recognised by, and a hash to be unique.
    pub fn path(&self, device: &str) -> PathBuf {
        let plain: String = device.chars().filter(char::is_ascii_alphanumeric).take(32).collect();
        let fnv = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        let hash = device.bytes().fold(0xcbf2_9ce4_8422_2325, fnv);
        self.folder.join(format!("{plain}-{hash:016x}.json"))
    }

    /// The profile of `device`, if one was saved. A file that cannot be read or makes no sense is
    /// as good as none; the log says so.
    pub fn load(&self, device: &str) -> Option<Profile> {
        let path = self.path(device);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return None,
            Err(error) => {
                log::warn!("the profile {} cannot be read: {error}", path.display());
                return None;
            }
        };
        let parsed = serde_json::from_str::<Profile>(&text).map_err(|error| error.to_string());
        match parsed.and_then(|profile| profile.check().map(|()| profile).map_err(str::to_owned)) {
            Ok(profile) if profile.device == device => Some(profile),
            Ok(profile) => {
                log::warn!("the profile {} is of another device, {}", path.display(), profile.device);
                None
            }
            Err(reason) => {
                log::warn!("the profile {} is damaged and not used: {reason}", path.display());
                None
            }
        }
    }

    /// Keeps a profile in place of the device's last one; readers see the one or the other, whole.
    /// Returns its file.
    pub fn save(&self, profile: &Profile) -> std::io::Result<PathBuf> {
        std::fs::create_dir_all(&self.folder)?;
        let path = self.path(&profile.device);
        let draft = path.with_extension(format!("{}.new", std::process::id()));
        let kept = write(&draft, profile).and_then(|()| std::fs::rename(&draft, &path));
        if kept.is_err() {
            // The rest of the draft is of no use; the error says enough.
            let _ = std::fs::remove_file(&draft);
        }
        kept.map(|()| path)
    }
}

/// The folder for learnt data: `forebay` in `$XDG_CACHE_HOME`, else in `~/.cache`; `None` without
/// either. As the specification wants it, a relative `XDG_CACHE_HOME` counts as unset.
pub(crate) fn user_folder() -> Option<PathBuf> {
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
    Some(cache.join("forebay"))
}

fn write(path: &Path, profile: &Profile) -> std::io::Result<()> {
    let mut file = std::fs::File::create(path)?;
    file.write_all(&serde_json::to_vec_pretty(profile)?)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_device::Kind;

    fn profile(device: &str) -> Profile {
        Profile {
            kind: Kind::Flat,
            device: device.into(),
            measured: 5,
            capacity: 0,
            channels: 4,
            first_byte: 20,
            rate: 30,
            half_revolution: 0,
            seek: vec![],
            zones: vec![],
        }
    }

    #[test]
    fn what_is_saved_is_loaded_by_its_device() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::at(dir.path().join("a/b"));
        assert_eq!(store.load("s3://x"), None);
        store.save(&profile("s3://x")).unwrap();
        store.save(&profile("s3://y")).unwrap();
        let newer = Profile { rate: 31, ..profile("s3://x") };
        store.save(&newer).unwrap();
        assert_eq!((store.load("s3://x"), store.load("s3://y")), (Some(newer), Some(profile("s3://y"))));
        assert_eq!(std::fs::read_dir(dir.path().join("a/b")).unwrap().count(), 2, "no drafts are left");
    }

    #[test]
    fn devices_of_like_names_have_their_own_files() {
        let store = Store::at("/x".into());
        let odd = ["a/b", "a_b", "ab", "../ab", "a b", "é"];
        let paths: std::collections::HashSet<PathBuf> = odd.iter().map(|device| store.path(device)).collect();
        assert_eq!(paths.len(), odd.len());
        assert!(paths.iter().all(|path| path.parent() == Some(Path::new("/x"))));
    }

    #[test]
    fn damaged_files_are_as_good_as_none() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::at(dir.path().to_owned());
        let path = store.save(&profile("d")).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        for damaged in [&text[..text.len() / 2], "", "{}", &text.replace("30", "0"), &text.replace("\"d\"", "\"e\"")] {
            std::fs::write(&path, damaged).unwrap();
            assert_eq!(store.load("d"), None, "{damaged}");
        }
        std::fs::write(&path, [0xff, 0xfe]).unwrap();
        assert_eq!(store.load("d"), None);
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        assert_eq!(store.load("d"), None);
        assert!(store.save(&profile("d")).is_err());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "no drafts are left");
    }
}
