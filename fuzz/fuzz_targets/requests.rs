//! Any bytes as requests to `forebay serve`, and to the control channel of a mount, over a real
//! connection: well-formed answers or a closed connection, and no panic.
#![no_main]

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use forebay_core::{DeviceCost, DeviceId};
use forebay_live::engine::{Config, Engine};
use forebay_live::tree::{Branch, Tree};
use forebay_serve::{At, Control, Options, Server};
use forebay_source::local::LocalSource;
use forebay_testkit::answers::well_formed;

/// One server, and one control channel, for all cases, over a folder of a few names.
struct Served {
    server: Server,
    control: Control,
    _folder: tempfile::TempDir,
}

fn served() -> &'static Served {
    static SERVER: OnceLock<Served> = OnceLock::new();
    SERVER.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("a")).expect("a folder");
        std::fs::write(folder.path().join("a/b"), vec![7; 10_000]).expect("a file");
        let config = Config::new(64 << 20, "competitive".parse().expect("a policy"));
        let engine = Engine::start(config, vec![DeviceCost::flat(100_000, 1 << 30, 8)]).expect("an engine");
        let source = Arc::new(LocalSource::new(folder.path()).expect("a source"));
        let branch = Branch { name: None, source, device: DeviceId(0) };
        let tree = Arc::new(Tree::new(engine, vec![branch]).expect("a tree"));
        let here = SocketAddr::from(([127, 0, 0, 1], 0));
        let server = Server::start(Arc::clone(&tree), here, Options::default()).expect("a server");
        let control = Control::start(tree, &At::Address(here), Options::control()).expect("a control channel");
        Served { server, control, _folder: folder }
    })
}

libfuzzer_sys::fuzz_target!(|request: &[u8]| {
    ask(served().server.address(), request);
    if let At::Address(address) = served().control.at() {
        ask(*address, request);
    }
});

fn ask(address: SocketAddr, request: &[u8]) {
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a limit");
    // It may have heard enough before the end.
    let _ = stream.write_all(request);
    let _ = stream.shutdown(Shutdown::Write);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    assert!(well_formed(&answer), "{}", String::from_utf8_lossy(&answer));
}
