//! Hints on program contexts, kept between runs: an embedded database in the user's cache folder
//! (AMP §3: AMP "retains this information across runs").
//!
//! One table: a context's number of 64 bits → JSON, [`Known`]; beside it the version of this
//! format. Several mounts share the file: each opens it, merges its hints and closes it, and waits
//! a while if another mount has it open. A file that cannot be read, or is of another version, is
//! moved aside and begun anew: hints make a start quicker, nothing more.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use forebay_core::Hint;
use forebay_core::Usual;
use redb::{
    Builder, Database, DatabaseError, ReadableDatabase, ReadableTable, StorageError, TableDefinition, TableError,
};
use serde::{Deserialize, Serialize};

use crate::profiler::store::user_folder;

/// The version of the tables' content: 2 has how long streams usually are.
const VERSION: u64 = 2;

/// The number of a context, and a [`Known`] as JSON.
const HINTS: TableDefinition<'_, u64, &str> = TableDefinition::new("hints");

/// Facts about the whole database: `version`.
const ABOUT: TableDefinition<'_, &str, u64> = TableDefinition::new("about");

/// How many contexts are kept, those seen last: a few megabytes.
pub const MOST: usize = 10_000;

/// A context that no mount has seen for this many seconds, 90 days, is forgotten.
const LASTS: u64 = 90 * 24 * 60 * 60;

/// For how long a mount waits for another that has the file open; each has it for milliseconds.
const PATIENCE: Duration = Duration::from_secs(5);

/// The database's own cache, bytes. It is open for moments only.
const CACHE: usize = 1 << 20;

/// The program, and the call stack or the file, that a context stands for.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Origin {
    /// The path of the program; empty if it is unknown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub executable: String,
    /// Which build of it: its build id, or without the preload library inode, size and time of the
    /// file.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub build: String,
    /// The call stack, innermost first, as `module+0xoffset`; empty if the context is a program and
    /// a file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub frames: Vec<String>,
    /// The file, if the context is a program and a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

impl Origin {
    /// Whether `other` is of the same program, built differently, and told apart by the same means.
    fn is_rebuilt(&self, other: &Origin) -> bool {
        !self.executable.is_empty()
            && self.executable == other.executable
            && self.file.is_some() == other.file.is_some()
            && self.build != other.build
    }
}

/// The record of a context.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Known {
    /// The program that it stands for.
    #[serde(flatten)]
    pub origin: Origin,
    /// The knowledge about it.
    #[serde(flatten)]
    pub hint: Hint,
    /// When a mount saw it last, seconds since 1970.
    pub seen: u64,
}

impl Known {
    /// Whether it is too old at `now`, seconds since 1970, to tell how its program behaves.
    pub(super) fn is_old(&self, now: u64) -> bool {
        now.saturating_sub(self.seen) > LASTS
    }
}

/// Why hints could not be read or kept.
#[derive(Debug, thiserror::Error)]
pub enum HintsError {
    /// The file cannot be used.
    #[error("{}: {source}; give another with --hints, or --hints off", .path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// Another process has it open for too long.
    #[error("{}: another process keeps it open; try again, or give another with --hints", .0.display())]
    Busy(PathBuf),
    /// The database refused.
    #[error("{}: the database of hints failed: {reason}", .path.display())]
    Database {
        /// Which.
        path: PathBuf,
        /// The database's error.
        reason: String,
    },
}

/// Why it was not opened.
enum Refusal {
    /// It is damaged or of another version: it can be moved aside.
    Unusable(String),
    Failed(HintsError),
}

/// A database of hints.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hints {
    path: PathBuf,
}

impl Hints {
    /// The user's: `forebay/contexts.redb` in `$XDG_CACHE_HOME`, else in `~/.cache`; `None` without
    /// either.
    pub fn user() -> Option<Hints> {
        Some(Hints::at(user_folder()?.join("contexts.redb")))
    }

    /// The database at `path`, which is made when something is kept.
    pub fn at(path: PathBuf) -> Hints {
        Hints { path }
    }

    /// The path of its file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// All that is kept, by the contexts' numbers. Empty if there is no file.
    pub fn load(&self) -> Result<BTreeMap<u64, Known>, HintsError> {
        match fs::metadata(&self.path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(BTreeMap::new()),
            // Opening the file shows whether it can be opened.
            _ => {}
        }
        let database = self.open()?;
        self.read(&database).map_err(|error| self.failed(error))
    }

    /// Replaces what is known of the contexts in `learnt`. Forgets contexts of which nothing is
    /// known any more, those of programs that were built anew since, and those that no mount has
    /// seen for long. If there are more than [`MOST`], it also forgets those that were seen the
    /// longest ago. Returns all that is kept.
    pub fn merge(&self, learnt: &BTreeMap<u64, Known>) -> Result<BTreeMap<u64, Known>, HintsError> {
        if learnt.is_empty() {
            return self.load();
        }
        self.change(|known| {
            let newest: BTreeMap<(&str, bool), &Origin> = learnt
                .values()
                .map(|known| ((known.origin.executable.as_str(), known.origin.file.is_some()), &known.origin))
                .collect();
            let last = learnt.values().map(|known| known.seen).max().unwrap_or(0);
            known.retain(|_, old| {
                if old.is_old(last) {
                    return false;
                }
                let now = newest.get(&(old.origin.executable.as_str(), old.origin.file.is_some()));
                now.is_none_or(|now| !now.is_rebuilt(&old.origin))
            });
            for (&id, new) in learnt {
                let mut new = new.clone();
                // A mount remembers the stream lengths of fewer contexts than it remembers patterns
                // of.
                if let Some(old) = known.get(&id).filter(|_| new.hint.usual == Usual::UNKNOWN) {
                    new.hint.usual = old.hint.usual;
                }
                if new.hint.is_nothing() {
                    known.remove(&id);
                } else {
                    known.insert(id, new);
                }
            }
            let mut ages: Vec<(u64, u64)> = known.iter().map(|(&id, known)| (known.seen, id)).collect();
            ages.sort_unstable();
            for (_, id) in &ages[..ages.len().saturating_sub(MOST)] {
                known.remove(id);
            }
        })
        .map(|(_, after)| after)
    }

    /// Forgets everything, or the contexts of one program, by its path or the last part of it.
    /// Returns how many there were.
    pub fn clear(&self, executable: Option<&str>) -> Result<usize, HintsError> {
        if !self.path.exists() {
            return Ok(0);
        }
        let named = |origin: &Origin, name: &str| {
            origin.executable == name || Path::new(&origin.executable).file_name().is_some_and(|last| last == name)
        };
        let (before, after) =
            self.change(|known| known.retain(|_, known| executable.is_some_and(|name| !named(&known.origin, name))))?;
        Ok(before.len() - after.len())
    }

    /// Changes the records, in one transaction. Returns them as they were and as they are.
    #[expect(clippy::type_complexity, reason = "before and after")]
    fn change(
        &self,
        change: impl FnOnce(&mut BTreeMap<u64, Known>),
    ) -> Result<(BTreeMap<u64, Known>, BTreeMap<u64, Known>), HintsError> {
        let database = self.open()?;
        let before = self.read(&database).map_err(|error| self.failed(error))?;
        let mut after = before.clone();
        change(&mut after);
        self.write(&database, &before, &after).map_err(|error| self.failed(error))?;
        Ok((before, after))
    }

    fn read(&self, database: &Database) -> Result<BTreeMap<u64, Known>, redb::Error> {
        let transaction = database.begin_read()?;
        let table = match transaction.open_table(HINTS) {
            Err(TableError::TableDoesNotExist(_)) => return Ok(BTreeMap::new()),
            table => table?,
        };
        let mut found = BTreeMap::new();
        // A file from another program may have more than we keep.
        for row in table.iter()?.take(MOST) {
            let (id, known) = row?;
            match serde_json::from_str(known.value()) {
                Ok(known) => drop(found.insert(id.value(), known)),
                Err(error) => log::warn!("{}: a hint is not understood: {error}", self.path.display()),
            }
        }
        Ok(found)
    }

    fn write(
        &self,
        database: &Database,
        before: &BTreeMap<u64, Known>,
        after: &BTreeMap<u64, Known>,
    ) -> Result<(), redb::Error> {
        let transaction = database.begin_write()?;
        {
            let mut table = transaction.open_table(HINTS)?;
            let ids: BTreeSet<u64> = before.keys().chain(after.keys()).copied().collect();
            for id in ids {
                match after.get(&id) {
                    None => drop(table.remove(id)?),
                    known if known == before.get(&id) => {}
                    // Numbers, names and lists of them: all have a form in JSON.
                    Some(known) => {
                        drop(table.insert(id, serde_json::to_string(known).unwrap_or_default().as_str())?);
                    }
                }
            }
        }
        transaction.commit()?;
        Ok(())
    }

    /// Opens the file, which is made or made anew if it must be.
    fn open(&self) -> Result<Database, HintsError> {
        let file = |source| HintsError::File { path: self.path.clone(), source };
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder).map_err(file)?;
        }
        let began = Instant::now();
        loop {
            let looked_at = fs::metadata(&self.path).ok().map(|about| (about.dev(), about.ino()));
            match self.attempt() {
                Ok(database) => return Ok(database),
                Err(Refusal::Failed(HintsError::Busy(_))) if began.elapsed() < PATIENCE => {
                    std::thread::sleep(Duration::from_millis(10));
                }
                Err(Refusal::Failed(error)) => return Err(error),
                Err(Refusal::Unusable(reason)) => {
                    let now = fs::metadata(&self.path).ok().map(|about| (about.dev(), about.ino()));
                    // Unless another mount has moved it meanwhile.
                    if now == looked_at {
                        self.move_aside(&reason).map_err(file)?;
                    }
                    if began.elapsed() > PATIENCE {
                        return Err(HintsError::Database { path: self.path.clone(), reason });
                    }
                }
            }
        }
    }

    fn attempt(&self) -> Result<Database, Refusal> {
        let mut builder = Builder::new();
        // Checksums reveal a file that some other program has written to; without them the library
        // trusts the file.
        builder.set_cache_size(CACHE).set_check_integrity_on_open(true);
        let database = builder.create(&self.path).map_err(|error| self.refusal(error))?;
        match self.version(&database) {
            Ok(VERSION) => Ok(database),
            Ok(other) => Err(Refusal::Unusable(format!("it has version {other}, known is {VERSION}"))),
            Err(error) => Err(Refusal::Unusable(error.to_string())),
        }
    }

    /// The version of its content, which is written if the file has none yet.
    fn version(&self, database: &Database) -> Result<u64, redb::Error> {
        let transaction = database.begin_read()?;
        match transaction.open_table(ABOUT) {
            Ok(about) => Ok(about.get("version")?.map_or(0, |version| version.value())),
            Err(TableError::TableDoesNotExist(_)) => {
                let transaction = database.begin_write()?;
                transaction.open_table(ABOUT)?.insert("version", VERSION)?;
                transaction.commit()?;
                Ok(VERSION)
            }
            Err(error) => Err(error.into()),
        }
    }

    fn refusal(&self, error: DatabaseError) -> Refusal {
        match error {
            DatabaseError::DatabaseAlreadyOpen => Refusal::Failed(HintsError::Busy(self.path.clone())),
            DatabaseError::UpgradeRequired(version) => {
                Refusal::Unusable(format!("its file format {version} is of another time"))
            }
            // The errors for a file that is no database, and for one that was cut.
            DatabaseError::Storage(StorageError::Io(source))
                if !matches!(source.kind(), ErrorKind::InvalidData | ErrorKind::UnexpectedEof) =>
            {
                Refusal::Failed(HintsError::File { path: self.path.clone(), source })
            }
            error => Refusal::Unusable(error.to_string()),
        }
    }

    /// Keeps an unusable file under another name, in place of the last one.
    fn move_aside(&self, reason: &str) -> std::io::Result<()> {
        let mut aside = self.path.clone().into_os_string();
        aside.push(".aside");
        log::warn!("{}: {reason}; moved to {}, and hints begin anew", self.path.display(), aside.display());
        match fs::rename(&self.path, aside) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            moved => moved,
        }
    }

    fn failed(&self, error: redb::Error) -> HintsError {
        HintsError::Database { path: self.path.clone(), reason: error.to_string() }
    }
}

#[cfg(test)]
mod tests;
