//! Readers as this machine shows them: the tables of preloaded programs, and `/proc`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use forebay_callers::{Dictionary, Frame, Table, names_path, table_path};
use parking_lot::{Mutex, RwLock};
use rustix::fs::{AtFlags, CWD, StatxFlags};

use super::hints::Origin;
use super::{Executable, Programs, Reader};

/// How long it takes to notice that a user has begun to preload programs, or has another table than
/// before.
const RETRY: Duration = Duration::from_secs(1);

/// How many users' tables are looked into; readers of later users count as users without a table.
const USERS: usize = 256;

/// The threads of this machine, as far as our process id namespace shows them.
pub struct Threads {
    /// Our own user's table, if there is one.
    own: Option<PathBuf>,
    tables: RwLock<BTreeMap<u32, User>>,
}

/// A user, and the table of its programs.
struct User {
    table: Option<Table>,
    /// When it was looked for.
    tried: Mutex<Instant>,
    /// Whether something else than a table was found there, which is logged once.
    odd: bool,
}

impl Threads {
    /// Tables where they usually are, but for our own user's, which is `own`, if anywhere; it is
    /// made if it is not there.
    pub fn new(own: Option<&Path>) -> Result<Threads, forebay_callers::Error> {
        let made = own.map(Table::create).transpose()?;
        let user = rustix::process::geteuid().as_raw();
        let mut tables = BTreeMap::new();
        if made.is_some() {
            tables.insert(user, User { table: made, tried: Mutex::new(Instant::now()), odd: false });
        }
        Ok(Threads { own: own.map(Path::to_owned), tables: RwLock::new(tables) })
    }

    /// The same, but our own user's table is looked for from time to time, as other users' are, and
    /// costs nothing until a program has made it.
    pub fn found_at(own: Option<PathBuf>) -> Threads {
        Threads { own, tables: RwLock::default() }
    }

    fn path(&self, user: u32) -> Option<PathBuf> {
        if user == rustix::process::geteuid().as_raw() { self.own.clone() } else { table_path(user) }
    }

    /// Looks for the table of a user, but not too often; returns whether it did.
    #[cold]
    fn look_for(&self, user: u32) -> bool {
        let mut odd = false;
        if let Some(known) = self.tables.read().get(&user) {
            let mut tried = known.tried.lock();
            if tried.elapsed() < RETRY {
                return false;
            }
            *tried = Instant::now();
            odd = known.odd;
        }
        let path = self.path(user).filter(|path| path.exists());
        let table = path.and_then(|path| match Table::open(&path, user) {
            Ok(table) => Some(table),
            Err(error) => {
                log::log!(if odd { log::Level::Trace } else { log::Level::Warn }, "contexts of user {user}: {error}");
                odd = true;
                None
            }
        });
        let mut tables = self.tables.write();
        if tables.len() < USERS || tables.contains_key(&user) {
            tables.insert(user, User { table, tried: Mutex::new(Instant::now()), odd });
        }
        true
    }

    /// The context in a reader's table; `None` if there is no table, or it has none for the reader.
    fn said(&self, reader: Reader) -> Option<u64> {
        self.tables.read().get(&reader.user)?.table.as_ref()?.get(reader.thread)
    }
}

impl Programs for Threads {
    fn context(&self, reader: Reader) -> Option<u64> {
        self.said(reader).or_else(|| self.look_for(reader.user).then(|| self.said(reader)).flatten())
    }

    fn executable(&self, thread: u32) -> Option<Executable> {
        let link = format!("/proc/{thread}/exe");
        let path = rustix::fs::readlink(&link, Vec::new()).ok()?;
        // Never asks a file system: the executable may lie on the very mount that waits for us.
        let flags = AtFlags::STATX_DONT_SYNC;
        let about = rustix::fs::statx(CWD, &link, flags, StatxFlags::BASIC_STATS).ok()?;
        let build = format!("i{}-s{}-m{}", about.stx_ino, about.stx_size, about.stx_mtime.tv_sec);
        Some(Executable { path: path.to_string_lossy().into_owned(), build })
    }

    fn origins(&self, user: u32, wanted: &[u64]) -> BTreeMap<u64, Origin> {
        let Some(path) = self.path(user) else { return BTreeMap::new() };
        let dictionary = match Dictionary::open(&names_path(&path), user) {
            Ok(dictionary) => dictionary,
            Err(error) => {
                log::warn!("what contexts of user {user} stand for: {error}");
                return BTreeMap::new();
            }
        };
        let contexts = wanted.iter().filter_map(|&id| dictionary.context(id));
        contexts
            .map(|context| {
                let frames = context.frames.iter().map(|frame| place(frame, &context.program.path)).collect();
                let (executable, build) = (context.program.path.clone(), context.program.build.clone());
                (context.id, Origin { executable, build, frames, file: None })
            })
            .collect()
    }
}

/// A place in a program whose path is `executable`, in the usual form: `libc.so.6+0x1234`.
pub fn place(frame: &Frame, executable: &str) -> String {
    let module = if frame.module.is_empty() { executable } else { &frame.module };
    let name = Path::new(module).file_name().map_or_else(|| module.into(), |name| name.to_string_lossy());
    format!("{name}+{:#x}", frame.offset)
}
