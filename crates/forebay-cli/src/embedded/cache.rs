//! A cache in this process: sources behind an engine, read by path.

use std::ffi::OsString;
use std::path::{Component, Path};
use std::sync::Arc;

use clap::{CommandFactory, FromArgMatches, Parser};
use forebay_live::engine::Referenced;
use forebay_live::site::{Found, Seen, Site, hides};
use forebay_live::told::{self, Mode, Named, TellError};
use forebay_live::tree::Tree;
use forebay_source::{Attributes, Error, Kind, Modes, Result};

use super::Refusal;
use super::files::{Files, Opened};
use crate::failure::Failure;
use crate::options::{self, PREFIX, Reading, Settings};
use crate::reading::{self, Shows};

/// The options of a cache: those of a mount that do not concern the kernel.
#[derive(Debug, Parser)]
#[command(name = "forebay")]
struct InProcess {
    #[command(flatten)]
    reading: Reading,

    #[arg(value_name = "SOURCE")]
    sources: Vec<OsString>,
}

/// These options, complete with their variables.
pub(super) fn definitions() -> clap::Command {
    options::complete(InProcess::command(), PREFIX)
}

/// Where the bytes of a cache are.
pub enum Source {
    /// At the places that the arguments name, as in `forebay mount`; with settings of stores by the
    /// names of the `object_store` crate.
    Places(Vec<(String, String)>),
    /// In a source of the caller's own.
    Own(Arc<dyn forebay_source::Source>),
}

/// A name in a folder.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The name.
    pub name: OsString,
    /// Its attributes; `None` if it is a folder whose source was not asked.
    pub attributes: Option<Attributes>,
}

/// A cache. Calls come from several threads at once; they wait for sources.
pub struct Cache {
    site: Site,
    files: Files,
    memory: u64,
}

impl Cache {
    /// Opens the sources and starts an engine over them. `args` are options, then sources.
    pub fn open(args: &[OsString], source: Source) -> std::result::Result<Cache, Refusal> {
        let line = std::iter::once("forebay".into()).chain(args.iter().cloned());
        let matches = definitions().try_get_matches_from(line).map_err(Failure::from)?;
        // A configuration file is not read here.
        options::without_a_folder(&matches, |_| None)?;
        let InProcess { mut reading, sources } = InProcess::from_arg_matches(&matches).map_err(Failure::from)?;
        let shows = Shows { referenced: Referenced::Kept, apart: 0, modes: Modes::default() };
        let tree = match source {
            Source::Own(source) => reading::over(&reading, source, shows)?,
            Source::Places(_) if sources.is_empty() => {
                return Err(Failure::input("a source is needed, as '/srv/data' or 's3://bucket/prefix'").into());
            }
            Source::Places(settings) => {
                reading.stores.settings = Settings(settings);
                reading::open(&reading, &sources, shows, |_| Ok(()))?.0
            }
        };
        Ok(Cache::over(Arc::new(tree), &reading))
    }

    fn over(tree: Arc<Tree>, reading: &Reading) -> Cache {
        let site = Site::new(tree);
        let files = Files::new(site.clone(), reading.ttl());
        let memory = reading.memory.bytes();
        Cache { site, files, memory }
    }

    /// The sources, for messages.
    pub fn describe(&self) -> String {
        self.site.tree().describe()
    }

    /// The budget, in bytes.
    pub fn memory(&self) -> u64 {
        self.memory
    }

    /// Opens a file for reading. It stays the version that it is now.
    pub fn file(&self, path: &Path) -> Result<Arc<Opened>> {
        self.files.open(path)
    }

    /// The file at a path has changed since it was opened: the next [`file`](Cache::file) asks its
    /// source.
    pub fn renew(&self, path: &Path) {
        self.files.forget(path);
    }

    /// The attributes of a path; `None` of a folder whose source has none.
    pub fn attributes(&self, path: &Path) -> Result<Option<Attributes>> {
        match self.site.find(&names(path)?)? {
            Found::File(_, attributes) => Ok(Some(*attributes)),
            Found::Folder(_) => Ok(None),
        }
    }

    /// Believes nothing any more that sources told of a path and of all below it.
    pub fn forget(&self, path: &Path) -> Result<()> {
        let names = names(path)?;
        self.site.forget(&names);
        self.files.forget_below(&names);
        Ok(())
    }

    /// The names in a folder, in the order of their bytes, links followed. Names that cannot be
    /// read are left out.
    pub fn list(&self, path: &Path) -> Result<Vec<Entry>> {
        let folder = match self.site.find_folder(&names(path)?)? {
            Found::Folder(folder) => folder,
            Found::File(..) => {
                return Err(Error::Refused { name: path.display().to_string(), errno: libc::ENOTDIR });
            }
        };
        let listing = self.site.list(&folder)?;
        let mut ask = self.site.listed_in(&folder);
        let mut entries = Vec::with_capacity(listing.len());
        for listed in listing.iter() {
            let seen = match ask(&listed) {
                // The listing did not tell the size.
                Ok(Seen::Unmeasured) => self.site.child(&folder, listed.name).map(Seen::from),
                seen => seen,
            };
            let attributes = match seen {
                Ok(Seen::File(attributes)) => Some(*attributes),
                Ok(Seen::Folder(_)) => None,
                Ok(Seen::Unmeasured) => continue,
                Err(error) if hides(&error) => continue,
                Err(error) => return Err(error),
            };
            entries.push(Entry { name: listed.name.to_owned(), attributes });
        }
        Ok(entries)
    }

    /// Tells what will be read next, in order: see [`Tree::tell`].
    pub fn hint(
        &self,
        list: &str,
        mode: Mode,
        names: impl IntoIterator<Item = Named>,
    ) -> std::result::Result<u64, TellError> {
        self.site.tree().tell(list, mode, names)
    }

    /// The told lists as JSON, as a mount's control socket has them.
    pub fn hints(&self) -> String {
        told::report(&self.site.tree().told())
    }

    /// The counters as JSON, as `forebay stats --json` has them.
    pub fn stats(&self) -> String {
        self.site.tree().stats()
    }

    /// The reasons as JSON, as `forebay explain --json` has them.
    pub fn explain(&self) -> String {
        self.site.tree().explain()
    }
}

/// The names on the way to a path. A leading slash, empty names and `.` do not count.
pub(super) fn names(path: &Path) -> Result<Vec<OsString>> {
    let one = |part: Component<'_>| match part {
        Component::Normal(name) => Some(Ok(name.to_owned())),
        Component::ParentDir => Some(Err(Error::NotFound(path.display().to_string()))),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    };
    path.components().filter_map(one).collect()
}

impl Entry {
    /// Whether it is a regular file.
    pub fn is_file(&self) -> bool {
        self.attributes.as_ref().is_some_and(|attributes| attributes.kind == Kind::File)
    }
}
