//! A mount beside a file system that is known to be right: the source itself, a read-only tmpfs.
//! The same calls on the same names have the same outcomes, error code by error code, for root, for
//! the owner and for another user.
//!
//! The mount is served by a process of its own, and each step has a time limit: a hang ends the
//! test, and not the machine's patience.

mod calls;
mod changing;
mod mutations;
mod names;
mod reading;
mod tree;

use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use forebay_testkit::mounts::{self, MountPoint};
use rustix::io::Errno;

use crate::{Mount, text};
use names::NAMES;
use tree::{OTHER, OWNER, Reference};

/// How long a step may take: no machine is so slow.
const LIMIT: Duration = Duration::from_secs(60);

/// A user, and the users' group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct User(u32);

/// Runs a step on a thread of its own, as a user, and waits for a limited time. A mount that hangs
/// is taken down by the caller's panic, and then the thread ends too.
fn limited<T: Send + 'static>(what: &str, user: User, step: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, wait) = channel();
    let thread = std::thread::Builder::new().name("step".into()).spawn(move || {
        become_user(user);
        let _ = done.send(step());
    });
    let thread = thread.expect("a thread");
    match wait.recv_timeout(LIMIT) {
        Ok(outcome) => outcome,
        Err(RecvTimeoutError::Timeout) => panic!("{what} as {user:?} takes more than {LIMIT:?}"),
        // The step's own panic says why.
        Err(RecvTimeoutError::Disconnected) => match thread.join() {
            Err(panic) => std::panic::resume_unwind(panic),
            Ok(()) => panic!("{what} as {user:?} sent nothing"),
        },
    }
}

/// Makes this thread, and no other, the user's.
fn become_user(User(id): User) {
    if id == 0 {
        return;
    }
    // SAFETY: these system calls change the credentials of this thread alone, and take no pointer
    // that is used: the list of groups is empty.
    let outcomes = unsafe {
        [
            libc::syscall(libc::SYS_setgroups, 0, std::ptr::null::<libc::gid_t>()),
            libc::syscall(libc::SYS_setresgid, id, id, id),
            libc::syscall(libc::SYS_setresuid, id, id, id),
        ]
    };
    assert_eq!(outcomes, [0; 3], "root can become any user");
}

/// The reference and a mount of it.
struct Pair {
    mount: Mount,
    reference: Reference,
}

impl Pair {
    /// `None` if tests cannot mount here, or cannot become other users.
    fn new(options: &[&str]) -> Option<Pair> {
        if !mounts::possible() {
            return None;
        }
        if !rustix::process::geteuid().is_root() {
            forebay_testkit::tools::skip("root, to mount and to become other users");
            return None;
        }
        let reference = Reference::new();
        let source = reference.root().to_owned();
        let args = [&[text(&source), "--memory", "32MiB", "--ttl", "0s"], options].concat();
        let point = MountPoint::new().expect("a mount point");
        // Other users must be able to reach it.
        tree::open_to_all(point.path());
        Some(Pair { mount: Mount::at(point, &args), reference })
    }

    /// Each call on each name in both, as a user; the differences.
    fn differences(&self, user: User) -> Vec<String> {
        let (root, other) = (self.reference.root().to_owned(), self.mount.path().to_owned());
        let mut differences = Vec::new();
        for &(call, act) in calls::CALLS {
            for name in NAMES {
                let (one, two) = (root.clone(), other.clone());
                let outcomes = limited(&format!("{call} of {name}"), user, move || (act(&one, name), act(&two, name)));
                if outcomes.0 != outcomes.1 {
                    let (expected, found) = outcomes;
                    differences.push(format!("{call} of {name:?} as {user:?}: {found:?}, must be {expected:?}"));
                }
            }
        }
        differences
    }
}

/// All names and contents below a folder, for comparisons.
fn snapshot(root: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("root reads everything") {
            let entry = entry.expect("readable");
            let about = entry.metadata().expect("it is there");
            lines.push(format!("{:?} {about:?}", entry.path()));
            if about.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    lines.sort();
    lines
}

fn assert_none(differences: &[String]) {
    assert!(differences.is_empty(), "{} differences:\n{}", differences.len(), differences.join("\n"));
}

#[test]
fn calls_have_the_outcomes_of_the_source() {
    let Some(pair) = Pair::new(&["--allow-other"]) else { return };
    let differences: Vec<String> =
        [User(0), OWNER, OTHER].into_iter().flat_map(|user| pair.differences(user)).collect();
    assert_none(&differences);
}

/// Without `--allow-other` only the user who mounted sees anything.
#[test]
fn a_mount_of_one_user_is_closed_to_others() {
    let Some(pair) = Pair::new(&[]) else { return };
    assert_none(&pair.differences(User(0)));
    for user in [OWNER, OTHER] {
        for name in NAMES {
            let path = pair.mount.path().join(name);
            let outcome = limited("lstat", user, move || rustix::fs::lstat(&path).map(|_| ()));
            // The kernel judges a path's length before it looks anywhere.
            let expected = if name.len() > 4000 { Errno::NAMETOOLONG } else { Errno::ACCESS };
            assert_eq!(outcome, Err(expected), "{name} as {user:?}");
        }
    }
}

/// No call that changes something does, or has another outcome than on the read-only source.
#[test]
fn nothing_can_be_changed() {
    let Some(pair) = Pair::new(&["--allow-other"]) else { return };
    let before = snapshot(pair.reference.root());
    let mut differences = Vec::new();
    for user in [User(0), OWNER, OTHER] {
        for &(call, act) in mutations::MUTATIONS {
            // The root's neighbours are not the mount's.
            for name in NAMES.iter().filter(|&&name| name != ".") {
                let (one, two) = (pair.reference.root().to_owned(), pair.mount.path().to_owned());
                let step = move || (act(&one.join(name)), act(&two.join(name)));
                let (expected, found) = limited(&format!("{call} of {name}"), user, step);
                // A pipe can be opened to write to, wherever it lies.
                if found != expected {
                    differences.push(format!("{call} of {name:?} as {user:?}: {found:?}, must be {expected:?}"));
                }
            }
        }
    }
    assert_none(&differences);
    assert!(snapshot(pair.reference.root()) == before, "something has changed");
}
