//! The server, the proxy before it, and one run of a load by one contender.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use forebay_testkit::far::{Counts, Distance, FarProxy};
use forebay_testkit::s3::S3;
use forebay_testkit::scratch::Scratch;

use super::load::{Load, Sizes, Stored};
use super::mounted::{Mounted, kill};
use super::raw;
use super::readers::{Anywhere, Scope, Work, anywhere, together};
use super::tool::{Manner, Tool};

/// The delay of each answer of the server.
const FIRST_BYTE: Duration = Duration::from_millis(20);

/// A run that hangs is ended this long after its limit.
const GRACE: Duration = Duration::from_secs(60);

/// The connections to the server.
pub(super) struct Setting {
    /// Its name in `--only`.
    pub(super) name: &'static str,
    pub(super) words: &'static str,
    connection_rate: Option<u64>,
}

pub(super) const SETTINGS: [Setting; 2] = [
    Setting { name: "capped", words: "90 MB/s a connection", connection_rate: Some(90_000_000) },
    Setting { name: "free", words: "no cap", connection_rate: None },
];

/// A reader of a load.
pub(super) enum Contender<'a> {
    /// A mount with default options.
    Mount(&'a Tool),
    /// Forebay with another budget.
    Forebay(&'a Tool, u64),
    /// Forebay with a file of hints of its own. Before it, if `random`, another mount with the same
    /// file and random reads.
    Hints { tool: &'a Tool, random: bool },
    /// This many connections and no mount.
    Raw(usize),
}

/// One run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub(super) value: f64,
    pub(super) work: Work,
    /// The server's answers during the run.
    pub(super) counts: Counts,
    /// The most memory that the mount's processes had, bytes.
    pub(super) peak: u64,
}

/// The server and its distance.
pub(super) struct Scene<'a> {
    sizes: &'a Sizes,
    proxy: FarProxy,
    /// In memory; for mount points and the files of tools.
    folder: &'a Path,
}

/// A folder in memory, where there is one.
pub(super) fn scratch() -> std::io::Result<Scratch> {
    Scratch::new_in("peers", &memory())
}

/// The folder for files that should be in memory.
pub(super) fn memory() -> PathBuf {
    let shared = PathBuf::from("/dev/shm");
    if shared.is_dir() { shared } else { std::env::temp_dir() }
}

impl<'a> Scene<'a> {
    pub(super) fn set(setting: &Setting, s3: &S3, sizes: &'a Sizes, folder: &'a Path) -> anyhow::Result<Scene<'a>> {
        let distance = Distance { first_byte: FIRST_BYTE, connection_rate: setting.connection_rate };
        Ok(Scene { sizes, proxy: FarProxy::start(s3.address(), distance)?, folder })
    }

    /// The proxy's address.
    pub(super) fn endpoint(&self) -> String {
        self.proxy.endpoint()
    }

    /// The answers until now.
    pub(super) fn counts(&self) -> Counts {
        self.proxy.counts()
    }

    /// The folder for mount points.
    pub(super) fn folder(&self) -> &Path {
        self.folder
    }

    /// One run. When it begins, memory holds no data of an earlier run.
    pub(super) fn measure(&self, contender: &Contender, load: Load, stored: &Stored) -> anyhow::Result<Run> {
        match contender {
            Contender::Mount(tool) => self.mounted(tool, &Manner::usual(), load, stored),
            Contender::Forebay(tool, memory) => {
                self.mounted(tool, &Manner { memory: *memory, ..Manner::usual() }, load, stored)
            }
            Contender::Hints { tool, random } => self.hinted(tool, *random, load, stored),
            Contender::Raw(connections) => {
                let before = self.proxy.counts();
                let work = raw::gets(&self.proxy.endpoint(), &stored.objects[0], *connections)?;
                let counts = self.proxy.counts().since(&before);
                Ok(Run { value: load.unit().of(&work), work, counts, peak: 0 })
            }
        }
    }

    /// Random reads through one mount if `random`, then the load through another mount with the
    /// same file of hints.
    fn hinted(&self, tool: &Tool, random: bool, load: Load, stored: &Stored) -> anyhow::Result<Run> {
        let folder = tempfile::tempdir_in(self.folder)?;
        let manner = Manner { hints: Some(folder.path().join("hints")), ..Manner::usual() };
        if random {
            let mount = Mounted::start(tool, &manner, &self.proxy.endpoint(), self.folder)?;
            let scope = Scope { folder: mount.point(), limit: self.sizes.period };
            together(16, |at, begun| {
                let reads = Anywhere { read: 256 << 10, seed: at as u64 };
                anywhere(scope, &stored.objects[1], reads, begun)
            })?;
        }
        self.mounted(tool, &manner, load, stored)
    }

    fn mounted(&self, tool: &Tool, manner: &Manner, load: Load, stored: &Stored) -> anyhow::Result<Run> {
        let mount = Mounted::start(tool, manner, &self.proxy.endpoint(), self.folder)?;
        let scope = Scope { folder: mount.point(), limit: self.sizes.limit };
        let (done, waits) = channel::<()>();
        let processes = mount.processes();
        let patience = 2 * self.sizes.limit + GRACE;
        // A reader of a mount that hangs gets an error once the mount's program has ended.
        let watch = std::thread::spawn(move || {
            if waits.recv_timeout(patience) == Err(RecvTimeoutError::Timeout) {
                processes.into_iter().for_each(kill);
            }
        });
        let begun = Instant::now();
        let read = || {
            load.prepare(stored, scope)?;
            let before = self.proxy.counts();
            let work = load.read(stored, scope, self.sizes)?;
            Ok((work, self.proxy.counts().since(&before)))
        };
        let read: anyhow::Result<(Work, Counts)> = read();
        drop(done);
        let _ = watch.join();
        anyhow::ensure!(begun.elapsed() < patience, "{} did not answer and was ended", tool.name);
        let (work, counts) = read?;
        Ok(Run { value: load.unit().of(&work), work, counts, peak: mount.peak() })
    }
}
