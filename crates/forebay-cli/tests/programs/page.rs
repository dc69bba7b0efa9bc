//! The page of a mount in a real browser: it shows what the mount does, at the width of a
//! telephone and of a desk, in the light and in the dark, and says when the mount is gone.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use forebay_testkit::browser::Browser;
use forebay_testkit::far::{Distance, FarProxy};
use forebay_testkit::nginx::Nginx;
use forebay_testkit::process::Signal;
use forebay_testkit::{mounts, need};

use crate::watched::address;
use crate::{Mount, SetWhenDropped, text};

/// Files of so many bytes.
fn files(count: u64, size: usize) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for number in 0..count {
        let name = format!("shard-{number:05}<img src=x onerror=alert(1)>.tar");
        fs::write(folder.path().join(name), vec![number as u8; size]).expect("written");
    }
    folder
}

/// Reads the files of folders with so many readers until it is told to stop, each at its own pace.
fn read_on(folders: &[PathBuf], readers: usize, stop: &AtomicBool) {
    std::thread::scope(|scope| {
        for reader in 0..readers {
            scope.spawn(move || {
                let folder = &folders[reader % folders.len()];
                let mut names: Vec<PathBuf> =
                    fs::read_dir(folder).expect("readable").map(|entry| entry.expect("readable").path()).collect();
                names.sort();
                let mut buffer = vec![0; 64 << 10];
                for nth in 0.. {
                    let file = fs::File::open(&names[(reader / folders.len() + nth) % names.len()]).expect("there");
                    let mut at = 0;
                    while let Ok(read @ 1..) = file.read_at(&mut buffer, at) {
                        at += read as u64;
                        if stop.load(Ordering::SeqCst) {
                            return;
                        }
                        std::thread::sleep(Duration::from_millis(4 + reader as u64 % 7));
                    }
                }
            });
        }
    });
}

/// A browser, and axe to look at pages with.
struct Viewer {
    browser: Browser,
    axe: PathBuf,
}

/// Looks at a page at both widths, in the light and in the dark: nothing lies outside, nothing is
/// said by the console, every text can be read, and axe finds nothing in anybody's way. Pictures go
/// where `FOREBAY_PICTURES` says.
fn look(viewer: &mut Viewer, name: &str) {
    let Viewer { browser, axe } = viewer;
    for (width, height, dark) in [(360, 740, false), (360, 740, true), (1400, 900, false), (1400, 900, true)] {
        browser.window(width, height, dark).expect("a window");
        browser.value("new Promise((then) => requestAnimationFrame(() => then(true)))").expect("drawn");
        let wide = browser.value("document.documentElement.scrollWidth").expect("a number");
        assert!(wide.as_u64() <= Some(width.into()), "{name}: {wide} of {width} pixels");
        if let Some(folder) = std::env::var_os("FOREBAY_PICTURES") {
            let scheme = if dark { "dark" } else { "light" };
            browser.picture(&Path::new(&folder).join(format!("{name}-{width}-{scheme}.png"))).expect("a picture");
        }
        let pale = browser.pale().expect("asked");
        assert!(pale.is_empty(), "{name} at {width}, dark {dark}: {pale:?}");
        let barriers = browser.barriers(axe).expect("asked");
        assert!(barriers.is_empty(), "{name} at {width}, dark {dark}: {barriers:#?}");
        let complaints = browser.complaints().expect("asked");
        assert!(complaints.is_empty(), "{name} at {width}, dark {dark}: {complaints:?}");
    }
}

const LIVE: &str = "document.querySelector('#state').textContent === 'live'";

/// A mount and its page.
fn mounted(browser: &mut Browser, args: &[&str]) -> Mount {
    let mount = Mount::start(&[args, &["--control", "127.0.0.1:0", "--memory", "48MiB"]].concat());
    browser.open(&format!("http://{}/", address(&mount))).expect("it answers");
    browser.until(LIVE).expect("it is live");
    mount
}

#[test]
fn a_browser_shows_what_a_mount_does() {
    let (chromium, axe) = (need!("chromium"), need!("axe.min.js"));
    if !mounts::possible() {
        return;
    }
    let mut viewer = Viewer { browser: Browser::start(&chromium).expect("it starts"), axe };
    let folder = files(80, 2 << 20);
    let disk = tempfile::tempdir().expect("a folder");
    let disk = [text(disk.path()), "--disk-size", "128MiB", "--disk-free", "0"];
    let mount =
        mounted(&mut viewer.browser, &[&[text(folder.path()), "--pace", "ibm-10k", "--disk"], &disk[..]].concat());
    assert_eq!(
        viewer.browser.value("document.querySelector('#streams-note').textContent").expect("text"),
        "No stream was read within 5 s."
    );
    look(&mut viewer, "idle");

    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _stops = SetWhenDropped(&stop);
        scope.spawn(|| read_on(&[mount.path().to_owned()], 64, &stop));
        viewer
            .browser
            .until("samples.length >= 12 && document.querySelectorAll('#streams tr').length === 12")
            .expect("busy");
        look(&mut viewer, "readers");
        let figures = "[samples.at(-1).stats.hits, document.querySelector('#f-read').textContent, \
                       document.querySelector('#c-through polyline').getAttribute('points').length]";
        let figures = viewer.browser.value(figures).expect("figures");
        assert!(figures[0].as_u64() > Some(0) && figures[1] != "–" && figures[2].as_u64() > Some(20), "{figures}");
    });
    mount.end(Signal::KILL);
    viewer.browser.until("document.querySelector('#state').textContent === 'gone'").expect("it sees that");
    let said = viewer.browser.value("document.querySelector('#alarm').textContent").expect("text");
    assert!(said.as_str().is_some_and(|said| said.starts_with("The mount is gone since ")), "{said}");
    // That the mount does not answer is what the browser's log says now.
    viewer.browser.complaints().expect("asked");
    viewer.browser.value("(window.later = setTimeout, window.setTimeout = () => 0, true)").expect("no more questions");
    std::thread::sleep(Duration::from_millis(1500));
    viewer.browser.value("(window.setTimeout = window.later, true)").expect("axe needs it");
    viewer.browser.complaints().expect("asked");
    look(&mut viewer, "gone");
}

#[test]
fn a_browser_shows_three_unequal_sources() {
    let (chromium, nginx, axe) = (need!("chromium"), need!("nginx"), need!("axe.min.js"));
    if !mounts::possible() {
        return;
    }
    let mut viewer = Viewer { browser: Browser::start(&chromium).expect("it starts"), axe };
    let folder = files(12, 2 << 20);
    let far = files(12, 2 << 20);
    let origin = Nginx::start_with(
        &nginx,
        far.path(),
        forebay_testkit::nginx::Features { autoindex: true, ..Default::default() },
    )
    .expect("a server");
    let proxy = |milliseconds| {
        let distance = Distance { first_byte: Duration::from_millis(milliseconds), connection_rate: Some(4 << 20) };
        FarProxy::start(origin.address(), distance).expect("a proxy")
    };
    let (near, distant) = (proxy(10), proxy(60));
    let sources = [
        format!("here={}", text(folder.path())),
        format!("near={}/", near.endpoint()),
        format!("<u>far={}/", distant.endpoint()),
    ];
    let mount = mounted(&mut viewer.browser, &[&sources[0], &sources[1], &sources[2]]);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _stops = SetWhenDropped(&stop);
        let folders = ["here", "near", "<u>far"].map(|name| mount.path().join(name));
        let stop = &stop;
        scope.spawn(move || read_on(&folders, 9, stop));
        let browser = &mut viewer.browser;
        browser
            .until("samples.length >= 12 && document.querySelectorAll('#partitions tr').length === 3")
            .expect("three");
        look(&mut viewer, "three");
        let names =
            "[document.querySelector('#devices').innerText.includes('<u>far'), document.querySelectorAll('u').length]";
        assert_eq!(viewer.browser.value(names).expect("names"), serde_json::json!([true, 0]), "names are text");
    });
}

/// A site whose name leads to this machine counts as one with the mount in the browser's eyes.
#[test]
fn a_rebound_name_shows_nothing() {
    let (chromium, axe) = (need!("chromium"), need!("axe.min.js"));
    if !mounts::possible() {
        return;
    }
    let mut browser = Browser::start(&chromium).expect("it starts");
    let folder = files(1, 1);
    let mount = mounted(&mut browser, &[text(folder.path())]);
    let rebound = format!("http://rebound.example:{}/", address(&mount).rsplit_once(':').expect("a port").1);
    browser.open(&rebound).expect("it answers");
    browser.until("document.body.innerText.length > 0").expect("it says why");
    let refused = browser.value("document.body.innerText").expect("text");
    assert!(refused.as_str().is_some_and(|text| text.contains("ask by an address")), "{refused}");
    let barriers = browser.barriers(&axe).expect("asked");
    assert!(!barriers.is_empty(), "a text that is no page has no title, and axe sees that");
}
