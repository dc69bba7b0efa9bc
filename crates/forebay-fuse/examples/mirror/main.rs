//! Shows one folder through a mount, until it is unmounted: `mirror FOLDER MOUNT-POINT [allow_other]`. Says `ready` on its
//! standard output once it is served. The mount tests use it where the server must be another process.

mod folder;

use std::path::PathBuf;
use std::sync::Arc;

use forebay_core::{DeviceCost, DeviceId};
use forebay_fuse::MountOptions;
use forebay_live::engine::{Config, Engine};
use forebay_live::tree::{Branch, Tree};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(source), Some(point)) = (arguments.next(), arguments.next()) else {
        return Err("usage: mirror FOLDER MOUNT-POINT [allow_other]".into());
    };
    let options = MountOptions { allow_other: arguments.next().is_some(), ..MountOptions::default() };
    let config =
        Config { memory: 64 << 20, policy: "competitive".parse().expect("a policy that exists"), record: None };
    let engine = Engine::start(config, vec![DeviceCost::flat(100_000, 1 << 30, 8)])?;
    let source = Arc::new(folder::Folder(source.into()));
    let tree = Tree::new(engine, vec![Branch { name: None, source, device: DeviceId(0) }])?;
    let mounted = forebay_fuse::mount(Arc::new(tree), &PathBuf::from(point), options)?;
    println!("ready");
    Ok(mounted.wait()?)
}
