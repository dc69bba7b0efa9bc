//! The data on a real block device at the disk's pace, ext4 on it, which mounts and the kernel's
//! own page cache read alike.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use forebay_device::device;
use forebay_testkit::loop_disk::{LoopDisk, Service, Treatment, image_folder, make_image_of};
use forebay_testkit::{loop_disk, memory_group};
use serde_json::Value;
use tempfile::TempDir;

use super::data::{Data, succeed};
use super::scene::{DISK, Did};

/// A tree of sources has small files.
const BYTES_A_FILE: u64 = 128 << 10;

/// The device, served by `forebay disk`.
pub(super) struct Block {
    // Dropped before the folder in which the image is.
    disk: LoopDisk,
    _folder: TempDir,
}

impl Block {
    /// Puts `reads` of the data on it. `None` if there can be no such device: it takes root, loop
    /// devices, control groups and the command.
    pub(super) fn with<'a>(
        data: &Data,
        reads: impl Iterator<Item = &'a &'static str>,
        speed: f64,
    ) -> anyhow::Result<Option<Block>> {
        let forebay = match crate::kernel::forebay() {
            Ok(forebay) if loop_disk::possible() && memory_group::possible() => forebay,
            Ok(_) => return Ok(None),
            Err(error) => {
                eprintln!("amp: without the kernel as the opponent: {error:#}");
                return Ok(None);
            }
        };
        let folder = image_folder("forebay-amp-")?;
        let image = folder.path().join("image");
        let size = device(DISK)?.build(0)?.capacity() >> 20 << 20;
        let names: std::collections::BTreeSet<PathBuf> = reads.map(|name| data.folder().join(name)).collect();
        make_image_of(&image, size, BYTES_A_FILE, |root| {
            succeed(Command::new("cp").arg("--archive").args(names).arg(root)).map_err(io::Error::other)
        })?;
        let service = Service { device: DISK.into(), scheduler: "elevator".into(), scale: speed };
        let disk = LoopDisk::start(&forebay, &image, &service, &Treatment::default())?;
        Ok(Some(Block { disk, _folder: folder }))
    }

    /// Drops its pages from memory, and gives the kernel's settings for the disk their defaults.
    pub(super) fn renew(&mut self) -> io::Result<()> {
        self.disk.renew(&Treatment::default())
    }

    /// The data.
    pub(super) fn path(&self) -> &Path {
        self.disk.path()
    }

    /// Its counters since it was made.
    pub(super) fn did(&self) -> anyhow::Result<Did> {
        let stats: Value = serde_json::from_str(&self.disk.stats()?)?;
        let number = |path: &str| stats.pointer(path).and_then(Value::as_f64).with_context(|| format!("no {path}"));
        let completed = number("/completed")?;
        Ok(Did {
            bytes: number("/read/bytes")?,
            requests: number("/read/requests")?,
            busy: number("/busy_seconds")?,
            response: number("/mean_response_ms")? * completed / 1e3,
            late: number("/late/mean_ms")? * completed / 1e3,
        })
    }
}
