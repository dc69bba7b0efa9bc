//! A web server that hosts media clips on a mount (CPEM §5.1): the clips of the workload
//! `media-clips`, requested in the order of its tasks, so by Zipf's law. Every body is compared.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use forebay_play::{Content, lay};
use forebay_testkit::nginx::Nginx;
use forebay_testkit::process::Signal;
use forebay_testkit::{mounts, need};
use forebay_trace::Workload;
use forebay_trace::generate::{self, Given};

use crate::tools::{get, script};
use crate::{Mount, run, text};

#[test]
fn nginx_hosts_clips() {
    if !mounts::possible() {
        return;
    }
    let (nginx, wrk) = (need!("nginx"), need!("wrk"));
    let description = Given::list("files=400,tasks=3000").expect("parameters");
    let mut trace = generate::named("media-clips", &description, 1).expect("a workload");
    let workload = Workload::load(&mut trace).expect("requests");
    let source = tempfile::tempdir().expect("a folder");
    let laid = lay(&workload, source.path(), Content::Pattern, &|_, _| false).expect("laid");
    assert!(laid.bytes > 2 * (24 << 20), "{laid:?} is not more than the mount holds");
    let clip = |task| workload.entry(workload.in_task(workload.task(task).start)).file();
    let clips: Vec<u32> = (0..workload.tasks() as u32).map(clip).collect();
    let name = |clip: u32| PathBuf::from(format!("{:06}", workload.file_table()[clip as usize].name));
    let lua = tempfile::NamedTempFile::new().expect("a file");
    fs::write(lua.path(), script(&clips.iter().map(|&clip| name(clip)).collect::<Vec<_>>())).expect("written");
    let mount = Mount::start(&[text(source.path()), "--memory", "24MiB"]);
    let server = Nginx::start(&nginx, mount.path(), true).expect("a server");
    let url = format!("http://{}/", server.address());
    // Its own time-out would count as an error on a slow machine.
    let args = ["-t1", "-c32", "-d2s", "--timeout", "60s", "-s", text(lua.path()), &url];
    let said = std::thread::scope(|scope| {
        let load = scope.spawn(|| String::from_utf8_lossy(&run(&wrk, &args, Path::new("/"))).into_owned());
        for clip in clips.iter().take(300).copied().collect::<BTreeSet<u32>>() {
            let file = workload.file_table()[clip as usize];
            let body = get(server.address(), text(&name(clip))).unwrap_or_else(|error| panic!("{clip}: {error}"));
            assert_eq!(body.len() as u64, file.bytes, "clip {clip}");
            assert_eq!(Content::Pattern.difference(file.name, 0, &body), None, "clip {clip}");
        }
        load.join().expect("wrk succeeds")
    });
    assert!(!said.contains("Non-2xx") && !said.contains("Socket errors"), "{said}");
    assert!(!said.contains(" 0 requests in"), "{said}");
    drop(server);
    assert!(mount.counter("fetched_bytes") > laid.bytes / 4, "nobody asked the mount");
    assert_eq!(mount.end(Signal::TERM).code(), Some(0));
}
