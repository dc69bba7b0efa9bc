//! The profile of the AWS files: `~/.aws/config` and `~/.aws/credentials`, unless the environment
//! names others.

use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::path::PathBuf;

use aws_config::profile::{self, ProfileSet};
use aws_runtime::env_config::EnvConfigValue;
use aws_runtime::env_config::file::EnvConfigFiles;
use aws_types::os_shim_internal::{Env, Fs};
use futures::FutureExt;

use super::Missing;
use super::missing::reason;

/// The two files: the variable that names each, and its place in the home folder.
const FILES: [(&str, &str); 2] =
    [("AWS_CONFIG_FILE", ".aws/config"), ("AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials")];

/// The profile that counts, and all others that it may refer to.
pub(in crate::object) struct Profile {
    name: String,
    /// Whether an option or the environment named it, so that it must be there.
    chosen: bool,
    set: ProfileSet,
}

impl Profile {
    /// Reads the files for the profile `name`, else `AWS_PROFILE`, else `default`. A profile that
    /// is not there is one without settings.
    pub(in crate::object) fn read(name: Option<&str>) -> Result<Profile, Missing> {
        let chosen = name.map(str::to_owned).or_else(|| variable("AWS_PROFILE"));
        let (name, chosen) = chosen.map_or_else(|| ("default".to_owned(), false), |name| (name, true));
        let (fs, env, files) = (Fs::real(), Env::real(), EnvConfigFiles::default());
        // Reads files and waits for nothing, so the answer is there at once.
        match profile::load(&fs, &env, &files, Some(Cow::Owned(name.clone()))).now_or_never() {
            Some(Ok(set)) => Ok(Profile { name, chosen, set }),
            Some(Err(error)) => Err(Missing::Files(reason(&error))),
            None => Err(Missing::Abandoned),
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// An error if it was named and is not there.
    pub(super) fn must_be_there(&self) -> Result<(), Missing> {
        if self.chosen && !self.is_there() {
            return Err(Missing::NoProfile { profile: self.name.clone(), files: files() });
        }
        Ok(())
    }

    /// An error if its role, or one on the way to it, wants a second factor. The AWS crate would
    /// ask for the role without.
    pub(super) fn must_want_no_factor(&self) -> Result<(), Missing> {
        let (mut name, mut seen) = (&*self.name, Vec::new());
        while let Some(profile) = self.set.get_profile(name).filter(|_| !seen.contains(&name)) {
            let has = |key| profile.get(key).is_some_and(|value| !value.is_empty());
            if !has("role_arn") {
                break;
            }
            if has("mfa_serial") {
                return Err(Missing::Factor { profile: name.to_owned() });
            }
            seen.push(name);
            let Some(source) = profile.get("source_profile") else { break };
            name = source;
        }
        Ok(())
    }

    fn is_there(&self) -> bool {
        self.set.get_profile(&self.name).is_some()
    }

    /// Why it has no credentials, when it has none.
    pub(super) fn lacks(&self) -> String {
        let Profile { name, .. } = self;
        if self.is_there() { format!("profile {name} has none") } else { format!("no profile {name} in {}", files()) }
    }

    /// Whether its credentials come from a login in a browser.
    pub(super) fn is_of_sso(&self) -> bool {
        ["sso_session", "sso_start_url"].iter().any(|key| self.set.get(key).is_some())
    }

    /// Its region.
    pub(in crate::object) fn region(&self) -> Option<&str> {
        self.set.get("region").filter(|region| !region.is_empty())
    }

    /// Its endpoint of S3, else of all services.
    pub(in crate::object) fn endpoint(&self) -> Option<String> {
        if variable("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS").is_some_and(|value| value.eq_ignore_ascii_case("true")) {
            return None;
        }
        let env = Env::real();
        let value = EnvConfigValue::new().profile("endpoint_url").service_id("S3");
        let (endpoint, _) = value.load(&env, Some(&self.set))?;
        Some(endpoint.into_owned()).filter(|endpoint| !endpoint.is_empty())
    }
}

/// The paths of the two files.
pub(super) fn paths() -> [PathBuf; 2] {
    let home = variable("HOME").unwrap_or_else(|| "~".into());
    FILES.map(|(name, place)| match variable(name) {
        Some(path) if path.starts_with("~/") => PathBuf::from(&home).join(&path[2..]),
        Some(path) => PathBuf::from(path),
        None => PathBuf::from(&home).join(place),
    })
}

/// The files, and why one cannot be read.
fn files() -> String {
    let files = paths().map(|path| {
        let state = match File::open(&path) {
            Ok(_) => String::new(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => " (not there)".into(),
            Err(error) => format!(" ({error})"),
        };
        format!("{}{state}", path.display())
    });
    files.join(" or ")
}

/// A variable of the environment that is set to something.
pub(super) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
