//! Contexts of real programs through a real mount: seen, learnt, kept for the next mount, shown and
//! forgotten.

use std::path::{Path, PathBuf};
use std::process::Command;

use forebay_testkit::mounts;
use forebay_testkit::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

use super::record::preloading;
use super::{Mount, forebay, text};

const FILES: usize = 40;

/// A folder of files of 1 MiB each, and the files for contexts and hints.
struct Scene {
    folder: TempDir,
}

impl Scene {
    fn new() -> Scene {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("tree")).expect("a folder");
        for number in 0..FILES {
            std::fs::write(folder.path().join(format!("tree/f{number:02}")), vec![number as u8; 1 << 20])
                .expect("a file");
        }
        Scene { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A mount whose memory holds about half of the files.
    fn mount(&self) -> Mount {
        let (tree, table, hints) = (self.path("tree"), self.path("table"), self.path("hints"));
        let args = [text(&tree), "--policy", "amp:review=100", "--memory", "36MiB", "--kernel-cache", "off"];
        Mount::start(&[&args[..], &["--contexts", text(&table), "--hints", text(&hints)]].concat())
    }

    fn contexts(&self, args: &[&str]) -> String {
        let hints = self.path("hints");
        let output = forebay(&[&["contexts"], args, &["--hints", text(&hints)]].concat()).output().expect("it starts");
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        String::from_utf8(output.stdout).expect("text")
    }

    /// Runs `cat` under the preload library, or without it.
    fn cat(&self, mount: &Mount, files: usize, preloaded: bool) {
        let files = (0..files).map(|number| mount.path().join(format!("f{number:02}")));
        let mut command =
            if preloaded { preloading(&["run", "--", "cat"], &self.path("table")) } else { Command::new("cat") };
        assert!(command.args(files).output().expect("it starts").status.success());
    }
}

/// The contexts that a mount knows, those with the most accesses first.
fn known(mount: &Mount) -> Vec<Value> {
    let stats = forebay(&["stats", "--json", text(mount.path())]).output().expect("the command starts");
    let json: Value = serde_json::from_slice(&stats.stdout).expect("JSON");
    json["contexts"].as_array().cloned().unwrap_or_default()
}

/// The context of `cat`, which must be there.
fn of_cat(contexts: &[Value]) -> &Value {
    let cat = |context: &&Value| context["executable"].as_str().is_some_and(|path| path.ends_with("/cat"));
    contexts.iter().find(cat).unwrap_or_else(|| panic!("{contexts:?}"))
}

#[test]
fn a_loop_is_found_kept_and_known_in_the_next_mount_from_its_first_access_on() {
    if !mounts::possible() {
        return;
    }
    let scene = Scene::new();
    let mount = scene.mount();
    for _ in 0..4 {
        scene.cat(&mount, FILES, true);
    }
    let contexts = known(&mount);
    let cat = of_cat(&contexts);
    assert_eq!((&cat["pattern"], cat["file"].is_null()), (&"Looping".into(), true), "{cat}");
    assert!(
        cat["frames"].as_array().unwrap().iter().any(|frame| frame.as_str().unwrap().starts_with("cat+0x")),
        "{cat}"
    );
    let blocks = cat["loop_blocks"].as_u64().unwrap();
    let true_blocks = (FILES as u64) << 8;
    assert!(blocks.abs_diff(true_blocks) < true_blocks / 4, "{blocks} of about {true_blocks}");
    let table = forebay(&["stats", text(mount.path())]).output().expect("the command starts");
    assert!(String::from_utf8_lossy(&table.stdout).contains("looping"), "{table:?}");
    assert_eq!(mount.end(Signal::TERM).code(), Some(0));

    let kept: Value = serde_json::from_str(&scene.contexts(&["show", "--json"])).expect("JSON");
    let kept = kept.as_array().unwrap();
    assert_eq!(of_cat(kept)["pattern"], "looping");
    assert_eq!(of_cat(kept)["context"], cat["id"]);
    assert!(scene.contexts(&["show"]).contains("looping"));
    assert!(scene.contexts(&["export", "--format", "csv"]).lines().count() >= 2);

    // One file is no loop, so the mount remembers the loop.
    let mount = scene.mount();
    scene.cat(&mount, 1, true);
    let contexts = known(&mount);
    let again = of_cat(&contexts);
    assert_eq!((&again["pattern"], &again["id"], &again["accesses"]), (&"Looping".into(), &cat["id"], &256.into()));
    assert!(again["partition"].is_u64(), "{again}");
    assert_eq!(again["loop_blocks"], of_cat(kept)["loop_blocks"]);
    drop(mount);

    assert_eq!(scene.contexts(&["clear", "--executable", "dog"]), "0 contexts of dog forgotten\n");
    assert!(scene.contexts(&["clear", "--executable", "cat"]).contains("1 context of cat forgotten"));
    assert!(scene.contexts(&[]).contains("nothing is known of program contexts"));
    let mount = scene.mount();
    scene.cat(&mount, 1, true);
    assert_eq!(of_cat(&known(&mount))["pattern"], "Other", "forgotten");
}

#[test]
fn a_program_without_the_library_is_known_by_its_executable_and_file() {
    if !mounts::possible() {
        return;
    }
    let scene = Scene::new();
    let mount = scene.mount();
    scene.cat(&mount, 3, false);
    let contexts = known(&mount);
    let files: Vec<&str> = contexts.iter().filter_map(|context| context["file"].as_str()).collect();
    let file = |number: usize| scene.path(&format!("tree/f0{number}")).display().to_string();
    assert_eq!(files, [file(0), file(1), file(2)], "of as many accesses each, in order of appearance");
    assert!(of_cat(&contexts)["frames"].is_null(), "{contexts:?}");
}

#[test]
fn hints_that_are_damaged_are_begun_anew_and_a_place_that_cannot_be_is_refused() {
    if !mounts::possible() {
        return;
    }
    let scene = Scene::new();
    std::fs::write(scene.path("hints"), "no database").expect("a file");
    let mount = scene.mount();
    scene.cat(&mount, 1, true);
    assert_eq!(mount.end(Signal::TERM).code(), Some(0));
    assert_eq!(std::fs::read(scene.path("hints.aside")).expect("moved aside"), b"no database");
    let refused = |option: &str, value: &Path| {
        let tree = scene.path("tree");
        let point = scene.path("point");
        std::fs::create_dir_all(&point).expect("a folder");
        let args = ["mount", text(&tree), text(&point), "--policy", "amp", option, text(value)];
        let output = forebay(&args).env("FOREBAY_CONTEXTS", scene.path("table")).output().expect("it starts");
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains(&format!("{option} off")), "{output:?}");
    };
    refused("--hints", &scene.path("tree"));
    refused("--contexts", &scene.path("tree"));
}
