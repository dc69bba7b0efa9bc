//! `forebay top`: the mounts of this machine, live.
//!
//! Each mount is asked by a thread of its own, so that one that hangs holds up no other. The
//! display takes what they say from one channel.

mod draw;
mod history;
mod line;
mod mounts;

use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use rustix::event::{PollFd, PollFlags, Timespec};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::failure::Failure;
use crate::options::{Access, Top};
use crate::output;
use draw::{View, draw};
use history::History;
use mounts::Said;

/// How often new mounts are looked for.
const FIND: Duration = Duration::from_secs(2);

/// How soon a key is heard.
const KEYS: Duration = Duration::from_millis(100);

/// Columns and lines of a figure that is printed.
const PRINTED: (u16, u16) = (100, 60);

/// News from the threads.
enum Word {
    /// A mount is there.
    Here(PathBuf),
    /// All mounts that there are have been told.
    Searched,
    /// It answers, or not.
    Said(PathBuf, Result<Box<Said>, String>),
}

/// Shows the mounts.
pub(crate) fn run(options: &Top) -> Result<(), Failure> {
    let (told, tells) = channel();
    find(options, &told)?;
    let (interval, access) = (options.interval.duration(), options.access.clone());
    let named = !options.mounts.is_empty();
    let mut watched = Watched { tells, told, interval, access, named, searched: false, mounts: Vec::new() };
    match (options.json, std::io::stdout().is_terminal()) {
        (true, terminal) if terminal || options.count.is_some() => watched.lines(options.count),
        (false, true) => watched.live(options.count),
        (json, _) => watched.once(json),
    }
}

/// Tells the mounts that are named, or looks for all of them again and again.
fn find(options: &Top, told: &Sender<Word>) -> Result<(), Failure> {
    if !options.mounts.is_empty() {
        // The receiver is there.
        let words = options.mounts.iter().cloned().map(Word::Here).chain([Word::Searched]);
        words.for_each(|word| drop(told.send(word)));
        return Ok(());
    }
    forebay_fuse::mounts().map_err(|error| Failure::run(format!("cannot read the table of mounts: {error}")))?;
    let told = told.clone();
    let search = move || {
        while let Ok(mounts) = mounts::all() {
            let mut words = mounts.into_iter().map(Word::Here).chain([Word::Searched]);
            if words.any(|word| told.send(word).is_err()) {
                return;
            }
            std::thread::sleep(FIND);
        }
    };
    spawn("forebay-find", search)
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), Failure> {
    let thread = std::thread::Builder::new().name(name.into()).spawn(work);
    thread.map(drop).map_err(|error| Failure::run(format!("cannot start a thread: {error}")))
}

/// The state of the terminal.
enum Heard {
    Nothing,
    Key,
    /// It was closed.
    Gone,
}

/// The end of a live display.
enum Ended {
    /// There were as many answers as were asked for, or there is no mount to give them.
    Counted,
    /// By a key or a signal, or the terminal is gone.
    Asked,
}

/// Waits for a key, at most [`KEYS`]. A signal ends the wait. Crossterm is asked only after that,
/// since it would read a closed terminal for ever.
fn heard() -> std::io::Result<Heard> {
    let stdout = std::io::stdout();
    let mut terminal = [PollFd::new(&stdout, PollFlags::IN)];
    let until = Timespec { tv_sec: 0, tv_nsec: KEYS.subsec_nanos().into() };
    match rustix::event::poll(&mut terminal, Some(&until)) {
        Err(rustix::io::Errno::INTR) | Ok(0) => Ok(Heard::Nothing),
        Err(error) => Err(error.into()),
        Ok(_) if terminal[0].revents().intersects(PollFlags::HUP | PollFlags::ERR) => Ok(Heard::Gone),
        Ok(_) => Ok(Heard::Key),
    }
}

/// The mounts, and the threads that ask them.
struct Watched {
    tells: Receiver<Word>,
    told: Sender<Word>,
    interval: Duration,
    access: Access,
    /// Whether the user names the mounts.
    named: bool,
    /// Whether all mounts that there were at the start are known.
    searched: bool,
    mounts: Vec<History>,
}

/// The lines of a mount so far.
#[derive(Clone, Copy, Default)]
struct Lines {
    printed: u32,
    /// Whether the last one says that the mount is gone.
    gone: bool,
}

impl Watched {
    /// Takes in what is said until a moment. Returns the mount that answered, if one did.
    fn hear(&mut self, until: Instant) -> Result<Option<usize>, Failure> {
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.tells.recv_timeout(left) {
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return Ok(None),
                Ok(Word::Here(mount)) => self.ask(mount)?,
                Ok(Word::Searched) => self.searched = true,
                Ok(Word::Said(mount, said)) => {
                    let known = self.mounts.iter().position(|history| history.mount == mount);
                    if let Some(number) = known {
                        self.mounts[number].take(Instant::now(), said.map(|said| *said));
                        return Ok(Some(number));
                    }
                }
            }
        }
    }

    /// Starts to ask a mount, unless it is asked.
    fn ask(&mut self, mount: PathBuf) -> Result<(), Failure> {
        if self.mounts.iter().any(|history| history.mount == mount) {
            return Ok(());
        }
        self.mounts.push(History::new(mount.clone()));
        let (told, interval, access) = (self.told.clone(), self.interval, self.access.clone());
        spawn("forebay-ask", move || {
            loop {
                let said = mounts::ask(&mount, &access).map(Box::new).map_err(|failure| failure.to_string());
                if told.send(Word::Said(mount.clone(), said)).is_err() {
                    return;
                }
                std::thread::sleep(interval);
            }
        })
    }

    /// Whether there is no mount at all.
    fn is_empty(&self) -> bool {
        self.searched && self.mounts.is_empty()
    }

    /// A line of JSON for each figure, and one for each time that a mount goes.
    fn lines(&mut self, count: Option<u32>) -> Result<(), Failure> {
        let mut lines: Vec<Lines> = Vec::new();
        loop {
            let heard = self.hear(Instant::now() + KEYS)?;
            lines.resize(self.mounts.len(), Lines::default());
            if let Some(number) = heard {
                let (history, of_mount) = (&self.mounts[number], &mut lines[number]);
                let was_gone = std::mem::replace(&mut of_mount.gone, history.gone.is_some());
                // Rates need two sayings.
                let news = if of_mount.gone { !was_gone } else { history.said.len() > 1 };
                if news && count.is_none_or(|count| of_mount.printed < count) {
                    of_mount.printed += 1;
                    output::json(&line::of(history))?;
                }
            }
            let enough = |count| lines.iter().all(|of_mount| of_mount.gone || of_mount.printed >= count);
            if self.is_empty() || self.searched && count.is_some_and(enough) {
                return self.outcome();
            }
        }
    }

    /// One figure of each mount, as text or as lines of JSON.
    fn once(&mut self, json: bool) -> Result<(), Failure> {
        // Rates need two sayings; a mount that hangs is not waited for.
        let until = Instant::now() + self.interval * 2 + FIND;
        let ready = |history: &History| history.said.len() > 1 || history.gone.is_some();
        while Instant::now() < until && !(self.searched && self.mounts.iter().all(ready)) {
            self.hear(Instant::now() + KEYS)?;
        }
        self.outcome()?;
        for (chosen, history) in self.mounts.iter().enumerate() {
            if json {
                output::json(&line::of(history))?;
                continue;
            }
            let shown = printed(&View { mounts: &self.mounts, chosen, now: Instant::now() });
            output::print(&shown.map_err(|error| Failure::run(format!("cannot draw: {error}")))?)?;
        }
        match self.mounts.iter().find_map(|history| history.gone.as_ref()) {
            Some((_, why)) => Err(Failure::run(why)),
            None => Ok(()),
        }
    }

    /// Bad input if there is no mount, or if none of those that the user names has ever answered.
    fn outcome(&self) -> Result<(), Failure> {
        if self.mounts.is_empty() {
            return Err(Failure::input("no mount of yours is here; give the folder or the address of one"));
        }
        let never = self.mounts.iter().all(|history| history.said.is_empty());
        let first = self.mounts.first().filter(|_| self.named && never);
        match first.and_then(|first| first.gone.as_ref()) {
            Some((_, why)) => Err(Failure::input(why)),
            None => Ok(()),
        }
    }

    /// On a terminal, until a key or a signal ends it.
    fn live(&mut self, count: Option<u32>) -> Result<(), Failure> {
        let ended = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            signal_hook::flag::register(signal, Arc::clone(&ended))
                .map_err(|error| Failure::run(format!("cannot take signals: {error}")))?;
        }
        let broken = |error| Failure::run(format!("the terminal: {error}"));
        // It also restores the terminal if we panic.
        let mut terminal = ratatui::try_init().map_err(broken)?;
        let shown = self.show(&mut terminal, &ended, count);
        ratatui::try_restore().map_err(broken)?;
        match shown.map_err(broken)? {
            Ended::Counted => self.outcome(),
            Ended::Asked => Ok(()),
        }
    }

    fn show(
        &mut self,
        terminal: &mut ratatui::DefaultTerminal,
        ended: &AtomicBool,
        count: Option<u32>,
    ) -> std::io::Result<Ended> {
        let mut chosen = 0;
        let mut answers = 0;
        while !ended.load(Ordering::SeqCst) {
            while self.hear(Instant::now()).map_err(std::io::Error::other)?.is_some_and(|number| number == chosen) {
                answers += 1;
            }
            let view = View { mounts: &self.mounts, chosen, now: Instant::now() };
            terminal.draw(|frame| draw(frame, &view))?;
            if count.is_some_and(|count| answers >= count || self.is_empty()) {
                return Ok(Ended::Counted);
            }
            match heard()? {
                Heard::Gone => return Ok(Ended::Asked),
                Heard::Nothing => continue,
                Heard::Key if !event::poll(Duration::ZERO)? => continue,
                Heard::Key => {}
            }
            let Event::Key(KeyEvent { code, modifiers, kind: KeyEventKind::Press, .. }) = event::read()? else {
                continue;
            };
            let most = self.mounts.len().saturating_sub(1);
            match code {
                KeyCode::Char('q') | KeyCode::Esc => return Ok(Ended::Asked),
                KeyCode::Char('c') if modifiers.contains(KeyModifiers::CONTROL) => return Ok(Ended::Asked),
                KeyCode::Left | KeyCode::Up => chosen = chosen.saturating_sub(1),
                KeyCode::Right | KeyCode::Down | KeyCode::Tab => chosen = (chosen + 1).min(most),
                _ => {}
            }
        }
        Ok(Ended::Asked)
    }
}

/// A display as text.
fn printed(view: &View<'_>) -> Result<String, std::convert::Infallible> {
    let (columns, lines) = PRINTED;
    let mut terminal = Terminal::new(TestBackend::new(columns, lines))?;
    terminal.draw(|frame| draw(frame, view))?;
    let buffer = terminal.backend().buffer();
    let line = |y| (0..columns).map(|x| buffer[(x, y)].symbol()).collect::<String>();
    let text: Vec<String> = (0..lines).map(|y| line(y).trim_end().to_owned()).collect();
    let end = text.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1);
    Ok(text[..end].iter().map(|line| format!("{line}\n")).collect())
}
