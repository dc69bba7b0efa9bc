//! A soak of the real command. It mounts a real S3 server that is faulty every now and then, with
//! little memory and a tier on a small disk. There are 64 readers, told lists, scrapes, and objects
//! that are replaced. It lasts twenty seconds in every run, and as long as a variable says.
//!
//! A run of twenty seconds checks bytes, memory, the tier's size and the end. Only a long one can
//! find an error without a fault, an old version, or room that is not given back.

mod faults;
mod files;
mod readers;
mod watch;

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use forebay_testkit::breaking::{BreakingProxy, Fault};
use forebay_testkit::loop_disk::{self, Ext4, LoopDevice, image_folder, make_image};
use forebay_testkit::need;
use forebay_testkit::process::Signal;
use forebay_testkit::s3::{BUCKET, S3};

use self::faults::Spells;
use self::files::{Bytes, Dice, FILES, Versions, name};
use self::readers::{Done, TOLD};
use self::watch::{Sample, Seen, slope};
use crate::{Mount, SetWhenDropped, eventually, forebay, text};

/// How many seconds the soak lasts.
const SECONDS: &str = "FOREBAY_SOAK";

/// The command that mounts, if it is not the one of this build.
const COMMAND: &str = "FOREBAY_SOAK_COMMAND";

const MIB: u64 = 1 << 20;

/// The mount's memory, and what the process may have beside it.
const BUDGET: u64 = 64 * MIB;
const SLACK: u64 = 16 * MIB;

/// The tier's limits, on a disk of this size. The ballast comes and goes, and takes room away.
const DISK: u64 = 640 * MIB;
const DISK_SIZE: u64 = 256 * MIB;
const DISK_FREE: u64 = 200 * MIB;
const BALLAST: usize = 300 << 20;

const READERS: usize = 64;

/// From this time on a soak is a long one: memory has to be flat, and readers are slow so that the
/// machine has time for other work.
const LONG: Duration = Duration::from_secs(1800);

/// The times of a soak.
struct Times {
    whole: Duration,
    /// Between two faults, and how long each lasts.
    fault: Duration,
    lasts: Duration,
    /// Between two new versions.
    version: Duration,
    /// Between two looks at the process; ten times that between two of the ballast's.
    look: Duration,
    /// The rest that a reader takes after a read.
    pause: Duration,
}

impl Times {
    fn of(whole: Duration) -> Times {
        let millis = Duration::from_millis;
        if whole < LONG {
            let (fault, lasts, version) = (millis(2500), millis(800), millis(100));
            return Times { whole, fault, lasts, version, look: millis(200), pause: millis(50) };
        }
        let (fault, lasts, version) = (millis(45_000), millis(10_000), millis(1500));
        Times { whole, fault, lasts, version, look: millis(5000), pause: millis(500) }
    }
}

/// All that takes part. Dropped in this order.
struct Soak {
    mount: Mount,
    log: tempfile::NamedTempFile,
    sockets: tempfile::TempDir,
    disk: Ext4,
    _device: LoopDevice,
    _image: tempfile::TempDir,
    proxy: BreakingProxy,
    server: S3,
    seed: u64,
    bytes: Bytes,
    versions: Versions,
    spells: Spells,
    done: Done,
    errors: Mutex<BTreeMap<String, u64>>,
    failures: AtomicU64,
    over: AtomicBool,
}

impl Soak {
    fn start(versitygw: &Path) -> Soak {
        let image = image_folder("forebay-soak-").expect("a folder");
        let server = S3::start_in(versitygw, image.path()).expect("a server");
        let (bytes, versions) = (Bytes::new(), Versions::new());
        for file in 0..FILES {
            let version = versions.begin(file);
            server.put(&name(file), &bytes.whole(file, version)).expect("stored");
            versions.done(file);
        }
        make_image(&image.path().join("image"), DISK, |_| Ok(())).expect("a file system");
        let device = LoopDevice::attach(&image.path().join("image"), false).expect("a device");
        let disk = Ext4::mount(device.path(), false).expect("a mounted device");
        let proxy = BreakingProxy::start(server.address(), Fault::None).expect("a proxy");
        let log = tempfile::NamedTempFile::new().expect("a file");
        let sockets = tempfile::tempdir().expect("a folder");
        let mount = mount(&proxy, &disk, &sockets, log.path());
        let seed = rand::random::<u32>().into();
        let (spells, done, errors) = Default::default();
        let (failures, over) = Default::default();
        Soak {
            mount,
            log,
            sockets,
            disk,
            _device: device,
            _image: image,
            proxy,
            server,
            seed,
            bytes,
            versions,
            spells,
            done,
            errors,
            failures,
            over,
        }
    }

    fn tier(&self) -> PathBuf {
        self.disk.path().join("tier")
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::SeqCst)
    }

    /// Something is wrong. The soak goes on, for what else it may find.
    fn fail(&self, what: &str) {
        if self.failures.fetch_add(1, Ordering::SeqCst) < 100 {
            eprintln!("WRONG: {what}");
        }
    }

    fn count_error(&self, kind: &str) {
        let mut errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        *errors.entry(kind.to_owned()).or_default() += 1;
    }

    /// A request to the control socket, and its answer.
    fn ask(&self, method: &str, target: &str, body: &str) -> io::Result<String> {
        let mut stream = UnixStream::connect(self.sockets.path().join("control"))?;
        stream.set_read_timeout(Some(Duration::from_secs(120)))?;
        let length = body.len();
        let head = format!("{method} {target} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n");
        stream.write_all(format!("{head}Connection: close\r\n\r\n{body}").as_bytes())?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    }

    /// Replaces files, some more often than others.
    fn replace_on(&self, every: Duration) {
        let mut dice = Dice(self.seed.rotate_left(40));
        while !self.is_over() {
            let file = if dice.below(2) == 0 { dice.below(FILES / 8) } else { dice.below(FILES) };
            let version = self.versions.begin(file);
            self.server.put(&name(file), &self.bytes.whole(file, version)).expect("the server itself is well");
            self.versions.done(file);
            std::thread::sleep(every);
        }
    }

    /// Faults, looks and ballast by the clock.
    fn conduct(&self, times: &Times) -> Seen {
        let (mut dice, mut faults) = (Dice(self.seed), Vec::new());
        let (mut seen, begun, mut next, mut looks) = (Seen::default(), Instant::now(), times.fault, 0_u32);
        let mut faulty = false;
        while begun.elapsed() < times.whole {
            let now = begun.elapsed();
            if now >= next && !faulty {
                faults = if faults.is_empty() { faults::all(&mut dice) } else { faults };
                self.spells.begin(&self.proxy, faults.pop().expect("there are some"));
                faulty = true;
            }
            if now >= next + times.lasts {
                self.spells.end(&self.proxy);
                (faulty, next) = (false, now + times.fault - times.lasts);
            }
            self.look(&mut seen, now);
            self.scrape(&mut seen);
            looks += 1;
            let ballast = self.disk.path().join("ballast");
            match looks % 40 {
                20 => fs::write(ballast, vec![1; BALLAST]).expect("there is room"),
                0 => fs::remove_file(ballast).expect("it is there"),
                _ => {}
            }
            if looks.is_multiple_of(120) {
                self.tell_progress(&seen, now);
            }
            std::thread::sleep(times.look);
        }
        self.spells.end(&self.proxy);
        seen
    }

    fn tell_progress(&self, seen: &Seen, at: Duration) {
        let count = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let Some(last) = seen.samples.last() else { return };
        eprintln!(
            "{:.0} s: {} opens, {} reads, {} MiB compared, {} hints; {} faults, met by {} requests, {} new versions; {} scrapes; \
             {:.1} MiB resident, {} descriptors, {} threads; tier at most {} MiB, {} MiB from it, {} MiB written; \
             {} kinds of errors; {} wrong",
            at.as_secs_f64(),
            count(&self.done.opens),
            count(&self.done.reads),
            count(&self.done.bytes) / MIB,
            count(&self.done.hints),
            self.spells.count(),
            self.proxy.broken(),
            self.versions.changes(),
            seen.scrapes,
            last.resident as f64 / MIB as f64,
            last.descriptors,
            last.threads,
            seen.most_disk / MIB,
            (Soak::last(seen, "forebay_tier_hit_bytes_total") as u64) / MIB,
            (Soak::last(seen, "forebay_tier_written_bytes_total") as u64) / MIB,
            self.errors.lock().unwrap_or_else(PoisonError::into_inner).len(),
            count(&self.failures),
        );
    }

    /// Once the faults are over, everything can be read, in its newest version, and nothing stays
    /// under way.
    fn settle(&self, seen: &mut Seen) {
        for file in 0..FILES {
            let (newest, path) = (self.versions.newest(file), self.mount.path().join(name(file)));
            eventually(&format!("the newest version of {}", name(file)), || {
                let read = fs::read(&path);
                read.is_ok_and(|read| self.bytes.are(file, newest, 0, usize::MAX, &read))
            });
        }
        eventually("no file is open and no request under way", || {
            self.scrape(seen);
            ["forebay_open_files", "forebay_source_requests_in_flight"].iter().all(|of| Soak::last(seen, of) == 0.0)
        });
    }

    /// Each kind of line in the log, with one example. A line says what failed, and why.
    fn judge_log(&self) {
        let log = fs::read_to_string(self.log.path()).expect("readable");
        let mut shapes: BTreeMap<String, (u64, &str)> = BTreeMap::new();
        for line in log.lines().filter(|line| line.contains(" WARN ") || line.contains(" ERROR ")) {
            shapes.entry(shape(line)).or_insert((0, line)).0 += 1;
        }
        eprintln!("{} lines of log, of {} kinds:", log.lines().count(), shapes.len());
        for (count, example) in shapes.values() {
            eprintln!("{count:6}  {example}");
            let said = said(example);
            let of = [&format!("s3://{BUCKET}"), "file-", text(&self.tier())].iter().any(|name| said.contains(*name));
            let why = said.split_once(": ").is_some_and(|(_, why)| why.len() > 5);
            if !of || !why {
                self.fail(&format!("a line of the log says nothing: {example}"));
            }
        }
        let errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        eprintln!("errors that readers got:");
        errors.iter().for_each(|(kind, count)| eprintln!("{count:6}  {kind}"));
    }

    /// Memory, descriptors and threads don't grow. The first quarter is for warming up.
    fn judge_growth(&self, samples: &[Sample], long: bool) {
        let warm = &samples[samples.len() / 4..];
        let (all, anonymous) = (slope(warm, |s| s.resident), slope(warm, |s| s.anonymous));
        let resident = |sample: &Sample| sample.resident as f64 / MIB as f64;
        eprintln!(
            "resident {:.1} MiB after warming up, {:.1} at the end, slope {:+.2} % over that time; without the program's \
             own pages {:+.2} %",
            warm.first().map_or(0.0, resident),
            warm.last().map_or(0.0, resident),
            all * 100.0,
            anonymous * 100.0
        );
        if long && all.max(anonymous) > 0.02 {
            self.fail("memory grows");
        }
        self.judge_number(warm, long, "descriptors", |sample| sample.descriptors);
        self.judge_number(warm, long, "threads", |sample| sample.threads);
    }

    /// A silent store has a connection for each reader that waits, so the most is a matter of
    /// chance. A leak shows in the median.
    fn judge_number(&self, warm: &[Sample], long: bool, name: &str, of: fn(&Sample) -> usize) {
        let sorted = |samples: &[Sample]| {
            let mut numbers: Vec<usize> = samples.iter().map(of).collect();
            numbers.sort_unstable();
            numbers
        };
        let (first, second) = warm.split_at(warm.len() / 2);
        let [first, second] = [first, second].map(|half| sorted(half).get(half.len() / 2).copied().unwrap_or(0));
        let most = sorted(warm).last().copied().unwrap_or(0);
        eprintln!("{first} {name}, and {second} in the second half, in the median; at most {most}");
        if long && second > first + first / 8 {
            self.fail(&format!("{name} grow"));
        }
    }
}

/// A mount through the proxy, with all that the soak looks at.
fn mount(proxy: &BreakingProxy, disk: &Ext4, sockets: &tempfile::TempDir, log: &Path) -> Mount {
    let (uri, tier) = (format!("s3://{BUCKET}"), disk.path().join("tier"));
    let control = format!("unix:{}", text(&sockets.path().join("control")));
    let mut command = forebay(&["mount", &uri, "--endpoint", &proxy.url(), "--region", "us-east-1", "--ttl", "1s"]);
    if let Some(other) = std::env::var_os(COMMAND) {
        let (args, envs) = (command.get_args().map(Into::into), command.get_envs());
        let (args, envs): (Vec<std::ffi::OsString>, Vec<_>) = (args.collect(), envs.collect());
        let mut replaced = Command::new(other);
        replaced.args(args);
        for (name, value) in envs {
            match value {
                Some(value) => replaced.env(name, value),
                None => replaced.env_remove(name),
            };
        }
        replaced.stdin(std::process::Stdio::null());
        command = replaced;
    }
    command.args(["--patience", "3s", "--kernel-cache", "off", "--control", &control, "--log-file", text(log)]);
    command.args(["--memory", &BUDGET.to_string(), "--disk", text(&tier), "--disk-size", &DISK_SIZE.to_string()]);
    command.args(["--disk-free", &DISK_FREE.to_string(), "--disk-writes", "20MiB"]);
    Mount::by(command, forebay_testkit::mounts::MountPoint::new().expect("a mount point"))
}

/// A line without its time, level and place in the program.
fn said(line: &str) -> &str {
    line.split_once(": ").map_or(line, |(_, said)| said)
}

/// A line without its time, numbers and names.
fn shape(line: &str) -> String {
    let mut shape: String = said(line).chars().map(|c| if c.is_ascii_digit() { '#' } else { c }).collect();
    while shape.contains("##") {
        shape = shape.replace("##", "#");
    }
    shape
}

#[test]
fn a_mount_lives_through_everything_at_once() {
    let versitygw = need!("versitygw");
    if !loop_disk::possible() {
        return;
    }
    let seconds = std::env::var(SECONDS).ok().and_then(|seconds| seconds.parse().ok()).unwrap_or(20);
    let times = Times::of(Duration::from_secs(seconds));
    let soak = Soak::start(&versitygw);
    eprintln!("seed {}, process {}, {READERS} readers, {TOLD} of them told", soak.seed, soak.mount.running.id());
    let mut seen = std::thread::scope(|scope| {
        let _stop = SetWhenDropped(&soak.over);
        for reader in 0..READERS {
            let soak = &soak;
            scope.spawn(move || soak.read_on(reader, times.pause));
        }
        scope.spawn(|| soak.replace_on(times.version));
        soak.conduct(&times)
    });
    soak.settle(&mut seen);
    soak.tell_progress(&seen, times.whole);
    soak.judge_growth(&seen.samples, times.whole >= LONG);
    assert_eq!(soak.mount.end(Signal::TERM).code(), Some(0));
    soak.judge_log();
    let checked = forebay(&["cache", "check", text(&soak.tier())]).output().expect("the command starts");
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
    assert_eq!(soak.failures.load(Ordering::SeqCst), 0, "see above");
}
