//! Requests to a server, in parts and whole.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use forebay_core::{DeviceCost, DeviceId};
use forebay_live::engine::{Config, Engine};
use forebay_live::tree::{Branch, Tree};
use forebay_serve::{At, Control, HostName, Limits, Options, Server, fuzzing};
use forebay_source::memory::MemorySource;
use forebay_testkit::answers::well_formed;

use crate::{Outcome, Target};

pub(super) const TARGETS: &[Target] = &[
    Target { name: "target", about: "a request's path", run: |bytes| Outcome::of_count(fuzzing::target(bytes)) },
    Target { name: "range", about: "a length and a Range", run: |bytes| Outcome::of_count(fuzzing::range(bytes)) },
    Target { name: "request-head", about: "the headers of a request", run: head },
    Target {
        name: "hint-query",
        about: "the query of told names",
        run: |bytes| Outcome::of_flag(fuzzing::query(bytes)),
    },
    Target { name: "host-name", about: "a server's name", run: host_name },
    Target { name: "requests", about: "a connection to `forebay serve`", run: requests },
    Target { name: "control", about: "a connection to a control channel", run: control },
];

fn head(bytes: &[u8]) -> Outcome {
    Outcome::of_number(fuzzing::headers(bytes) as u64)
}

fn host_name(bytes: &[u8]) -> Outcome {
    Outcome::of_flag(String::from_utf8_lossy(bytes).parse::<HostName>().is_ok())
}

/// One server, and one control channel, for all inputs, over a folder of a few names.
struct Served {
    server: Server,
    control: Control,
}

fn served() -> &'static Served {
    static SERVED: OnceLock<Served> = OnceLock::new();
    SERVED.get_or_init(|| {
        let config = Config::new(32 << 20, "competitive".parse().expect("a policy"));
        let engine = Engine::start(config, vec![DeviceCost::flat(100_000, 1 << 30, 8)]).expect("an engine");
        let source = MemorySource::of(&["b", "c d"], 10_000);
        let branch = Branch { name: None, source: Arc::new(source), device: DeviceId(0) };
        let tree = Arc::new(Tree::new(engine, vec![branch]).expect("a tree"));
        let here = SocketAddr::from(([127, 0, 0, 1], 0));
        // A request that is not complete is waited for this long.
        let wait = Duration::from_millis(50);
        let limits = Limits { request: wait, idle: wait, ..Limits::default() };
        let options = Options { limits, ..Options::default() };
        let server = Server::start(Arc::clone(&tree), here, options.clone()).expect("a server");
        let control = Control::start(tree, &At::Address(here), options).expect("a control channel");
        Served { server, control }
    })
}

fn requests(bytes: &[u8]) -> Outcome {
    ask(served().server.address(), bytes)
}

fn control(bytes: &[u8]) -> Outcome {
    let At::Address(address) = served().control.at() else { unreachable!("it listens at an address") };
    ask(*address, bytes)
}

/// The request after those that are made up, so that the server closes the connection.
const LAST: &[u8] = b"\r\n\r\nGET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

/// Well-formed answers or a closed connection come of any request.
fn ask(address: SocketAddr, request: &[u8]) -> Outcome {
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(50))).expect("a limit");
    // It may have heard enough before the end.
    let _ = stream.write_all(request).and_then(|()| stream.write_all(LAST));
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    assert!(well_formed(&answer), "{}", String::from_utf8_lossy(&answer));
    let status = answer.get(9..12).and_then(|status| std::str::from_utf8(status).ok()?.parse().ok());
    Outcome::of_number(status.unwrap_or(0))
}
