//! The same by a `DataLoader` with four workers, which runs `python/examples/train.py`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use anyhow::ensure;
use forebay_serve::{At, Control, Options};
use forebay_testkit::delay::DelayProxy;
use forebay_testkit::s3::S3;
use futures::{StreamExt, TryStreamExt};
use object_store::ObjectStoreExt;
use serde::Deserialize;

use super::{DELAY, SIZE, Store, name};
use crate::object_stream::raw;
use crate::report::{Row, median};

/// The Python that Debian's PyTorch is for.
const PYTHON: &str = "/usr/bin/python3";

/// The environment that `cargo xtask python` installs the package into.
const PACKAGES: &str = "python-module/lib";

/// An epoch, as the program prints it.
#[derive(Deserialize)]
struct Epoch {
    files: usize,
    bytes: usize,
    seconds: f64,
}

/// The program and its surroundings.
struct Program {
    script: PathBuf,
    /// A folder with the package alone: the other packages are not for this Python.
    packages: tempfile::TempDir,
    files: usize,
}

pub(super) fn run(server: &S3, smoke: bool) -> anyhow::Result<Vec<Row>> {
    let (files, rounds) = if smoke { (40, 1) } else { (5000, 3) };
    let Some(program) = Program::find(files)? else {
        eprintln!("told: without PyTorch or the Python package: run `cargo xtask python` first");
        return Ok(Vec::new());
    };
    for number in 0..files {
        server.put(&name(number), &vec![number as u8; SIZE])?;
    }
    let proxy = DelayProxy::start(server.address(), DELAY)?;
    let (mut wires, mut folders, mut untold, mut told) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        wires.push(wire(&proxy, server, files)?);
        folders.push(program.trained(&server.folder().join("train"), false)?);
        untold.push(program.mounted(&proxy, false)?);
        told.push(program.mounted(&proxy, true)?);
    }
    let row = |against: &str, other: &[f64], wanted| Row {
        bench: "told",
        what: format!("a mount told, {files} files of 110 kB, two epochs of a DataLoader, 4 workers, 20 ms"),
        against: against.to_owned(),
        ratio: median(told.iter().zip(other).map(|(told, other)| told / other).collect()),
        wanted,
        detail: format!("{:.0} and {:.0} files a second", median(told.clone()), median(other.to_vec())),
        point: None,
    };
    Ok(vec![
        row("the mount untold", &untold, Some(10.0)),
        row("a folder of this machine", &folders, Some(1.0 / 1.2)),
        row("every file once by 64 raw gets at a time", &wires, Some(0.8)),
    ])
}

/// Every file once by raw gets, more at a time than a connection's delay needs; files a second.
fn wire(proxy: &DelayProxy, server: &S3, files: usize) -> anyhow::Result<f64> {
    const AT_ONCE: usize = 64;
    let store = raw(proxy, server)?;
    let get = |number| {
        let store = Arc::clone(&store);
        async move { store.get(&name(number).into()).await?.bytes().await }
    };
    let began = Instant::now();
    let gets = futures::stream::iter(0..files).map(get).buffer_unordered(AT_ONCE);
    let sizes = gets.try_fold(0, |sum, bytes| async move { Ok(sum + bytes.len()) });
    let bytes = tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(sizes)?;
    ensure!(bytes == files * SIZE, "the wire brought {bytes} bytes");
    Ok(files as f64 / began.elapsed().as_secs_f64())
}

impl Program {
    /// `None` if PyTorch or the package is missing.
    fn find(files: usize) -> anyhow::Result<Option<Program>> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/examples/train.py");
        let has_torch = Command::new(PYTHON).args(["-c", "import torch"]).output();
        let Some(package) = package().filter(|_| has_torch.is_ok_and(|tried| tried.status.success())) else {
            return Ok(None);
        };
        let packages = tempfile::tempdir()?;
        std::os::unix::fs::symlink(package, packages.path().join("forebay"))?;
        Ok(Some(Program { script, packages, files }))
    }

    /// Two epochs over a folder; files a second.
    fn trained(&self, folder: &Path, told: bool) -> anyhow::Result<f64> {
        let mut command = Command::new(PYTHON);
        command.arg(&self.script).arg(folder).arg("--json").env("PYTHONPATH", self.packages.path());
        command.args(if told { &[][..] } else { &["--untold"] });
        let output = command.output()?;
        ensure!(output.status.success(), "train.py: {}", String::from_utf8_lossy(&output.stderr));
        let lines = String::from_utf8(output.stdout)?;
        let epochs: Vec<Epoch> = lines.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
        for epoch in &epochs {
            ensure!(epoch.files == self.files && epoch.bytes == self.files * SIZE, "an epoch was not whole");
        }
        let seconds: f64 = epochs.iter().map(|epoch| epoch.seconds).sum();
        Ok((epochs.len() * self.files) as f64 / seconds)
    }

    /// The same through a mount, which is told the order or not.
    fn mounted(&self, proxy: &DelayProxy, told: bool) -> anyhow::Result<f64> {
        let store = Store::start(proxy, self.files)?;
        let socket = At::Socket(self.packages.path().join("control.sock"));
        let control = Control::start(store.tree, &socket, Options::control())?;
        let rate = self.trained(&store.point.path().join("train"), told)?;
        drop(control);
        store.mount.unmount()?;
        Ok(rate)
    }
}

/// The package `forebay`, installed.
fn package() -> Option<PathBuf> {
    let versions = std::fs::read_dir(forebay_testkit::tools::folder().join(PACKAGES)).ok()?;
    let package = |version: std::fs::DirEntry| version.path().join("site-packages/forebay");
    versions.flatten().map(package).find(|place| place.is_dir())
}
